// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whole stories on the synthetic machine: tick after tick of decide, plan and move, judged by where
 * memory really is, never by what tierd believes. Every scenario that depends on chance runs over
 * several seeds, which a failure prints.
 */
#include <stdio.h>

#include "loop.h"

#define SEEDS 24
#define FAST 0
#define SLOW 1

static const struct sim_workload idle = { .kind = SIM_IDLE };

/* A set swept every 20 ms, seen by a tracker that looks every 5 ms. Ends on no slot's boundary. */
static const struct sim_workload hot_64m = {
	.kind = SIM_STATIONARY,
	.hot_offset = 100 * MiB + 300 * KiB,
	.hot_bytes = 64 * MiB,
	.hot_rate_bp = 2500,
};

/* Measured: one of four snapshots loses the hot range. */
static const struct sim_noise usual_noise = { .missed_bp = 2500 };

static uint64_t space_start(unsigned int nth)
{
	return 0x7f0000000000ULL + nth * 64 * GiB + 36 * KiB;
}

static uint64_t add_process(struct tier_machine *m, uint64_t cgroup_id, uint64_t bytes, int node,
			    const struct sim_workload *w)
{
	static unsigned int nth;
	struct sim_process p = {
		.cgroup_id = cgroup_id,
		.start = space_start(nth++ % 64),
		.bytes = bytes,
		.node = node,
		.workload = *w,
	};
	uint64_t id;

	assert_int_equal(sim_add_process(m, &p, &id), 0);
	return id;
}

static uint64_t add_cgroup(struct tier_machine *m, const char *path)
{
	uint64_t id;

	assert_int_equal(sim_add_cgroup(m, 0, path, &id), 0);
	return id;
}

static struct tier_machine *two_nodes(uint64_t seed, uint64_t fast_bytes, uint64_t slow_bytes)
{
	const struct sim_node nodes[] = {
		{ .id = FAST, .rank = 0, .has_cpus = true, .total_bytes = fast_bytes },
		{ .id = SLOW, .rank = 1, .total_bytes = slow_bytes },
	};
	const struct sim_costs costs = { .us_per_mib = 2000, .refusal = TIER_BUSY };
	struct tier_machine *m;

	assert_int_equal(sim_new(seed, nodes, ARRAY_SIZE(nodes), &m), 0);
	sim_set_costs(m, &costs);
	return m;
}

#define assert_for_seed(seed, condition)                                             \
	do {                                                                         \
		if (!(condition))                                                    \
			print_message("seed %llu\n", (unsigned long long)(seed));    \
		assert_true(condition);                                              \
	} while (0)

static uint64_t moved_bytes(const struct loop *l)
{
	return l->moved_up_bytes + l->moved_down_bytes;
}

static void run_until(struct loop *l, uint64_t at_us)
{
	while (tier_machine_now_us(l->machine) < at_us)
		loop_tick(l);
}

/* ---- the main scenario ----------------------------------------------------------------------- */

struct main_figures {
	uint64_t hot_after_30s;
	uint64_t up, up_cold, down;
	uint64_t late;
};

/* 1 GiB of fast memory filled by an idle neighbour; 64 MiB hot within 256 MiB on the slow node. */
static void play_main(uint64_t seed, const struct sim_noise *noise, uint32_t hot_above_bp,
		      struct main_figures *ret)
{
	struct tier_machine *m = two_nodes(seed, 1 * GiB, 2 * GiB);
	uint64_t neighbour = add_cgroup(m, "idle.service");
	uint64_t worker = add_cgroup(m, "work.service");
	uint64_t stranger = add_cgroup(m, "bystander.service");
	struct policy policy = loop_policy();
	uint64_t by_fast, by_slow, hot;
	struct loop l;

	loop_init(&l, m);
	sim_set_noise(m, noise);
	loop_add_group(&l, neighbour, loop_policy());
	policy.hot_above_bp = hot_above_bp;
	loop_add_group(&l, worker, policy);
	add_process(m, neighbour, 900 * MiB, FAST, &idle);
	by_fast = add_process(m, stranger, 80 * MiB, FAST, &idle);
	by_slow = add_process(m, stranger, 80 * MiB, SLOW, &hot_64m);
	hot = add_process(m, worker, 256 * MiB, SLOW, &hot_64m);

	loop_run(&l, 30);
	ret->hot_after_30s = sim_bytes_on(m, hot, FAST, true);
	loop_run(&l, 60);
	ret->late = moved_bytes(&l);
	loop_run(&l, 600);
	ret->late = moved_bytes(&l) - ret->late;
	ret->up = l.moved_up_bytes;
	ret->up_cold = l.moved_up_cold_bytes;
	ret->down = l.moved_down_bytes;

	/* The bystander has no policy: nobody may touch it, however hot or cold it is. */
	assert_int_equal(sim_bytes_on(m, by_fast, FAST, false), 80 * MiB);
	assert_int_equal(sim_bytes_on(m, by_slow, SLOW, false), 80 * MiB);
	loop_done(&l);
}

static void test_main_scenario(void **state)
{
	uint64_t worst_hot = UINT64_MAX, worst_cold_bp = 0, worst_late = 0, worst_moved = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct main_figures f;

		play_main(seed, &usual_noise, 1000, &f);
		/* 95 % of the hot bytes up within 30 s, a tenth of what came up cold. */
		assert_for_seed(seed, f.hot_after_30s * 100 >= 64 * MiB * 95);
		assert_for_seed(seed, f.up_cold * 10 <= f.up);
		/* Ten minutes: under 1 % of the hot set each. */
		assert_for_seed(seed, f.late * 100 < 64 * MiB * 10);
		assert_for_seed(seed, f.up + f.down <= 192 * MiB);
		worst_hot = MIN(worst_hot, f.hot_after_30s);
		worst_cold_bp = MAX(worst_cold_bp, f.up_cold * 10000 / f.up);
		worst_late = MAX(worst_late, f.late);
		worst_moved = MAX(worst_moved, f.up + f.down);
	}
	print_message("worst of %d seeds: hot on fast after 30 s %llu KiB of 65536, cold share of "
		      "moved up %llu bp, moved in 10 min after 90 s %llu KiB, in all %llu MiB\n",
		      SEEDS, (unsigned long long)(worst_hot / KiB),
		      (unsigned long long)worst_cold_bp, (unsigned long long)(worst_late / KiB),
		      (unsigned long long)(worst_moved / MiB));
}

/*
 * One of four samples shows the whole process at a quarter of the hot memory's rate, which is more
 * than what counts as hot here. That must not bring everything up.
 */
static void test_main_scenario_merged_samples(void **state)
{
	const struct sim_noise noise = { .merged_bp = 2500 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct main_figures f;

		play_main(seed, &noise, 500, &f);
		assert_for_seed(seed, f.hot_after_30s * 100 >= 64 * MiB * 95);
		/* A little more than with usual noise: an eighth. */
		assert_for_seed(seed, f.up_cold * 8 <= f.up);
		assert_for_seed(seed, f.late <= 16 * MiB);
	}
}

static void test_same_seed_same_run(void **state)
{
	struct main_figures a, b;

	play_main(7, &usual_noise, 1000, &a);
	play_main(7, &usual_noise, 1000, &b);
	assert_memory_equal(&a, &b, sizeof(a));
}

/* ---- no skew --------------------------------------------------------------------------------- */

static void test_uniform_stays(void **state)
{
	const struct sim_workload all = { .kind = SIM_UNIFORM, .hot_rate_bp = 3000 };
	uint64_t worst = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct tier_machine *m = two_nodes(seed, 160 * MiB, 1 * GiB);
		uint64_t worker = add_cgroup(m, "work.service");
		uint64_t before;
		struct loop l;

		loop_init(&l, m);
		sim_set_noise(m, &usual_noise);
		loop_add_group(&l, worker, loop_policy());
		add_process(m, worker, 64 * MiB, FAST, &all);
		add_process(m, worker, 192 * MiB, SLOW, &all);
		l.settings.interval_us = 4 * US_PER_S; /* nothing changes: tierd would slow down */
		loop_run(&l, 75);
		before = moved_bytes(&l);
		loop_run(&l, 900);
		/* Under 0.5 % of the memory in an hour. */
		assert_for_seed(seed, (moved_bytes(&l) - before) * 200 < 256 * MiB);
		worst = MAX(worst, moved_bytes(&l) - before);
		loop_done(&l);
	}
	print_message("worst of 20 seeds: %llu KiB moved in an hour\n",
		      (unsigned long long)(worst / KiB));
}

static void test_uniform_goes_up_where_it_fits(void **state)
{
	const struct sim_workload all = { .kind = SIM_UNIFORM, .hot_rate_bp = 3000 };
	struct tier_machine *m = two_nodes(3, 512 * MiB, 1 * GiB);
	uint64_t worker = add_cgroup(m, "work.service");
	uint64_t space = add_process(m, worker, 256 * MiB, SLOW, &all);
	struct loop l;

	loop_init(&l, m);
	sim_set_noise(m, &usual_noise);
	loop_add_group(&l, worker, loop_policy());
	loop_run(&l, 60);
	assert_true(sim_bytes_on(m, space, FAST, false) * 100 >= 256 * MiB * 95);
	loop_done(&l);
}

/* ---- three tiers ----------------------------------------------------------------------------- */

static void test_waterfall(void **state)
{
	const struct sim_node nodes[] = {
		{ .id = 0, .rank = 0, .has_cpus = true, .total_bytes = 256 * MiB },
		{ .id = 2, .rank = 1, .total_bytes = 256 * MiB },
		{ .id = 5, .rank = 2, .total_bytes = 1 * GiB },
	};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct tier_machine *m;
		uint64_t cold, work, upper, lower, hot;
		struct loop l;

		assert_int_equal(sim_new(seed, nodes, ARRAY_SIZE(nodes), &m), 0);
		loop_init(&l, m);
		sim_set_noise(m, &usual_noise);
		cold = add_cgroup(m, "idle.service");
		work = add_cgroup(m, "work.service");
		loop_add_group(&l, cold, loop_policy());
		loop_add_group(&l, work, loop_policy());
		upper = add_process(m, cold, 240 * MiB, 0, &idle);
		lower = add_process(m, cold, 240 * MiB, 2, &idle);
		loop_run(&l, 30); /* all that is cold is known to be */
		hot = add_process(m, work, 256 * MiB, 5, &hot_64m);
		loop_run(&l, 60);

		assert_for_seed(seed, sim_bytes_on(m, hot, 0, true) * 100 >= 64 * MiB * 95);
		/* What left the first tier is on the second; what left that is on the third. */
		assert_for_seed(seed, sim_bytes_on(m, upper, 0, false) <= 190 * MiB);
		assert_for_seed(seed, sim_bytes_on(m, upper, 2, false) >= 50 * MiB);
		assert_for_seed(seed, sim_bytes_on(m, upper, 5, false) == 0);
		assert_for_seed(seed, sim_bytes_on(m, lower, 5, false) >= 40 * MiB);
		assert_for_seed(seed, sim_bytes_on(m, lower, 0, false) == 0);
		loop_done(&l);
	}
}

static void test_two_sockets_take_the_near_node(void **state)
{
	const struct sim_node nodes[] = {
		{ .id = 0, .rank = 0, .has_cpus = true, .total_bytes = 512 * MiB },
		{ .id = 1, .rank = 0, .has_cpus = true, .total_bytes = 512 * MiB },
		{ .id = 2, .rank = 1, .total_bytes = 512 * MiB },
		{ .id = 3, .rank = 1, .total_bytes = 512 * MiB },
	};
	struct tier_machine *m;
	uint64_t work, space;
	struct loop l;

	assert_int_equal(sim_new(1, nodes, ARRAY_SIZE(nodes), &m), 0);
	sim_set_distance(m, 0, 3, 28);
	sim_set_distance(m, 1, 3, 14);
	loop_init(&l, m);
	work = add_cgroup(m, "work.service");
	loop_add_group(&l, work, loop_policy());
	space = add_process(m, work, 256 * MiB, 3, &hot_64m);
	loop_run(&l, 60);
	assert_true(sim_bytes_on(m, space, 1, true) * 100 >= 64 * MiB * 95);
	assert_int_equal(sim_bytes_on(m, space, 0, false), 0);
	loop_done(&l);
}

/* ---- FastMax --------------------------------------------------------------------------------- */

static void test_fast_max_is_never_passed(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct tier_machine *m = two_nodes(seed, 512 * MiB, 1 * GiB);
		uint64_t worker = add_cgroup(m, "work.service");
		uint64_t space = add_process(m, worker, 256 * MiB, SLOW, &hot_64m);
		struct policy policy = loop_policy();
		struct loop l;

		loop_init(&l, m);
		sim_set_noise(m, &usual_noise);
		policy.fast_max = (struct amount){ .value = 32 * MiB };
		loop_add_group(&l, worker, policy);
		for (unsigned int i = 0; i < 120; i++) {
			loop_tick(&l);
			assert_for_seed(seed, sim_bytes_on(m, space, FAST, false) <= 32 * MiB);
		}
		/* And used to the full, with hot memory. */
		assert_for_seed(seed, sim_bytes_on(m, space, FAST, true) >= 26 * MiB);
		assert_true(l.plan->held_bytes[HELD_FAST_MAX] > 0);
		loop_done(&l);
	}
}

static void test_fast_max_brings_down_the_coldest(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct tier_machine *m = two_nodes(seed, 512 * MiB, 1 * GiB);
		uint64_t worker = add_cgroup(m, "work.service");
		uint64_t space = add_process(m, worker, 256 * MiB, FAST, &hot_64m);
		struct policy policy = loop_policy();
		struct loop l;

		loop_init(&l, m);
		sim_set_noise(m, &usual_noise);
		policy.fast_max = (struct amount){ .is_share = true, .value = 2500 };
		loop_add_group(&l, worker, policy);
		loop_run(&l, 45);
		assert_for_seed(seed, sim_bytes_on(m, space, FAST, false) <= 128 * MiB);
		assert_for_seed(seed, sim_bytes_on(m, space, FAST, false) >= 120 * MiB);
		assert_for_seed(seed, sim_bytes_on(m, space, FAST, true) * 100 >= 64 * MiB * 95);
		loop_done(&l);
	}
}

/* ---- change ---------------------------------------------------------------------------------- */

static void test_phase_change(void **state)
{
	const struct sim_workload phases = {
		.kind = SIM_PHASES,
		.hot_bytes = 64 * MiB,
		.hot_rate_bp = 2500,
		.phase_us = 300 * US_PER_S,
	};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		/* Room for the hot set of one phase, not for two. */
		struct tier_machine *m = two_nodes(seed, 112 * MiB, 1 * GiB);
		uint64_t worker = add_cgroup(m, "work.service");
		uint64_t space = add_process(m, worker, 256 * MiB, SLOW, &phases);
		struct loop l;

		loop_init(&l, m);
		sim_set_noise(m, &usual_noise);
		loop_add_group(&l, worker, loop_policy());
		for (unsigned int phase = 0; phase < 4; phase++) {
			run_until(&l, (phase * 300 + 60) * US_PER_S);
			assert_for_seed(seed,
					sim_bytes_on(m, space, FAST, true) * 100 >= 64 * MiB * 95);
			run_until(&l, (phase + 1) * 300 * US_PER_S);
		}
		assert_for_seed(seed, history_group(l.history, worker)->ping_pong_bytes <=
					      16 * MiB);
		loop_done(&l);
	}
}

static void test_process_ends_in_mid_move(void **state)
{
	const struct sim_costs slow_moves = { .us_per_mib = 100 * US_PER_MS };
	struct tier_machine *m = two_nodes(1, 512 * MiB, 1 * GiB);
	uint64_t worker = add_cgroup(m, "work.service");
	uint64_t space = add_process(m, worker, 256 * MiB, SLOW, &hot_64m);
	struct group_counters *g;
	struct loop l;

	loop_init(&l, m);
	sim_set_costs(m, &slow_moves);
	loop_add_group(&l, worker, loop_policy());
	while (!moved_bytes(&l)) {
		/* The first move takes seconds: the process ends while it is under way. */
		assert_int_equal(sim_end_process(m, space,
						 tier_machine_now_us(m) + 1500 * US_PER_MS),
				 0);
		loop_tick(&l);
	}
	g = history_group(l.history, worker);
	assert_true(tier_outcome_bytes(&g->moved[DIRECTION_PROMOTE], TIER_PROCESS_ENDED) > 0);
	assert_int_equal(l.history->n_flights, 0);
	loop_run(&l, 3);
	assert_null(history_space(l.history, space));
	assert_int_equal(sim_bytes_on(m, space, FAST, false), 0);
	loop_done(&l);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_budgets_are_kept(void **state)
{
	struct tier_machine *m = two_nodes(5, 512 * MiB, 1 * GiB);
	uint64_t worker = add_cgroup(m, "work.service");
	uint64_t other = add_cgroup(m, "other.service");
	struct policy policy = loop_policy();
	uint64_t space, second;
	struct loop l;

	loop_init(&l, m);
	policy.bandwidth_bytes_s = 4 * MiB;
	l.settings.bandwidth_bytes_s = 6 * MiB;
	loop_add_group(&l, worker, policy);
	loop_add_group(&l, other, policy);
	space = add_process(m, worker, 256 * MiB, SLOW, &hot_64m);
	second = add_process(m, other, 256 * MiB, SLOW, &hot_64m);
	for (unsigned int tick = 1; tick <= 60; tick++) {
		loop_tick(&l);
		/* What time gave, and one full bucket on top. */
		assert_true(moved_bytes(&l) <= 6 * MiB * (tick + 1));
		assert_true(sim_bytes_on(m, space, FAST, false) <= 4 * MiB * (tick + 1));
		assert_true(sim_bytes_on(m, second, FAST, false) <= 4 * MiB * (tick + 1));
	}
	assert_true(moved_bytes(&l) >= 100 * MiB);
	loop_done(&l);
}

static void test_refused_memory_is_left_alone_for_a_while(void **state)
{
	const struct sim_costs refuse = { .refused_bp = 10000, .refusal = TIER_MEMPOLICY };
	struct tier_machine *m = two_nodes(1, 512 * MiB, 1 * GiB);
	uint64_t worker = add_cgroup(m, "work.service");
	struct group_counters *g;
	struct loop l;

	loop_init(&l, m);
	sim_set_costs(m, &refuse);
	add_process(m, worker, 256 * MiB, SLOW, &hot_64m);
	loop_add_group(&l, worker, loop_policy());
	loop_run(&l, 120);
	g = history_group(l.history, worker);
	assert_int_equal(moved_bytes(&l), 0);
	/* Four times in two minutes, not once a tick. */
	assert_in_range(g->moved[DIRECTION_PROMOTE].asked_bytes, 100 * MiB, 5 * 70 * MiB);
	loop_done(&l);
}

static void test_nothing_moves_without_a_tracker(void **state)
{
	struct tier_machine *m = two_nodes(1, 512 * MiB, 1 * GiB);
	uint64_t worker = add_cgroup(m, "work.service");
	uint64_t pinned = add_cgroup(m, "pinned.service");
	struct policy pin = loop_policy();
	uint64_t space, pinned_space;
	struct loop l;

	loop_init(&l, m);
	sim_set_tracker(m, TIER_TRACKER_NONE);
	pin.mode = MODE_PIN_FAST;
	loop_add_group(&l, worker, loop_policy());
	loop_add_group(&l, pinned, pin);
	space = add_process(m, worker, 256 * MiB, SLOW, &hot_64m);
	pinned_space = add_process(m, pinned, 64 * MiB, SLOW, &idle);
	loop_run(&l, 60);
	assert_int_equal(sim_bytes_on(m, space, SLOW, false), 256 * MiB);
	assert_int_equal(sim_bytes_on(m, pinned_space, FAST, false), 64 * MiB);
	loop_done(&l);
}

static void test_paused(void **state)
{
	struct tier_machine *m = two_nodes(1, 512 * MiB, 1 * GiB);
	uint64_t worker = add_cgroup(m, "work.service");
	uint64_t space = add_process(m, worker, 256 * MiB, SLOW, &hot_64m);
	struct loop l;

	loop_init(&l, m);
	loop_add_group(&l, worker, loop_policy());
	l.paused = true;
	loop_run(&l, 30);
	assert_int_equal(moved_bytes(&l), 0);
	assert_true(l.plan->held_bytes[HELD_OBSERVE] >= 60 * MiB);
	l.paused = false;
	loop_run(&l, 2);
	assert_true(sim_bytes_on(m, space, FAST, true) * 100 >= 64 * MiB * 90);
	loop_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_scenario),
		cmocka_unit_test(test_main_scenario_merged_samples),
		cmocka_unit_test(test_same_seed_same_run),
		cmocka_unit_test(test_uniform_stays),
		cmocka_unit_test(test_uniform_goes_up_where_it_fits),
		cmocka_unit_test(test_waterfall),
		cmocka_unit_test(test_two_sockets_take_the_near_node),
		cmocka_unit_test(test_fast_max_is_never_passed),
		cmocka_unit_test(test_fast_max_brings_down_the_coldest),
		cmocka_unit_test(test_phase_change),
		cmocka_unit_test(test_process_ends_in_mid_move),
		cmocka_unit_test(test_budgets_are_kept),
		cmocka_unit_test(test_refused_memory_is_left_alone_for_a_while),
		cmocka_unit_test(test_nothing_moves_without_a_tracker),
		cmocka_unit_test(test_paused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
