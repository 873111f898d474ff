/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLAN_RANGES_H
#define PLAN_RANGES_H

/* From chosen slots to batches of ranges, in the order of execution. */

#include "model/plan.h"
#include "model/snapshot.h"

/* A wish that will be granted, and where to. */
struct choice {
	const struct wish *wish;
	enum direction direction;
	enum reason reason;
	uint16_t to_index;
};

struct choices {
	size_t n;
	size_t capacity;
	struct choice *array;
};

int choices_add(struct choices *c, const struct choice *choice);
void choices_done(struct choices *c);

/*
 * Fills the plan's batches and bytes; reorders the choices. Demotions come first, those to the
 * slowest tier at their head, because each makes room for the next; promotions follow, hottest
 * first. 0 or -ENOMEM (the plan is then as it was).
 */
int ranges_batch(const struct snapshot *s, struct choices *c, struct plan *plan);

#endif
