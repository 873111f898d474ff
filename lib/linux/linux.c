// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The Linux machine: owns its parts and fills struct tier_machine_ops. Knows nothing of how any
 * part does its job; what a machine must offer before there is one is in checks.c.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "linux/checks.h"
#include "linux/linux.h"
#include "linux/spans.h"
#include "linux/topology.h"
#include "util.h"

/*
 * Memory is added in blocks of at least this size on x86. A smaller growth is a balloon that gives
 * back what it took, which moves no page frame to another node.
 */
#define MEMORY_BLOCK_BYTES (128 * MiB)

DEFINE_CLEANUP(struct tier_topology *, tier_topology_free)

static struct linux_machine *linux_machine(struct tier_machine *m)
{
	return (struct linux_machine *)m;
}

static void op_free(struct tier_machine *base)
{
	struct linux_machine *m = linux_machine(base);

	tracker_free(m->tracker);
	process_table_free(m->processes);
	node_spans_free(m->spans);
	tier_topology_free(m->spans_topology);
	tier_topology_free(m->last_topology);
	pthread_rwlock_destroy(&m->spans_lock);
	cgroup_mount_close(m->cgroups);
	topology_cache_free(m->topology);
	closep(&m->sys_fd);
	closep(&m->proc_fd);
	closep(&m->root_fd);
	free(m->tier_override);
	free(m->root);
	free(m);
}

static uint64_t op_now_us(struct tier_machine *base)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * US_PER_S + (uint64_t)now.tv_nsec / 1000;
}

/* Can page frames have come that the spans do not know, or gone to another node? */
static bool spans_outdated(const struct tier_topology *then, const struct tier_topology *now)
{
	if (!then || then->n_nodes != now->n_nodes)
		return true;
	for (size_t i = 0; i < now->n_nodes; i++) {
		const struct tier_node *a = &then->nodes[i], *b = &now->nodes[i];

		if (a->id != b->id || !a->total_bytes != !b->total_bytes ||
		    b->total_bytes >= a->total_bytes + MEMORY_BLOCK_BYTES)
			return true;
	}
	return false;
}

/*
 * Reads the spans again after memory hotplug. While a mover or a walk uses the old ones that is put
 * off to the next call; until then new page frames have no known node, and are left alone.
 */
static int refresh_spans(struct linux_machine *m, const struct tier_topology *t)
{
	struct tier_topology *copy;
	struct node_spans *fresh;
	int r;

	if (m->recorded || !spans_outdated(m->spans_topology, t))
		return 0;
	if (pthread_rwlock_trywrlock(&m->spans_lock) != 0)
		return 0;
	copy = malloc(sizeof(*copy));
	r = copy ? node_spans_read(m->proc_fd, &fresh) : -ENOMEM;
	if (r < 0) {
		free(copy);
	} else {
		*copy = *t;
		node_spans_free(m->spans);
		m->spans = fresh;
		tier_topology_free(m->spans_topology);
		m->spans_topology = copy;
	}
	pthread_rwlock_unlock(&m->spans_lock);
	return r;
}

static int op_read_topology(struct tier_machine *base, struct tier_topology **ret)
{
	cleanup(tier_topology_freep) struct tier_topology *t = NULL, *copy = NULL;
	struct linux_machine *m = linux_machine(base);
	int r;

	r = linux_topology_read(m, &t);
	if (r < 0)
		return r;
	r = refresh_spans(m, t);
	if (r < 0)
		return r;
	for (size_t i = 0; m->spans && i < t->n_nodes; i++)
		t->nodes[i].reserve_bytes = node_spans_reserve_bytes(m->spans, t->nodes[i].id);
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *t;
	tier_topology_free(m->last_topology);
	m->last_topology = STEAL(copy);
	*ret = STEAL(t);
	return 0;
}

static int op_read_cgroups(struct tier_machine *base, struct tier_cgroups **ret)
{
	return cgroup_walk(linux_machine(base)->cgroups, ret);
}

static int op_read_usage(struct tier_machine *base, uint64_t cgroup_id, struct tier_usage *ret)
{
	struct linux_machine *m = linux_machine(base);

	return cgroup_read_usage(m->cgroups, cgroup_id, m->last_topology, ret);
}

static int op_read_processes(struct tier_machine *base, const uint64_t *cgroup_ids,
			     size_t n_cgroup_ids, struct tier_processes **ret)
{
	struct linux_machine *m = linux_machine(base);
	struct tier_processes *none;

	if (!m->recorded)
		return process_table_scan(m->processes, m->cgroups, cgroup_ids, n_cgroup_ids, ret);
	/* The pids in a recorded tree are those of another machine's processes. */
	none = calloc(1, sizeof(*none));
	if (!none)
		return -ENOMEM;
	*ret = none;
	return 0;
}

static int op_read_residency(struct tier_machine *base, uint64_t space_id,
			     struct tier_residency **ret)
{
	struct linux_machine *m = linux_machine(base);
	int r;

	if (m->recorded)
		return -ESRCH;
	pthread_rwlock_rdlock(&m->spans_lock);
	r = linux_residency_read(m, space_id, ret);
	pthread_rwlock_unlock(&m->spans_lock);
	return r;
}

static int op_track(struct tier_machine *base, const uint64_t *space_ids, size_t n_space_ids)
{
	struct linux_machine *m = linux_machine(base);

	if (m->recorded)
		return -EROFS;
	if (!m->tracker)
		return -ENOTSUP;
	return tracker_set(m->tracker, m->processes, space_ids, n_space_ids);
}

static int op_read_access(struct tier_machine *base, struct tier_accesses **ret)
{
	struct linux_machine *m = linux_machine(base);
	struct tier_accesses *none;

	if (m->tracker)
		return tracker_read(m->tracker, ret);
	none = calloc(1, sizeof(*none));
	if (!none)
		return -ENOMEM;
	*ret = none;
	return 0;
}

static void op_read_tracker(struct tier_machine *base, struct tier_tracker_state *ret)
{
	struct linux_machine *m = linux_machine(base);

	if (m->tracker) {
		tracker_state(m->tracker, ret);
		return;
	}
	*ret = (struct tier_tracker_state){.tracker = TIER_TRACKER_NONE};
	snprintf(ret->reason, sizeof(ret->reason), "%s",
		 m->recorded ? "a recorded machine cannot be tracked"
			     : "tracking was not asked for: there is no run directory");
}

static int op_move(struct tier_machine *base, const struct tier_move *move,
		   struct tier_outcome *ret)
{
	struct linux_machine *m = linux_machine(base);
	int r;

	if (m->recorded)
		return -EROFS;
	pthread_rwlock_rdlock(&m->spans_lock);
	r = linux_move(m, move, ret);
	pthread_rwlock_unlock(&m->spans_lock);
	return r;
}

static const struct tier_machine_ops linux_ops = {
	.name = "linux",
	.free = op_free,
	.now_us = op_now_us,
	.read_topology = op_read_topology,
	.read_cgroups = op_read_cgroups,
	.read_usage = op_read_usage,
	.read_processes = op_read_processes,
	.read_residency = op_read_residency,
	.track = op_track,
	.read_access = op_read_access,
	.read_tracker = op_read_tracker,
	.move = op_move,
};

/* ---- making one ---------------------------------------------------------------------------- */

static int machine_alloc(const struct tier_linux_options *o, struct linux_machine **ret)
{
	struct linux_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->base.ops = &linux_ops;
	m->root_fd = m->proc_fd = m->sys_fd = -1;
	m->recorded = o->root && strcmp(o->root, "/") != 0;
	pthread_rwlock_init(&m->spans_lock, NULL);
	*ret = m;
	return 0;
}

static int open_roots(struct linux_machine *m, const char *root, const char **ret_why)
{
	if (m->recorded) {
		m->root = realpath(root, NULL);
		if (!m->root) {
			*ret_why = "the root of the recorded tree cannot be opened";
			return -errno;
		}
	}
	m->root_fd = open(m->recorded ? m->root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->root_fd < 0) {
		*ret_why = "the root directory cannot be opened";
		return -errno;
	}
	m->proc_fd = file_open_at(m->root_fd, "proc", O_RDONLY | O_DIRECTORY, true);
	if (m->proc_fd < 0) {
		*ret_why = "/proc cannot be opened";
		return m->proc_fd;
	}
	m->sys_fd = file_open_at(m->root_fd, "sys", O_RDONLY | O_DIRECTORY, true);
	if (m->sys_fd < 0) {
		*ret_why = "/sys cannot be opened";
		return m->sys_fd;
	}
	return 0;
}

/* The nodes, and an administrator's order held against them. */
static int start_topology(struct linux_machine *m, const char *order, const char **ret_why)
{
	cleanup(tier_topology_freep) struct tier_topology *t = NULL;
	struct tier_list list;
	int r;

	if (order) {
		r = parse_tier_list(order, strlen(order), &list, ret_why);
		if (r < 0)
			return r;
		m->tier_override = strdup(order);
		if (!m->tier_override)
			return -ENOMEM;
	}
	r = topology_cache_new(&m->topology);
	if (r < 0)
		return r;
	r = op_read_topology(&m->base, &t);
	if (r == -E2BIG)
		*ret_why = "this machine has more than 32 memory nodes";
	else if (r < 0)
		*ret_why = "the memory nodes in /sys/devices/system/node cannot be read";
	if (r < 0)
		return r;
	r = order ? order_check(&list, t, ret_why) : 0;
	if (r < 0)
		return r;
	return m->recorded ? 0 : check_mems_allowed(m->proc_fd, t, ret_why);
}

static int start_processes(struct linux_machine *m, const char *run_dir, const char **ret_why)
{
	int r;

	if (m->recorded)
		return 0;
	r = process_table_new(m->proc_fd, &m->processes);
	if (r < 0 || !run_dir)
		return r;
	r = tracker_new(m->sys_fd, run_dir, &m->tracker);
	if (r < 0)
		*ret_why = "the tracker cannot be started";
	return r;
}

static int machine_start(struct linux_machine *m, const struct tier_linux_options *o,
			 const char **ret_why)
{
	int r;

	r = open_roots(m, o->root, ret_why);
	if (r < 0)
		return r;
	/* The mount first: whoever has v1 should hear of that, not of capabilities. */
	r = cgroup_mount_open(m->root_fd, m->recorded, &m->cgroups, ret_why);
	if (r < 0)
		return r;
	if (!m->recorded) {
		r = check_host(m->proc_fd, ret_why);
		if (r < 0)
			return r;
	}
	r = start_topology(m, o->tier_override, ret_why);
	if (r < 0)
		return r;
	return start_processes(m, o->run_dir, ret_why);
}

int tier_machine_new_linux(const struct tier_linux_options *options, struct tier_machine **ret,
			   const char **ret_why)
{
	const char *why = "not enough memory or too many open files";
	struct linux_machine *m;
	int r;

	r = machine_alloc(options, &m);
	if (r >= 0) {
		r = machine_start(m, options, &why);
		if (r < 0)
			op_free(&m->base);
	}
	if (r < 0) {
		if (ret_why)
			*ret_why = why;
		return r;
	}
	*ret = &m->base;
	return 0;
}

int tier_linux_cleanup(const char *run_dir)
{
	cleanup(closep) int sys_fd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (sys_fd < 0)
		return -errno;
	return tracker_cleanup(sys_fd, run_dir);
}

/* Reads of the topology and this come from one thread, as everything but moves does. */
int tier_linux_set_order(struct tier_machine *base, const char *order, const char **ret_why)
{
	cleanup(tier_topology_freep) struct tier_topology *t = NULL;
	cleanup(freep) char *copy = NULL;
	struct linux_machine *m = linux_machine(base);
	struct tier_list list;
	int r;

	if (base->ops != &linux_ops)
		return -ENOTSUP;
	if (order) {
		r = parse_tier_list(order, strlen(order), &list, ret_why);
		if (r < 0)
			return r;
		r = op_read_topology(base, &t);
		if (r < 0)
			return r;
		r = order_check(&list, t, ret_why);
		if (r < 0)
			return r;
		copy = strdup(order);
		if (!copy)
			return -ENOMEM;
	}
	free(m->tier_override);
	m->tier_override = STEAL(copy);
	return 0;
}
