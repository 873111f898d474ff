/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DECIDE_DECISION_H
#define DECIDE_DECISION_H

/* A decision in the making. Between decide.c and overmax.c only. */

#include "decide/hot.h"
#include "model/wish.h"

struct decision {
	const struct snapshot *s;
	struct history *h;
	struct targets *t;
	struct hot_scale *scales; /* by group */
	bool *over_max;           /* by group: what goes down is chosen by over_max() */
	bool *drop;               /* by group: uniform, and not all of it would fit */
	struct wishes promotions;
	struct wishes demotions;
	int64_t room_bytes[TIER_NODES_MAX];
	unsigned int fastest;
	unsigned int slowest;
	bool blind; /* nothing tells hot from cold */
};

/* What the slot holds of the fastest tier. */
uint64_t decision_fast_bytes(const struct decision *d, const struct tier_slot *slot);
/* For how long the slot has been idle, as far as was watched. */
uint32_t decision_idle_s(const struct heat_space *heat, const struct heat_reading *r);
/* Order of demotions: what goes anyway first, then the longest idle, then the coldest. */
int decision_compare_demotions(const void *a, const void *b);

/*
 * Asks for the demotion of what groups beyond their FastMax hold too much of, coldest first. In
 * those groups it also makes the wishes for what else is cold on the fastest tier.
 */
int decision_enforce_max(struct decision *d);

#endif
