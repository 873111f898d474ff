// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text to numbers and back, for the values of configuration files. Integers only: a share with
 * decimals is counted in basis points, never in floating point. Must not know keys or files.
 */
#include "config/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "util.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{"", 1},      {"B", 1},		{"K", KiB},	   {"KB", KiB},	       {"KiB", KiB},
	{"M", MiB},   {"MB", MiB},	{"MiB", MiB},	   {"G", GiB},	       {"GB", GiB},
	{"GiB", GiB}, {"T", GiB << 10}, {"TB", GiB << 10}, {"TiB", GiB << 10},
};

/* Shortest spelling first where several mean the same: formatting takes the first that fits. */
static const struct unit time_units[] = {
	{"d", 86400 * US_PER_S},
	{"h", 3600 * US_PER_S},
	{"min", 60 * US_PER_S},
	{"m", 60 * US_PER_S},
	{"s", US_PER_S},
	{"ms", US_PER_MS},
	{"us", 1},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool text_is(const char *s, size_t n, const char *literal)
{
	return n == strlen(literal) && memcmp(s, literal, n) == 0;
}

/* One or more digits at *at; moves *at behind them. */
static int take_number(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t v = 0;

	if (p == end || !is_digit(*p))
		return -EINVAL;
	for (; p < end && is_digit(*p); p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -ERANGE;
	*at = p;
	*ret = v;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, size_t n_units, const char *s,
				    size_t n)
{
	for (size_t i = 0; i < n_units; i++)
		if (text_is(s, n, units[i].name))
			return &units[i];
	return NULL;
}

int value_parse_size(const char *s, size_t n, uint64_t *ret_bytes)
{
	const char *end = s + n;
	const struct unit *unit;
	uint64_t v;
	int r;

	r = take_number(&s, end, &v);
	if (r < 0)
		return r;
	unit = find_unit(size_units, ARRAY_SIZE(size_units), s, (size_t)(end - s));
	if (!unit)
		return -EINVAL;
	if (__builtin_mul_overflow(v, unit->factor, &v))
		return -ERANGE;
	*ret_bytes = v;
	return 0;
}

/* The decimals of a percentage, as hundredths; *at is behind the point. */
static int take_hundredths(const char **at, const char *end, uint64_t *ret)
{
	const char *begin = *at;
	uint64_t v;
	int r;

	r = take_number(at, end, &v);
	if (r < 0)
		return r;
	if (*at - begin > 2)
		return -ERANGE;
	*ret = *at - begin == 1 ? v * 10 : v;
	return 0;
}

int value_parse_share(const char *s, size_t n, uint32_t *ret_bp)
{
	const char *end = s + n;
	uint64_t percent, hundredths = 0;
	int r;

	r = take_number(&s, end, &percent);
	if (r < 0)
		return r;
	if (s < end && *s == '.') {
		s++;
		r = take_hundredths(&s, end, &hundredths);
		if (r < 0)
			return r;
	}
	if (!text_is(s, (size_t)(end - s), "%"))
		return -EINVAL;
	if (percent > 100 || (percent == 100 && hundredths > 0))
		return -ERANGE;
	*ret_bp = (uint32_t)(percent * 100 + hundredths);
	return 0;
}

int value_parse_amount(const char *s, size_t n, struct amount *ret)
{
	uint64_t bytes;
	uint32_t bp;
	int r;

	if (text_is(s, n, "infinity")) {
		*ret = AMOUNT_UNLIMITED;
		return 0;
	}
	if (n > 0 && s[n - 1] == '%') {
		r = value_parse_share(s, n, &bp);
		if (r < 0)
			return r;
		*ret = (struct amount){.is_share = true, .value = bp};
		return 0;
	}
	r = value_parse_size(s, n, &bytes);
	if (r < 0)
		return r;
	/* The largest number means "no limit" and has a word of its own. */
	if (bytes == UINT64_MAX)
		return -ERANGE;
	*ret = (struct amount){.is_share = false, .value = bytes};
	return 0;
}

/* One "NUMBER UNIT" of a sum; *at moves behind it and the blanks that follow. */
static int take_time(const char **at, const char *end, uint64_t *ret_us)
{
	const struct unit *unit;
	const char *name;
	uint64_t v;
	int r;

	r = take_number(at, end, &v);
	if (r < 0)
		return r;
	while (*at < end && is_blank(**at))
		++*at;
	for (name = *at; *at < end && is_letter(**at);)
		++*at;
	unit = find_unit(time_units, ARRAY_SIZE(time_units), name, (size_t)(*at - name));
	if (!unit)
		return -EINVAL;
	while (*at < end && is_blank(**at))
		++*at;
	return __builtin_mul_overflow(v, unit->factor, ret_us) ? -ERANGE : 0;
}

int value_parse_time(const char *s, size_t n, uint64_t *ret_us)
{
	const char *end = s + n;
	const char *at = s;
	uint64_t sum, one;
	int r;

	/* A number alone is seconds, as everywhere in systemd; inside a sum every part has a unit.
	 */
	r = take_number(&at, end, &sum);
	if (r < 0)
		return r;
	if (at == end) {
		if (__builtin_mul_overflow(sum, US_PER_S, &sum))
			return -ERANGE;
		*ret_us = sum;
		return 0;
	}
	for (sum = 0; s < end; sum += one) {
		r = take_time(&s, end, &one);
		if (r < 0)
			return r;
		if (one > UINT64_MAX - sum)
			return -ERANGE;
	}
	*ret_us = sum;
	return 0;
}

int value_parse_boolean(const char *s, size_t n, bool *ret)
{
	static const char *const words[2][6] = {
		{"0", "no", "n", "false", "f", "off"},
		{"1", "yes", "y", "true", "t", "on"},
	};

	for (int truth = 0; truth < 2; truth++)
		for (size_t i = 0; i < ARRAY_SIZE(words[truth]); i++)
			if (n == strlen(words[truth][i]) && !strncasecmp(s, words[truth][i], n)) {
				*ret = truth;
				return 0;
			}
	return -EINVAL;
}

int value_parse_mode(const char *s, size_t n, enum policy_mode *ret)
{
	for (unsigned int mode = MODE_AUTO; mode <= MODE_OFF; mode++)
		if (text_is(s, n, policy_mode_name(mode))) {
			*ret = mode;
			return 0;
		}
	return -EINVAL;
}

static void skip_blanks(const char **at, const char *end)
{
	while (*at < end && is_blank(**at))
		++*at;
}

/* "2" or "0-3"; none of the nodes may be in @seen, and all are afterwards. */
static int take_nodes(const char **at, const char *end, uint64_t *seen)
{
	uint64_t first, last;
	int r;

	r = take_number(at, end, &first);
	if (r < 0)
		return r;
	last = first;
	if (*at < end && **at == '-') {
		++*at;
		r = take_number(at, end, &last);
		if (r < 0)
			return r;
	}
	if (first > VALUE_NODE_ID_MAX || last > VALUE_NODE_ID_MAX)
		return -ERANGE;
	if (last < first)
		return -EINVAL;
	for (uint64_t id = first; id <= last; id++) {
		if (seen[id / 64] & (1ULL << (id % 64)))
			return -EINVAL;
		seen[id / 64] |= 1ULL << (id % 64);
	}
	return 0;
}

int value_check_tier_order(const char *s, size_t n)
{
	uint64_t seen[(VALUE_NODE_ID_MAX + 1) / 64] = {0};
	const char *end = s + n;
	size_t n_tiers = 1;
	int r;

	if (n == 0)
		return 0;
	for (;;) {
		skip_blanks(&s, end);
		r = take_nodes(&s, end, seen);
		if (r < 0)
			return r;
		skip_blanks(&s, end);
		if (s == end)
			return n_tiers <= VALUE_TIERS_MAX ? 0 : -ERANGE;
		if (*s != ',' && *s != '>')
			return -EINVAL;
		n_tiers += *s == '>';
		s++;
	}
}

/* ---- back to text: always something that the parser above reads as the same value ----------- */

void value_format_size(uint64_t bytes, char *ret, size_t n)
{
	static const char letters[] = "TGMK";

	for (unsigned int i = 0; i < 4; i++) {
		uint64_t factor = 1ULL << (10 * (4 - i));

		if (bytes > 0 && bytes % factor == 0) {
			snprintf(ret, n, "%" PRIu64 "%c", bytes / factor, letters[i]);
			return;
		}
	}
	snprintf(ret, n, "%" PRIu64, bytes);
}

void value_format_share(uint64_t bp, char *ret, size_t n)
{
	if (bp % 100 == 0)
		snprintf(ret, n, "%" PRIu64 "%%", bp / 100);
	else if (bp % 10 == 0)
		snprintf(ret, n, "%" PRIu64 ".%" PRIu64 "%%", bp / 100, bp % 100 / 10);
	else
		snprintf(ret, n, "%" PRIu64 ".%02" PRIu64 "%%", bp / 100, bp % 100);
}

void value_format_amount(struct amount amount, char *ret, size_t n)
{
	if (amount.is_share)
		value_format_share(amount.value, ret, n);
	else if (amount.value == UINT64_MAX)
		snprintf(ret, n, "infinity");
	else
		value_format_size(amount.value, ret, n);
}

void value_format_time(uint64_t us, char *ret, size_t n)
{
	size_t used = 0;

	if (us == 0)
		snprintf(ret, n, "0");
	for (size_t i = 0; i < ARRAY_SIZE(time_units) && us > 0 && used < n; i++) {
		uint64_t count = us / time_units[i].factor;

		if (count == 0)
			continue;
		used += (size_t)snprintf(ret + used, n - used, "%s%" PRIu64 "%s", used ? " " : "",
					 count, time_units[i].name);
		us %= time_units[i].factor;
	}
}
