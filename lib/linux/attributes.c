// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The only user of hwloc: latency and bandwidth of memory nodes, as their nearest initiator sees
 * them. Loading a topology costs milliseconds to tenths of a second, so callers keep the result.
 * Which nodes there are is not asked here: hwloc leaves out nodes of some devices.
 */
#include <hwloc.h>
#include <hwloc/memattrs.h>
#include <pthread.h>

#include "linux/topology.h"
#include "util.h"

/*
 * hwloc 2.9 takes the root of a recorded tree, and the order to keep quiet on stderr, from the
 * environment and nowhere else. So these variables are set around the load, under a lock for all
 * machines of the process, and put back. A live machine does that once, before the library has
 * started a thread: hwloc remembers that it is to be quiet.
 */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static bool quiet; /* under load_lock */

struct saved_variable {
	const char *name;
	char *value; /* NULL: was not set */
	bool changed;
};

static void variable_set(struct saved_variable *v, const char *name, const char *value)
{
	const char *old = getenv(name);
	char *copy = old ? strdup(old) : NULL;

	if (old && !copy)
		return;
	if (setenv(name, value, 1) < 0) {
		free(copy);
		return;
	}
	*v = (struct saved_variable){.name = name, .value = copy, .changed = true};
}

static void variable_restore(struct saved_variable *v)
{
	if (!v->changed)
		return;
	if (v->value)
		setenv(v->name, v->value, 1);
	else
		unsetenv(v->name);
	free(v->value);
	v->changed = false;
}

static void topology_destroyp(hwloc_topology_t *t)
{
	if (*t)
		hwloc_topology_destroy(*t);
}

static int load(hwloc_topology_t *ret)
{
	cleanup(topology_destroyp) hwloc_topology_t h = NULL;
	/*
	 * All nodes, also those that our own cpuset forbids, and never a change of our CPU binding
	 * (which is how hwloc asks each CPU about its caches).
	 */
	unsigned long flags =
		HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;

#if HWLOC_API_VERSION >= 0x00020800
	flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
	if (hwloc_topology_init(&h) < 0)
		return -ENOMEM;
	/* Nodes and CPUs cannot be filtered out; caches, cores and devices are of no use here. */
	if (hwloc_topology_set_all_types_filter(h, HWLOC_TYPE_FILTER_KEEP_NONE) < 0 ||
	    hwloc_topology_set_flags(h, flags) < 0 || hwloc_topology_load(h) < 0)
		return -EIO;
	*ret = STEAL(h);
	return 0;
}

static int load_quietly(const char *root, hwloc_topology_t *ret)
{
	struct saved_variable errors = {0}, fsroot = {0};
	int r;

	pthread_mutex_lock(&load_lock);
	if (!quiet)
		variable_set(&errors, "HWLOC_HIDE_ERRORS", "2");
	/* A root other than "/" also makes hwloc see that this is not the system we run on. */
	if (root)
		variable_set(&fsroot, "HWLOC_FSROOT", root);
	/* Without its root hwloc would describe the machine we run on. */
	r = root && !fsroot.changed ? -ENOMEM : load(ret);
	variable_restore(&fsroot);
	variable_restore(&errors);
	quiet = true;
	pthread_mutex_unlock(&load_lock);
	return r;
}

/* More initiators than this see a node equally badly; the nearest comes first. */
#define INITIATORS_MAX 64

/* The best value of an attribute of @node among its initiators, 0 if unknown. */
static uint32_t best_value(hwloc_topology_t h, hwloc_obj_t node, hwloc_memattr_id_t attribute,
			   bool lowest)
{
	struct hwloc_location initiators[INITIATORS_MAX];
	hwloc_uint64_t values[INITIATORS_MAX], best = 0;
	unsigned int n = INITIATORS_MAX;

	if (hwloc_memattr_get_initiators(h, attribute, node, 0, &n, initiators, values) < 0)
		return 0;
	/* On return, n is how many there are, not how many were stored. */
	n = MIN(n, (unsigned int)INITIATORS_MAX);
	for (unsigned int i = 0; i < n; i++)
		if (values[i] && (!best || (lowest ? values[i] < best : values[i] > best)))
			best = values[i];
	return best <= UINT32_MAX ? (uint32_t)best : UINT32_MAX;
}

void attributes_read(const char *root, struct tier_topology *t)
{
	cleanup(topology_destroyp) hwloc_topology_t h = NULL;

	/* Without hwloc's view the order comes from the kernel or from distances. */
	if (load_quietly(root, &h) < 0)
		return;
	for (size_t i = 0; i < t->n_nodes; i++) {
		hwloc_obj_t node =
			hwloc_get_numanode_obj_by_os_index(h, (unsigned int)t->nodes[i].id);
		uint32_t latency_ns, bandwidth_mib_s;

		if (!node)
			continue;
		/* The plain attribute is there only when read and write are both known. */
		latency_ns = best_value(h, node, HWLOC_MEMATTR_ID_LATENCY, true);
		if (!latency_ns)
			latency_ns = best_value(h, node, HWLOC_MEMATTR_ID_READ_LATENCY, true);
		bandwidth_mib_s = best_value(h, node, HWLOC_MEMATTR_ID_BANDWIDTH, false);
		if (!bandwidth_mib_s)
			bandwidth_mib_s =
				best_value(h, node, HWLOC_MEMATTR_ID_READ_BANDWIDTH, false);
		t->nodes[i].latency_ns = latency_ns;
		t->nodes[i].bandwidth_mib_s = bandwidth_mib_s;
	}
}
