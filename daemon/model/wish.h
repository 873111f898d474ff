/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_WISH_H
#define MODEL_WISH_H

/*
 * From a slot's place to where it should be: which bytes, from where, to which node. Also used for
 * an administrator's rebalance, which asks without regard to heat.
 */

#include "model/target.h"
#include "tier.h"

/* Whole slots that one machine can hold: 64 TiB. */
#define WISHES_MAX (32U << 20)

struct wishes {
	size_t n;
	size_t capacity;
	struct wish *array;
};

/* 0, -ENOMEM or -E2BIG. */
int wishes_add(struct wishes *w, const struct wish *wish);

/*
 * All of the slot that is not on tier @rank, to the node of that tier that has part of it already,
 * else to the nearest one with room (by node index), else to the nearest. False when there is
 * nothing to move. Fills bytes, from_index, to_index and start; clears the rest.
 */
bool wish_towards(const struct tier_topology *t, const struct tier_slot *slot, unsigned int rank,
		  const int64_t *room_bytes, struct wish *ret);
/*
 * What the slot has on the fastest of its tiers, to where the rest of it is if that is slower, else
 * one tier down. False when nothing is slower.
 */
bool wish_down(const struct tier_topology *t, const struct tier_slot *slot,
	       const int64_t *room_bytes, struct wish *ret);

#endif
