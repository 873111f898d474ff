// SPDX-License-Identifier: GPL-2.0-or-later
/* The Linux machine as a whole: made, refused, and what gather records of the one at hand. */
#include "recorded-machines.h"

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

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_machine),
		TEST(test_machine_refused),
		TEST(test_this_machine),
		TEST(test_gather),
		TEST(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
