/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

/*
 * One look at the machine, made by observe/ once a tick and const ever after. Freed as a whole.
 * A group is a cgroup that a policy matches, together with those descendants that no more specific
 * policy matches: every process belongs to at most one group.
 */

#include "model/policy.h"
#include "tier.h"

struct snapshot_group {
	uint64_t cgroup_id;
	const char *path;
	const struct policy *policy;
	struct tier_usage usage;
	bool paused; /* by the administrator */
};

struct snapshot_space {
	uint64_t id;
	pid_t pid;
	size_t group;                          /* index into groups */
	uint64_t resident_bytes;
	const struct tier_residency *residency; /* NULL until first read */
	const struct tier_access *access;       /* newest sample, NULL when there is none */
};

struct snapshot {
	uint64_t now_us;
	struct tier_topology *topology;
	const struct settings *settings;
	struct tier_tracker_state tracker;
	bool paused;                            /* everything, by the administrator */
	size_t n_groups;
	struct snapshot_group *groups;          /* ascending by path */
	size_t n_spaces;
	struct snapshot_space *spaces;          /* ascending by id */
};

/* Headroom= in bytes for one node (by index), never more than the node has. */
uint64_t snapshot_headroom_bytes(const struct snapshot *s, size_t node);
/* Free bytes above the headroom; negative where it is eaten into. */
int64_t snapshot_room_bytes(const struct snapshot *s, size_t node);

#endif
