// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of configuration files: every kind of mistake, forms that are fine, random mangling. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config-dir.h"
#include "config/ini.h"
#include "util.h"

#define MATCH "[Match]\nCgroup=a\n"
#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

/* What the test at hand has read so far. */
static struct policy_set *set;
static struct config_errors errors;

static int setup(void **state)
{
	return policy_set_new(&set);
}

static int teardown(void **state)
{
	config_errors_done(&errors);
	set = policy_set_free(set);
	return 0;
}

static void parse(enum config_kind kind, const char *text, size_t n)
{
	assert_int_equal(config_parse(kind, "FILE", text, n, set, &errors), 0);
}

static void parse_text(enum config_kind kind, const char *text)
{
	parse(kind, text, strlen(text));
}

static void assert_no_errors(void)
{
	config_errors_print(&errors, stdout);
	assert_int_equal(errors.n_errors + errors.n_more, 0);
}

struct mistake {
	const char *text;
	unsigned int line;
	const char *key; /* NULL: none */
	const char *part;
};

static bool is_reported(const struct mistake *m)
{
	const struct config_error *e = &errors.errors[0];

	return errors.n_errors == 1 && e->line == m->line && !strcmp(e->file, "FILE") &&
	       !e->key == !m->key && (!m->key || !strcmp(e->key, m->key)) &&
	       strstr(e->message, m->part);
}

/* Each text alone must give exactly the one error. */
static void check_mistakes(enum config_kind kind, const struct mistake *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		parse_text(kind, cases[i].text);
		assert_int_equal(policy_set_finish(set, &errors), 0);
		if (!is_reported(&cases[i])) {
			config_errors_print(&errors, stdout);
			fail_msg("%zu: %s", i, cases[i].text);
		}
		teardown(NULL);
		assert_int_equal(setup(NULL), 0);
	}
}

static void test_form(void **state)
{
	static const struct mistake cases[] = {
		{MATCH "nonsense\n", 3, NULL, "neither a comment"},
		{MATCH "=x\n", 3, NULL, "neither a comment"},
		{MATCH "Mode: auto\n", 3, NULL, "neither a comment"},
		{MATCH "Co-ld=1\n", 3, NULL, "neither a comment"},
		{MATCH "\xef\xbb\xbf[Tiering]\n", 3, NULL, "neither a comment"},
		{MATCH " b\n", 3, NULL, "indented"},
		{MATCH "\tCgroup=b\n", 3, NULL, "indented"},
		{MATCH " [Tiering]\n", 3, NULL, "indented"},
		{MATCH "[Tiering\n", 3, NULL, "not a section header"},
		{MATCH "[Tier ing]\n", 3, NULL, "not a section header"},
		{MATCH "[]\n", 3, NULL, "without a name"},
		{MATCH "[Tiering] x\n", 3, NULL, "behind a section header"},
		{MATCH "[Tiering]#x\n", 3, NULL, "behind a section header"},
		{MATCH "[" FIFTY "]\n", 3, NULL, "longer than 49"},
		{MATCH "[Tiering]\nMode=auto # hot up\n", 4, NULL, "comment behind a value"},
		{MATCH "[Tiering]\nMode=auto\t;x\n", 4, NULL, "comment behind a value"},
		{MATCH "[Tiering]\nMode=;auto\n", 4, NULL, "comment behind a value"},
		{MATCH "Cgroup=b\\\n", 3, NULL, "backslash"},
		{MATCH "Cgroup=b\x01\n", 3, NULL, "control character"},
		{MATCH "Cgroup=b\rMode=off\n", 3, NULL, "control character"},
		{"Mode=auto\n" MATCH, 1, "Mode", "before the first section"},
	};

	check_mistakes(CONFIG_POLICY, cases, ARRAY_SIZE(cases));
}

static void test_names(void **state)
{
	static const struct mistake cases[] = {
		{MATCH "[Tierin]\nMode=auto\n", 3, NULL, "[Tierin] (expected [Tiering]?)"},
		{MATCH "[tiering]\nMode=auto\n", 3, NULL, "(expected [Tiering]?)"},
		{MATCH "[Weather]\nMode=auto\nX=y\n", 3, NULL, "unknown section [Weather]"},
		{MATCH "[Service]\nInterval=1s\n", 3, NULL, "belongs in tierd.conf"},
		{MATCH "[Tiering]\nMod=auto\n", 4, "Mod", "(expected Mode?)"},
		{MATCH "[Tiering]\nmode=auto\n", 4, "mode", "(expected Mode?)"},
		{MATCH "[Tiering]\nColdAftr=1s\n", 4, "ColdAftr", "(expected ColdAfter?)"},
		{MATCH "[Tiering]\nBandwidth=1G\n", 4, "Bandwidth", "(expected in [Migration])"},
		{MATCH "[Tiering]\nWeather=fine\n", 4, "Weather",
		 "unknown key in section [Tiering]"},
		{MATCH "[Tiering]\n" FIFTY "=1\n", 4, FIFTY, "unknown key"},
	};
	static const struct mistake settings[] = {
		{"[Match]\nCgroup=a\n", 1, NULL, "belongs in a file in policy.d"},
		{"[Service]\nIntervall=1s\n", 2, "Intervall", "(expected Interval?)"},
		{"[Tiers]\nHeadroom=1%\n", 2, "Headroom", "(expected in [Service])"},
	};

	check_mistakes(CONFIG_POLICY, cases, ARRAY_SIZE(cases));
	check_mistakes(CONFIG_SETTINGS, settings, ARRAY_SIZE(settings));
}

static void test_values(void **state)
{
	static const struct mistake cases[] = {
		{MATCH "[Tiering]\nMode=fast\n", 4, "Mode", "(expected auto, observe,"},
		{MATCH "[Tiering]\nMode=\n", 4, "Mode", "\"\" is not understood"},
		{MATCH "[Tiering]\nFastMax=lots\n", 4, "FastMax", "\"lots\" is not understood"},
		{MATCH "[Tiering]\nFastMax=101%\n", 4, "FastMax", "share up to 100%"},
		{MATCH "[Tiering]\nColdAfter=999ms\n", 4, "ColdAfter", "out of range"},
		{MATCH "[Tiering]\nColdAfter=8d\n", 4, "ColdAfter", "from 1s to 7d"},
		{MATCH "[Tiering]\nHotAbove=0%\n", 4, "HotAbove", "from 0.01% to 100%"},
		{MATCH "[Tiering]\nHotAbove=50\n", 4, "HotAbove", "not understood"},
		{MATCH "[Migration]\nBandwidth=1M\n", 4, "Bandwidth", "from 2M to 1T"},
		{MATCH "[Migration]\nCallMax=2s\n", 4, "CallMax", "out of range"},
		{MATCH "[Migration]\nSplitFolios=maybe\n", 4, "SplitFolios", "yes or no"},
		{MATCH "[Tiering]\nMode=\xff\n", 4, "Mode", "\"\\xff\""},
		{"[Match]\nCgroup=/a\n", 2, "Cgroup", "empty component"},
		{"[Match]\nCgroup=\n", 2, "Cgroup", "empty"},
		{"[Match]\nCgroup=a/../b\n", 2, "Cgroup", "'..'"},
		{"[Tiering]\nMode=auto\n", 0, "Cgroup", "missing"},
	};
	static const struct mistake settings[] = {
		{"[Tiers]\nOrder=fast\n", 2, "Order", "node ids"},
		{"[Service]\nInterval=10ms\n", 2, "Interval", "from 100ms to 1min"},
		{"[Service]\nIntervalIdle=1h\n", 2, "IntervalIdle", "out of range"},
		{"[Service]\nHeadroom=60%\n", 2, "Headroom", "share up to 50%"},
		{"[Service]\nHeadroom=infinity\n", 2, "Headroom", "out of range"},
		{"[Service]\nBandwidth=0\n", 2, "Bandwidth", "out of range"},
		{"[Service]\nProcessMin=2T\n", 2, "ProcessMin", "from 0 to 1T"},
		{"[Service]\nIntervalIdle=1s\nInterval=2s\n", 2, "IntervalIdle",
		 "shorter than Interval (expected at least 2s)"},
	};

	check_mistakes(CONFIG_POLICY, cases, ARRAY_SIZE(cases));
	check_mistakes(CONFIG_SETTINGS, settings, ARRAY_SIZE(settings));
}

static void test_duplicates(void **state)
{
	static const struct mistake cases[] = {
		{MATCH "[Tiering]\nMode=off\nMode=off\n", 5, "Mode", "set already in line 4"},
		{MATCH "[Tiering]\nMode=off\n[Migration]\n[Tiering]\nMode=off\n", 7, "Mode",
		 "set already in line 4"},
		{MATCH "Cgroup=b\nCgroup=a\n", 4, "Cgroup", "\"a\" is there already"},
	};

	check_mistakes(CONFIG_POLICY, cases, ARRAY_SIZE(cases));
	/* A wrong value is a mistake of its own; the next one is not taken in its place. */
	parse_text(CONFIG_POLICY, MATCH "[Tiering]\nMode=bad\nMode=off\n");
	assert_int_equal(errors.n_errors, 2);
	assert_int_equal(errors.errors[0].line, 4);
	assert_int_equal(errors.errors[1].line, 5);
}

/* A line at the limit is read whole, one byte more is refused, be it a comment. */
static void test_line_length(void **state)
{
	char text[1024], glob[INI_LINE_BYTES_MAX + 1] = "";
	size_t n = INI_LINE_BYTES_MAX - strlen("Cgroup=");

	memset(glob, 'x', n);
	snprintf(text, sizeof(text), "[Match]\r\nCgroup=%s\r\n", glob);
	parse_text(CONFIG_POLICY, text);
	assert_no_errors();
	assert_int_equal(set->n_policies, 1);
	assert_string_equal(set->policies[0].globs[0], glob);

	glob[n] = 'x';
	snprintf(text, sizeof(text), "[Match]\nCgroup=%s\nCgroup=b\n#%s%s\n", glob, glob, glob);
	parse_text(CONFIG_POLICY, text);
	assert_int_equal(errors.n_errors, 2);
	assert_int_equal(errors.errors[0].line, 2);
	assert_int_equal(errors.errors[1].line, 4);
	assert_non_null(strstr(errors.errors[0].message, "longer than 190"));
}

static void test_nul(void **state)
{
	static const char text[] = "[Match]\nCgroup=a\0b\nCgroup=c\n";

	parse(CONFIG_POLICY, text, sizeof(text) - 1);
	assert_int_equal(errors.n_errors, 1);
	assert_int_equal(errors.errors[0].line, 2);
	assert_non_null(strstr(errors.errors[0].message, "NUL"));
}

/* All errors are found, 32 are kept, the rest is counted. */
static void test_error_cap(void **state)
{
	char text[4096] = "[Match]\n", *shown = NULL, *one;
	size_t n;
	FILE *to;

	for (unsigned int i = 0; i < CONFIG_ERRORS_MAX + 7; i++)
		strcat(text, "Wrong=1\n");
	parse_text(CONFIG_POLICY, text);
	assert_int_equal(errors.n_errors, CONFIG_ERRORS_MAX);
	assert_int_equal(errors.n_more, 7);
	to = open_memstream(&shown, &n);
	config_errors_print(&errors, to);
	fclose(to);
	assert_non_null(strstr(shown, "FILE:2: Wrong: unknown key in section [Match]\nFILE:3: "));
	assert_non_null(strstr(shown, "\nand 7 more\n"));
	one = config_error_format(&errors.errors[1]);
	assert_string_equal(one, "FILE:3: Wrong: unknown key in section [Match]");
	free(one);
	free(shown);
}

static void test_too_many_globs(void **state)
{
	char text[4096] = "[Match]\n";

	for (unsigned int i = 0; i <= POLICY_GLOBS_MAX; i++)
		sprintf(text + strlen(text), "Cgroup=a%u\n", i);
	parse_text(CONFIG_POLICY, text);
	assert_int_equal(errors.n_errors, 1);
	assert_int_equal(errors.errors[0].line, POLICY_GLOBS_MAX + 2);
	assert_non_null(strstr(errors.errors[0].message, "more than 64"));
}

static const struct policy *only_policy(void)
{
	assert_int_equal(set->n_policies, 1);
	return &set->policies[0];
}

/* The fixture sets every key; each must arrive in its own member, with its line. */
static void test_every_key(void **state)
{
	const struct policy *p;
	size_t n;
	char *text;

	text = read_source("tests/fixtures/config/policy.conf", &n);
	parse(CONFIG_POLICY, text, n);
	free(text);
	text = read_source("tests/fixtures/config/tierd.conf", &n);
	parse(CONFIG_SETTINGS, text, n);
	free(text);
	assert_no_errors();

	p = only_policy();
	assert_string_equal(p->file, "FILE");
	assert_int_equal(p->n_globs, 2);
	assert_string_equal(p->globs[0], "system.slice/db*.service");
	assert_string_equal(p->globs[1], "kubepods.slice/**");
	assert_int_equal(p->glob_lines[1], 6);
	assert_int_equal(p->mode, MODE_OBSERVE);
	assert_true(p->fast_max.is_share && p->fast_max.value == 1250);
	assert_true(p->cold_after_us == 90 * US_PER_S);
	assert_int_equal(p->hot_above_bp, 2500);
	assert_true(p->bandwidth_bytes_s == 256 * MiB);
	assert_true(p->call_max_us == 5 * US_PER_MS);
	assert_true(p->split_folios);
	for (size_t i = 0; i < POLICY_KEYS; i++)
		assert_ptr_equal(p->origins[i].file, p->file);
	assert_int_equal(p->origins[POLICY_KEY_MODE].line, 11);
	assert_int_equal(p->origins[POLICY_KEY_SPLIT_FOLIOS].line, 19);

	assert_string_equal(set->settings.tier_order, "0,2 > 1");
	assert_true(set->settings.interval_us == 2 * US_PER_S);
	assert_true(set->settings.interval_idle_us == 10 * US_PER_S);
	assert_true(!set->settings.headroom.is_share && set->settings.headroom.value == 512 * MiB);
	assert_true(set->settings.bandwidth_bytes_s == 2 * GiB);
	assert_true(set->settings.process_min_bytes == 64 * MiB);
	for (size_t i = 0; i < SETTINGS_KEYS; i++)
		assert_string_equal(set->settings.origins[i].file, "FILE");
	assert_int_equal(set->settings.origins[SETTINGS_KEY_PROCESS_MIN].line, 12);
}

/* Byte-order mark, CRLF, no newline at the end, blank lines, repeated headers. */
static void test_fine_forms(void **state)
{
	static const char text[] = "\xef\xbb\xbf[Match]\r\n\r\n  \t\r\nCgroup \t=  a  \r\n"
				   "[Tiering]\r\n[Match]  \r\nCgroup=b;c#d = e\r\n# caf\xc3\xa9\r\n"
				   "[Tiering]\r\nMode=off";
	const struct policy *p;

	parse(CONFIG_POLICY, text, sizeof(text) - 1);
	assert_no_errors();
	p = only_policy();
	assert_int_equal(p->n_globs, 2);
	assert_string_equal(p->globs[0], "a");
	assert_int_equal(p->glob_lines[0], 4);
	assert_string_equal(p->globs[1], "b;c#d = e");
	assert_int_equal(p->mode, MODE_OFF);
	assert_int_equal(p->origins[POLICY_KEY_MODE].line, 10);
}

static void test_nothing_said(void **state)
{
	static const char *const texts[] = {
		"", "\n\n", "# all\n; off\n", "[Match]\n[Tiering]\n", "\xef\xbb\xbf", "\r\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		parse_text(CONFIG_POLICY, texts[i]);
	parse(CONFIG_SETTINGS, "", 0);
	assert_no_errors();
	assert_int_equal(set->n_policies, 0);
	assert_true(set->settings.interval_us == US_PER_S);
}

/* Interval alone lifts IntervalIdle with it. */
static void test_interval_lifts_idle(void **state)
{
	static const char text[] = "[Service]\nInterval=20s\n";

	parse(CONFIG_SETTINGS, text, sizeof(text) - 1);
	assert_int_equal(policy_set_finish(set, &errors), 0);
	assert_no_errors();
	assert_true(set->settings.interval_idle_us == 20 * US_PER_S);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_form),       TEST(test_names),	  TEST(test_values),
		TEST(test_duplicates), TEST(test_line_length),	  TEST(test_nul),
		TEST(test_error_cap),  TEST(test_too_many_globs), TEST(test_every_key),
		TEST(test_fine_forms), TEST(test_nothing_said),	  TEST(test_interval_lifts_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
