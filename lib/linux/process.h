/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_PROCESS_H
#define TIER_PROCESS_H

/*
 * The texts that describe a process (pure), and the table's own update step, which takes pids from
 * wherever they come.
 */

#include "linux/linux.h"

/* Twice pid_max of a default 32-bit kernel; more processes than anybody tracks by address. */
#define PROCESSES_MAX 65536

struct process_stat {
	char state;
	bool kernel_thread;
	uint64_t start_time; /* clock ticks after boot */
};

/* /proc/PID/stat. The name in it is chosen by the process and may hold anything. */
int process_parse_stat(const char *text, size_t size, struct process_stat *ret);
/* /proc/PID/statm: what is resident. */
int process_parse_statm(const char *text, size_t size, uint64_t *ret_resident_bytes);
/*
 * The cgroup v2 line of /proc/PID/cgroup as part of @text, without leading slash: the path below
 * the mount as linux.h means it. -ENOENT when there is no such line.
 */
int process_parse_cgroup(const char *text, size_t size, const char **ret_path, size_t *ret_size);

/* A pid that was seen in a cgroup. */
struct process_candidate {
	pid_t pid;
	uint64_t cgroup_id;
	const char *cgroup_path;   /* borrowed */
	uint64_t resident_bytes;   /* filled in by the table */
	struct process *known;     /* likewise */
};

/*
 * Opens the process that has this pid now, provided that it is in the candidate's cgroup, with one
 * reference, the caller's. @live: a real /proc, not a recorded tree. -ESRCH for a kernel thread and
 * for what ended or moved.
 */
int process_open(int proc_fd, bool live, const struct process_candidate *c, struct process **ret);
void process_free(struct process *p);
/* 0 when it is in the cgroup with this path now, -ESRCH when it is elsewhere. */
int process_check_cgroup(const struct process *p, const char *path);
/* From a statm file below @dir_fd. */
int process_read_resident(int dir_fd, const char *path, uint64_t *ret_bytes);

/* What process_table_scan() does once it has the pids. Sorts @candidates. */
int process_table_update(struct process_table *t, struct process_candidate *candidates, size_t n,
			 struct tier_processes **ret);

/* For tests: as if RLIMIT_NOFILE allowed only so many processes; 0: as it does. */
void process_table_limit(struct process_table *t, size_t n_processes);

#endif
