// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of configuration files: what is accepted, what is refused and as what, and back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/value.h"
#include "util.h"

/* Untouched outputs keep this. */
#define UNTOUCHED 0x5a5a5a5aULL

struct number_case {
	const char *text;
	int result;
	uint64_t value;
};

typedef int number_parser(const char *s, size_t n, uint64_t *ret);

static void check_numbers(number_parser *parse, const struct number_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;
		int r = parse(cases[i].text, strlen(cases[i].text), &v);

		if (r != cases[i].result || v != (r ? UNTOUCHED : cases[i].value))
			fail_msg("\"%s\": %d, %ju", cases[i].text, r, (uintmax_t)v);
	}
}

static void test_size(void **state)
{
	static const struct number_case cases[] = {
		{"0", 0, 0},
		{"1", 0, 1},
		{"512B", 0, 512},
		{"8K", 0, 8192},
		{"8KB", 0, 8192},
		{"8KiB", 0, 8192},
		{"64M", 0, 64 * MiB},
		{"64MiB", 0, 64 * MiB},
		{"3G", 0, 3 * GiB},
		{"2T", 0, 2048 * GiB},
		{"2TB", 0, 2048 * GiB},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"16777215T", 0, 16777215ULL << 40},
		{"16777216T", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"M", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1.5G", -EINVAL, 0},
		{"8 M", -EINVAL, 0},
		{" 8M", -EINVAL, 0},
		{"8M ", -EINVAL, 0},
		{"8m", -EINVAL, 0},
		{"8Mi", -EINVAL, 0},
		{"8MM", -EINVAL, 0},
		{"4%", -EINVAL, 0},
	};

	check_numbers(value_parse_size, cases, ARRAY_SIZE(cases));
}

static void test_time(void **state)
{
	static const struct number_case cases[] = {
		{"0", 0, 0},
		{"5", 0, 5000000},
		{"500us", 0, 500},
		{"20ms", 0, 20000},
		{"1s", 0, 1000000},
		{"2min", 0, 120000000},
		{"2m", 0, 120000000},
		{"3h", 0, 3 * 3600000000ULL},
		{"1d", 0, 86400000000ULL},
		{"1min 30s", 0, 90000000},
		{"1min30s", 0, 90000000},
		{"1 min  30 s", 0, 90000000},
		{"30s 1min", 0, 90000000},
		{"1s1ms1us", 0, 1001001},
		{"213503982d", 0, 213503982ULL * 86400000000ULL},
		{"213503983d", -ERANGE, 0},
		{"18446744073709551615us 1us", -ERANGE, 0},
		{"18446744073709551615", -ERANGE, 0},
		{"18446744073709551616us", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"1.5s", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"1 30s", -EINVAL, 0},
		{"1s 30", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"1week", -EINVAL, 0},
		{"1s,2s", -EINVAL, 0},
		{"infinity", -EINVAL, 0},
	};

	check_numbers(value_parse_time, cases, ARRAY_SIZE(cases));
}

static int parse_share(const char *s, size_t n, uint64_t *ret)
{
	uint32_t bp = 0;
	int r = value_parse_share(s, n, &bp);

	if (!r)
		*ret = bp;
	return r;
}

static void test_share(void **state)
{
	static const struct number_case cases[] = {
		{"0%", 0, 0},	       {"4%", 0, 400},	       {"12.5%", 0, 1250},
		{"12.50%", 0, 1250},   {"0.01%", 0, 1},	       {"100%", 0, 10000},
		{"100.00%", 0, 10000}, {"99.99%", 0, 9999},    {"100.01%", -ERANGE, 0},
		{"101%", -ERANGE, 0},  {"0.001%", -ERANGE, 0}, {"1.234%", -ERANGE, 0},
		{"4", -EINVAL, 0},     {"%", -EINVAL, 0},      {".5%", -EINVAL, 0},
		{"1.%", -EINVAL, 0},   {"1.-1%", -EINVAL, 0},  {"1,5%", -EINVAL, 0},
		{"4 %", -EINVAL, 0},   {"-4%", -EINVAL, 0},    {"4%%", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	check_numbers(parse_share, cases, ARRAY_SIZE(cases));
}

static void test_amount(void **state)
{
	struct amount a = {.value = UNTOUCHED};

	assert_int_equal(value_parse_amount("64G", 3, &a), 0);
	assert_false(a.is_share);
	assert_true(a.value == 64 * GiB);
	assert_int_equal(value_parse_amount("12.5%", 5, &a), 0);
	assert_true(a.is_share);
	assert_true(a.value == 1250);
	assert_int_equal(value_parse_amount("infinity", 8, &a), 0);
	assert_false(a.is_share);
	assert_true(a.value == UINT64_MAX);

	a = (struct amount){.is_share = true, .value = UNTOUCHED};
	assert_int_equal(value_parse_amount("18446744073709551615", 20, &a), -ERANGE);
	assert_int_equal(value_parse_amount("110%", 4, &a), -ERANGE);
	assert_int_equal(value_parse_amount("infinite", 8, &a), -EINVAL);
	assert_int_equal(value_parse_amount("", 0, &a), -EINVAL);
	assert_true(a.is_share && a.value == UNTOUCHED);
}

static void test_boolean(void **state)
{
	static const char *const yes[] = {"1", "yes", "y", "true", "t", "on", "YES", "On"};
	static const char *const no[] = {"0", "no", "n", "false", "f", "off", "False"};
	static const char *const neither[] = {"", "2", "10", "ye", "yess", "enabled", "-1", " yes"};
	bool v;

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		v = false;
		assert_int_equal(value_parse_boolean(yes[i], strlen(yes[i]), &v), 0);
		assert_true(v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(no); i++) {
		v = true;
		assert_int_equal(value_parse_boolean(no[i], strlen(no[i]), &v), 0);
		assert_false(v);
	}
	for (size_t i = 0; i < ARRAY_SIZE(neither); i++)
		assert_int_equal(value_parse_boolean(neither[i], strlen(neither[i]), &v), -EINVAL);
}

static void test_mode(void **state)
{
	enum policy_mode mode;

	for (unsigned int m = MODE_AUTO; m <= MODE_OFF; m++) {
		const char *name = policy_mode_name(m);

		mode = MODE_OFF + 1;
		assert_int_equal(value_parse_mode(name, strlen(name), &mode), 0);
		assert_int_equal(mode, m);
	}
	assert_int_equal(value_parse_mode("Auto", 4, &mode), -EINVAL);
	assert_int_equal(value_parse_mode("pin", 3, &mode), -EINVAL);
	assert_int_equal(value_parse_mode("", 0, &mode), -EINVAL);
}

static void test_tier_order(void **state)
{
	static const char *const good[] = {"",	      "0",    "0>1",	 "0,2 > 1 > 3",
					   " 0 , 1 ", "1023", "0-3 > 4", "0-1,5 > 2-4"};
	static const char *const bad[] = {"a",	 ">",	"0>",	   ">0",   "0,",     "0 1",
					  "0>0", "0,0", "0;1",	   "-1",   "0 >> 1", "0x1",
					  "0-",	 "3-0", "0-2 > 1", "0 - 1"};
	char many[256] = "0";

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (value_check_tier_order(good[i], strlen(good[i])))
			fail_msg("\"%s\" refused", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (value_check_tier_order(bad[i], strlen(bad[i])) != -EINVAL)
			fail_msg("\"%s\" accepted", bad[i]);
	assert_int_equal(value_check_tier_order("1024", 4), -ERANGE);
	assert_int_equal(value_check_tier_order("0-1024", 6), -ERANGE);
	for (unsigned int i = 1; i < VALUE_TIERS_MAX; i++)
		sprintf(many + strlen(many), ">%u", i);
	assert_int_equal(value_check_tier_order(many, strlen(many)), 0);
	strcat(many, ">99");
	assert_int_equal(value_check_tier_order(many, strlen(many)), -ERANGE);
}

/* A parser may not look behind the length that it is given. */
static void test_length(void **state)
{
	uint64_t v;
	uint32_t bp;

	assert_int_equal(value_parse_size("64M%", 2, &v), 0);
	assert_true(v == 64);
	assert_int_equal(value_parse_time("15sx", 3, &v), 0);
	assert_true(v == 15000000);
	assert_int_equal(value_parse_share("4%5%", 2, &bp), 0);
	assert_int_equal(bp, 400);
}

static void test_size_text(void **state)
{
	static const struct {
		uint64_t value;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "1"},
		{1023, "1023"},
		{1024, "1K"},
		{1536, "1536"},
		{8 * MiB, "8M"},
		{GiB, "1G"},
		{1536 * MiB, "1536M"},
		{2048 * GiB, "2T"},
		{GiB + 1, "1073741825"},
		{UINT64_MAX, "18446744073709551615"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[VALUE_TEXT_MAX];
		uint64_t back;

		value_format_size(cases[i].value, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
		assert_int_equal(value_parse_size(text, strlen(text), &back), 0);
		assert_true(back == cases[i].value);
	}
}

static void test_time_text(void **state)
{
	static const struct {
		uint64_t value;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "1us"},
		{20000, "20ms"},
		{1000000, "1s"},
		{90000000, "1min 30s"},
		{7 * 86400000000ULL, "7d"},
		{UINT64_MAX, "213503982d 8h 1min 49s 551ms 615us"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[VALUE_TEXT_MAX];
		uint64_t back;

		value_format_time(cases[i].value, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
		assert_int_equal(value_parse_time(text, strlen(text), &back), 0);
		assert_true(back == cases[i].value);
	}
}

/* Every share that there is comes back as itself. */
static void test_share_text(void **state)
{
	char text[VALUE_TEXT_MAX];

	for (uint32_t bp = 0; bp <= 10000; bp++) {
		uint32_t back;

		value_format_share(bp, text, sizeof(text));
		assert_int_equal(value_parse_share(text, strlen(text), &back), 0);
		assert_int_equal(back, bp);
	}
	value_format_share(1250, text, sizeof(text));
	assert_string_equal(text, "12.5%");
	value_format_amount(AMOUNT_UNLIMITED, text, sizeof(text));
	assert_string_equal(text, "infinity");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size),	   cmocka_unit_test(test_time),
		cmocka_unit_test(test_share),	   cmocka_unit_test(test_amount),
		cmocka_unit_test(test_boolean),	   cmocka_unit_test(test_mode),
		cmocka_unit_test(test_tier_order), cmocka_unit_test(test_length),
		cmocka_unit_test(test_size_text),  cmocka_unit_test(test_time_text),
		cmocka_unit_test(test_share_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
