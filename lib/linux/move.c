// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Moves ranges of one address space to one node: goes through mappings and folios, sorts out what
 * must not or need not move, and queues the rest, one address per folio. Every byte asked for ends
 * up in exactly one cell of the outcome: what is not accounted when the move ends is the rest, and
 * goes to the reason for which it ended. Makes no move_pages() call itself: that is move-call.c.
 *
 * Whole folios. A folio belongs to the range that its first page is in and moves with all of its
 * pages, also those beyond the range's end (which are not accounted: nobody asked for them). The
 * part of a folio that began before the range is left alone.
 */
#include "linux/move-run.h"
#include "linux/parse.h"
#include "linux/residency.h"
#include "linux/room.h"
#include "util.h"

/* ---- folios -------------------------------------------------------------------------------- */

static void skip_to(struct move_run *r, uint64_t address, enum tier_result result)
{
	if (address <= r->cursor)
		return;
	move_account(r, result, 0, address - r->cursor);
	r->cursor = address;
}

static uint64_t head_of(const struct folio *f)
{
	return round_down_u64(f->pfn, 1ULL << f->order);
}

/*
 * Why a folio is not to be queued; TIER_MOVED when it is. A private folio that is not mapped as a
 * whole would be split by the kernel, since pages that nobody maps make it a candidate for that; a
 * folio of shared memory would not.
 */
static enum tier_result folio_result(const struct move_run *r, const struct folio *f)
{
	if (f->zero_page)
		return TIER_NOT_RESIDENT;
	if (f->unmovable || (r->vma.kind == VMA_PRIVATE && !f->anon))
		return TIER_UNSUPPORTED;
	if (f->node == r->move->target_node)
		return TIER_ALREADY_THERE;
	if (!f->mapped_once)
		return TIER_SHARED;
	if (f->pfn != head_of(f))
		return TIER_WOULD_SPLIT;
	if (!f->whole && f->anon && !r->move->split_folios)
		return TIER_WOULD_SPLIT;
	return TIER_MOVED;
}

bool move_item_continues(const struct move_item *i, const struct folio *f)
{
	return f->order > 0 && f->order == i->order && head_of(f) == i->head &&
	       f->pfn == i->head + i->pages &&
	       f->address == i->address + i->pages * TIER_PAGE_BYTES &&
	       i->pages + f->pages <= 1U << f->order;
}

/* Sends off what waits when this one would not fit into the same call. */
static int queue_folio(struct move_run *r, const struct folio *f)
{
	uint64_t weight = pace_weight(f->order);
	int e = 0;

	if (r->queue.n == BATCH_FOLIOS_MAX ||
	    (r->queue.n > 0 && r->weight + weight > r->pace.weight))
		e = move_flush(r);
	if (e != 0)
		return e;
	r->queue.items[r->queue.n++] = (struct move_item){
		.address = f->address,
		.head = f->pfn,
		.pages = f->pages,
		.order = f->order,
	};
	r->weight += weight;
	return 0;
}

static int visit(void *userdata, const struct folio *f)
{
	struct move_run *r = userdata;
	enum tier_result result;

	skip_to(r, f->address, TIER_NOT_RESIDENT);
	r->cursor = f->address + f->pages * TIER_PAGE_BYTES;
	if (r->queue.n > 0 && move_item_continues(&r->queue.items[r->queue.n - 1], f)) {
		r->queue.items[r->queue.n - 1].pages += f->pages;
		return 0;
	}
	result = folio_result(r, f);
	if (result == TIER_MOVED)
		return queue_folio(r, f);
	move_account(r, result, f->order, f->pages * TIER_PAGE_BYTES);
	/* Long stretches that need no call must be left quickly, too. */
	if (r->move->cancel && *r->move->cancel)
		return move_stop(r, TIER_NOT_TRIED);
	return 0;
}

/* ---- mappings ------------------------------------------------------------------------------ */

static int move_mapping(struct move_run *r, const struct vma *v, uint64_t end)
{
	int e;

	r->vma = *v;
	if (!vma_movable(v)) {
		bool policy = v->mempolicy && (v->kind == VMA_PRIVATE || v->kind == VMA_SHMEM);

		skip_to(r, end, policy ? TIER_MEMPOLICY : TIER_UNSUPPORTED);
		return 0;
	}
	e = folio_walk(r->process, r->machine->spans, r->cursor, end, true, visit, r);
	if (e < 0)
		return process_alive(r->process) ? e : move_stop(r, TIER_PROCESS_ENDED);
	if (e == 0)
		skip_to(r, end, TIER_NOT_RESIDENT);
	return e;
}

static int move_range(struct move_run *r, const struct tier_range *range, const struct vma *vmas,
		      size_t n_vmas)
{
	r->cursor = range->start;
	for (size_t i = 0; i < n_vmas; i++) {
		int e;

		if (vmas[i].end <= r->cursor || vmas[i].start >= range->end)
			continue;
		skip_to(r, vmas[i].start, TIER_NOT_RESIDENT);
		e = move_mapping(r, &vmas[i], MIN(vmas[i].end, range->end));
		if (e != 0)
			return e;
	}
	skip_to(r, range->end, TIER_NOT_RESIDENT);
	return 0;
}

static int move_ranges(struct move_run *r, const struct vma *vmas, size_t n_vmas)
{
	for (size_t i = 0; i < r->move->n_ranges; i++) {
		int e = move_range(r, &r->move->ranges[i], vmas, n_vmas);

		if (e != 0)
			return e;
	}
	return move_flush(r);
}

/* ---- the move ------------------------------------------------------------------------------ */

/* Whatever is not accounted yet: what waits in the queue by its order, the rest as base pages. */
static void account_rest(struct move_run *r, enum tier_result result)
{
	uint64_t rest = r->outcome.asked_bytes;

	for (size_t k = 0; k < r->queue.n; k++)
		move_account(r, result, r->queue.items[k].order,
			     r->queue.items[k].pages * TIER_PAGE_BYTES);
	r->queue.n = 0;
	for (int i = 0; i < TIER_RESULTS; i++)
		rest -= tier_outcome_bytes(&r->outcome, (enum tier_result)i);
	move_account(r, result, 0, rest);
}

/* 0 or RUN_STOPPED with a reason; negative when nothing could be looked at. */
static int run_process(struct move_run *r)
{
	cleanup(freep) struct vma *vmas = NULL;
	size_t n_vmas;
	int e;

	e = process_mems_allowed(r->process, r->move->target_node);
	if (e == 0)
		return move_stop(r, TIER_CPUSET);
	if (e > 0)
		e = process_read_vmas(r->process, &vmas, &n_vmas);
	if (e >= 0)
		e = move_ranges(r, vmas, n_vmas);
	if (e < 0 && !process_alive(r->process))
		return move_stop(r, TIER_PROCESS_ENDED);
	return e;
}

static int run(struct move_run *r)
{
	int e;

	if (r->move->cancel && *r->move->cancel)
		return move_stop(r, TIER_NOT_TRIED);
	e = process_get(r->machine->processes, r->move->space_id, &r->process);
	if (e < 0)
		return move_stop(r, TIER_PROCESS_ENDED);
	e = run_process(r);
	process_unref(r->machine->processes, r->process);
	return e;
}

/* The sum of all ranges; -EINVAL when they are not ascending ranges of whole pages. */
static int check_ranges(const struct tier_move *move, uint64_t *ret_bytes)
{
	uint64_t bytes = 0, last = 0;

	for (size_t i = 0; i < move->n_ranges; i++) {
		const struct tier_range *range = &move->ranges[i];

		if (range->start % TIER_PAGE_BYTES || range->end % TIER_PAGE_BYTES ||
		    range->start >= range->end || range->start < last)
			return -EINVAL;
		bytes += range->end - range->start;
		last = range->end;
	}
	*ret_bytes = bytes;
	return 0;
}

int linux_move(struct linux_machine *m, const struct tier_move *move, struct tier_outcome *ret)
{
	cleanup(freep) struct move_run *r = NULL;
	uint64_t bytes;
	int e;

	if (m->recorded || !m->spans)
		return -EROFS;
	e = check_ranges(move, &bytes);
	if (e < 0)
		return e;
	e = room_node_exists(m, move->target_node);
	if (e <= 0)
		return e < 0 ? e : -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->machine = m;
	r->move = move;
	r->outcome.asked_bytes = bytes;
	move_calls_begin(r);
	e = run(r);
	/* What was moved before something broke must not get lost: the rest was then not tried. */
	if (e < 0 && r->outcome.calls == 0)
		return e;
	account_rest(r, e == RUN_STOPPED ? r->stop : TIER_NOT_TRIED);
	*ret = r->outcome;
	return 0;
}
