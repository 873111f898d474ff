// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is said about the keys outside the table: the sample, the examples, the man pages and the
 * dump must agree with it. After a change of the table, TIERD_REGENERATE=1 writes conf/tierd.conf
 * anew; the man pages are for a person to change.
 */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config-dir.h"
#include "util.h"

static void parse_good(enum config_kind kind, const char *text, struct policy_set *set)
{
	struct config_errors errors = {0};

	assert_int_equal(config_parse(kind, "FILE", text, strlen(text), set, &errors), 0);
	config_errors_print(&errors, stdout);
	assert_int_equal(errors.n_errors, 0);
}

static char *written(void (*write_it)(FILE *to))
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	write_it(to);
	assert_int_equal(fclose(to), 0);
	return text;
}

/* The table itself: defaults that their own keys take, names that are once in their section. */
static void test_table(void **state)
{
	struct settings settings = {0};
	struct policy policy = {0};
	size_t n;
	const struct config_key *keys = config_keys(&n);

	assert_int_equal(settings_init(&settings), 0);
	assert_int_equal(policy_init(&policy), 0);
	assert_int_equal(n, SETTINGS_KEYS + POLICY_KEYS + 1);
	for (size_t i = 0; i < n; i++) {
		const void *object = keys[i].kind == CONFIG_SETTINGS ? (void *)&settings : &policy;
		char text[CONFIG_KEY_TEXT_MAX];

		config_key_format(&keys[i], object, text, sizeof(text));
		assert_string_equal(text, keys[i].initial);
		assert_ptr_equal(config_key_find(keys[i].kind, keys[i].section, keys[i].name),
				 &keys[i]);
		assert_true(strlen(keys[i].description) > 20);
		assert_true(strlen(keys[i].why) > 20);
		config_key_expected(&keys[i], text, sizeof(text));
		/* Not cut at the end of the buffer. */
		assert_in_range(strlen(text), 5, sizeof(text) - 2);
	}
}

static void test_sample(void **state)
{
	char *generated = written(config_write_sample), *shipped;
	size_t n;

	if (getenv("TIERD_REGENERATE")) {
		const char *src = getenv("TIERD_SRC");
		char path[4096];
		FILE *f;

		snprintf(path, sizeof(path), "%s/conf/tierd.conf", src ? src : ".");
		f = fopen(path, "we");
		assert_non_null(f);
		fputs(generated, f);
		assert_int_equal(fclose(f), 0);
	}
	shipped = read_source("conf/tierd.conf", &n);
	assert_string_equal(shipped, generated);
	free(shipped);
	free(generated);
}

/* With every key uncommented the sample is the defaults. */
static void test_sample_is_defaults(void **state)
{
	char *text = written(config_write_sample), *p;
	struct policy_set *set;
	unsigned int n_keys = 0;
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (p = text; (p = strstr(p, "\n#")); p++)
		if (isalpha((unsigned char)p[2])) {
			memmove(p + 1, p + 2, strlen(p + 2) + 1);
			n_keys++;
		}
	assert_int_equal(n_keys, SETTINGS_KEYS);
	assert_int_equal(policy_set_new(&set), 0);
	parse_good(CONFIG_SETTINGS, text, set);
	for (size_t i = 0; i < n; i++) {
		char value[CONFIG_KEY_TEXT_MAX];

		if (keys[i].kind != CONFIG_SETTINGS)
			continue;
		assert_non_null(set->settings.origins[keys[i].id].file);
		config_key_format(&keys[i], &set->settings, value, sizeof(value));
		assert_string_equal(value, keys[i].initial);
	}
	policy_set_free(set);
	free(text);
}

static void test_examples(void **state)
{
	static const char *const names[] = {"50-database.conf", "60-batch.conf"};
	struct config_dir *d = *state;
	struct policy_set *set = NULL;
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *text;
		size_t n;

		snprintf(path, sizeof(path), "conf/examples/%s", names[i]);
		text = read_source(path, &n);
		snprintf(path, sizeof(path), "etc/tierd/policy.d/%s", names[i]);
		config_dir_write_bytes(d, path, text, n);
		free(text);
	}
	assert_int_equal(config_dir_load(d, &set), 0);
	assert_int_equal(set->n_policies, 2);
	assert_ptr_equal(policy_set_match(set, "system.slice/mariadb.service"),
			 &set->policies[0]);
	assert_ptr_equal(policy_set_match(set, "system.slice/system-mariadb.slice/"
					       "mariadb@one.service"),
			 &set->policies[0]);
	assert_int_equal(set->policies[0].mode, MODE_AUTO);
	assert_true(set->policies[0].cold_after_us == 600 * US_PER_S);
	assert_ptr_equal(policy_set_match(set, "batch.slice"), &set->policies[1]);
	assert_int_equal(set->policies[1].mode, MODE_PIN_SLOW);
	policy_set_free(set);
}

/* ---- man pages ------------------------------------------------------------------------------- */

/* The entry of a key: from its ".It" to the next key's, or to the end of the list. */
static char *man_entry(const char *page, const struct config_key *key)
{
	char head[128], section[64];
	const char *begin, *end, *p, *within = NULL;

	snprintf(head, sizeof(head), "\n.It Ic %s= Ns Ar ", key->name);
	snprintf(section, sizeof(section), "\n.Ss The [%s] section\n", key->section);
	begin = strstr(page, head);
	if (!begin || strstr(begin + 1, head))
		fail_msg("%s= is not there exactly once", key->name);
	for (p = page; (p = strstr(p, "\n.Ss ")) && p < begin; p++)
		within = p;
	if (!within || strncmp(within, section, strlen(section)))
		fail_msg("%s= does not stand in section [%s]", key->name, key->section);
	end = strstr(begin + 1, "\n.It Ic ");
	p = strstr(begin + 1, "\n.Ss ");
	if (!end || (p && p < end))
		end = p;
	p = strstr(begin + 1, "\n.Sh ");
	if (!end || (p && p < end))
		end = p;
	return strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
}

/* Is the value in the entry, as ".Cm VALUE"? */
static void assert_says(const struct config_key *key, const char *entry, const char *value)
{
	char word[128];
	const char *p = entry;

	snprintf(word, sizeof(word), "Cm %s", value);
	while ((p = strstr(p, word))) {
		p += strlen(word);
		if (*p == '\n' || *p == ' ')
			return;
	}
	fail_msg("the man page's %s= does not say \"%s\"", key->name, value);
}

static void assert_says_limits(const struct config_key *key, const char *entry)
{
	struct config_key probe = *key;
	union {
		uint64_t number;
		uint32_t share;
		struct amount amount;
	} value;
	const uint64_t limits[] = {key->min, key->max};

	if (key->type == VALUE_BOOLEAN || key->type == VALUE_MODE ||
	    key->type == VALUE_TIER_ORDER || key->type == VALUE_GLOB)
		return;
	probe.offset = 0;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		char text[CONFIG_KEY_TEXT_MAX];

		memset(&value, 0, sizeof(value));
		if (key->type == VALUE_AMOUNT)
			value.amount.value = limits[i];
		else if (key->type == VALUE_TEMPERATURE)
			value.share = (uint32_t)limits[i];
		else
			value.number = limits[i];
		config_key_format(&probe, &value, text, sizeof(text));
		/* FastMax has no least number of bytes worth a word. */
		if (limits[i] > 0 || key->max != UINT64_MAX)
			assert_says(key, entry, text);
	}
	if (key->type == VALUE_AMOUNT) {
		char text[CONFIG_KEY_TEXT_MAX];

		value.amount = (struct amount){.is_share = true, .value = key->max_bp};
		config_key_format(&probe, &value, text, sizeof(text));
		assert_says(key, entry, text);
	}
}

static void test_man_pages(void **state)
{
	static const char *const paths[] = {
		[CONFIG_SETTINGS] = "daemon/config/tierd.conf.5",
		[CONFIG_POLICY] = "daemon/config/tierd-policy.5",
	};
	size_t n, n_text;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++) {
		char *page = read_source(paths[keys[i].kind], &n_text);
		char *entry = man_entry(page, &keys[i]);

		if (*keys[i].initial)
			assert_says(&keys[i], entry, keys[i].initial);
		assert_says_limits(&keys[i], entry);
		free(entry);
		free(page);
	}
}

/* And the other way round: the pages have no key that is not in the table. */
static void test_man_pages_have_no_more(void **state)
{
	static const char *const paths[] = {"daemon/config/tierd.conf.5",
					    "daemon/config/tierd-policy.5"};
	size_t n_entries = 0, n;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char *page = read_source(paths[i], &n);

		for (const char *p = page; (p = strstr(p, "\n.It Ic ")); p++)
			n_entries++;
		free(page);
	}
	config_keys(&n);
	assert_int_equal(n_entries, n);
}

/* ---- the dump -------------------------------------------------------------------------------- */

static char *dumped(const struct policy_set *set)
{
	char *text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	config_dump(set, to);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void test_dump(void **state)
{
	char *text, *policy, *again;
	struct policy_set *set, *copy;
	size_t n;

	assert_int_equal(policy_set_new(&set), 0);
	text = read_source("tests/fixtures/config/tierd.conf", &n);
	parse_good(CONFIG_SETTINGS, text, set);
	free(text);
	text = read_source("tests/fixtures/config/policy.conf", &n);
	parse_good(CONFIG_POLICY, text, set);
	free(text);

	text = dumped(set);
	assert_non_null(strstr(text, "\n[Service]\n# from FILE:8\nInterval=2s\n"));
	assert_non_null(strstr(text, "\n# from FILE:6\nCgroup=kubepods.slice/**\n"));
	assert_non_null(strstr(text, "\n# from FILE:13\nColdAfter=1min 30s\n"));

	/* Read back, it is the same configuration; only the lines are others. */
	policy = strstr(text, "\n# FILE\n");
	assert_non_null(policy);
	*policy++ = '\0';
	assert_int_equal(policy_set_new(&copy), 0);
	parse_good(CONFIG_SETTINGS, text, copy);
	parse_good(CONFIG_POLICY, policy, copy);
	policy[-1] = '\n';
	again = dumped(copy);
	for (char *a = text, *b = again; *a || *b;) {
		size_t n_a = strcspn(a, "\n"), n_b = strcspn(b, "\n");

		if (*a != '#') {
			assert_int_equal(n_a, n_b);
			assert_memory_equal(a, b, n_a);
		}
		a += n_a + (a[n_a] != '\0');
		b += n_b + (b[n_b] != '\0');
	}
	free(again);
	free(text);
	policy_set_free(copy);
	policy_set_free(set);
}

static void test_dump_of_defaults(void **state)
{
	struct policy_set *set;
	char *text;

	assert_int_equal(policy_set_new(&set), 0);
	text = dumped(set);
	assert_non_null(strstr(text, "[Tiers]\n# built-in default\nOrder=\n"));
	assert_non_null(strstr(text, "# built-in default\nHeadroom=4%\n"));
	assert_null(strstr(text, "# from "));
	free(text);
	policy_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_sample_is_defaults),
		cmocka_unit_test_setup_teardown(test_examples, config_dir_setup,
						config_dir_teardown),
		cmocka_unit_test(test_man_pages),
		cmocka_unit_test(test_man_pages_have_no_more),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_dump_of_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
