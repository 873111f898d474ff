/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef OBSERVE_OBSERVE_H
#define OBSERVE_OBSERVE_H

/*
 * The first stage: one look at the machine through libtier, matched against the policies. It is the
 * only stage that reads, and it decides nothing.
 */

#include "model/snapshot.h"
#include "tier.h"

struct observer;

int observer_new(struct tier_machine *machine, struct observer **ret);
struct observer *observer_free(struct observer *o);

/* What the administrator has paused: a list of cgroup ids, or everything. */
struct pauses {
	bool all;
	size_t n_cgroup_ids;
	const uint64_t *cgroup_ids;
};

/*
 * Looks at the machine now. *ret stays valid until the next call: the residency and the samples in
 * it belong to the observer, the policies to @set. Of the group @fresh_cgroup_id (0: of none) the
 * residency is as new as the rest; of others it may be older, see residents.h.
 */
int observe(struct observer *o, const struct policy_set *set, const struct pauses *pauses,
	    uint64_t now_us, uint64_t fresh_cgroup_id, struct snapshot **ret);
struct snapshot *snapshot_free(struct snapshot *s);

/* This space's memory was moved: what is known of its residency is out of date. */
void observer_touch(struct observer *o, uint64_t space_id);

#endif
