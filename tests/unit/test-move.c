// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mover. Its arithmetic is tested with numbers; the rest on this machine's one node, where
 * everything is there already, so what a move refuses and how it accounts can be seen, but no page
 * goes anywhere: that needs the VM.
 */
#include <numaif.h>

#include "process-fixture.h"
#include "linux/move-run.h"
#include "linux/batch.h"
#include "linux/room.h"

#define PAGE 4096UL
#define SLOT (2UL << 20)

/* ---- arithmetic ---------------------------------------------------------------------------- */

/* Calls that are as large as allowed, at a constant price per weight. */
static uint64_t pace_settles_at(uint64_t call_max_us, uint64_t weight_per_ms, uint64_t *ret_longest)
{
	struct pace p;

	*ret_longest = 0;
	pace_init(&p, call_max_us);
	for (int i = 0; i < 100; i++) {
		uint64_t took_us = p.weight * 1000 / weight_per_ms;

		*ret_longest = MAX(*ret_longest, took_us);
		pace_learn(&p, p.weight, took_us);
	}
	return p.weight;
}

static void test_pace_follows_the_machine(void **state)
{
	uint64_t longest;

	/* 1 GiB/s: 262 pages a ms. Three quarters of 20 ms are 15. */
	assert_in_range(pace_settles_at(20000, 262, &longest), 3800, 4000);
	assert_true(longest <= 20000);
	/* An emulated guest: the first call is already too long, then it is one of 57 base pages.
	 */
	assert_in_range(pace_settles_at(5000, 10, &longest), 30, 38);
	/* A machine that is faster than we can ask for. */
	assert_in_range(pace_settles_at(20000, 1000000, &longest), 266240, 266240);
	/* One folio at least, whatever it costs. */
	assert_true(pace_settles_at(1, 1, &longest) >= 1);
}

static void test_pace_learns_from_full_calls_only(void **state)
{
	struct pace p;
	uint64_t before;

	pace_init(&p, 0);
	assert_int_equal(p.call_max_us, CALL_MAX_DEFAULT_US);
	before = p.weight;
	pace_learn(&p, 9, 1); /* one base page in no time */
	assert_int_equal(p.weight, before);
	pace_learn(&p, before, 1); /* in no time: twice as much, not a thousand times */
	assert_int_equal(p.weight, 2 * before);
	pace_learn(&p, 9, 30000); /* one base page took 30 ms: that is a limit for larger calls */
	assert_true(p.weight <= 9);
	pace_learn(&p, 0, 1);
	pace_learn(&p, UINT64_MAX, 1);
	assert_true(p.weight >= 1);
}

/* One 2 MiB folio must fit into the first call, and 56 base pages. */
static void test_pace_begin(void **state)
{
	struct pace p;

	pace_init(&p, 20000);
	assert_true(p.weight >= pace_weight(9));
	assert_true(p.weight < 2 * pace_weight(9));
	assert_true(p.weight / pace_weight(0) >= 32);
	assert_true(pace_weight(4) > pace_weight(0));
}

static void test_status_result(void **state)
{
	assert_int_equal(status_result(1, 1), TIER_MOVED);
	assert_int_equal(status_result(0, 1), TIER_BUSY);
	assert_int_equal(status_result(-EBUSY, 1), TIER_BUSY);
	assert_int_equal(status_result(-EAGAIN, 1), TIER_BUSY);
	assert_int_equal(status_result(-ENOENT, 1), TIER_NOT_RESIDENT);
	assert_int_equal(status_result(-EFAULT, 1), TIER_NOT_RESIDENT);
	assert_int_equal(status_result(-EACCES, 1), TIER_SHARED);
	assert_int_equal(status_result(-ENOMEM, 1), TIER_TARGET_FULL);
}

static void test_call_error_result(void **state)
{
	assert_int_equal(call_error_result(-ESRCH), TIER_PROCESS_ENDED);
	assert_int_equal(call_error_result(-EINVAL), TIER_PROCESS_ENDED);
	assert_int_equal(call_error_result(-EACCES), TIER_CPUSET);
	assert_int_equal(call_error_result(-ENOMEM), TIER_TARGET_FULL);
	assert_int_equal(call_error_result(-ENODEV), TIER_TARGET_FULL);
	assert_int_equal(call_error_result(-EPERM), TIER_UNSUPPORTED);
	assert_int_equal(call_error_result(-ENOSYS), TIER_UNSUPPORTED);
}

static void tried(const int *status, size_t n, size_t begin, size_t end)
{
	size_t b, e;

	status_tried(status, n, &b, &e);
	assert_int_equal(b, begin);
	assert_int_equal(e, end);
}

#define U STATUS_UNTOUCHED

static void test_status_tried(void **state)
{
	/* All arrived; all of one run failed or not; a bad address, the run before it failed. */
	tried((int[]){1, 1, 1}, 3, 3, 3);
	tried((int[]){U, U, U}, 3, 0, 3);
	tried((int[]){U, U, -EBUSY, U, U}, 5, 0, 2);
	/* The run before the bad address arrived, the one behind it failed. */
	tried((int[]){1, 1, -EBUSY, U, U}, 5, 3, 5);
	tried((int[]){-EBUSY, U, -ENOENT, U}, 4, 1, 2);
	tried(NULL, 0, 0, 0);
}

static void test_blocks_take(void **state)
{
	uint64_t blocks[BUDDY_ORDERS] = {[0] = 3, [10] = 1};

	/* One block of 4 MiB is two of 2 MiB. */
	assert_true(blocks_take(blocks, 9));
	assert_int_equal(blocks[9], 1);
	assert_int_equal(blocks[10], 0);
	assert_true(blocks_take(blocks, 4));
	assert_int_equal(blocks[9], 0);
	assert_true(blocks[8] == 1 && blocks[5] == 1 && blocks[4] == 1);
	assert_false(blocks_take(blocks, 9));
	for (int i = 0; i < 31; i++)
		assert_true(blocks_take(blocks, 4));
	assert_false(blocks_take(blocks, 4));
	for (int i = 0; i < 3; i++)
		assert_true(blocks_take(blocks, 0));
	assert_false(blocks_take(blocks, 0));
}

/* ---- this machine -------------------------------------------------------------------------- */

struct fixture {
	struct linux_machine m;
	uint64_t self;
	struct tier_outcome out;
	int node; /* of our memory */
};

static int node_of(const void *address)
{
	void *page = (void *)((uintptr_t)address / PAGE * PAGE);
	int status = -1;

	assert_int_equal(move_pages(0, 1, &page, NULL, &status, 0), 0);
	return status;
}

static int setup(void **state)
{
	struct fixture *f;

	if (!fixture_possible(true))
		return 0;
	f = calloc(1, sizeof(*f));
	f->m = machine_begin();
	f->self = space_of(f->m.processes, getpid());
	f->node = node_of(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f)
		machine_end(&f->m);
	free(f);
	return 0;
}

static uint64_t bytes(const struct fixture *f, enum tier_result r)
{
	return tier_outcome_bytes(&f->out, r);
}

static void move(struct fixture *f, struct tier_move *move)
{
	uint64_t sum = 0, asked = 0;

	assert_int_equal(linux_move(&f->m, move, &f->out), 0);
	for (size_t i = 0; i < move->n_ranges; i++)
		asked += move->ranges[i].end - move->ranges[i].start;
	for (int r = 0; r < TIER_RESULTS; r++)
		sum += bytes(f, (enum tier_result)r);
	assert_int_equal(f->out.asked_bytes, asked);
	assert_int_equal(sum, asked);
}

static void move_self(struct fixture *f, const void *start, size_t size)
{
	struct tier_range range = {(uintptr_t)start, (uintptr_t)start + size};

	move(f, &(struct tier_move){
			.space_id = f->self,
			.target_node = f->node,
			.n_ranges = 1,
			.ranges = &range,
		});
}

static char *map_slots(size_t slots, int advice)
{
	char *p = mmap(NULL, (slots + 1) * SLOT, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(p != MAP_FAILED);
	p = (char *)(((uintptr_t)p + SLOT - 1) / SLOT * SLOT);
	madvise(p, slots * SLOT, advice);
	return p;
}

static void test_item_continues(void **state)
{
	const struct move_item item = { .address = 64 * PAGE, .head = 512, .pages = 8, .order = 4 };
	const struct folio behind = { .address = 72 * PAGE, .pfn = 520, .pages = 8, .order = 4 };
	struct folio f = behind;

	assert_true(move_item_continues(&item, &f));
	/* The same page again, as often as one likes. */
	f.pfn = 514;
	assert_false(move_item_continues(&item, &f));
	f = behind;
	f.address = 80 * PAGE;
	assert_false(move_item_continues(&item, &f));
	f = behind;
	f.pages = 9; /* more than the folio has */
	assert_false(move_item_continues(&item, &f));
	f = behind;
	f.order = 3;
	assert_false(move_item_continues(&item, &f));
}

/* Some kernels give a page of its own to a mere read. */
static bool reads_give_zero_page(void)
{
	char *p = map_slots(1, MADV_NOHUGEPAGE);
	bool zero = *(volatile char *)p == 0 && node_of(p) < 0;

	munmap(p, SLOT);
	return zero;
}

static void test_already_there(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(2, MADV_NOHUGEPAGE);

	memset(p + 10 * PAGE, 1, 100 * PAGE);
	if (reads_give_zero_page())
		assert_int_equal(*(volatile char *)(p + SLOT), 0);
	move_self(f, p, 2 * SLOT);
	assert_int_equal(f->out.bytes[TIER_ALREADY_THERE][0], 100 * PAGE);
	assert_int_equal(bytes(f, TIER_NOT_RESIDENT), 2 * SLOT - 100 * PAGE);
	assert_int_equal(f->out.calls, 0);
	munmap(p, 2 * SLOT);
}

static void test_huge_already_there(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(1, MADV_HUGEPAGE);

	memset(p, 1, SLOT);
	move_self(f, p, SLOT);
	assert_int_equal(bytes(f, TIER_ALREADY_THERE), SLOT);
	if (f->out.bytes[TIER_ALREADY_THERE][9] == 0) {
		print_message("skipped: no 2 MiB folio to be had\n");
		skip();
	}
	assert_int_equal(f->out.bytes[TIER_ALREADY_THERE][9], SLOT);
	munmap(p, SLOT);
}

static void test_unmapped(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(4, MADV_NOHUGEPAGE);

	memset(p, 1, 4 * SLOT);
	munmap(p + SLOT, SLOT);
	munmap(p + 3 * SLOT, SLOT);
	move_self(f, p, 4 * SLOT);
	assert_int_equal(bytes(f, TIER_ALREADY_THERE), 2 * SLOT);
	assert_int_equal(bytes(f, TIER_NOT_RESIDENT), 2 * SLOT);
	munmap(p, 3 * SLOT);
}

static void test_excluded(void **state)
{
	struct fixture *f = fixture(state);
	unsigned long mask = 1UL << f->node;
	char *p = map_slots(4, MADV_NOHUGEPAGE);
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *file = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, exe, 0);

	memset(p, 1, 4 * SLOT);
	assert_int_equal(mbind(p, SLOT, MPOL_BIND, &mask, 64, 0), 0);
	/* Not mlock(): under AddressSanitizer that does nothing. */
	assert_int_equal(syscall(SYS_mlock, p + 2 * SLOT, SLOT), 0);
	assert_true(*(volatile char *)file == 0x7f);
	move_self(f, p, 4 * SLOT);
	assert_int_equal(bytes(f, TIER_MEMPOLICY), SLOT);
	assert_int_equal(bytes(f, TIER_UNSUPPORTED), SLOT);
	assert_int_equal(bytes(f, TIER_ALREADY_THERE), 2 * SLOT);
	move_self(f, file, PAGE);
	assert_int_equal(bytes(f, TIER_UNSUPPORTED), PAGE);
	munmap(p, 4 * SLOT);
	munmap(file, PAGE);
	close(exe);
}

static void test_many_ranges(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(4, MADV_NOHUGEPAGE);
	uintptr_t at = (uintptr_t)p;
	struct tier_range ranges[] = {
		{at, at + PAGE},
		{at + PAGE, at + 3 * PAGE},
		{at + SLOT + 5 * PAGE, at + 3 * SLOT + 7 * PAGE},
	};

	memset(p, 1, 2 * SLOT);
	move(f, &(struct tier_move){
			.space_id = f->self,
			.target_node = f->node,
			.n_ranges = ARRAY_SIZE(ranges),
			.ranges = ranges,
		});
	assert_int_equal(bytes(f, TIER_ALREADY_THERE), SLOT - 2 * PAGE);
	assert_int_equal(bytes(f, TIER_NOT_RESIDENT), SLOT + 7 * PAGE);
	munmap(p, 4 * SLOT);
}

static void test_ended(void **state)
{
	struct fixture *f = fixture(state);
	struct tier_range range = {SLOT, 5 * SLOT};
	struct tier_move m = {.target_node = f->node, .n_ranges = 1, .ranges = &range};
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	m.space_id = space_of(f->m.processes, pid);
	reap(pid);
	move(f, &m);
	assert_int_equal(bytes(f, TIER_PROCESS_ENDED), 4 * SLOT);
	m.space_id = 999999;
	move(f, &m);
	assert_int_equal(bytes(f, TIER_PROCESS_ENDED), 4 * SLOT);
}

static void test_cancelled(void **state)
{
	struct fixture *f = fixture(state);
	volatile bool cancel = true;
	char *p = map_slots(1, MADV_NOHUGEPAGE);
	struct tier_range range = {(uintptr_t)p, (uintptr_t)p + SLOT};

	memset(p, 1, SLOT);
	move(f, &(struct tier_move){
			.space_id = f->self,
			.target_node = f->node,
			.n_ranges = 1,
			.ranges = &range,
			.cancel = &cancel,
		});
	assert_int_equal(bytes(f, TIER_NOT_TRIED), SLOT);
	munmap(p, SLOT);
}

static void test_refuses(void **state)
{
	struct fixture *f = fixture(state);
	struct tier_range good = {SLOT, 2 * SLOT};
	struct tier_range bad[][2] = {
		{{1, PAGE}, {SLOT, 2 * SLOT}},	      {{PAGE, PAGE}, {SLOT, 2 * SLOT}},
		{{2 * PAGE, PAGE}, {SLOT, 2 * SLOT}}, {{PAGE, 2 * SLOT}, {SLOT, 3 * SLOT}},
		{{SLOT, 2 * SLOT}, {PAGE, 2 * PAGE}},
	};
	struct tier_move m = {.space_id = f->self, .target_node = 1000, .n_ranges = 1};

	m.ranges = &good;
	memset(&f->out, 0x55, sizeof(f->out));
	assert_int_equal(linux_move(&f->m, &m, &f->out), -EINVAL);
	m.target_node = -1;
	assert_int_equal(linux_move(&f->m, &m, &f->out), -EINVAL);
	m.target_node = f->node;
	m.n_ranges = 2;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		m.ranges = bad[i];
		assert_int_equal(linux_move(&f->m, &m, &f->out), -EINVAL);
	}
	f->m.recorded = true;
	assert_int_equal(linux_move(&f->m, &m, &f->out), -EROFS);
	assert_true(f->out.calls == 0x55555555);
}

static void test_room(void **state)
{
	struct fixture *f = fixture(state);
	uint64_t blocks[BUDDY_ORDERS], room, less, pages = 0;

	assert_int_equal(room_node_exists(&f->m, f->node), 1);
	assert_int_equal(room_node_exists(&f->m, 1000), 0);
	assert_int_equal(room_read(&f->m, f->node, 0, &room), 0);
	assert_true(room > 0);
	assert_int_equal(room_read(&f->m, f->node, room / 2, &less), 0);
	assert_true(less < room);
	assert_int_equal(room_read(&f->m, f->node, UINT64_MAX, &less), 0);
	assert_int_equal(less, 0);
	assert_int_equal(room_read_blocks(&f->m, f->node, blocks), 0);
	for (size_t order = 0; order < BUDDY_ORDERS; order++)
		pages += blocks[order] << order;
	/* Not all that is free need be in there: hypervisors and per-CPU lists hold some. */
	assert_true(pages > 0);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pace_follows_the_machine),
		cmocka_unit_test(test_pace_learns_from_full_calls_only),
		cmocka_unit_test(test_pace_begin),
		cmocka_unit_test(test_status_result),
		cmocka_unit_test(test_call_error_result),
		cmocka_unit_test(test_status_tried),
		cmocka_unit_test(test_blocks_take),
		cmocka_unit_test(test_item_continues),
		TEST(test_already_there),
		TEST(test_huge_already_there),
		TEST(test_unmapped),
		TEST(test_excluded),
		TEST(test_many_ranges),
		TEST(test_ended),
		TEST(test_cancelled),
		TEST(test_refuses),
		TEST(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
