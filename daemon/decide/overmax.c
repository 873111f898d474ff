// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * FastMax: what a group holds of the fastest tier beyond its limit goes down, coldest first and
 * whether or not the room is needed. Must not look at groups within their limits.
 */
#include "decide/decision.h"
#include "decide/share.h"
#include "util.h"

/*
 * A process is left alone for this long after its first sample: what looks coldest before may be
 * the hottest of all, and once it is down the cool-down keeps it there for a minute.
 */
#define WATCH_US (30 * US_PER_S)

/* What could go down now. */
static bool slot_wish(const struct decision *d, const struct heat_space *heat,
		      const struct tier_slot *slot, struct wish *ret)
{
	uint32_t now_s = history_seconds(d->h, d->s->now_us);
	struct heat_reading reading;

	if (!decision_fast_bytes(d, slot) || history_slot_busy(heat, slot->start, now_s) ||
	    history_slot_cooling(heat, slot->start, DIRECTION_DEMOTE, now_s))
		return false;
	if (!heat_read(heat, slot->start, &reading) || reading.samples < HEAT_SAMPLES_MIN)
		return false;
	if (!wish_down(d->s->topology, slot, d->room_bytes, ret))
		return false;
	ret->temperature = reading.temperature_bp;
	ret->idle_s = decision_idle_s(heat, &reading);
	ret->reason = REASON_OVER_MAX;
	return true;
}

static int list_space(const struct decision *d, size_t space, struct wishes *ret)
{
	const struct tier_residency *r = d->s->spaces[space].residency;
	const struct heat_space *heat = history_space(d->h, d->s->spaces[space].id);

	if (!r || !heat || !heat->first_us || d->s->now_us < heat->first_us + WATCH_US)
		return 0;
	for (size_t i = 0; i < r->n_slots; i++) {
		struct wish w;
		int err;

		if (!slot_wish(d, heat, &r->slots[i], &w))
			continue;
		w.space = space;
		err = wishes_add(ret, &w);
		if (err < 0)
			return err;
	}
	return 0;
}

/* All that one group has on the fastest tier and that could go down now, coldest first. */
static int list_fast(const struct decision *d, size_t group, struct wishes *ret)
{
	for (size_t i = 0; i < d->s->n_spaces; i++) {
		int err = d->s->spaces[i].group == group ? list_space(d, i, ret) : 0;

		if (err < 0)
			return err;
	}
	if (ret->n)
		qsort(ret->array, ret->n, sizeof(*ret->array), decision_compare_demotions);
	return 0;
}

/* Beyond FastMax the coldest go first, down to the limit; cold ones of the rest may still go. */
static int over_max(struct decision *d, size_t group, uint64_t excess_bytes)
{
	struct wishes fast = { 0 };
	int err = list_fast(d, group, &fast);

	for (size_t i = 0; err >= 0 && i < fast.n; i++) {
		struct wish *w = &fast.array[i];
		struct heat_reading unused;

		if (!excess_bytes) {
			const struct heat_space *heat =
				history_space(d->h, d->s->spaces[w->space].id);

			if (hot_classify(heat, w->start, &d->scales[group], &unused) != SLOT_COLD)
				continue;
			w->reason = REASON_COLD;
		}
		excess_bytes -= MIN(excess_bytes, (uint64_t)w->bytes);
		err = wishes_add(&d->demotions, w);
	}
	free(fast.array);
	return err;
}

int decision_enforce_max(struct decision *d)
{
	for (size_t i = 0; i < d->s->n_groups; i++) {
		int err;

		if (!d->over_max[i])
			continue;
		err = over_max(d, i, share_excess_bytes(d->s, d->h, d->t, i));
		if (err < 0)
			return err;
	}
	return 0;
}
