// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes wishes from where a slot is and where it should be. Knows nodes and pages; must not know
 * temperatures or policies: whether a wish is made is for decide/ and plan/ to say.
 */
#include "model/wish.h"
#include "model/tiers.h"
#include "util.h"

int wishes_add(struct wishes *w, const struct wish *wish)
{
	int r = array_reserve((void **)&w->array, &w->capacity, w->n, sizeof(*w->array),
			      WISHES_MAX);

	if (r < 0)
		return r;
	w->array[w->n++] = *wish;
	return 0;
}

/* The node of the tier that holds most of the slot, or -1 when none holds any. */
static int holder(const struct tier_topology *t, const struct tier_slot *slot, unsigned int rank)
{
	int best = -1;

	for (size_t n = 0; n < t->n_nodes; n++)
		if (slot->pages[n] && tiers_holds(t, n, rank) &&
		    (best < 0 || slot->pages[n] > slot->pages[best]))
			best = (int)n;
	return best;
}

static int choose_node(const struct tier_topology *t, const struct tier_slot *slot, size_t from,
		       unsigned int rank, const int64_t *room_bytes, uint64_t bytes)
{
	int to = holder(t, slot, rank);

	if (to < 0)
		to = tiers_nearest(t, from, rank, room_bytes, bytes);
	if (to < 0)
		to = tiers_nearest(t, from, rank, NULL, 0);
	return to;
}

static bool finish(const struct tier_topology *t, const struct tier_slot *slot, unsigned int rank,
		   const int64_t *room_bytes, uint32_t pages, size_t from, struct wish *ret)
{
	uint32_t bytes = pages * (uint32_t)TIER_PAGE_BYTES;
	int to = pages ? choose_node(t, slot, from, rank, room_bytes, bytes) : -1;

	if (to < 0)
		return false;
	*ret = (struct wish){
		.start = slot->start,
		.bytes = bytes,
		.from_index = (uint16_t)from,
		.to_index = (uint16_t)to,
	};
	return true;
}

bool wish_towards(const struct tier_topology *t, const struct tier_slot *slot, unsigned int rank,
		  const int64_t *room_bytes, struct wish *ret)
{
	uint32_t pages = 0;
	size_t from = 0;

	for (size_t n = 0; n < t->n_nodes; n++) {
		if (!slot->pages[n] || tiers_holds(t, n, rank))
			continue;
		if (!pages || slot->pages[n] > slot->pages[from])
			from = n;
		pages += slot->pages[n];
	}
	return finish(t, slot, rank, room_bytes, pages, from, ret);
}

/* The tier below @rank that holds most of the slot, or the next one when none holds any. */
static unsigned int rank_below(const struct tier_topology *t, const struct tier_slot *slot,
			       unsigned int rank)
{
	unsigned int to = tiers_slower(t, rank);
	uint16_t most = 0;

	for (size_t n = 0; n < t->n_nodes; n++) {
		if (t->nodes[n].rank <= rank || slot->pages[n] <= most)
			continue;
		most = slot->pages[n];
		to = t->nodes[n].rank;
	}
	return to;
}

bool wish_down(const struct tier_topology *t, const struct tier_slot *slot,
	       const int64_t *room_bytes, struct wish *ret)
{
	unsigned int rank = UINT32_MAX;
	uint32_t pages = 0;
	int from;

	for (size_t n = 0; n < t->n_nodes; n++)
		if (slot->pages[n])
			rank = MIN(rank, t->nodes[n].rank);
	from = holder(t, slot, rank);
	if (from < 0 || tiers_slower(t, rank) == rank)
		return false;
	for (size_t n = 0; n < t->n_nodes; n++)
		if (tiers_holds(t, n, rank))
			pages += slot->pages[n];
	return finish(t, slot, rank_below(t, slot, rank), room_bytes, pages, (size_t)from, ret);
}
