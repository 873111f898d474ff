/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ACT_ACT_H
#define ACT_ACT_H

/*
 * The stage that changes the machine: one mover thread per target node takes batches and returns
 * outcomes. Nothing here waits for a kernel operation but the movers themselves, and nothing here
 * chooses what to move.
 */

#include "model/history.h"
#include "model/plan.h"
#include "tier.h"

struct actor;

/* *ret_fd becomes readable when outcomes are waiting; it belongs to the actor. */
int actor_new(struct tier_machine *machine, struct actor **ret, int *ret_fd);
/* Cancels everything, waits for the calls that are under way (at most about call_max each). */
struct actor *actor_free(struct actor *a);

/*
 * Queues the plan's batches (copied). A batch waits for the demotions of the same plan that make room
 * on its target. Every batch queued comes back in exactly one outcome; on failure none was queued.
 */
int act(struct actor *a, const struct plan *plan, uint64_t job_id);
/* What has finished since the last call. */
int act_collect(struct actor *a, struct outcomes **ret);
/*
 * Batches of this job, or with job_id 0 automatic ones, end as TIER_NOT_TRIED; only those of one
 * cgroup unless cgroup_id is 0.
 */
void act_cancel(struct actor *a, uint64_t job_id, uint64_t cgroup_id);

/* What the movers are doing, for status and the watchdog. */
struct act_state {
	size_t n_automatic; /* batches waiting or under way that nobody asked for by hand */
	uint64_t silent_us; /* longest time since a busy mover last came back from the kernel */
};

void act_read_state(struct actor *a, struct act_state *ret);

#endif
