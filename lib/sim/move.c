// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Moving on the synthetic machine: slot by slot, as long as the target has room and the process
 * lives, each slot taking its time on the virtual clock. Every byte asked is accounted for.
 */
#include "sim/private.h"
#include "util.h"

#define PAGES_PER_SLOT (TIER_SLOT_BYTES / TIER_PAGE_BYTES)
#define ORDER_SLOT (TIER_ORDERS - 1)

static bool move_valid(const struct sim_machine *m, const struct tier_move *move)
{
	uint64_t end = 0;

	if (tier_topology_index(&m->topology, move->target_node) < 0 || !move->n_ranges)
		return false;
	for (size_t i = 0; i < move->n_ranges; i++) {
		const struct tier_range *r = &move->ranges[i];

		if (r->start < end || r->start >= r->end || r->start % TIER_SLOT_BYTES ||
		    r->end % TIER_SLOT_BYTES)
			return false;
		end = r->end;
	}
	return true;
}

/* Pages of the slot that are not on the target yet change place; their number. */
static uint64_t slot_transfer(struct sim_machine *m, uint16_t *pages, size_t target)
{
	uint64_t moved = 0;

	for (size_t n = 0; n < m->topology.n_nodes; n++) {
		if (n == target)
			continue;
		moved += pages[n];
		m->topology.nodes[n].free_bytes += pages[n] * TIER_PAGE_BYTES;
		pages[target] = (uint16_t)(pages[target] + pages[n]);
		pages[n] = 0;
	}
	m->topology.nodes[target].free_bytes -= moved * TIER_PAGE_BYTES;
	return moved;
}

static void slot_call(struct sim_machine *m, uint64_t bytes, struct tier_outcome *o)
{
	uint64_t us = bytes * m->costs.us_per_mib / MiB;

	m->now_us += us;
	o->calls++;
	o->call_sum_us += us;
	o->call_max_us = MAX(o->call_max_us, us);
}

static void slot_move(struct sim_machine *m, struct sim_space *s, uint64_t start,
		      const struct tier_move *move, struct tier_outcome *o)
{
	size_t target = (size_t)tier_topology_index(&m->topology, move->target_node);
	size_t i = (start - s->first_slot) / TIER_SLOT_BYTES;
	uint64_t free_bytes = m->topology.nodes[target].free_bytes;
	uint64_t there, elsewhere = 0;
	unsigned int order;

	if (start < s->first_slot || i >= s->n_slots) {
		o->bytes[TIER_NOT_RESIDENT][0] += TIER_SLOT_BYTES;
		return;
	}
	there = s->pages[i][target];
	for (size_t n = 0; n < m->topology.n_nodes; n++)
		elsewhere += n == target ? 0 : s->pages[i][n];
	order = there + elsewhere == PAGES_PER_SLOT ? ORDER_SLOT : 0;
	o->bytes[TIER_ALREADY_THERE][order] += there * TIER_PAGE_BYTES;
	o->bytes[TIER_NOT_RESIDENT][0] += (PAGES_PER_SLOT - there - elsewhere) * TIER_PAGE_BYTES;
	if (!elsewhere)
		return;
	if (free_bytes < move->headroom_bytes + elsewhere * TIER_PAGE_BYTES) {
		o->bytes[TIER_TARGET_FULL][order] += elsewhere * TIER_PAGE_BYTES;
		return;
	}
	slot_call(m, elsewhere * TIER_PAGE_BYTES, o);
	if (sim_chance(m, m->costs.refused_bp))
		o->bytes[m->costs.refusal][order] += elsewhere * TIER_PAGE_BYTES;
	else
		o->bytes[TIER_MOVED][order] +=
			slot_transfer(m, s->pages[i], target) * TIER_PAGE_BYTES;
}

int sim_move(struct tier_machine *machine, const struct tier_move *move, struct tier_outcome *ret)
{
	struct sim_machine *m = (struct sim_machine *)machine;
	struct sim_space *s = sim_space_find(m, move->space_id);
	struct tier_outcome o = { 0 };

	if (!move_valid(m, move))
		return -EINVAL;
	for (size_t i = 0; i < move->n_ranges; i++) {
		for (uint64_t at = move->ranges[i].start; at < move->ranges[i].end;
		     at += TIER_SLOT_BYTES) {
			o.asked_bytes += TIER_SLOT_BYTES;
			if (move->cancel && *move->cancel)
				o.bytes[TIER_NOT_TRIED][0] += TIER_SLOT_BYTES;
			else if (!s || !sim_space_alive(m, s))
				o.bytes[TIER_PROCESS_ENDED][0] += TIER_SLOT_BYTES;
			else
				slot_move(m, s, at, move, &o);
			if (move->progress)
				move->progress(move->userdata, &o);
		}
	}
	sim_spaces_reap(m);
	*ret = o;
	return 0;
}
