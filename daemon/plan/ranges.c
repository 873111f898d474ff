// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Puts chosen slots together: neighbours to ranges, ranges to batches, batches in order. Must not
 * choose: everything that comes in goes out.
 */
#include "plan/ranges.h"
#include "model/wish.h"
#include "util.h"

/* Moved in well under a second, so that pausing and cancelling act at once. */
#define BATCH_MAX_BYTES (64 * MiB)

/* A batch with what its place in the order follows from. */
struct draft {
	struct batch batch;
	unsigned int target_rank;
	uint16_t hottest;
	size_t place; /* keeps equals in order */
};

int choices_add(struct choices *c, const struct choice *choice)
{
	int r = array_reserve((void **)&c->array, &c->capacity, c->n, sizeof(*c->array),
			      WISHES_MAX);

	if (r < 0)
		return r;
	c->array[c->n++] = *choice;
	return 0;
}

void choices_done(struct choices *c)
{
	free(c->array);
	*c = (struct choices){ 0 };
}

static int compare_batches(const struct choice *x, const struct choice *y)
{
	if (x->wish->space != y->wish->space)
		return x->wish->space < y->wish->space ? -1 : 1;
	if (x->direction != y->direction)
		return x->direction < y->direction ? -1 : 1;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	if (x->to_index != y->to_index)
		return x->to_index < y->to_index ? -1 : 1;
	if (x->wish->from_index != y->wish->from_index)
		return x->wish->from_index < y->wish->from_index ? -1 : 1;
	return 0;
}

static int choice_compare(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;
	int order = compare_batches(x, y);

	if (order)
		return order;
	return x->wish->start < y->wish->start ? -1 : x->wish->start > y->wish->start;
}

static int draft_compare(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;

	if (x->batch.direction != y->batch.direction)
		return x->batch.direction == DIRECTION_DEMOTE ? -1 : 1;
	if (x->batch.direction == DIRECTION_DEMOTE && x->target_rank != y->target_rank)
		return x->target_rank > y->target_rank ? -1 : 1;
	if (x->batch.direction == DIRECTION_PROMOTE && x->hottest != y->hottest)
		return x->hottest > y->hottest ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* How many of the sorted choices, from the first, make one batch. */
static size_t batch_length(const struct choice *c, size_t n)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < n && !compare_batches(&c[0], &c[i]); i++) {
		bytes += c[i].wish->bytes;
		if (bytes > BATCH_MAX_BYTES)
			break;
	}
	return i;
}

static int fill_ranges(struct batch *b, const struct choice *c, size_t n)
{
	b->ranges = calloc(n, sizeof(*b->ranges));
	if (!b->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint64_t start = c[i].wish->start;

		b->bytes += c[i].wish->bytes;
		if (!b->n_ranges || b->ranges[b->n_ranges - 1].end != start)
			b->ranges[b->n_ranges++].start = start;
		b->ranges[b->n_ranges - 1].end = start + TIER_SLOT_BYTES;
	}
	return 0;
}

static int draft_make(const struct snapshot *s, const struct choice *c, size_t n,
		      struct draft *ret)
{
	const struct snapshot_space *space = &s->spaces[c->wish->space];
	const struct snapshot_group *group = &s->groups[space->group];
	const struct tier_node *to = &s->topology->nodes[c->to_index];

	ret->batch = (struct batch){
		.space_id = space->id,
		.cgroup_id = group->cgroup_id,
		.pid = space->pid,
		.direction = c->direction,
		.reason = c->reason,
		.source_node = s->topology->nodes[c->wish->from_index].id,
		.target_node = to->id,
		.headroom_bytes = snapshot_headroom_bytes(s, c->to_index),
		.call_max_us = group->policy->call_max_us,
		.split_folios = group->policy->split_folios,
	};
	ret->target_rank = to->rank;
	ret->hottest = 0;
	for (size_t i = 0; i < n; i++)
		ret->hottest = MAX(ret->hottest, c[i].wish->temperature);
	return fill_ranges(&ret->batch, c, n);
}

static void drafts_free(struct draft *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(d[i].batch.ranges);
	free(d);
}

static int make_drafts(const struct snapshot *s, const struct choices *c, struct draft *drafts,
		       size_t *ret_n)
{
	for (size_t at = 0, length; at < c->n; at += length) {
		int r;

		length = batch_length(&c->array[at], c->n - at);
		r = draft_make(s, &c->array[at], length, &drafts[*ret_n]);
		if (r < 0)
			return r;
		drafts[*ret_n].place = *ret_n;
		(*ret_n)++;
	}
	return 0;
}

int ranges_batch(const struct snapshot *s, struct choices *c, struct plan *plan)
{
	struct draft *drafts;
	struct batch *batches;
	size_t n = 0;

	if (!c->n)
		return 0;
	qsort(c->array, c->n, sizeof(*c->array), choice_compare);
	drafts = calloc(c->n, sizeof(*drafts));
	if (!drafts)
		return -ENOMEM;
	if (make_drafts(s, c, drafts, &n) < 0 || !(batches = calloc(n, sizeof(*batches)))) {
		drafts_free(drafts, n);
		return -ENOMEM;
	}
	qsort(drafts, n, sizeof(*drafts), draft_compare);
	for (size_t i = 0; i < n; i++) {
		batches[i] = drafts[i].batch;
		plan->bytes[batches[i].direction] += batches[i].bytes;
	}
	free(drafts);
	plan->batches = batches;
	plan->n_batches = n;
	return 0;
}
