// SPDX-License-Identifier: GPL-2.0-or-later
/* The arithmetic of Bandwidth=. Must not know what is moved. */
#include "plan/budget.h"
#include "tier.h"
#include "util.h"

/* Longest time that counts: beyond it every bucket is full, and products stay within 64 bits. */
#define ELAPSED_MAX_US (600 * US_PER_S)
/* 1 PiB/s: no limit at all. */
#define BANDWIDTH_MAX (1ULL << 50)

/* bandwidth x time without overflow: at most 2^30 x 2^30, and 2^20 x 2^30. */
static uint64_t worth(uint64_t bandwidth_bytes_s, uint64_t us)
{
	return bandwidth_bytes_s / US_PER_S * us + bandwidth_bytes_s % US_PER_S * us / US_PER_S;
}

void budget_refill(uint64_t *bytes, uint64_t *us, uint64_t bandwidth_bytes_s, uint64_t interval_us,
		   uint64_t now_us)
{
	uint64_t rate = MIN(bandwidth_bytes_s, BANDWIDTH_MAX);
	uint64_t full = worth(rate, MIN(MAX(interval_us, US_PER_S), ELAPSED_MAX_US));
	uint64_t elapsed = now_us > *us ? MIN(now_us - *us, ELAPSED_MAX_US) : 0;

	full = MAX(full, TIER_SLOT_BYTES);
	*bytes = *us ? MIN(full, MIN(*bytes, full) + worth(rate, elapsed)) : full;
	*us = MAX(now_us, *us);
}
