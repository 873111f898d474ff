// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fast tier as a thing to be shared: its room, what each group holds of it, its limit. Looks at
 * sums only, never at slots or temperatures.
 */
#include "decide/share.h"
#include "model/tiers.h"
#include "util.h"

/*
 * What FastMax counts: anonymous and shared memory, the kinds that can be moved. The kernel's
 * counters know memory that several processes share once; a sum over the processes would not.
 */
static uint64_t held_bytes(const struct snapshot *s, const struct tier_usage *u, unsigned int rank)
{
	uint64_t sum = 0;

	for (size_t n = 0; n < s->topology->n_nodes; n++)
		if (tiers_holds(s->topology, n, rank))
			sum += u->anon_bytes[n] + u->shmem_bytes[n];
	return sum;
}

static uint64_t seen_bytes(const struct snapshot *s, const struct tier_residency *r,
			   unsigned int rank)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < r->n_slots; i++)
		for (size_t n = 0; n < s->topology->n_nodes; n++)
			if (tiers_holds(s->topology, n, rank))
				pages += r->slots[i].pages[n];
	return pages * TIER_PAGE_BYTES;
}

void share_measure(const struct snapshot *s, struct targets *t)
{
	unsigned int fastest = tiers_fastest(s->topology);
	uint64_t total_bytes = tiers_total_bytes(s->topology, fastest);

	for (size_t i = 0; i < s->n_spaces; i++)
		if (s->spaces[i].residency)
			t->groups[s->spaces[i].group].fast_bytes +=
				seen_bytes(s, s->spaces[i].residency, fastest);
	for (size_t i = 0; i < s->n_groups; i++) {
		struct target_group *g = &t->groups[i];

		g->fast_bytes = MAX(g->fast_bytes,
				    held_bytes(s, &s->groups[i].usage, fastest));
		g->fast_max_bytes = amount_bytes(s->groups[i].policy->fast_max, total_bytes);
	}
}

/* The kernel folds its per-CPU counters into those of the cgroup at least this often. */
#define COUNTERS_LAG_US (2 * US_PER_S)

uint64_t share_excess_bytes(const struct snapshot *s, struct history *h, const struct targets *t,
			    size_t group)
{
	const struct snapshot_group *g = &s->groups[group];
	const struct group_counters *counters = history_group(h, g->cgroup_id);
	uint64_t held = held_bytes(s, &g->usage, tiers_fastest(s->topology));
	uint64_t allowed = t->groups[group].fast_max_bytes;

	if (counters && counters->last_demotion_us &&
	    s->now_us < counters->last_demotion_us + COUNTERS_LAG_US)
		return 0;
	for (size_t i = 0; i < h->n_flights; i++)
		if (h->flights[i].cgroup_id == g->cgroup_id &&
		    h->flights[i].direction == DIRECTION_DEMOTE)
			held -= MIN(held, h->flights[i].bytes);
	return held > allowed ? held - allowed : 0;
}

void share_drop_uniform(const struct snapshot *s, const struct targets *t, bool *ret_drop)
{
	unsigned int fastest = tiers_fastest(s->topology);
	uint64_t room = 0;

	for (size_t n = 0; n < s->topology->n_nodes; n++)
		if (tiers_holds(s->topology, n, fastest))
			room += (uint64_t)MAX(snapshot_room_bytes(s, n), (int64_t)0);
	for (size_t i = 0; i < s->n_groups; i++)
		room += t->groups[i].cold_fast_bytes;
	for (size_t i = 0; i < s->n_groups; i++) {
		const struct target_group *g = &t->groups[i];
		/* All of it: what does not look hot just now is as hot as the rest. */
		uint64_t wanted = g->tracked_bytes - MIN(g->fast_bytes, g->tracked_bytes);
		uint64_t allowed = g->fast_max_bytes - MIN(g->fast_bytes, g->fast_max_bytes);

		ret_drop[i] = g->uniform && wanted > MIN(room, allowed);
		if (g->uniform && !ret_drop[i])
			room -= wanted;
	}
}
