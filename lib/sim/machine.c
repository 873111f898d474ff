// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The synthetic machine: its making, its parts that hardly move (nodes, cgroups), and the table of
 * operations. What processes, the tracker and moves do is in the files beside.
 */
#include "sim/private.h"
#include "util.h"

#define CGROUPS_MAX 100000

static struct sim_machine *sim(struct tier_machine *m)
{
	return (struct sim_machine *)m;
}

static void sim_free(struct tier_machine *machine)
{
	struct sim_machine *m = sim(machine);

	for (size_t i = 0; i < m->n_spaces; i++) {
		sim_tracker_stop(&m->spaces[i]);
		free(m->spaces[i].pages);
	}
	for (size_t i = 0; i < m->n_cgroups; i++)
		free(m->cgroups[i].path);
	free(m->spaces);
	free(m->cgroups);
	free(m);
}

static int sim_read_topology(struct tier_machine *m, struct tier_topology **ret)
{
	struct tier_topology *t = malloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	*t = sim(m)->topology;
	*ret = t;
	return 0;
}

static int sim_read_cgroups(struct tier_machine *machine, struct tier_cgroups **ret)
{
	struct sim_machine *m = sim(machine);
	struct tier_cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->cgroups = calloc(m->n_cgroups, sizeof(*c->cgroups));
	if (!c->cgroups) {
		tier_cgroups_free(c);
		return -ENOMEM;
	}
	for (; c->n_cgroups < m->n_cgroups; c->n_cgroups++) {
		struct tier_cgroup *to = &c->cgroups[c->n_cgroups];

		*to = m->cgroups[c->n_cgroups];
		to->path = strdup(to->path);
		if (!to->path) {
			tier_cgroups_free(c);
			return -ENOMEM;
		}
	}
	*ret = c;
	return 0;
}

static const struct tier_cgroup *cgroup_find(const struct sim_machine *m, uint64_t id)
{
	for (size_t i = 0; i < m->n_cgroups; i++)
		if (m->cgroups[i].id == id)
			return &m->cgroups[i];
	return NULL;
}

static bool cgroup_within(const struct sim_machine *m, uint64_t id, uint64_t ancestor_id)
{
	const struct tier_cgroup *c = cgroup_find(m, id);

	while (c && c->id != ancestor_id)
		c = c->parent_id ? cgroup_find(m, c->parent_id) : NULL;
	return c;
}

static int sim_read_usage(struct tier_machine *machine, uint64_t cgroup_id, struct tier_usage *ret)
{
	struct sim_machine *m = sim(machine);
	struct tier_usage u = { 0 };

	if (!cgroup_find(m, cgroup_id))
		return -ENOENT;
	for (size_t i = 0; i < m->n_spaces; i++) {
		const struct sim_space *s = &m->spaces[i];

		if (!cgroup_within(m, s->process.cgroup_id, cgroup_id))
			continue;
		for (size_t slot = 0; slot < s->n_slots; slot++)
			for (size_t n = 0; n < m->topology.n_nodes; n++)
				u.anon_bytes[n] += s->pages[slot][n] * TIER_PAGE_BYTES;
	}
	*ret = u;
	return 0;
}

static bool id_listed(const uint64_t *ids, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static int sim_read_processes(struct tier_machine *machine, const uint64_t *cgroup_ids,
			      size_t n_cgroup_ids, struct tier_processes **ret)
{
	struct sim_machine *m = sim(machine);
	struct tier_processes *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->processes = calloc(m->n_spaces + 1, sizeof(*p->processes));
	if (!p->processes)
		return tier_processes_free(p), -ENOMEM;
	for (size_t i = 0; i < m->n_spaces; i++) {
		const struct sim_space *s = &m->spaces[i];

		if (!id_listed(cgroup_ids, n_cgroup_ids, s->process.cgroup_id))
			continue;
		p->processes[p->n_processes++] = (struct tier_process){
			.space_id = s->space_id,
			.cgroup_id = s->process.cgroup_id,
			.resident_bytes = s->process.bytes,
			.pid = s->pid,
		};
	}
	*ret = p;
	return 0;
}

static int sim_read_residency(struct tier_machine *m, uint64_t space_id,
			      struct tier_residency **ret)
{
	const struct sim_space *s = sim_space_find(sim(m), space_id);

	return s ? sim_space_residency(sim(m), s, ret) : -ESRCH;
}

static int sim_track(struct tier_machine *machine, const uint64_t *space_ids, size_t n_space_ids)
{
	struct sim_machine *m = sim(machine);

	for (size_t i = 0; i < m->n_spaces; i++) {
		struct sim_space *s = &m->spaces[i];
		int r;

		if (!id_listed(space_ids, n_space_ids, s->space_id)) {
			sim_tracker_stop(s);
			continue;
		}
		r = sim_tracker_start(m, s);
		if (r < 0)
			return r;
	}
	return 0;
}

static int access_copy(const struct sim_space *s, struct tier_access *to)
{
	const struct sim_tracked *t = &s->tracked;

	to->regions = calloc(t->n_shown, sizeof(*to->regions));
	if (!to->regions)
		return -ENOMEM;
	memcpy(to->regions, t->shown, t->n_shown * sizeof(*to->regions));
	to->space_id = s->space_id;
	to->seq = t->seq;
	to->n_regions = t->n_shown;
	return 0;
}

static int sim_read_access(struct tier_machine *machine, struct tier_accesses **ret)
{
	struct sim_machine *m = sim(machine);
	struct tier_accesses *a = calloc(1, sizeof(*a));
	int r = 0;

	if (!a)
		return -ENOMEM;
	a->accesses = calloc(m->n_spaces + 1, sizeof(*a->accesses));
	if (!a->accesses)
		r = -ENOMEM;
	for (size_t i = 0; r >= 0 && i < m->n_spaces; i++) {
		if (m->tracker != TIER_TRACKER_NONE)
			r = sim_tracker_catch_up(m, &m->spaces[i]);
		if (r < 0 || !m->spaces[i].tracked.n_shown)
			continue;
		r = access_copy(&m->spaces[i], &a->accesses[a->n_accesses]);
		a->n_accesses += r >= 0;
	}
	if (r < 0) {
		tier_accesses_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

static void sim_read_tracker(struct tier_machine *machine, struct tier_tracker_state *ret)
{
	struct sim_machine *m = sim(machine);

	*ret = (struct tier_tracker_state){ .tracker = m->tracker };
	for (size_t i = 0; i < m->n_spaces; i++)
		ret->n_tracked += m->spaces[i].tracked.on;
}

static const struct tier_machine_ops sim_ops = {
	.name = "sim",
	.free = sim_free,
	.now_us = sim_clock_now,
	.read_topology = sim_read_topology,
	.read_cgroups = sim_read_cgroups,
	.read_usage = sim_read_usage,
	.read_processes = sim_read_processes,
	.read_residency = sim_read_residency,
	.track = sim_track,
	.read_access = sim_read_access,
	.read_tracker = sim_read_tracker,
	.move = sim_move,
};

static bool nodes_valid(const struct sim_node *nodes, size_t n_nodes)
{
	if (!n_nodes || n_nodes > TIER_NODES_MAX)
		return false;
	for (size_t i = 0; i < n_nodes; i++)
		if ((i && nodes[i].id <= nodes[i - 1].id) ||
		    nodes[i].taken_bytes > nodes[i].total_bytes)
			return false;
	return true;
}

static void topology_fill(struct tier_topology *t, const struct sim_node *nodes, size_t n_nodes)
{
	unsigned int last_rank = 0;

	t->n_nodes = n_nodes;
	t->source = TIER_ORDER_OVERRIDE;
	for (size_t i = 0; i < n_nodes; i++) {
		t->nodes[i] = (struct tier_node){
			.id = nodes[i].id,
			.rank = nodes[i].rank,
			.has_cpus = nodes[i].has_cpus,
			.total_bytes = nodes[i].total_bytes,
			.free_bytes = nodes[i].total_bytes - nodes[i].taken_bytes,
		};
		last_rank = MAX(last_rank, nodes[i].rank);
		for (size_t j = 0; j < n_nodes; j++) {
			int tiers = abs((int)nodes[i].rank - (int)nodes[j].rank);

			/* Two nodes of one tier are as far from each other as the next tier. */
			t->distance[i][j] = (uint8_t)(i == j ? 10 : 10 + 10 * MAX(tiers, 1));
		}
	}
	t->n_tiers = last_rank + 1;
}

int sim_new(uint64_t seed, const struct sim_node *nodes, size_t n_nodes, struct tier_machine **ret)
{
	struct sim_machine *m;
	uint64_t root_id;
	int r;

	if (!nodes_valid(nodes, n_nodes))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->base.ops = &sim_ops;
	m->random = seed;
	m->now_us = US_PER_S; /* never 0, which readers may take for "not yet" */
	m->tracker = TIER_TRACKER_SIM;
	m->costs.refusal = TIER_BUSY;
	topology_fill(&m->topology, nodes, n_nodes);
	r = sim_add_cgroup(&m->base, 0, "", &root_id);
	if (r < 0) {
		sim_free(&m->base);
		return r;
	}
	*ret = &m->base;
	return 0;
}

int sim_add_cgroup(struct tier_machine *machine, uint64_t parent_id, const char *path,
		   uint64_t *ret_id)
{
	struct sim_machine *m = sim(machine);
	struct tier_cgroup c;
	int r;

	/* The root comes first; what names no parent is below it. */
	c.parent_id = parent_id || !m->n_cgroups ? parent_id : m->cgroups[0].id;
	if (c.parent_id && !cgroup_find(m, c.parent_id))
		return -ENOENT;
	r = array_reserve((void **)&m->cgroups, &m->cgroups_capacity, m->n_cgroups, sizeof(c),
			  CGROUPS_MAX);
	if (r < 0)
		return r;
	c.path = strdup(path);
	if (!c.path)
		return -ENOMEM;
	c.id = ++m->next_id;
	m->cgroups[m->n_cgroups++] = c;
	*ret_id = c.id;
	return 0;
}

void sim_set_distance(struct tier_machine *m, int id_a, int id_b, uint8_t distance)
{
	struct tier_topology *t = &sim(m)->topology;
	int a = tier_topology_index(t, id_a);
	int b = tier_topology_index(t, id_b);

	if (a >= 0 && b >= 0)
		t->distance[a][b] = t->distance[b][a] = distance;
}

void sim_set_noise(struct tier_machine *m, const struct sim_noise *noise)
{
	sim(m)->noise = *noise;
}

void sim_set_costs(struct tier_machine *m, const struct sim_costs *costs)
{
	sim(m)->costs = *costs;
}

void sim_set_tracker(struct tier_machine *m, enum tier_tracker tracker)
{
	sim(m)->tracker = tracker;
}
