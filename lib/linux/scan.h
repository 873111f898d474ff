/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_SCAN_H
#define TIER_SCAN_H

/*
 * A cursor over text that need not end in NUL, for parsers of kernel files: every step is checked,
 * nothing is read beyond the end, a number that does not fit is refused. A failed step leaves the
 * cursor where it was.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct scan {
	const char *p;
	const char *end;
};

static inline struct scan scan_begin(const char *text, size_t size)
{
	return (struct scan){ .p = text, .end = text + size };
}

static inline bool scan_done(const struct scan *s)
{
	return s->p == s->end;
}

static inline bool scan_char(struct scan *s, char c)
{
	if (scan_done(s) || *s->p != c)
		return false;
	s->p++;
	return true;
}

static inline void scan_blanks(struct scan *s)
{
	while (!scan_done(s) && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
}

static inline unsigned int scan_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	return 16;
}

/* Digits of @base (10 or 16, lower case as the kernel prints); at least one. */
static inline bool scan_u64(struct scan *s, unsigned int base, uint64_t *ret)
{
	const char *p = s->p;
	uint64_t v = 0;

	for (; p < s->end && scan_digit(*p) < base; p++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, scan_digit(*p), &v))
			return false;
	if (p == s->p)
		return false;
	s->p = p;
	*ret = v;
	return true;
}

/* The next run of anything but blanks; empty at the end of the text. */
static inline struct scan scan_word(struct scan *s)
{
	struct scan word;

	scan_blanks(s);
	word.p = s->p;
	while (!scan_done(s) && *s->p != ' ' && *s->p != '\t')
		s->p++;
	word.end = s->p;
	return word;
}

static inline bool scan_is(const struct scan *s, const char *text)
{
	size_t size = strlen(text);

	return (size_t)(s->end - s->p) == size && memcmp(s->p, text, size) == 0;
}

/* Steps over @text when the cursor stands before it. */
static inline bool scan_text(struct scan *s, const char *text)
{
	size_t size = strlen(text);

	if ((size_t)(s->end - s->p) < size || memcmp(s->p, text, size) != 0)
		return false;
	s->p += size;
	return true;
}

/* Cuts the next line off, without its newline; false at the end of the text. */
static inline bool scan_line(struct scan *s, struct scan *ret)
{
	const char *newline;

	if (scan_done(s))
		return false;
	newline = memchr(s->p, '\n', (size_t)(s->end - s->p));
	ret->p = s->p;
	ret->end = newline ? newline : s->end;
	s->p = newline ? newline + 1 : s->end;
	return true;
}

#endif
