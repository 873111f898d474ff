/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_LINUX_NODE_SET_H
#define TIER_LINUX_NODE_SET_H

/* A set of kernel node ids, of one size whatever the machine. No I/O, no parsing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's own limit: MAX_NUMNODES with NODES_SHIFT=10, the largest that any config has. */
#define NODE_ID_MAX 1023

#define NODE_SET_WORDS ((NODE_ID_MAX + 1) / 64)

struct node_set {
	uint64_t words[NODE_SET_WORDS];
};

static inline void node_set_add(struct node_set *s, int id)
{
	s->words[id / 64] |= 1ULL << (id % 64);
}

static inline bool node_set_has(const struct node_set *s, int id)
{
	return id >= 0 && id <= NODE_ID_MAX && (s->words[id / 64] >> (id % 64) & 1);
}

static inline size_t node_set_count(const struct node_set *s)
{
	size_t n = 0;

	for (size_t i = 0; i < NODE_SET_WORDS; i++)
		n += (size_t)__builtin_popcountll(s->words[i]);
	return n;
}

/* The smallest id of the set that is >= @from, or -1. */
static inline int node_set_next(const struct node_set *s, int from)
{
	for (int id = from < 0 ? 0 : from; id <= NODE_ID_MAX; id++)
		if (node_set_has(s, id))
			return id;
	return -1;
}

/* Is every node of @s in @of, too? */
static inline bool node_set_within(const struct node_set *s, const struct node_set *of)
{
	for (size_t i = 0; i < NODE_SET_WORDS; i++)
		if (s->words[i] & ~of->words[i])
			return false;
	return true;
}

#endif
