// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes and numbers as people read them, for the bus, the journal and tierctl. Must stay pure: it is
 * what stands between a hostile cgroup name and an administrator's terminal.
 */
#include <stdio.h>

#include "report/text.h"
#include "util.h"

/* Length of the UTF-8 character at @s with its code point, or 0 when these bytes are none. */
static size_t utf8_decode(const unsigned char *s, size_t n, uint32_t *ret_code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;
	size_t len;

	if (s[0] < 0x80) {
		*ret_code = s[0];
		return 1;
	}
	len = (s[0] & 0xe0) == 0xc0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : (s[0] & 0xf8) == 0xf0 ? 4 : 0;
	if (!len || len > n)
		return 0;
	code = s[0] & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < smallest[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return len;
}

/* Harmless on a terminal: no control, no line end, nothing that reorders or hides what follows. */
static bool code_is_printable(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	if (code == 0x061c || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb))
		return false;
	if ((code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e))
		return false;
	return code < 0x2060 || code > 0x206f;
}

bool text_is_utf8(const char *s, size_t n)
{
	uint32_t code;

	for (size_t i = 0, len; i < n; i += len) {
		len = utf8_decode((const unsigned char *)s + i, n - i, &code);
		if (!len || !code)
			return false;
	}
	return true;
}

static char *escape(const char *s, size_t n, bool keep_lines)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *in = (const unsigned char *)s;
	/* Four characters for each byte at worst. */
	char *out = n < SIZE_MAX / 8 ? malloc(4 * n + 1) : NULL;
	char *p = out;
	uint32_t code;

	if (!out)
		return NULL;
	for (size_t i = 0, len; i < n; i += len) {
		len = utf8_decode(in + i, n - i, &code);
		if (len && (code_is_printable(code) || (keep_lines && code == '\n'))) {
			memcpy(p, in + i, len);
			p += len;
			continue;
		}
		len = MAX(len, (size_t)1);
		for (size_t k = 0; k < len; k++) {
			*p++ = '\\';
			*p++ = 'x';
			*p++ = hex[in[i + k] >> 4];
			*p++ = hex[in[i + k] & 15];
		}
	}
	*p = '\0';
	return out;
}

char *text_escape(const char *s, size_t n)
{
	return escape(s, n, false);
}

char *text_escape_lines(const char *s, size_t n)
{
	return escape(s, n, true);
}

/* @value / @unit with one decimal below 100, rounded down: what is shown is never more than there is. */
static void print_scaled(char *buf, uint64_t value, uint64_t unit, const char *suffix)
{
	uint64_t whole = value / unit;
	/* The largest unit is 2^60: ten of them still fit. */
	unsigned int tenth = (unsigned int)(value % unit * 10 / unit);

	if (tenth && whole < 100)
		snprintf(buf, TEXT_NUMBER_MAX, "%llu.%u%s", (unsigned long long)whole, tenth,
			 suffix);
	else
		snprintf(buf, TEXT_NUMBER_MAX, "%llu%s", (unsigned long long)whole, suffix);
}

const char *text_size(uint64_t bytes, char buf[TEXT_NUMBER_MAX])
{
	static const char *const suffixes[] = { "", "K", "M", "G", "T", "P", "E" };
	unsigned int i = 0;

	while (i + 1 < ARRAY_SIZE(suffixes) && bytes >> (10 * (i + 1)))
		i++;
	print_scaled(buf, bytes, 1ULL << (10 * i), suffixes[i]);
	return buf;
}

const char *text_span(uint64_t us, char buf[TEXT_NUMBER_MAX])
{
	if (us < US_PER_S)
		print_scaled(buf, us, US_PER_MS, "ms");
	else if (us < 60 * US_PER_S)
		print_scaled(buf, us, US_PER_S, "s");
	else if (us < 3600 * US_PER_S)
		print_scaled(buf, us, 60 * US_PER_S, "min");
	else if (us < 48 * 3600 * US_PER_S)
		print_scaled(buf, us, 3600 * US_PER_S, "h");
	else
		print_scaled(buf, us, 86400 * US_PER_S, "d");
	return buf;
}
