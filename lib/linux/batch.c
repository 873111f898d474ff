// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The arithmetic of move_pages() calls. Pure: makes no call, reads no file, knows no clock.
 */
#include "linux/batch.h"
#include "util.h"

/*
 * What a folio costs beside the copying of its pages (page-table walk, isolation, unmapping,
 * flush), in pages. It only has to be about right: the pace follows what is measured.
 */
#define FOLIO_OVERHEAD_PAGES 8

/* The first call: one 2 MiB folio, or 57 base pages. Under 20 ms on anything that runs Linux. */
#define WEIGHT_FIRST (512 + FOLIO_OVERHEAD_PAGES)

/* Base pages and 2 MiB folios alike: a full call. */
#define WEIGHT_MAX (BATCH_FOLIOS_MAX * (512ULL + FOLIO_OVERHEAD_PAGES))

void pace_init(struct pace *p, uint64_t call_max_us)
{
	p->call_max_us = call_max_us ? call_max_us : CALL_MAX_DEFAULT_US;
	p->weight = WEIGHT_FIRST;
}

uint64_t pace_weight(uint8_t order)
{
	return (1ULL << order) + FOLIO_OVERHEAD_PAGES;
}

/*
 * Aims at three quarters of the longest call allowed: times scatter. Growth is at most twofold, so
 * one lucky call does not lead to a huge one, and only after calls that were about as large as
 * allowed: a small one says nothing about larger ones. What was too long is cut at once.
 */
void pace_learn(struct pace *p, uint64_t weight, uint64_t took_us)
{
	uint64_t aim_us = MAX(p->call_max_us - p->call_max_us / 4, 1ULL);
	uint64_t fits;

	if (weight == 0)
		return;
	took_us = MAX(took_us, 1ULL);
	if (__builtin_mul_overflow(weight, aim_us, &fits))
		fits = UINT64_MAX;
	fits = MAX(fits / took_us, 1ULL);
	if (fits < weight)
		p->weight = MIN(p->weight, fits);
	else if (weight >= p->weight / 2)
		p->weight = MIN(MIN(fits, p->weight * 2), WEIGHT_MAX);
}

enum tier_result status_result(int status, int target_node)
{
	if (status >= 0)
		return status == target_node ? TIER_MOVED : TIER_BUSY;
	switch (-status) {
	case ENOENT: /* nothing there, swapped out, or no page of ours */
	case EFAULT: /* a hole, or the zero page */
		return TIER_NOT_RESIDENT;
	case EACCES:
		return TIER_SHARED;
	case ENOMEM:
		return TIER_TARGET_FULL;
	}
	return TIER_BUSY; /* EBUSY, EAGAIN, EIO: somebody else holds on to it */
}

enum tier_result call_error_result(int error)
{
	switch (-error) {
	case ESRCH:
	case EINVAL: /* the process has no memory any more */
		return TIER_PROCESS_ENDED;
	case EACCES: /* after our own look at Mems_allowed, so it changed just now */
		return TIER_CPUSET;
	case ENOMEM:
	case ENODEV: /* the node went offline */
		return TIER_TARGET_FULL;
	}
	return TIER_UNSUPPORTED; /* EPERM, ENOSYS, …: no right to do it */
}

void status_tried(const int *status, size_t n, size_t *ret_begin, size_t *ret_end)
{
	size_t begin = 0, end;

	while (begin < n && status[begin] != STATUS_UNTOUCHED)
		begin++;
	end = begin;
	while (end < n && status[end] == STATUS_UNTOUCHED)
		end++;
	*ret_begin = begin;
	*ret_end = end;
}

bool blocks_take(uint64_t blocks[BUDDY_ORDERS], uint8_t order)
{
	size_t from = order;

	while (from < BUDDY_ORDERS && blocks[from] == 0)
		from++;
	if (from == BUDDY_ORDERS)
		return false;
	blocks[from]--;
	while (from > order) /* halved as often as needed, one half is left over each time */
		blocks[--from]++;
	return true;
}
