/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_MACHINE_H
#define TIER_MACHINE_H

/*
 * The seam between mechanism and everything above it. The Linux machine (lib/linux) and the
 * synthetic one (lib/sim) each fill one struct tier_machine_ops; lib/machine.c does nothing but
 * call through it. What each operation promises is written at its tier_machine_* twin in tier.h.
 */

#include "tier.h"

struct tier_machine_ops {
	const char *name;
	void (*free)(struct tier_machine *m);
	uint64_t (*now_us)(struct tier_machine *m);
	int (*read_topology)(struct tier_machine *m, struct tier_topology **ret);
	int (*read_cgroups)(struct tier_machine *m, struct tier_cgroups **ret);
	int (*read_usage)(struct tier_machine *m, uint64_t cgroup_id, struct tier_usage *ret);
	int (*read_processes)(struct tier_machine *m, const uint64_t *cgroup_ids,
			      size_t n_cgroup_ids, struct tier_processes **ret);
	int (*read_residency)(struct tier_machine *m, uint64_t space_id,
			      struct tier_residency **ret);
	int (*track)(struct tier_machine *m, const uint64_t *space_ids, size_t n_space_ids);
	int (*read_access)(struct tier_machine *m, struct tier_accesses **ret);
	void (*read_tracker)(struct tier_machine *m, struct tier_tracker_state *ret);
	int (*move)(struct tier_machine *m, const struct tier_move *move, struct tier_outcome *ret);
};

/* First member of every machine; the implementation embeds it and gets itself back by cast. */
struct tier_machine {
	const struct tier_machine_ops *ops;
};

#endif
