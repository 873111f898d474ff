// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text parsers of the Linux machine, on string literals: what they must accept, and what they
 * must refuse without touching their outputs. Every text is also tried cut at each length from a
 * buffer of exactly that size, so that a sanitizer sees a read beyond the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "linux/parse.h"
#include "util.h"

/* A literal and its length, NUL bytes included. */
#define TEXT(s) s, sizeof(s) - 1

/* Runs @parse on all cuts of @s; it must only not misbehave. */
static void try_cuts(const char *s, size_t n, void (*parse)(const char *s, size_t n))
{
	for (size_t cut = 0; cut <= n; cut++) {
		char *exact = malloc(cut ? cut : 1);

		assert_non_null(exact);
		memcpy(exact, s, cut);
		parse(exact, cut);
		free(exact);
	}
}

static void test_u64(void **state)
{
	uint64_t v = 77;

	assert_int_equal(parse_u64(TEXT("0"), 10, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(parse_u64(TEXT("18446744073709551615\n"), UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(parse_u64(TEXT("007"), 7, &v), 0);
	assert_int_equal(v, 7);

	v = 77;
	assert_int_equal(parse_u64(TEXT("18446744073709551616"), UINT64_MAX, &v), -ERANGE);
	assert_int_equal(parse_u64(TEXT("99999999999999999999999"), UINT64_MAX, &v), -ERANGE);
	assert_int_equal(parse_u64(TEXT("11"), 10, &v), -ERANGE);
	assert_int_equal(parse_u64(TEXT(""), 10, &v), -EINVAL);
	assert_int_equal(parse_u64(TEXT("\n"), 10, &v), -EINVAL);
	assert_int_equal(parse_u64(TEXT("-1"), 10, &v), -EINVAL);
	assert_int_equal(parse_u64(TEXT("+1"), 10, &v), -EINVAL);
	assert_int_equal(parse_u64(TEXT(" 1"), 10, &v), -EINVAL);
	assert_int_equal(parse_u64(TEXT("1 "), 10, &v), -EINVAL);
	assert_int_equal(parse_u64(TEXT("1\n\n"), 10, &v), -EINVAL);
	assert_int_equal(parse_u64(TEXT("1\0"), 10, &v), -EINVAL);
	assert_int_equal(parse_u64(TEXT("0x1"), 10, &v), -EINVAL);
	assert_int_equal(v, 77);
}

static void assert_nodes(const struct node_set *s, const int *ids, size_t n)
{
	int id = -1;

	assert_int_equal(node_set_count(s), n);
	for (size_t i = 0; i < n; i++) {
		id = node_set_next(s, id + 1);
		assert_int_equal(id, ids[i]);
		assert_true(node_set_has(s, id));
	}
	assert_int_equal(node_set_next(s, id + 1), -1);
}

static void parse_node_list_only(const char *s, size_t n)
{
	struct node_set set;

	parse_node_list(s, n, &set);
}

static void test_node_list(void **state)
{
	struct node_set s = {0};

	assert_int_equal(parse_node_list(TEXT("0\n"), &s), 0);
	assert_nodes(&s, (int[]){0}, 1);
	assert_int_equal(parse_node_list(TEXT("0,2-4,63-64,1023"), &s), 0);
	assert_nodes(&s, (int[]){0, 2, 3, 4, 63, 64, 1023}, 7);
	assert_int_equal(parse_node_list(TEXT("0-1023\n"), &s), 0);
	assert_int_equal(node_set_count(&s), 1024);
	assert_int_equal(parse_node_list(TEXT("\n"), &s), 0);
	assert_int_equal(node_set_count(&s), 0);
	assert_int_equal(parse_node_list(TEXT(""), &s), 0);
	assert_int_equal(node_set_count(&s), 0);

	node_set_add(&s, 7);
	assert_int_equal(parse_node_list(TEXT("1024"), &s), -ERANGE);
	assert_int_equal(parse_node_list(TEXT("0-1024"), &s), -ERANGE);
	assert_int_equal(parse_node_list(TEXT("0-99999999999999999999"), &s), -ERANGE);
	assert_int_equal(parse_node_list(TEXT("3-2"), &s), -EINVAL);
	assert_int_equal(parse_node_list(TEXT("0,"), &s), -EINVAL);
	assert_int_equal(parse_node_list(TEXT(",0"), &s), -EINVAL);
	assert_int_equal(parse_node_list(TEXT("0-"), &s), -EINVAL);
	assert_int_equal(parse_node_list(TEXT("0-2-4"), &s), -EINVAL);
	assert_int_equal(parse_node_list(TEXT("0, 1"), &s), -EINVAL);
	assert_int_equal(parse_node_list(TEXT("0\n1\n"), &s), -EINVAL);
	assert_int_equal(parse_node_list(TEXT("0\0001"), &s), -EINVAL);
	assert_int_equal(parse_node_list(TEXT("all"), &s), -EINVAL);
	assert_nodes(&s, (int[]){7}, 1);
	try_cuts(TEXT("0,2-4,63-64,1023\n"), parse_node_list_only);
}

static void test_node_set_bounds(void **state)
{
	struct node_set a = {0}, b = {0};

	assert_false(node_set_has(&a, -1));
	assert_false(node_set_has(&a, NODE_ID_MAX + 1));
	assert_int_equal(node_set_next(&a, -5), -1);
	node_set_add(&a, NODE_ID_MAX);
	assert_int_equal(node_set_next(&a, -5), NODE_ID_MAX);
	assert_false(node_set_within(&a, &b));
	assert_true(node_set_within(&b, &a));
	node_set_add(&b, NODE_ID_MAX);
	assert_true(node_set_within(&a, &b));
}

static void parse_tier_list_only(const char *s, size_t n)
{
	struct tier_list list;
	const char *why = NULL;

	if (parse_tier_list(s, n, &list, &why) < 0)
		assert_non_null(why);
}

static void test_tier_list(void **state)
{
	static const char *const bad[] = {
		"",    ">",	"0 >",	    "> 0", "0 > > 1", "0,2 > 2", "0-3 > 1", "0 > 0", "0;1",
		"0 1", "a > b", "0 > 1024", "0,",  "0 > 1x",  "0 < 1",	 "0\n> 1",  "3-1",   "-1",
	};
	struct tier_list l = {0};
	const char *why = NULL;
	char long_list[512] = "0";

	assert_int_equal(parse_tier_list(TEXT("0,2 > 1 > 3"), &l, &why), 0);
	assert_int_equal(l.n_tiers, 3);
	assert_nodes(&l.tiers[0], (int[]){0, 2}, 2);
	assert_nodes(&l.tiers[1], (int[]){1}, 1);
	assert_nodes(&l.tiers[2], (int[]){3}, 1);
	assert_int_equal(parse_tier_list(TEXT("\t5-6 ,\t0>1 "), &l, &why), 0);
	assert_int_equal(l.n_tiers, 2);
	assert_nodes(&l.tiers[0], (int[]){0, 5, 6}, 3);
	assert_int_equal(parse_tier_list(TEXT("0-1"), &l, &why), 0);
	assert_int_equal(l.n_tiers, 1);
	assert_null(why);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		why = NULL;
		assert_int_equal(parse_tier_list(bad[i], strlen(bad[i]), &l, &why), -EINVAL);
		assert_non_null(why);
	}
	assert_int_equal(l.n_tiers, 1);

	/* As many tiers as there can be nodes, and one more. */
	for (int i = 1; i < TIER_NODES_MAX; i++)
		sprintf(long_list + strlen(long_list), ">%d", i);
	assert_int_equal(parse_tier_list(long_list, strlen(long_list), &l, &why), 0);
	assert_int_equal(l.n_tiers, TIER_NODES_MAX);
	sprintf(long_list + strlen(long_list), ">%d", TIER_NODES_MAX);
	assert_int_equal(parse_tier_list(long_list, strlen(long_list), &l, &why), -EINVAL);
	try_cuts(TEXT("0,2 > 1 > 3"), parse_tier_list_only);
}

static void parse_distances_only(const char *s, size_t n)
{
	uint8_t d[TIER_NODES_MAX];
	size_t found;

	parse_distances(s, n, TIER_NODES_MAX, d, &found);
}

static void test_distances(void **state)
{
	uint8_t d[TIER_NODES_MAX] = {0};
	size_t n = 99;

	assert_int_equal(parse_distances(TEXT("10 20 255\n"), TIER_NODES_MAX, d, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(d[0], 10);
	assert_int_equal(d[1], 20);
	assert_int_equal(d[2], 255);
	assert_int_equal(parse_distances(TEXT("11"), 1, d, &n), 0);
	assert_int_equal(n, 1);

	assert_int_equal(parse_distances(TEXT("10 20"), 1, d, &n), -E2BIG);
	assert_int_equal(parse_distances(TEXT("12 256"), 2, d, &n), -ERANGE);
	assert_int_equal(parse_distances(TEXT("12 x"), 2, d, &n), -EINVAL);
	assert_int_equal(parse_distances(TEXT("12\n13\n"), 2, d, &n), -EINVAL);
	assert_int_equal(parse_distances(TEXT("\n"), 2, d, &n), -EINVAL);
	assert_int_equal(parse_distances(TEXT(""), 2, d, &n), -EINVAL);
	assert_int_equal(parse_distances(TEXT("12\00013"), 2, d, &n), -EINVAL);
	assert_int_equal(n, 1);
	assert_int_equal(d[0], 11);
	try_cuts(TEXT("10 20 255\n"), parse_distances_only);
}

static void parse_meminfo_only(const char *s, size_t n)
{
	uint64_t total, free_bytes;

	parse_meminfo(s, n, &total, &free_bytes);
}

static void test_meminfo(void **state)
{
	static const char node[] = "Node 1 MemTotal:        5465884 kB\n"
				   "Node 1 MemFree:         4972060 kB\n"
				   "Node 1 HugePages_Total:     0\n";
	uint64_t total = 1, unused = 2;

	assert_int_equal(parse_meminfo(TEXT(node), &total, &unused), 0);
	assert_true(total == 5465884 * KiB);
	assert_true(unused == 4972060 * KiB);
	assert_int_equal(parse_meminfo(TEXT("MemFree: 1 kB\nSwapTotal: 7 kB\nMemTotal: 2 kB"),
				       &total, &unused),
			 0);
	assert_true(total == 2 * KiB);
	assert_true(unused == 1 * KiB);
	assert_int_equal(parse_meminfo(TEXT("Node 0 MemTotal: 0 kB\nNode 0 MemFree: 0 kB\n"),
				       &total, &unused),
			 0);
	assert_true(total == 0 && unused == 0);

	total = unused = 7;
	assert_int_equal(parse_meminfo(TEXT("MemTotal: 2 kB\n"), &total, &unused), -EINVAL);
	assert_int_equal(parse_meminfo(TEXT("MemTotal: 2 MB\nMemFree: 1 kB\n"), &total, &unused),
			 -EINVAL);
	assert_int_equal(parse_meminfo(TEXT("MemTotal: 2 kBx\nMemFree: 1 kB\n"), &total, &unused),
			 -EINVAL);
	assert_int_equal(parse_meminfo(TEXT("MemTotal: -2 kB\nMemFree: 1 kB\n"), &total, &unused),
			 -EINVAL);
	assert_int_equal(parse_meminfo(TEXT("MemTotal: 18446744073709551615 kB\nMemFree: 1 kB\n"),
				       &total, &unused),
			 -ERANGE);
	assert_int_equal(parse_meminfo(TEXT(""), &total, &unused), -EINVAL);
	assert_true(total == 7 && unused == 7);
	try_cuts(TEXT(node), parse_meminfo_only);
}

static void parse_numa_stat_only(const char *s, size_t n)
{
	struct numa_stat_line line;

	parse_numa_stat_line(s, n, &line);
}

static void test_numa_stat(void **state)
{
	struct numa_stat_line l = {.kind = NUMA_STAT_OTHER};
	char many[1024] = "anon";

	assert_int_equal(
		parse_numa_stat_line(TEXT("anon N0=4096 N1023=18446744073709551615\n"), &l), 0);
	assert_int_equal(l.kind, NUMA_STAT_ANON);
	assert_int_equal(l.n_nodes, 2);
	assert_int_equal(l.nodes[0].id, 0);
	assert_true(l.nodes[0].bytes == 4096);
	assert_int_equal(l.nodes[1].id, 1023);
	assert_true(l.nodes[1].bytes == UINT64_MAX);
	assert_int_equal(parse_numa_stat_line(TEXT("file N2=0"), &l), 0);
	assert_int_equal(l.kind, NUMA_STAT_FILE);
	assert_int_equal(parse_numa_stat_line(TEXT("shmem N2=1"), &l), 0);
	assert_int_equal(l.kind, NUMA_STAT_SHMEM);
	/* Lines of no use are not looked into. */
	assert_int_equal(parse_numa_stat_line(TEXT("file_mapped N0=1 Nx=?\n"), &l), 0);
	assert_int_equal(l.kind, NUMA_STAT_OTHER);
	assert_int_equal(l.n_nodes, 0);
	assert_int_equal(parse_numa_stat_line(TEXT("anon_thp N0=1\n"), &l), 0);
	assert_int_equal(l.kind, NUMA_STAT_OTHER);

	l.n_nodes = 5;
	assert_int_equal(parse_numa_stat_line(TEXT(""), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("\n"), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("anon N0\n"), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("anon N0=\n"), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("anon 0=1\n"), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("anon N0=1x\n"), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("anon N1024=1\n"), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("anon N0=18446744073709551616\n"), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("anon N0=1\nfile N0=1\n"), &l), -EINVAL);
	assert_int_equal(parse_numa_stat_line(TEXT("anon N0=1\0 N1=2\n"), &l), -EINVAL);
	assert_int_equal(l.n_nodes, 5);

	for (int i = 0; i < TIER_NODES_MAX; i++)
		sprintf(many + strlen(many), " N%d=1", i);
	assert_int_equal(parse_numa_stat_line(many, strlen(many), &l), 0);
	assert_int_equal(l.n_nodes, TIER_NODES_MAX);
	strcat(many, " N99=1");
	assert_int_equal(parse_numa_stat_line(many, strlen(many), &l), -E2BIG);
	try_cuts(TEXT("shmem N0=4096 N2=18446744073709551615\n"), parse_numa_stat_only);
}

static void parse_psi_only(const char *s, size_t n)
{
	uint64_t us;

	parse_psi_some(s, n, &us);
}

static void test_psi(void **state)
{
	static const char psi[] = "some avg10=1.50 avg60=0.00 avg300=0.00 total=123456\n"
				  "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
	uint64_t us = 1;

	assert_int_equal(parse_psi_some(TEXT(psi), &us), 0);
	assert_int_equal(us, 123456);
	assert_int_equal(parse_psi_some(TEXT("full total=1\nsome total=2"), &us), 0);
	assert_int_equal(us, 2);

	assert_int_equal(parse_psi_some(TEXT("full avg10=0.00 total=9\n"), &us), -EINVAL);
	assert_int_equal(parse_psi_some(TEXT("some avg10=0.00\n"), &us), -EINVAL);
	assert_int_equal(parse_psi_some(TEXT("some total=\n"), &us), -EINVAL);
	assert_int_equal(parse_psi_some(TEXT("some total=1.5\n"), &us), -EINVAL);
	assert_int_equal(parse_psi_some(TEXT("some total=18446744073709551616\n"), &us), -EINVAL);
	assert_int_equal(parse_psi_some(TEXT("something total=1\n"), &us), -EINVAL);
	assert_int_equal(parse_psi_some(TEXT(""), &us), -EINVAL);
	assert_int_equal(us, 2);
	try_cuts(TEXT(psi), parse_psi_only);
}

static void parse_pids_only(const char *s, size_t n)
{
	pid_t *pids = NULL;
	size_t found;

	if (parse_pids(s, n, 100, &pids, &found) == 0)
		free(pids);
}

static void test_pids(void **state)
{
	pid_t *pids = NULL;
	size_t n = 9;

	assert_int_equal(parse_pids(TEXT(""), 3, &pids, &n), 0);
	assert_int_equal(n, 0);
	free(pids);
	assert_int_equal(parse_pids(TEXT("1\n0\n4194304\n22"), 3, &pids, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(pids[0], 1);
	assert_int_equal(pids[1], 4194304);
	assert_int_equal(pids[2], 22);
	free(pids);

	pids = NULL;
	assert_int_equal(parse_pids(TEXT("1\n2\n3\n4\n"), 3, &pids, &n), -E2BIG);
	assert_int_equal(parse_pids(TEXT("1\n2147483648\n"), 3, &pids, &n), -ERANGE);
	assert_int_equal(parse_pids(TEXT("1\n\n2\n"), 3, &pids, &n), -EINVAL);
	assert_int_equal(parse_pids(TEXT("1 2\n"), 3, &pids, &n), -EINVAL);
	assert_int_equal(parse_pids(TEXT("-1\n"), 3, &pids, &n), -EINVAL);
	assert_int_equal(parse_pids(TEXT("1\0\n2\n"), 3, &pids, &n), -EINVAL);
	assert_null(pids);
	assert_int_equal(n, 3);
	try_cuts(TEXT("1\n0\n4194304\n22"), parse_pids_only);
}

static void parse_field_only(const char *s, size_t n)
{
	const char *value;
	size_t size;

	parse_status_field(s, n, "CapEff", &value, &size);
}

static void test_status_field(void **state)
{
	static const char status[] = "Name:\tCapEff: no\nCapEffX:\t1\nCapEff:\t00ff \nUid:\t0 0\n";
	const char *value = NULL;
	size_t n = 0;

	assert_int_equal(parse_status_field(TEXT(status), "CapEff", &value, &n), 0);
	assert_int_equal(n, 4);
	assert_memory_equal(value, "00ff", 4);
	assert_int_equal(parse_status_field(TEXT("A:\n"), "A", &value, &n), 0);
	assert_int_equal(n, 0);
	n = 3;
	assert_int_equal(parse_status_field(TEXT(status), "CapPrm", &value, &n), -ENOENT);
	assert_int_equal(parse_status_field(TEXT(""), "CapPrm", &value, &n), -ENOENT);
	assert_int_equal(n, 3);
	try_cuts(TEXT(status), parse_field_only);
}

static void test_hex(void **state)
{
	uint64_t v = 5;

	assert_int_equal(parse_hex_u64(TEXT("000001ffffffffff"), &v), 0);
	assert_true(v == 0x1ffffffffffULL);
	assert_int_equal(parse_hex_u64(TEXT("ffffffffffffffff"), &v), 0);
	assert_true(v == UINT64_MAX);
	v = 5;
	assert_int_equal(parse_hex_u64(TEXT("0ffffffffffffffff"), &v), -EINVAL);
	assert_int_equal(parse_hex_u64(TEXT(""), &v), -EINVAL);
	assert_int_equal(parse_hex_u64(TEXT("0x1"), &v), -EINVAL);
	assert_int_equal(parse_hex_u64(TEXT("1\0"), &v), -EINVAL);
	assert_int_equal(v, 5);
}

static void test_has_word(void **state)
{
	static const char controllers[] = "cpuset cpu io memory_x memory pids\n";

	assert_true(parse_has_word(TEXT(controllers), "memory"));
	assert_true(parse_has_word(TEXT(controllers), "cpuset"));
	assert_true(parse_has_word(TEXT(controllers), "pids"));
	assert_false(parse_has_word(TEXT(controllers), "mem"));
	assert_false(parse_has_word(TEXT("cpu memory_x\n"), "memory"));
	assert_false(parse_has_word(TEXT(""), "memory"));
	assert_false(parse_has_word(TEXT("\n"), "memory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_node_list),
		cmocka_unit_test(test_node_set_bounds),
		cmocka_unit_test(test_tier_list),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_meminfo),
		cmocka_unit_test(test_numa_stat),
		cmocka_unit_test(test_psi),
		cmocka_unit_test(test_pids),
		cmocka_unit_test(test_status_field),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_has_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
