/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_SIM_H
#define TIER_SIM_H

/*
 * A synthetic machine behind struct tier_machine_ops, on a virtual clock: nodes with capacities,
 * cgroups, processes that access their memory by a workload, a tracker that samples it the way
 * DAMON does, and moves that take time and may fail. The same seed and the same calls give the same
 * machine. One thread only. Times are microseconds since the machine was made.
 */

#include "tier.h"

/**
 * struct sim_node - one node
 * @taken_bytes: used by things outside the simulation (kernel, page cache); never moves
 */
struct sim_node {
	int id;
	unsigned int rank;
	bool has_cpus;
	uint64_t total_bytes;
	uint64_t taken_bytes;
};

enum sim_workload_kind {
	SIM_IDLE,       /* nothing is accessed */
	SIM_STATIONARY, /* one hot range, the rest at the cold rate */
	SIM_UNIFORM,    /* everything at the hot rate */
	SIM_PHASES,     /* as stationary, but the hot range jumps on every @phase_us */
};

/**
 * struct sim_workload - how a process uses its mapping
 * @hot_offset: of the hot range from the start of the mapping
 * @hot_rate_bp: chance that a page of the hot range is accessed within one sampling interval: a set
 *	swept every 20 ms, seen by a tracker that looks every 5 ms, gives 2500
 * @cold_rate_bp: likewise for the rest
 * @phase_us: SIM_PHASES: the hot range moves on by its own length each time
 */
struct sim_workload {
	enum sim_workload_kind kind;
	uint64_t hot_offset;
	uint64_t hot_bytes;
	uint32_t hot_rate_bp;
	uint32_t cold_rate_bp;
	uint64_t phase_us;
};

/**
 * struct sim_process - one process with one mapping
 * @start: address, a multiple of 4 KiB
 * @node: kernel id of the node where its memory begins; must have the room
 */
struct sim_process {
	uint64_t cgroup_id;
	uint64_t start;
	uint64_t bytes;
	int node;
	struct sim_workload workload;
};

/**
 * struct sim_noise - what goes wrong with samples, beyond what sampling itself does
 * @missed_bp: chance that a sample finds nothing accessed at all
 * @merged_bp: chance that a sample has the hot range merged into one region with everything
 * @delayed_bp: chance that there is no new sample
 */
struct sim_noise {
	uint32_t missed_bp;
	uint32_t merged_bp;
	uint32_t delayed_bp;
};

/**
 * struct sim_costs - moving
 * @us_per_mib: time that moving takes, the clock runs on meanwhile
 * @refused_bp: chance that a slot is refused
 * @refusal: as what (TIER_BUSY, TIER_SHARED, …)
 */
struct sim_costs {
	uint64_t us_per_mib;
	uint32_t refused_bp;
	enum tier_result refusal;
};

/** At least one node; ids ascending and distinct. Distances: 10 local, 10 more per tier between. */
int sim_new(uint64_t seed, const struct sim_node *nodes, size_t n_nodes, struct tier_machine **ret);
void sim_set_distance(struct tier_machine *m, int id_a, int id_b, uint8_t distance);
void sim_set_noise(struct tier_machine *m, const struct sim_noise *noise);
void sim_set_costs(struct tier_machine *m, const struct sim_costs *costs);
void sim_set_tracker(struct tier_machine *m, enum tier_tracker tracker);

/** @parent_id 0: below the root. */
int sim_add_cgroup(struct tier_machine *m, uint64_t parent_id, const char *path, uint64_t *ret_id);
/** -ENOSPC when the node lacks the room. */
int sim_add_process(struct tier_machine *m, const struct sim_process *p, uint64_t *ret_space_id);
/** -ESRCH */
int sim_set_workload(struct tier_machine *m, uint64_t space_id, const struct sim_workload *w);
/** The process ends when the clock reaches @at_us, in the middle of a move if that is running. */
int sim_end_process(struct tier_machine *m, uint64_t space_id, uint64_t at_us);

void sim_advance(struct tier_machine *m, uint64_t us);

/**
 * sim_bytes_on - the truth: a process's bytes on one node
 * @hot_only: only those that the workload accesses at the hot rate now. Within a slot that lies on
 *	several nodes hot bytes count in proportion.
 */
uint64_t sim_bytes_on(struct tier_machine *m, uint64_t space_id, int node, bool hot_only);
/** How much of [start, end) is hot now. */
uint64_t sim_hot_bytes(struct tier_machine *m, uint64_t space_id, uint64_t start, uint64_t end);

#endif
