// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Dispatch to the machine at hand, and what belongs to the plain values that cross the seam: their
 * release and their arithmetic. Nothing here knows which machine it is.
 */
#include "machine.h"
#include "util.h"

struct tier_machine *tier_machine_free(struct tier_machine *m)
{
	if (m)
		m->ops->free(m);
	return NULL;
}

uint64_t tier_machine_now_us(struct tier_machine *m)
{
	return m->ops->now_us(m);
}

int tier_machine_read_topology(struct tier_machine *m, struct tier_topology **ret)
{
	return m->ops->read_topology(m, ret);
}

int tier_machine_read_cgroups(struct tier_machine *m, struct tier_cgroups **ret)
{
	return m->ops->read_cgroups(m, ret);
}

int tier_machine_read_usage(struct tier_machine *m, uint64_t cgroup_id, struct tier_usage *ret)
{
	return m->ops->read_usage(m, cgroup_id, ret);
}

int tier_machine_read_processes(struct tier_machine *m, const uint64_t *cgroup_ids,
				size_t n_cgroup_ids, struct tier_processes **ret)
{
	return m->ops->read_processes(m, cgroup_ids, n_cgroup_ids, ret);
}

int tier_machine_read_residency(struct tier_machine *m, uint64_t space_id,
				struct tier_residency **ret)
{
	return m->ops->read_residency(m, space_id, ret);
}

int tier_machine_track(struct tier_machine *m, const uint64_t *space_ids, size_t n_space_ids)
{
	return m->ops->track(m, space_ids, n_space_ids);
}

int tier_machine_read_access(struct tier_machine *m, struct tier_accesses **ret)
{
	return m->ops->read_access(m, ret);
}

void tier_machine_read_tracker(struct tier_machine *m, struct tier_tracker_state *ret)
{
	m->ops->read_tracker(m, ret);
}

int tier_machine_move(struct tier_machine *m, const struct tier_move *move,
		      struct tier_outcome *ret)
{
	return m->ops->move(m, move, ret);
}

struct tier_topology *tier_topology_free(struct tier_topology *t)
{
	free(t);
	return NULL;
}

int tier_topology_index(const struct tier_topology *t, int id)
{
	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].id == id)
			return (int)i;
	return -1;
}

struct tier_cgroups *tier_cgroups_free(struct tier_cgroups *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < c->n_cgroups; i++)
		free(c->cgroups[i].path);
	free(c->cgroups);
	free(c);
	return NULL;
}

struct tier_processes *tier_processes_free(struct tier_processes *p)
{
	if (!p)
		return NULL;
	free(p->processes);
	free(p);
	return NULL;
}

struct tier_residency *tier_residency_free(struct tier_residency *r)
{
	if (!r)
		return NULL;
	free(r->slots);
	free(r);
	return NULL;
}

struct tier_accesses *tier_accesses_free(struct tier_accesses *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; i < a->n_accesses; i++)
		free(a->accesses[i].regions);
	free(a->accesses);
	free(a);
	return NULL;
}

const char *tier_result_name(enum tier_result r)
{
	static const char *const names[TIER_RESULTS] = {
		[TIER_MOVED] = "moved",
		[TIER_ALREADY_THERE] = "already-there",
		[TIER_NOT_RESIDENT] = "not-resident",
		[TIER_BUSY] = "busy",
		[TIER_SHARED] = "shared",
		[TIER_CPUSET] = "cpuset",
		[TIER_MEMPOLICY] = "mempolicy",
		[TIER_UNSUPPORTED] = "unsupported",
		[TIER_TARGET_FULL] = "target-full",
		[TIER_WOULD_SPLIT] = "would-split",
		[TIER_PROCESS_ENDED] = "process-ended",
		[TIER_NOT_TRIED] = "not-tried",
	};

	return r < TIER_RESULTS ? names[r] : "unknown";
}

uint64_t tier_outcome_bytes(const struct tier_outcome *o, enum tier_result r)
{
	uint64_t sum = 0;

	for (size_t order = 0; order < TIER_ORDERS; order++)
		sum += o->bytes[r][order];
	return sum;
}

void tier_outcome_add(struct tier_outcome *sum, const struct tier_outcome *o)
{
	for (size_t r = 0; r < TIER_RESULTS; r++)
		for (size_t order = 0; order < TIER_ORDERS; order++)
			sum->bytes[r][order] += o->bytes[r][order];
	sum->asked_bytes += o->asked_bytes;
	sum->call_sum_us += o->call_sum_us;
	sum->call_max_us = MAX(sum->call_max_us, o->call_max_us);
	sum->folios_lost += o->folios_lost;
	sum->calls += o->calls;
}
