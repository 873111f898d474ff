/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TEST_TRACKER_WORLD_H
#define TEST_TRACKER_WORLD_H

/* Real processes in made-up cgroups, and a tracker to watch them. */

#include "fake-damon.h"

#include <sys/prctl.h>

#include "linux/linux.h"
#include "linux/process.h"

static inline bool has_record(const struct fake *f)
{
	char path[512];

	fake_path(f, path, "run/damon");
	return !access(path, F_OK);
}

static inline int clean_up(struct fake *f)
{
	char path[512];

	fake_path(f, path, "run");
	return own_cleanup(f->sys_fd, f->proc_fd, path, &f->writer);
}

#define WORLD_MAX 48
#define WORLD_CHANGE_US (100 * US_PER_MS)

/* Real processes, so that liveness is real, in made-up cgroups. */
struct world {
	struct fake *fake;
	struct tracker *tracker;
	struct process_table *table;
	int proc_fd;
	char cgroup[256];
	uint64_t change_us;
	size_t n;
	struct {
		pid_t pid;
		uint64_t cgroup_id, space_id;
	} p[WORLD_MAX];
};

static inline bool own_cgroup(char *text, size_t size)
{
	cleanup(closep) int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, size - 1);
	const char *path;
	size_t length;

	if (n <= 0 || process_parse_cgroup(text, (size_t)n, &path, &length) < 0)
		return false;
	memmove(text, path, length);
	text[length] = '\0';
	return true;
}

static inline void world_open(struct world *w, struct fake *f)
{
	*w = (struct world){ .fake = f, .change_us = WORLD_CHANGE_US };
	w->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(process_table_new(w->proc_fd, &w->table), 0);
	if (!own_cgroup(w->cgroup, sizeof(w->cgroup))) {
		print_message("no cgroup v2 here: processes cannot be told apart\n");
		skip();
	}
}

static inline void world_start(struct world *w)
{
	char path[512];
	struct tracker_options options = {
		.sys_fd = w->fake->sys_fd,
		.proc_fd = w->fake->proc_fd,
		.run_dir = path,
		.writer = &w->fake->writer,
		.change_us = w->change_us,
		.retry_us = 200 * US_PER_MS,
		.period_us = 100 * US_PER_MS,
	};

	fake_path(w->fake, path, "run");
	assert_int_equal(tracker_start(&options, &w->tracker), 0);
}

static inline void world_scan(struct world *w)
{
	struct process_candidate candidates[WORLD_MAX];
	struct tier_processes *seen;

	for (size_t i = 0; i < w->n; i++)
		candidates[i] = (struct process_candidate){ .pid = w->p[i].pid,
							    .cgroup_id = w->p[i].cgroup_id,
							    .cgroup_path = w->cgroup };
	assert_int_equal(process_table_update(w->table, candidates, w->n, &seen), 0);
	assert_int_equal(seen->n_processes, w->n);
	for (size_t i = 0; i < w->n; i++)
		for (size_t j = 0; j < seen->n_processes; j++)
			if (seen->processes[j].pid == w->p[i].pid)
				w->p[i].space_id = seen->processes[j].space_id;
	tier_processes_free(seen);
}

/* A child that does not outlive a test that fails. */
static inline pid_t fork_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static inline size_t world_fork(struct world *w, uint64_t cgroup_id)
{
	pid_t pid;

	assert_true(w->n < WORLD_MAX);
	pid = fork_child();
	if (!pid)
		for (;;)
			pause();
	w->p[w->n].pid = pid;
	w->p[w->n].cgroup_id = cgroup_id;
	w->n++;
	world_scan(w);
	return w->n - 1;
}

static inline void world_kill(struct world *w, size_t i)
{
	kill(w->p[i].pid, SIGKILL);
	waitpid(w->p[i].pid, NULL, 0);
	w->p[i] = w->p[--w->n];
}

static inline void world_track(struct world *w)
{
	uint64_t ids[WORLD_MAX];

	for (size_t i = 0; i < w->n; i++)
		ids[i] = w->p[i].space_id;
	assert_int_equal(tracker_set(w->tracker, w->table, ids, w->n), 0);
}

static inline void world_close(struct world *w)
{
	uint64_t begin = tracker_now_us();

	tracker_free(w->tracker);
	assert_true(tracker_now_us() - begin < 1500 * US_PER_MS);
	if (w->fake) {
		assert_int_equal(w->fake->n_kdamonds, 0);
		assert_false(has_record(w->fake));
	}
	while (w->n)
		world_kill(w, w->n - 1);
	process_table_free(w->table);
	close(w->proc_fd);
}

/* Under sanitizers and load everything takes longer. */
#define PATIENCE_US (15 * US_PER_S)

#define wait_until(condition)                                                                  \
	do {                                                                                   \
		uint64_t begin_ = tracker_now_us();                                            \
		while (!(condition)) {                                                         \
			if (tracker_now_us() - begin_ > PATIENCE_US)                           \
				fail_msg("waited in vain: %s", #condition);                    \
			usleep(20000);                                                         \
		}                                                                              \
	} while (0)

static inline bool state_says(struct world *w, enum tier_tracker tracker, const char *words)
{
	struct tier_tracker_state s;

	tracker_state(w->tracker, &s);
	return s.tracker == tracker && (words[0] ? strstr(s.reason, words) != NULL : !s.reason[0]);
}

#endif
