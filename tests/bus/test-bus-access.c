// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who may do what on org.tierd1, what it costs, and that tierd lives on without a bus.
 */
#include <dirent.h>
#include <grp.h>

#include "private-bus.h"

/* Debian's nobody. */
#define OTHER_UID 65534
#define STATUS_CALLS 1000
/* Allocators keep some; a leak of only 256 bytes a call would be beyond this. */
#define RSS_SLACK_BYTES (256 * KiB)

static char *source_path(const char *name)
{
	const char *root = getenv("TIERD_SRC");
	char *path;

	assert_true(asprintf(&path, "%s/%s", root ? root : ".", name) > 0);
	return path;
}

/* ---- who may do what -------------------------------------------------------------------------- */

static const struct {
	const char *method;
	const char *types;
	bool privileged;
} methods[] = {
	{ "Status", NULL, false },    { "ListCgroups", NULL, false }, { "ListJobs", NULL, false },
	{ "Reload", NULL, true },     { "Pause", "t", true },         { "Resume", "t", true },
	{ "Rebalance", "tib", true }, { "CancelJob", "t", true },
};

/* In a process of the other uid: 0 when just the privileged methods were refused. */
static int try_all(const struct private_bus *b)
{
	sd_bus *bus;

	if (setgroups(0, NULL) < 0 || setresgid(OTHER_UID, OTHER_UID, OTHER_UID) < 0 ||
	    setresuid(OTHER_UID, OTHER_UID, OTHER_UID) < 0)
		return 1;
	bus = private_bus_connect(b);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		sd_bus_error error = SD_BUS_ERROR_NULL;
		int r = methods[i].types ?
				CALL(bus, methods[i].method, &error, NULL, methods[i].types,
				     (uint64_t)WEB_ID, 0, 1) :
				CALL(bus, methods[i].method, &error, NULL, NULL);

		if (methods[i].privileged !=
		    (r < 0 && sd_bus_error_has_name(&error, SD_BUS_ERROR_ACCESS_DENIED)))
			return (int)(10 + i);
		sd_bus_error_free(&error);
	}
	sd_bus_flush_close_unref(bus);
	return 0;
}

static void expect_refusals(const char *type, const char *policy)
{
	struct private_bus b;
	sd_bus *bus;
	int status;
	pid_t pid;

	private_bus_start(&b, type, policy);
	pid = fork_child();
	if (pid == 0)
		_exit(try_all(&b));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* And we, who are root, may. */
	bus = private_bus_connect(&b);
	assert_true(CALL(bus, "Pause", NULL, NULL, "t", (uint64_t)WEB_ID) >= 0);
	sd_bus_flush_close_unref(bus);
	private_bus_stop(&b);
}

static void skip_unless_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("needs root, to call as another user\n");
	skip();
}

/* The bus lets everything through; tierd itself refuses. */
static void test_other_uid_by_tierd(void **state)
{
	skip_unless_root();
	expect_refusals("session", PERMISSIVE);
}

/* The policy that is installed, on a bus whose defaults are those of the system bus. */
static void test_other_uid_by_policy(void **state)
{
	char *path = source_path("conf/org.tierd1.conf"), *full = realpath(path, NULL);
	char policy[1024];

	skip_unless_root();
	assert_non_null(full);
	snprintf(policy, sizeof(policy),
		 "<policy context=\"default\"><allow user=\"*\"/><deny own=\"*\"/>"
		 "<deny send_type=\"method_call\"/><allow send_type=\"signal\"/>"
		 "<allow send_requested_reply=\"true\" send_type=\"method_return\"/>"
		 "<allow send_requested_reply=\"true\" send_type=\"error\"/>"
		 "<allow receive_type=\"method_call\"/><allow receive_type=\"method_return\"/>"
		 "<allow receive_type=\"error\"/><allow receive_type=\"signal\"/>"
		 "<allow send_destination=\"org.freedesktop.DBus\"/></policy>"
		 "<include>%s</include>",
		 full);
	expect_refusals("system", policy);
	free(full);
	free(path);
}

/* ---- what it costs ---------------------------------------------------------------------------- */

static int count_fds(pid_t pid)
{
	char path[64];
	DIR *d;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static uint64_t rss_bytes(pid_t pid)
{
	unsigned long long pages = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %llu", &pages), 1);
	fclose(f);
	return pages * 4096;
}

static void call_often(sd_bus *bus, int n)
{
	for (int i = 0; i < n; i++)
		assert_true(CALL(bus, "Status", NULL, NULL, NULL) >= 0);
}

static void test_calls_leave_nothing(void **state)
{
	struct private_bus b;
	uint64_t rss;
	sd_bus *bus;
	int fds;

	private_bus_start(&b, "session", PERMISSIVE);
	bus = private_bus_connect(&b);
	call_often(bus, 50);
	fds = count_fds(b.server_pid);
	rss = rss_bytes(b.server_pid);
	call_often(bus, STATUS_CALLS);
	assert_int_equal(count_fds(b.server_pid), fds);
#ifndef __SANITIZE_ADDRESS__
	/* A sanitizer keeps what was freed for a while. */
	assert_true(rss_bytes(b.server_pid) <= rss + RSS_SLACK_BYTES);
#endif
	(void)rss;
	sd_bus_flush_close_unref(bus);
	private_bus_stop(&b);
}

/* ---- without a bus ---------------------------------------------------------------------------- */

struct told {
	int n;
	bool up;
};

static void on_connection(void *userdata, const char *trouble)
{
	struct told *told = userdata;

	told->n++;
	told->up = !trouble;
}

/* Runs the loop until the n-th time that something was told, for 20 s at most. */
static void run_until(sd_event *event, const struct told *told, int n)
{
	for (int i = 0; i < 200 && told->n < n; i++)
		assert_true(sd_event_run(event, 100 * US_PER_MS) >= 0);
	assert_int_equal(told->n, n);
}

static void test_bus_comes_and_goes(void **state)
{
	const struct bus_callbacks callbacks = { .connection = on_connection };
	struct told told = { 0 };
	struct private_bus b;
	sd_event *event = NULL;
	struct bus *bus = NULL;

	assert_int_equal(private_bus_prepare(&b, "session", PERMISSIVE), 0);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", b.address, 1);
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(bus_new(event, NULL, &callbacks, &told, &bus), 0);
	run_until(event, &told, 1);
	assert_false(told.up);
	assert_false(bus_is_up(bus));
	assert_int_equal(start_dbus_daemon(&b), 0);
	run_until(event, &told, 2);
	assert_true(told.up);
	assert_true(bus_is_up(bus));
	end_child(&b.bus_pid);
	run_until(event, &told, 3);
	assert_false(told.up);
	assert_int_equal(start_dbus_daemon(&b), 0);
	run_until(event, &told, 4);
	assert_true(bus_is_up(bus));
	bus_free(bus);
	sd_event_unref(event);
	unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
	private_bus_stop(&b);
}

/* A second tierd does not get the name, says so, and takes it when the first one is gone. */
static void test_name_is_taken(void **state)
{
	const struct bus_callbacks callbacks = { .connection = on_connection };
	struct told told = { 0 };
	struct private_bus b;
	sd_event *event = NULL;
	struct bus *bus = NULL;

	private_bus_start(&b, "session", PERMISSIVE);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", b.address, 1);
	assert_true(sd_event_new(&event) >= 0);
	assert_int_equal(bus_new(event, NULL, &callbacks, &told, &bus), 0);
	run_until(event, &told, 1);
	assert_false(told.up);
	close(b.control);
	b.control = -1;
	run_until(event, &told, 2);
	assert_true(told.up);
	bus_free(bus);
	sd_event_unref(event);
	unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
	private_bus_stop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_uid_by_tierd),
		cmocka_unit_test(test_other_uid_by_policy),
		cmocka_unit_test(test_calls_leave_nothing),
		cmocka_unit_test(test_bus_comes_and_goes),
		cmocka_unit_test(test_name_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
