// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Simulated processes and on which nodes their pages are, counted per slot. Pages have no identity
 * of their own: what is hot within a slot is hot in proportion on every node that holds part of it.
 */
#include "sim/private.h"
#include "util.h"

/* 1 TiB in one process: far more than any test, small enough that a typing error fails at once. */
#define PROCESS_MAX_BYTES (1ULL << 40)
#define SPACES_MAX 100000

struct sim_space *sim_space_find(struct sim_machine *m, uint64_t space_id)
{
	for (size_t i = 0; i < m->n_spaces; i++)
		if (m->spaces[i].space_id == space_id)
			return &m->spaces[i];
	return NULL;
}

bool sim_space_alive(const struct sim_machine *m, const struct sim_space *s)
{
	return m->now_us < s->end_us;
}

static void space_release(struct sim_machine *m, struct sim_space *s)
{
	for (size_t i = 0; i < s->n_slots; i++)
		for (size_t n = 0; n < m->topology.n_nodes; n++)
			m->topology.nodes[n].free_bytes += s->pages[i][n] * TIER_PAGE_BYTES;
	sim_tracker_stop(s);
	free(s->pages);
}

void sim_spaces_reap(struct sim_machine *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n_spaces; i++) {
		if (sim_space_alive(m, &m->spaces[i]))
			m->spaces[kept++] = m->spaces[i];
		else
			space_release(m, &m->spaces[i]);
	}
	m->n_spaces = kept;
}

int sim_add_process(struct tier_machine *machine, const struct sim_process *p,
		    uint64_t *ret_space_id)
{
	struct sim_machine *m = (struct sim_machine *)machine;
	int node = tier_topology_index(&m->topology, p->node);
	struct sim_space s = { .process = *p, .end_us = UINT64_MAX };
	uint64_t end = p->start + p->bytes;
	int r;

	if (node < 0 || p->start % TIER_PAGE_BYTES || p->bytes % TIER_PAGE_BYTES || !p->bytes ||
	    p->bytes > PROCESS_MAX_BYTES)
		return -EINVAL;
	if (m->topology.nodes[node].free_bytes < p->bytes)
		return -ENOSPC;
	r = array_reserve((void **)&m->spaces, &m->spaces_capacity, m->n_spaces, sizeof(s),
			  SPACES_MAX);
	if (r < 0)
		return r;
	s.first_slot = round_down_u64(p->start, TIER_SLOT_BYTES);
	s.n_slots = (round_up_u64(end, TIER_SLOT_BYTES) - s.first_slot) / TIER_SLOT_BYTES;
	s.pages = calloc(s.n_slots, sizeof(*s.pages));
	if (!s.pages)
		return -ENOMEM;
	for (size_t i = 0; i < s.n_slots; i++) {
		uint64_t at = s.first_slot + i * TIER_SLOT_BYTES;
		uint64_t bytes = sim_overlap_bytes(at, at + TIER_SLOT_BYTES, p->start, end);

		s.pages[i][node] = (uint16_t)(bytes / TIER_PAGE_BYTES);
	}
	m->topology.nodes[node].free_bytes -= p->bytes;
	s.space_id = ++m->next_id;
	s.pid = (pid_t)(1000 + s.space_id);
	m->spaces[m->n_spaces++] = s;
	*ret_space_id = s.space_id;
	return 0;
}

int sim_set_workload(struct tier_machine *m, uint64_t space_id, const struct sim_workload *w)
{
	struct sim_space *s = sim_space_find((struct sim_machine *)m, space_id);

	if (!s)
		return -ESRCH;
	s->process.workload = *w;
	return 0;
}

int sim_end_process(struct tier_machine *m, uint64_t space_id, uint64_t at_us)
{
	struct sim_space *s = sim_space_find((struct sim_machine *)m, space_id);

	if (!s)
		return -ESRCH;
	s->end_us = at_us;
	sim_spaces_reap((struct sim_machine *)m);
	return 0;
}

int sim_space_residency(struct sim_machine *m, const struct sim_space *s,
			struct tier_residency **ret)
{
	struct tier_residency *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->slots = calloc(s->n_slots, sizeof(*r->slots));
	if (!r->slots) {
		free(r);
		return -ENOMEM;
	}
	r->space_id = s->space_id;
	r->read_us = m->now_us;
	for (size_t i = 0; i < s->n_slots; i++) {
		struct tier_slot *slot = &r->slots[r->n_slots];
		unsigned int pages = 0;

		slot->start = s->first_slot + i * TIER_SLOT_BYTES;
		memcpy(slot->pages, s->pages[i], sizeof(slot->pages));
		for (size_t n = 0; n < m->topology.n_nodes; n++)
			pages += slot->pages[n];
		if (pages)
			r->n_slots++;
	}
	*ret = r;
	return 0;
}

uint64_t sim_hot_bytes(struct tier_machine *m, uint64_t space_id, uint64_t start, uint64_t end)
{
	struct sim_space *s = sim_space_find((struct sim_machine *)m, space_id);
	uint64_t hot_start, hot_end;

	if (!s)
		return 0;
	sim_workload_hot_range(&s->process, sim_clock_now(m), &hot_start, &hot_end);
	return sim_overlap_bytes(start, end, hot_start, hot_end);
}

uint64_t sim_bytes_on(struct tier_machine *machine, uint64_t space_id, int node, bool hot_only)
{
	struct sim_machine *m = (struct sim_machine *)machine;
	struct sim_space *s = sim_space_find(m, space_id);
	int index = tier_topology_index(&m->topology, node);
	uint64_t sum = 0;

	if (!s || index < 0)
		return 0;
	for (size_t i = 0; i < s->n_slots; i++) {
		uint64_t at = s->first_slot + i * TIER_SLOT_BYTES;
		uint64_t here = s->pages[i][index];
		uint64_t all = 0;

		for (size_t n = 0; n < m->topology.n_nodes; n++)
			all += s->pages[i][n];
		if (!here)
			continue;
		sum += hot_only ? sim_hot_bytes(machine, space_id, at, at + TIER_SLOT_BYTES) *
				       here / all
			     : here * TIER_PAGE_BYTES;
	}
	return sum;
}
