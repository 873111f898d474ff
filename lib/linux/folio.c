// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What is mapped where: pagemap and kpageflags to folios, in windows of fixed size. Only looks; by
 * the time a caller acts, any of it may be different, and the kernel has the last word.
 */
#include <linux/types.h>
#include <sys/ioctl.h>

#include "linux/linux.h"
#include "linux/spans.h"
#include "util.h"

/* Entries of /proc/PID/pagemap: Documentation/admin-guide/mm/pagemap.rst. */
#define PM_PFN_MASK ((1ULL << 55) - 1)
#define PM_EXCLUSIVE (1ULL << 56)
#define PM_FILE (1ULL << 61)
#define PM_PRESENT (1ULL << 63)

/* Entries of /proc/kpageflags; 32 and above are those "for hackers", there since 2.6.32. */
#define KPF_SLAB (1ULL << 7)
#define KPF_COMPOUND_HEAD (1ULL << 15)
#define KPF_COMPOUND_TAIL (1ULL << 16)
#define KPF_HUGE (1ULL << 17)
#define KPF_HWPOISON (1ULL << 19)
#define KPF_NOPAGE (1ULL << 20)
#define KPF_OFFLINE (1ULL << 23)
#define KPF_ZERO_PAGE (1ULL << 24)
#define KPF_PGTABLE (1ULL << 26)
#define KPF_RESERVED (1ULL << 32)
#define KPF_UNMOVABLE                                                                              \
	(KPF_SLAB | KPF_HUGE | KPF_HWPOISON | KPF_NOPAGE | KPF_OFFLINE | KPF_PGTABLE | KPF_RESERVED)

/* PAGEMAP_SCAN of Linux 6.7, which the headers of Debian 12 do not know. */
struct scan_region {
	__u64 start;
	__u64 end;
	__u64 categories;
};

struct scan_arg {
	__u64 size;
	__u64 flags;
	__u64 start;
	__u64 end;
	__u64 walk_end;
	__u64 vec;
	__u64 vec_len;
	__u64 max_pages;
	__u64 category_inverted;
	__u64 category_mask;
	__u64 category_anyof_mask;
	__u64 return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_arg)
#define SCAN_PRESENT (1ULL << 3)

/* Runs of present pages per ioctl: 1.5 KiB of stack, and few calls even for scattered memory. */
#define SCAN_REGIONS 64

/* Pages of the largest folio that is told apart (order 9). */
#define FOLIO_PAGES_MAX (TIER_SLOT_BYTES / TIER_PAGE_BYTES)

/*
 * Entries per read of pagemap. With orders a folio must fit; without, larger reads cost less: 64
 * KiB, which is 32 MiB of address space.
 */
#define WINDOW_ORDERS FOLIO_PAGES_MAX
#define WINDOW_RUNS 8192ULL

/*
 * Flags are read in blocks of so many frames: neighbours in memory are often neighbours in the
 * process, and a read of 512 bytes costs hardly more than one of 8. The 32 blocks hold 2,048
 * frames: a whole 2 MiB folio (8 blocks) and what lies around it.
 */
#define FLAG_BLOCK 64ULL
#define FLAG_BLOCKS 32

struct flag_block {
	bool valid;
	uint64_t number;
	uint64_t flags[FLAG_BLOCK];
};

struct walker {
	const struct process *process;
	const struct node_spans *spans;
	bool need_orders;
	int kpageflags_fd;
	int (*visit)(void *userdata, const struct folio *f);
	void *userdata;
	const struct span *span; /* that the last page was in */
	uint64_t window;	 /* address of entries[0] */
	bool full;		 /* as large as a window can be */
	size_t n_entries;
	struct flag_block blocks[FLAG_BLOCKS];
	uint64_t entries[];
};

/* ---- frames -------------------------------------------------------------------------------- */

static int node_of(struct walker *w, uint64_t pfn)
{
	if (!w->span || pfn < w->span->start || pfn >= w->span->end)
		w->span = node_spans_lookup(w->spans, pfn);
	return w->span ? w->span->node : -1;
}

/* A frame beyond the end of memory reads as KPF_NOPAGE. */
static uint64_t flags_of(struct walker *w, uint64_t pfn)
{
	uint64_t number = pfn / FLAG_BLOCK;
	struct flag_block *b = &w->blocks[number % FLAG_BLOCKS];
	ssize_t n;

	if (!b->valid || b->number != number) {
		n = pread(w->kpageflags_fd, b->flags, sizeof(b->flags),
			  (off_t)(number * sizeof(b->flags)));
		for (size_t i = n > 0 ? (size_t)n / sizeof(*b->flags) : 0; i < FLAG_BLOCK; i++)
			b->flags[i] = KPF_NOPAGE;
		b->number = number;
		b->valid = true;
	}
	return b->flags[pfn % FLAG_BLOCK];
}

/* What a frame is part of: its folio's first frame and order. */
struct extent {
	uint64_t head;
	uint8_t order;
	uint64_t flags; /* of the head, and of the frame itself */
};

static uint8_t order_of_pages(uint64_t pages)
{
	return (uint8_t)(63 - __builtin_clzll(pages));
}

static struct extent extent_of(struct walker *w, uint64_t pfn)
{
	uint64_t flags = flags_of(w, pfn), head = pfn, end = pfn + 1;

	if (!(flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL)))
		return (struct extent){.head = pfn, .flags = flags};
	while (head > 0 && pfn - head + 1 < FOLIO_PAGES_MAX &&
	       (flags_of(w, head) & KPF_COMPOUND_TAIL))
		head--;
	while (end - head < FOLIO_PAGES_MAX && (flags_of(w, end) & KPF_COMPOUND_TAIL))
		end++;
	return (struct extent){
		.head = head,
		.order = order_of_pages(end - head),
		.flags = flags | flags_of(w, head),
	};
}

/* ---- windows ------------------------------------------------------------------------------- */

static void flags_forget(struct walker *w)
{
	for (size_t i = 0; i < FLAG_BLOCKS; i++)
		w->blocks[i].valid = false;
}

/* Entries of @pages pages from @address; fewer at the end of the address space. */
static int window_read(struct walker *w, uint64_t address, uint64_t pages)
{
	size_t want = pages * sizeof(*w->entries);
	off_t at = (off_t)(address / TIER_PAGE_BYTES * sizeof(*w->entries));
	ssize_t n = pread(w->process->pagemap_fd, w->entries, want, at);

	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(*w->entries))
		return -ESRCH; /* the address space is gone */
	w->window = address;
	w->full = pages == WINDOW_ORDERS;
	w->n_entries = (size_t)n / sizeof(*w->entries);
	flags_forget(w); /* what was true a window ago need not be now */
	return 0;
}

/* Entries from @i on that look the same and lie on one node, at most @max. */
static uint32_t run_of(struct walker *w, size_t i, size_t max, int node)
{
	const uint64_t same = PM_PRESENT | PM_FILE | PM_EXCLUSIVE;
	uint32_t n = 1;

	while (n < max && (w->entries[i + n] & same) == (w->entries[i] & same) &&
	       node_of(w, w->entries[i + n] & PM_PFN_MASK) == node)
		n++;
	return n;
}

/* Entries from @i on that map consecutive frames, at most @max. */
static uint32_t consecutive(const struct walker *w, size_t i, size_t max)
{
	uint64_t pfn = w->entries[i] & PM_PFN_MASK;
	uint32_t n = 1;

	while (n < max && (w->entries[i + n] & PM_PRESENT) &&
	       (w->entries[i + n] & PM_PFN_MASK) == pfn + n)
		n++;
	return n;
}

static bool all_exclusive(const struct walker *w, size_t i, size_t n)
{
	for (size_t k = i; k < i + n; k++)
		if (!(w->entries[k] & PM_EXCLUSIVE))
			return false;
	return true;
}

static struct folio folio_begin(struct walker *w, size_t i)
{
	uint64_t entry = w->entries[i];

	return (struct folio){
		.address = w->window + i * TIER_PAGE_BYTES,
		.pfn = entry & PM_PFN_MASK,
		.pages = 1,
		.anon = !(entry & PM_FILE),
		.mapped_once = entry & PM_EXCLUSIVE,
		.node = node_of(w, entry & PM_PFN_MASK),
	};
}

/*
 * The folio at entry @i, of which at most @max pages are asked about. False when the window ends
 * before the folio does: it must be read again from here.
 */
static bool folio_at(struct walker *w, size_t i, size_t max, struct folio *ret)
{
	struct folio f = folio_begin(w, i);
	struct extent e = extent_of(w, f.pfn);
	uint64_t left = MAX((1ULL << e.order) - (f.pfn - e.head), 1ULL);
	uint32_t mapped;

	if (i + left > w->n_entries && !(i == 0 && w->full))
		return false;
	mapped = consecutive(w, i, MIN(left, w->n_entries - i));
	f.order = e.order;
	f.pages = (uint32_t)MIN(mapped, max);
	f.whole = f.pfn == e.head && mapped == 1ULL << e.order;
	f.mapped_once = all_exclusive(w, i, mapped);
	f.unmovable = (e.flags & KPF_UNMOVABLE) || f.node < 0;
	f.zero_page = e.flags & KPF_ZERO_PAGE;
	*ret = f;
	return true;
}

static struct folio run_at(struct walker *w, size_t i, size_t max)
{
	struct folio f = folio_begin(w, i);

	f.pages = run_of(w, i, MIN(max, w->n_entries - i), f.node);
	f.unmovable = f.node < 0;
	return f;
}

/* Visits what the window shows below @end; *ret_next is where to go on. */
static int window_visit(struct walker *w, uint64_t end, uint64_t *ret_next)
{
	size_t i = 0, n = MIN(w->n_entries, (end - w->window) / TIER_PAGE_BYTES);

	while (i < n) {
		struct folio f;
		int r;

		if (!(w->entries[i] & PM_PRESENT)) {
			i++;
			continue;
		}
		if (!(w->entries[i] & PM_PFN_MASK))
			return -EPERM; /* frames are hidden from us: no CAP_SYS_ADMIN */
		if (!w->need_orders)
			f = run_at(w, i, n - i);
		else if (!folio_at(w, i, n - i, &f))
			break;
		r = w->visit(w->userdata, &f);
		if (r != 0)
			return r;
		i += f.pages;
	}
	*ret_next = w->window + i * TIER_PAGE_BYTES;
	return 0;
}

/* Windows end at slots, where large folios usually do, too. */
static uint64_t window_pages(const struct walker *w, uint64_t at, uint64_t end)
{
	uint64_t slot_end = round_down_u64(at, TIER_SLOT_BYTES) + TIER_SLOT_BYTES;

	if (!w->need_orders)
		return MIN((end - at) / TIER_PAGE_BYTES, WINDOW_RUNS);
	return (MIN(slot_end, end) - at) / TIER_PAGE_BYTES;
}

static int walk_present(struct walker *w, uint64_t start, uint64_t end)
{
	bool again = false;

	for (uint64_t at = start; at < end;) {
		uint64_t next = at;
		int r = window_read(w, at, again ? WINDOW_ORDERS : window_pages(w, at, end));

		if (r == 0)
			r = window_visit(w, end, &next);
		if (r != 0)
			return r;
		/*
		 * Stopped before the window's end: a folio lies across it. A full window from its
		 * first page on shows all of it, beyond @end, too.
		 */
		again = next < w->window + w->n_entries * TIER_PAGE_BYTES && next < end;
		at = next;
	}
	return 0;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/*
 * The next runs of present pages in [start, end): holes of any size cost next to nothing. Returns
 * how many; *ret_walked is how far it looked. A kernel before 6.7 gives the whole range as one run.
 */
static int scan_present(const struct process *p, uint64_t start, uint64_t end,
			struct scan_region regions[SCAN_REGIONS], uint64_t *ret_walked)
{
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = start,
		.end = end,
		.vec = (uintptr_t)regions,
		.vec_len = SCAN_REGIONS,
		.category_mask = SCAN_PRESENT,
		.return_mask = SCAN_PRESENT,
	};
	int n = ioctl(p->pagemap_fd, SCAN_IOCTL, &arg);

	if (n >= 0) {
		/* Nothing found and no way made cannot be, but would never end. */
		*ret_walked = n == 0 && arg.walk_end <= start ? end : arg.walk_end;
		return n;
	}
	if (errno != ENOTTY)
		return -errno;
	regions[0] = (struct scan_region){.start = start, .end = end};
	*ret_walked = end;
	return 1;
}

static int walk_range(struct walker *w, uint64_t start, uint64_t end)
{
	struct scan_region regions[SCAN_REGIONS];

	for (uint64_t at = start; at < end;) {
		uint64_t walked = at, done = at;
		int n = scan_present(w->process, at, end, regions, &walked);

		if (n < 0)
			return n;
		for (int i = 0; i < n; i++) {
			int r = walk_present(w, MAX(regions[i].start, done), regions[i].end);

			if (r != 0)
				return r;
			done = regions[i].end;
		}
		at = MAX(walked, done);
	}
	return 0;
}

int folio_walk(const struct process *p, const struct node_spans *spans, uint64_t start,
	       uint64_t end, bool need_orders, int (*visit)(void *userdata, const struct folio *f),
	       void *userdata)
{
	cleanup(freep) struct walker *w = NULL;
	size_t window = need_orders ? WINDOW_ORDERS : WINDOW_RUNS;

	if (start % TIER_PAGE_BYTES || end % TIER_PAGE_BYTES || start > end)
		return -EINVAL;
	if (p->pagemap_fd < 0 || (need_orders && node_spans_kpageflags(spans) < 0))
		return -EPERM;
	w = malloc(sizeof(*w) + window * sizeof(*w->entries));
	if (!w)
		return -ENOMEM;
	w->process = p;
	w->spans = spans;
	w->need_orders = need_orders;
	w->kpageflags_fd = node_spans_kpageflags(spans);
	w->visit = visit;
	w->userdata = userdata;
	w->span = NULL;
	return walk_range(w, start, end);
}
