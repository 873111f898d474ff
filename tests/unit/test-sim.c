// SPDX-License-Identifier: GPL-2.0-or-later
/* The synthetic machine itself: a fake that nobody tests is worth nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sim/sim.h"
#include "util.h"

#define START (0x7f0000000000ULL + 5 * TIER_SLOT_BYTES + 64 * KiB)

static const struct sim_workload idle = { .kind = SIM_IDLE };
static const struct sim_workload hot_32m = {
	.kind = SIM_STATIONARY, .hot_offset = 96 * MiB, .hot_bytes = 32 * MiB, .hot_rate_bp = 5000
};

static struct tier_machine *make_machine(uint64_t seed)
{
	const struct sim_node nodes[] = {
		{ .id = 0, .rank = 0, .has_cpus = true, .total_bytes = 256 * MiB,
		  .taken_bytes = 16 * MiB },
		{ .id = 3, .rank = 1, .total_bytes = 512 * MiB },
	};
	struct tier_machine *m;

	assert_int_equal(sim_new(seed, nodes, ARRAY_SIZE(nodes), &m), 0);
	return m;
}

static uint64_t add_process(struct tier_machine *m, uint64_t cgroup_id, uint64_t bytes, int node,
			    const struct sim_workload *w)
{
	struct sim_process p = { .cgroup_id = cgroup_id, .start = START, .bytes = bytes,
				 .node = node, .workload = *w };
	uint64_t id;

	assert_int_equal(sim_add_process(m, &p, &id), 0);
	return id;
}

static uint64_t free_bytes(struct tier_machine *m, size_t index)
{
	struct tier_topology *t;
	uint64_t bytes;

	assert_int_equal(tier_machine_read_topology(m, &t), 0);
	bytes = t->nodes[index].free_bytes;
	tier_topology_free(t);
	return bytes;
}

static void test_topology(void **state)
{
	const struct sim_node bad_order[] = { { .id = 2, .total_bytes = 1 }, { .id = 1 } };
	const struct sim_node too_full[] = { { .id = 2, .total_bytes = 1, .taken_bytes = 2 } };
	struct tier_machine *m = make_machine(1), *none = NULL;
	struct tier_topology *t;

	assert_int_equal(tier_machine_read_topology(m, &t), 0);
	assert_int_equal(t->n_nodes, 2);
	assert_int_equal(t->n_tiers, 2);
	assert_int_equal(t->nodes[1].id, 3);
	assert_int_equal(t->nodes[0].free_bytes, 240 * MiB);
	assert_int_equal(t->distance[0][0], 10);
	assert_int_equal(t->distance[0][1], 20);
	tier_topology_free(t);
	tier_machine_free(m);
	assert_int_equal(sim_new(1, bad_order, 2, &none), -EINVAL);
	assert_int_equal(sim_new(1, too_full, 1, &none), -EINVAL);
	assert_int_equal(sim_new(1, NULL, 0, &none), -EINVAL);
	assert_null(none);
}

static void test_cgroups_and_usage(void **state)
{
	struct tier_machine *m = make_machine(1);
	uint64_t outer, inner, other;
	struct tier_processes *p;
	struct tier_cgroups *c;
	struct tier_usage u;

	assert_int_equal(sim_add_cgroup(m, 0, "system.slice", &outer), 0);
	assert_int_equal(sim_add_cgroup(m, outer, "system.slice/db.service", &inner), 0);
	assert_int_equal(sim_add_cgroup(m, 0, "other", &other), 0);
	assert_int_equal(sim_add_cgroup(m, 999, "orphan", &other), -ENOENT);
	add_process(m, outer, 8 * MiB, 0, &idle);
	add_process(m, inner, 16 * MiB, 3, &idle);

	assert_int_equal(tier_machine_read_cgroups(m, &c), 0);
	assert_int_equal(c->n_cgroups, 4);
	assert_string_equal(c->cgroups[0].path, "");
	assert_int_equal(c->cgroups[2].parent_id, outer);
	tier_cgroups_free(c);
	/* Use is with descendants, processes are without. */
	assert_int_equal(tier_machine_read_usage(m, outer, &u), 0);
	assert_int_equal(u.anon_bytes[0], 8 * MiB);
	assert_int_equal(u.anon_bytes[1], 16 * MiB);
	assert_int_equal(tier_machine_read_usage(m, 999, &u), -ENOENT);
	assert_int_equal(tier_machine_read_processes(m, &outer, 1, &p), 0);
	assert_int_equal(p->n_processes, 1);
	assert_int_equal(p->processes[0].resident_bytes, 8 * MiB);
	tier_processes_free(p);
	tier_machine_free(m);
}

static void test_residency_of_an_odd_mapping(void **state)
{
	struct tier_machine *m = make_machine(1);
	uint64_t cgroup, space;
	struct tier_residency *r;

	sim_add_cgroup(m, 0, "a", &cgroup);
	space = add_process(m, cgroup, 4 * MiB, 3, &idle);
	assert_int_equal(tier_machine_read_residency(m, space, &r), 0);
	assert_int_equal(r->n_slots, 3); /* begins 64 KiB into a slot */
	assert_int_equal(r->slots[0].start, START - 64 * KiB);
	assert_int_equal(r->slots[0].pages[1], 512 - 16);
	assert_int_equal(r->slots[1].pages[1], 512);
	assert_int_equal(r->slots[2].pages[1], 16);
	tier_residency_free(r);
	assert_int_equal(tier_machine_read_residency(m, 999, &r), -ESRCH);
	tier_machine_free(m);
}

static void test_capacity(void **state)
{
	struct tier_machine *m = make_machine(1);
	struct sim_process p = { .start = START, .bytes = 241 * MiB, .node = 0 };
	uint64_t id, space;

	sim_add_cgroup(m, 0, "a", &p.cgroup_id);
	assert_int_equal(sim_add_process(m, &p, &id), -ENOSPC);
	p.start++;
	assert_int_equal(sim_add_process(m, &p, &id), -EINVAL);
	p.node = 1;
	assert_int_equal(sim_add_process(m, &p, &id), -EINVAL);
	space = add_process(m, p.cgroup_id, 240 * MiB, 0, &idle);
	assert_int_equal(free_bytes(m, 0), 0);
	assert_int_equal(sim_end_process(m, space, 0), 0);
	assert_int_equal(free_bytes(m, 0), 240 * MiB);
	assert_int_equal(sim_end_process(m, space, 0), -ESRCH);
	assert_int_equal(sim_set_workload(m, space, &idle), -ESRCH);
	tier_machine_free(m);
}

static uint64_t sum_of(const struct tier_outcome *o)
{
	uint64_t sum = 0;

	for (int r = 0; r < TIER_RESULTS; r++)
		sum += tier_outcome_bytes(o, (enum tier_result)r);
	return sum;
}

static void test_moves_account_for_every_byte(void **state)
{
	struct tier_range ranges[] = {
		{ START - 64 * KiB, START - 64 * KiB + 3 * TIER_SLOT_BYTES },
		{ START - 64 * KiB + 40 * TIER_SLOT_BYTES,
		  START - 64 * KiB + 41 * TIER_SLOT_BYTES },
	};
	const struct sim_costs costs = { .us_per_mib = 1000 };
	struct tier_machine *m = make_machine(1);
	struct tier_move move = { .target_node = 0, .n_ranges = 2, .ranges = ranges };
	struct tier_outcome o;
	uint64_t cgroup, before;

	sim_add_cgroup(m, 0, "a", &cgroup);
	sim_set_costs(m, &costs);
	move.space_id = add_process(m, cgroup, 64 * MiB, 3, &idle);
	before = tier_machine_now_us(m);
	assert_int_equal(tier_machine_move(m, &move, &o), 0);
	assert_int_equal(o.asked_bytes, 4 * TIER_SLOT_BYTES);
	assert_int_equal(sum_of(&o), o.asked_bytes);
	assert_int_equal(tier_outcome_bytes(&o, TIER_MOVED), 3 * TIER_SLOT_BYTES - 64 * KiB);
	assert_int_equal(o.bytes[TIER_MOVED][9], 2 * TIER_SLOT_BYTES);
	assert_int_equal(o.calls, 3);
	assert_int_equal(tier_machine_now_us(m) - before, o.call_sum_us);
	assert_int_equal(o.call_sum_us, (6 * MiB - 64 * KiB) * 1000 / MiB);
	assert_int_equal(sim_bytes_on(m, move.space_id, 0, false), 6 * MiB - 64 * KiB);
	assert_int_equal(free_bytes(m, 0), 240 * MiB - (6 * MiB - 64 * KiB));
	/* Again: it is there already. */
	assert_int_equal(tier_machine_move(m, &move, &o), 0);
	assert_int_equal(sum_of(&o), o.asked_bytes);
	assert_int_equal(tier_outcome_bytes(&o, TIER_ALREADY_THERE), 6 * MiB - 64 * KiB);
	assert_int_equal(o.calls, 0);
	tier_machine_free(m);
}

static void count_calls(void *userdata, const struct tier_outcome *so_far)
{
	(*(unsigned int *)userdata)++;
}

static void test_moves_stop(void **state)
{
	struct tier_range range = { START - 64 * KiB, START - 64 * KiB + 8 * TIER_SLOT_BYTES };
	struct tier_machine *m = make_machine(1);
	struct tier_move move = { .target_node = 0, .n_ranges = 1, .ranges = &range };
	unsigned int progress = 0;
	bool cancelled = true;
	struct tier_outcome o;
	uint64_t cgroup;

	sim_add_cgroup(m, 0, "a", &cgroup);
	move.space_id = add_process(m, cgroup, 64 * MiB, 3, &idle);
	/* At the headroom. */
	move.headroom_bytes = 240 * MiB - 5 * MiB;
	assert_int_equal(tier_machine_move(m, &move, &o), 0);
	assert_int_equal(sum_of(&o), o.asked_bytes);
	assert_int_equal(tier_outcome_bytes(&o, TIER_MOVED), 4 * MiB - 64 * KiB);
	assert_true(free_bytes(m, 0) >= move.headroom_bytes);
	/* When cancelled. */
	move.headroom_bytes = 0;
	move.cancel = &cancelled;
	move.progress = count_calls;
	move.userdata = &progress;
	assert_int_equal(tier_machine_move(m, &move, &o), 0);
	assert_int_equal(tier_outcome_bytes(&o, TIER_NOT_TRIED), o.asked_bytes);
	assert_int_equal(progress, 8);
	/* Bad requests. */
	range.end = range.start;
	assert_int_equal(tier_machine_move(m, &move, &o), -EINVAL);
	range.end = range.start + TIER_SLOT_BYTES;
	move.target_node = 1;
	assert_int_equal(tier_machine_move(m, &move, &o), -EINVAL);
	tier_machine_free(m);
}

static void test_moves_fail(void **state)
{
	struct tier_range range = { START - 64 * KiB, START - 64 * KiB + 8 * TIER_SLOT_BYTES };
	struct sim_costs costs = { .us_per_mib = 1000, .refused_bp = 10000,
				   .refusal = TIER_SHARED };
	struct tier_machine *m = make_machine(1);
	struct tier_move move = { .target_node = 0, .n_ranges = 1, .ranges = &range };
	struct tier_outcome o;
	uint64_t cgroup;

	sim_add_cgroup(m, 0, "a", &cgroup);
	move.space_id = add_process(m, cgroup, 64 * MiB, 3, &idle);
	sim_set_costs(m, &costs);
	assert_int_equal(tier_machine_move(m, &move, &o), 0);
	assert_int_equal(tier_outcome_bytes(&o, TIER_SHARED), o.asked_bytes - 64 * KiB);
	assert_int_equal(sim_bytes_on(m, move.space_id, 0, false), 0);
	/* The process ends when half is done. */
	costs.refused_bp = 0;
	sim_set_costs(m, &costs);
	sim_end_process(m, move.space_id, tier_machine_now_us(m) + 7 * US_PER_MS);
	assert_int_equal(tier_machine_move(m, &move, &o), 0);
	assert_int_equal(sum_of(&o), o.asked_bytes);
	assert_int_equal(tier_outcome_bytes(&o, TIER_PROCESS_ENDED), 4 * TIER_SLOT_BYTES);
	assert_int_equal(free_bytes(m, 0), 240 * MiB);
	assert_int_equal(free_bytes(m, 1), 512 * MiB);
	tier_machine_free(m);
}

/* Mean rate of the newest sample over [start, end), weighted by overlap. */
static uint64_t rate_over(struct tier_machine *m, uint64_t start, uint64_t end, uint64_t *ret_seq)
{
	struct tier_accesses *a;
	uint64_t sum = 0, last = 0;

	assert_int_equal(tier_machine_read_access(m, &a), 0);
	assert_int_equal(a->n_accesses, 1);
	*ret_seq = a->accesses[0].seq;
	for (size_t i = 0; i < a->accesses[0].n_regions; i++) {
		const struct tier_region *r = &a->accesses[0].regions[i];
		uint64_t from = MAX(r->start, start), to = MIN(r->end, end);

		assert_true(r->start >= last && r->start < r->end);
		assert_true(r->rate_bp <= 10000);
		last = r->end;
		sum += from < to ? (to - from) * r->rate_bp : 0;
	}
	tier_accesses_free(a);
	return sum / (end - start);
}

static void test_tracker_finds_the_hot_range(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct tier_machine *m = make_machine(seed);
		uint64_t cgroup, space, seq, last = 0, hot = 0, cold = 0;

		sim_add_cgroup(m, 0, "a", &cgroup);
		space = add_process(m, cgroup, 256 * MiB, 3, &hot_32m);
		assert_int_equal(tier_machine_track(m, &space, 1), 0);
		sim_advance(m, 5 * US_PER_S);
		for (unsigned int i = 0; i < 20; i++) {
			sim_advance(m, US_PER_S);
			hot += rate_over(m, START + 96 * MiB, START + 128 * MiB, &seq);
			assert_true(seq > last);
			last = seq;
			cold += rate_over(m, START, START + 64 * MiB, &seq);
			assert_int_equal(seq, last); /* no time passed: no new sample */
		}
		if (hot / 20 < 4000 || cold / 20 > 200)
			print_message("seed %llu\n", (unsigned long long)seed);
		assert_true(hot / 20 >= 4000);
		assert_true(cold / 20 <= 200);
		tier_machine_free(m);
	}
}

static void test_noise(void **state)
{
	const struct sim_noise delayed = { .delayed_bp = 10000 }, missed = { .missed_bp = 10000 };
	const struct sim_noise merged = { .merged_bp = 10000 };
	struct tier_machine *m = make_machine(4);
	uint64_t cgroup, space, seq, before;

	sim_add_cgroup(m, 0, "a", &cgroup);
	space = add_process(m, cgroup, 256 * MiB, 3, &hot_32m);
	assert_int_equal(tier_machine_track(m, &space, 1), 0);
	sim_advance(m, 5 * US_PER_S);
	assert_true(rate_over(m, START + 96 * MiB, START + 128 * MiB, &before) > 3000);
	sim_set_noise(m, &delayed);
	sim_advance(m, US_PER_S);
	rate_over(m, START, START + MiB, &seq);
	assert_int_equal(seq, before);
	sim_set_noise(m, &missed);
	sim_advance(m, US_PER_S);
	assert_int_equal(rate_over(m, START, START + 256 * MiB, &seq), 0);
	sim_set_noise(m, &merged);
	sim_advance(m, US_PER_S);
	assert_in_range(rate_over(m, START, START + 64 * MiB, &seq), 400, 900);
	tier_machine_free(m);
}

static void test_tracking_set(void **state)
{
	struct tier_machine *m = make_machine(1);
	struct tier_tracker_state tracker;
	struct tier_accesses *a;
	uint64_t cgroup, spaces[2];

	sim_add_cgroup(m, 0, "a", &cgroup);
	spaces[0] = add_process(m, cgroup, 16 * MiB, 3, &idle);
	spaces[1] = add_process(m, cgroup, 16 * MiB, 3, &idle);
	assert_int_equal(tier_machine_track(m, spaces, 2), 0);
	tier_machine_read_tracker(m, &tracker);
	assert_int_equal(tracker.tracker, TIER_TRACKER_SIM);
	assert_int_equal(tracker.n_tracked, 2);
	assert_int_equal(tier_machine_track(m, &spaces[1], 1), 0);
	sim_advance(m, US_PER_S);
	assert_int_equal(tier_machine_read_access(m, &a), 0);
	assert_int_equal(a->n_accesses, 1);
	assert_int_equal(a->accesses[0].space_id, spaces[1]);
	tier_accesses_free(a);
	sim_set_tracker(m, TIER_TRACKER_NONE);
	tier_machine_read_tracker(m, &tracker);
	assert_int_equal(tracker.tracker, TIER_TRACKER_NONE);
	tier_machine_free(m);
}

static void test_phases(void **state)
{
	const struct sim_workload phases = { .kind = SIM_PHASES, .hot_bytes = 64 * MiB,
					     .hot_rate_bp = 5000, .phase_us = 10 * US_PER_S };
	struct tier_machine *m = make_machine(1);
	uint64_t cgroup, space;

	sim_add_cgroup(m, 0, "a", &cgroup);
	space = add_process(m, cgroup, 128 * MiB, 3, &phases);
	assert_int_equal(sim_hot_bytes(m, space, START, START + 64 * MiB), 64 * MiB);
	sim_advance(m, 10 * US_PER_S);
	assert_int_equal(sim_hot_bytes(m, space, START, START + 64 * MiB), 0);
	assert_int_equal(sim_hot_bytes(m, space, START + 64 * MiB, START + 128 * MiB), 64 * MiB);
	assert_int_equal(sim_bytes_on(m, space, 3, true), 64 * MiB);
	sim_advance(m, 10 * US_PER_S);
	assert_int_equal(sim_hot_bytes(m, space, START, START + 64 * MiB), 64 * MiB);
	tier_machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_topology),
		cmocka_unit_test(test_cgroups_and_usage),
		cmocka_unit_test(test_residency_of_an_odd_mapping),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_moves_account_for_every_byte),
		cmocka_unit_test(test_moves_stop),
		cmocka_unit_test(test_moves_fail),
		cmocka_unit_test(test_tracker_finds_the_hot_range),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_tracking_set),
		cmocka_unit_test(test_phases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
