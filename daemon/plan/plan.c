// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses which wishes are granted now: as far as budgets, room, limits and cool-downs allow. Must
 * not judge heat: the order of the wishes is decide's and is kept.
 *
 * What goes down anyway (pins, FastMax) goes first. Then every promotion looks for its room; where
 * there is none, the coldest memory of that node has to go, to the next slower tier, where the same
 * question is asked again: a waterfall as deep as there are tiers.
 */
#include "plan/plan.h"
#include "model/tiers.h"
#include "plan/budget.h"
#include "plan/ranges.h"
#include "util.h"

/*
 * A promotion books 1/16 more room than it takes: free memory is counted with a lag, and the
 * services refill some of what was just freed.
 */
#define SURPLUS_SHARE 16
/*
 * Free memory goes up and down by some MiB all the time (per-CPU lists, short-lived processes). A
 * promotion that just fits when it is planned may not fit when it is made; where there is something
 * cold to give way, this much more is made free.
 */
#define SLACK_BYTES (2 * TIER_SLOT_BYTES)

/*
 * A node that something has been on its way to for this long is slower than the budgets allow: no
 * more is planned for it until that has arrived, or what is decided now would be done when it is no
 * longer true.
 */
#define BACKLOG_S 4

struct planner {
	const struct snapshot *s;
	const struct targets *t;
	struct history *h;
	struct plan *plan;
	struct choices choices;
	int64_t room_bytes[TIER_NODES_MAX];
	bool behind[TIER_NODES_MAX];      /* by node: see BACKLOG_S */
	size_t next_cold[TIER_NODES_MAX]; /* by node: first demotion not looked at yet */
	size_t *next_own;                 /* by group: likewise */
	int64_t *fast_room_bytes;         /* by group: below FastMax */
	uint64_t *budget_bytes;           /* by group */
	uint64_t all_budget_bytes;
	bool *gone;                       /* by demotion: chosen, or can't be */
	unsigned int fastest;
	uint32_t now_s;
	uint16_t for_temperature;         /* of the promotion that needs room */
	int error;
};

DEFINE_CLEANUP(struct plan *, plan_free)

static void planner_done(struct planner *p)
{
	choices_done(&p->choices);
	free(p->next_own);
	free(p->fast_room_bytes);
	free(p->budget_bytes);
	free(p->gone);
	plan_free(p->plan);
}

static size_t group_of(const struct planner *p, const struct wish *w)
{
	return p->s->spaces[w->space].group;
}

/* ---- what there is --------------------------------------------------------------------------- */

static int64_t signed_bytes(uint64_t bytes)
{
	return (int64_t)MIN(bytes, (uint64_t)INT64_MAX / 4);
}

static void measure_group(struct planner *p, size_t i)
{
	const struct target_group *t = &p->t->groups[i];
	const struct snapshot_group *g = &p->s->groups[i];
	struct group_counters *counters = history_group(p->h, g->cgroup_id);

	p->fast_room_bytes[i] = signed_bytes(t->fast_max_bytes) - signed_bytes(t->fast_bytes);
	if (!counters)
		return; /* more groups than the history holds: no books, no budget */
	budget_refill(&counters->budget_bytes, &counters->budget_us, g->policy->bandwidth_bytes_s,
		      p->s->settings->interval_us, p->s->now_us);
	p->budget_bytes[i] = counters->budget_bytes;
}

/* What is under way will have arrived, and left, by the time that this plan is carried out. */
static void measure_flights(struct planner *p)
{
	for (size_t i = 0; i < p->h->n_flights; i++) {
		const struct flight *f = &p->h->flights[i];
		int from = tier_topology_index(p->s->topology, f->source_node);
		int to = tier_topology_index(p->s->topology, f->target_node);

		if (from >= 0)
			p->room_bytes[from] += signed_bytes(f->bytes);
		if (to >= 0) {
			p->room_bytes[to] -= signed_bytes(f->bytes);
			p->behind[to] |= p->now_s >= f->planned_s + BACKLOG_S;
		}
		for (size_t g = 0; f->direction == DIRECTION_PROMOTE && g < p->s->n_groups; g++)
			if (p->s->groups[g].cgroup_id == f->cgroup_id)
				p->fast_room_bytes[g] -= signed_bytes(f->bytes);
	}
}

static int planner_init(struct planner *p, const struct snapshot *s, const struct targets *t,
			struct history *h)
{
	size_t n = s->n_groups + 1;

	p->s = s;
	p->t = t;
	p->h = h;
	p->fastest = tiers_fastest(s->topology);
	p->now_s = history_seconds(h, s->now_us);
	p->plan = calloc(1, sizeof(*p->plan));
	p->next_own = calloc(n, sizeof(*p->next_own));
	p->fast_room_bytes = calloc(n, sizeof(*p->fast_room_bytes));
	p->budget_bytes = calloc(n, sizeof(*p->budget_bytes));
	p->gone = calloc(t->n_demotions + 1, sizeof(*p->gone));
	if (!p->plan || !p->next_own || !p->fast_room_bytes || !p->budget_bytes || !p->gone)
		return -ENOMEM;
	for (size_t i = 0; i < s->topology->n_nodes; i++)
		p->room_bytes[i] = snapshot_room_bytes(s, i);
	for (size_t i = 0; i < s->n_groups; i++)
		measure_group(p, i);
	measure_flights(p);
	budget_refill(&h->budget_bytes, &h->budget_us, s->settings->bandwidth_bytes_s,
		      s->settings->interval_us, s->now_us);
	p->all_budget_bytes = h->budget_bytes;
	return 0;
}

/* ---- one wish -------------------------------------------------------------------------------- */

static bool may_spend(const struct planner *p, const struct wish *w)
{
	return p->budget_bytes[group_of(p, w)] >= w->bytes && p->all_budget_bytes >= w->bytes;
}

/* HELD_BACKS when nothing speaks against it. */
static enum held_back held(const struct planner *p, const struct wish *w, enum direction direction)
{
	const struct snapshot_group *g = &p->s->groups[group_of(p, w)];
	const struct heat_space *heat = history_space(p->h, p->s->spaces[w->space].id);

	if (p->s->paused || g->paused || g->policy->mode == MODE_OBSERVE)
		return HELD_OBSERVE;
	if (history_slot_busy(heat, w->start, p->now_s) ||
	    history_slot_cooling(heat, w->start, direction, p->now_s))
		return HELD_COOL_DOWN;
	return may_spend(p, w) ? HELD_BACKS : HELD_BUDGET;
}

static bool in_flight(const struct planner *p, const struct wish *w)
{
	return history_slot_in_flight(history_space(p->h, p->s->spaces[w->space].id), w->start,
				      p->now_s);
}

static void choose(struct planner *p, const struct wish *w, enum direction direction, size_t to)
{
	struct choice c = { w, direction, w->reason, (uint16_t)to };
	int r = choices_add(&p->choices, &c);

	if (r < 0) {
		p->error = r;
		return;
	}
	p->room_bytes[to] -= w->bytes;
	p->room_bytes[w->from_index] += w->bytes;
	p->budget_bytes[group_of(p, w)] -= w->bytes;
	p->all_budget_bytes -= w->bytes;
	if (tiers_holds(p->s->topology, to, p->fastest))
		p->fast_room_bytes[group_of(p, w)] -= w->bytes;
	if (tiers_holds(p->s->topology, w->from_index, p->fastest))
		p->fast_room_bytes[group_of(p, w)] += w->bytes;
}

/* ---- making room ----------------------------------------------------------------------------- */

static bool make_room(struct planner *p, size_t node, uint64_t need_bytes);

static int any_slower_with_room(const struct planner *p, const struct wish *w)
{
	const struct tier_topology *t = p->s->topology;
	unsigned int rank = t->nodes[w->from_index].rank;
	int to = -1;

	while (to < 0 && tiers_slower(t, rank) != rank) {
		rank = tiers_slower(t, rank);
		to = tiers_nearest(t, w->from_index, rank, p->room_bytes, w->bytes);
	}
	return to;
}

static bool demote(struct planner *p, const struct wish *w)
{
	const struct tier_topology *t = p->s->topology;
	int to = w->to_index;

	if (p->room_bytes[to] < w->bytes)
		to = tiers_nearest(t, w->from_index, t->nodes[w->to_index].rank, p->room_bytes,
				   w->bytes);
	if (to < 0 && make_room(p, w->to_index, w->bytes))
		to = w->to_index;
	if (to < 0)
		to = any_slower_with_room(p, w);
	/* Making room may have spent what this one needs. */
	if (to < 0 || p->behind[to] || !may_spend(p, w))
		return false;
	choose(p, w, DIRECTION_DEMOTE, (size_t)to);
	return true;
}

/*
 * May this cold slot give way? Never one that is more than half as warm as what comes, nor one that
 * has just come down a tier: down a waterfall the same bytes would be moved again and again.
 */
static bool may_give_way(const struct planner *p, const struct wish *w)
{
	const struct heat_space *heat = history_space(p->h, p->s->spaces[w->space].id);

	return w->reason == REASON_COLD && w->temperature * 2 <= p->for_temperature &&
	       !history_slot_fresh(heat, w->start, p->now_s) &&
	       held(p, w, DIRECTION_DEMOTE) == HELD_BACKS;
}

/* Each demotion is looked at once: what can't go now can't go later in this plan. */
static bool demote_next(struct planner *p, size_t *cursor, bool (*wanted)(const struct planner *,
				     const struct wish *, size_t), size_t which)
{
	while (*cursor < p->t->n_demotions) {
		size_t i = (*cursor)++;
		const struct wish *w = &p->t->demotions[i];

		if (p->gone[i] || !wanted(p, w, which))
			continue;
		p->gone[i] = true;
		if (may_give_way(p, w) && demote(p, w))
			return true;
	}
	return false;
}

static bool is_on_node(const struct planner *p, const struct wish *w, size_t node)
{
	return w->from_index == node;
}

static bool is_own_fast(const struct planner *p, const struct wish *w, size_t group)
{
	return group_of(p, w) == group && tiers_holds(p->s->topology, w->from_index, p->fastest);
}

static bool make_room(struct planner *p, size_t node, uint64_t need_bytes)
{
	while (p->room_bytes[node] < (int64_t)need_bytes)
		if (!demote_next(p, &p->next_cold[node], is_on_node, node))
			return false;
	return true;
}

/* A group at its FastMax makes room out of its own. */
static bool make_fast_room(struct planner *p, size_t group, uint64_t need_bytes)
{
	while (p->fast_room_bytes[group] < (int64_t)need_bytes)
		if (!demote_next(p, &p->next_own[group], is_own_fast, group))
			return false;
	return true;
}

/* The node that takes the wish, or -1. */
static int find_room(struct planner *p, const struct wish *w)
{
	const struct tier_topology *t = p->s->topology;
	unsigned int rank = t->nodes[w->to_index].rank;
	uint64_t need = w->bytes + w->bytes / SURPLUS_SHARE + SLACK_BYTES;
	int to;

	if (p->room_bytes[w->to_index] >= (int64_t)need)
		return w->to_index;
	to = tiers_nearest(t, w->from_index, rank, p->room_bytes, need);
	if (to >= 0)
		return to;
	if (make_room(p, w->to_index, need))
		return w->to_index;
	return tiers_nearest(t, w->from_index, rank, p->room_bytes, w->bytes);
}

/* ---- all wishes ------------------------------------------------------------------------------ */

static enum held_back promote(struct planner *p, const struct wish *w)
{
	size_t group = group_of(p, w);
	enum held_back why = held(p, w, DIRECTION_PROMOTE);
	int to;

	if (why != HELD_BACKS)
		return why;
	p->for_temperature = w->temperature;
	if (w->reason == REASON_HOT && !make_fast_room(p, group, w->bytes))
		return HELD_FAST_MAX;
	if (p->behind[w->to_index])
		return HELD_BACKLOG;
	to = find_room(p, w);
	if (to < 0)
		return HELD_NO_ROOM;
	if (!may_spend(p, w))
		return HELD_BUDGET; /* the room is made, and used when the budget is back */
	choose(p, w, DIRECTION_PROMOTE, (size_t)to);
	if (p->error < 0)
		return HELD_BACKS;
	p->room_bytes[to] -= w->bytes / SURPLUS_SHARE;
	return HELD_BACKS;
}

static enum held_back demote_anyway(struct planner *p, const struct wish *w)
{
	enum held_back why = held(p, w, DIRECTION_DEMOTE);

	if (why != HELD_BACKS)
		return why;
	p->for_temperature = UINT16_MAX;
	return demote(p, w) ? HELD_BACKS : HELD_NO_ROOM;
}

static void grant(struct planner *p, const struct wish *w,
		  enum held_back (*how)(struct planner *, const struct wish *))
{
	enum held_back why;

	if (in_flight(p, w))
		return; /* on its way, not held back */
	why = how(p, w);
	if (why != HELD_BACKS)
		p->plan->held_bytes[why] += w->bytes;
}

static void grant_all(struct planner *p)
{
	for (size_t i = 0; i < p->t->n_demotions && !p->error; i++) {
		const struct wish *w = &p->t->demotions[i];

		if (w->reason == REASON_COLD)
			break; /* the rest is sorted behind, and goes only where room is needed */
		p->gone[i] = true;
		grant(p, w, demote_anyway);
	}
	for (size_t i = 0; i < p->t->n_promotions && !p->error; i++)
		grant(p, &p->t->promotions[i], promote);
}

static void spend(struct planner *p)
{
	p->h->budget_bytes = p->all_budget_bytes;
	for (size_t i = 0; i < p->s->n_groups; i++) {
		struct group_counters *g = history_group(p->h, p->s->groups[i].cgroup_id);

		if (g)
			g->budget_bytes = p->budget_bytes[i];
	}
}

int plan_make(const struct snapshot *s, const struct targets *t, struct history *h,
	      struct plan **ret)
{
	cleanup(planner_done) struct planner p = { 0 };
	int r = planner_init(&p, s, t, h);

	if (r < 0)
		return r;
	grant_all(&p);
	if (p.error < 0)
		return p.error;
	r = ranges_batch(s, &p.choices, p.plan);
	if (r < 0)
		return r;
	r = history_mark_flights(h, p.plan, s->now_us);
	if (r < 0)
		return r;
	spend(&p);
	*ret = STEAL(p.plan);
	return 0;
}
