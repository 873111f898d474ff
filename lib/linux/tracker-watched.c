// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The processes that are to be watched, held so that their pids can be told from later ones.
 * Decides nothing.
 */
#include "linux/linux.h"
#include "linux/parse.h"
#include "linux/tracker.h"
#include "util.h"

/* Seven numbers. */
#define STATM_MAX 256

int watched_new(struct process_table *table, uint64_t space_id, struct watched **ret)
{
	struct watched *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	r = process_get(table, space_id, &w->process);
	if (r < 0) {
		free(w);
		return r;
	}
	w->table = table;
	w->refs = 1;
	*ret = w;
	return 0;
}

struct watched *watched_ref(struct watched *w)
{
	w->refs++;
	return w;
}

struct watched *watched_unref(struct watched *w)
{
	if (w && --w->refs == 0) {
		process_unref(w->table, w->process);
		free(w);
	}
	return NULL;
}

int watched_parse_statm(const char *text, size_t size, uint64_t *ret_bytes)
{
	const char *end = memchr(text, ' ', size);
	uint64_t pages;
	int r;

	if (!end)
		return -EINVAL;
	r = parse_u64(text, (size_t)(end - text), UINT64_MAX / TIER_PAGE_BYTES, &pages);
	if (r < 0)
		return r;
	*ret_bytes = pages * TIER_PAGE_BYTES;
	return 0;
}

uint64_t watched_bytes(const struct watched *w)
{
	cleanup(freep) char *text = NULL;
	uint64_t bytes = 0;
	size_t size;

	if (file_read_at(w->process->proc_fd, "statm", STATM_MAX, false, &text, &size) >= 0)
		watched_parse_statm(text, size, &bytes);
	return bytes;
}

struct watched_set *watched_set_free(struct watched_set *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n; i++)
		watched_unref(s->items[i]);
	free(s->items);
	free(s);
	return NULL;
}

/* Those that have ended meanwhile are left out. */
int watched_set_new(struct process_table *table, const uint64_t *space_ids, size_t n,
		    struct watched_set **ret)
{
	struct watched_set *s = calloc(1, sizeof(*s));
	int r = 0;

	if (s)
		s->items = calloc(MAX(n, (size_t)1), sizeof(struct watched *));
	if (!s || !s->items) {
		watched_set_free(s);
		return -ENOMEM;
	}
	s->n_left_out = n - MIN(n, (size_t)WATCHED_MAX);
	n -= s->n_left_out;
	for (size_t i = 0; i < n && (r >= 0 || r == -ESRCH); i++) {
		r = watched_new(table, space_ids[i], &s->items[s->n]);
		if (r >= 0)
			s->n++;
	}
	if (r < 0 && r != -ESRCH) {
		watched_set_free(s);
		return r;
	}
	*ret = s;
	return 0;
}
