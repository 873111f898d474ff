/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_MOVE_RUN_H
#define TIER_MOVE_RUN_H

/*
 * One running move: move.c goes through the ranges and collects folios, move-call.c brings them to
 * the kernel. About 70 KiB, whatever the ranges are.
 */

#include "linux/batch.h"
#include "linux/linux.h"

/* A folio that waits for its call. */
struct move_item {
	uint64_t address;
	uint64_t head;  /* first frame of the folio */
	uint32_t pages; /* of it inside the range: these are accounted */
	uint8_t order;
};

struct move_list {
	size_t n;
	struct move_item items[BATCH_FOLIOS_MAX];
};

struct move_run {
	struct linux_machine *machine;
	const struct tier_move *move;
	struct process *process;
	struct tier_outcome outcome;
	struct pace pace;
	unsigned int patience;  /* calls that may still be spent on folios that failed in a run */
	bool stopped;
	enum tier_result stop;  /* why, and what becomes of the rest */
	struct vma vma;         /* being walked */
	uint64_t cursor;        /* all below it in this range is accounted or in a list */
	uint64_t weight;        /* of the queue */
	struct move_list queue;
	struct move_list failed; /* tried in a run, did not move */
	struct move_list suspects; /* of these, what is tried again */
	struct move_list lost;   /* large folios that were split in a call */
	void *addresses[BATCH_FOLIOS_MAX];
	int nodes[BATCH_FOLIOS_MAX];
	int status[BATCH_FOLIOS_MAX];
	int answer[BATCH_FOLIOS_MAX];
};

/* Returned where a walk or a loop has to end; why is in the run. */
#define RUN_STOPPED 1

/*
 * Is @f the part of the item's folio that comes right behind what the item has? A border of mappings
 * inside a folio shows it in two parts. A process may also map pages of one folio in any order and
 * number; those are no part that is missing, and must never make an item larger than its folio.
 */
bool move_item_continues(const struct move_item *i, const struct folio *f);
void move_calls_begin(struct move_run *r);
void move_account(struct move_run *r, enum tier_result result, uint8_t order, uint64_t bytes);
int move_stop(struct move_run *r, enum tier_result why);

/*
 * Brings the queue to the kernel in as many calls as it takes. 0 and an empty queue, or
 * RUN_STOPPED with what was not tried still in it.
 */
int move_flush(struct move_run *r);

#endif
