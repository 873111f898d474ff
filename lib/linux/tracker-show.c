// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the tracker's thread lets others see: copies of the newest samples and the state in words.
 * Reads the thread's work, changes nothing.
 */
#include <stdio.h>

#include "linux/linux.h"
#include "linux/tracker.h"
#include "util.h"

static bool is_wanted(const struct work *w, uint64_t space_id)
{
	for (size_t i = 0; w->set && i < w->set->n; i++)
		if (w->set->items[i]->process->space_id == space_id)
			return true;
	return false;
}

static int copy_access(const struct tier_access *from, struct tier_access *ret)
{
	struct tier_region *regions = calloc(MAX(from->n_regions, (size_t)1), sizeof(*regions));

	if (!regions)
		return -ENOMEM;
	if (from->n_regions)
		memcpy(regions, from->regions, from->n_regions * sizeof(*regions));
	*ret = *from;
	ret->regions = regions;
	return 0;
}

static struct tier_accesses *accesses_new(size_t max)
{
	struct tier_accesses *a = calloc(1, sizeof(*a));

	if (a)
		a->accesses = calloc(MAX(max, (size_t)1), sizeof(*a->accesses));
	return a && a->accesses ? a : tier_accesses_free(a);
}

int accesses_copy(const struct tier_accesses *from, struct tier_accesses **ret)
{
	struct tier_accesses *a = accesses_new(from ? from->n_accesses : 0);

	if (!a)
		return -ENOMEM;
	for (size_t i = 0; from && i < from->n_accesses; i++) {
		if (copy_access(&from->accesses[i], &a->accesses[i]) < 0) {
			tier_accesses_free(a);
			return -ENOMEM;
		}
		a->n_accesses++;
	}
	*ret = a;
	return 0;
}

static int compare_accesses(const void *a, const void *b)
{
	const struct tier_access *x = a, *y = b;

	return (x->space_id > y->space_id) - (x->space_id < y->space_id);
}

struct tier_accesses *work_collect(const struct work *w)
{
	struct tier_accesses *a = accesses_new(TRACKER_KDAMONDS * DAMON_TARGETS_MAX);

	if (!a)
		return NULL;
	for (size_t i = 0; i < TRACKER_KDAMONDS; i++) {
		const struct kdamond *k = &w->kdamonds[i];

		for (size_t j = 0; j < k->n_targets; j++) {
			const struct kdamond_target *target = &k->targets[j];
			struct tier_access now = {
				.space_id = target->watched->process->space_id,
				.seq = target->seq,
				.n_regions = target->newest.n,
				.regions = target->newest.regions,
			};

			if (!target->seq || !is_wanted(w, now.space_id))
				continue;
			if (copy_access(&now, &a->accesses[a->n_accesses]) < 0)
				return tier_accesses_free(a);
			a->n_accesses++;
		}
	}
	qsort(a->accesses, a->n_accesses, sizeof(*a->accesses), compare_accesses);
	return a;
}

void work_describe(const struct work *w, struct tier_tracker_state *ret)
{
	uint64_t ticks = 0;

	*ret = (struct tier_tracker_state){ .tracker = TIER_TRACKER_NONE };
	for (size_t i = 0; i < TRACKER_KDAMONDS; i++)
		ticks += w->kdamonds[i].cpu_done_ticks + w->kdamonds[i].cpu_now_ticks;
	ret->cpu_us = ticks * (US_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	if (w->reason[0]) {
		memcpy(ret->reason, w->reason, sizeof(ret->reason));
		return;
	}
	ret->tracker = TIER_TRACKER_DAMON;
	ret->n_tracked = (uint32_t)w->n_placed;
	if (w->n_over)
		snprintf(ret->reason, sizeof(ret->reason),
			 "%zu processes are not tracked: only the largest %u of a cgroup are",
			 w->n_over, DAMON_TARGETS_MAX);
}
