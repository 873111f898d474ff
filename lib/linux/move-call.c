// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The calls of a move: the only place where move_pages() is called. Cuts the queue to room and
 * time, makes the call, finds out what really became of each folio, and tries again what one bad
 * folio may have stopped. Chooses no folio and no range.
 */
#include <numaif.h>
#include <time.h>

#include "linux/move-run.h"
#include "linux/room.h"
#include "util.h"

/*
 * Calls that a move may spend on folios which failed although others beside them moved: 4 at first,
 * 2 more for each folio that it rescues. Pinned memory (VFIO, RDMA) fails by the gigabyte, and each
 * call makes every CPU work.
 */
#define PATIENCE_FIRST 4
#define PATIENCE_REWARD 2
#define PATIENCE_MAX 64

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

void move_calls_begin(struct move_run *r)
{
	pace_init(&r->pace, r->move->call_max_us);
	r->patience = PATIENCE_FIRST;
}

void move_account(struct move_run *r, enum tier_result result, uint8_t order, uint64_t bytes)
{
	r->outcome.bytes[result][MIN(order, TIER_ORDERS - 1)] += bytes;
}

static void account_item(struct move_run *r, const struct move_item *i, enum tier_result result)
{
	move_account(r, result, i->order, i->pages * TIER_PAGE_BYTES);
}

int move_stop(struct move_run *r, enum tier_result why)
{
	r->stopped = true;
	r->stop = why;
	return RUN_STOPPED;
}

static void list_push(struct move_list *l, const struct move_item *i)
{
	l->items[l->n++] = *i;
}

/* ---- after a call -------------------------------------------------------------------------- */

static int capture(void *userdata, const struct folio *f)
{
	*(struct folio *)userdata = *f;
	return RUN_STOPPED;
}

/* Was this folio split? Only what can be seen counts: gone or unknown is not lost. */
static bool is_lost(const struct move_run *r, const struct move_item *i)
{
	struct folio f;

	return i->order > 0 &&
	       folio_walk(r->process, r->machine->spans, i->address, i->address + TIER_PAGE_BYTES,
			  true, capture, &f) == RUN_STOPPED &&
	       f.order < i->order;
}

/* Where the pages of the addresses are; what cannot be asked is -EBUSY. */
static void query(struct move_run *r, size_t n)
{
	for (size_t k = 0; k < n; k++)
		r->answer[k] = -EBUSY;
	move_pages(r->process->pid, n, r->addresses, NULL, r->answer, 0);
}

/* A folio that fell into pieces: each of them may be here or there. */
static void account_pieces(struct move_run *r, const struct move_item *i)
{
	for (size_t k = 0; k < i->pages; k++)
		r->addresses[k] = (void *)(uintptr_t)(i->address + k * TIER_PAGE_BYTES);
	query(r, i->pages);
	for (size_t k = 0; k < i->pages; k++)
		move_account(r, status_result(r->answer[k], r->move->target_node), i->order,
			     TIER_PAGE_BYTES);
}

enum verdict {
	VERDICT_DONE,
	VERDICT_FAILED, /* tried, and still where it was */
	VERDICT_UNTRIED,
};

/* @tried: the call got as far as this address. */
static enum verdict judge(const struct move_run *r, size_t k, bool tried,
			  enum tier_result *ret_result)
{
	if (r->status[k] != STATUS_UNTOUCHED) {
		*ret_result = status_result(r->status[k], r->move->target_node);
		return VERDICT_DONE;
	}
	*ret_result = status_result(r->answer[k], r->move->target_node);
	if (*ret_result == TIER_MOVED || *ret_result == TIER_NOT_RESIDENT)
		return VERDICT_DONE;
	return tried ? VERDICT_FAILED : VERDICT_UNTRIED;
}

/*
 * Accounts what is certain, keeps in *items what was not tried, adds what failed to r->failed.
 * Returns how many moved. The answers to the query are there.
 */
static size_t settle(struct move_run *r, struct move_item *items, size_t *n)
{
	size_t begin, end, kept = 0, moved = 0;

	status_tried(r->status, *n, &begin, &end);
	r->lost.n = 0;
	for (size_t k = 0; k < *n; k++) {
		struct move_item *i = &items[k];
		enum tier_result result;
		enum verdict v = judge(r, k, k >= begin && k < end, &result);

		moved += v == VERDICT_DONE && result == TIER_MOVED;
		if (v == VERDICT_UNTRIED)
			items[kept++] = *i;
		else if (is_lost(r, i))
			list_push(&r->lost, i);
		else if (v == VERDICT_FAILED)
			list_push(&r->failed, i);
		else
			account_item(r, i, result);
	}
	*n = kept;
	for (size_t k = 0; k < r->lost.n; k++)
		account_pieces(r, &r->lost.items[k]);
	r->outcome.folios_lost += r->lost.n;
	return moved;
}

/* ---- a call -------------------------------------------------------------------------------- */

static int may_go_on(struct move_run *r)
{
	if (r->move->cancel && *r->move->cancel)
		return move_stop(r, TIER_NOT_TRIED);
	if (!process_alive(r->process))
		return move_stop(r, TIER_PROCESS_ENDED);
	return 0;
}

static long call_kernel(struct move_run *r, const struct move_item *items, size_t n)
{
	uint64_t begin, took, weight = 0;
	long rc;

	for (size_t k = 0; k < n; k++) {
		r->addresses[k] = (void *)(uintptr_t)items[k].address;
		r->nodes[k] = r->move->target_node;
		r->status[k] = STATUS_UNTOUCHED;
		weight += pace_weight(items[k].order);
	}
	begin = now_us();
	rc = move_pages(r->process->pid, n, r->addresses, r->nodes, r->status, MPOL_MF_MOVE);
	if (rc < 0)
		rc = -errno;
	took = now_us() - begin;
	r->outcome.calls++;
	r->outcome.call_sum_us += took;
	r->outcome.call_max_us = MAX(r->outcome.call_max_us, took);
	pace_learn(&r->pace, weight, took);
	return rc;
}

/* Some statuses are not written; ask where these pages are, at the same index. */
static void query_untouched(struct move_run *r, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (r->status[k] == STATUS_UNTOUCHED) {
			query(r, n);
			return;
		}
}

/*
 * One call for items[0..*n); see settle() for what is left in *items. *ret_moved, which may be
 * NULL, is how many arrived. After a failure of the whole call what may have been moved before it
 * is found out all the same.
 */
static int attempt(struct move_run *r, struct move_item *items, size_t *n, size_t *ret_moved)
{
	size_t n_failed = r->failed.n, n_called = *n, moved;
	long rc;
	int e = may_go_on(r);

	if (e != 0)
		return e;
	rc = call_kernel(r, items, n_called);
	/* Only while it is still the same process does its number mean it. */
	if (!process_alive(r->process))
		return move_stop(r, TIER_PROCESS_ENDED);
	query_untouched(r, n_called);
	moved = settle(r, items, n);
	if (ret_moved)
		*ret_moved = moved;
	if (rc < 0) {
		/* Not these folios are to blame: they share the fate of the rest. */
		while (r->failed.n > n_failed)
			items[(*n)++] = r->failed.items[--r->failed.n];
		move_stop(r, call_error_result((int)rc));
	}
	if (r->move->progress)
		r->move->progress(r->move->userdata, &r->outcome);
	return r->stopped ? RUN_STOPPED : 0;
}

/* ---- what failed in company ---------------------------------------------------------------- */

static void give_up(struct move_run *r, const struct move_item *items, size_t n)
{
	for (size_t k = 0; k < n; k++)
		account_item(r, &items[k], TIER_BUSY);
}

struct part {
	size_t begin;
	size_t n;
};

/*
 * Parts of the suspects that are still to be tried. Each try takes one off and adds a smaller one,
 * or two of half its size, so there are never more than log2(BATCH_FOLIOS_MAX) + 2.
 */
struct parts {
	size_t n;
	struct part parts[16];
};

static void parts_push(struct parts *p, size_t begin, size_t n)
{
	if (n > 0)
		p->parts[p->n++] = (struct part){begin, n};
}

/*
 * Tries a part alone. When some of it moved, the kernel has judged those that failed one by one,
 * twice by now: they are busy. When nothing did, one of them may have stopped the rest: halves.
 */
static int chase_part(struct move_run *r, struct move_list *suspects, struct parts *parts,
		      struct part part)
{
	struct move_item *items = &suspects->items[part.begin];
	size_t n = part.n, moved = 0;
	int e;

	r->patience--;
	r->failed.n = 0;
	e = attempt(r, items, &n, &moved);
	if (e != 0) {
		give_up(r, items, n);
		give_up(r, r->failed.items, r->failed.n);
		return e;
	}
	r->patience = MIN(r->patience + PATIENCE_REWARD * (unsigned int)moved, PATIENCE_MAX);
	if (moved > 0 || n + r->failed.n == 1) {
		give_up(r, r->failed.items, r->failed.n);
		parts_push(parts, part.begin, n);
		return 0;
	}
	for (size_t k = 0; k < r->failed.n; k++)
		items[n++] = r->failed.items[k];
	parts_push(parts, part.begin + n / 2, n - n / 2);
	parts_push(parts, part.begin, n / 2);
	return 0;
}

/* Every suspect ends up accounted. @moved: some of their neighbours in the calls before did move.
 */
static int chase(struct move_run *r, size_t moved)
{
	struct move_list *suspects = &r->suspects;
	struct parts parts = {0};
	int e = 0;

	*suspects = r->failed;
	if (moved > 0 || suspects->n == 1) {
		parts_push(&parts, 0, suspects->n);
	} else {
		parts_push(&parts, suspects->n / 2, suspects->n - suspects->n / 2);
		parts_push(&parts, 0, suspects->n / 2);
	}
	while (parts.n > 0) {
		struct part part = parts.parts[--parts.n];

		if (e == 0 && r->patience > 0)
			e = chase_part(r, suspects, &parts, part);
		else
			give_up(r, &suspects->items[part.begin], part.n);
	}
	return e;
}

/* ---- the queue ----------------------------------------------------------------------------- */

static bool queue_has_large(const struct move_run *r)
{
	for (size_t k = 0; k < r->queue.n; k++)
		if (r->queue.items[k].order > 0)
			return true;
	return false;
}

/*
 * How much of the front of the queue goes into the next call: as much as there is room and time
 * for, at least one. Large folios for which the target has no block are taken out: the kernel
 * would reclaim for them, and then split them. *ret_n may be 0 when all of the queue was such.
 */
static int admit(struct move_run *r, size_t *ret_n)
{
	bool by_block = !r->move->split_folios && queue_has_large(r);
	uint64_t blocks[BUDDY_ORDERS], room, weight = 0;
	size_t k, kept = 0, n = r->queue.n;
	struct move_item *items = r->queue.items;

	if (room_read(r->machine, r->move->target_node, r->move->headroom_bytes, &room) < 0 ||
	    (by_block && room_read_blocks(r->machine, r->move->target_node, blocks) < 0))
		return move_stop(r, TIER_TARGET_FULL); /* the node is going away */
	for (k = 0; k < n; k++) {
		struct move_item i = items[k];
		uint64_t bytes = TIER_PAGE_BYTES << i.order;

		if (bytes > room || (kept > 0 && weight + pace_weight(i.order) > r->pace.weight))
			break;
		if (by_block && !blocks_take(blocks, i.order) && i.order > 0) {
			account_item(r, &i, TIER_WOULD_SPLIT);
			continue;
		}
		room -= bytes;
		weight += pace_weight(i.order);
		items[kept++] = i;
	}
	memmove(&items[kept], &items[k], (n - k) * sizeof(*items));
	r->queue.n = kept + n - k;
	*ret_n = kept;
	return kept == 0 && r->queue.n > 0 ? move_stop(r, TIER_TARGET_FULL) : 0;
}

/* One call for the first @n of the queue; what was not tried stays at its front. */
static int flush_front(struct move_run *r, size_t n, size_t *ret_moved)
{
	struct move_item *items = r->queue.items;
	size_t left = n, moved = 0;
	int e = attempt(r, items, &left, &moved);

	*ret_moved += moved;
	memmove(&items[left], &items[n], (r->queue.n - n) * sizeof(*items));
	r->queue.n -= n - left;
	return e;
}

int move_flush(struct move_run *r)
{
	size_t moved = 0;
	int e = 0;

	r->failed.n = 0;
	while (e == 0 && r->queue.n > 0) {
		size_t n;

		e = admit(r, &n);
		if (e == 0 && n > 0)
			e = flush_front(r, n, &moved);
	}
	r->weight = 0;
	if (e != 0) {
		give_up(r, r->failed.items, r->failed.n);
		return e;
	}
	return r->failed.n > 0 ? chase(r, moved) : 0;
}
