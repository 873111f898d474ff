/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

/*
 * What act/ will do, const after it is made: batches in the order of execution. A dry run, a manual
 * rebalance and an automatic tick all use this one type.
 */

#include "model/target.h"
#include "tier.h"

enum direction {
	DIRECTION_PROMOTE, /* to a faster tier */
	DIRECTION_DEMOTE,
	DIRECTIONS,
};

/* One address space, one target node, one direction. */
struct batch {
	uint64_t space_id;
	uint64_t cgroup_id;
	pid_t pid;
	enum direction direction;
	enum reason reason;
	int source_node;           /* kernel id of the node that most of it comes from */
	int target_node;           /* kernel id */
	uint64_t headroom_bytes;   /* to leave free on the target */
	uint64_t call_max_us;
	bool split_folios;
	uint64_t bytes;            /* expected to move */
	size_t n_ranges;
	struct tier_range *ranges; /* ascending, whole slots, neighbours merged */
};

/* Why wishes were left out of the plan, in bytes. */
enum held_back {
	HELD_BUDGET,     /* the byte budget of this tick is spent */
	HELD_NO_ROOM,    /* no room on the target above the headroom, and nothing to make it from */
	HELD_FAST_MAX,   /* the group's FastMax is reached */
	HELD_COOL_DOWN,  /* moved the other way a short while ago */
	HELD_OBSERVE,    /* Mode=observe, or paused */
	HELD_BACKLOG,    /* the mover of that node is still busy with earlier plans */
	HELD_EXCLUDED,   /* moves leave it alone: bound, locked, or mapped by other processes, too */
	HELD_PINNED,     /* asked by hand, but Mode=pin-fast or pin-slow says otherwise */
	HELD_BACKS,
};

const char *held_back_name(enum held_back h);

struct plan {
	size_t n_batches;
	struct batch *batches;     /* demotions that make room before the promotions that need it */
	uint64_t bytes[DIRECTIONS];
	uint64_t held_bytes[HELD_BACKS];
};

struct plan *plan_free(struct plan *p);

#endif
