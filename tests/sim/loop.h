/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SIM_LOOP_H
#define SIM_LOOP_H

/*
 * tierd's tick on the synthetic machine, one thread, for tests: observe, decide, plan, act, report.
 * The observing part is as small as a test needs: a group is a cgroup with the processes directly
 * in it.
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "decide/decide.h"
#include "plan/plan.h"
#include "sim/sim.h"
#include "util.h"

#define LOOP_GROUPS_MAX 8
#define LOOP_SPACES_MAX 64

struct loop {
	struct tier_machine *machine;
	struct history *history;
	struct settings settings;
	struct policy policies[LOOP_GROUPS_MAX];
	struct snapshot_group groups[LOOP_GROUPS_MAX];
	size_t n_groups;
	bool paused;
	/* What the last tick saw and did. */
	struct plan *plan;
	struct target_group targets[LOOP_GROUPS_MAX];
	/* Sums since the loop began; the truth, not what tierd thinks. */
	uint64_t moved_up_bytes;
	uint64_t moved_up_cold_bytes;
	uint64_t moved_down_bytes;
	uint64_t peak_second_bytes; /* most that was moved in one tick */
};

static inline struct policy loop_policy(void)
{
	return (struct policy){
		.mode = MODE_AUTO,
		.fast_max = AMOUNT_UNLIMITED,
		.cold_after_us = 10 * US_PER_S,
		.hot_above_bp = 1000,
		.bandwidth_bytes_s = 1 * GiB,
		.call_max_us = 20 * US_PER_MS,
	};
}

static inline void loop_init(struct loop *l, struct tier_machine *m)
{
	*l = (struct loop){ .machine = m };
	l->settings = (struct settings){
		.interval_us = US_PER_S,
		.headroom = { .is_share = true, .value = 400 },
		.bandwidth_bytes_s = 1 * GiB,
	};
	l->history = history_new(tier_machine_now_us(m));
	assert_non_null(l->history);
}

static inline void loop_done(struct loop *l)
{
	plan_free(l->plan);
	history_free(l->history);
	tier_machine_free(l->machine);
}

static inline size_t loop_add_group(struct loop *l, uint64_t cgroup_id, struct policy policy)
{
	size_t i = l->n_groups++;

	assert_true(i < LOOP_GROUPS_MAX);
	l->policies[i] = policy;
	l->groups[i] = (struct snapshot_group){
		.cgroup_id = cgroup_id,
		.path = "group",
		.policy = &l->policies[i],
	};
	return i;
}

static inline void loop_observe_spaces(struct loop *l, struct snapshot *s)
{
	for (size_t g = 0; g < l->n_groups; g++) {
		struct tier_processes *p;

		if (l->policies[g].mode == MODE_OFF)
			continue;
		assert_int_equal(tier_machine_read_processes(l->machine, &l->groups[g].cgroup_id, 1,
							     &p),
				 0);
		for (size_t i = 0; i < p->n_processes; i++) {
			struct tier_residency *r = NULL;

			assert_true(s->n_spaces < LOOP_SPACES_MAX);
			tier_machine_read_residency(l->machine, p->processes[i].space_id, &r);
			s->spaces[s->n_spaces++] = (struct snapshot_space){
				.id = p->processes[i].space_id,
				.pid = p->processes[i].pid,
				.group = g,
				.resident_bytes = p->processes[i].resident_bytes,
				.residency = r,
			};
		}
		tier_processes_free(p);
	}
}

static inline int loop_compare_spaces(const void *a, const void *b)
{
	const struct snapshot_space *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static inline void loop_observe(struct loop *l, struct snapshot *s, struct tier_accesses **ret)
{
	uint64_t ids[LOOP_SPACES_MAX];

	s->now_us = tier_machine_now_us(l->machine);
	s->settings = &l->settings;
	s->paused = l->paused;
	s->n_groups = l->n_groups;
	s->groups = l->groups;
	assert_int_equal(tier_machine_read_topology(l->machine, &s->topology), 0);
	for (size_t i = 0; i < l->n_groups; i++)
		assert_int_equal(tier_machine_read_usage(l->machine, l->groups[i].cgroup_id,
							 &l->groups[i].usage),
				 0);
	loop_observe_spaces(l, s);
	qsort(s->spaces, s->n_spaces, sizeof(*s->spaces), loop_compare_spaces);
	for (size_t i = 0; i < s->n_spaces; i++)
		ids[i] = s->spaces[i].id;
	assert_int_equal(tier_machine_track(l->machine, ids, s->n_spaces), 0);
	assert_int_equal(tier_machine_read_access(l->machine, ret), 0);
	for (size_t i = 0; i < s->n_spaces; i++)
		for (size_t j = 0; j < (*ret)->n_accesses; j++)
			if ((*ret)->accesses[j].space_id == s->spaces[i].id)
				s->spaces[i].access = &(*ret)->accesses[j];
	tier_machine_read_tracker(l->machine, &s->tracker);
}

static inline void loop_count(struct loop *l, const struct batch *b, const struct tier_outcome *o)
{
	uint64_t moved = tier_outcome_bytes(o, TIER_MOVED);

	if (b->direction == DIRECTION_DEMOTE) {
		l->moved_down_bytes += moved;
		return;
	}
	l->moved_up_bytes += moved;
	for (size_t i = 0; moved && i < b->n_ranges; i++) {
		uint64_t bytes = b->ranges[i].end - b->ranges[i].start;
		uint64_t hot = sim_hot_bytes(l->machine, b->space_id, b->ranges[i].start,
					     b->ranges[i].end);

		l->moved_up_cold_bytes += bytes - hot;
	}
}

static inline void loop_act(struct loop *l)
{
	uint64_t before = l->moved_up_bytes + l->moved_down_bytes;

	for (size_t i = 0; i < l->plan->n_batches; i++) {
		struct batch *b = &l->plan->batches[i];
		struct tier_move move = {
			.space_id = b->space_id,
			.target_node = b->target_node,
			.headroom_bytes = b->headroom_bytes,
			.call_max_us = b->call_max_us,
			.n_ranges = b->n_ranges,
			.ranges = b->ranges,
		};
		struct outcome o = { 0 };
		struct outcomes all = { .n_outcomes = 1, .outcomes = &o };

		o.error = tier_machine_move(l->machine, &move, &o.result);
		o.finished_us = tier_machine_now_us(l->machine);
		o.batch = *b; /* the plan keeps the ranges */
		loop_count(l, b, &o.result);
		assert_int_equal(history_account(l->history, &all), 0);
	}
	l->peak_second_bytes = MAX(l->peak_second_bytes,
				   l->moved_up_bytes + l->moved_down_bytes - before);
}

/* One tick, then the clock runs on to the next full interval. */
static inline void loop_tick(struct loop *l)
{
	struct snapshot_space spaces[LOOP_SPACES_MAX];
	struct snapshot s = { .spaces = spaces };
	struct tier_accesses *accesses;
	struct targets *t;
	uint64_t begin_us = tier_machine_now_us(l->machine);
	uint64_t spent_us;

	loop_observe(l, &s, &accesses);
	assert_int_equal(decide(&s, l->history, &t), 0);
	l->plan = plan_free(l->plan);
	assert_int_equal(plan_make(&s, t, l->history, &l->plan), 0);
	memcpy(l->targets, t->groups, l->n_groups * sizeof(t->groups[0]));
	loop_act(l);

	targets_free(t);
	for (size_t i = 0; i < s.n_spaces; i++)
		tier_residency_free((struct tier_residency *)s.spaces[i].residency);
	tier_accesses_free(accesses);
	tier_topology_free(s.topology);
	spent_us = tier_machine_now_us(l->machine) - begin_us;
	if (spent_us < l->settings.interval_us)
		sim_advance(l->machine, l->settings.interval_us - spent_us);
}

static inline void loop_run(struct loop *l, unsigned int ticks)
{
	while (ticks--)
		loop_tick(l);
}

#endif
