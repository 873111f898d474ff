/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ACT_QUEUE_H
#define ACT_QUEUE_H

/*
 * The movers' shared list of batches, with who may go first. No thread and no lock here: the owner
 * holds its lock around every call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/plan.h"

/*
 * What of one plan is still to be done. A batch waits for the demotions that make its room: those
 * that take memory from the node that it goes to. Demotions go to slower tiers only, so that nothing
 * waits in a circle.
 */
struct act_gate {
	size_t n_batches; /* of the plan, waiting or under way; the last one frees the gate */
	size_t n_sources;
	struct {
		int node;
		size_t n_demotions;
	} sources[TIER_NODES_MAX];
};

struct work {
	struct work *next;
	struct act_gate *gate;
	uint64_t job_id;
	struct batch batch; /* owns its ranges */
	bool cancelled;     /* read by the mover between calls, written under the owner's lock */
};

struct queue {
	struct work *head, **tail;
	size_t n;
};

void queue_init(struct queue *q);
/* Copies all batches of a plan, or none (-ENOMEM). */
int queue_add_plan(struct queue *q, const struct plan *plan, uint64_t job_id);
/* The first batch for @node whose gate is open, taken out; NULL when there is none. */
struct work *queue_take(struct queue *q, int node);
bool work_matches(const struct work *w, uint64_t job_id, uint64_t cgroup_id);
void queue_cancel(struct queue *q, uint64_t job_id, uint64_t cgroup_id);
/* After the work was done or dropped: opens the gate. The batch's ranges stay with the caller. */
void work_finish(struct work *w);
void queue_done(struct queue *q);

#endif
