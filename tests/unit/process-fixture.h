/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TEST_PROCESS_FIXTURE_H
#define TEST_PROCESS_FIXTURE_H

/*
 * For tests that look at real processes: a machine with the parts that process.c, folio.c,
 * residency.c and move.c need, without cgroups; and children that wait to be told to end.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "linux/linux.h"
#include "linux/process.h"
#include "util.h"

static inline struct linux_machine machine_begin(void)
{
	struct linux_machine m = {
		.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.sys_fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC),
	};

	assert_int_equal(process_table_new(m.proc_fd, &m.processes), 0);
	assert_int_equal(node_spans_read(m.proc_fd, &m.spans), 0);
	return m;
}

static inline void machine_end(struct linux_machine *m)
{
	process_table_free(m->processes);
	node_spans_free(m->spans);
	close(m->proc_fd);
	close(m->sys_fd);
}

/* Path of our own cgroup as the table wants it; false without cgroup v2. */
static inline bool own_cgroup(char *ret, size_t size)
{
	const char *path;
	char text[4096];
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text));
	size_t length;

	close(fd);
	if (n < 0 || process_parse_cgroup(text, (size_t)n, &path, &length) < 0 || length >= size)
		return false;
	memcpy(ret, path, length);
	ret[length] = '\0';
	return true;
}

/* What the table makes of these pids, all of them in our own cgroup. Skips without cgroup v2. */
static inline struct tier_processes *table_see(struct process_table *t, const pid_t *pids, size_t n)
{
	struct process_candidate c[16];
	struct tier_processes *list;
	char path[4096];

	if (!own_cgroup(path, sizeof(path))) {
		print_message("skipped: no cgroup v2 line in /proc/self/cgroup\n");
		skip();
	}
	for (size_t i = 0; i < n; i++)
		c[i] = (struct process_candidate){
			.pid = pids[i],
			.cgroup_id = 7,
			.cgroup_path = path,
		};
	assert_int_equal(process_table_update(t, c, n, &list), 0);
	return list;
}

/* The space of one process, 0 when the table does not list it. */
static inline uint64_t space_of(struct process_table *t, pid_t pid)
{
	struct tier_processes *list = table_see(t, &pid, 1);
	uint64_t id = list->n_processes ? list->processes[0].space_id : 0;

	tier_processes_free(list);
	return id;
}

/* Frames of pages, and flags of frames, are for those with CAP_SYS_ADMIN. */
static inline bool frames_visible(void)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uintptr_t page = (uintptr_t)&entry / TIER_PAGE_BYTES;
	ssize_t n = pread(fd, &entry, sizeof(entry), (off_t)(page * sizeof(entry)));

	close(fd);
	return n == sizeof(entry) && entry << 9 && access("/proc/kpageflags", R_OK) == 0;
}

static inline void need_frames(void)
{
	if (frames_visible())
		return;
	print_message("skipped: page frames are hidden, run as root\n");
	skip();
}

/* For set-up functions, which cannot skip: is there all that they need? */
static inline bool fixture_possible(bool frames)
{
	char path[4096];

	return own_cgroup(path, sizeof(path)) && (!frames || frames_visible());
}

/* The fixture that was set up, or the end of the test. */
static inline void *fixture(void **state)
{
	if (!*state) {
		print_message("skipped: needs root, to see page frames, and cgroup v2\n");
		skip();
	}
	return *state;
}

static inline void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#endif
