/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_TARGET_H
#define MODEL_TARGET_H

/*
 * What decide/ wants: per slot a wish, per group a summary. No order of execution, no batching:
 * that is plan/'s business.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a slot should move, or should not. Printed by report/ and tierctl. */
enum reason {
	REASON_HOT,            /* hot on a slower tier */
	REASON_COLD,           /* cold on the fast tier and the room is needed */
	REASON_OVER_MAX,       /* the group holds more of the fast tier than FastMax */
	REASON_PIN_FAST,
	REASON_PIN_SLOW,
	REASON_MANUAL,         /* an administrator asked */
	REASONS,
};

/* Stable lower-case name: "hot", "cold", "over-max", … */
const char *reason_name(enum reason r);

struct wish {
	size_t space;          /* index into snapshot.spaces */
	uint64_t start;        /* slot */
	uint32_t bytes;        /* that are elsewhere and should move */
	uint32_t idle_s;       /* not accessed for about this long, as far as was watched */
	uint16_t temperature;
	uint16_t from_index;   /* node index that holds most of these bytes */
	uint16_t to_index;     /* node index */
	enum reason reason;
};

struct target_group {
	uint64_t hot_bytes;        /* tracked and hot, wherever they are */
	uint64_t hot_fast_bytes;   /* of these, already on the fastest tier */
	uint64_t cold_fast_bytes;  /* cold and on the fastest tier */
	uint64_t tracked_bytes;    /* resident in slots that have a temperature */
	uint64_t young_bytes;      /* in slots that are watched, but had too few samples so far */
	uint64_t fast_bytes;       /* held of the fastest tier (what FastMax counts) */
	uint64_t fast_max_bytes;   /* FastMax in bytes */
	/* All memory is used alike, or nobody knows yet: moving a part of it gains nothing. */
	bool uniform;
};

struct targets {
	size_t n_groups;           /* as in the snapshot, same order */
	struct target_group *groups;
	size_t n_promotions;
	struct wish *promotions;   /* hottest first */
	size_t n_demotions;
	struct wish *demotions;    /* what is to go anyway (pins, FastMax), then coldest first */
};

struct targets *targets_free(struct targets *t);

#endif
