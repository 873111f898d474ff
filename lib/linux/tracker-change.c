// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Pure: has the picture of the accesses changed, and how often is it worth looking? A look costs a
 * dozen system calls per region, so a calm machine is looked at every 10 s; at every 5 s an emulated
 * core spent 2 % on it. DAMON's pictures are noisy: now and then one is quite unlike its neighbours.
 * They are compared with a reference, and only several unlike it in a row, which come quickly then,
 * mean a change.
 */
#include "linux/tracker.h"
#include "util.h"

#define CALM_PERIODS 10U
/* Ten periods without news. */
#define CALM_ENOUGH 10U
/* One odd picture in four was seen: three in a row by chance are one in sixty-four. */
#define ODD_ENOUGH 3U
/*
 * Two percent of "always accessed" everywhere counts as much as the hot bytes themselves: the blips
 * of a space where nothing happens are no news.
 */
#define FLOOR_BP 200U
/* Bytes times basis points of 128 TiB do not fit in 64 bits; in pages they do. */
#define UNIT TIER_PAGE_BYTES

static uint32_t rate_at(const struct tier_region *regions, size_t n, size_t *next, uint64_t at,
			uint64_t *ret_until)
{
	while (*next < n && regions[*next].end <= at)
		(*next)++;
	if (*next == n) {
		*ret_until = UINT64_MAX;
		return 0;
	}
	if (regions[*next].start > at) {
		*ret_until = regions[*next].start;
		return 0;
	}
	*ret_until = regions[*next].end;
	return regions[*next].rate_bp;
}

static uint64_t first_start(const struct tier_region *r, size_t n)
{
	return n ? r[0].start : UINT64_MAX;
}

/* Goes through both lists at once, from one boundary of either to the next. */
void change_add(struct change *c, const struct tier_region *a, size_t n_a,
		const struct tier_region *b, size_t n_b)
{
	uint64_t at = MIN(first_start(a, n_a), first_start(b, n_b));
	size_t i = 0, j = 0;

	for (;;) {
		uint64_t until_a, until_b, pages;
		uint32_t rate_a = rate_at(a, n_a, &i, at, &until_a);
		uint32_t rate_b = rate_at(b, n_b, &j, at, &until_b);
		uint64_t until = MIN(until_a, until_b);
		bool monitored = (i < n_a && a[i].start <= at) || (j < n_b && b[j].start <= at);

		if (until == UINT64_MAX)
			return;
		pages = (until - at) / UNIT;
		if (monitored) {
			c->different += pages * (MAX(rate_a, rate_b) - MIN(rate_a, rate_b));
			c->total += pages * MAX(MAX(rate_a, rate_b), FLOOR_BP);
		}
		at = until;
	}
}

bool change_is_large(const struct change *c)
{
	return c->different > c->total / 2;
}

enum pace_step pace_step(struct pace *p, bool large_change)
{
	if (!large_change) {
		p->calm = MIN(p->calm + 1, CALM_ENOUGH);
		p->odd = 0;
		return PACE_KEEP_REFERENCE;
	}
	if (++p->odd < ODD_ENOUGH)
		return PACE_KEEP_REFERENCE;
	pace_reset(p);
	return PACE_NEW_REFERENCE;
}

void pace_reset(struct pace *p)
{
	*p = (struct pace){ 0 };
}

uint64_t pace_period_us(const struct pace *p, uint64_t busy_us)
{
	return p->calm >= CALM_ENOUGH && !p->odd ? CALM_PERIODS * busy_us : busy_us;
}
