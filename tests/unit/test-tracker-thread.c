// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracker's thread with real processes against a played kernel; no root, no DAMON. */
#include "tracker-world.h"

/* Is there a sample of exactly the world's processes, each with its own memory's regions? */
static bool samples_match(struct world *w)
{
	struct tier_accesses *a;
	size_t good = 0;
	bool all;

	assert_int_equal(tracker_read(w->tracker, &a), 0);
	all = a->n_accesses == w->n;
	for (size_t i = 0; i < a->n_accesses; i++)
		for (size_t j = 0; j < w->n; j++)
			if (a->accesses[i].space_id == w->p[j].space_id) {
				const struct tier_access *x = &a->accesses[i];

				/* Never somebody else's memory, not even for a moment. */
				assert_int_equal(x->n_regions, FAKE_REGIONS);
				assert_int_equal(x->regions[0].start,
						 (uint64_t)w->p[j].pid * FAKE_SPAN);
				good++;
			}
	tier_accesses_free(a);
	return all && good == w->n;
}

static size_t running(const struct fake *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_kdamonds; i++)
		n += f->kdamonds[i].pid != 0;
	return n;
}

static void follow_changes(struct fake *f)
{
	struct tier_tracker_state s;
	struct world w;
	unsigned int ons;

	world_open(&w, f);
	world_start(&w);
	wait_until(state_says(&w, TIER_TRACKER_DAMON, ""));
	for (size_t i = 0; i < 6; i++)
		world_fork(&w, 100 + i % 2);
	world_track(&w);
	wait_until(samples_match(&w));
	assert_int_equal(running(f), 2);
	tracker_state(w.tracker, &s);
	assert_int_equal(s.n_tracked, 6);
	assert_int_equal(s.cpu_us, 2 * 1000 * US_PER_MS);
	/* More of one cgroup: taken over without a restart. */
	ons = f->ons;
	world_fork(&w, 100);
	world_track(&w);
	wait_until(samples_match(&w));
	assert_int_equal(f->ons, ons);
	assert_int_equal(f->commits, 1);
	/* One ends, one comes: only where they are is anything done. */
	world_kill(&w, 2);
	world_fork(&w, 100);
	world_track(&w);
	wait_until(samples_match(&w));
	/* The tracker may look between the two: then it is done in two steps. */
	assert_in_range(f->ons, f->can_drop ? ons : ons + 1, ons + 2);
	assert_int_equal(running(f), 2);
	/* One is not wanted any more, though it lives. */
	w.n--;
	world_track(&w);
	wait_until(samples_match(&w));
	w.n++;
	world_track(&w);
	wait_until(samples_match(&w));
	/* A new cgroup gets a kdamond of its own. */
	world_fork(&w, 102);
	world_track(&w);
	wait_until(samples_match(&w));
	assert_int_equal(running(f), 3);
	/* Nothing wanted: nothing runs. */
	assert_int_equal(tracker_set(w.tracker, w.table, NULL, 0), 0);
	wait_until(running(f) == 0);
	world_close(&w);
}

static void test_follow_changes(void **state)
{
	follow_changes(*state);
}

static void test_follow_changes_dropping(void **state)
{
	struct fake *f = *state;

	f->can_drop = true;
	follow_changes(f);
}

/* What commits while somebody has just ended does to old and new kernels. */
static void test_dead_on_the_list(void **state)
{
	struct fake *f = *state;
	struct world w;

	world_open(&w, f);
	world_start(&w);
	for (size_t i = 0; i < 4; i++)
		world_fork(&w, 100);
	world_track(&w);
	wait_until(samples_match(&w));
	/* The dead by themselves are no reason to begin anew. */
	world_kill(&w, 1);
	world_track(&w);
	wait_until(samples_match(&w));
	assert_int_equal(f->ons, 1);
	world_fork(&w, 100);
	world_track(&w);
	wait_until(samples_match(&w));
	assert_int_equal(f->ons, 2);
	assert_int_equal(f->commits, 0);
	world_close(&w);
}

/* A process ends between our look at it and the kernel's. */
static void end_in_between(struct fake *f)
{
	struct world w;

	world_open(&w, f);
	world_start(&w);
	world_fork(&w, 100);
	world_fork(&w, 100);
	f->victim = w.p[0].pid;
	world_track(&w);
	waitpid(w.p[0].pid, NULL, 0);
	w.p[0] = w.p[--w.n];
	wait_until(samples_match(&w));
	assert_int_equal(f->ons, 1);
	/* The same for a commit. */
	world_fork(&w, 100);
	f->victim = w.p[1].pid;
	world_track(&w);
	waitpid(w.p[1].pid, NULL, 0);
	w.n--;
	wait_until(f->ons == 2);
	wait_until(samples_match(&w));
	assert_true(state_says(&w, TIER_TRACKER_DAMON, ""));
	world_close(&w);
}

static void test_end_in_between(void **state)
{
	end_in_between(*state);
}

static void test_end_in_between_dropping(void **state)
{
	struct fake *f = *state;

	f->can_drop = true;
	end_in_between(f);
}

static void test_kdamond_ended(void **state)
{
	struct fake *f = *state;
	struct tier_accesses *a;
	struct world w;
	uint64_t seq;

	world_open(&w, f);
	world_start(&w);
	world_fork(&w, 100);
	world_track(&w);
	wait_until(samples_match(&w));
	assert_int_equal(tracker_read(w.tracker, &a), 0);
	seq = a->accesses[0].seq;
	tier_accesses_free(a);
	fake_set_pid(f, 0, 0);
	wait_until(f->ons == 2);
	for (uint64_t now = 0; now <= seq; tier_accesses_free(a)) {
		assert_int_equal(tracker_read(w.tracker, &a), 0);
		assert_int_equal(a->n_accesses, 1);
		assert_true(a->accesses[0].seq >= seq);
		now = a->accesses[0].seq;
		usleep(20000);
	}
	world_close(&w);
}

/* Every change is asked for; few are carried out, and the last one is. */
static void test_rate_limit(void **state)
{
	struct fake *f = *state;
	uint64_t begin = tracker_now_us();
	unsigned int changes;
	struct world w;

	f->can_drop = true;
	world_open(&w, f);
	w.change_us = US_PER_S;
	world_start(&w);
	world_fork(&w, 100);
	for (int i = 0; i < 30; i++) {
		if (w.n > 3)
			world_kill(&w, 0);
		world_fork(&w, 100);
		world_track(&w);
		usleep(50000);
	}
	wait_until(samples_match(&w));
	/* One change is a start, a commit, or a commit that fails and a start. */
	changes = f->ons + f->commits;
	if (changes > 2 * ((tracker_now_us() - begin) / w.change_us + 1))
		fail_msg("%u changes", changes);
	assert_true(changes >= 2);
	world_close(&w);
}

static void test_too_many(void **state)
{
	struct fake *f = *state;
	struct tier_tracker_state s;
	struct tier_accesses *a;
	struct world w;

	world_open(&w, f);
	world_start(&w);
	for (size_t i = 0; i < 40; i++)
		world_fork(&w, 100);
	world_track(&w);
	wait_until(state_says(&w, TIER_TRACKER_DAMON, "8 processes are not tracked"));
	tracker_state(w.tracker, &s);
	assert_int_equal(s.n_tracked, DAMON_TARGETS_MAX);
	assert_int_equal(tracker_read(w.tracker, &a), 0);
	for (size_t i = 0; i < a->n_accesses; i++)
		assert_true(a->accesses[i].space_id <= w.p[DAMON_TARGETS_MAX - 1].space_id);
	tier_accesses_free(a);
	world_close(&w);
}

static void test_foreign_goes_away(void **state)
{
	struct fake *f = *state;
	uint64_t before;
	struct world w;

	fake_make_kdamonds(f, 1);
	fake_set_pid(f, 0, 4000100);
	before = fake_hash(f);
	world_open(&w, f);
	world_start(&w);
	world_fork(&w, 100);
	world_track(&w);
	wait_until(state_says(&w, TIER_TRACKER_NONE, "another program uses DAMON"));
	usleep(500000);
	assert_int_equal(f->writes, 0);
	assert_true(fake_hash(f) == before);
	fake_set_pid(f, 0, 0);
	fake_make_kdamonds(f, 0);
	wait_until(samples_match(&w));
	assert_true(state_says(&w, TIER_TRACKER_DAMON, ""));
	world_close(&w);
}

static void test_held_by_a_module(void **state)
{
	struct fake *f = *state;
	struct world w;

	f->exclusive = true;
	fake_put(f, "Y\n", "sys/module/damon_stat/parameters/enabled");
	world_open(&w, f);
	world_start(&w);
	world_fork(&w, 100);
	world_track(&w);
	wait_until(state_says(&w, TIER_TRACKER_NONE, "damon_stat has DAMON for itself"));
	f->exclusive = false;
	wait_until(samples_match(&w));
	world_close(&w);
}

/* Somebody re-creates the directories while nothing of ours runs in them. */
static void test_taken_over(void **state)
{
	struct fake *f = *state;
	uint64_t before;
	struct world w;

	world_open(&w, f);
	world_start(&w);
	wait_until(state_says(&w, TIER_TRACKER_DAMON, ""));
	fake_make_kdamonds(f, TRACKER_KDAMONDS);
	fake_set_pid(f, 0, 4000100);
	before = fake_hash(f);
	world_fork(&w, 100);
	world_track(&w);
	wait_until(state_says(&w, TIER_TRACKER_NONE, "another program uses DAMON"));
	assert_true(fake_hash(f) == before);
	fake_set_pid(f, 0, 0);
	fake_make_kdamonds(f, 0);
	wait_until(samples_match(&w));
	world_close(&w);
}

/* A tracker in a child; returns when it tracks. */
static pid_t track_in_child(struct world *w)
{
	pid_t pid = fork_child();

	if (pid)
		return pid;
	world_start(w);
	world_track(w);
	for (;;)
		pause();
}

static void test_killed(void **state)
{
	struct fake *f = *state;
	struct world w;
	pid_t child;

	world_open(&w, f);
	world_fork(&w, 100);
	world_fork(&w, 101);
	child = track_in_child(&w);
	wait_until(running(f) == 2 && f->updates > 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(running(f), 2);
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(running(f), 0);
	world_close(&w);
}

static void *interrupt_me(void *arg)
{
	usleep(300000);
	kill(getpid(), SIGUSR1);
	return NULL;
}

static void nothing(int sig)
{
}

/* A signal to the process must never end up in the tracker's thread. */
static void test_signals(void **state)
{
	struct fake *f = *state;
	char path[64], text[4096];
	struct world w;
	FILE *file;
	pthread_t thread;
	size_t n, blocked = 0;
	struct dirent *e;
	DIR *dir;

	signal(SIGUSR1, nothing);
	world_open(&w, f);
	world_start(&w);
	pthread_create(&thread, NULL, interrupt_me, NULL);
	pthread_join(thread, NULL);
	dir = opendir("/proc/self/task");
	while ((e = readdir(dir))) {
		char *mask;

		if (atoi(e->d_name) <= 0 || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", e->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		n = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
		text[n] = '\0';
		mask = strstr(text, "SigBlk:");
		assert_non_null(mask);
		/* All but KILL, STOP and the C library's own two. */
		blocked += (strtoull(mask + 7, NULL, 16) | 0x180040100ULL) == UINT64_MAX;
	}
	closedir(dir);
	assert_true(blocked >= 1);
	world_close(&w);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_follow_changes),
		T(test_follow_changes_dropping),
		T(test_dead_on_the_list),
		T(test_end_in_between),
		T(test_end_in_between_dropping),
		T(test_kdamond_ended),
		T(test_rate_limit),
		T(test_too_many),
		T(test_foreign_goes_away),
		T(test_held_by_a_module),
		T(test_taken_over),
		T(test_killed),
		T(test_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
