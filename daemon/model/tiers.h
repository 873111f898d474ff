/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_TIERS_H
#define MODEL_TIERS_H

/*
 * Questions about a topology that decide/ and plan/ both ask. A node without memory is in no tier.
 * Nodes are given by index, not by id.
 */

#include "tier.h"

/* Rank of the fastest and of the slowest tier. */
unsigned int tiers_fastest(const struct tier_topology *t);
unsigned int tiers_slowest(const struct tier_topology *t);
/* The next slower rank that has memory, or @rank itself when there is none. */
unsigned int tiers_slower(const struct tier_topology *t, unsigned int rank);
bool tiers_holds(const struct tier_topology *t, size_t node, unsigned int rank);
uint64_t tiers_total_bytes(const struct tier_topology *t, unsigned int rank);
/*
 * The node of tier @rank nearest to @from: by distance, then by id. Nodes with less than @room
 * (by node index; may be NULL) of @need_bytes are passed over. -1 when there is none.
 */
int tiers_nearest(const struct tier_topology *t, size_t from, unsigned int rank,
		  const int64_t *room_bytes, uint64_t need_bytes);

#endif
