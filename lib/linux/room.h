/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_ROOM_H
#define TIER_ROOM_H

/* What a node has to offer to pages that come. */

#include "linux/spans.h"

/* Is it a node with memory? 1, 0, negative errno. */
int room_node_exists(const struct linux_machine *m, int node);
/*
 * Bytes that may be taken on @node: what is free beyond @headroom_bytes, or beyond what the kernel
 * needs not to begin to reclaim, whichever is more. 0 when there is none.
 */
int room_read(const struct linux_machine *m, int node, uint64_t headroom_bytes,
	      uint64_t *ret_bytes);
int room_read_blocks(const struct linux_machine *m, int node, uint64_t ret_blocks[BUDDY_ORDERS]);

#endif
