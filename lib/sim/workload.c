// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What simulated processes access, as chances: pure arithmetic on a process and a time. Nothing
 * here draws a random number or knows where memory lives.
 */
#include "sim/private.h"
#include "util.h"

uint64_t sim_overlap_bytes(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
	uint64_t start = MAX(a_start, b_start);
	uint64_t end = MIN(a_end, b_end);

	return start < end ? end - start : 0;
}

/* The hot range jumps to the next place of its own length, and around. */
static uint64_t phase_offset(const struct sim_process *p, uint64_t now_us)
{
	const struct sim_workload *w = &p->workload;
	uint64_t places = MAX(p->bytes / MAX(w->hot_bytes, 1ULL), 1ULL);
	uint64_t first = w->hot_offset / MAX(w->hot_bytes, 1ULL);
	uint64_t phase = now_us / MAX(w->phase_us, 1ULL);

	return (first + phase) % places * w->hot_bytes;
}

void sim_workload_hot_range(const struct sim_process *p, uint64_t now_us, uint64_t *ret_start,
			uint64_t *ret_end)
{
	const struct sim_workload *w = &p->workload;
	uint64_t offset = 0;
	uint64_t bytes = 0;

	switch (w->kind) {
	case SIM_IDLE:
		break;
	case SIM_UNIFORM:
		bytes = p->bytes;
		break;
	case SIM_STATIONARY:
		offset = w->hot_offset;
		bytes = w->hot_bytes;
		break;
	case SIM_PHASES:
		offset = phase_offset(p, now_us);
		bytes = w->hot_bytes;
		break;
	}
	offset = MIN(offset, p->bytes);
	*ret_start = p->start + offset;
	*ret_end = *ret_start + MIN(bytes, p->bytes - offset);
}

uint32_t sim_workload_chance(const struct sim_process *p, uint64_t now_us, uint64_t start,
			 uint64_t end)
{
	uint32_t cold_bp = p->workload.kind == SIM_IDLE ? 0 : p->workload.cold_rate_bp;
	uint64_t hot_start, hot_end, hot, pages;
	uint64_t all = (end - start) / TIER_PAGE_BYTES;

	if (!all)
		return 0;
	sim_workload_hot_range(p, now_us, &hot_start, &hot_end);
	hot = sim_overlap_bytes(start, end, hot_start, hot_end) / TIER_PAGE_BYTES;
	pages = hot * p->workload.hot_rate_bp + (all - hot) * cold_bp;
	return (uint32_t)(pages * 65536 / (all * 10000));
}
