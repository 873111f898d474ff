// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hot, cold, or neither. Looks at temperatures only; where memory lives and whether there is room
 * for it is not known here.
 *
 * HotAbove alone would not do, because of how a tracker errs:
 *
 * * It loses hot memory by merging it with the rest: then everything shows the mean. What is not
 *   warmer than the mean of the memory that could be moved up is not told apart from such a sample,
 *   so it does not count as hot, unless all of the group is used alike, or it is as hot as the
 *   group's hot memory is: then nothing colder is left below.
 * * Its regions do not end where the hot memory ends, and differently so in each sample: a slot
 *   just outside is warmed by its neighbours. Near something clearly hotter a slot must have been
 *   at half of the usual heat for several samples in a row; one that hot memory covers by half or
 *   more is, in the end, and one that only noise warms hardly ever. Without, such slots would be
 *   moved up one by one for as long as the service runs.
 */
#include "decide/hot.h"
#include "util.h"

/* Slots to each side that may have warmed this one: 16 MiB, a usual error of a region's end. */
#define NEAR_SLOTS 8
/* Below this much of the hottest near it, a slot may be an edge. */
#define EDGE_BP 7500
/* Warmer than the mean by this much stands out from it. */
#define ABOVE_MEAN_BP 13500
/*
 * The group is used uniformly when the mean of all its memory is at least this much of what the
 * average access finds: moving one part up and another down would change little.
 */
#define UNIFORM_BP 7000
#define BP 10000

void hot_scale_add(struct hot_scale *scale, const struct heat_reading *r, uint32_t pages,
		   uint32_t below)
{
	uint64_t heat = (uint64_t)r->temperature_bp * pages;

	if (r->samples < HEAT_SAMPLES_MIN)
		return;
	scale->pages += pages;
	scale->heat += heat;
	scale->heat_squared += heat * r->temperature_bp; /* 64 TiB at the highest: 2 x 10^18 */
	scale->below_pages += below;
	scale->below_heat += (uint64_t)r->temperature_bp * below;
	scale->any_above |= r->temperature_bp >= scale->above_bp;
}

void hot_scale_finish(struct hot_scale *scale)
{
	if (scale->below_pages)
		scale->below_bp = (uint32_t)(scale->below_heat / scale->below_pages);
	if (!scale->any_above || !scale->heat)
		return;
	scale->reference_bp = (uint32_t)(scale->heat_squared / scale->heat);
	scale->uniform = scale->heat / scale->pages * BP >=
			 (uint64_t)scale->reference_bp * UNIFORM_BP;
}

static bool near_hotter(const struct heat_space *h, uint64_t start, uint32_t mine_bp)
{
	uint64_t from = start - MIN(start, NEAR_SLOTS * TIER_SLOT_BYTES);

	for (unsigned int i = 0; i <= 2 * NEAR_SLOTS; i++) {
		struct heat_reading near;

		if (heat_read(h, from + i * TIER_SLOT_BYTES, &near) &&
		    mine_bp * BP < near.temperature_bp * EDGE_BP)
			return true;
	}
	return false;
}

static bool is_hot(const struct heat_space *h, uint64_t start, const struct hot_scale *scale,
		   const struct heat_reading *r)
{
	if (r->temperature_bp < scale->above_bp)
		return false;
	/* What is as hot as the group's hot memory is hot, also where nothing colder is left below. */
	if (!scale->uniform && r->temperature_bp * BP < scale->below_bp * ABOVE_MEAN_BP &&
	    r->temperature_bp * BP < scale->reference_bp * UNIFORM_BP)
		return false;
	return r->steady >= HEAT_STEADY_MAX || !near_hotter(h, start, r->temperature_bp);
}

enum slot_class hot_classify(const struct heat_space *h, uint64_t start,
			     const struct hot_scale *scale, struct heat_reading *ret)
{
	struct heat_reading r;

	*ret = (struct heat_reading){ 0 };
	if (!heat_read(h, start, &r))
		return SLOT_UNKNOWN;
	*ret = r;
	if (r.samples < HEAT_SAMPLES_MIN)
		return SLOT_UNKNOWN;
	if (is_hot(h, start, scale, &r))
		return SLOT_HOT;
	/* Between half of HotAbove and HotAbove lies the band in which nothing moves. */
	if (r.temperature_bp * 2 < scale->above_bp && r.idle_units > HEAT_IDLE_UNITS)
		return SLOT_COLD;
	return SLOT_BETWEEN;
}
