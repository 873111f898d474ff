// SPDX-License-Identifier: GPL-2.0-or-later
/* Globs over cgroup paths: which are globs, what they match, and which of several wins. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "config/match.h"
#include "util.h"

static void test_check_good(void **state)
{
	static const char *const good[] = {
		"system.slice",
		"system.slice/postgresql*.service",
		"*",
		"a/*/b",
		"a.slice/**",
		"*/**",
		"a[0-9]b",
		"a[]]b",
		"a[!]]b",
		"a[^x-z]",
		"a[*][*]b",
		"a]b",
		"system.slice/dev-disk-by\\x2dlabel.swap",
		"a..b",
		"...",
		"caf\xc3\xa9.service",
		"\xff\xfe",
		"a b;c#d",
	};
	const char *why = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (glob_check(good[i], strlen(good[i]), &why) || why)
			fail_msg("\"%s\" refused: %s", good[i], why);
}

static void test_check_bad(void **state)
{
	static const struct {
		const char *glob;
		const char *why;
	} bad[] = {
		{"", "empty"},
		{"/", "empty component"},
		{"/a", "empty component"},
		{"a/", "empty component"},
		{"a//b", "empty component"},
		{"..", "'..'"},
		{"../a", "'..'"},
		{"a/../b", "'..'"},
		{"a/..", "'..'"},
		{".", "'.'"},
		{"a/./b", "'.'"},
		{"**", "'**' is only"},
		{"**/a", "'**' is only"},
		{"a/**/b", "'**' is only"},
		{"a**", "'**' inside"},
		{"a/b***", "'**' inside"},
		{"***", "'**' inside"},
		{"a[b", "without its"},
		{"a[b/c]", "without its"},
		{"a[", "without its"},
		{"a[!]", "without its"},
		{"a[]", "without its"},
		{"a\tb", "control"},
		{"a\x7f", "control"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *why = NULL;
		int r = glob_check(bad[i].glob, strlen(bad[i].glob), &why);

		if (r != -EINVAL || !why || !strstr(why, bad[i].why))
			fail_msg("\"%s\": %d, %s", bad[i].glob, r, why);
	}
}

static void test_check_length(void **state)
{
	static char glob[GLOB_BYTES_MAX + 2];
	const char *why;

	memset(glob, 'a', GLOB_BYTES_MAX + 1);
	assert_int_equal(glob_check(glob, GLOB_BYTES_MAX, &why), 0);
	assert_int_equal(glob_check(glob, GLOB_BYTES_MAX + 1, &why), -EINVAL);
	assert_int_equal(glob_check("a\0b", 3, &why), -EINVAL);
}

struct match_case {
	const char *glob;
	const char *path;
	bool matches;
};

static void test_match(void **state)
{
	static const struct match_case cases[] = {
		{"a.slice", "a.slice", true},
		{"a.slice", "a.slice/b.service", false},
		{"a.slice", "a_slice", false},
		{"a.slice/*", "a.slice/b.service", true},
		{"a.slice/*", "a.slice", false},
		{"a.slice/*", "a.slice/b.slice/c.service", false},
		{"a.slice/*/c*", "a.slice/b.slice/c.service", true},
		{"a.slice/**", "a.slice", false},
		{"a.slice/**", "a.slice/b.service", true},
		{"a.slice/**", "a.slice/b.slice/c.service", true},
		{"a.slice/**", "ab.slice/b.slice/c.service", false},
		{"*.slice/**", "a.slice/b.slice/c.service", true},
		{"a.slice/*/**", "a.slice/b.service", false},
		{"a.slice/*/**", "a.slice/b.slice/c.service", true},
		{"*", "a.slice", true},
		{"*", "a.slice/b", false},
		{"*", "", false},
		{"*", ".hidden", true},
		{"db?", "db1", true},
		{"db?", "db", false},
		{"a?b", "a/b", false},
		{"db[0-3]", "db2", true},
		{"db[0-3]", "db4", false},
		{"db[!0-3]", "db4", true},
		{"a[*]b", "a*b", true},
		{"a[*]b", "axb", false},
		{"dev\\x2dlabel.*", "dev\\x2dlabel.swap", true},
		{"a\\*", "a\\bc", true},
		{"\xff*", "\xff\xfe", true},
		{"DB", "db", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (glob_match(cases[i].glob, cases[i].path) != cases[i].matches)
			fail_msg("\"%s\" on \"%s\"", cases[i].glob, cases[i].path);
}

/* Names of cgroups are hostile: stars must not multiply the work. */
static void test_match_is_fast(void **state)
{
	static char path[GLOB_BYTES_MAX];
	struct timespec begin, end;

	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 250 == 249 ? '/' : "ab"[i & 1];
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_false(glob_match("*a*b*a*b*a*b*a*b*a*b*a*b*c", path));
	assert_false(glob_match("*[ab]*[ab]*[ab]*[ab]*[ab]*[ab]*[ab]*[ab]*c/**", path));
	assert_false(glob_match("*/*/*/*/*/*/*/*/*/*/*/*c", path));
	clock_gettime(CLOCK_MONOTONIC, &end);
	/* It takes microseconds; a backtracking matcher would take years. */
	assert_true(end.tv_sec - begin.tv_sec < 5);
}

static void assert_less_specific(const char *a, const char *b)
{
	struct glob_rank x = glob_rank(a), y = glob_rank(b);

	if (glob_rank_compare(&x, &y) >= 0 || glob_rank_compare(&y, &x) <= 0)
		fail_msg("\"%s\" is not less specific than \"%s\"", a, b);
}

static void test_rank(void **state)
{
	struct glob_rank x = glob_rank("a/[]x]?*b"), y = glob_rank("a/[^]x]?*c");

	assert_false(x.is_exact);
	assert_true(x.is_one_level);
	assert_int_equal(x.prefix_bytes, 2);
	assert_int_equal(x.literal_bytes, 3);
	assert_int_equal(glob_rank_compare(&x, &y), 0);

	assert_less_specific("a*", "a");	/* 1: no wildcards */
	assert_less_specific("abc*", "ab");	/*    … whatever the prefix */
	assert_less_specific("a*bcdef", "ab*"); /* 2: longer prefix, whatever the rest */
	assert_less_specific("a/*", "a/*b");	/* 3: more characters */
	assert_less_specific("a/**", "a/*");	/* 4: one level before any depth */
	assert_less_specific("*", "*/*");
	assert_less_specific("a/**", "a/b/**");
}

static struct policy policy_of(char **globs, size_t n)
{
	return (struct policy){.n_globs = n, .globs = globs};
}

static void test_policy_set(void **state)
{
	char *wide[] = {(char *)"system.slice/**", (char *)"user.slice/*"};
	char *exact[] = {(char *)"system.slice/db.service"};
	char *narrow[] = {(char *)"system.slice/db*.service", (char *)"system.slice/d*"};
	char *equal[] = {(char *)"user.slice/?"};
	struct policy policies[] = {policy_of(wide, 2), policy_of(exact, 1), policy_of(narrow, 2),
				    policy_of(equal, 1)};
	struct policy_set set = {.n_policies = 4, .policies = policies};
	size_t glob = 99;

	assert_ptr_equal(policy_set_match(&set, "system.slice/db.service"), &policies[1]);
	assert_ptr_equal(policy_set_match(&set, "system.slice/db2.service"), &policies[2]);
	assert_ptr_equal(policy_set_match_glob(&set, "system.slice/dnsd.service", &glob),
			 &policies[2]);
	assert_int_equal(glob, 1);
	assert_ptr_equal(policy_set_match(&set, "system.slice/x.service"), &policies[0]);
	assert_ptr_equal(policy_set_match(&set, "system.slice/db.service/sub"), &policies[0]);
	/* As specific as each other: the later file. */
	assert_ptr_equal(policy_set_match(&set, "user.slice/x"), &policies[3]);
	assert_ptr_equal(policy_set_match_glob(&set, "user.slice/xy", &glob), &policies[0]);
	assert_int_equal(glob, 1);

	glob = 99;
	assert_null(policy_set_match_glob(&set, "system.slice", &glob));
	assert_null(policy_set_match_glob(&set, "", &glob));
	assert_int_equal(glob, 99);
	set.n_policies = 0;
	assert_null(policy_set_match(&set, "system.slice/db.service"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_good),    cmocka_unit_test(test_check_bad),
		cmocka_unit_test(test_check_length),  cmocka_unit_test(test_match),
		cmocka_unit_test(test_match_is_fast), cmocka_unit_test(test_rank),
		cmocka_unit_test(test_policy_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
