// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which memory is faster: makes tiers of what is known about the nodes, by the best source that
 * tells them apart. Pure: it must not read a file or ask a library.
 *
 * Every source is brought to one number per node, smaller is faster; the distinct numbers are the
 * ranks.
 */
#include "linux/topology.h"
#include "util.h"

/* Key of a node that has no memory and therefore takes no part. */
#define KEY_NONE UINT32_MAX

/*
 * Firmware measures the figures in HMAT, or computes them from clocks, so that nodes of the same
 * kind in different sockets differ by a few percent; another kind of memory differs by tens of
 * percent. Figures within a tenth of the best of a tier belong to that tier.
 */
#define ALIKE_DIVISOR 10

/* Ranks from keys; the number of tiers. */
static size_t rank_by_keys(struct tier_topology *t, const uint32_t *keys)
{
	uint32_t distinct[TIER_NODES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < t->n_nodes; i++) {
		size_t at = 0;

		if (keys[i] == KEY_NONE)
			continue;
		while (at < n && distinct[at] < keys[i])
			at++;
		if (at < n && distinct[at] == keys[i])
			continue;
		memmove(&distinct[at + 1], &distinct[at], (n - at) * sizeof(*distinct));
		distinct[at] = keys[i];
		n++;
	}
	for (size_t i = 0; i < t->n_nodes; i++) {
		/* Memoryless nodes count to the slowest tier: a valid rank, never any room. */
		t->nodes[i].rank = n ? (unsigned int)n - 1 : 0;
		for (size_t k = 0; k < n; k++)
			if (keys[i] == distinct[k])
				t->nodes[i].rank = (unsigned int)k;
	}
	return n;
}

/* Takes @keys as the order if they tell at least two tiers apart. */
static bool try_keys(struct tier_topology *t, const uint32_t *keys, enum tier_order_source source)
{
	size_t n = rank_by_keys(t, keys);

	if (n < 2)
		return false;
	t->n_tiers = n;
	t->source = source;
	return true;
}

static bool has_memory(const struct tier_topology *t, size_t i)
{
	return t->nodes[i].total_bytes > 0;
}

static void keys_by_list(const struct tier_topology *t, const struct tier_list *order,
			 uint32_t *keys)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		uint32_t tier = 0;

		while (tier < order->n_tiers && !node_set_has(&order->tiers[tier], t->nodes[i].id))
			tier++;
		keys[i] = has_memory(t, i) ? tier : KEY_NONE;
	}
}

static bool order_by_kernel(struct tier_topology *t, const int *kernel_tier)
{
	uint32_t keys[TIER_NODES_MAX] = {0};

	for (size_t i = 0; i < t->n_nodes; i++) {
		keys[i] = KEY_NONE;
		if (!has_memory(t, i))
			continue;
		if (kernel_tier[i] == KERNEL_TIER_NONE)
			return false;
		keys[i] = (uint32_t)kernel_tier[i];
	}
	return try_keys(t, keys, TIER_ORDER_KERNEL);
}

/*
 * Classes of alike values among the nodes whose @within is @only: class 0 are those no more than a
 * tenth above the smallest, and so on. *classes are set for these nodes.
 */
static void classify(const struct tier_topology *t, const uint64_t *values, const uint32_t *within,
		     uint32_t only, uint32_t *classes)
{
	bool done[TIER_NODES_MAX] = {false};

	for (uint32_t level = 0;; level++) {
		uint64_t best = UINT64_MAX;

		for (size_t i = 0; i < t->n_nodes; i++)
			if (within[i] == only && !done[i])
				best = MIN(best, values[i]);
		if (best == UINT64_MAX)
			return;
		for (size_t i = 0; i < t->n_nodes; i++) {
			if (within[i] != only || done[i] || values[i] > best + best / ALIKE_DIVISOR)
				continue;
			classes[i] = level;
			done[i] = true;
		}
	}
}

/* Is a figure known for all nodes with memory? */
static bool all_known(const struct tier_topology *t, bool latency)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct tier_node *n = &t->nodes[i];

		if (has_memory(t, i) && (latency ? n->latency_ns : n->bandwidth_mib_s) == 0)
			return false;
	}
	return true;
}

/* Picoseconds that one MiB takes: turns "more is faster" into "less is faster". */
static uint64_t transfer_ps(uint32_t bandwidth_mib_s)
{
	return 1000000000000ULL / bandwidth_mib_s;
}

static bool order_by_attributes(struct tier_topology *t)
{
	bool by_latency = all_known(t, true), by_bandwidth = all_known(t, false);
	uint32_t latency_class[TIER_NODES_MAX] = {0}, bandwidth_class[TIER_NODES_MAX] = {0};
	uint32_t memory[TIER_NODES_MAX] = {0}, keys[TIER_NODES_MAX] = {0};
	uint64_t values[TIER_NODES_MAX] = {0};

	if (!by_latency && !by_bandwidth)
		return false;
	for (size_t i = 0; i < t->n_nodes; i++) {
		memory[i] = has_memory(t, i) ? 0 : KEY_NONE;
		latency_class[i] = KEY_NONE;
		values[i] = by_latency ? t->nodes[i].latency_ns : 0;
	}
	classify(t, values, memory, 0, latency_class);
	if (by_bandwidth) {
		for (size_t i = 0; i < t->n_nodes; i++)
			if (has_memory(t, i))
				values[i] = transfer_ps(t->nodes[i].bandwidth_mib_s);
		for (uint32_t level = 0; level < t->n_nodes; level++)
			classify(t, values, latency_class, level, bandwidth_class);
	}
	for (size_t i = 0; i < t->n_nodes; i++)
		keys[i] = has_memory(t, i) ? latency_class[i] * TIER_NODES_MAX + bandwidth_class[i]
					   : KEY_NONE;
	return try_keys(t, keys, TIER_ORDER_ATTRIBUTES);
}

/* Distance to the nearest node with CPUs; an unknown distance (0) counts as the farthest. */
static uint32_t distance_to_cpus(const struct tier_topology *t, size_t node)
{
	uint32_t nearest = UINT8_MAX;

	for (size_t i = 0; i < t->n_nodes; i++)
		if (t->nodes[i].has_cpus && t->distance[i][node])
			nearest = MIN(nearest, (uint32_t)t->distance[i][node]);
	return nearest;
}

static bool order_by_distance(struct tier_topology *t)
{
	uint32_t keys[TIER_NODES_MAX] = {0};

	for (size_t i = 0; i < t->n_nodes; i++) {
		if (!has_memory(t, i))
			keys[i] = KEY_NONE;
		else
			keys[i] = t->nodes[i].has_cpus ? 0 : distance_to_cpus(t, i);
	}
	return try_keys(t, keys, TIER_ORDER_DISTANCE);
}

static void order_by_nothing(struct tier_topology *t)
{
	uint32_t keys[TIER_NODES_MAX] = {0};

	for (size_t i = 0; i < t->n_nodes; i++)
		keys[i] = has_memory(t, i) ? 0 : KEY_NONE;
	t->n_tiers = rank_by_keys(t, keys);
	t->source = TIER_ORDER_SINGLE;
}

void order_nodes(struct tier_topology *t, const int *kernel_tier, const struct tier_list *order)
{
	uint32_t keys[TIER_NODES_MAX] = {0};

	if (order) {
		keys_by_list(t, order, keys);
		t->n_tiers = rank_by_keys(t, keys);
		t->source = TIER_ORDER_OVERRIDE;
		return;
	}
	if (order_by_kernel(t, kernel_tier) || order_by_attributes(t) || order_by_distance(t))
		return;
	order_by_nothing(t);
}

int order_check(const struct tier_list *order, const struct tier_topology *t, const char **ret_why)
{
	struct node_set named = {0};

	for (size_t tier = 0; tier < order->n_tiers; tier++) {
		const struct node_set *s = &order->tiers[tier];

		for (int id = node_set_next(s, 0); id >= 0; id = node_set_next(s, id + 1)) {
			if (tier_topology_index(t, id) < 0) {
				*ret_why = "the tier order names a node that this machine does "
					   "not have";
				return -EINVAL;
			}
			node_set_add(&named, id);
		}
	}
	for (size_t i = 0; i < t->n_nodes; i++) {
		if (has_memory(t, i) && !node_set_has(&named, t->nodes[i].id)) {
			*ret_why = "the tier order leaves out a node that has memory";
			return -EINVAL;
		}
	}
	if (order->n_tiers < 2) {
		*ret_why = "the tier order has one tier only: separate tiers by '>'";
		return -EINVAL;
	}
	return 0;
}
