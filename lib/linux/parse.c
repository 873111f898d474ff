// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The text parsers of the Linux machine. Everything here works on (pointer, length) and on nothing
 * else: it must not read a file, keep state or trust a terminating NUL.
 *
 * All of them are written over one cursor; nothing else in this file touches a byte of the text.
 */
#include "linux/parse.h"
#include "util.h"

struct cursor {
	const char *p;
	const char *end;
};

static struct cursor cursor_at(const char *s, size_t n)
{
	return (struct cursor){.p = s, .end = s + n};
}

static bool at_end(const struct cursor *c)
{
	return c->p == c->end;
}

static bool take_char(struct cursor *c, char wanted)
{
	if (at_end(c) || *c->p != wanted)
		return false;
	c->p++;
	return true;
}

static bool take_text(struct cursor *c, const char *wanted)
{
	size_t n = strlen(wanted);

	if ((size_t)(c->end - c->p) < n || memcmp(c->p, wanted, n))
		return false;
	c->p += n;
	return true;
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t';
}

static void skip_blanks(struct cursor *c)
{
	while (!at_end(c) && is_blank(*c->p))
		c->p++;
}

/* The next word; empty at the end. Blanks before it are skipped. */
static struct cursor take_word(struct cursor *c)
{
	struct cursor word;

	skip_blanks(c);
	word.p = c->p;
	while (!at_end(c) && !is_blank(*c->p))
		c->p++;
	word.end = c->p;
	return word;
}

/* The next line without its newline; false at the end. */
static bool take_line(struct cursor *c, struct cursor *ret)
{
	const char *newline;

	if (at_end(c))
		return false;
	newline = memchr(c->p, '\n', (size_t)(c->end - c->p));
	ret->p = c->p;
	ret->end = newline ? newline : c->end;
	c->p = newline ? newline + 1 : c->end;
	return true;
}

static int take_u64(struct cursor *c, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (at_end(c) || *c->p < '0' || *c->p > '9')
		return -EINVAL;
	for (; !at_end(c) && *c->p >= '0' && *c->p <= '9'; c->p++) {
		unsigned int digit = (unsigned int)(*c->p - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		v = v * 10 + digit;
	}
	if (v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_u64(const char *s, size_t n, uint64_t max, uint64_t *ret)
{
	struct cursor c = cursor_at(s, n);
	uint64_t v;
	int r;

	r = take_u64(&c, max, &v);
	if (r < 0)
		return r;
	take_char(&c, '\n');
	if (!at_end(&c))
		return -EINVAL;
	*ret = v;
	return 0;
}

/* One "2" or "0-3" into @set. Overlapping ranges are fine: the kernel never writes them. */
static int take_range(struct cursor *c, struct node_set *set)
{
	uint64_t first, last;
	int r;

	r = take_u64(c, NODE_ID_MAX, &first);
	if (r < 0)
		return r;
	last = first;
	if (take_char(c, '-')) {
		r = take_u64(c, NODE_ID_MAX, &last);
		if (r < 0)
			return r;
	}
	if (last < first)
		return -EINVAL;
	for (uint64_t id = first; id <= last; id++)
		node_set_add(set, (int)id);
	return 0;
}

int parse_node_list(const char *s, size_t n, struct node_set *ret)
{
	struct cursor c = cursor_at(s, n);
	struct node_set set = {0};
	int r;

	if (!at_end(&c) && *c.p != '\n') {
		do {
			r = take_range(&c, &set);
			if (r < 0)
				return r;
		} while (take_char(&c, ','));
	}
	take_char(&c, '\n');
	if (!at_end(&c))
		return -EINVAL;
	*ret = set;
	return 0;
}

/* The nodes of one tier, up to '>' or the end, into @tier; each must be new to @seen. */
static const char *take_tier(struct cursor *c, struct node_set *tier, struct node_set *seen)
{
	do {
		struct node_set range = {0};

		skip_blanks(c);
		if (take_range(c, &range) < 0)
			return "the tier order is not a list of node numbers such as \"0,2 > 1\"";
		for (int id = node_set_next(&range, 0); id >= 0;
		     id = node_set_next(&range, id + 1)) {
			if (node_set_has(seen, id))
				return "the tier order names a node twice";
			node_set_add(seen, id);
			node_set_add(tier, id);
		}
		skip_blanks(c);
	} while (take_char(c, ','));
	return NULL;
}

int parse_tier_list(const char *s, size_t n, struct tier_list *ret, const char **ret_why)
{
	struct cursor c = cursor_at(s, n);
	struct tier_list list = {0};
	struct node_set seen = {0};
	const char *why;

	do {
		if (list.n_tiers == ARRAY_SIZE(list.tiers)) {
			*ret_why = "the tier order has too many tiers";
			return -EINVAL;
		}
		why = take_tier(&c, &list.tiers[list.n_tiers++], &seen);
	} while (!why && take_char(&c, '>'));
	if (!why && !at_end(&c))
		why = "the tier order is not a list of node numbers such as \"0,2 > 1\"";
	if (why) {
		*ret_why = why;
		return -EINVAL;
	}
	*ret = list;
	return 0;
}

int parse_distances(const char *s, size_t n, size_t max, uint8_t *ret, size_t *ret_n)
{
	uint8_t found[TIER_NODES_MAX];
	struct cursor c = cursor_at(s, n), line, word;
	size_t n_found = 0;
	uint64_t v;
	int r;

	if (!take_line(&c, &line) || !at_end(&c))
		return -EINVAL;
	for (word = take_word(&line); !at_end(&word); word = take_word(&line)) {
		if (n_found == MIN(max, ARRAY_SIZE(found)))
			return -E2BIG;
		r = parse_u64(word.p, (size_t)(word.end - word.p), UINT8_MAX, &v);
		if (r < 0)
			return r;
		found[n_found++] = (uint8_t)v;
	}
	if (n_found == 0)
		return -EINVAL;
	memcpy(ret, found, n_found);
	*ret_n = n_found;
	return 0;
}

/* "<blanks>123 kB" to bytes. */
static int take_kib(struct cursor *c, uint64_t *ret_bytes)
{
	uint64_t v;
	int r;

	skip_blanks(c);
	r = take_u64(c, UINT64_MAX / KiB, &v);
	if (r < 0)
		return r;
	if (!take_text(c, " kB") || !at_end(c))
		return -EINVAL;
	*ret_bytes = v * KiB;
	return 0;
}

/* Steps over the "Node 12 " that starts each line of a node's meminfo, if it is there. */
static void skip_node_prefix(struct cursor *c)
{
	struct cursor start = *c;
	uint64_t id;

	if (!take_text(c, "Node ") || take_u64(c, NODE_ID_MAX, &id) < 0 || !take_char(c, ' '))
		*c = start;
}

int parse_meminfo(const char *s, size_t n, uint64_t *ret_total_bytes, uint64_t *ret_free_bytes)
{
	struct cursor c = cursor_at(s, n), line;
	uint64_t total_bytes = 0, free_bytes = 0;
	bool has_total = false, has_free = false;
	int r = 0;

	while (take_line(&c, &line)) {
		skip_node_prefix(&line);
		if (take_text(&line, "MemTotal:")) {
			r = take_kib(&line, &total_bytes);
			has_total = true;
		} else if (take_text(&line, "MemFree:")) {
			r = take_kib(&line, &free_bytes);
			has_free = true;
		}
		if (r < 0)
			return r;
	}
	if (!has_total || !has_free)
		return -EINVAL;
	*ret_total_bytes = total_bytes;
	*ret_free_bytes = free_bytes;
	return 0;
}

static enum numa_stat_kind numa_stat_kind(struct cursor word)
{
	static const struct {
		const char *name;
		enum numa_stat_kind kind;
	} kinds[] = {
		{"anon", NUMA_STAT_ANON},
		{"file", NUMA_STAT_FILE},
		{"shmem", NUMA_STAT_SHMEM},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct cursor c = word;

		if (take_text(&c, kinds[i].name) && at_end(&c))
			return kinds[i].kind;
	}
	return NUMA_STAT_OTHER;
}

int parse_numa_stat_line(const char *s, size_t n, struct numa_stat_line *ret)
{
	struct cursor c = cursor_at(s, n), line, word;
	struct numa_stat_line found = {.n_nodes = 0};
	uint64_t id, bytes;

	if (!take_line(&c, &line) || !at_end(&c))
		return -EINVAL;
	word = take_word(&line);
	if (at_end(&word))
		return -EINVAL;
	found.kind = numa_stat_kind(word);
	if (found.kind != NUMA_STAT_OTHER) {
		for (word = take_word(&line); !at_end(&word); word = take_word(&line)) {
			if (found.n_nodes == ARRAY_SIZE(found.nodes))
				return -E2BIG;
			if (!take_char(&word, 'N') || take_u64(&word, NODE_ID_MAX, &id) < 0 ||
			    !take_char(&word, '=') || take_u64(&word, UINT64_MAX, &bytes) < 0 ||
			    !at_end(&word))
				return -EINVAL;
			found.nodes[found.n_nodes].id = (int)id;
			found.nodes[found.n_nodes++].bytes = bytes;
		}
	}
	*ret = found;
	return 0;
}

int parse_psi_some(const char *s, size_t n, uint64_t *ret_total_us)
{
	struct cursor c = cursor_at(s, n), line, word;
	uint64_t v;

	while (take_line(&c, &line)) {
		if (!take_text(&line, "some "))
			continue;
		for (word = take_word(&line); !at_end(&word); word = take_word(&line)) {
			if (!take_text(&word, "total="))
				continue;
			if (take_u64(&word, UINT64_MAX, &v) < 0 || !at_end(&word))
				return -EINVAL;
			*ret_total_us = v;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_pids(const char *s, size_t n, size_t max, pid_t **ret, size_t *ret_n)
{
	cleanup(freep) pid_t *pids = NULL;
	struct cursor c = cursor_at(s, n), line;
	size_t n_pids = 0, capacity = 0;
	uint64_t v;
	int r;

	while (take_line(&c, &line)) {
		r = parse_u64(line.p, (size_t)(line.end - line.p), INT32_MAX, &v);
		if (r < 0)
			return r;
		if (v == 0)
			continue;
		r = array_reserve((void **)&pids, &capacity, n_pids, sizeof(*pids), max);
		if (r < 0)
			return r;
		pids[n_pids++] = (pid_t)v;
	}
	*ret = STEAL(pids);
	*ret_n = n_pids;
	return 0;
}

int parse_status_field(const char *s, size_t n, const char *key, const char **ret, size_t *ret_n)
{
	struct cursor c = cursor_at(s, n), line;

	while (take_line(&c, &line)) {
		if (!take_text(&line, key) || !take_char(&line, ':'))
			continue;
		skip_blanks(&line);
		while (line.end > line.p && is_blank(line.end[-1]))
			line.end--;
		*ret = line.p;
		*ret_n = (size_t)(line.end - line.p);
		return 0;
	}
	return -ENOENT;
}

int parse_hex_u64(const char *s, size_t n, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t v = 0;

	if (n < 1 || n > 16)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const char *digit = memchr(digits, s[i], sizeof(digits) - 1);

		if (!digit)
			return -EINVAL;
		v = v << 4 | (uint64_t)(digit - digits);
	}
	*ret = v;
	return 0;
}

bool parse_has_word(const char *s, size_t n, const char *word)
{
	struct cursor c = cursor_at(s, n), line, w;

	while (take_line(&c, &line))
		for (w = take_word(&line); !at_end(&w); w = take_word(&line))
			if (take_text(&w, word) && at_end(&w))
				return true;
	return false;
}
