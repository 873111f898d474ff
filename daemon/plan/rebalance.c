// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an administrator asks for by hand, as a plan like any other. Ignores heat, budgets and
 * pauses: whoever asks by hand has looked. Must not touch the history.
 */
#include "model/tiers.h"
#include "model/wish.h"
#include "plan/plan.h"
#include "plan/ranges.h"
#include "util.h"

struct rebalance {
	const struct snapshot *s;
	const struct targets *t;
	size_t group;
	struct wishes wishes; /* what choices point to: complete before the first choice */
	struct choices choices;
	struct plan *plan;
	int64_t room_bytes[TIER_NODES_MAX];
	int64_t fast_room_bytes;
};

static void rebalance_done(struct rebalance *r)
{
	free(r->wishes.array);
	choices_done(&r->choices);
	plan_free(r->plan);
}

static int find_group(const struct snapshot *s, uint64_t cgroup_id, size_t *ret)
{
	for (size_t i = 0; i < s->n_groups; i++) {
		if (s->groups[i].cgroup_id == cgroup_id) {
			*ret = i;
			return 0;
		}
	}
	return -ENOENT;
}

/* Grants the wish if its target, or another node of that tier, has the room. */
static int grant(struct rebalance *r, const struct wish *w, enum direction direction)
{
	const struct tier_topology *t = r->s->topology;
	struct choice c = { w, direction, w->reason, w->to_index };
	int to = w->to_index;

	if (r->room_bytes[to] < w->bytes)
		to = tiers_nearest(t, w->from_index, t->nodes[to].rank, r->room_bytes, w->bytes);
	if (to < 0) {
		r->plan->held_bytes[HELD_NO_ROOM] += w->bytes;
		return 0;
	}
	r->room_bytes[to] -= w->bytes;
	r->room_bytes[w->from_index] += w->bytes;
	c.to_index = (uint16_t)to;
	return choices_add(&r->choices, &c);
}

/* ---- everything to one tier ------------------------------------------------------------------ */

static bool pinned_elsewhere(const struct rebalance *r, unsigned int rank)
{
	switch (r->s->groups[r->group].policy->mode) {
	case MODE_PIN_FAST:
		return rank != tiers_fastest(r->s->topology);
	case MODE_PIN_SLOW:
		return rank != tiers_slowest(r->s->topology);
	case MODE_AUTO:
	case MODE_OBSERVE:
	case MODE_OFF:
		return false;
	}
	return false;
}

static int collect(struct rebalance *r, unsigned int rank)
{
	for (size_t i = 0; i < r->s->n_spaces; i++) {
		const struct tier_residency *res = r->s->spaces[i].residency;

		for (size_t j = 0; r->s->spaces[i].group == r->group && res && j < res->n_slots;
		     j++) {
			struct wish w;
			int err;

			if (!wish_towards(r->s->topology, &res->slots[j], rank, r->room_bytes, &w))
				continue;
			w.space = i;
			w.reason = REASON_MANUAL;
			err = wishes_add(&r->wishes, &w);
			if (err < 0)
				return err;
		}
	}
	return 0;
}

/* What is elsewhere and stays there is said, not passed over. */
static void hold_excluded(struct rebalance *r, unsigned int rank)
{
	const struct tier_topology *t = r->s->topology;

	for (size_t i = 0; i < r->s->n_spaces; i++) {
		const struct tier_residency *res = r->s->spaces[i].residency;

		for (size_t n = 0; r->s->spaces[i].group == r->group && res && n < t->n_nodes; n++)
			if (t->nodes[n].rank != rank)
				r->plan->held_bytes[HELD_EXCLUDED] += res->excluded_bytes[n];
	}
}

static int all_to_tier(struct rebalance *r, unsigned int rank)
{
	bool pinned = pinned_elsewhere(r, rank);
	int err = collect(r, rank);

	hold_excluded(r, rank);
	for (size_t i = 0; err >= 0 && i < r->wishes.n; i++) {
		const struct wish *w = &r->wishes.array[i];
		bool up = r->s->topology->nodes[w->from_index].rank > rank;

		if (pinned)
			r->plan->held_bytes[HELD_PINNED] += w->bytes;
		else
			err = grant(r, w, up ? DIRECTION_PROMOTE : DIRECTION_DEMOTE);
	}
	return err;
}

/* ---- hot up, cold down ----------------------------------------------------------------------- */

static int by_heat(struct rebalance *r)
{
	const struct targets *t = r->t;
	unsigned int fastest = tiers_fastest(r->s->topology);
	size_t n_before;
	int err = 0;

	for (size_t i = 0; err >= 0 && i < t->n_demotions; i++) {
		const struct wish *w = &t->demotions[i];

		if (r->s->spaces[w->space].group != r->group)
			continue;
		n_before = r->choices.n;
		err = grant(r, w, DIRECTION_DEMOTE);
		if (r->choices.n > n_before && tiers_holds(r->s->topology, w->from_index, fastest))
			r->fast_room_bytes += w->bytes;
	}
	for (size_t i = 0; err >= 0 && i < t->n_promotions; i++) {
		const struct wish *w = &t->promotions[i];

		if (r->s->spaces[w->space].group != r->group)
			continue;
		if (w->reason == REASON_HOT && r->fast_room_bytes < w->bytes) {
			r->plan->held_bytes[HELD_FAST_MAX] += w->bytes;
			continue;
		}
		n_before = r->choices.n;
		err = grant(r, w, DIRECTION_PROMOTE);
		if (r->choices.n > n_before)
			r->fast_room_bytes -= w->bytes;
	}
	return err;
}

static int rebalance_init(struct rebalance *r, const struct snapshot *s, const struct targets *t)
{
	const struct target_group *g = &t->groups[r->group];

	r->s = s;
	r->t = t;
	r->plan = calloc(1, sizeof(*r->plan));
	if (!r->plan)
		return -ENOMEM;
	for (size_t i = 0; i < s->topology->n_nodes; i++)
		r->room_bytes[i] = snapshot_room_bytes(s, i);
	r->fast_room_bytes = (int64_t)MIN(g->fast_max_bytes, (uint64_t)INT64_MAX / 4) -
			     (int64_t)g->fast_bytes;
	return 0;
}

int plan_rebalance(const struct snapshot *s, const struct targets *t, uint64_t cgroup_id, int rank,
		   struct plan **ret)
{
	cleanup(rebalance_done) struct rebalance r = { 0 };
	int err = find_group(s, cgroup_id, &r.group);

	if (err < 0)
		return err;
	if (rank >= 0 && !tiers_total_bytes(s->topology, (unsigned int)rank))
		return -EINVAL;
	err = rebalance_init(&r, s, t);
	if (err < 0)
		return err;
	err = rank >= 0 ? all_to_tier(&r, (unsigned int)rank) : by_heat(&r);
	if (err < 0)
		return err;
	err = ranges_batch(s, &r.choices, r.plan);
	if (err < 0)
		return err;
	*ret = STEAL(r.plan);
	return 0;
}
