// SPDX-License-Identifier: GPL-2.0-or-later
/* The first stage against the synthetic machine: groups, spaces, and when residency is read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "observe/groups.h"
#include "observe/observe.h"
#include "sim/sim.h"
#include "util.h"

static char *app_globs[] = { (char *)"app*" };
static char *inner_globs[] = { (char *)"app/inner" };
static char *off_globs[] = { (char *)"off" };

static struct policy policies[] = {
	{ .file = (char *)"app.conf", .n_globs = 1, .globs = app_globs, .mode = MODE_AUTO },
	{ .file = (char *)"inner.conf", .n_globs = 1, .globs = inner_globs, .mode = MODE_OBSERVE },
	{ .file = (char *)"off.conf", .n_globs = 1, .globs = off_globs, .mode = MODE_OFF },
};

static const struct policy_set set = {
	.settings = { .process_min_bytes = 8 * MiB },
	.n_policies = ARRAY_SIZE(policies),
	.policies = policies,
};

struct world {
	struct tier_machine *m;
	struct observer *o;
	uint64_t app, inner, deep, off, other;
	uint64_t space_app, space_deep;
};

static uint64_t add_process(struct world *w, uint64_t cgroup, uint64_t bytes, int node)
{
	struct sim_process p = { .cgroup_id = cgroup, .start = 16 * GiB, .bytes = bytes,
				 .node = node };
	uint64_t id;

	assert_int_equal(sim_add_process(w->m, &p, &id), 0);
	return id;
}

static int setup(void **state)
{
	static const struct sim_node nodes[] = {
		{ .id = 0, .rank = 0, .has_cpus = true, .total_bytes = 1 * GiB },
		{ .id = 3, .rank = 1, .total_bytes = 2 * GiB },
	};
	struct world *w = calloc(1, sizeof(*w));

	assert_int_equal(sim_new(1, nodes, 2, &w->m), 0);
	assert_int_equal(sim_add_cgroup(w->m, 0, "app", &w->app), 0);
	assert_int_equal(sim_add_cgroup(w->m, w->app, "app/inner", &w->inner), 0);
	assert_int_equal(sim_add_cgroup(w->m, w->app, "app/deep", &w->deep), 0);
	assert_int_equal(sim_add_cgroup(w->m, 0, "off", &w->off), 0);
	assert_int_equal(sim_add_cgroup(w->m, 0, "other", &w->other), 0);
	w->space_app = add_process(w, w->app, 64 * MiB, 3);
	w->space_deep = add_process(w, w->deep, 32 * MiB, 0);
	add_process(w, w->inner, 16 * MiB, 0);
	add_process(w, w->app, 4 * MiB, 0); /* too small */
	add_process(w, w->off, 64 * MiB, 0);
	add_process(w, w->other, 64 * MiB, 0);
	assert_int_equal(observer_new(w->m, &w->o), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	observer_free(w->o);
	tier_machine_free(w->m);
	free(w);
	return 0;
}

static struct snapshot *look_for(struct world *w, uint64_t fresh_cgroup_id)
{
	struct pauses none = { 0 };
	struct snapshot *s;

	assert_int_equal(observe(w->o, &set, &none, tier_machine_now_us(w->m), fresh_cgroup_id,
				 &s), 0);
	return s;
}

static struct snapshot *look(struct world *w)
{
	return look_for(w, 0);
}

static void test_groups_and_spaces(void **state)
{
	struct world *w = *state;
	struct snapshot *s = look(w);

	assert_int_equal(s->n_groups, 3);
	assert_string_equal(s->groups[0].path, "app");
	assert_string_equal(s->groups[1].path, "app/inner");
	assert_string_equal(s->groups[2].path, "off");
	/* app has what is its own and deep's, without inner's. */
	assert_int_equal(s->groups[0].usage.anon_bytes[0], 36 * MiB);
	assert_int_equal(s->groups[0].usage.anon_bytes[1], 64 * MiB);
	assert_int_equal(s->groups[1].usage.anon_bytes[0], 16 * MiB);
	/* The small process and the cgroups that are off or without policy are not tracked. */
	assert_int_equal(s->n_spaces, 3);
	for (size_t i = 0; i < s->n_spaces; i++) {
		assert_true(s->spaces[i].group < 2);
		assert_non_null(s->spaces[i].residency);
	}
	snapshot_free(s);
}

static void test_pauses(void **state)
{
	struct world *w = *state;
	uint64_t ids[] = { w->inner };
	struct pauses pauses = { .n_cgroup_ids = 1, .cgroup_ids = ids };
	struct snapshot *s;

	assert_int_equal(observe(w->o, &set, &pauses, 1, 0, &s), 0);
	assert_false(s->groups[0].paused);
	assert_true(s->groups[1].paused);
	assert_false(s->paused);
	snapshot_free(s);
}

static uint64_t read_us_of(const struct snapshot *s, uint64_t space_id)
{
	for (size_t i = 0; i < s->n_spaces; i++)
		if (s->spaces[i].id == space_id)
			return s->spaces[i].residency->read_us;
	fail_msg("no such space");
	return 0;
}

static void test_residency_is_read_only_when_needed(void **state)
{
	struct world *w = *state;
	struct tier_range range = { 16 * GiB, 16 * GiB + 8 * MiB };
	struct tier_move move = { .space_id = w->space_app, .target_node = 0, .n_ranges = 1,
				  .ranges = &range };
	struct tier_outcome outcome;
	struct snapshot *s;
	uint64_t first;

	sim_advance(w->m, US_PER_S);
	s = look(w);
	first = read_us_of(s, w->space_app);
	snapshot_free(s);
	sim_advance(w->m, US_PER_S);
	s = look(w);
	assert_int_equal(read_us_of(s, w->space_app), first);
	snapshot_free(s);

	/* 8 MiB change the group's use of both nodes: seen without being told. */
	assert_int_equal(tier_machine_move(w->m, &move, &outcome), 0);
	sim_advance(w->m, US_PER_S);
	s = look(w);
	assert_true(read_us_of(s, w->space_app) > first);
	first = read_us_of(s, w->space_app);
	snapshot_free(s);

	sim_advance(w->m, US_PER_S);
	observer_touch(w->o, w->space_app);
	s = look(w);
	assert_true(read_us_of(s, w->space_app) > first);
	first = read_us_of(s, w->space_app);
	snapshot_free(s);

	sim_advance(w->m, 61 * US_PER_S);
	s = look(w);
	assert_true(read_us_of(s, w->space_app) > first);
	snapshot_free(s);
}

/* What an administrator asks about is read, whatever was read a moment ago; the rest is not. */
static void test_fresh_group(void **state)
{
	struct world *w = *state;
	struct snapshot *s = look(w);
	uint64_t first_us = read_us_of(s, w->space_app);

	snapshot_free(s);
	sim_advance(w->m, 1000);
	s = look_for(w, w->inner);
	assert_int_equal(read_us_of(s, w->space_app), first_us);
	snapshot_free(s);
	sim_advance(w->m, 1000);
	s = look_for(w, w->app);
	assert_int_equal(read_us_of(s, w->space_app), first_us + 2000);
	assert_int_equal(read_us_of(s, w->space_deep), first_us + 2000);
	snapshot_free(s);
}

static void test_ended_process_leaves(void **state)
{
	struct world *w = *state;
	struct snapshot *s = look(w);

	assert_int_equal(s->n_spaces, 3);
	snapshot_free(s);
	assert_int_equal(sim_end_process(w->m, w->space_deep, tier_machine_now_us(w->m)), 0);
	sim_advance(w->m, US_PER_S);
	s = look(w);
	assert_int_equal(s->n_spaces, 2);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_groups_and_spaces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pauses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_residency_is_read_only_when_needed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_fresh_group, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended_process_leaves, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
