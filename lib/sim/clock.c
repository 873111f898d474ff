// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Virtual time and seeded chance of the synthetic machine. No real clock and no real randomness:
 * the same seed gives the same run.
 */
#include "sim/private.h"

uint64_t sim_clock_now(struct tier_machine *m)
{
	return ((struct sim_machine *)m)->now_us;
}

void sim_advance(struct tier_machine *m, uint64_t us)
{
	struct sim_machine *sim = (struct sim_machine *)m;

	sim->now_us += us;
	sim_spaces_reap(sim);
}

/* splitmix64: one word of state, any seed will do. */
uint64_t sim_random(struct sim_machine *m)
{
	uint64_t z = (m->random += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

bool sim_chance(struct sim_machine *m, uint32_t bp)
{
	return sim_random(m) % 10000 < bp;
}
