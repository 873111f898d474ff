/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_SIM_PRIVATE_H
#define TIER_SIM_PRIVATE_H

/* The synthetic machine from the inside. */

#include "machine.h"
#include "sim/sim.h"

/* A region as the tracker keeps it between aggregations. */
struct sim_region {
	uint64_t start;
	uint64_t end;
	uint32_t hits; /* of SIM_SAMPLES */
};

struct sim_tracked {
	bool on;
	uint64_t until_us;  /* sampled so far */
	uint64_t seq;
	size_t n_regions;
	size_t n_shown;
	struct sim_region *regions;
	struct tier_region *shown; /* the newest sample, noise included */
};

struct sim_space {
	struct sim_process process;
	uint64_t space_id;
	uint64_t end_us;    /* UINT64_MAX: lives on */
	pid_t pid;
	size_t n_slots;
	uint64_t first_slot; /* address */
	uint16_t (*pages)[TIER_NODES_MAX];
	struct sim_tracked tracked;
};

struct sim_machine {
	struct tier_machine base;
	uint64_t now_us;
	uint64_t random;
	struct tier_topology topology;  /* free_bytes kept up to date */
	struct sim_noise noise;
	struct sim_costs costs;
	enum tier_tracker tracker;
	size_t n_cgroups;
	size_t cgroups_capacity;
	struct tier_cgroup *cgroups;    /* [0] is the root */
	size_t n_spaces;
	size_t spaces_capacity;
	struct sim_space *spaces;
	uint64_t next_id;
};

/* ---- clock.c: virtual time and seeded chance ---- */

uint64_t sim_clock_now(struct tier_machine *m);
uint64_t sim_random(struct sim_machine *m);
/* True with a chance of @bp in 10000. */
bool sim_chance(struct sim_machine *m, uint32_t bp);

/* ---- workload.c ---- */

void sim_workload_hot_range(const struct sim_process *p, uint64_t now_us, uint64_t *ret_start,
			uint64_t *ret_end);
/* Chance, in 1/65536, that a page of [start, end) was accessed in a sampling interval. */
uint32_t sim_workload_chance(const struct sim_process *p, uint64_t now_us, uint64_t start,
			 uint64_t end);
uint64_t sim_overlap_bytes(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end);

/* ---- space.c: processes and where their pages are ---- */

struct sim_space *sim_space_find(struct sim_machine *m, uint64_t space_id);
bool sim_space_alive(const struct sim_machine *m, const struct sim_space *s);
/* Gives the memory of processes that have ended back. */
void sim_spaces_reap(struct sim_machine *m);
int sim_space_residency(struct sim_machine *m, const struct sim_space *s,
			struct tier_residency **ret);

/* ---- tracker.c ---- */

int sim_tracker_start(struct sim_machine *m, struct sim_space *s);
void sim_tracker_stop(struct sim_space *s);
/* Samples up to now. */
int sim_tracker_catch_up(struct sim_machine *m, struct sim_space *s);

/* ---- move.c ---- */

int sim_move(struct tier_machine *m, const struct tier_move *move, struct tier_outcome *ret);

#endif
