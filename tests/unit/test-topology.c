// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nodes and their order: the recorded machines of tests/fixtures/make and what gather records of
 * this one, read as the daemon reads them, hwloc included; the order alone on synthetic nodes; and
 * the checks before there is a machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "linux/checks.h"
#include "linux/linux.h"
#include "linux/topology.h"
#include "util.h"

/* Room for a path below the temporary directory. */
#define PATH_ROOM 512

static char machines[64];

static const char *source_root(void)
{
	const char *root = getenv("TIERD_SRC");

	return root ? root : ".";
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* Fresh machines for each test: tests change them. */
static int set_up(void **state)
{
	char command[PATH_ROOM];

	strcpy(machines, "/tmp/tierd-test-topology.XXXXXX");
	if (!mkdtemp(machines))
		return -1;
	snprintf(command, sizeof(command), "%s/tests/fixtures/make %s", source_root(), machines);
	return system(command);
}

static int tear_down(void **state)
{
	return nftw(machines, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- a machine without its other parts ------------------------------------------------------ */

static void machine_open(struct linux_machine *m, const char *root, const char *order)
{
	int fd = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	*m = (struct linux_machine){.recorded = root != NULL, .root_fd = fd};
	assert_true(fd >= 0);
	m->sys_fd = file_open_at(fd, "sys", O_RDONLY | O_DIRECTORY, true);
	m->proc_fd = file_open_at(fd, "proc", O_RDONLY | O_DIRECTORY, true);
	assert_true(m->sys_fd >= 0 && m->proc_fd >= 0);
	m->root = root ? strdup(root) : NULL;
	m->tier_override = order ? strdup(order) : NULL;
	assert_int_equal(topology_cache_new(&m->topology), 0);
}

static void machine_close(struct linux_machine *m)
{
	topology_cache_free(m->topology);
	free(m->root);
	free(m->tier_override);
	close(m->sys_fd);
	close(m->proc_fd);
	close(m->root_fd);
}

static void machine_open_recorded(struct linux_machine *m, const char *name, const char *order)
{
	char root[PATH_ROOM];

	snprintf(root, sizeof(root), "%s/%s", machines, name);
	machine_open(m, root, order);
}

static struct tier_topology *read_topology(struct linux_machine *m)
{
	struct tier_topology *t = NULL;

	assert_int_equal(linux_topology_read(m, &t), 0);
	return t;
}

static void write_file(const char *machine, const char *name, const char *text)
{
	char path[PATH_ROOM];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", machines, machine, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

#define NODE "sys/devices/system/node"
#define TIERS "sys/devices/virtual/memory_tiering"

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

/* ---- the machine as a whole ----------------------------------------------------------------- */

static int new_recorded(const char *name, const char *order, struct tier_machine **ret,
			const char **ret_why)
{
	char root[PATH_ROOM];
	struct tier_linux_options o = {.root = root, .tier_override = order};

	snprintf(root, sizeof(root), "%s/%s", machines, name);
	return tier_machine_new_linux(&o, ret, ret_why);
}

static void test_machine(void **state)
{
	struct tier_tracker_state tracker;
	struct tier_processes *processes = NULL;
	struct tier_residency *residency = NULL;
	struct tier_accesses *accesses = NULL;
	struct tier_cgroups *cgroups = NULL;
	struct tier_topology *t = NULL;
	struct tier_machine *m = NULL;
	struct tier_outcome outcome;
	struct tier_usage usage;
	uint64_t id;

	assert_int_equal(new_recorded("two-hmat", "0 > 1", &m, NULL), 0);
	assert_int_equal(tier_machine_read_topology(m, &t), 0);
	assert_int_equal(t->source, TIER_ORDER_OVERRIDE);
	assert_int_equal(tier_machine_read_cgroups(m, &cgroups), 0);
	assert_int_equal(cgroups->n_cgroups, 3);
	assert_string_equal(cgroups->cgroups[2].path, "system.slice/postgresql.service");
	id = cgroups->cgroups[2].id;
	assert_int_equal(tier_machine_read_usage(m, id, &usage), 0);
	assert_int_equal(usage.anon_bytes[1], 2097152);
	/* The pids in it are not those of processes here: none is opened. */
	assert_int_equal(tier_machine_read_processes(m, &id, 1, &processes), 0);
	assert_int_equal(processes->n_processes, 0);
	assert_int_equal(tier_machine_read_residency(m, 1, &residency), -ESRCH);
	assert_int_equal(tier_machine_track(m, &id, 1), -EROFS);
	assert_int_equal(tier_machine_move(m, &(struct tier_move){0}, &outcome), -EROFS);
	assert_int_equal(tier_machine_read_access(m, &accesses), 0);
	assert_int_equal(accesses->n_accesses, 0);
	tier_machine_read_tracker(m, &tracker);
	assert_int_equal(tracker.tracker, TIER_TRACKER_NONE);
	assert_true(tracker.reason[0] != '\0');
	assert_true(tier_machine_now_us(m) > 0);
	tier_processes_free(processes);
	tier_accesses_free(accesses);
	tier_cgroups_free(cgroups);
	tier_topology_free(t);
	tier_machine_free(m);
}

static void assert_refused(const char *name, const char *order, int error, const char *part)
{
	struct tier_machine *m = NULL;
	const char *why = NULL;

	assert_int_equal(new_recorded(name, order, &m, &why), error);
	assert_null(m);
	assert_non_null(why);
	if (!strstr(why, part))
		fail_msg("\"%s\" does not say \"%s\"", why, part);
	assert_null(strchr(why, '\n'));
}

static void test_machine_refused(void **state)
{
	struct tier_machine *m = NULL;
	char from[PATH_ROOM], to[PATH_ROOM];

	assert_refused("two-hmat", "0", -EINVAL, "leaves out a node");
	assert_refused("two-hmat", "0 > 1 > 2", -EINVAL, "does not have");
	assert_refused("two-hmat", "0 > 0,1", -EINVAL, "twice");
	assert_refused("two-hmat", "0 >> 1", -EINVAL, "not a list");
	assert_refused("no-such-machine", NULL, -ENOENT, "root");
	/* A node without memory may be left out, and may be named. */
	assert_int_equal(new_recorded("memoryless", "1 > 2", &m, NULL), 0);
	m = tier_machine_free(m);
	assert_int_equal(new_recorded("memoryless", "1 > 2,0", &m, NULL), 0);
	m = tier_machine_free(m);

	write_file("one-node", NODE "/online", "0-40\n");
	assert_refused("one-node", NULL, -E2BIG, "32");
	write_file("two-hmat", "sys/fs/cgroup/cgroup.controllers", "cpu io pids\n");
	assert_refused("two-hmat", NULL, -ENOTSUP, "memory controller");
	snprintf(from, sizeof(from), "%s/two-hmat/sys/fs/cgroup/cgroup.controllers", machines);
	assert_int_equal(unlink(from), 0);
	assert_refused("two-hmat", NULL, -ENOTSUP, "not cgroup v2");
	snprintf(from, sizeof(from), "%s/two-hmat/sys/fs", machines);
	snprintf(to, sizeof(to), "%s/two-hmat/gone", machines);
	assert_int_equal(rename(from, to), 0);
	assert_refused("two-hmat", NULL, -ENOTSUP, "no cgroup file system");
}

/* Whatever machine the tests run on: it is made, or refused with a reason. */
static void test_this_machine(void **state)
{
	struct tier_linux_options o = {.root = NULL};
	struct tier_machine *m = NULL;
	const char *why = NULL;
	int r = tier_machine_new_linux(&o, &m, &why);

	if (r == 0) {
		struct tier_topology *t = NULL;

		assert_int_equal(tier_machine_read_topology(m, &t), 0);
		assert_true(t->n_nodes >= 1);
		tier_topology_free(t);
		tier_machine_free(m);
		return;
	}
	assert_true(r == -ENOTSUP || r == -EACCES);
	assert_non_null(why);
	assert_null(m);
}

/* gather's record of this machine reads like the machine. */
static void test_gather(void **state)
{
	char command[2 * PATH_ROOM], root[PATH_ROOM];
	struct linux_machine live, recorded;
	struct tier_topology *a, *b;

	snprintf(root, sizeof(root), "%s/gathered", machines);
	snprintf(command, sizeof(command), "GATHER_CGROUPS=no %s/tests/gather %s >%s/log 2>&1",
		 source_root(), root, machines);
	assert_int_equal(system(command), 0);
	/* It does not write into what is there. */
	assert_int_not_equal(system(command), 0);
	machine_open(&live, NULL, NULL);
	machine_open(&recorded, root, NULL);
	a = read_topology(&live);
	b = read_topology(&recorded);
	assert_int_equal(a->n_nodes, b->n_nodes);
	assert_int_equal(a->n_tiers, b->n_tiers);
	assert_int_equal(a->source, b->source);
	assert_memory_equal(a->distance, b->distance, sizeof(a->distance));
	for (size_t i = 0; i < a->n_nodes; i++) {
		assert_int_equal(a->nodes[i].id, b->nodes[i].id);
		assert_int_equal(a->nodes[i].rank, b->nodes[i].rank);
		assert_int_equal(a->nodes[i].has_cpus, b->nodes[i].has_cpus);
		assert_int_equal(a->nodes[i].latency_ns, b->nodes[i].latency_ns);
		assert_true(b->nodes[i].total_bytes > 0 || a->nodes[i].total_bytes == 0);
	}
	tier_topology_free(a);
	tier_topology_free(b);
	machine_close(&live);
	machine_close(&recorded);
}

/* The environment is as it was after a recorded tree was read. */
static void test_environment(void **state)
{
	struct linux_machine m;

	assert_int_equal(setenv("HWLOC_FSROOT", "/before", 1), 0);
	assert_int_equal(unsetenv("HWLOC_HIDE_ERRORS"), 0);
	machine_open_recorded(&m, "two-hmat", NULL);
	tier_topology_free(read_topology(&m));
	assert_string_equal(getenv("HWLOC_FSROOT"), "/before");
	assert_null(getenv("HWLOC_HIDE_ERRORS"));
	assert_int_equal(unsetenv("HWLOC_FSROOT"), 0);
	machine_close(&m);
	machine_open_recorded(&m, "one-node", NULL);
	tier_topology_free(read_topology(&m));
	assert_null(getenv("HWLOC_FSROOT"));
	machine_close(&m);
}

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
		TEST(test_machine),
		TEST(test_machine_refused),
		TEST(test_this_machine),
		TEST(test_gather),
		TEST(test_environment),
		cmocka_unit_test(test_attribute_order),
		cmocka_unit_test(test_kernel_tier_missing),
		cmocka_unit_test(test_no_memory_at_all),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_mems_allowed),
		cmocka_unit_test(test_check_override),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
