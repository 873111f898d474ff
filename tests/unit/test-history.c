// SPDX-License-Identifier: GPL-2.0-or-later
/* What survives a tick: the books, cool-downs and bounces, and what is forgotten when. */
#include "snapshots.h"

static struct tier_range two_slots = { BASE, BASE + 2 * TIER_SLOT_BYTES };

static struct outcome make_outcome(enum direction direction, uint64_t finished_us)
{
	return (struct outcome){
		.finished_us = finished_us,
		.batch = {
			.space_id = 1,
			.cgroup_id = GROUP_ID,
			.direction = direction,
			.target_node = direction == DIRECTION_DEMOTE,
			.source_node = direction == DIRECTION_PROMOTE,
			.bytes = 4 * MiB,
			.n_ranges = 1,
			.ranges = &two_slots,
		},
		.result = { .asked_bytes = 4 * MiB, .calls = 1 },
	};
}

static void account(struct history *h, struct outcome *o)
{
	struct outcomes all = { .n_outcomes = 1, .outcomes = o };

	assert_int_equal(history_account(h, &all), 0);
}

static void account_moved(struct history *h, enum direction direction, uint64_t at_s)
{
	struct outcome o = make_outcome(direction, at_s * US_PER_S);

	o.result.bytes[TIER_MOVED][9] = 4 * MiB;
	account(h, &o);
}

static struct history *make_history(void)
{
	struct history *h = history_new(0);
	struct heat_space *space;

	assert_non_null(h);
	assert_int_equal(history_space_add(h, 1, &space), 0);
	return h;
}

static bool cooling(const struct history *h, enum direction direction, uint64_t at_s)
{
	return history_slot_cooling(history_space(h, 1), BASE, direction,
				    history_seconds(h, at_s * US_PER_S));
}

static void test_books(void **state)
{
	struct history *h = make_history();
	struct outcome o = make_outcome(DIRECTION_PROMOTE, 100 * US_PER_S);
	const struct group_counters *g;

	assert_null(history_group(h, GROUP_ID));
	o.result.bytes[TIER_MOVED][9] = 3 * MiB;
	o.result.bytes[TIER_BUSY][0] = 1 * MiB;
	o.result.call_sum_us = 70;
	account(h, &o);
	account(h, &o);
	g = history_group(h, GROUP_ID);
	assert_non_null(g);
	assert_int_equal(tier_outcome_bytes(&g->moved[DIRECTION_PROMOTE], TIER_MOVED), 6 * MiB);
	assert_int_equal(tier_outcome_bytes(&g->moved[DIRECTION_PROMOTE], TIER_BUSY), 2 * MiB);
	assert_int_equal(g->moved[DIRECTION_PROMOTE].calls, 2);
	assert_int_equal(g->moved[DIRECTION_DEMOTE].calls, 0);
	assert_int_equal(g->last_move_us, 100 * US_PER_S);
	/* What did not move goes back to the budgets. */
	assert_int_equal(g->budget_bytes, 2 * MiB);
	assert_int_equal(h->budget_bytes, 2 * MiB);
	o.job_id = 5; /* by hand: was never taken from them */
	account(h, &o);
	assert_int_equal(history_group(h, GROUP_ID)->budget_bytes, 2 * MiB);
	history_free(h);
}

static void test_cool_down_doubles_and_halves(void **state)
{
	struct history *h = make_history();
	uint64_t at = 1000;

	account_moved(h, DIRECTION_PROMOTE, at);
	assert_false(cooling(h, DIRECTION_PROMOTE, at));
	assert_true(cooling(h, DIRECTION_DEMOTE, at + 59));
	assert_false(cooling(h, DIRECTION_DEMOTE, at + 60));
	assert_int_equal(history_group(h, GROUP_ID)->ping_pong_bytes, 0);
	/* Back within four cool-downs: a bounce, the next one takes twice as long. */
	at += 100;
	account_moved(h, DIRECTION_DEMOTE, at);
	assert_int_equal(history_group(h, GROUP_ID)->ping_pong_bytes, 4 * MiB);
	assert_true(cooling(h, DIRECTION_PROMOTE, at + 119));
	assert_false(cooling(h, DIRECTION_PROMOTE, at + 120));
	/* On and on: never longer than an hour. */
	for (unsigned int i = 0; i < 20; i++)
		account_moved(h, i % 2 ? DIRECTION_DEMOTE : DIRECTION_PROMOTE, ++at);
	assert_true(cooling(h, DIRECTION_PROMOTE, at + 3599));
	assert_false(cooling(h, DIRECTION_PROMOTE, at + 3600));
	/* It was right to be there for long: the cool-down halves. */
	at += 4 * 3600 + 1;
	account_moved(h, DIRECTION_PROMOTE, at);
	assert_true(cooling(h, DIRECTION_DEMOTE, at + 1919));
	assert_false(cooling(h, DIRECTION_DEMOTE, at + 1920));
	assert_int_equal(history_group(h, GROUP_ID)->ping_pong_bytes, 21 * 4 * MiB);
	history_free(h);
}

static void test_only_soon_is_a_bounce(void **state)
{
	struct history *h = make_history();

	account_moved(h, DIRECTION_PROMOTE, 1000);
	account_moved(h, DIRECTION_DEMOTE, 1000 + 240); /* four cool-downs later */
	assert_int_equal(history_group(h, GROUP_ID)->ping_pong_bytes, 0);
	account_moved(h, DIRECTION_PROMOTE, 1240 + 239);
	assert_int_equal(history_group(h, GROUP_ID)->ping_pong_bytes, 4 * MiB);
	history_free(h);
}

static void test_same_direction_is_no_bounce(void **state)
{
	struct history *h = make_history();

	account_moved(h, DIRECTION_DEMOTE, 10);
	account_moved(h, DIRECTION_DEMOTE, 20); /* down another tier */
	assert_int_equal(history_group(h, GROUP_ID)->ping_pong_bytes, 0);
	assert_true(cooling(h, DIRECTION_PROMOTE, 79));
	assert_false(cooling(h, DIRECTION_PROMOTE, 80));
	history_free(h);
}

static bool busy_after(enum tier_result result, uint64_t moved_bytes, int error)
{
	struct history *h = make_history();
	struct outcome o = make_outcome(DIRECTION_PROMOTE, 100 * US_PER_S);
	bool busy;

	o.error = error;
	o.result.bytes[TIER_MOVED][9] = moved_bytes;
	o.result.bytes[result][9] += 4 * MiB - moved_bytes;
	account(h, &o);
	busy = history_slot_busy(history_space(h, 1), BASE,
				 history_seconds(h, 100 * US_PER_S + HISTORY_RETRY_S * US_PER_S -
							    US_PER_S));
	assert_false(history_slot_busy(history_space(h, 1), BASE,
				       history_seconds(h, 100 * US_PER_S +
								  HISTORY_RETRY_S * US_PER_S)));
	history_free(h);
	return busy;
}

static void test_who_is_to_blame(void **state)
{
	/* The memory itself refused. */
	assert_true(busy_after(TIER_BUSY, 0, 0));
	assert_true(busy_after(TIER_SHARED, 0, 0));
	assert_true(busy_after(TIER_CPUSET, 1 * MiB, 0));
	assert_true(busy_after(TIER_MEMPOLICY, 0, 0));
	assert_true(busy_after(TIER_UNSUPPORTED, 0, 0));
	assert_true(busy_after(TIER_WOULD_SPLIT, 0, 0));
	assert_true(busy_after(TIER_NOT_TRIED, 0, -ENOMEM));
	/* It did not, or most of it moved. */
	assert_false(busy_after(TIER_BUSY, 3 * MiB, 0));
	assert_false(busy_after(TIER_TARGET_FULL, 0, 0));
	assert_false(busy_after(TIER_NOT_TRIED, 0, 0));
	assert_false(busy_after(TIER_NOT_RESIDENT, 0, 0));
	assert_false(busy_after(TIER_PROCESS_ENDED, 0, 0));
}

static void test_flights(void **state)
{
	struct history *h = make_history();
	struct outcome o = make_outcome(DIRECTION_PROMOTE, 3 * US_PER_S);
	struct plan plan = { .n_batches = 1, .batches = &o.batch };
	const struct heat_space *space;

	assert_int_equal(history_mark_flights(h, &plan, US_PER_S), 0);
	space = history_space(h, 1);
	assert_int_equal(h->n_flights, 1);
	assert_true(history_slot_in_flight(space, BASE, 2));
	assert_true(history_slot_in_flight(space, BASE + TIER_SLOT_BYTES, 2));
	assert_false(history_slot_in_flight(space, BASE + 2 * TIER_SLOT_BYTES, 2));
	assert_false(history_slot_in_flight(NULL, BASE, 2));
	o.result.bytes[TIER_MOVED][9] = 4 * MiB;
	account(h, &o);
	assert_int_equal(h->n_flights, 0);
	assert_false(history_slot_in_flight(history_space(h, 1), BASE, 4));
	/* Of a space that is gone, or one that was never known: booked all the same. */
	o.batch.space_id = 77;
	account(h, &o);
	assert_int_equal(tier_outcome_bytes(&history_group(h, GROUP_ID)->moved[DIRECTION_PROMOTE],
					    TIER_MOVED),
			 8 * MiB);
	history_free(h);
}

static void test_forgetting(void **state)
{
	struct history *h = make_history();
	struct group_counters *g;

	account_moved(h, DIRECTION_PROMOTE, 10);
	assert_int_equal(history_space(h, 1)->n_moves, 2);
	history_forget(h, 300 * US_PER_S);
	assert_int_equal(history_space(h, 1)->n_moves, 2);
	/* Eight cool-downs later nothing follows from the move any more. */
	history_forget(h, (10 + 8 * 60 + 2) * US_PER_S);
	assert_int_equal(history_space(h, 1)->n_moves, 0);
	assert_null(history_space(h, 1)->moves);
	/* A group that was away for less than ten minutes finds its books again. */
	assert_int_equal(history_group_add(h, GROUP_ID + 1, 500 * US_PER_S, &g), 0);
	history_forget(h, 609 * US_PER_S);
	assert_non_null(history_group(h, GROUP_ID));
	history_forget(h, 611 * US_PER_S);
	assert_null(history_group(h, GROUP_ID));
	assert_non_null(history_group(h, GROUP_ID + 1));
	history_free(h);
}

static void test_order_of_spaces_and_groups(void **state)
{
	static const uint64_t ids[] = { 50, 7, 900, 8, 1, 51 };
	struct history *h = history_new(0);
	struct heat_space *space;
	struct group_counters *g;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_int_equal(history_space_add(h, ids[i], &space), 0);
		assert_int_equal(history_group_add(h, ids[i], 0, &g), 0);
		assert_int_equal(space->space_id, ids[i]);
		assert_int_equal(g->cgroup_id, ids[i]);
	}
	for (size_t i = 1; i < ARRAY_SIZE(ids); i++) {
		assert_true(h->spaces[i - 1].space_id < h->spaces[i].space_id);
		assert_true(h->groups[i - 1].cgroup_id < h->groups[i].cgroup_id);
	}
	assert_int_equal(history_space_add(h, 50, &space), 0);
	assert_int_equal(h->n_spaces, ARRAY_SIZE(ids));
	assert_null(history_space(h, 9));
	assert_null(history_group(h, 901));
	history_free(h);
}

static void test_release_takes_null(void **state)
{
	assert_null(history_free(NULL));
	assert_null(plan_free(NULL));
	assert_null(targets_free(NULL));
	assert_null(outcomes_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_books),
		cmocka_unit_test(test_cool_down_doubles_and_halves),
		cmocka_unit_test(test_only_soon_is_a_bounce),
		cmocka_unit_test(test_same_direction_is_no_bounce),
		cmocka_unit_test(test_who_is_to_blame),
		cmocka_unit_test(test_flights),
		cmocka_unit_test(test_forgetting),
		cmocka_unit_test(test_order_of_spaces_and_groups),
		cmocka_unit_test(test_release_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
