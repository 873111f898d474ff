// SPDX-License-Identifier: GPL-2.0-or-later
/* Tiers, their nodes and amounts of them: pure look-ups. Chooses by distance and room only. */
#include "model/tiers.h"
#include "model/snapshot.h"
#include "util.h"

#define BP 10000

bool tiers_holds(const struct tier_topology *t, size_t node, unsigned int rank)
{
	return t->nodes[node].total_bytes && t->nodes[node].rank == rank;
}

unsigned int tiers_fastest(const struct tier_topology *t)
{
	unsigned int rank = UINT32_MAX;

	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].total_bytes)
			rank = MIN(rank, t->nodes[i].rank);
	return rank;
}

unsigned int tiers_slowest(const struct tier_topology *t)
{
	unsigned int rank = 0;

	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].total_bytes)
			rank = MAX(rank, t->nodes[i].rank);
	return rank;
}

unsigned int tiers_slower(const struct tier_topology *t, unsigned int rank)
{
	unsigned int next = UINT32_MAX;

	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].total_bytes && t->nodes[i].rank > rank)
			next = MIN(next, t->nodes[i].rank);
	return next == UINT32_MAX ? rank : next;
}

uint64_t tiers_total_bytes(const struct tier_topology *t, unsigned int rank)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].rank == rank)
			sum += t->nodes[i].total_bytes;
	return sum;
}

/* A distance that nobody knows is as far as can be. */
static unsigned int distance(const struct tier_topology *t, size_t a, size_t b)
{
	return t->distance[a][b] ? t->distance[a][b] : UINT8_MAX;
}

int tiers_nearest(const struct tier_topology *t, size_t from, unsigned int rank,
		  const int64_t *room_bytes, uint64_t need_bytes)
{
	int best = -1;

	/* Ascending by id: the first of equals wins. */
	for (size_t i = 0; i < t->n_nodes; i++) {
		if (!tiers_holds(t, i, rank))
			continue;
		if (room_bytes && room_bytes[i] < (int64_t)MIN(need_bytes, (uint64_t)INT64_MAX))
			continue;
		if (best < 0 || distance(t, from, i) < distance(t, from, (size_t)best))
			best = (int)i;
	}
	return best;
}

uint64_t amount_bytes(struct amount a, uint64_t whole_bytes)
{
	uint64_t share_bp = MIN(a.value, (uint64_t)BP);

	if (!a.is_share)
		return a.value;
	return whole_bytes / BP * share_bp + whole_bytes % BP * share_bp / BP;
}

uint64_t snapshot_headroom_bytes(const struct snapshot *s, size_t node)
{
	const struct tier_node *n = &s->topology->nodes[node];
	uint64_t wanted = amount_bytes(s->settings->headroom, n->total_bytes);

	/* The mover leaves the kernel's reserve alone in any case: plan with what it will do. */
	return MIN(MAX(wanted, n->reserve_bytes), n->total_bytes);
}

int64_t snapshot_room_bytes(const struct snapshot *s, size_t node)
{
	return (int64_t)s->topology->nodes[node].free_bytes -
	       (int64_t)snapshot_headroom_bytes(s, node);
}
