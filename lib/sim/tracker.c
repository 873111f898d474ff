// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A tracker that behaves as DAMON does: per region and sampling interval one random page is looked
 * at; after an aggregation interval neighbours with about the same count are merged, that is what a
 * reader sees, and regions are then split at random places so that the next round may tell their
 * parts apart. Its samples are coarse and noisy for the same reasons as the real ones; on top comes
 * the noise that the machine was asked for.
 */
#include "sim/private.h"
#include "util.h"

#define SIM_SAMPLES 20            /* per aggregation: 5 ms in 100 ms, DAMON's defaults */
#define AGGREGATION_US 100000ULL
#define REGIONS_MIN 10            /* DAMON's default: no region above a tenth of the whole */
#define REGIONS_MAX 100           /* split only below half of it, as DAMON does */
#define MERGE_HITS (SIM_SAMPLES / 10)
/* After a long gap only the newest rounds matter: regions have converged by then. */
#define CATCH_UP_MAX 20

static struct sim_region region_between(uint64_t start, uint64_t end)
{
	return (struct sim_region){ .start = start, .end = end };
}

int sim_tracker_start(struct sim_machine *m, struct sim_space *s)
{
	struct sim_tracked *t = &s->tracked;
	uint64_t bytes = s->process.bytes;
	uint64_t start = s->process.start;

	if (t->on)
		return 0;
	t->regions = calloc(REGIONS_MAX, sizeof(*t->regions));
	if (!t->regions)
		return -ENOMEM;
	t->n_regions = bytes < REGIONS_MIN * TIER_PAGE_BYTES ? 1 : REGIONS_MIN;
	for (size_t i = 0; i < t->n_regions; i++) {
		uint64_t a = round_down_u64(bytes / t->n_regions * i, TIER_PAGE_BYTES);
		uint64_t b = round_down_u64(bytes / t->n_regions * (i + 1), TIER_PAGE_BYTES);

		if (i + 1 == t->n_regions)
			b = bytes;
		t->regions[i] = region_between(start + a, start + b);
	}
	t->until_us = m->now_us;
	t->on = true;
	return 0;
}

void sim_tracker_stop(struct sim_space *s)
{
	free(s->tracked.regions);
	free(s->tracked.shown);
	s->tracked = (struct sim_tracked){ .seq = s->tracked.seq };
}

static void sample(struct sim_machine *m, const struct sim_process *p, uint64_t at_us,
		   struct sim_region *r)
{
	uint32_t chance = sim_workload_chance(p, at_us, r->start, r->end);
	uint64_t word = 0;

	r->hits = 0;
	/* Most memory is not accessed at all: no need to draw for that. */
	for (unsigned int i = 0; chance && i < SIM_SAMPLES; i++) {
		/* One random word serves four samples. */
		word = i % 4 ? word >> 16 : sim_random(m);
		r->hits += (word & 0xffff) < chance;
	}
}

static uint32_t difference(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static void merge(struct sim_tracked *t, uint64_t region_max)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n_regions; i++) {
		struct sim_region r = t->regions[i];
		struct sim_region *last = kept ? &t->regions[kept - 1] : NULL;
		uint64_t size = r.end - r.start;

		if (!last || last->end != r.start || difference(last->hits, r.hits) > MERGE_HITS ||
		    r.end - last->start > region_max) {
			t->regions[kept++] = r;
			continue;
		}
		last->hits = (uint32_t)((last->hits * (last->end - last->start) + r.hits * size) /
					(r.end - last->start));
		last->end = r.end;
	}
	t->n_regions = kept;
}

static void split(struct sim_machine *m, struct sim_tracked *t)
{
	struct sim_region parts[REGIONS_MAX];
	size_t n = 0;

	if (t->n_regions > REGIONS_MAX / 2)
		return;
	for (size_t i = 0; i < t->n_regions; i++) {
		struct sim_region r = t->regions[i];
		uint64_t tenths = 1 + sim_random(m) % 9;
		uint64_t at = r.start +
			      round_down_u64((r.end - r.start) / 10 * tenths, TIER_PAGE_BYTES);

		if (at > r.start && at < r.end) {
			parts[n] = r;
			parts[n++].end = at;
			r.start = at;
		}
		parts[n++] = r;
	}
	memcpy(t->regions, parts, n * sizeof(parts[0]));
	t->n_regions = n;
}

/* What a reader gets: the merged regions, or what noise makes of them. */
static int show(struct sim_machine *m, struct sim_tracked *t)
{
	struct tier_region *shown = calloc(t->n_regions, sizeof(*shown));
	bool missed = sim_chance(m, m->noise.missed_bp);
	bool merged = sim_chance(m, m->noise.merged_bp);
	uint64_t sum = 0;

	if (!shown)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_regions; i++) {
		const struct sim_region *r = &t->regions[i];

		shown[i] = (struct tier_region){ r->start, r->end, r->hits * 10000 / SIM_SAMPLES };
		sum += shown[i].rate_bp * (r->end - r->start);
		if (missed)
			shown[i].rate_bp = 0;
	}
	t->n_shown = t->n_regions;
	if (merged && !missed) {
		shown[0].end = shown[t->n_regions - 1].end;
		shown[0].rate_bp = (uint32_t)(sum / (shown[0].end - shown[0].start));
		t->n_shown = 1;
	}
	free(t->shown);
	t->shown = shown;
	t->seq++;
	return 0;
}

int sim_tracker_catch_up(struct sim_machine *m, struct sim_space *s)
{
	struct sim_tracked *t = &s->tracked;
	uint64_t rounds = (m->now_us - t->until_us) / AGGREGATION_US;
	uint64_t region_max = MAX(s->process.bytes / REGIONS_MIN, TIER_PAGE_BYTES);

	if (!t->on || !rounds)
		return 0;
	if (rounds > CATCH_UP_MAX)
		t->until_us += (rounds - CATCH_UP_MAX) * AGGREGATION_US;
	for (rounds = MIN(rounds, (uint64_t)CATCH_UP_MAX); rounds; rounds--) {
		t->until_us += AGGREGATION_US;
		for (size_t i = 0; i < t->n_regions; i++)
			sample(m, &s->process, t->until_us, &t->regions[i]);
		merge(t, region_max);
		if (rounds == 1 && !sim_chance(m, m->noise.delayed_bp)) {
			int r = show(m, t);

			if (r < 0)
				return r;
		}
		split(m, t);
	}
	return 0;
}
