// SPDX-License-Identifier: GPL-2.0-or-later
/* Which wishes are made, in which order, and how groups are summed up. */
#include "snapshots.h"

#include "model/tiers.h"
#include "model/wish.h"

/* Long enough to be trusted, settled and, where not accessed, cold (ColdAfter is 8 s). */
#define SETTLED 20

static void test_hot_up_cold_down(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 64, 0);
	bench_rate(&b, 0, 0, 8, 5000);
	bench_space(&b, 64, 1);
	bench_rate(&b, 1, 16, 4, 4000);
	t = bench_decide(&b, SETTLED);
	assert_int_equal(t->n_promotions, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(t->promotions[i].space, 1);
		assert_int_equal(t->promotions[i].start, slot_at(16 + (unsigned int)i));
		assert_int_equal(t->promotions[i].bytes, TIER_SLOT_BYTES);
		assert_int_equal(t->promotions[i].from_index, 1);
		assert_int_equal(t->promotions[i].to_index, 0);
		assert_int_equal(t->promotions[i].reason, REASON_HOT);
	}
	assert_int_equal(t->n_demotions, 56);
	for (size_t i = 0; i < 56; i++) {
		assert_int_equal(t->demotions[i].space, 0);
		assert_true(t->demotions[i].start >= slot_at(8));
		assert_int_equal(t->demotions[i].to_index, 1);
		assert_int_equal(t->demotions[i].reason, REASON_COLD);
		assert_true(t->demotions[i].idle_s >= 8);
	}
	assert_int_equal(t->groups[0].hot_bytes, 12 * TIER_SLOT_BYTES);
	assert_int_equal(t->groups[0].hot_fast_bytes, 8 * TIER_SLOT_BYTES);
	assert_int_equal(t->groups[0].cold_fast_bytes, 56 * TIER_SLOT_BYTES);
	assert_int_equal(t->groups[0].tracked_bytes, 128 * TIER_SLOT_BYTES);
	assert_int_equal(t->groups[0].fast_bytes, 64 * TIER_SLOT_BYTES);
	targets_free(t);
	bench_done(&b);
}

/* All that is below is hot: the mean of it is no measure of what stands out. */
static void test_only_hot_memory_below(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 64, 0);
	bench_space(&b, 16, 1);
	bench_rate(&b, 1, 0, 16, 6000);
	t = bench_decide(&b, SETTLED);
	assert_int_equal(t->n_promotions, 16);
	targets_free(t);
	bench_done(&b);
}

static void test_hottest_and_coldest_first(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 64, 1);
	bench_rate(&b, 0, 10, 1, 3000);
	bench_rate(&b, 0, 30, 1, 9000);
	bench_rate(&b, 0, 50, 1, 6000);
	bench_space(&b, 2, 0);
	bench_rate(&b, 1, 1, 1, 3000);
	targets_free(bench_decide(&b, SETTLED));
	bench_rate(&b, 1, 1, 1, 0); /* idle as well, but not for as long */
	t = bench_decide(&b, 30);
	assert_int_equal(t->n_promotions, 3);
	assert_int_equal(t->promotions[0].start, slot_at(30));
	assert_int_equal(t->promotions[1].start, slot_at(50));
	assert_int_equal(t->promotions[2].start, slot_at(10));
	assert_int_equal(t->n_demotions, 2);
	assert_int_equal(t->demotions[0].start, slot_at(0));
	assert_true(t->demotions[0].idle_s > t->demotions[1].idle_s);
	targets_free(t);
	bench_done(&b);
}

static void test_cold_takes_cold_after(void **state)
{
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 8, 0);
	for (unsigned int second = 1; second <= HEAT_SAMPLES_MIN + 8; second++) {
		struct targets *t = bench_decide(&b, 1);

		assert_int_equal(t->n_demotions, 0);
		targets_free(t);
	}
	{
		struct targets *t = bench_decide(&b, 3);

		assert_int_equal(t->n_demotions, 8);
		targets_free(t);
	}
	bench_done(&b);
}

static void test_between_hot_and_cold_nothing_moves(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 8, 0);
	bench_space(&b, 8, 1);
	bench_rate(&b, 0, 0, 8, 700);
	bench_rate(&b, 1, 0, 8, 700);
	t = bench_decide(&b, 60);
	assert_int_equal(t->n_promotions, 0);
	assert_int_equal(t->n_demotions, 0);
	targets_free(t);
	bench_done(&b);
}

static void test_modes(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b)->mode = MODE_PIN_FAST;
	bench_space(&b, 4, 1);
	bench_group(&b)->mode = MODE_PIN_SLOW;
	bench_space(&b, 6, 0);
	bench_rate(&b, 1, 0, 6, 9000);
	bench_group(&b)->mode = MODE_OFF;
	bench_space(&b, 8, 1);
	bench_rate(&b, 2, 0, 4, 9000);
	t = bench_decide(&b, 1);
	/* Pins need no samples. */
	assert_int_equal(t->n_promotions, 4);
	assert_int_equal(t->promotions[0].reason, REASON_PIN_FAST);
	assert_int_equal(t->n_demotions, 6);
	assert_int_equal(t->demotions[0].reason, REASON_PIN_SLOW);
	targets_free(t);
	t = bench_decide(&b, SETTLED);
	assert_int_equal(t->n_promotions, 4);
	assert_int_equal(t->n_demotions, 6);
	targets_free(t);
	bench_done(&b);
}

static void test_observe_makes_wishes(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b)->mode = MODE_OBSERVE;
	bench_space(&b, 64, 1);
	bench_rate(&b, 0, 0, 4, 9000);
	t = bench_decide(&b, SETTLED);
	assert_int_equal(t->n_promotions, 4);
	targets_free(t);
	bench_done(&b);
}

static void test_blind(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 64, 1);
	bench_rate(&b, 0, 0, 4, 9000);
	targets_free(bench_decide(&b, SETTLED));
	b.s.tracker.tracker = TIER_TRACKER_NONE;
	t = bench_decide(&b, 1);
	assert_int_equal(t->n_promotions, 0);
	assert_int_equal(t->groups[0].tracked_bytes, 0);
	targets_free(t);
	bench_done(&b);
}

static void test_uniform_becomes_skewed(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	b.topology.nodes[0].free_bytes = 64 * MiB;
	bench_group(&b);
	bench_space(&b, 128, 1);
	bench_rate(&b, 0, 0, 128, 4000);
	t = bench_decide(&b, SETTLED);
	assert_true(t->groups[0].uniform);
	assert_int_equal(t->groups[0].hot_bytes, 128 * TIER_SLOT_BYTES);
	assert_int_equal(t->n_promotions, 0);
	targets_free(t);
	/* It must have been skewed for a while before that is believed. */
	bench_rate(&b, 0, 8, 120, 0);
	t = bench_decide(&b, 15);
	assert_int_equal(t->n_promotions, 0);
	targets_free(t);
	t = bench_decide(&b, 30);
	assert_false(t->groups[0].uniform);
	assert_int_equal(t->n_promotions, 8);
	targets_free(t);
	bench_done(&b);
}

static void test_over_max_takes_the_coldest(void **state)
{
	struct targets *t;
	struct policy *p;
	struct bench b;

	bench_init(&b);
	p = bench_group(&b);
	p->fast_max = (struct amount){ .is_share = true, .value = 1250 }; /* 64 MiB of 512 */
	bench_space(&b, 40, 0);
	bench_rate(&b, 0, 0, 16, 9000);
	bench_rate(&b, 0, 16, 22, 4000);
	t = bench_decide(&b, 10);
	assert_int_equal(t->n_demotions, 0); /* not watched for long enough */
	targets_free(t);
	t = bench_decide(&b, 30);
	assert_int_equal(t->groups[0].fast_max_bytes, 64 * MiB);
	/* 16 MiB too much: two cold slots, then the less hot ones. */
	assert_int_equal(t->n_demotions, 8);
	assert_int_equal(t->demotions[0].start, slot_at(38));
	assert_int_equal(t->demotions[1].start, slot_at(39));
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(t->demotions[i].reason, REASON_OVER_MAX);
		assert_true(t->demotions[i].start >= slot_at(16));
	}
	targets_free(t);
	bench_done(&b);
}

/* The cgroup's counters still show what has just gone down, or not yet what has come up. */
static void test_fast_max_and_counters_that_lag(void **state)
{
	struct group_counters *g;
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b)->fast_max = (struct amount){ .value = 64 * MiB };
	bench_space(&b, 40, 0);
	targets_free(bench_decide(&b, 40));
	g = history_group(b.h, GROUP_ID);
	g->last_demotion_us = b.s.now_us;
	t = bench_decide(&b, 1);
	for (size_t i = 0; i < t->n_demotions; i++)
		assert_int_equal(t->demotions[i].reason, REASON_COLD);
	targets_free(t);
	t = bench_decide(&b, 2);
	assert_int_equal(t->demotions[0].reason, REASON_OVER_MAX);
	targets_free(t);
	b.groups[0].usage.anon_bytes[0] = 10 * MiB;
	t = bench_decide(&b, 1);
	assert_int_equal(t->groups[0].fast_bytes, 80 * MiB);
	targets_free(t);
	bench_done(&b);
}

static void test_young_memory_is_counted(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 16, 1);
	t = bench_decide(&b, 2);
	assert_int_equal(t->groups[0].young_bytes, 16 * TIER_SLOT_BYTES);
	assert_int_equal(t->groups[0].tracked_bytes, 0);
	targets_free(t);
	t = bench_decide(&b, HEAT_SAMPLES_MIN);
	assert_int_equal(t->groups[0].young_bytes, 0);
	assert_int_equal(t->groups[0].tracked_bytes, 16 * TIER_SLOT_BYTES);
	targets_free(t);
	bench_done(&b);
}

static void test_gone_spaces_are_forgotten(void **state)
{
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 64, 0);
	bench_space(&b, 64, 0);
	targets_free(bench_decide(&b, 3));
	assert_int_equal(b.h->n_spaces, 2);
	b.s.n_spaces = 1;
	targets_free(bench_decide(&b, 1));
	assert_non_null(history_space(b.h, 2)); /* it may come back */
	targets_free(bench_decide(&b, 1));
	assert_null(history_space(b.h, 2));
	assert_non_null(history_space(b.h, 1));
	bench_done(&b);
}

static void test_no_residency_no_memory_nodes(void **state)
{
	struct targets *t;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 8, 0);
	b.spaces[0].residency = NULL;
	b.spaces[0].access = NULL;
	targets_free(bench_decide(&b, 3));
	b.spaces[0].residency = &b.residency[0];
	b.topology.nodes[0].total_bytes = b.topology.nodes[1].total_bytes = 0;
	t = bench_decide(&b, SETTLED);
	assert_int_equal(t->n_promotions + t->n_demotions, 0);
	targets_free(t);
	bench_done(&b);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Two fast nodes (0, 3), a memoryless one (5), a middle (6) and two slow ones (8, 9). */
static void make_topology(struct tier_topology *t)
{
	static const int ids[] = { 0, 3, 5, 6, 8, 9 };
	static const unsigned int ranks[] = { 0, 0, 0, 2, 5, 5 };

	*t = (struct tier_topology){ .n_nodes = 6 };
	for (size_t i = 0; i < 6; i++) {
		t->nodes[i] = (struct tier_node){ .id = ids[i], .rank = ranks[i],
						  .total_bytes = i == 2 ? 0 : GiB };
		for (size_t j = 0; j < 6; j++)
			t->distance[i][j] = i == j ? 10 : 20;
	}
	t->distance[4][1] = t->distance[1][4] = 15;
}

static void test_tiers(void **state)
{
	struct tier_topology t;
	int64_t room[TIER_NODES_MAX] = { [0] = 100, [1] = 5 };

	make_topology(&t);
	assert_int_equal(tiers_fastest(&t), 0);
	assert_int_equal(tiers_slowest(&t), 5);
	assert_int_equal(tiers_slower(&t, 0), 2);
	assert_int_equal(tiers_slower(&t, 2), 5);
	assert_int_equal(tiers_slower(&t, 5), 5);
	assert_int_equal(tiers_total_bytes(&t, 0), 2 * GiB);
	assert_false(tiers_holds(&t, 2, 0));
	assert_int_equal(tiers_nearest(&t, 4, 0, NULL, 0), 1);  /* nearest */
	assert_int_equal(tiers_nearest(&t, 5, 0, NULL, 0), 0);  /* alike: the lower id */
	assert_int_equal(tiers_nearest(&t, 4, 0, room, 50), 0); /* nearest with room */
	assert_int_equal(tiers_nearest(&t, 4, 0, room, 500), -1);
	assert_int_equal(tiers_nearest(&t, 4, 1, NULL, 0), -1); /* no such tier */
	t.distance[4][1] = 0; /* unknown is far */
	assert_int_equal(tiers_nearest(&t, 4, 0, NULL, 0), 0);
}

static void test_amounts(void **state)
{
	assert_int_equal(amount_bytes((struct amount){ .value = 5 }, 3), 5);
	assert_int_equal(amount_bytes((struct amount){ true, 2500 }, GiB), GiB / 4);
	assert_int_equal(amount_bytes((struct amount){ true, 20000 }, GiB), GiB);
	assert_true(amount_bytes((struct amount){ true, 9999 }, UINT64_MAX) > UINT64_MAX / 10 * 9);
	assert_true(amount_bytes(AMOUNT_UNLIMITED, GiB) == UINT64_MAX);
}

static void test_wishes_from_places(void **state)
{
	struct tier_topology t;
	struct tier_slot slot = { .start = BASE };
	struct wish w;

	make_topology(&t);
	assert_false(wish_towards(&t, &slot, 0, NULL, &w));
	assert_false(wish_down(&t, &slot, NULL, &w));
	/* Part of it is on fast node 0 already: the rest joins it, although node 3 is nearer. */
	slot.pages[4] = 400;
	slot.pages[0] = 10;
	slot.pages[3] = 2;
	assert_true(wish_towards(&t, &slot, 0, NULL, &w));
	assert_int_equal(w.bytes, 402 * TIER_PAGE_BYTES);
	assert_int_equal(w.from_index, 4);
	assert_int_equal(w.to_index, 0);
	/* Down: what is on the fastest tier goes to where most of the rest is. */
	assert_true(wish_down(&t, &slot, NULL, &w));
	assert_int_equal(w.bytes, 10 * TIER_PAGE_BYTES);
	assert_int_equal(w.from_index, 0);
	assert_int_equal(w.to_index, 4);
	/* All on one tier: one tier down. */
	slot = (struct tier_slot){ .start = BASE };
	slot.pages[1] = 512;
	assert_true(wish_down(&t, &slot, NULL, &w));
	assert_int_equal(w.to_index, 3);
	slot = (struct tier_slot){ .start = BASE };
	slot.pages[4] = 512;
	assert_false(wish_down(&t, &slot, NULL, &w));
}

static void test_names(void **state)
{
	for (int i = 0; i < REASONS; i++)
		assert_string_not_equal(reason_name((enum reason)i), "unknown");
	for (int i = 0; i < HELD_BACKS; i++)
		assert_string_not_equal(held_back_name((enum held_back)i), "unknown");
	assert_string_equal(reason_name(REASON_OVER_MAX), "over-max");
	assert_string_equal(held_back_name(HELD_NO_ROOM), "no-room");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hot_up_cold_down),
		cmocka_unit_test(test_only_hot_memory_below),
		cmocka_unit_test(test_hottest_and_coldest_first),
		cmocka_unit_test(test_cold_takes_cold_after),
		cmocka_unit_test(test_between_hot_and_cold_nothing_moves),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_observe_makes_wishes),
		cmocka_unit_test(test_blind),
		cmocka_unit_test(test_uniform_becomes_skewed),
		cmocka_unit_test(test_over_max_takes_the_coldest),
		cmocka_unit_test(test_fast_max_and_counters_that_lag),
		cmocka_unit_test(test_young_memory_is_counted),
		cmocka_unit_test(test_gone_spaces_are_forgotten),
		cmocka_unit_test(test_no_residency_no_memory_nodes),
		cmocka_unit_test(test_tiers),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_wishes_from_places),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
