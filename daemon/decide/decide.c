// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a snapshot to wishes: which slots should move, where to and why, best first. Must not look
 * at budgets, room for the single wish, or the order of execution: those are plan/'s business.
 */
#include "decide/decide.h"
#include "decide/decision.h"
#include "decide/share.h"
#include "model/tiers.h"
#include "util.h"

#define TEMPERATURE_MAX 10000

DEFINE_CLEANUP(struct targets *, targets_free)

static void decision_done(struct decision *d)
{
	free(d->scales);
	free(d->over_max);
	free(d->drop);
	free(d->promotions.array);
	free(d->demotions.array);
	targets_free(d->t);
}

static int decision_init(struct decision *d, const struct snapshot *s, struct history *h)
{
	size_t n = s->n_groups + 1;

	d->s = s;
	d->h = h;
	d->fastest = tiers_fastest(s->topology);
	d->slowest = tiers_slowest(s->topology);
	d->blind = s->tracker.tracker == TIER_TRACKER_NONE;
	d->scales = calloc(n, sizeof(*d->scales));
	d->over_max = calloc(n, sizeof(*d->over_max));
	d->drop = calloc(n, sizeof(*d->drop));
	d->t = calloc(1, sizeof(*d->t));
	if (!d->scales || !d->over_max || !d->drop || !d->t)
		return -ENOMEM;
	d->t->groups = calloc(n, sizeof(*d->t->groups));
	if (!d->t->groups)
		return -ENOMEM;
	d->t->n_groups = s->n_groups;
	share_measure(s, d->t);
	for (size_t i = 0; i < s->topology->n_nodes; i++)
		d->room_bytes[i] = snapshot_room_bytes(s, i);
	return 0;
}

/* ---- bringing the history up to date --------------------------------------------------------- */

static int update_space(struct decision *d, const struct snapshot_space *space)
{
	const struct snapshot_group *g = &d->s->groups[space->group];
	struct heat_space *heat;
	int r = history_space_add(d->h, space->id, &heat);

	if (r < 0)
		return r;
	heat->absent = 0;
	return heat_update(heat, space->residency, space->access, g->policy->cold_after_us,
			   d->s->now_us);
}

static int update_history(struct decision *d)
{
	for (size_t i = 0; i < d->h->n_spaces; i++)
		d->h->spaces[i].absent++;
	for (size_t i = 0; i < d->s->n_groups; i++) {
		struct group_counters *g;
		int r = history_group_add(d->h, d->s->groups[i].cgroup_id, d->s->now_us, &g);

		if (r < 0 && r != -E2BIG)
			return r;
	}
	for (size_t i = 0; i < d->s->n_spaces; i++) {
		int r = update_space(d, &d->s->spaces[i]);

		if (r < 0 && r != -E2BIG)
			return r; /* what does not fit any more goes without heat */
	}
	history_forget(d->h, d->s->now_us);
	return 0;
}

/* ---- one pass over all slots ----------------------------------------------------------------- */

static uint32_t slot_pages(const struct snapshot *s, const struct tier_slot *slot)
{
	uint32_t pages = 0;

	for (size_t n = 0; n < s->topology->n_nodes; n++)
		pages += slot->pages[n];
	return pages;
}

uint64_t decision_fast_bytes(const struct decision *d, const struct tier_slot *slot)
{
	uint64_t pages = 0;

	for (size_t n = 0; n < d->s->topology->n_nodes; n++)
		if (tiers_holds(d->s->topology, n, d->fastest))
			pages += slot->pages[n];
	return pages * TIER_PAGE_BYTES;
}

static bool is_pin(enum policy_mode mode)
{
	return mode == MODE_PIN_FAST || mode == MODE_PIN_SLOW;
}

static void add_to_scale(struct decision *d, size_t group, const struct tier_slot *slot,
			 const struct heat_reading *r)
{
	uint32_t pages = slot_pages(d->s, slot);
	uint32_t fast = (uint32_t)(decision_fast_bytes(d, slot) / TIER_PAGE_BYTES);

	hot_scale_add(&d->scales[group], r, pages, pages - fast);
}

static void finish_scale(struct decision *d, size_t group)
{
	struct group_counters *g = history_group(d->h, d->s->groups[group].cgroup_id);
	struct hot_scale *scale = &d->scales[group];

	hot_scale_finish(scale);
	if (!g)
		return;
	history_judge(g, scale->reference_bp, scale->uniform,
		      history_seconds(d->h, d->s->now_us));
	scale->reference_bp = g->reference_bp;
	scale->uniform = g->skew == SKEW_UNIFORM;
	d->t->groups[group].uniform = g->skew != SKEW_SKEWED;
}

static void make_scales(struct decision *d)
{
	const struct snapshot *s = d->s;

	for (size_t i = 0; i < s->n_groups; i++)
		d->scales[i].above_bp = s->groups[i].policy->hot_above_bp;
	for (size_t i = 0; i < s->n_spaces; i++) {
		const struct tier_residency *r = s->spaces[i].residency;
		const struct heat_space *heat = history_space(d->h, s->spaces[i].id);
		struct heat_reading reading;

		for (size_t j = 0; r && heat && j < r->n_slots; j++)
			if (heat_read(heat, r->slots[j].start, &reading))
				add_to_scale(d, s->spaces[i].group, &r->slots[j], &reading);
	}
	for (size_t i = 0; i < s->n_groups; i++)
		finish_scale(d, i);
	for (size_t i = 0; i < s->n_spaces; i++) {
		struct heat_space *heat = history_space(d->h, s->spaces[i].id);

		if (heat)
			heat->reference_bp =
				(uint16_t)d->scales[s->spaces[i].group].reference_bp;
	}
}

static void add_to_summary(struct decision *d, size_t group, const struct tier_slot *slot,
			   enum slot_class class, const struct heat_reading *r)
{
	struct target_group *g = &d->t->groups[group];
	uint64_t bytes = (uint64_t)slot_pages(d->s, slot) * TIER_PAGE_BYTES;

	if (class == SLOT_UNKNOWN) {
		g->young_bytes += r->samples ? bytes : 0;
		return;
	}
	g->tracked_bytes += bytes;
	if (class == SLOT_HOT) {
		g->hot_bytes += bytes;
		g->hot_fast_bytes += decision_fast_bytes(d, slot);
	} else if (class == SLOT_COLD) {
		g->cold_fast_bytes += decision_fast_bytes(d, slot);
	}
}

uint32_t decision_idle_s(const struct heat_space *heat, const struct heat_reading *r)
{
	return heat ? (uint32_t)(r->idle_units * heat->idle_unit_us / US_PER_S) : 0;
}

static int wish_pin(struct decision *d, size_t space, const struct tier_slot *slot, bool fast)
{
	struct wish w;

	if (!wish_towards(d->s->topology, slot, fast ? d->fastest : d->slowest, d->room_bytes, &w))
		return 0;
	w.space = space;
	w.temperature = fast ? TEMPERATURE_MAX : 0;
	w.reason = fast ? REASON_PIN_FAST : REASON_PIN_SLOW;
	return wishes_add(fast ? &d->promotions : &d->demotions, &w);
}

static int wish_by_heat(struct decision *d, size_t space, const struct heat_space *heat,
			const struct tier_slot *slot, enum slot_class class,
			const struct heat_reading *r)
{
	size_t group = d->s->spaces[space].group;
	struct wish w;
	bool wanted = false;

	if (class == SLOT_HOT)
		wanted = wish_towards(d->s->topology, slot, d->fastest, d->room_bytes, &w);
	else if (class == SLOT_COLD && !(d->over_max[group] && decision_fast_bytes(d, slot)))
		wanted = wish_down(d->s->topology, slot, d->room_bytes, &w);
	if (!wanted)
		return 0;
	w.space = space;
	w.temperature = r->temperature_bp;
	w.idle_s = decision_idle_s(heat, r);
	w.reason = class == SLOT_HOT ? REASON_HOT : REASON_COLD;
	return wishes_add(class == SLOT_HOT ? &d->promotions : &d->demotions, &w);
}

static int visit_slot(struct decision *d, size_t space, const struct heat_space *heat,
		      const struct tier_slot *slot)
{
	size_t group = d->s->spaces[space].group;
	enum policy_mode mode = d->s->groups[group].policy->mode;
	enum slot_class class = SLOT_UNKNOWN;
	struct heat_reading r = { 0 };

	if (heat && !d->blind) {
		class = hot_classify(heat, slot->start, &d->scales[group], &r);
		add_to_summary(d, group, slot, class, &r);
	}
	if (is_pin(mode))
		return wish_pin(d, space, slot, mode == MODE_PIN_FAST);
	return wish_by_heat(d, space, heat, slot, class, &r);
}

static int visit_spaces(struct decision *d)
{
	const struct snapshot *s = d->s;

	for (size_t i = 0; i < s->n_spaces; i++) {
		const struct tier_residency *r = s->spaces[i].residency;
		const struct heat_space *heat = history_space(d->h, s->spaces[i].id);

		if (s->groups[s->spaces[i].group].policy->mode == MODE_OFF)
			continue;
		for (size_t j = 0; r && j < r->n_slots; j++) {
			int err = visit_slot(d, i, heat, &r->slots[j]);

			if (err < 0)
				return err;
		}
	}
	return 0;
}

/* ---- what the groups as a whole say ---------------------------------------------------------- */

static int compare_places(const struct wish *x, const struct wish *y)
{
	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Pins first, then the hottest. */
static int promotion_compare(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	bool x_pin = x->reason == REASON_PIN_FAST, y_pin = y->reason == REASON_PIN_FAST;

	if (x_pin != y_pin)
		return x_pin ? -1 : 1;
	if (x->temperature != y->temperature)
		return x->temperature > y->temperature ? -1 : 1;
	return compare_places(x, y);
}

int decision_compare_demotions(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	bool x_cold = x->reason == REASON_COLD, y_cold = y->reason == REASON_COLD;

	if (x_cold != y_cold)
		return x_cold ? 1 : -1;
	if (x->idle_s != y->idle_s)
		return x->idle_s > y->idle_s ? -1 : 1;
	if (x->temperature != y->temperature)
		return x->temperature < y->temperature ? -1 : 1;
	return compare_places(x, y);
}

static void drop_uniform(struct decision *d)
{
	struct wishes *p = &d->promotions;
	size_t kept = 0;

	share_drop_uniform(d->s, d->t, d->drop);
	for (size_t i = 0; i < p->n; i++)
		if (p->array[i].reason != REASON_HOT ||
		    !d->drop[d->s->spaces[p->array[i].space].group])
			p->array[kept++] = p->array[i];
	p->n = kept;
}

static void find_over_max(struct decision *d)
{
	for (size_t i = 0; i < d->s->n_groups; i++) {
		enum policy_mode mode = d->s->groups[i].policy->mode;

		d->over_max[i] = !d->blind && !is_pin(mode) && mode != MODE_OFF &&
				 share_excess_bytes(d->s, d->h, d->t, i);
	}
}

static void sort_wishes(struct wishes *w, int (*compare)(const void *, const void *))
{
	if (w->n)
		qsort(w->array, w->n, sizeof(*w->array), compare);
}

static int run(struct decision *d)
{
	int err = update_history(d);

	if (err < 0)
		return err;
	make_scales(d);
	find_over_max(d);
	err = visit_spaces(d);
	if (err < 0)
		return err;
	err = decision_enforce_max(d);
	if (err < 0)
		return err;
	drop_uniform(d);
	sort_wishes(&d->promotions, promotion_compare);
	sort_wishes(&d->demotions, decision_compare_demotions);
	return 0;
}

int decide(const struct snapshot *s, struct history *h, struct targets **ret)
{
	cleanup(decision_done) struct decision d = { 0 };
	int err = decision_init(&d, s, h);

	if (err < 0)
		return err;
	err = run(&d);
	if (err < 0)
		return err;
	d.t->n_promotions = d.promotions.n;
	d.t->promotions = STEAL(d.promotions.array);
	d.t->n_demotions = d.demotions.n;
	d.t->demotions = STEAL(d.demotions.array);
	*ret = STEAL(d.t);
	return 0;
}
