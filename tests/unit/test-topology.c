// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nodes and their order: the recorded machines of tests/fixtures/make, read as the daemon reads
 * them, hwloc included.
 */
#include "recorded-machines.h"

static void assert_node(const struct tier_node *n, int id, unsigned int rank, bool has_cpus,
			uint64_t total_kib, uint32_t latency_ns, uint32_t bandwidth_mib_s)
{
	assert_int_equal(n->id, id);
	assert_int_equal(n->rank, rank);
	assert_int_equal(n->has_cpus, has_cpus);
	assert_true(n->total_bytes == total_kib * KiB);
	assert_int_equal(n->latency_ns, latency_ns);
	assert_int_equal(n->bandwidth_mib_s, bandwidth_mib_s);
}

/* ---- recorded machines ---------------------------------------------------------------------- */

static void test_one_node(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "one-node", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_nodes, 1);
	assert_int_equal(t->n_tiers, 1);
	assert_int_equal(t->source, TIER_ORDER_SINGLE);
	assert_node(&t->nodes[0], 0, 0, true, 4194304, 0, 0);
	assert_true(t->nodes[0].free_bytes == 3 * GiB);
	assert_int_equal(t->distance[0][0], 10);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_two_hmat(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "two-hmat", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_nodes, 2);
	assert_int_equal(t->n_tiers, 2);
	assert_int_equal(t->source, TIER_ORDER_KERNEL);
	assert_node(&t->nodes[0], 0, 0, true, 1048576, 100, 20000);
	assert_node(&t->nodes[1], 1, 1, false, 4194304, 300, 5000);
	assert_int_equal(t->distance[0][1], 20);
	assert_int_equal(t->distance[1][1], 10);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_attributes_when_kernel_has_one_tier(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "two-hmat-old", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_tiers, 2);
	assert_int_equal(t->source, TIER_ORDER_ATTRIBUTES);
	assert_node(&t->nodes[0], 0, 0, true, 1048576, 100, 20000);
	assert_node(&t->nodes[1], 1, 1, false, 4194304, 300, 5000);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_two_nohmat(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "two-nohmat", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_tiers, 2);
	assert_int_equal(t->source, TIER_ORDER_DISTANCE);
	assert_node(&t->nodes[0], 0, 0, true, 1048576, 0, 0);
	assert_node(&t->nodes[1], 1, 1, false, 4194304, 0, 0);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_three_sparse(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "three-sparse", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_nodes, 3);
	assert_int_equal(t->n_tiers, 3);
	assert_int_equal(t->source, TIER_ORDER_KERNEL);
	/* The fastest has no CPUs. */
	assert_node(&t->nodes[0], 0, 0, false, 16777216, 90, 400000);
	assert_node(&t->nodes[1], 2, 1, true, 67108864, 110, 100000);
	assert_node(&t->nodes[2], 5, 2, false, 268435456, 260, 30000);
	assert_int_equal(t->distance[0][2], 31);
	assert_int_equal(t->distance[2][1], 24);
	assert_int_equal(tier_topology_index(t, 5), 2);
	assert_int_equal(tier_topology_index(t, 1), -1);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_four(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "four", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_nodes, 4);
	assert_int_equal(t->n_tiers, 2);
	assert_int_equal(t->source, TIER_ORDER_DISTANCE);
	for (size_t i = 0; i < 4; i++)
		assert_node(&t->nodes[i], (int)i, i >= 2, i < 2, i < 2 ? 33554432 : 134217728, 0,
			    0);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_memoryless(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "memoryless", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_nodes, 3);
	assert_int_equal(t->n_tiers, 2);
	assert_int_equal(t->source, TIER_ORDER_DISTANCE);
	assert_node(&t->nodes[0], 0, 1, true, 0, 0, 0);
	assert_node(&t->nodes[1], 1, 0, true, 33554432, 0, 0);
	assert_node(&t->nodes[2], 2, 1, false, 134217728, 0, 0);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_override(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "four", "3 > 0,2 > 1");
	t = read_topology(&m);
	assert_int_equal(t->n_tiers, 3);
	assert_int_equal(t->source, TIER_ORDER_OVERRIDE);
	assert_int_equal(t->nodes[3].rank, 0);
	assert_int_equal(t->nodes[0].rank, 1);
	assert_int_equal(t->nodes[2].rank, 1);
	assert_int_equal(t->nodes[1].rank, 2);
	tier_topology_free(t);
	machine_close(&m);

	/* A node that came after the order was written is the slowest tier. */
	machine_open_recorded(&m, "four", "1 > 0,2");
	t = read_topology(&m);
	assert_int_equal(t->n_tiers, 3);
	assert_int_equal(t->nodes[3].rank, 2);
	tier_topology_free(t);
	machine_close(&m);
}

/* ---- changes while it runs ------------------------------------------------------------------ */

static void test_free_is_read_again(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "two-hmat", NULL);
	tier_topology_free(read_topology(&m));
	write_file("two-hmat", NODE "/node1/meminfo",
		   "Node 1 MemTotal: 4194304 kB\nNode 1 MemFree: 12 kB\n");
	t = read_topology(&m);
	assert_true(t->nodes[1].free_bytes == 12 * KiB);
	assert_node(&t->nodes[1], 1, 1, false, 4194304, 300, 5000);
	tier_topology_free(t);
	machine_close(&m);
}

/* hwloc's part is kept while nothing came or went, and read again when something did. */
static void test_hotplug(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "two-hmat-old", NULL);
	tier_topology_free(read_topology(&m));
	write_file("two-hmat-old", NODE "/node1/access0/initiators/read_latency", "500\n");
	write_file("two-hmat-old", NODE "/node1/access0/initiators/write_latency", "500\n");
	t = read_topology(&m);
	assert_int_equal(t->nodes[1].latency_ns, 300);
	tier_topology_free(t);

	write_file("two-hmat-old", NODE "/online", "0\n");
	write_file("two-hmat-old", NODE "/node0/distance", "10\n");
	t = read_topology(&m);
	assert_int_equal(t->n_nodes, 1);
	assert_int_equal(t->n_tiers, 1);
	tier_topology_free(t);

	write_file("two-hmat-old", NODE "/online", "0-1\n");
	write_file("two-hmat-old", NODE "/node0/distance", "10 20\n");
	t = read_topology(&m);
	assert_int_equal(t->n_nodes, 2);
	assert_int_equal(t->nodes[1].latency_ns, 500);
	assert_int_equal(t->source, TIER_ORDER_ATTRIBUTES);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_kernel_tiers_change(void **state)
{
	struct linux_machine m;
	struct tier_topology *t;

	machine_open_recorded(&m, "two-hmat", NULL);
	tier_topology_free(read_topology(&m));
	/* On its way: in both for a moment. Then the expander is the faster one. */
	write_file("two-hmat", TIERS "/memory_tier4/nodelist", "0-1\n");
	t = read_topology(&m);
	assert_int_equal(t->source, TIER_ORDER_ATTRIBUTES);
	tier_topology_free(t);
	write_file("two-hmat", TIERS "/memory_tier4/nodelist", "1\n");
	write_file("two-hmat", TIERS "/memory_tier22/nodelist", "0\n");
	t = read_topology(&m);
	assert_int_equal(t->source, TIER_ORDER_KERNEL);
	assert_int_equal(t->nodes[0].rank, 1);
	assert_int_equal(t->nodes[1].rank, 0);
	tier_topology_free(t);
	machine_close(&m);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void assert_read_fails(const char *machine, const char *file, const char *text, int error)
{
	struct tier_topology *t = NULL;
	struct linux_machine m;

	write_file(machine, file, text);
	machine_open_recorded(&m, machine, NULL);
	assert_int_equal(linux_topology_read(&m, &t), error);
	assert_null(t);
	machine_close(&m);
}

static void test_garbage(void **state)
{
	assert_read_fails("one-node", NODE "/online", "", -EINVAL);
	assert_read_fails("one-node", NODE "/online", "zero\n", -EINVAL);
	assert_read_fails("one-node", NODE "/online", "0-32\n", -E2BIG);
	assert_read_fails("one-node", NODE "/online", "0-1\n", -ENOENT);
	assert_read_fails("two-nohmat", NODE "/node1/meminfo", "", -EINVAL);
	assert_read_fails("two-hmat", NODE "/node1/distance", "20 -1\n", -EINVAL);
	assert_read_fails("four", TIERS "/memory_tier4/nodelist", "0-3x\n", -EINVAL);
}

/* Names beside the tiers, and tiers of nodes that are not online. */
static void test_odd_tiers(void **state)
{
	char path[PATH_ROOM];
	struct linux_machine m;
	struct tier_topology *t;

	snprintf(path, sizeof(path), "%s/two-hmat/" TIERS "/memory_tier99999999999999", machines);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/two-hmat/" TIERS "/memory_tier7", machines);
	assert_int_equal(mkdir(path, 0755), 0);
	write_file("two-hmat", TIERS "/memory_tier22/nodelist", "1,9\n");
	machine_open_recorded(&m, "two-hmat", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_tiers, 2);
	assert_int_equal(t->source, TIER_ORDER_KERNEL);
	tier_topology_free(t);
	machine_close(&m);
}

static void test_kernel_without_numa(void **state)
{
	char from[PATH_ROOM], to[PATH_ROOM];
	struct linux_machine m;
	struct tier_topology *t;

	snprintf(from, sizeof(from), "%s/one-node/" NODE, machines);
	snprintf(to, sizeof(to), "%s/one-node/sys/gone", machines);
	assert_int_equal(rename(from, to), 0);
	machine_open_recorded(&m, "one-node", NULL);
	t = read_topology(&m);
	assert_int_equal(t->n_nodes, 1);
	assert_int_equal(t->n_tiers, 1);
	assert_node(&t->nodes[0], 0, 0, true, 1048576, 0, 0);
	tier_topology_free(t);
	machine_close(&m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_node),
		TEST(test_two_hmat),
		TEST(test_attributes_when_kernel_has_one_tier),
		TEST(test_two_nohmat),
		TEST(test_three_sparse),
		TEST(test_four),
		TEST(test_memoryless),
		TEST(test_override),
		TEST(test_free_is_read_again),
		TEST(test_hotplug),
		TEST(test_kernel_tiers_change),
		TEST(test_garbage),
		TEST(test_odd_tiers),
		TEST(test_kernel_without_numa),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
