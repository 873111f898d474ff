/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLAN_BUDGET_H
#define PLAN_BUDGET_H

/* Bandwidth= as a bucket of bytes: filled by time, emptied by moves in either direction. */

#include <stdint.h>

/*
 * Fills the bucket up to @now_us. It holds one second's worth, or one interval's if that is longer,
 * and always enough for one slot, so that a small bandwidth still moves something in the end. A
 * bucket that was never filled (*us is 0) starts full.
 */
void budget_refill(uint64_t *bytes, uint64_t *us, uint64_t bandwidth_bytes_s, uint64_t interval_us,
		   uint64_t now_us);

#endif
