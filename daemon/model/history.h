/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_HISTORY_H
#define MODEL_HISTORY_H

/*
 * The one struct that survives a tick: temperatures, cool-downs, budgets, counters. Only pure code
 * writes it; the same snapshots and outcomes in the same order give the same history on every
 * machine. Who writes what: heat (decide/) the spaces and their chunks, plan_make() budgets and
 * what is in flight, history_account() the rest.
 *
 * Times in seconds count from one second before the history began, so that 0 can mean never; 32
 * bits of them last 136 years.
 */

#include "model/plan.h"
#include "model/snapshot.h"

/* Temperatures of a run of slots; decide/heat.h knows what is inside. */
struct heat_chunk;

/*
 * What is remembered of a slot that was moved or tried, for as long as it matters and no longer:
 * few slots have one.
 */
struct slot_move {
	uint64_t start;
	uint32_t moved_s;      /* last successful move, 0 for never */
	uint32_t retry_s;      /* not to be planned before: in flight, or refused a while ago */
	uint8_t direction;     /* of the last successful move */
	uint8_t bounces;       /* doublings of the cool-down */
	bool in_flight;
};

struct heat_space {
	uint64_t space_id;
	uint64_t access_seq;       /* newest sample that was merged */
	uint64_t first_us;         /* first sample, 0 for none yet */
	uint64_t aged_us;          /* idle times are advanced up to here */
	uint64_t idle_unit_us;     /* one step of the slots' idle counters: ColdAfter / 4 */
	uint16_t reference_bp;     /* its group's, for merging samples */
	uint8_t absent;            /* snapshots since it was last in one */
	size_t n_chunks;
	struct heat_chunk *chunks; /* ascending by address; only where something is resident */
	size_t n_moves;
	size_t moves_capacity;
	struct slot_move *moves;   /* ascending by start */
};

/* Is all of a group's memory used alike? */
enum skew {
	SKEW_UNKNOWN,
	SKEW_UNIFORM,
	SKEW_SKEWED,
};

/* What happened to one group since tierd started; survives the group's absence for a while. */
struct group_counters {
	uint64_t cgroup_id;
	struct tier_outcome moved[DIRECTIONS];
	uint64_t budget_bytes;     /* left of Bandwidth=, refilled by time */
	uint64_t budget_us;        /* when it was last refilled, 0 for never */
	uint64_t ping_pong_bytes;  /* moved back soon after */
	uint64_t last_seen_us;
	uint64_t last_move_us;
	uint64_t last_demotion_us;
	uint32_t doubt_s;          /* since when @skew has been in doubt, 0: it is not */
	enum skew skew;
	uint16_t reference_bp;     /* usual temperature of its hot memory, 0: has none */
};

/* A batch that was planned and whose outcome has not come back. */
struct flight {
	uint64_t space_id;
	uint64_t cgroup_id;
	uint64_t start;            /* of its first range: no two in flight share it */
	uint64_t bytes;
	enum direction direction;
	int source_node;
	int target_node;
	uint32_t planned_s;
};

struct history {
	uint64_t begin_us;
	uint64_t budget_bytes;     /* left of the global Bandwidth= */
	uint64_t budget_us;        /* when it was last refilled, 0 for never */
	size_t n_spaces;
	size_t spaces_capacity;
	struct heat_space *spaces; /* ascending by space_id */
	size_t n_groups;
	size_t groups_capacity;
	struct group_counters *groups; /* ascending by cgroup_id */
	size_t n_flights;
	size_t flights_capacity;
	struct flight *flights;
};

/* A move is not undone within this time; doubled by each bounce up to HISTORY_COOL_DOWN_MAX_S. */
#define HISTORY_COOL_DOWN_S 60
#define HISTORY_COOL_DOWN_MAX_S 3600
/* What was refused (busy, shared, a policy of its own, …) is not asked for again before. */
#define HISTORY_RETRY_S 30
/* Nor what found its target full: it will still be, a moment later. */
#define HISTORY_FULL_RETRY_S 5
/*
 * Whether a group's memory is all used alike changes only when it has looked so for this long: a
 * run of lost samples makes one process of several look cold for some seconds, a run of merged
 * ones makes everything look alike.
 */
#define HISTORY_SKEW_S 20
/* At first there is nothing to change: some samples more than a slot needs to be trusted. */
#define HISTORY_SKEW_FIRST_S 5
/*
 * Every batch that act/ took comes back, but one may wait long behind a rebalance of terabytes by
 * hand. This is only so that a mistake does not block a slot for good.
 */
#define HISTORY_FLIGHT_S (24 * 3600)

struct history *history_new(uint64_t now_us);
struct history *history_free(struct history *h);

uint32_t history_seconds(const struct history *h, uint64_t now_us);

struct group_counters *history_group(struct history *h, uint64_t cgroup_id); /* NULL: unknown */
/* Finds or adds; 0, -ENOMEM or -E2BIG. */
int history_group_add(struct history *h, uint64_t cgroup_id, uint64_t now_us,
		      struct group_counters **ret);
/* The newest look at a group's hot memory: how hot it is, and whether all memory looks alike. */
void history_judge(struct group_counters *g, uint32_t reference_bp, bool looks_uniform,
		   uint32_t now_s);
struct heat_space *history_space(const struct history *h, uint64_t space_id); /* NULL: unknown */
int history_space_add(struct history *h, uint64_t space_id, struct heat_space **ret);
/*
 * Drops what has been absent for long enough (spaces: one snapshot of grace; groups: ten minutes),
 * outcomes that never came, and slots' moves that no longer matter. Once a tick.
 */
void history_forget(struct history *h, uint64_t now_us);

/* Is the slot in flight, or was it refused a short while ago? @space may be NULL in all four. */
bool history_slot_busy(const struct heat_space *space, uint64_t start, uint32_t now_s);
bool history_slot_in_flight(const struct heat_space *space, uint64_t start, uint32_t now_s);
/* Was it moved the other way too short a while ago? */
bool history_slot_cooling(const struct heat_space *space, uint64_t start, enum direction direction,
			  uint32_t now_s);
/* Was it moved, whichever way, too short a while ago to be moved again for somebody else's sake? */
bool history_slot_fresh(const struct heat_space *space, uint64_t start, uint32_t now_s);

/*
 * Marks the batches of a plan as in flight until their outcomes are accounted for. plan_make() does
 * it for its own plans; whoever carries out another one calls it then. 0, or with nothing marked
 * -ENOMEM or -E2BIG.
 */
int history_mark_flights(struct history *h, const struct plan *plan, uint64_t now_us);
/*
 * Takes that back, and the budget that plan_make() took, for a plan that could not be carried out.
 * @by_hand: no budget was taken.
 */
void history_drop_flights(struct history *h, const struct plan *plan, bool by_hand, uint64_t now_us);

/* A finished batch with what became of it: flows from act/ to history and report/. */
struct outcome {
	uint64_t finished_us;
	uint64_t job_id;           /* 0: automatic */
	struct batch batch;        /* owns its ranges */
	struct tier_outcome result;
	int error;                 /* negative errno when nothing could be tried */
};

struct outcomes {
	size_t n_outcomes;
	struct outcome *outcomes;
};

struct outcomes *outcomes_free(struct outcomes *o);

/*
 * Books what was moved: counters, cool-downs, ping-pong, budget of what did not move. Called once
 * per outcome, before the snapshot that follows it is decided upon. 0, -ENOMEM or -E2BIG; the
 * outcomes that could be booked are.
 */
int history_account(struct history *h, const struct outcomes *outcomes);

#endif
