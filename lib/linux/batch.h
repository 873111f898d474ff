/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_BATCH_H
#define TIER_BATCH_H

/*
 * The arithmetic of move_pages() calls: how large the next one may be, what its statuses mean,
 * which free blocks it would use up. Pure.
 */

#include "linux/spans.h"
#include "tier.h"

/* ---- how much goes into one call ----------------------------------------------------------- */

/*
 * Addresses in one call. The kernel works through base pages in rounds of 512
 * (NR_MAX_BATCHED_MIGRATION), so more in a call saves nothing but the fixed cost of the call.
 */
#define BATCH_FOLIOS_MAX 512

/* Longest single call when the caller has no wish. */
#define CALL_MAX_DEFAULT_US (20 * 1000ULL)

struct pace {
	uint64_t call_max_us;
	uint64_t weight; /* that the next call may have */
};

void pace_init(struct pace *p, uint64_t call_max_us);
/* What a folio of this order weighs. */
uint64_t pace_weight(uint8_t order);
/* A call of this weight took so long: the next one may be larger, or must be smaller. */
void pace_learn(struct pace *p, uint64_t weight, uint64_t took_us);

/* ---- what came of it ----------------------------------------------------------------------- */

/* In a status array: the kernel did not write here. No node and no errno is this. */
#define STATUS_UNTOUCHED INT32_MIN

/* A status that the kernel wrote, or the answer to a query. */
enum tier_result status_result(int status, int target_node);

/* Why no more can be done after move_pages() failed as a whole with this (negative) errno. */
enum tier_result call_error_result(int error);

/*
 * The addresses that the kernel tried without writing their statuses: [*ret_begin, *ret_end).
 * It collects addresses until one cannot be taken, writes that one's status, and moves those
 * collected; when some of these fail it gives up, with the statuses of just these unwritten. So it
 * is the first run of untouched ones; what is untouched behind it was never tried.
 */
void status_tried(const int *status, size_t n, size_t *ret_begin, size_t *ret_end);

/* ---- free blocks --------------------------------------------------------------------------- */

/* Takes a block for a folio of @order out of the counts, as the buddy allocator would. */
bool blocks_take(uint64_t blocks[BUDDY_ORDERS], uint8_t order);

#endif
