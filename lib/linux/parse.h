/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_LINUX_PARSE_H
#define TIER_LINUX_PARSE_H

/*
 * Text of /proc, /sys and cgroup files to numbers and lists. Pure: no file, no clock, no state. The
 * text need not end in a NUL and may hold any byte; what does not look as expected is -EINVAL, what
 * is more than the caps allow -E2BIG, and outputs are then untouched.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "linux/node-set.h"
#include "tier.h"

/* A decimal number <= @max; one newline may follow, nothing else. -ERANGE when it is larger. */
int parse_u64(const char *s, size_t n, uint64_t max, uint64_t *ret);

/* "0,2-3", one newline may follow; an empty list is an empty set. */
int parse_node_list(const char *s, size_t n, struct node_set *ret);

/* Tiers of nodes, fastest first. */
struct tier_list {
	size_t n_tiers;
	struct node_set tiers[TIER_NODES_MAX];
};

/*
 * An administrator's order, "0,2 > 1": node lists separated by '>', blanks anywhere around them.
 * No empty tier, no node twice. *ret_why gets a static text on failure.
 */
int parse_tier_list(const char *s, size_t n, struct tier_list *ret, const char **ret_why);

/*
 * One line of a node's distance file: SLIT distances by position among the online nodes. At most
 * @max of them (-E2BIG); larger values than 255 cannot come from a SLIT: -ERANGE.
 */
int parse_distances(const char *s, size_t n, size_t max, uint8_t *ret, size_t *ret_n);

/* MemTotal and MemFree of a node's meminfo ("Node 0 MemTotal: 1 kB") or of /proc/meminfo. */
int parse_meminfo(const char *s, size_t n, uint64_t *ret_total_bytes, uint64_t *ret_free_bytes);

/* What is of use here in memory.numa_stat. */
enum numa_stat_kind {
	NUMA_STAT_ANON,
	NUMA_STAT_FILE, /* with shmem, as the kernel counts it */
	NUMA_STAT_SHMEM,
	NUMA_STAT_OTHER,
};

struct numa_stat_line {
	enum numa_stat_kind kind;
	size_t n_nodes; /* 0 for NUMA_STAT_OTHER, whose values are not looked at */
	struct {
		int id;
		uint64_t bytes;
	} nodes[TIER_NODES_MAX];
};

/* One line of memory.numa_stat: "anon N0=4096 N2=0"; the newline is optional. */
int parse_numa_stat_line(const char *s, size_t n, struct numa_stat_line *ret);

/* total= of the "some" line of a pressure file, in microseconds. */
int parse_psi_some(const char *s, size_t n, uint64_t *ret_total_us);

/*
 * Pids, one a line, at most @max (-E2BIG). 0, which stands for a process outside our pid namespace,
 * is left out. *ret is malloc()ed, NULL when there is none.
 */
int parse_pids(const char *s, size_t n, size_t max, pid_t **ret, size_t *ret_n);

/*
 * The value of the line "KEY:<blanks>VALUE" of a status file, without blanks around it, as a part
 * of @s. -ENOENT when there is no such line.
 */
int parse_status_field(const char *s, size_t n, const char *key, const char **ret, size_t *ret_n);

/* A capability mask as in CapEff: 1 to 16 hexadecimal digits. */
int parse_hex_u64(const char *s, size_t n, uint64_t *ret);

/* Is @word one of the blank-separated words of @s? */
bool parse_has_word(const char *s, size_t n, const char *word);

#endif
