/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DECIDE_HOT_H
#define DECIDE_HOT_H

/*
 * Which slots are hot, which are cold. Both are judged within a group: its policy gives the least
 * temperature that counts as hot, its own memory the scale for the rest.
 */

#include "decide/heat.h"

enum slot_class {
	SLOT_UNKNOWN, /* too few samples, or none */
	SLOT_HOT,
	SLOT_BETWEEN, /* neither: stays where it is */
	SLOT_COLD,
};

/*
 * struct hot_scale - what is hot in one group
 * @above_bp: HotAbove
 * @reference_bp: usual temperature of hot memory: what the average access finds (the mean, weighted
 *	by the temperature itself); 0 when nothing is above @above_bp
 * @below_bp: mean temperature of the memory that is not on the fastest tier
 * @uniform: all memory is used about alike
 */
struct hot_scale {
	uint32_t above_bp;
	uint32_t reference_bp;
	uint32_t below_bp;
	bool uniform;
	/* What the means are made from: sums over pages, of all memory and of that below. */
	uint64_t pages, heat, heat_squared;
	uint64_t below_pages, below_heat;
	bool any_above;
};

/* @pages of the slot are resident, @below of them not on the fastest tier. */
void hot_scale_add(struct hot_scale *scale, const struct heat_reading *r, uint32_t pages,
		   uint32_t below);
void hot_scale_finish(struct hot_scale *scale);

/* *ret is cleared when nothing is known. */
enum slot_class hot_classify(const struct heat_space *h, uint64_t start,
			     const struct hot_scale *scale, struct heat_reading *ret);

#endif
