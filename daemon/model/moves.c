// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What moves leave behind in the history: slots in flight, refused, cooling down, bouncing; and the
 * books of every group. Decides nothing: decide/ and plan/ ask.
 */
#include "model/moves.h"
#include "util.h"

/* 60 s doubled six times is beyond the ceiling of one hour. */
#define BOUNCES_MAX 6
/*
 * A move that is undone within this many cool-downs was a mistake (the cool-down itself forbids
 * doing it at once); after so many, the move was good for a while and the cool-down halves again.
 */
#define BOUNCE_WINDOWS 4
/* Slots per space with a move on the books: 2 TiB moved within the window. */
#define MOVES_MAX (1U << 20)
/* Batches in flight at one time; plan_make() makes a few dozen a tick. */
#define FLIGHTS_MAX 65536

static uint32_t cool_down_s(unsigned int bounces)
{
	return MIN((uint32_t)HISTORY_COOL_DOWN_S << MIN(bounces, (unsigned int)BOUNCES_MAX),
		   (uint32_t)HISTORY_COOL_DOWN_MAX_S);
}

static size_t move_place(const struct heat_space *space, uint64_t start)
{
	size_t low = 0, high = space->n_moves;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (space->moves[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct slot_move *move_find(const struct heat_space *space, uint64_t start)
{
	size_t i = space ? move_place(space, start) : 0;

	return space && i < space->n_moves && space->moves[i].start == start ? &space->moves[i]
									    : NULL;
}

static int move_add(struct heat_space *space, uint64_t start, struct slot_move **ret)
{
	size_t i = move_place(space, start);

	if (i == space->n_moves || space->moves[i].start != start) {
		int r = array_reserve((void **)&space->moves, &space->moves_capacity,
				      space->n_moves, sizeof(*space->moves), MOVES_MAX);

		if (r < 0)
			return r;
		memmove(&space->moves[i + 1], &space->moves[i],
			(space->n_moves - i) * sizeof(*space->moves));
		space->moves[i] = (struct slot_move){ .start = start };
		space->n_moves++;
	}
	*ret = &space->moves[i];
	return 0;
}

static bool move_matters(const struct slot_move *m, uint32_t now_s)
{
	if (now_s < m->retry_s)
		return true;
	return m->moved_s && now_s < m->moved_s + 2 * BOUNCE_WINDOWS * cool_down_s(m->bounces);
}

void moves_forget(struct heat_space *space, uint32_t now_s)
{
	size_t kept = 0;

	for (size_t i = 0; i < space->n_moves; i++)
		if (move_matters(&space->moves[i], now_s))
			space->moves[kept++] = space->moves[i];
	space->n_moves = kept;
	if (!kept) {
		free(space->moves);
		space->moves = NULL;
		space->moves_capacity = 0;
	}
}

bool history_slot_busy(const struct heat_space *space, uint64_t start, uint32_t now_s)
{
	const struct slot_move *m = move_find(space, start);

	return m && now_s < m->retry_s;
}

bool history_slot_in_flight(const struct heat_space *space, uint64_t start, uint32_t now_s)
{
	const struct slot_move *m = move_find(space, start);

	return m && m->in_flight && now_s < m->retry_s;
}

static bool cooling(const struct slot_move *m, uint32_t now_s)
{
	return m && m->moved_s && now_s < m->moved_s + cool_down_s(m->bounces);
}

bool history_slot_cooling(const struct heat_space *space, uint64_t start, enum direction direction,
			  uint32_t now_s)
{
	const struct slot_move *m = move_find(space, start);

	return cooling(m, now_s) && m->direction != direction;
}

bool history_slot_fresh(const struct heat_space *space, uint64_t start, uint32_t now_s)
{
	return cooling(move_find(space, start), now_s);
}

/* ---- what leaves ----------------------------------------------------------------------------- */

static int flight_add(struct history *h, const struct batch *b, uint32_t now_s)
{
	int r = array_reserve((void **)&h->flights, &h->flights_capacity, h->n_flights,
			      sizeof(*h->flights), FLIGHTS_MAX);

	if (r < 0)
		return r;
	h->flights[h->n_flights++] = (struct flight){
		.space_id = b->space_id,
		.cgroup_id = b->cgroup_id,
		.start = b->ranges[0].start,
		.bytes = b->bytes,
		.direction = b->direction,
		.source_node = b->source_node,
		.target_node = b->target_node,
		.planned_s = now_s,
	};
	return 0;
}

static int mark_batch(struct history *h, const struct batch *b, uint32_t now_s)
{
	struct heat_space *space = history_space(h, b->space_id);
	int r;

	if (!b->n_ranges)
		return 0;
	r = flight_add(h, b, now_s);
	for (size_t i = 0; r >= 0 && space && i < b->n_ranges; i++) {
		uint64_t at = b->ranges[i].start;

		for (; r >= 0 && at < b->ranges[i].end; at += TIER_SLOT_BYTES) {
			struct slot_move *m;

			r = move_add(space, at, &m);
			if (r < 0)
				break;
			m->in_flight = true;
			m->retry_s = now_s + HISTORY_FLIGHT_S;
		}
	}
	return r;
}

/* ---- what comes back ------------------------------------------------------------------------- */

static void flight_remove(struct history *h, const struct batch *b)
{
	for (size_t i = 0; i < h->n_flights; i++) {
		const struct flight *f = &h->flights[i];

		if (f->space_id != b->space_id || f->direction != b->direction ||
		    f->target_node != b->target_node || f->start != b->ranges[0].start)
			continue;
		h->flights[i] = h->flights[--h->n_flights];
		return;
	}
}

/* How a batch went, as far as its slots are concerned. */
enum verdict {
	VERDICT_MOVED,
	VERDICT_REFUSED, /* the memory itself can't be moved now */
	VERDICT_FULL,    /* there was no room for it */
	VERDICT_LATER,   /* the slots are not to blame: cancelled, gone */
};

static enum verdict judge(const struct outcome *o)
{
	static const enum tier_result refusals[] = { TIER_BUSY,	       TIER_SHARED,
						     TIER_CPUSET,      TIER_MEMPOLICY,
						     TIER_UNSUPPORTED, TIER_WOULD_SPLIT };
	uint64_t there = tier_outcome_bytes(&o->result, TIER_MOVED) +
			 tier_outcome_bytes(&o->result, TIER_ALREADY_THERE);
	uint64_t refused = 0;

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		refused += tier_outcome_bytes(&o->result, refusals[i]);
	if (o->error < 0 || refused > there)
		return VERDICT_REFUSED;
	if (tier_outcome_bytes(&o->result, TIER_TARGET_FULL) > there)
		return VERDICT_FULL;
	return there ? VERDICT_MOVED : VERDICT_LATER;
}

static uint32_t retry_s(enum verdict verdict, uint32_t now_s)
{
	switch (verdict) {
	case VERDICT_REFUSED:
		return now_s + HISTORY_RETRY_S;
	case VERDICT_FULL:
		return now_s + HISTORY_FULL_RETRY_S;
	case VERDICT_MOVED:
	case VERDICT_LATER:
		break;
	}
	return 0;
}

/* True when the move undoes one that was made a short while ago. */
static bool slot_moved(struct slot_move *m, enum direction direction, uint32_t now_s)
{
	bool undone = m->moved_s && m->direction != direction;
	bool soon = undone && now_s < m->moved_s + BOUNCE_WINDOWS * cool_down_s(m->bounces);

	if (soon && m->bounces < BOUNCES_MAX)
		m->bounces++;
	else if (undone && !soon && m->bounces)
		m->bounces--;
	m->direction = (uint8_t)direction;
	m->moved_s = now_s;
	return soon;
}

static int account_slots(struct heat_space *space, const struct outcome *o, uint32_t now_s,
			 uint64_t *undone_slots, uint64_t *slots)
{
	enum verdict verdict = judge(o);

	for (size_t i = 0; i < o->batch.n_ranges; i++) {
		uint64_t at = o->batch.ranges[i].start;

		for (; at < o->batch.ranges[i].end; at += TIER_SLOT_BYTES) {
			struct slot_move *m;
			int r = move_add(space, at, &m);

			if (r < 0)
				return r;
			m->in_flight = false;
			m->retry_s = retry_s(verdict, now_s);
			if (verdict == VERDICT_MOVED)
				*undone_slots += slot_moved(m, o->batch.direction, now_s);
			(*slots)++;
		}
	}
	return 0;
}

/* What was taken from the budgets and did not move goes back; the next refill caps it. */
static void refund(struct history *h, struct group_counters *g, const struct outcome *o,
		   uint64_t moved)
{
	uint64_t back = o->batch.bytes > moved ? o->batch.bytes - moved : 0;

	if (o->job_id)
		return; /* by hand: was never taken */
	h->budget_bytes += back;
	if (g)
		g->budget_bytes += back;
}

static int account(struct history *h, const struct outcome *o)
{
	uint64_t moved = tier_outcome_bytes(&o->result, TIER_MOVED);
	struct heat_space *space = history_space(h, o->batch.space_id);
	uint64_t undone = 0, slots = 0;
	struct group_counters *g;
	int r = 0, no_group;

	if (o->batch.n_ranges)
		flight_remove(h, &o->batch);
	if (space)
		r = account_slots(space, o, history_seconds(h, o->finished_us), &undone, &slots);
	no_group = history_group_add(h, o->batch.cgroup_id, o->finished_us, &g);
	refund(h, no_group < 0 ? NULL : g, o, moved);
	if (no_group < 0)
		return no_group;
	tier_outcome_add(&g->moved[o->batch.direction], &o->result);
	if (moved)
		g->last_move_us = MAX(g->last_move_us, o->finished_us);
	if (moved && o->batch.direction == DIRECTION_DEMOTE)
		g->last_demotion_us = MAX(g->last_demotion_us, o->finished_us);
	if (slots)
		g->ping_pong_bytes += moved / slots * undone;
	return r;
}

int history_account(struct history *h, const struct outcomes *outcomes)
{
	int result = 0;

	for (size_t i = 0; i < outcomes->n_outcomes; i++) {
		int r = account(h, &outcomes->outcomes[i]);

		if (r < 0)
			result = r;
	}
	return result;
}

void history_drop_flights(struct history *h, const struct plan *plan, bool by_hand, uint64_t now_us)
{
	for (size_t i = 0; i < plan->n_batches; i++) {
		struct outcome o = {
			.finished_us = now_us,
			.job_id = by_hand,
			.batch = plan->batches[i],
		};
		struct heat_space *space = history_space(h, o.batch.space_id);
		uint64_t undone = 0, slots = 0;

		if (o.batch.n_ranges)
			flight_remove(h, &o.batch);
		/* Marked slots are on the list already, so that nothing has to be allocated. */
		if (space)
			account_slots(space, &o, history_seconds(h, now_us), &undone, &slots);
		refund(h, history_group(h, o.batch.cgroup_id), &o, 0);
	}
}

int history_mark_flights(struct history *h, const struct plan *plan, uint64_t now_us)
{
	uint32_t now_s = history_seconds(h, now_us);

	for (size_t i = 0; i < plan->n_batches; i++) {
		int r = mark_batch(h, &plan->batches[i], now_s);

		if (r < 0) {
			history_drop_flights(h, plan, true, now_us);
			return r;
		}
	}
	return 0;
}
