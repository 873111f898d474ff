// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Good files, mangled at random: loading must never crash, never give half a configuration, and
 * never let through a value that the table of keys forbids. TEST_SEED repeats a run.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "config-dir.h"
#include "util.h"

#define ROUNDS 10000
#define TEXT_MAX 8192

static uint64_t random_state;

/* xorshift64: the same numbers for the same seed, everywhere. */
static uint64_t next_random(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

struct text {
	char bytes[TEXT_MAX];
	size_t n;
};

static void cut(struct text *t, size_t at, size_t n)
{
	n = MIN(n, t->n - at);
	memmove(t->bytes + at, t->bytes + at + n, t->n - at - n);
	t->n -= n;
}

static void insert(struct text *t, size_t at, const char *bytes, size_t n)
{
	if (t->n + n > TEXT_MAX)
		return;
	memmove(t->bytes + at + n, t->bytes + at, t->n - at);
	memcpy(t->bytes + at, bytes, n);
	t->n += n;
}

static void mangle(struct text *t)
{
	static const char *const pieces[] = {
		"\n",	      "=",	    "[",  "]", " ", "\t",	  "\r", "\\",
		";",	      "#",	    "**", "/", "%", "9999999999", "-1", "\xef\xbb\xbf",
		"Cgroup=x\n", "[Tiering]\n"};
	size_t at = t->n ? next_random(t->n) : 0;
	const char *piece = pieces[next_random(ARRAY_SIZE(pieces))];
	char copy[200];
	size_t n;

	switch (next_random(5)) {
	case 0:
		if (t->n)
			t->bytes[at] = (char)next_random(256);
		break;
	case 1:
		cut(t, at, next_random(40) + 1);
		break;
	case 2:
		insert(t, at, piece, strlen(piece));
		break;
	case 3:
		n = MIN(next_random(sizeof(copy)), t->n - at);
		memcpy(copy, t->bytes + at, n);
		insert(t, t->n ? next_random(t->n) : 0, copy, n);
		break;
	case 4:
		if (t->n)
			t->bytes[at] ^= (char)(1 << next_random(8));
		break;
	}
}

/* Every value is one that its key takes, and is written the way it is read. */
static void check_object(enum config_kind kind, const void *object)
{
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++) {
		char text[CONFIG_KEY_TEXT_MAX], again[CONFIG_KEY_TEXT_MAX];
		union {
			struct settings settings;
			struct policy policy;
		} copy;

		if (keys[i].kind != kind || keys[i].type == VALUE_GLOB)
			continue;
		memset(&copy, 0, sizeof(copy));
		config_key_format(&keys[i], object, text, sizeof(text));
		if (config_key_set(&keys[i], &copy, text))
			fail_msg("%s=%s came through", keys[i].name, text);
		config_key_format(&keys[i], &copy, again, sizeof(again));
		assert_string_equal(text, again);
		if (kind == CONFIG_SETTINGS)
			free(copy.settings.tier_order);
	}
}

static void check_set(const struct policy_set *set)
{
	const char *why;

	check_object(CONFIG_SETTINGS, &set->settings);
	assert_true(set->settings.interval_idle_us >= set->settings.interval_us);
	/* The bystander is always there; the mangled one is there whole or said nothing at all. */
	assert_true(set->n_policies == 1 || set->n_policies == 2);
	for (size_t i = 0; i < set->n_policies; i++) {
		const struct policy *p = &set->policies[i];

		check_object(CONFIG_POLICY, p);
		assert_non_null(p->file);
		assert_true(p->n_globs > 0);
		for (size_t j = 0; j < p->n_globs; j++)
			assert_int_equal(glob_check(p->globs[j], strlen(p->globs[j]), &why), 0);
	}
	assert_non_null(policy_set_match(set, "bystander.slice"));
}

static void check_errors(const struct config_errors *errors)
{
	assert_true(errors->n_errors > 0);
	for (size_t i = 0; i < errors->n_errors; i++) {
		const char *c = errors->errors[i].message;

		for (; *c; c++)
			assert_true(*c >= 0x20 && *c < 0x7f);
	}
}

/* Loads what is in the directory; true when it was accepted. */
static bool check_load(struct config_dir *d)
{
	static struct policy_set untouched;
	struct policy_set *set = &untouched;
	int r = config_dir_load(d, &set);

	if (r < 0) {
		assert_int_equal(r, -EBADMSG);
		assert_ptr_equal(set, &untouched);
		check_errors(&d->errors);
		return false;
	}
	assert_int_equal(d->errors.n_errors + d->errors.n_more, 0);
	check_set(set);
	policy_set_free(set);
	return true;
}

static void run(struct config_dir *d, const char *fixture, const char *path)
{
	unsigned int accepted = 0;
	struct text good, t;
	size_t n;
	char *text = read_source(fixture, &n);

	assert_true(n > 0 && n < TEXT_MAX / 2);
	memcpy(good.bytes, text, n);
	good.n = n;
	free(text);
	for (unsigned int i = 0; i < ROUNDS / 2; i++) {
		t = good;
		for (uint64_t changes = next_random(4); changes > 0; changes--)
			mangle(&t);
		config_dir_write_bytes(d, path, t.bytes, t.n);
		accepted += check_load(d);
	}
	/* Some of both, or the test tests nothing. */
	print_message("%s: %u accepted, %u refused\n", fixture, accepted, ROUNDS / 2 - accepted);
	assert_in_range(accepted, ROUNDS / 20, ROUNDS / 2 - ROUNDS / 20);
	config_dir_write_bytes(d, path, good.bytes, good.n);
	assert_true(check_load(d));
}

static void test_mangled(void **state)
{
	const char *given = getenv("TEST_SEED");
	struct config_dir *d = *state;
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u;

	/* Zero would stay zero. */
	random_state = seed ? seed : 1;
	print_message("TEST_SEED=%ju\n", (uintmax_t)random_state);
	config_dir_write(d, "etc/tierd/policy.d/10-bystander.conf",
			 "[Match]\nCgroup=bystander.slice\n");
	run(d, "tests/fixtures/config/policy.conf", "etc/tierd/policy.d/50-a.conf");
	run(d, "tests/fixtures/config/tierd.conf", "etc/tierd/tierd.conf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mangled, config_dir_setup,
						config_dir_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
