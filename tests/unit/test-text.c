// SPDX-License-Identifier: GPL-2.0-or-later
/* report/text: escaping of hostile names, sizes and times as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/text.h"
#include "util.h"

static void check_escape(const char *in, size_t n, const char *want)
{
	char *out = text_escape(in, n);

	assert_string_equal(out, want);
	free(out);
}

#define CHECK(in, want) check_escape(in, sizeof(in) - 1, want)

static void test_escape_leaves_text_alone(void **state)
{
	CHECK("", "");
	CHECK("system.slice/dev-disk-by\\x2duuid.swap", "system.slice/dev-disk-by\\x2duuid.swap");
	CHECK("gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x90\xa7", "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 "
								  "\xf0\x9f\x90\xa7");
}

static void test_escape_disarms_controls(void **state)
{
	CHECK("a\x1b[31mb", "a\\x1b[31mb");
	CHECK("a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f");
	/* NUL, and the one-byte CSI in its UTF-8 form */
	CHECK("a\0b", "a\\x00b");
	CHECK("\xc2\x9b" "31m", "\\xc2\\x9b31m");
	/* right-to-left override, zero-width space, line separator, isolate, byte order mark */
	CHECK("\xe2\x80\xae", "\\xe2\\x80\\xae");
	CHECK("\xe2\x80\x8b\xe2\x80\xa8", "\\xe2\\x80\\x8b\\xe2\\x80\\xa8");
	CHECK("\xe2\x81\xa6\xef\xbb\xbf", "\\xe2\\x81\\xa6\\xef\\xbb\\xbf");
}

static void test_escape_disarms_bad_utf8(void **state)
{
	CHECK("\xff\xfe", "\\xff\\xfe");
	/* too long for what it says, surrogate, beyond Unicode, cut off, lone continuation */
	CHECK("\xc0\xaf", "\\xc0\\xaf");
	CHECK("\xed\xa0\x80", "\\xed\\xa0\\x80");
	CHECK("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	CHECK("a\xe2\x82", "a\\xe2\\x82");
	CHECK("\x80x", "\\x80x");
}

static void test_escape_lines(void **state)
{
	char *out = text_escape_lines("a\nb\x1b\n", 5);

	assert_string_equal(out, "a\nb\\x1b\n");
	free(out);
}

static void test_utf8(void **state)
{
	assert_true(text_is_utf8("", 0));
	assert_true(text_is_utf8("gr\xc3\xbcn", 5));
	assert_false(text_is_utf8("gr\xc3", 3));
	assert_false(text_is_utf8("a\0b", 3));
}

static void check_size(uint64_t bytes, const char *want)
{
	char buf[TEXT_NUMBER_MAX];

	assert_string_equal(text_size(bytes, buf), want);
}

static void test_size(void **state)
{
	check_size(0, "0");
	check_size(1023, "1023");
	check_size(1024, "1K");
	check_size(1536, "1.5K");
	check_size(64 * MiB, "64M");
	check_size(GiB - 1, "1023M");
	check_size(GiB + GiB / 10, "1G");
	check_size(GiB + GiB / 10 + 1, "1.1G");
	check_size(100 * GiB + GiB / 2, "100G");
	check_size(UINT64_MAX, "15.9E");
}

static void check_span(uint64_t us, const char *want)
{
	char buf[TEXT_NUMBER_MAX];

	assert_string_equal(text_span(us, buf), want);
}

static void test_span(void **state)
{
	check_span(0, "0ms");
	check_span(1500, "1.5ms");
	check_span(999999, "999ms");
	check_span(12300000, "12.3s");
	check_span(60 * US_PER_S, "1min");
	check_span(2 * 3600 * US_PER_S, "2h");
	check_span(49 * 3600 * US_PER_S, "2d");
	check_span(UINT64_MAX, "213503982d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escape_leaves_text_alone),
		cmocka_unit_test(test_escape_disarms_controls),
		cmocka_unit_test(test_escape_disarms_bad_utf8),
		cmocka_unit_test(test_escape_lines),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_span),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
