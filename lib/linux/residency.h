/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_RESIDENCY_H
#define TIER_RESIDENCY_H

/* How pages are counted by slot, and what counts at all, for the mover, too. Pure. */

#include "linux/linux.h"
#include "linux/parse.h"

/* Slots in the making, ascending. Zeroed to begin with; slots is free()d by whoever takes it. */
struct slot_list {
	size_t n;
	size_t capacity;
	struct tier_slot *slots;
	uint64_t pages; /* in all of them */
};

/* Adds pages of one node from @address on, which must not lie below what was added before. */
int slot_list_add(struct slot_list *l, uint64_t address, uint32_t pages, int node_index);
/* Index in the topology by kernel id, -1 for other ids; -E2BIG beyond TIER_NODES_MAX nodes. */
int node_index_make(const struct node_set *online, int16_t ret[NODE_ID_MAX + 1]);
/* May anything of this mapping be moved at all? */
bool vma_movable(const struct vma *v);

#endif
