// SPDX-License-Identifier: GPL-2.0-or-later
/* Where configuration files lie, which hide which, whom they may belong to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config-dir.h"
#include "util.h"

#define POLICY_OF(cgroup) "[Match]\nCgroup=" cgroup "\n"

/* A refused load leaves the caller's pointer alone. */
static struct policy_set untouched;

static void assert_refused(struct config_dir *d)
{
	struct policy_set *set = &untouched;

	assert_int_equal(config_dir_load(d, &set), -EBADMSG);
	assert_ptr_equal(set, &untouched);
}

static struct policy_set *load(struct config_dir *d)
{
	struct policy_set *set = NULL;
	int r = config_dir_load(d, &set);

	if (r)
		config_errors_print(&d->errors, stdout);
	assert_int_equal(r, 0);
	assert_non_null(set);
	assert_int_equal(d->errors.n_errors, 0);
	return set;
}

static void link_to(struct config_dir *d, const char *target, const char *path)
{
	assert_int_equal(symlink(target, config_dir_path(d, path)), 0);
}

static void test_no_files(void **state)
{
	struct config_dir *d = *state;
	struct policy_set *set = load(d);

	assert_int_equal(set->n_policies, 0);
	assert_true(set->settings.interval_us == US_PER_S);
	assert_null(set->settings.tier_order);
	assert_null(set->settings.origins[SETTINGS_KEY_INTERVAL].file);
	policy_set_free(set);

	d->options.root = "/nonexistent-root";
	assert_int_equal(config_dir_load(d, &set), -ENOENT);
}

/* The strongest directory's tierd.conf hides the others; drop-ins from everywhere come on top. */
static void test_settings_precedence(void **state)
{
	struct config_dir *d = *state;
	struct policy_set *set;

	config_dir_write(d, "usr/lib/tierd/tierd.conf",
			 "[Service]\nInterval=3s\nProcessMin=1M\n[Tiers]\nOrder=1>0\n");
	set = load(d);
	assert_true(set->settings.interval_us == 3 * US_PER_S);
	assert_string_equal(set->settings.tier_order, "1>0");
	policy_set_free(set);

	config_dir_write(d, "usr/local/lib/tierd/tierd.conf", "[Service]\nInterval=4s\n");
	config_dir_write(d, "usr/lib/tierd/tierd.conf.d/50-a.conf",
			 "[Service]\nBandwidth=3G\nHeadroom=1%\n");
	config_dir_write(d, "etc/tierd/tierd.conf.d/60-b.conf", "[Service]\nBandwidth=4G\n");
	config_dir_write(d, "run/tierd/tierd.conf.d/40-c.conf", "[Service]\nBandwidth=5G\n");
	set = load(d);
	assert_true(set->settings.interval_us == 4 * US_PER_S);
	assert_true(set->settings.process_min_bytes == 8 * MiB);
	assert_null(set->settings.tier_order);
	assert_true(set->settings.bandwidth_bytes_s == 4 * GiB);
	assert_true(set->settings.headroom.value == 100);
	assert_string_equal(set->settings.origins[SETTINGS_KEY_BANDWIDTH].file,
			    config_dir_path(d, "etc/tierd/tierd.conf.d/60-b.conf"));
	assert_int_equal(set->settings.origins[SETTINGS_KEY_BANDWIDTH].line, 2);
	policy_set_free(set);

	/* An empty order in a later file takes an earlier one back. */
	config_dir_write(d, "etc/tierd/tierd.conf", "[Tiers]\nOrder=0 > 1\n");
	config_dir_write(d, "etc/tierd/tierd.conf.d/70-d.conf", "[Tiers]\nOrder=\n");
	set = load(d);
	assert_null(set->settings.tier_order);
	policy_set_free(set);
}

static void test_policy_precedence(void **state)
{
	static const char *const dirs[] = {"usr/lib", "usr/local/lib", "run", "etc"};
	struct config_dir *d = *state;
	struct policy_set *set;
	char path[128], text[128];

	/* Each stronger directory hides the same name in the weaker ones. */
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/tierd/policy.d/50-a.conf", dirs[i]);
		snprintf(text, sizeof(text), POLICY_OF("from-%zu"), i);
		config_dir_write(d, path, text);
		set = load(d);
		assert_int_equal(set->n_policies, 1);
		snprintf(text, sizeof(text), "from-%zu", i);
		assert_string_equal(set->policies[0].globs[0], text);
		assert_string_equal(set->policies[0].file, config_dir_path(d, path));
		policy_set_free(set);
	}
	/* Sorted by name, wherever they lie. */
	config_dir_write(d, "usr/lib/tierd/policy.d/60-b.conf", POLICY_OF("b"));
	config_dir_write(d, "run/tierd/policy.d/40-c.conf", POLICY_OF("c"));
	set = load(d);
	assert_int_equal(set->n_policies, 3);
	assert_string_equal(set->policies[0].globs[0], "c");
	assert_string_equal(set->policies[1].globs[0], "from-3");
	assert_string_equal(set->policies[2].globs[0], "b");
	assert_ptr_equal(policy_set_match(set, "b"), &set->policies[2]);
	policy_set_free(set);
}

static void test_masking(void **state)
{
	struct config_dir *d = *state;
	struct policy_set *set;

	config_dir_write(d, "usr/lib/tierd/policy.d/50-a.conf", POLICY_OF("a"));
	config_dir_write(d, "usr/lib/tierd/policy.d/60-b.conf", POLICY_OF("b"));
	config_dir_write(d, "usr/lib/tierd/tierd.conf", "[Service]\nInterval=3s\n");
	link_to(d, "/dev/null", "etc/tierd/policy.d/50-a.conf");
	link_to(d, "/dev/null", "run/tierd/tierd.conf");
	config_dir_write(d, "run/tierd/policy.d/60-b.conf", "");
	set = load(d);
	assert_int_equal(set->n_policies, 0);
	assert_true(set->settings.interval_us == US_PER_S);
	policy_set_free(set);
}

/* What is no NAME.conf is none of our business. */
static void test_other_names(void **state)
{
	struct config_dir *d = *state;
	struct policy_set *set;

	config_dir_write(d, "etc/tierd/policy.d/50-a.conf~", "junk");
	config_dir_write(d, "etc/tierd/policy.d/50-a.conf.dpkg-new", "junk");
	config_dir_write(d, "etc/tierd/policy.d/.50-a.conf.swp", "junk");
	config_dir_write(d, "etc/tierd/policy.d/.hidden.conf", "junk");
	config_dir_write(d, "etc/tierd/policy.d/.conf", "junk");
	config_dir_write(d, "etc/tierd/policy.d/README", "junk");
	set = load(d);
	assert_int_equal(set->n_policies, 0);
	policy_set_free(set);

	config_dir_write(d, "etc/tierd/policy.d/a\nb.conf", "");
	assert_refused(d);
	assert_one_error(d, "etc/tierd/policy.d", 0, "control characters");
}

static void test_not_a_file(void **state)
{
	struct config_dir *d = *state;
	const char *path = "etc/tierd/policy.d/50-a.conf";

	config_dir_write(d, "etc/tierd/policy.d/50-a.conf/x", "");
	assert_refused(d);
	assert_one_error(d, path, 0, "a directory (expected a regular file)");
	unlink(config_dir_path(d, "etc/tierd/policy.d/50-a.conf/x"));
	rmdir(config_dir_path(d, path));

	assert_int_equal(mkfifo(config_dir_path(d, path), 0644), 0);
	assert_refused(d);
	assert_one_error(d, path, 0, "not a file");
	unlink(config_dir_path(d, path));

	config_dir_write(d, "etc/tierd/real", POLICY_OF("a"));
	link_to(d, "../real", path);
	assert_refused(d);
	assert_one_error(d, path, 0, "a symbolic link");
	unlink(config_dir_path(d, path));

	link_to(d, "/dev/nullx", path);
	assert_refused(d);
	assert_one_error(d, path, 0, "a symbolic link");
	unlink(config_dir_path(d, path));

	link_to(d, "/dev/zero", path);
	assert_refused(d);
	assert_one_error(d, path, 0, "a symbolic link");
}

static void test_linked_directory(void **state)
{
	struct config_dir *d = *state;

	config_dir_write(d, "elsewhere/50-a.conf", POLICY_OF("a"));
	link_to(d, "../../elsewhere", "etc/tierd/policy.d");
	assert_refused(d);
	assert_one_error(d, "etc/tierd/policy.d", 0, "a symbolic link (expected a directory)");
	unlink(config_dir_path(d, "etc/tierd/policy.d"));
	config_dir_write(d, "etc/tierd/policy.d", "");
	assert_refused(d);
	assert_one_error(d, "etc/tierd/policy.d", 0, "Not a directory");
}

static void test_modes(void **state)
{
	static const mode_t modes[] = {0664, 0646, 0622, 0666};
	struct config_dir *d = *state;
	const char *path = "etc/tierd/policy.d/50-a.conf";

	config_dir_write(d, path, POLICY_OF("a"));
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		chmod(config_dir_path(d, path), modes[i]);
		assert_refused(d);
		assert_one_error(d, path, 0, "writable by others, mode 06");
	}
	chmod(config_dir_path(d, path), 0600);
	policy_set_free(load(d));

	/* Who can rename files in the directory can replace them. */
	chmod(config_dir_path(d, "etc/tierd/policy.d"), 0777);
	assert_refused(d);
	assert_one_error(d, "etc/tierd/policy.d", 0, "writable by others, mode 0777");
	chmod(config_dir_path(d, "etc/tierd/policy.d"), 0755);
	chmod(config_dir_path(d, "etc/tierd"), 0775);
	assert_refused(d);
	assert_one_error(d, "etc/tierd", 0, "writable by others, mode 0775");
}

/* Somebody else's file: with root, one of another user; otherwise our own when only root counts. */
static void test_owner(void **state)
{
	struct config_dir *d = *state;
	const char *path = "etc/tierd/policy.d/50-a.conf";

	config_dir_write(d, path, POLICY_OF("a"));
	policy_set_free(load(d));
	if (geteuid() == 0) {
		const uid_t nobody = 65534;

		assert_int_equal(chown(config_dir_path(d, path), nobody, (gid_t)-1), 0);
		assert_refused(d);
		assert_one_error(d, path, 0, "owned by user 65534 (expected root or yourself)");
		d->options.trust_caller = false;
		assert_refused(d);
		assert_one_error(d, path, 0, "owned by user 65534 (expected root)");
		return;
	}
	d->options.trust_caller = false;
	assert_refused(d);
	assert_non_null(strstr(d->errors.errors[0].message, "(expected root)"));
}

static void test_size(void **state)
{
	struct config_dir *d = *state;
	cleanup(freep) char *text = malloc(CONFIG_FILE_BYTES_MAX + 1);
	const char *path = "etc/tierd/policy.d/50-a.conf";
	static const char head[] = POLICY_OF("a");
	struct policy_set *set;

	memset(text, '\n', CONFIG_FILE_BYTES_MAX + 1);
	memcpy(text, head, sizeof(head) - 1);
	config_dir_write_bytes(d, path, text, CONFIG_FILE_BYTES_MAX);
	set = load(d);
	assert_int_equal(set->n_policies, 1);
	policy_set_free(set);

	config_dir_write_bytes(d, path, text, CONFIG_FILE_BYTES_MAX + 1);
	assert_refused(d);
	assert_one_error(d, path, 0, "too large");
}

static void test_file_count(void **state)
{
	struct config_dir *d = *state;
	struct policy_set *set;
	char path[64], text[64];

	for (unsigned int i = 0; i < CONFIG_FILES_MAX; i++) {
		snprintf(path, sizeof(path), "etc/tierd/policy.d/%03u.conf", i);
		snprintf(text, sizeof(text), POLICY_OF("a%u"), i);
		config_dir_write(d, path, text);
		snprintf(path, sizeof(path), "etc/tierd/tierd.conf.d/%03u.conf", i);
		config_dir_write(d, path, "[Service]\nInterval=2s\n");
	}
	config_dir_write(d, "etc/tierd/tierd.conf", "");
	set = load(d);
	assert_int_equal(set->n_policies, CONFIG_FILES_MAX);
	policy_set_free(set);
	config_dir_write(d, "usr/lib/tierd/policy.d/999.conf", POLICY_OF("z"));
	assert_refused(d);
	assert_one_error(d, "usr/lib/tierd/policy.d", 0, "more than 256 files");
}

/* Two policies for the same glob: both are named. */
static void test_same_glob(void **state)
{
	struct config_dir *d = *state;

	config_dir_write(d, "usr/lib/tierd/policy.d/50-a.conf", POLICY_OF("x") "Cgroup=a\n");
	config_dir_write(d, "etc/tierd/policy.d/60-b.conf", POLICY_OF("y") "\nCgroup=a\n");
	assert_refused(d);
	assert_one_error(d, "etc/tierd/policy.d/60-b.conf", 4, "\"a\" is also matched at ");
	assert_non_null(strstr(d->errors.errors[0].message,
			       "usr/lib/tierd/policy.d/50-a.conf:3 (expected one policy"));
}

/* One mistake anywhere spoils everything, and all mistakes are named at once. */
static void test_all_or_nothing(void **state)
{
	struct config_dir *d = *state;

	config_dir_write(d, "etc/tierd/tierd.conf", "[Service]\nInterval=soon\n");
	config_dir_write(d, "etc/tierd/policy.d/50-a.conf", POLICY_OF("a"));
	config_dir_write(d, "etc/tierd/policy.d/60-b.conf", POLICY_OF("/b") "[Tiering]\nX=1\n");
	assert_refused(d);
	assert_int_equal(d->errors.n_errors, 3);
	config_dir_write(d, "etc/tierd/tierd.conf", "");
	assert_refused(d);
	assert_int_equal(d->errors.n_errors, 2);
	unlink(config_dir_path(d, "etc/tierd/policy.d/60-b.conf"));
	policy_set_free(load(d));
}

static void test_check_files(void **state)
{
	struct config_dir *d = *state;
	char *files[3];

	config_dir_write(d, "a.conf", POLICY_OF("a"));
	config_dir_write(d, "b.conf", POLICY_OF("a"));
	config_dir_write(d, "any.conf", "[Service]\nInterval=2s\n");
	files[0] = strdup(config_dir_path(d, "a.conf"));
	files[1] = strdup(config_dir_path(d, "any.conf"));
	files[2] = strdup(config_dir_path(d, "b.conf"));
	assert_int_equal(config_check_files(files, 2, &d->options, &d->errors), 0);
	assert_int_equal(config_check_files(files, 3, &d->options, &d->errors), -EBADMSG);
	assert_one_error(d, "b.conf", 2, "also matched");
	config_errors_done(&d->errors);

	/* By its name a tierd.conf, whatever is in it. */
	config_dir_write(d, "tierd.conf", POLICY_OF("a"));
	free(files[0]);
	files[0] = strdup(config_dir_path(d, "tierd.conf"));
	assert_int_equal(config_check_files(files, 1, &d->options, &d->errors), -EBADMSG);
	assert_one_error(d, "tierd.conf", 1, "belongs in");
	config_errors_done(&d->errors);

	unlink(files[1]);
	assert_int_equal(config_check_files(files + 1, 1, &d->options, &d->errors), -EBADMSG);
	assert_one_error(d, "any.conf", 0, "No such file");
	for (size_t i = 0; i < 3; i++)
		free(files[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, config_dir_setup, config_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_files),
		TEST(test_settings_precedence),
		TEST(test_policy_precedence),
		TEST(test_masking),
		TEST(test_other_names),
		TEST(test_not_a_file),
		TEST(test_linked_directory),
		TEST(test_modes),
		TEST(test_owner),
		TEST(test_size),
		TEST(test_file_count),
		TEST(test_same_glob),
		TEST(test_all_or_nothing),
		TEST(test_check_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
