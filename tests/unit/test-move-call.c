// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The calls of a move against a kernel of our own: this program's move_pages() does to 512 pages of
 * a table what Linux does to pages of memory, with its odd returns and unwritten statuses. Room and
 * free blocks come from files of our own, too.
 */
#include <numaif.h>

#include "process-fixture.h"
#include "linux/move-run.h"

#define PAGE 4096UL
#define TARGET 1

enum trouble {
	NONE,
	PINNED,	  /* fails in its run, alone */
	POISON,	  /* nothing of its run moves */
	ISOLATED, /* cannot be taken: its own status, what waits is sent off */
	MAPPED_BY_OTHERS,
	UNMAPPED,
	NO_MEMORY, /* the run ends here */
};

static struct {
	uintptr_t base;
	int node[BATCH_FOLIOS_MAX];
	enum trouble trouble[BATCH_FOLIOS_MAX];
	int fail_all; /* errno of the whole call */
	unsigned int calls;
	size_t largest;
	size_t times[BATCH_FOLIOS_MAX]; /* that a page was given to a call */
	volatile bool *cancel_after;	/* set by the first call */
} kernel;

static size_t page_of(const void *address)
{
	size_t page = ((uintptr_t)address - kernel.base) / PAGE;

	assert_true(page < BATCH_FOLIOS_MAX);
	return page;
}

static int take(size_t page)
{
	switch (kernel.trouble[page]) {
	case ISOLATED:
		return -EBUSY;
	case MAPPED_BY_OTHERS:
		return -EACCES;
	case UNMAPPED:
		return -ENOENT;
	case NONE:
	case PINNED:
	case POISON:
	case NO_MEMORY:
		return 0;
	}
	return 0;
}

/* Moves a run; 0 and its statuses, or how many did not move and no status, or -ENOMEM. */
static long migrate(void **pages, size_t from, size_t to, int *status)
{
	long failed = 0;

	for (size_t i = from; i < to; i++)
		if (kernel.trouble[page_of(pages[i])] == POISON)
			return (long)(to - from);
	for (size_t i = from; i < to; i++) {
		size_t page = page_of(pages[i]);

		if (kernel.trouble[page] == NO_MEMORY)
			return -ENOMEM;
		if (kernel.trouble[page] == PINNED)
			failed++;
		else
			kernel.node[page] = TARGET;
	}
	for (size_t i = from; failed == 0 && i < to; i++)
		status[i] = TARGET;
	return failed;
}

static long refuse(long error)
{
	errno = (int)-error;
	return -1;
}

long move_pages(int pid, unsigned long count, void **pages, const int *nodes, int *status,
		int flags)
{
	size_t begin = 0;
	long rc;

	assert_int_equal(pid, getpid());
	for (size_t i = 0; !nodes && i < count; i++)
		status[i] = kernel.trouble[page_of(pages[i])] == UNMAPPED
				    ? -ENOENT
				    : kernel.node[page_of(pages[i])];
	if (!nodes)
		return 0;
	assert_int_equal(flags, MPOL_MF_MOVE);
	kernel.calls++;
	kernel.largest = MAX(kernel.largest, count);
	if (kernel.cancel_after)
		*kernel.cancel_after = true;
	if (kernel.fail_all)
		return refuse(kernel.fail_all);
	for (size_t i = 0; i < count; i++)
		kernel.times[page_of(pages[i])]++;
	for (size_t i = 0; i < count; i++) {
		int e = take(page_of(pages[i]));

		assert_int_equal(nodes[i], TARGET);
		if (e == 0)
			continue;
		status[i] = e;
		rc = migrate(pages, begin, i, status);
		if (rc != 0)
			return rc < 0 ? refuse(rc) : rc + (long)(count - i) - 1;
		begin = i + 1;
	}
	rc = migrate(pages, begin, count, status);
	return rc < 0 ? refuse(rc) : rc;
}

/* ---- a run of 512 base pages --------------------------------------------------------------- */

struct fixture {
	struct linux_machine m;
	struct tier_move move;
	struct move_run *run;
	char *memory;
	char dir[32];
	unsigned int progress;
};

static void put(struct fixture *f, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void put_free(struct fixture *f, unsigned long kib)
{
	char text[128];

	snprintf(text, sizeof(text), "Node 1 MemTotal: 1000000 kB\nNode 1 MemFree: %lu kB\n", kib);
	put(f, "devices/system/node/node1/meminfo", text);
}

static void progress(void *userdata, const struct tier_outcome *so_far)
{
	struct fixture *f = userdata;

	assert_int_equal(so_far->calls, kernel.calls);
	f->progress++;
}

static int setup(void **state)
{
	static const char *const dirs[] = {"devices", "devices/system", "devices/system/node",
					   "devices/system/node/node1"};
	struct fixture *f;
	char path[128];

	memset(&kernel, 0, sizeof(kernel));
	if (!fixture_possible(false))
		return 0;
	f = calloc(1, sizeof(*f));
	f->m = machine_begin();
	strcpy(f->dir, "/tmp/test-move-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->dir, dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	close(f->m.sys_fd);
	f->m.sys_fd = open(f->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	put_free(f, 1000000);
	f->run = calloc(1, sizeof(*f->run));
	assert_int_equal(
		process_get(f->m.processes, space_of(f->m.processes, getpid()), &f->run->process),
		0);
	f->move = (struct tier_move){
		.target_node = TARGET,
		.progress = progress,
		.userdata = f,
	};
	f->run->machine = &f->m;
	f->run->move = &f->move;
	move_calls_begin(f->run);
	f->run->pace.weight = 1000000; /* all in one call */
	f->memory = mmap(NULL, BATCH_FOLIOS_MAX * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	kernel.base = (uintptr_t)f->memory;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"devices/system/node/node1/meminfo",
					    "devices/system/node/node1",
					    "devices/system/node",
					    "devices/system",
					    "devices",
					    "buddyinfo"};
	struct fixture *f = *state;
	char path[128];

	if (!f)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->dir, names[i]);
		remove(path);
	}
	remove(f->dir);
	process_unref(f->m.processes, f->run->process);
	munmap(f->memory, BATCH_FOLIOS_MAX * PAGE);
	machine_end(&f->m);
	free(f->run);
	free(f);
	return 0;
}

static void queue(struct fixture *f, size_t page, uint8_t order)
{
	f->run->queue.items[f->run->queue.n++] = (struct move_item){
		.address = kernel.base + page * PAGE,
		.pages = 1U << order,
		.order = order,
	};
	f->run->outcome.asked_bytes += PAGE << order;
}

static void queue_pages(struct fixture *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		queue(f, i, 0);
}

static uint64_t pages(const struct fixture *f, enum tier_result r)
{
	return tier_outcome_bytes(&f->run->outcome, r) / PAGE;
}

/* Nothing counted twice, nothing forgotten, nothing called moved that is not there. */
static void check_books(const struct fixture *f)
{
	uint64_t sum = 0, there = 0;

	for (int r = 0; r < TIER_RESULTS; r++)
		sum += tier_outcome_bytes(&f->run->outcome, (enum tier_result)r);
	for (size_t k = 0; k < f->run->queue.n; k++)
		sum += f->run->queue.items[k].pages * PAGE;
	assert_int_equal(sum, f->run->outcome.asked_bytes);
	for (size_t i = 0; i < BATCH_FOLIOS_MAX; i++)
		there += kernel.node[i] == TARGET;
	assert_int_equal(pages(f, TIER_MOVED), there);
	assert_int_equal(f->run->outcome.calls, kernel.calls);
}

static void flush(struct fixture *f)
{
	assert_int_equal(move_flush(f->run), 0);
	assert_int_equal(f->run->queue.n, 0);
	assert_false(f->run->stopped);
	check_books(f);
}

static void flush_stops(struct fixture *f, enum tier_result why)
{
	assert_int_equal(move_flush(f->run), RUN_STOPPED);
	assert_true(f->run->stopped);
	assert_int_equal(f->run->stop, why);
	check_books(f);
}

static void test_all_move_in_one_call(void **state)
{
	struct fixture *f = fixture(state);

	queue_pages(f, 512);
	flush(f);
	assert_int_equal(pages(f, TIER_MOVED), 512);
	assert_int_equal(kernel.calls, 1);
	assert_int_equal(f->progress, 1);
}

static void test_pinned_page_keeps_nobody(void **state)
{
	struct fixture *f = fixture(state);

	kernel.trouble[200] = PINNED;
	queue_pages(f, 512);
	flush(f);
	assert_int_equal(pages(f, TIER_MOVED), 511);
	assert_int_equal(pages(f, TIER_BUSY), 1);
	assert_true(kernel.calls <= 3);
}

static void test_isolated_page_keeps_nobody(void **state)
{
	struct fixture *f = fixture(state);

	kernel.trouble[0] = kernel.trouble[200] = kernel.trouble[511] = ISOLATED;
	kernel.trouble[201] = UNMAPPED;
	kernel.trouble[202] = MAPPED_BY_OTHERS;
	queue_pages(f, 512);
	flush(f);
	assert_int_equal(pages(f, TIER_MOVED), 507);
	assert_int_equal(pages(f, TIER_BUSY), 3);
	assert_int_equal(pages(f, TIER_NOT_RESIDENT), 1);
	assert_int_equal(pages(f, TIER_SHARED), 1);
	assert_int_equal(kernel.calls, 1);
}

/* A run that fails before a page that cannot be taken: what lies behind was never tried. */
static void test_resumes_behind_a_failed_run(void **state)
{
	struct fixture *f = fixture(state);

	for (size_t i = 50; i < 500; i += 100) {
		kernel.trouble[i] = PINNED;
		kernel.trouble[i + 20] = ISOLATED;
	}
	queue_pages(f, 512);
	flush(f);
	assert_int_equal(pages(f, TIER_MOVED), 502);
	assert_int_equal(pages(f, TIER_BUSY), 10);
	assert_true(kernel.calls <= 6 + 4); /* six runs, and the patience of a move */
}

static void test_poison_is_found(void **state)
{
	struct fixture *f = fixture(state);

	kernel.trouble[300] = POISON;
	queue_pages(f, 512);
	flush(f);
	assert_int_equal(pages(f, TIER_MOVED), 511);
	assert_int_equal(pages(f, TIER_BUSY), 1);
	assert_true(kernel.calls <= 20);
}

/* Where nothing can be moved, little is tried in vain, however much of it there is. */
static void test_all_pinned(void **state)
{
	struct fixture *f = fixture(state);

	for (size_t i = 0; i < 512; i++)
		kernel.trouble[i] = PINNED;
	for (int i = 0; i < 10; i++) {
		queue_pages(f, 512);
		flush(f);
	}
	assert_int_equal(pages(f, TIER_BUSY), 5120);
	assert_true(kernel.calls <= 20);
}

static void test_no_memory(void **state)
{
	struct fixture *f = fixture(state);

	kernel.trouble[100] = NO_MEMORY;
	queue_pages(f, 512);
	flush_stops(f, TIER_TARGET_FULL);
	assert_int_equal(pages(f, TIER_MOVED), 100);
	assert_int_equal(f->run->queue.n, 412);
	assert_int_equal(kernel.calls, 1);
}

static void test_call_fails(void **state)
{
	static const struct {
		int error;
		enum tier_result result;
	} cases[] = {
		{-ESRCH, TIER_PROCESS_ENDED},
		{-EACCES, TIER_CPUSET},
		{-EPERM, TIER_UNSUPPORTED},
		{-ENODEV, TIER_TARGET_FULL},
	};
	struct fixture *f = fixture(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		kernel.fail_all = cases[i].error;
		f->run->queue.n = 0;
		f->run->outcome.asked_bytes = 0;
		queue_pages(f, 20);
		flush_stops(f, cases[i].result);
		assert_int_equal(f->run->queue.n, 20);
	}
}

static void test_room_and_headroom(void **state)
{
	struct fixture *f = fixture(state);

	/* Node 1 has no zone here, so nothing but the headroom is kept. */
	put_free(f, 1000);
	f->move.headroom_bytes = 600 * KiB;
	queue_pages(f, 512);
	/* The file does not follow what we take: a second call gets the same room. */
	flush(f);
	assert_int_equal(pages(f, TIER_MOVED), 512);
	assert_int_equal(kernel.largest, 100);
	put_free(f, 603);
	f->run->outcome = (struct tier_outcome){0};
	kernel.calls = 0;
	memset(kernel.node, 0, sizeof(kernel.node));
	queue_pages(f, 10);
	flush_stops(f, TIER_TARGET_FULL);
	assert_int_equal(kernel.calls, 0);
	assert_int_equal(f->run->queue.n, 10);
}

static void test_pace_cuts_the_call(void **state)
{
	struct fixture *f = fixture(state);

	f->run->pace.weight = 10 * pace_weight(0);
	queue_pages(f, 512);
	flush(f);
	assert_int_equal(pages(f, TIER_MOVED), 512);
	assert_true(kernel.calls > 3);
	assert_true(kernel.calls <= 52);
}

static void use_buddyinfo(struct fixture *f, const char *text)
{
	put(f, "buddyinfo", text);
	close(f->m.proc_fd);
	f->m.proc_fd = open(f->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Two blocks of 64 KiB, four folios that want one: two stay as they are. */
static void test_no_block_no_split(void **state)
{
	struct fixture *f = fixture(state);

	use_buddyinfo(f, "Node 1, zone Normal 1 1 1 1 0 1 0 0 0 0 0\n");
	for (size_t i = 0; i < 4; i++)
		queue(f, i * 16, 4);
	assert_int_equal(move_flush(f->run), 0);
	assert_int_equal(f->run->outcome.bytes[TIER_WOULD_SPLIT][4], 2 * 16 * PAGE);
	assert_int_equal(kernel.largest, 2);
	assert_int_equal(kernel.times[32], 0);
}

static void test_may_split(void **state)
{
	struct fixture *f = fixture(state);

	use_buddyinfo(f, "Node 1, zone Normal 1 1 1 1 0 1 0 0 0 0 0\n");
	f->move.split_folios = true;
	for (size_t i = 0; i < 4; i++)
		queue(f, i * 16, 4);
	assert_int_equal(move_flush(f->run), 0);
	assert_int_equal(tier_outcome_bytes(&f->run->outcome, TIER_WOULD_SPLIT), 0);
	assert_int_equal(kernel.largest, 4);
}

/* A folio of 16 pages of which the kernel moved the head and left the rest in pieces. */
static void test_lost_folio_is_counted_by_page(void **state)
{
	struct fixture *f = fixture(state);

	need_frames();
	madvise(f->memory, 16 * PAGE, MADV_NOHUGEPAGE);
	memset(f->memory, 1, 16 * PAGE); /* base pages, so it looks split */
	f->move.split_folios = true;
	queue(f, 0, 4);
	assert_int_equal(move_flush(f->run), 0);
	assert_int_equal(f->run->outcome.folios_lost, 1);
	assert_int_equal(f->run->outcome.bytes[TIER_MOVED][4], PAGE);
	assert_int_equal(f->run->outcome.bytes[TIER_BUSY][4], 15 * PAGE);
}

static void test_cancel_between_calls(void **state)
{
	struct fixture *f = fixture(state);
	volatile bool cancel = false;

	f->move.cancel = &cancel;
	kernel.cancel_after = &cancel;
	f->run->pace.weight = 10 * pace_weight(0);
	queue_pages(f, 100);
	flush_stops(f, TIER_NOT_TRIED);
	assert_int_equal(kernel.calls, 1);
	assert_int_equal(pages(f, TIER_MOVED), 10);
	assert_int_equal(f->run->queue.n, 90);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_all_move_in_one_call),
		TEST(test_pinned_page_keeps_nobody),
		TEST(test_isolated_page_keeps_nobody),
		TEST(test_resumes_behind_a_failed_run),
		TEST(test_poison_is_found),
		TEST(test_all_pinned),
		TEST(test_no_memory),
		TEST(test_call_fails),
		TEST(test_room_and_headroom),
		TEST(test_pace_cuts_the_call),
		TEST(test_no_block_no_split),
		TEST(test_may_split),
		TEST(test_lost_folio_is_counted_by_page),
		TEST(test_cancel_between_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
