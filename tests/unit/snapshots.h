/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_SNAPSHOTS_H
#define UNIT_SNAPSHOTS_H

/* Snapshots made by hand for the tests of decide/, plan/ and model/: two nodes, a few processes. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "decide/decide.h"
#include "decide/heat.h"
#include "plan/plan.h"
#include "util.h"

#define GROUPS_MAX 4
#define SPACES_MAX 4
#define SLOTS_MAX 256
#define BASE 0x7f0000000000ULL
#define PAGES_PER_SLOT 512
#define GROUP_ID 100

struct bench {
	struct tier_topology topology;
	struct settings settings;
	struct policy policies[GROUPS_MAX];
	struct snapshot_group groups[GROUPS_MAX];
	struct snapshot_space spaces[SPACES_MAX];
	struct tier_residency residency[SPACES_MAX];
	struct tier_slot slots[SPACES_MAX][SLOTS_MAX];
	struct tier_access access[SPACES_MAX];
	struct tier_region regions[SPACES_MAX][SLOTS_MAX];
	struct snapshot s;
	struct history *h;
};

static inline uint64_t slot_at(unsigned int i)
{
	return BASE + i * TIER_SLOT_BYTES;
}

/* Node 0 is fast and 512 MiB large, node 1 slow and 1 GiB; a quarter of each is free. */
static inline void bench_init(struct bench *b)
{
	*b = (struct bench){ 0 };
	b->topology.n_nodes = 2;
	b->topology.nodes[0] = (struct tier_node){
		.id = 0, .rank = 0, .total_bytes = 512 * MiB, .free_bytes = 128 * MiB
	};
	b->topology.nodes[1] = (struct tier_node){
		.id = 1, .rank = 1, .total_bytes = 1 * GiB, .free_bytes = 256 * MiB
	};
	b->settings = (struct settings){
		.interval_us = US_PER_S,
		.headroom.value = 16 * MiB,
		.bandwidth_bytes_s = GiB,
	};
	b->s = (struct snapshot){
		.now_us = US_PER_S,
		.topology = &b->topology,
		.settings = &b->settings,
		.tracker.tracker = TIER_TRACKER_SIM,
		.groups = b->groups,
		.spaces = b->spaces,
	};
	b->h = history_new(US_PER_S);
	assert_non_null(b->h);
}

static inline void bench_done(struct bench *b)
{
	history_free(b->h);
}

static inline struct policy *bench_group(struct bench *b)
{
	size_t i = b->s.n_groups++;

	b->policies[i] = (struct policy){
		.mode = MODE_AUTO,
		.fast_max = AMOUNT_UNLIMITED,
		.cold_after_us = 8 * US_PER_S,
		.hot_above_bp = 1000,
		.bandwidth_bytes_s = GiB,
		.call_max_us = 20 * US_PER_MS,
	};
	b->groups[i] = (struct snapshot_group){
		.cgroup_id = GROUP_ID + i, .path = "group", .policy = &b->policies[i]
	};
	return &b->policies[i];
}

/* A process of the newest group, @n slots from BASE on all on one node; accessed at no rate yet. */
static inline size_t bench_space(struct bench *b, unsigned int n, unsigned int node)
{
	size_t i = b->s.n_spaces++;

	for (unsigned int j = 0; j < n; j++) {
		b->slots[i][j] = (struct tier_slot){ .start = slot_at(j) };
		b->slots[i][j].pages[node] = PAGES_PER_SLOT;
		b->regions[i][j] = (struct tier_region){ slot_at(j), slot_at(j + 1), 0 };
	}
	b->residency[i] = (struct tier_residency){ .n_slots = n, .slots = b->slots[i] };
	b->access[i] = (struct tier_access){ .n_regions = n, .regions = b->regions[i] };
	b->spaces[i] = (struct snapshot_space){
		.id = i + 1,
		.group = b->s.n_groups - 1,
		.residency = &b->residency[i],
		.access = &b->access[i],
	};
	b->groups[b->s.n_groups - 1].usage.anon_bytes[node] += n * TIER_SLOT_BYTES;
	return i;
}

static inline void bench_rate(struct bench *b, size_t space, unsigned int first, unsigned int n,
			      uint32_t rate_bp)
{
	for (unsigned int i = first; i < first + n; i++)
		b->regions[space][i].rate_bp = rate_bp;
}

/* @n seconds, each with a new sample; what was decided last. */
static inline struct targets *bench_decide(struct bench *b, unsigned int n)
{
	struct targets *t = NULL;

	while (n--) {
		targets_free(t);
		b->s.now_us += US_PER_S;
		for (size_t i = 0; i < b->s.n_spaces; i++)
			b->access[i].seq++;
		assert_int_equal(decide(&b->s, b->h, &t), 0);
	}
	return t;
}

static inline struct plan *bench_plan(struct bench *b, unsigned int n)
{
	struct targets *t = bench_decide(b, n);
	struct plan *plan;

	assert_int_equal(plan_make(&b->s, t, b->h, &plan), 0);
	targets_free(t);
	return plan;
}

/* Tells the history that everything in the plan ended as @result. */
static inline void bench_account(struct bench *b, const struct plan *plan,
				 enum tier_result result)
{
	for (size_t i = 0; i < plan->n_batches; i++) {
		struct outcome o = { .finished_us = b->s.now_us, .batch = plan->batches[i] };
		struct outcomes all = { .n_outcomes = 1, .outcomes = &o };

		o.result.asked_bytes = o.batch.bytes;
		o.result.bytes[result][9] = o.batch.bytes;
		assert_int_equal(history_account(b->h, &all), 0);
	}
}

#endif
