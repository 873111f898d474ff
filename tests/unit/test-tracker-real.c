// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracker against the real DAMON. For root, where nobody else uses DAMON; skipped, with the
 * reason, everywhere else. Says what it saw: a VM's log is worth reading.
 */
#include "tracker-world.h"

#define HOT_BYTES (16 * MiB)
#define ALL_BYTES (64 * MiB)

static int open_sys(void)
{
	return open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static size_t real_count(int sys_fd)
{
	struct damon d;
	size_t n = 99;

	if (damon_open(sys_fd, NULL, &d) < 0)
		return 99;
	damon_read_count(&d, &n);
	damon_close(&d);
	return n;
}

static void need_real_damon(int sys_fd)
{
	struct damon d;

	if (geteuid()) {
		print_message("skipped: not root\n");
		skip();
	}
	if (damon_open(sys_fd, NULL, &d) < 0) {
		print_message("skipped: no /sys/kernel/mm/damon\n");
		skip();
	}
	damon_close(&d);
	if (real_count(sys_fd)) {
		print_message("skipped: somebody uses DAMON (%zu kdamonds)\n", real_count(sys_fd));
		skip();
	}
}

/*
 * An emulated CPU keeps address translations for as long as nobody flushes them, and does not mark a
 * page as accessed again until then. Changing the protection of more pages than x86 flushes one by
 * one (33) flushes all.
 */
static void flush_translations(void)
{
	static char scratch[64 * TIER_PAGE_BYTES] __attribute__((aligned(4096)));

	for (size_t i = 0; i < sizeof(scratch); i += TIER_PAGE_BYTES)
		((volatile char *)scratch)[i]++;
	if (mprotect(scratch, sizeof(scratch), PROT_READ) < 0 ||
	    mprotect(scratch, sizeof(scratch), PROT_READ | PROT_WRITE) < 0)
		abort();
}

/* Touches the first quarter of its memory all the time; tells where that is. */
static pid_t fork_worker(volatile char **ret_memory)
{
	volatile char *memory = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork_child();

	assert_true(memory != MAP_FAILED);
	*ret_memory = memory;
	if (pid)
		return pid;
	for (size_t i = 0; i < ALL_BYTES; i += TIER_PAGE_BYTES)
		memory[i] = 1;
	for (;;) {
		for (size_t i = 0; i < HOT_BYTES; i += TIER_PAGE_BYTES)
			memory[i]++;
		flush_translations();
		usleep(2000);
	}
}

/* Mean rate of [start, end) in basis points; -1 without a sample. */
static long mean_rate(const struct tier_access *a, uint64_t start, uint64_t end)
{
	uint64_t sum = 0, bytes = 0;

	for (size_t i = 0; i < a->n_regions; i++) {
		uint64_t from = MAX(a->regions[i].start, start), to = MIN(a->regions[i].end, end);

		if (from >= to)
			continue;
		sum += (to - from) / TIER_PAGE_BYTES * a->regions[i].rate_bp;
		bytes += (to - from) / TIER_PAGE_BYTES;
	}
	return bytes ? (long)(sum / bytes) : -1;
}

static void world_open_real(struct world *w, char *run_dir)
{
	char path[] = "/tmp/tierd-run-XXXXXX";

	world_open(w, NULL);
	assert_non_null(mkdtemp(path));
	strcpy(run_dir, path);
}

static void world_adopt(struct world *w, pid_t pid, uint64_t cgroup_id)
{
	w->p[w->n].pid = pid;
	w->p[w->n].cgroup_id = cgroup_id;
	w->n++;
	world_scan(w);
}

static void test_real_hot_memory(void **state)
{
	cleanup(closep) int sys_fd = open_sys();
	struct tier_tracker_state s;
	volatile char *memory[2];
	unsigned int good = 0, looks = 0;
	uint64_t seqs[2] = { 0 };
	char run_dir[64];
	struct world w;

	need_real_damon(sys_fd);
	world_open_real(&w, run_dir);
	/* Two targets of one kdamond: the filters must keep them apart. */
	for (size_t i = 0; i < 2; i++)
		world_adopt(&w, fork_worker(&memory[i]), 100);
	assert_int_equal(tracker_new(sys_fd, run_dir, &w.tracker), 0);
	world_track(&w);
	for (uint64_t begin = tracker_now_us(); tracker_now_us() - begin < 20 * US_PER_S;) {
		struct tier_accesses *a;

		usleep(200000);
		assert_int_equal(tracker_read(w.tracker, &a), 0);
		for (size_t i = 0; i < a->n_accesses; i++) {
			size_t j = a->accesses[i].space_id == w.p[1].space_id;
			uint64_t start = (uint64_t)(uintptr_t)memory[j];
			long hot, cold;

			if (a->accesses[i].seq == seqs[j])
				continue;
			seqs[j] = a->accesses[i].seq;
			hot = mean_rate(&a->accesses[i], start, start + HOT_BYTES);
			cold = mean_rate(&a->accesses[i], start + HOT_BYTES, start + ALL_BYTES);
			print_message("process %zu: %zu regions, hot %ld bp, cold %ld bp\n", j,
				      a->accesses[i].n_regions, hot, cold);
			looks++;
			good += hot > 2 * MAX(cold, 0L) + 500;
		}
		tier_accesses_free(a);
	}
	tracker_state(w.tracker, &s);
	print_message("%u of %u samples told hot from cold; kdamonds used %llu ms; \"%s\"\n", good,
		      looks, (unsigned long long)(s.cpu_us / 1000), s.reason);
	assert_int_equal(s.tracker, TIER_TRACKER_DAMON);
	assert_true(seqs[0] && seqs[1]);
	/* Single samples are noisy, more so on an emulated CPU. */
	assert_true(good >= 4);
	world_close(&w);
	assert_int_equal(real_count(sys_fd), 0);
	fake_remove(run_dir);
}

static void test_real_changes(void **state)
{
	cleanup(closep) int sys_fd = open_sys();
	volatile char *memory;
	char run_dir[64];
	struct world w;
	size_t n = 0;

	need_real_damon(sys_fd);
	world_open_real(&w, run_dir);
	world_adopt(&w, fork_worker(&memory), 100);
	assert_int_equal(tracker_new(sys_fd, run_dir, &w.tracker), 0);
	/* Comers and goers: each set must come to have a sample of each of its processes. */
	for (int round = 0; round < 6; round++) {
		struct tier_accesses *a;

		if (round % 2)
			world_kill(&w, 0);
		world_adopt(&w, fork_worker(&memory), 100 + (unsigned int)round % 3);
		world_track(&w);
		for (int i = 0; i < 150; i++, usleep(100000)) {
			assert_int_equal(tracker_read(w.tracker, &a), 0);
			n = a->n_accesses;
			tier_accesses_free(a);
			if (n == w.n)
				break;
		}
		assert_int_equal(n, w.n);
		assert_true(state_says(&w, TIER_TRACKER_DAMON, ""));
	}
	world_close(&w);
	assert_int_equal(real_count(sys_fd), 0);
	fake_remove(run_dir);
}

static void test_real_killed(void **state)
{
	cleanup(closep) int sys_fd = open_sys();
	volatile char *memory;
	char run_dir[64];
	struct world w;
	pid_t child;

	need_real_damon(sys_fd);
	world_open_real(&w, run_dir);
	world_adopt(&w, fork_worker(&memory), 100);
	child = fork_child();
	if (!child) {
		assert_int_equal(tracker_new(sys_fd, run_dir, &w.tracker), 0);
		world_track(&w);
		for (;;)
			pause();
	}
	sleep(4);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(real_count(sys_fd), TRACKER_KDAMONDS);
	assert_int_equal(tracker_cleanup(sys_fd, run_dir), 0);
	assert_int_equal(real_count(sys_fd), 0);
	world_close(&w);
	fake_remove(run_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_hot_memory),
		cmocka_unit_test(test_real_changes),
		cmocka_unit_test(test_real_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
