/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_LINUX_TOPOLOGY_H
#define TIER_LINUX_TOPOLOGY_H

/*
 * What the three files about nodes share: topology.c reads sysfs, attributes.c asks hwloc, order.c
 * makes tiers of it.
 */

#include "linux/parse.h"
#include "tier.h"

struct topology_cache;

int topology_cache_new(struct topology_cache **ret);
struct topology_cache *topology_cache_free(struct topology_cache *c);

/* No tier of the kernel's is known for a node. */
#define KERNEL_TIER_NONE (-1)

/*
 * Does @order name every node of @t that has memory, and none that @t does not have? -EINVAL if
 * not, with a static text.
 */
int order_check(const struct tier_list *order, const struct tier_topology *t, const char **ret_why);

/*
 * Sets ranks, number of tiers and source of @t, whose nodes, memory, attributes and distances are
 * filled in. @kernel_tier is by node index; @order is NULL or the administrator's, which need not
 * fit the machine (nodes come and go): nodes with memory that it leaves out are the slowest tier.
 */
void order_nodes(struct tier_topology *t, const int *kernel_tier, const struct tier_list *order);

/*
 * Latency and bandwidth of the nodes of @t as hwloc knows them; what it does not know stays 0.
 * @root is NULL or the directory of a recorded tree.
 */
void attributes_read(const char *root, struct tier_topology *t);

#endif
