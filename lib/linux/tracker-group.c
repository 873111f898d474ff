// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Pure: which space is watched by which kdamond, what a change calls for, and between how many
 * regions a kdamond should keep. No file, no clock, no memory of its own.
 */
#include "linux/tracker.h"
#include "util.h"

/*
 * Ranks by size change all the time. One of the largest 24 of a kdamond always has a place; one
 * that is tracked keeps it up to rank 40, so that neighbours in size do not push each other out.
 */
#define RANK_SURE 24U
#define RANK_KEEP 40U

/*
 * DAMON lets regions grow to total / min_regions: 4 MiB, two slots, so that a small hot core can't
 * vanish in one large cold region. 256 regions (about 700 once they are split for the next round)
 * at 50 samples a second cost a few percent of a core; larger spaces get coarser regions.
 */
#define REGION_BYTES (4 * MiB)
#define MIN_REGIONS_LEAST 10U
#define MIN_REGIONS_MOST 256U
/* Three areas per target with an edge in each; DAMON would else merge across hot and cold. */
#define REGIONS_PER_TARGET 6U
/*
 * Merging leaves up to twice the minimum (two neighbours may just not fit together), and DAMON
 * splits only up to half of the maximum: less than four times the minimum could freeze the edges.
 */
#define MAX_PER_MIN 4U

static int kdamond_of_cgroup(const struct group_wish *wishes, size_t n, uint64_t cgroup_id)
{
	for (size_t i = 0; i < n; i++)
		if (wishes[i].cgroup_id == cgroup_id && wishes[i].kdamond >= 0)
			return wishes[i].kdamond;
	return -1;
}

static int least_loaded(const size_t *load)
{
	size_t best = 0;

	for (size_t k = 1; k < TRACKER_KDAMONDS; k++)
		if (load[k] < load[best])
			best = k;
	return (int)best;
}

/* The ranks of the wishes of one kdamond are their order; those without a place get -1. */
static size_t cut_to_size(struct group_wish *wishes, size_t n, int kdamond)
{
	size_t rank = 0, room, over = 0;
	size_t kept = 0, others = 0;

	for (size_t i = 0; i < n; i++) {
		if (wishes[i].kdamond != kdamond)
			continue;
		if (rank >= RANK_SURE && rank < RANK_KEEP && wishes[i].tracked == kdamond)
			kept++;
		rank++;
	}
	if (rank <= DAMON_TARGETS_MAX)
		return 0;
	kept = MIN(kept, (size_t)(DAMON_TARGETS_MAX - RANK_SURE));
	room = DAMON_TARGETS_MAX - RANK_SURE - kept;
	rank = 0;
	for (size_t i = 0; i < n; i++) {
		bool stays;

		if (wishes[i].kdamond != kdamond)
			continue;
		stays = rank < RANK_SURE;
		if (!stays && rank < RANK_KEEP && wishes[i].tracked == kdamond && kept) {
			kept--;
			stays = true;
		} else if (!stays && others < room) {
			others++;
			stays = true;
		}
		if (!stays) {
			wishes[i].kdamond = -1;
			over++;
		}
		rank++;
	}
	return over;
}

size_t group_assign(struct group_wish *wishes, size_t n)
{
	size_t load[TRACKER_KDAMONDS] = { 0 };
	size_t over = 0;

	for (size_t i = 0; i < n; i++) {
		wishes[i].kdamond = wishes[i].tracked;
		if (wishes[i].tracked >= 0)
			load[wishes[i].tracked]++;
	}
	for (size_t i = 0; i < n; i++) {
		if (wishes[i].kdamond >= 0)
			continue;
		wishes[i].kdamond = kdamond_of_cgroup(wishes, n, wishes[i].cgroup_id);
		if (wishes[i].kdamond < 0)
			wishes[i].kdamond = least_loaded(load);
		load[wishes[i].kdamond]++;
	}
	for (int k = 0; k < (int)TRACKER_KDAMONDS; k++)
		over += cut_to_size(wishes, n, k);
	return over;
}

enum group_step group_decide(const struct group_target *targets, size_t n, size_t n_added,
			     bool running, bool can_drop, bool resize)
{
	size_t wanted = 0, dead = 0, unwanted = 0;

	for (size_t i = 0; i < n; i++) {
		if (!targets[i].alive)
			dead++;
		else if (targets[i].wanted)
			wanted++;
		else
			unwanted++;
	}
	if (!wanted && !n_added)
		return n || running ? GROUP_STOP : GROUP_KEEP;
	if (!running)
		return GROUP_REBUILD;
	if (can_drop)
		return dead || unwanted || n_added || resize ? GROUP_COMMIT : GROUP_KEEP;
	/*
	 * A list with a dead process ends the kdamond, and a shorter list would give the regions of
	 * what was dropped to what comes behind it: only appending is safe. The dead by themselves
	 * cost next to nothing and stay until there is another reason.
	 */
	if (unwanted)
		return GROUP_REBUILD;
	if (n_added || resize)
		return dead ? GROUP_REBUILD : GROUP_COMMIT;
	return GROUP_KEEP;
}

struct group_bounds group_bounds(uint64_t bytes, size_t n_targets)
{
	uint64_t want = MAX(bytes / REGION_BYTES, (uint64_t)REGIONS_PER_TARGET * n_targets);
	unsigned int min = (unsigned int)MIN(MAX(want, (uint64_t)MIN_REGIONS_LEAST),
					     (uint64_t)MIN_REGIONS_MOST);

	return (struct group_bounds){ .min_regions = min, .max_regions = MAX_PER_MIN * min };
}

bool group_bounds_differ(struct group_bounds a, struct group_bounds b)
{
	unsigned int small = MIN(a.min_regions, b.min_regions);

	return MAX(a.min_regions, b.min_regions) >= small + small / 2 + 1;
}
