// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Page frames to nodes, from /proc/zoneinfo; free blocks from /proc/buddyinfo. The parsers are
 * pure. A snapshot: memory hotplug makes it stale, and whoever notices reads it again.
 */
#include <fcntl.h>

#include "linux/scan.h"
#include "linux/spans.h"
#include "util.h"

/*
 * zoneinfo is 2 KiB a zone and 150 bytes a zone and CPU: 160 zones on 512 CPUs come to 12 MiB. Only
 * read at start and after hotplug.
 */
#define ZONEINFO_MAX_BYTES (16 * MiB)

struct node_spans {
	int kpageflags_fd;
	size_t n_zones;
	size_t n;
	struct zone zones[ZONES_MAX];
	struct span spans[SPANS_MAX];
};

/* ---- text ---------------------------------------------------------------------------------- */

/* "Node 0, zone   Normal" */
static bool zone_header(struct scan line, int *ret_node)
{
	uint64_t node;

	if (!scan_text(&line, "Node ") || !scan_u64(&line, 10, &node) ||
	    !scan_text(&line, ", zone") || node > INT32_MAX)
		return false;
	*ret_node = (int)node;
	return true;
}

/* A line that consists of this word and a number. */
static bool zone_value(struct scan line, const char *key, uint64_t *ret)
{
	struct scan word = scan_word(&line);

	if (!scan_is(&word, key))
		return false;
	scan_blanks(&line);
	return scan_u64(&line, 10, ret);
}

struct zone_reader {
	struct zone zone;
	uint64_t spanned;
	bool inside; /* behind the header of a zone */
	size_t n;
	struct zone *zones;
};

static int zone_finish(struct zone_reader *r, uint64_t start)
{
	r->inside = false;
	if (r->spanned == 0)
		return 0;
	r->zone.span.start = start;
	if (__builtin_add_overflow(start, r->spanned, &r->zone.span.end))
		return -EINVAL;
	if (r->n == ZONES_MAX)
		return -E2BIG;
	r->zones[r->n++] = r->zone;
	return 0;
}

/* start_pfn is the last line of every zone that is populated; others have none. */
static int zone_line(struct zone_reader *r, struct scan line)
{
	uint64_t value;
	int node;

	if (zone_header(line, &node)) {
		r->zone = (struct zone){.span = {.node = node}};
		r->spanned = 0;
		r->inside = true;
		return 0;
	}
	if (!r->inside)
		return 0;
	if (zone_value(line, "high", &value))
		r->zone.high_pages = value;
	else if (zone_value(line, "spanned", &value))
		r->spanned = value;
	else if (zone_value(line, "start_pfn:", &value))
		return zone_finish(r, value);
	return 0;
}

int zoneinfo_parse(const char *text, size_t size, struct zone *ret, size_t *ret_n)
{
	struct scan s = scan_begin(text, size), line;
	struct zone_reader r = {.zones = ret};

	while (scan_line(&s, &line)) {
		int e = zone_line(&r, line);

		if (e < 0)
			return e;
	}
	if (r.n == 0)
		return -EINVAL;
	*ret_n = r.n;
	return 0;
}

int buddyinfo_parse(const char *text, size_t size, int node, uint64_t ret_blocks[BUDDY_ORDERS])
{
	struct scan s = scan_begin(text, size), line;
	uint64_t blocks[BUDDY_ORDERS] = {0};
	bool found = false;
	int of;

	while (scan_line(&s, &line)) {
		uint64_t n;

		if (!zone_header(line, &of) || of != node)
			continue;
		found = true;
		for (int i = 0; i < 4; i++) /* Node 0, zone Normal */
			scan_word(&line);
		scan_blanks(&line);
		for (size_t order = 0; order < BUDDY_ORDERS && scan_u64(&line, 10, &n); order++) {
			if (__builtin_add_overflow(blocks[order], n, &blocks[order]))
				return -EINVAL;
			scan_blanks(&line);
		}
	}
	if (!found)
		return -ENOENT;
	memcpy(ret_blocks, blocks, sizeof(blocks));
	return 0;
}

/* ---- spans --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static const struct zone *innermost(const struct zone *zones, size_t n, uint64_t pfn)
{
	const struct zone *found = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct span *s = &zones[i].span;

		if (s->start <= pfn && pfn < s->end && (!found || s->start > found->span.start))
			found = &zones[i];
	}
	return found;
}

void spans_flatten(const struct zone *zones, size_t n, struct span *ret, size_t *ret_n)
{
	uint64_t edges[2 * ZONES_MAX];
	size_t n_edges = 0, n_spans = 0;

	for (size_t i = 0; i < n; i++) {
		edges[n_edges++] = zones[i].span.start;
		edges[n_edges++] = zones[i].span.end;
	}
	if (n_edges > 0)
		qsort(edges, n_edges, sizeof(*edges), by_value);
	for (size_t i = 0; i + 1 < n_edges; i++) {
		const struct zone *z = innermost(zones, n, edges[i]);
		struct span *last = n_spans ? &ret[n_spans - 1] : NULL;

		if (edges[i] == edges[i + 1] || !z)
			continue;
		if (last && last->end == edges[i] && last->node == z->span.node)
			last->end = edges[i + 1];
		else
			ret[n_spans++] = (struct span){edges[i], edges[i + 1], z->span.node};
	}
	*ret_n = n_spans;
}

struct node_spans *node_spans_free(struct node_spans *s)
{
	if (!s)
		return NULL;
	closep(&s->kpageflags_fd);
	free(s);
	return NULL;
}

DEFINE_CLEANUP(struct node_spans *, node_spans_free)

int node_spans_read(int proc_fd, struct node_spans **ret)
{
	cleanup(node_spans_freep) struct node_spans *s = calloc(1, sizeof(*s));
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	if (!s)
		return -ENOMEM;
	s->kpageflags_fd = -1;
	r = file_read_at(proc_fd, "zoneinfo", ZONEINFO_MAX_BYTES, false, &text, &size);
	if (r < 0)
		return r;
	r = zoneinfo_parse(text, size, s->zones, &s->n_zones);
	if (r < 0)
		return r;
	spans_flatten(s->zones, s->n_zones, s->spans, &s->n);
	r = file_open_at(proc_fd, "kpageflags", O_RDONLY, false);
	if (r < 0 && r != -EACCES && r != -EPERM && r != -ENOENT)
		return r;
	s->kpageflags_fd = MAX(r, -1);
	*ret = STEAL(s);
	return 0;
}

const struct span *node_spans_lookup(const struct node_spans *s, uint64_t pfn)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->spans[mid].end <= pfn)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n && s->spans[lo].start <= pfn ? &s->spans[lo] : NULL;
}

int node_spans_find(const struct node_spans *s, uint64_t pfn)
{
	const struct span *span = node_spans_lookup(s, pfn);

	return span ? span->node : -1;
}

uint64_t node_spans_reserve_bytes(const struct node_spans *s, int node)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < s->n_zones; i++)
		if (s->zones[i].span.node == node)
			pages += s->zones[i].high_pages;
	return pages * TIER_PAGE_BYTES;
}

int node_spans_kpageflags(const struct node_spans *s)
{
	return s->kpageflags_fd;
}
