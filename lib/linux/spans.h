/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_SPANS_H
#define TIER_SPANS_H

/*
 * Where the page frames of the nodes are and how much of a node the kernel keeps to itself
 * (/proc/zoneinfo), and which free blocks it has (/proc/buddyinfo).
 */

#include "linux/linux.h"

/* Free lists that buddyinfo can have: MAX_PAGE_ORDER is 10, more only on request. */
#define BUDDY_ORDERS 16

/* Zones with memory: five kinds on each node that we can handle. */
#define ZONES_MAX (5 * TIER_NODES_MAX)

/* Zones may lie inside the holes of others; flattened, that gives at most so many pieces. */
#define SPANS_MAX (2 * ZONES_MAX)

struct span {
	uint64_t start; /* page frame */
	uint64_t end;
	int node;
};

struct zone {
	struct span span;
	uint64_t high_pages; /* below this free, the kernel reclaims */
};

/* All zones that have page frames, in the order of the text; -E2BIG beyond ZONES_MAX. Pure. */
int zoneinfo_parse(const char *text, size_t size, struct zone *ret, size_t *ret_n);
/*
 * Ascending spans that do not overlap. Where zones do, the one that starts last is meant: a node's
 * span covers the holes in it, where other nodes may be. Pure; @ret has SPANS_MAX elements.
 */
void spans_flatten(const struct zone *zones, size_t n, struct span *ret, size_t *ret_n);

/*
 * Free blocks of @node by order, all its zones together; -ENOENT when it has none. Pure.
 */
int buddyinfo_parse(const char *text, size_t size, int node, uint64_t ret_blocks[BUDDY_ORDERS]);

/* The span that @pfn is in, NULL when there is none. */
const struct span *node_spans_lookup(const struct node_spans *s, uint64_t pfn);
/* What must stay free on @node lest the kernel begins to reclaim there. */
uint64_t node_spans_reserve_bytes(const struct node_spans *s, int node);
/* An fd on /proc/kpageflags, or -1 when we have no right to it. */
int node_spans_kpageflags(const struct node_spans *s);

#endif
