// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracker's decisions and texts: nothing here touches a file. */
#include "fake-damon.h"

/* ---- the record ---------------------------------------------------------------------------- */

static struct own_record sample_record(void)
{
	return (struct own_record){
		.boot_id = FAKE_BOOT,
		.n_kdamonds = 3,
		.kdamonds = { { .ino = UINT64_MAX, .pid = INT32_MAX, .start_time = UINT64_MAX },
			      { .ino = 7, .starting = true, .start_time = 5 },
			      { .ino = 8 } },
	};
}

static void test_record_text(void **state)
{
	struct own_record r = sample_record(), back;
	char text[1024];
	size_t n = own_record_format(&r, text, sizeof(text));

	assert_true(n < 400);
	memset(&back, 0, sizeof(back));
	assert_int_equal(own_record_parse(text, n, &back), 0);
	assert_memory_equal(&back, &r, sizeof(r));
	r = (struct own_record){ .boot_id = FAKE_BOOT, .n_kdamonds = 4, .creating = true };
	n = own_record_format(&r, text, sizeof(text));
	assert_int_equal(own_record_parse(text, n, &back), 0);
	assert_true(back.creating && back.n_kdamonds == 4);
}

static void test_record_damaged(void **state)
{
	struct own_record r = sample_record(), back = { .n_kdamonds = 77 };
	char text[1024], bad[1024];
	size_t n = own_record_format(&r, text, sizeof(text));
	const char *const wrong[] = {
		"", "\n", "tierd-damon 2\n", "tierd-damon 1\nboot x\nkdamonds 1 made\n",
		"tierd-damon 1\nboot " FAKE_BOOT "\nkdamonds 1 made\n",
		"tierd-damon 1\nboot " FAKE_BOOT "\nkdamonds 5 creating\n",
		"tierd-damon 1\nboot " FAKE_BOOT "\nkdamonds -1 creating\n",
		"tierd-damon 1\nboot " FAKE_BOOT "\nkdamonds 1 made\nkdamond 1 2147483648 1 no\n",
		"tierd-damon 1\nboot " FAKE_BOOT "\nkdamonds 1 made\nkdamond 1\n 2 1 no\n",
		"tierd-damon 1\nboot " FAKE_BOOT "\nkdamonds 1 made\nkdamond 1 2 1 yes\n",
	};

	/* Every shorter text, every longer one, and every byte made another. */
	for (size_t i = 0; i < n; i++)
		assert_int_equal(own_record_parse(text, i, &back), -EINVAL);
	text[n] = '\n';
	assert_int_equal(own_record_parse(text, n + 1, &back), -EINVAL);
	for (size_t i = 0; i < n; i++) {
		memcpy(bad, text, n);
		bad[i] = '\xff';
		assert_int_equal(own_record_parse(bad, n, &back), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(own_record_parse(wrong[i], strlen(wrong[i]), &back), -EINVAL);
	assert_int_equal(back.n_kdamonds, 77);
}

static void test_stat(void **state)
{
	const char *good = "77 (a) (b c) S 2 0 0 0 -1 1 0 0 0 0 30 12 0 0 20 0 1 0 4711 0 0\n";
	uint64_t cpu = 1, start = 2;

	assert_int_equal(tracker_parse_stat(good, strlen(good), &cpu, &start), 0);
	assert_int_equal(cpu, 42);
	assert_int_equal(start, 4711);
	for (size_t i = 0; i < strlen(good) - 5; i++)
		assert_int_equal(tracker_parse_stat(good, i, &cpu, &start), -EINVAL);
	good = "77 (a) S 2 0 0 0 -1 1 0 0 0 0 x 12 0 0 20 0 1 0 4711 0 0\n";
	assert_int_equal(tracker_parse_stat(good, strlen(good), &cpu, &start), -EINVAL);
}

static void test_statm(void **state)
{
	uint64_t bytes = 9;

	assert_int_equal(watched_parse_statm("100 2 3\n", 8, &bytes), 0);
	assert_int_equal(bytes, 100 * 4096);
	assert_int_equal(watched_parse_statm("100", 3, &bytes), -EINVAL);
	assert_int_equal(watched_parse_statm("18446744073709551615 1", 22, &bytes), -ERANGE);
	assert_int_equal(bytes, 100 * 4096);
}

/* ---- decisions ----------------------------------------------------------------------------- */

static void test_assign(void **state)
{
	struct group_wish w[200];
	size_t n = 0, on[TRACKER_KDAMONDS] = { 0 };

	/* Six cgroups, three processes each, mixed. */
	for (size_t i = 0; i < 18; i++)
		w[n++] = (struct group_wish){ .space_id = i, .cgroup_id = i % 6, .tracked = -1 };
	assert_int_equal(group_assign(w, n), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(w[i].kdamond, w[i % 6].kdamond);
		on[w[i].kdamond]++;
	}
	for (size_t k = 0; k < TRACKER_KDAMONDS; k++)
		assert_in_range(on[k], 3, 6);
	/* Who is somewhere stays there, and draws the rest of its cgroup to it. */
	w[0] = (struct group_wish){ .space_id = 1, .cgroup_id = 50, .tracked = -1 };
	w[1] = (struct group_wish){ .space_id = 2, .cgroup_id = 50, .tracked = 3 };
	w[2] = (struct group_wish){ .space_id = 3, .cgroup_id = 51, .tracked = 3 };
	assert_int_equal(group_assign(w, 3), 0);
	assert_int_equal(w[0].kdamond, 3);
	assert_int_equal(w[2].kdamond, 3);
}

static void test_assign_too_many(void **state)
{
	struct group_wish w[100];
	size_t placed = 0;

	for (size_t i = 0; i < 100; i++)
		w[i] = (struct group_wish){ .space_id = i, .cgroup_id = 1, .tracked = -1 };
	assert_int_equal(group_assign(w, 100), 100 - DAMON_TARGETS_MAX);
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(w[i].kdamond >= 0, i < DAMON_TARGETS_MAX);
		/* Next round: these are tracked, and the ranks shift a little. */
		w[i].tracked = w[i].kdamond;
	}
	for (size_t i = 30; i < 34; i++) {
		struct group_wish swap = w[i];

		w[i] = w[i + 4];
		w[i + 4] = swap;
	}
	assert_int_equal(group_assign(w, 100), 100 - DAMON_TARGETS_MAX);
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(w[i].kdamond >= 0, w[i].tracked >= 0);
		placed += w[i].kdamond >= 0;
	}
	assert_int_equal(placed, DAMON_TARGETS_MAX);
	/* One that has become the largest of all gets in. */
	w[99].tracked = -1;
	struct group_wish last = w[99];

	memmove(&w[1], &w[0], 99 * sizeof(w[0]));
	w[0] = last;
	assert_int_equal(group_assign(w, 100), 100 - DAMON_TARGETS_MAX);
	assert_true(w[0].kdamond >= 0);
}

static void test_decide(void **state)
{
	const struct group_target ok = { .wanted = true, .alive = true };
	const struct group_target dead = { .wanted = true }, gone = { 0 };
	const struct group_target unwanted = { .alive = true };
	const struct {
		struct group_target t[2];
		size_t n, added;
		bool running, drop, resize;
		enum group_step step;
	} cases[] = {
		{ { ok }, 0, 0, false, false, false, GROUP_KEEP },
		{ { ok }, 0, 2, false, false, false, GROUP_REBUILD },
		{ { ok, ok }, 2, 0, true, false, false, GROUP_KEEP },
		{ { ok, ok }, 2, 0, false, false, false, GROUP_REBUILD },
		{ { ok, ok }, 2, 1, true, false, false, GROUP_COMMIT },
		{ { ok, ok }, 2, 0, true, false, true, GROUP_COMMIT },
		{ { ok, dead }, 2, 0, true, false, false, GROUP_KEEP },
		{ { ok, gone }, 2, 0, true, false, false, GROUP_KEEP },
		{ { ok, dead }, 2, 1, true, false, false, GROUP_REBUILD },
		{ { ok, dead }, 2, 0, true, false, true, GROUP_REBUILD },
		{ { ok, unwanted }, 2, 0, true, false, false, GROUP_REBUILD },
		{ { ok, unwanted }, 2, 0, true, true, false, GROUP_COMMIT },
		{ { ok, dead }, 2, 0, true, true, false, GROUP_COMMIT },
		{ { dead, gone }, 2, 0, true, true, false, GROUP_STOP },
		{ { dead, unwanted }, 2, 0, true, false, false, GROUP_STOP },
		{ { dead }, 1, 0, false, false, false, GROUP_STOP },
		{ { dead }, 1, 1, false, true, false, GROUP_REBUILD },
		{ { ok }, 0, 0, true, false, false, GROUP_STOP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (group_decide(cases[i].t, cases[i].n, cases[i].added, cases[i].running,
				 cases[i].drop, cases[i].resize) != cases[i].step)
			fail_msg("case %zu", i);
}

static void test_bounds(void **state)
{
	assert_int_equal(group_bounds(0, 1).min_regions, 10);
	assert_int_equal(group_bounds(256 * MiB, 1).min_regions, 64);
	assert_int_equal(group_bounds(256 * MiB, 1).max_regions, 256);
	assert_int_equal(group_bounds(UINT64_MAX, 1).min_regions, 256);
	assert_int_equal(group_bounds(0, DAMON_TARGETS_MAX).min_regions, 192);
	assert_false(group_bounds_differ(group_bounds(256 * MiB, 1), group_bounds(300 * MiB, 1)));
	assert_true(group_bounds_differ(group_bounds(256 * MiB, 1), group_bounds(512 * MiB, 1)));
	assert_true(group_bounds_differ((struct group_bounds){ 0 }, group_bounds(0, 1)));
	assert_false(group_bounds_differ(group_bounds(0, 1), group_bounds(0, 1)));
}

static bool changed(const struct tier_region *a, size_t n_a, const struct tier_region *b,
		    size_t n_b)
{
	struct change c = { 0 };

	change_add(&c, a, n_a, b, n_b);
	return change_is_large(&c);
}

static void test_change(void **state)
{
	const struct tier_region hot[] = { { 0, 16 * MiB, 10000 }, { 16 * MiB, 64 * MiB, 0 } };
	const struct tier_region moved[] = { { 0, 32 * MiB, 0 },
					     { 32 * MiB, 48 * MiB, 10000 },
					     { 48 * MiB, 64 * MiB, 0 } };
	const struct tier_region split[] = { { 0, 15 * MiB, 10000 },
					     { 15 * MiB, 17 * MiB, 4000 },
					     { 17 * MiB, 64 * MiB, 0 } };
	const struct tier_region idle[] = { { 0, 64 * MiB, 0 } };
	const struct tier_region blip[] = { { 0, 60 * MiB, 0 }, { 60 * MiB, 64 * MiB, 667 } };
	const struct tier_region far[] = { { 1ULL << 46, (1ULL << 46) + 16 * MiB, 10000 } };

	assert_false(changed(hot, 2, hot, 2));
	assert_false(changed(hot, 2, split, 3));
	assert_true(changed(hot, 2, moved, 3));
	assert_true(changed(hot, 2, idle, 1));
	assert_true(changed(idle, 1, hot, 2));
	assert_false(changed(idle, 1, blip, 2));
	assert_true(changed(hot, 2, far, 1));
	assert_true(changed(hot, 2, NULL, 0));
	assert_false(changed(NULL, 0, NULL, 0));
}

static void test_pace(void **state)
{
	struct pace p = { 0 };

	assert_int_equal(pace_period_us(&p, US_PER_S), US_PER_S);
	for (int i = 0; i < 10; i++)
		assert_int_equal(pace_step(&p, false), PACE_KEEP_REFERENCE);
	assert_int_equal(pace_period_us(&p, US_PER_S), 10 * US_PER_S);
	/* One odd picture: look again soon, and be calm again if it was nothing. */
	assert_int_equal(pace_step(&p, true), PACE_KEEP_REFERENCE);
	assert_int_equal(pace_period_us(&p, US_PER_S), US_PER_S);
	assert_int_equal(pace_step(&p, false), PACE_KEEP_REFERENCE);
	assert_int_equal(pace_period_us(&p, US_PER_S), 10 * US_PER_S);
	assert_int_equal(pace_step(&p, true), PACE_KEEP_REFERENCE);
	assert_int_equal(pace_step(&p, true), PACE_KEEP_REFERENCE);
	assert_int_equal(pace_step(&p, true), PACE_NEW_REFERENCE);
	assert_int_equal(pace_period_us(&p, US_PER_S), US_PER_S);
	assert_int_equal(pace_step(&p, false), PACE_KEEP_REFERENCE);
	assert_int_equal(pace_period_us(&p, US_PER_S), US_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_text),
		cmocka_unit_test(test_record_damaged),
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_statm),
		cmocka_unit_test(test_assign),
		cmocka_unit_test(test_assign_too_many),
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
