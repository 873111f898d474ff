/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DECIDE_HEAT_H
#define DECIDE_HEAT_H

/*
 * The temperature of memory: what is left of noisy samples after they have been merged. Knows
 * nothing of nodes, policies or moves.
 *
 * How a sample is merged. For each slot the mean rate of the regions over it is taken, weighted by
 * overlap; where no region is, nothing is learnt. The temperature follows an exponential average
 * that believes a change only when two samples in a row show it: up, by half the way, towards the
 * lower of the newest two rates; down, by an eighth of the way, towards the higher of them. So a
 * single sample that lost a hot range, or smeared it over its neighbours, changes nothing, and of
 * independent losses of one in four only one sample in sixteen cools a little.
 *
 * A slot counts as accessed, which starts its idle time again, when two samples in a row found it
 * accessed, or one found it about as hot as hot memory is.
 */

#include "model/history.h"

/* Steps of idle time in ColdAfter; a slot is idle for long enough after one more than these. */
#define HEAT_IDLE_UNITS 4
/*
 * With fewer samples nothing is decided upon a slot: two of them are needed to believe anything,
 * and of five one or two may be lost.
 */
#define HEAT_SAMPLES_MIN 5

/* steady counts up to here. */
#define HEAT_STEADY_MAX 7

struct heat_reading {
	uint16_t temperature_bp;
	uint8_t samples;    /* saturates at HEAT_SAMPLES_MIN */
	uint8_t idle_units; /* saturates at 26, more than six times ColdAfter */
	uint8_t steady;     /* samples in a row that left it at half of the usual heat or above */
};

/*
 * Brings the map of one space in line with what is resident, then merges the sample if it is a new
 * one. 0 or -ENOMEM (the map is then as it was).
 */
int heat_update(struct heat_space *h, const struct tier_residency *residency,
		const struct tier_access *access, uint64_t cold_after_us, uint64_t now_us);

/* False when nothing is known of the slot that starts at @start. */
bool heat_read(const struct heat_space *h, uint64_t start, struct heat_reading *ret);

/* What the map of one space occupies. */
size_t heat_memory_bytes(const struct heat_space *h);

#endif
