/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef OBSERVE_RESIDENTS_H
#define OBSERVE_RESIDENTS_H

/*
 * What is known of each address space's residency between ticks. Reading it walks page tables, so
 * it is read again only when there is a sign that it changed: the cgroup's use per node differs,
 * tierd moved something, or it has grown old.
 */

#include "model/snapshot.h"

struct resident {
	uint64_t space_id;
	struct tier_residency *residency; /* NULL: not read yet, or not readable */
	uint64_t usage_bytes[TIER_NODES_MAX]; /* the group's use per node when it was read */
	uint64_t read_us;
	uint64_t rest_until_us; /* reading costs so much that it must not be done again before */
	bool stale;
	bool seen;
};

struct residents {
	size_t n;
	size_t capacity;
	uint64_t refreshed_us;
	struct resident *entries; /* ascending by space_id */
};

/*
 * Brings the entries in line with the spaces of @s, reads what needs reading and points the spaces
 * at the result. Entries of spaces that are gone are dropped. The spaces of @fresh_cgroup_id, 0 for
 * none, are read whatever their age and what it costs.
 */
int residents_refresh(struct residents *r, struct tier_machine *machine, struct snapshot *s,
		      uint64_t fresh_cgroup_id);
void residents_touch(struct residents *r, uint64_t space_id);
void residents_done(struct residents *r);

#endif
