// SPDX-License-Identifier: GPL-2.0-or-later
/* Which wishes are granted: budgets, room, what is under way, and what an administrator asks. */
#include "snapshots.h"

#include "plan/budget.h"

#define SETTLED 20

static void test_bucket(void **state)
{
	uint64_t bytes = 0, us = 0;

	/* Full at first, one second's worth. */
	budget_refill(&bytes, &us, 10 * MiB, US_PER_S, 5 * US_PER_S);
	assert_int_equal(bytes, 10 * MiB);
	bytes = 0;
	budget_refill(&bytes, &us, 10 * MiB, US_PER_S, 5 * US_PER_S + 250 * US_PER_MS);
	assert_int_equal(bytes, 10 * MiB / 4);
	/* Never more than it holds, also when a refund made it overflow. */
	budget_refill(&bytes, &us, 10 * MiB, US_PER_S, 500 * US_PER_S);
	assert_int_equal(bytes, 10 * MiB);
	bytes = 50 * MiB;
	budget_refill(&bytes, &us, 10 * MiB, US_PER_S, 501 * US_PER_S);
	assert_int_equal(bytes, 10 * MiB);
	/* A longer interval needs a larger bucket. */
	budget_refill(&bytes, &us, 10 * MiB, 4 * US_PER_S, 600 * US_PER_S);
	assert_int_equal(bytes, 40 * MiB);
	/* However small the bandwidth is: one slot fits. */
	bytes = 0;
	budget_refill(&bytes, &us, 1000, US_PER_S, 601 * US_PER_S);
	assert_int_equal(bytes, 1000);
	for (uint64_t s = 602; s < 10000; s++)
		budget_refill(&bytes, &us, 1000, US_PER_S, s * US_PER_S);
	assert_int_equal(bytes, TIER_SLOT_BYTES);
	/* A clock that stands still or goes back gives nothing. */
	bytes = 7;
	budget_refill(&bytes, &us, 10 * MiB, US_PER_S, 10);
	assert_int_equal(bytes, 7);
	/* No limit at all does not overflow. */
	budget_refill(&bytes, &us, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	assert_true(bytes >= 1ULL << 50);
}

static void test_what_is_under_way_is_not_planned_again(void **state)
{
	struct plan *first, *second;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 64, 1);
	bench_rate(&b, 0, 0, 8, 9000);
	first = bench_plan(&b, SETTLED);
	assert_int_equal(first->n_batches, 1);
	assert_int_equal(first->bytes[DIRECTION_PROMOTE], 8 * TIER_SLOT_BYTES);
	assert_int_equal(b.h->n_flights, 1);
	second = bench_plan(&b, 1);
	assert_int_equal(second->n_batches, 0);
	for (size_t i = 0; i < HELD_BACKS; i++)
		assert_int_equal(second->held_bytes[i], 0);
	plan_free(second);
	/* It could not be moved for want of room: asked for again, but not at once. */
	bench_account(&b, first, TIER_TARGET_FULL);
	assert_int_equal(b.h->n_flights, 0);
	second = bench_plan(&b, 1);
	assert_int_equal(second->n_batches, 0);
	plan_free(second);
	second = bench_plan(&b, HISTORY_FULL_RETRY_S);
	assert_int_equal(second->n_batches, 1);
	plan_free(second);
	plan_free(first);
	bench_done(&b);
}

static void test_lost_outcomes_do_not_block_for_ever(void **state)
{
	struct plan *plan;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 64, 1);
	bench_rate(&b, 0, 0, 8, 9000);
	plan_free(bench_plan(&b, SETTLED));
	plan = bench_plan(&b, HISTORY_FLIGHT_S - 1);
	assert_int_equal(plan->n_batches, 0);
	plan_free(plan);
	plan = bench_plan(&b, 2);
	assert_int_equal(plan->n_batches, 1);
	plan_free(plan);
	bench_done(&b);
}

static void test_refused_slots_wait(void **state)
{
	struct plan *plan;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 64, 1);
	bench_rate(&b, 0, 0, 8, 9000);
	plan = bench_plan(&b, SETTLED);
	bench_account(&b, plan, TIER_BUSY);
	plan_free(plan);
	plan = bench_plan(&b, HISTORY_RETRY_S - 1);
	assert_int_equal(plan->n_batches, 0);
	assert_int_equal(plan->held_bytes[HELD_COOL_DOWN], 8 * TIER_SLOT_BYTES);
	plan_free(plan);
	plan = bench_plan(&b, 2);
	assert_int_equal(plan->n_batches, 1);
	plan_free(plan);
	bench_done(&b);
}

/* The 8 first slots of space 0 are on node 1 and hot; then they are on node 0 and cold. */
static void test_cool_down(void **state)
{
	struct plan *plan;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 8, 1);
	bench_rate(&b, 0, 0, 8, 9000);
	plan = bench_plan(&b, SETTLED);
	bench_account(&b, plan, TIER_MOVED);
	plan_free(plan);
	/* Moved up, and the policy now pins it down. */
	for (unsigned int i = 0; i < 8; i++)
		memcpy(b.slots[0][i].pages, (uint16_t[2]){ PAGES_PER_SLOT, 0 }, 4);
	b.policies[0].mode = MODE_PIN_SLOW;
	plan = bench_plan(&b, HISTORY_COOL_DOWN_S - 2);
	assert_int_equal(plan->n_batches, 0);
	assert_int_equal(plan->held_bytes[HELD_COOL_DOWN], 8 * TIER_SLOT_BYTES);
	plan_free(plan);
	plan = bench_plan(&b, 4);
	assert_int_equal(plan->bytes[DIRECTION_DEMOTE], 8 * TIER_SLOT_BYTES);
	plan_free(plan);
	bench_done(&b);
}

static void test_room_counts_what_is_under_way(void **state)
{
	struct plan *first, *second;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 128, 1);
	b.topology.nodes[0].free_bytes = 16 * MiB + 21 * MiB; /* headroom + 21 MiB */
	bench_rate(&b, 0, 0, 8, 9000);
	first = bench_plan(&b, SETTLED);
	assert_int_equal(first->bytes[DIRECTION_PROMOTE], 16 * MiB);
	/* After so long without an outcome the mover is behind: nothing more for this node. */
	bench_rate(&b, 0, 32, 8, 9000);
	second = bench_plan(&b, SETTLED);
	assert_int_equal(second->n_batches, 0);
	assert_int_equal(second->held_bytes[HELD_BACKLOG], 16 * MiB);
	plan_free(second);
	/* As if it had left just now. 5 MiB of the room are left, although the node still shows 21. */
	for (size_t i = 0; i < b.h->n_flights; i++)
		b.h->flights[i].planned_s = history_seconds(b.h, b.s.now_us);
	second = bench_plan(&b, 1);
	assert_int_equal(second->bytes[DIRECTION_PROMOTE], 4 * MiB);
	assert_int_equal(second->held_bytes[HELD_NO_ROOM], 12 * MiB);
	plan_free(second);
	plan_free(first);
	bench_done(&b);
}

static void test_batches_are_small_and_ascending(void **state)
{
	struct plan *plan;
	uint64_t sum = 0;
	struct bench b;

	bench_init(&b);
	b.topology.nodes[0].free_bytes = 512 * MiB;
	bench_group(&b);
	bench_space(&b, 200, 1);
	for (unsigned int i = 0; i < 200; i += 3)
		bench_rate(&b, 0, i, 2, 9000);
	b.policies[0].hot_above_bp = 8000; /* slots between are neither hot nor alike */
	plan = bench_plan(&b, SETTLED);
	assert_true(plan->n_batches >= 3);
	for (size_t i = 0; i < plan->n_batches; i++) {
		const struct batch *batch = &plan->batches[i];
		uint64_t end = 0, bytes = 0;

		assert_true(batch->bytes <= 64 * MiB);
		for (size_t j = 0; j < batch->n_ranges; j++) {
			assert_true(batch->ranges[j].start > end || !end);
			assert_true(batch->ranges[j].end > batch->ranges[j].start);
			assert_int_equal(batch->ranges[j].start % TIER_SLOT_BYTES, 0);
			end = batch->ranges[j].end;
			bytes += end - batch->ranges[j].start;
		}
		assert_int_equal(bytes, batch->bytes);
		assert_int_equal(batch->call_max_us, 20 * US_PER_MS);
		assert_int_equal(batch->headroom_bytes, 16 * MiB);
		sum += bytes;
	}
	assert_int_equal(sum, plan->bytes[DIRECTION_PROMOTE]);
	assert_int_equal(sum, 134 * TIER_SLOT_BYTES);
	plan_free(plan);
	bench_done(&b);
}

static void test_demoted_spends_budgets_too(void **state)
{
	struct plan *plan;
	struct bench b;

	bench_init(&b);
	b.topology.nodes[0].free_bytes = 16 * MiB;
	b.settings.bandwidth_bytes_s = 21 * MiB;
	bench_group(&b);
	bench_space(&b, 64, 0);
	bench_space(&b, 64, 1);
	bench_rate(&b, 1, 0, 16, 9000);
	plan = bench_plan(&b, SETTLED);
	assert_true(plan->bytes[DIRECTION_PROMOTE] >= 6 * MiB);
	assert_true(plan->bytes[DIRECTION_DEMOTE] >= plan->bytes[DIRECTION_PROMOTE]);
	assert_true(plan->bytes[DIRECTION_PROMOTE] + plan->bytes[DIRECTION_DEMOTE] <= 21 * MiB);
	assert_true(plan->held_bytes[HELD_BUDGET] > 0);
	plan_free(plan);
	bench_done(&b);
}

static void test_nothing_gives_way_for_something_as_cold(void **state)
{
	struct policy *picky;
	struct plan *plan;
	struct bench b;

	bench_init(&b);
	b.topology.nodes[0].free_bytes = 16 * MiB;
	picky = bench_group(&b); /* what is barely warm counts as cold here */
	picky->hot_above_bp = 9000;
	bench_space(&b, 64, 0);
	bench_rate(&b, 0, 0, 64, 90);
	bench_group(&b)->hot_above_bp = 100;
	bench_space(&b, 64, 1);
	bench_rate(&b, 1, 0, 8, 120);
	plan = bench_plan(&b, 40);
	assert_int_equal(plan->n_batches, 0);
	assert_true(plan->held_bytes[HELD_NO_ROOM] > 0);
	plan_free(plan);
	bench_done(&b);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void test_rebalance_errors(void **state)
{
	struct targets *t;
	struct plan *plan = NULL;
	struct bench b;

	bench_init(&b);
	bench_group(&b);
	bench_space(&b, 8, 0);
	t = bench_decide(&b, 1);
	assert_int_equal(plan_rebalance(&b.s, t, 999, 0, &plan), -ENOENT);
	assert_int_equal(plan_rebalance(&b.s, t, GROUP_ID, 7, &plan), -EINVAL);
	assert_null(plan);
	targets_free(t);
	bench_done(&b);
}

static void test_rebalance_moves_without_heat(void **state)
{
	struct targets *t;
	struct plan *plan;
	struct bench b;

	bench_init(&b);
	bench_group(&b)->mode = MODE_OBSERVE;
	b.s.paused = true;
	bench_space(&b, 40, 1);
	bench_group(&b);
	bench_space(&b, 40, 1);
	t = bench_decide(&b, 1);
	assert_int_equal(plan_rebalance(&b.s, t, GROUP_ID, 0, &plan), 0);
	assert_int_equal(plan->bytes[DIRECTION_PROMOTE], 80 * MiB);
	for (size_t i = 0; i < plan->n_batches; i++) {
		assert_int_equal(plan->batches[i].cgroup_id, GROUP_ID);
		assert_int_equal(plan->batches[i].reason, REASON_MANUAL);
	}
	/* What is carried out is not planned by the tick at the same time. */
	assert_int_equal(history_mark_flights(b.h, plan, b.s.now_us), 0);
	assert_true(history_slot_in_flight(history_space(b.h, 1), slot_at(0),
					   history_seconds(b.h, b.s.now_us)));
	plan_free(plan);
	/* Already there: an empty plan. */
	assert_int_equal(plan_rebalance(&b.s, t, GROUP_ID, 1, &plan), 0);
	assert_int_equal(plan->n_batches, 0);
	plan_free(plan);
	targets_free(t);
	bench_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bucket),
		cmocka_unit_test(test_what_is_under_way_is_not_planned_again),
		cmocka_unit_test(test_lost_outcomes_do_not_block_for_ever),
		cmocka_unit_test(test_refused_slots_wait),
		cmocka_unit_test(test_cool_down),
		cmocka_unit_test(test_room_counts_what_is_under_way),
		cmocka_unit_test(test_batches_are_small_and_ascending),
		cmocka_unit_test(test_demoted_spends_budgets_too),
		cmocka_unit_test(test_nothing_gives_way_for_something_as_cold),
		cmocka_unit_test(test_rebalance_errors),
		cmocka_unit_test(test_rebalance_moves_without_heat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
