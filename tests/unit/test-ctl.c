// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command lines of tierctl and tierd without any daemon or bus: usage, exit statuses, policy check,
 * and that the man pages have every option and verb that --help has.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>
#include <json-c/json.h>

#include "util.h"

#define OUTPUT_MAX 65536

static char dir[] = "/tmp/tierd-test-XXXXXX";
static char build[512];
static char output[OUTPUT_MAX]; /* of the last program, both streams */

/* BUILD/tests/unit/test-ctl is this program. */
static int set_up_group(void **state)
{
	ssize_t n = readlink("/proc/self/exe", build, sizeof(build) - 1);

	if (n < 0 || !mkdtemp(dir))
		return -1;
	build[n] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(build, '/') = '\0';
	/* No bus here, whatever the machine has. */
	return setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
}

static int tear_down_group(void **state)
{
	return rmdir(dir);
}

/* Through a shell: the commands are ours. Returns the exit status. */
static int run(const char *format, ...)
{
	char command[2048], rest[1024];
	size_t n;
	va_list ap;
	FILE *f;
	int status;

	va_start(ap, format);
	vsnprintf(rest, sizeof(rest), format, ap);
	va_end(ap);
	snprintf(command, sizeof(command), "PATH=%s:$PATH; %s 2>&1", build, rest);
	f = popen(command, "re");
	assert_non_null(f);
	n = fread(output, 1, OUTPUT_MAX - 1, f);
	output[n] = '\0';
	status = pclose(f);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const char *source_root(void)
{
	const char *root = getenv("TIERD_SRC");

	return root ? root : ".";
}

static char *read_source(const char *name)
{
	char path[1024];
	char *text = calloc(1, OUTPUT_MAX);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", source_root(), name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, OUTPUT_MAX - 1, f) > 0);
	fclose(f);
	return text;
}

static void test_usage(void **state)
{
	static const char *const wrong[] = {
		"",		     "no-such-verb",	  "status x",	    "list a b",
		"pause a b",	     "rebalance",	  "rebalance a b",  "cancel",
		"cancel x",	     "cancel 0",	  "policy",	    "policy show x",
		"status --to 1",     "list --dry-run",	  "pause --wait=no", "rebalance a --wait=2",
		"rebalance a --to",  "--no-such-option",  "reload x",	    "cancel 99999999999999999999",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (run("tierctl %s", wrong[i]) != 2)
			fail_msg("'tierctl %s' is not refused", wrong[i]);
		/* One line. */
		assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1);
	}
}

static void test_no_bus(void **state)
{
	static const char *const verbs[] = { "status", "list --json", "reload", "pause",
					     "resume web.service", "rebalance web.service",
					     "cancel 1" };

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		assert_int_equal(run("tierctl %s", verbs[i]), 5);
		assert_string_equal(output, "tierctl: there is no system bus here, so tierd cannot "
					    "be reached\n");
	}
}

static void test_version(void **state)
{
	assert_int_equal(run("tierctl --version"), 0);
	assert_string_equal(output, "tierctl " TIERD_VERSION "\n");
	assert_int_equal(run("tierctl --version > /dev/full"), 1);
}

/* Each word of --help that begins with "--" must be in the page as ".Fl -word". */
static void check_options(const char *page_name)
{
	char *page = read_source(page_name);
	int n = 0;

	for (char *p = output; (p = strstr(p, "--")); p++) {
		char want[64];
		size_t len = strspn(p + 2, "abcdefghijklmnopqrstuvwxyz-");

		if (!len)
			continue;
		snprintf(want, sizeof(want), " -%.*s", (int)len, p + 2);
		if (!strstr(page, want))
			fail_msg("%s lacks --%.*s", page_name, (int)len, p + 2);
		n++;
		p += len;
	}
	assert_true(n >= 4);
	free(page);
}

static void test_tierctl_man_page(void **state)
{
	static const char *const verbs[] = { "status", "list",	 "pause",  "resume",
					     "rebalance", "cancel", "reload", "policy" };
	char *page = read_source("daemon/ctl/tierctl.1");

	assert_int_equal(run("tierctl --help"), 0);
	check_options("daemon/ctl/tierctl.1");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		char item[64];

		assert_non_null(strstr(output, verbs[i]));
		snprintf(item, sizeof(item), "\n.It Cm %s", verbs[i]);
		assert_non_null(strstr(page, item));
	}
	free(page);
}

static void test_tierd_man_page(void **state)
{
	assert_int_equal(run("tierd --help"), 0);
	check_options("daemon/tierd.8");
}

static void test_man_pages_are_clean(void **state)
{
	if (run("command -v mandoc") != 0) {
		print_message("mandoc is not installed\n");
		skip();
	}
	assert_int_equal(run("cd %s && mandoc -T lint -W warning daemon/ctl/tierctl.1 daemon/tierd.8",
			     source_root()),
			 0);
	assert_string_equal(output, "");
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, 0644), 0);
}

static void test_policy_check(void **state)
{
	struct json_object *o, *error;

	write_file("good.conf", "[Match]\nCgroup=a.slice\n[Tiering]\nMode=auto\n");
	write_file("bad.conf", "[Match]\nCgroup=b.slice\n[Tiering]\nMode=sideways\n");
	assert_int_equal(run("tierctl policy check %s/good.conf", dir), 0);
	assert_string_equal(output, "");
	assert_int_equal(run("cd %s && tierctl policy check good.conf bad.conf", dir), 1);
	assert_non_null(strstr(output, "bad.conf:4: Mode: "));
	assert_null(strstr(output, "good.conf"));
	assert_int_equal(run("tierctl policy check --json %s/bad.conf", dir), 1);
	o = json_tokener_parse(output);
	assert_non_null(o);
	assert_string_equal(json_object_get_string(json_object_object_get(o, "result")), "failed");
	error = json_object_array_get_idx(json_object_object_get(o, "errors"), 0);
	assert_int_equal(json_object_get_int(json_object_object_get(error, "line")), 4);
	assert_string_equal(json_object_get_string(json_object_object_get(error, "key")), "Mode");
	json_object_put(o);
	assert_int_equal(run("tierctl policy check %s/missing.conf", dir), 1);
	assert_non_null(strstr(output, "missing.conf"));
	assert_int_equal(run("rm %s/good.conf %s/bad.conf", dir, dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_no_bus),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_tierctl_man_page),
		cmocka_unit_test(test_tierd_man_page),
		cmocka_unit_test(test_man_pages_are_clean),
		cmocka_unit_test(test_policy_check),
	};

	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
