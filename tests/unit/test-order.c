// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of nodes alone, on synthetic ones; and the checks before there is a machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "linux/checks.h"
#include "linux/linux.h"
#include "linux/topology.h"
#include "util.h"

/* ---- the order alone ------------------------------------------------------------------------ */

struct spec {
	uint32_t latency_ns;
	uint32_t bandwidth_mib_s;
	unsigned int rank; /* expected */
};

static void assert_attribute_order(const struct spec *specs, size_t n, size_t n_tiers)
{
	int no_tiers[TIER_NODES_MAX];
	struct tier_topology t = {.n_nodes = n};

	for (size_t i = 0; i < n; i++) {
		no_tiers[i] = KERNEL_TIER_NONE;
		t.nodes[i] = (struct tier_node){
			.id = (int)i,
			.has_cpus = true, /* distance says nothing */
			.total_bytes = GiB,
			.latency_ns = specs[i].latency_ns,
			.bandwidth_mib_s = specs[i].bandwidth_mib_s,
		};
	}
	order_nodes(&t, no_tiers, NULL);
	assert_int_equal(t.n_tiers, n_tiers);
	assert_int_equal(t.source, n_tiers > 1 ? TIER_ORDER_ATTRIBUTES : TIER_ORDER_SINGLE);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(t.nodes[i].rank, specs[i].rank);
}

#define ORDER(n_tiers, ...)                                                                        \
	assert_attribute_order((const struct spec[]){__VA_ARGS__},                                 \
			       ARRAY_SIZE(((const struct spec[]){__VA_ARGS__})), n_tiers)

static void test_attribute_order(void **state)
{
	ORDER(2, {100, 1000, 0}, {200, 1000, 1});
	ORDER(2, {200, 1000, 1}, {100, 1000, 0});
	/* Latency first, whatever the bandwidth. */
	ORDER(2, {100, 1000, 0}, {200, 90000, 1});
	/* Like latencies: bandwidth. */
	ORDER(2, {100, 1000, 1}, {109, 4000, 0});
	/* Sockets that firmware measured a little differently are one tier. */
	ORDER(1, {100, 1000, 0}, {110, 950, 0});
	ORDER(2, {110, 950, 0}, {100, 1000, 0}, {250, 500, 1}, {260, 480, 1});
	ORDER(2, {100, 1000, 0}, {111, 1000, 1});
	/* One figure missing for one node: it cannot be used. */
	ORDER(2, {0, 1000, 1}, {100, 4000, 0});
	ORDER(2, {100, 0, 0}, {300, 4000, 1});
	ORDER(1, {0, 1000, 0}, {100, 0, 0});
	ORDER(1, {0, 0, 0}, {0, 0, 0});
	/* Both criteria, three tiers and more. */
	ORDER(4, {100, 1000, 1}, {100, 5000, 0}, {300, 800, 3}, {300, 2000, 2});
	ORDER(2, {UINT32_MAX, 1, 1}, {1, UINT32_MAX, 0});
}

/* A kernel that leaves a node without a tier is not asked. */
static void test_kernel_tier_missing(void **state)
{
	int kernel_tier[TIER_NODES_MAX] = {4, KERNEL_TIER_NONE};
	struct tier_topology t = {.n_nodes = 2};

	t.nodes[0] = (struct tier_node){.id = 0, .has_cpus = true, .total_bytes = 1};
	t.nodes[1] = (struct tier_node){.id = 1, .total_bytes = 1};
	/* No distances either: CPU-less is slower, and nothing is known of how far. */
	order_nodes(&t, kernel_tier, NULL);
	assert_int_equal(t.source, TIER_ORDER_DISTANCE);
	assert_int_equal(t.n_tiers, 2);
	assert_int_equal(t.nodes[1].rank, 1);
	/* But a node without memory has no tier by rights. */
	t.nodes[2] = (struct tier_node){.id = 2, .total_bytes = 1};
	t.n_nodes = 3;
	t.nodes[1].total_bytes = 0;
	kernel_tier[2] = 22;
	order_nodes(&t, kernel_tier, NULL);
	assert_int_equal(t.source, TIER_ORDER_KERNEL);
	assert_int_equal(t.n_tiers, 2);
	assert_int_equal(t.nodes[2].rank, 1);
	assert_int_equal(t.nodes[1].rank, 1);
}

static void test_no_memory_at_all(void **state)
{
	int kernel_tier[TIER_NODES_MAX] = {KERNEL_TIER_NONE};
	struct tier_topology t = {.n_nodes = 1};

	order_nodes(&t, kernel_tier, NULL);
	assert_int_equal(t.n_tiers, 0);
	assert_int_equal(t.nodes[0].rank, 0);
	assert_int_equal(t.source, TIER_ORDER_SINGLE);
}

/* ---- checks --------------------------------------------------------------------------------- */

#define TEXT(s) s, sizeof(s) - 1

static void test_capabilities(void **state)
{
	const char *why;

	/* All; exactly the four needed; none of them; CAP_SYS_NICE alone missing. */
	assert_int_equal(check_capabilities(TEXT("CapEff:\t000001ffffffffff\n"), &why), 0);
	assert_int_equal(check_capabilities(TEXT("CapEff:\t0000000000a80004\n"), &why), 0);
	assert_int_equal(check_capabilities(TEXT("CapEff:\t0000000000000000\n"), &why), -EACCES);
	assert_string_equal(why, "missing privileges: CAP_SYS_PTRACE, CAP_SYS_NICE, "
				 "CAP_DAC_READ_SEARCH, CAP_SYS_ADMIN");
	assert_int_equal(check_capabilities(TEXT("CapEff:\t000001ffff7fffff\n"), &why), -EACCES);
	assert_string_equal(why, "missing privileges: CAP_SYS_NICE");
	assert_int_equal(check_capabilities(TEXT("CapPrm:\t000001ffffffffff\n"), &why), -ENOENT);
	assert_non_null(strstr(why, "CapEff") ?: strstr(why, "capabilities"));
	assert_int_equal(check_capabilities(TEXT("CapEff:\tyes\n"), &why), -EINVAL);
}

static void test_mems_allowed(void **state)
{
	struct tier_topology t = {.n_nodes = 3};
	const char *why;

	t.nodes[0] = (struct tier_node){.id = 0, .total_bytes = 1};
	t.nodes[1] = (struct tier_node){.id = 3, .total_bytes = 0};
	t.nodes[2] = (struct tier_node){.id = 5, .total_bytes = 1};
	assert_int_equal(check_mems_allowed_text(TEXT("Mems_allowed_list:\t0,5\n"), &t, &why), 0);
	assert_int_equal(check_mems_allowed_text(TEXT("Mems_allowed_list:\t0-3\n"), &t, &why),
			 -EACCES);
	assert_non_null(strstr(why, "cpuset"));
	assert_int_equal(check_mems_allowed_text(TEXT("Name:\tx\n"), &t, &why), 0);
	assert_int_equal(check_mems_allowed_text(TEXT("Mems_allowed_list:\t?\n"), &t, &why),
			 -EINVAL);
}

static void test_check_override(void **state)
{
	const char *why = NULL;
	struct tier_list list;

	assert_int_equal(parse_tier_list("0,2 > 1", 7, &list, &why), 0);
	assert_null(why);
	assert_int_equal(parse_tier_list("0,2 > ", 6, &list, &why), -EINVAL);
	assert_non_null(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attribute_order),
		cmocka_unit_test(test_kernel_tier_missing),
		cmocka_unit_test(test_no_memory_at_all),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_mems_allowed),
		cmocka_unit_test(test_check_override),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
