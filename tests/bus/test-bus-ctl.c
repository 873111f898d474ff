// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl from the command line to the daemon's end of the bus: what it prints, its JSON, and its exit
 * statuses, with a private bus in the place of the system's.
 */
#include <ctype.h>
#include <grp.h>
#include <json-c/json.h>
#include <pty.h>

#include "private-bus.h"

#define OTHER_UID 65534
#define OUTPUT_MAX 65536

struct fixture {
	struct private_bus b;
	char tierctl[256];
	char out[OUTPUT_MAX];
	char err[OUTPUT_MAX];
};

/* Built beside this program: BUILD/tests/bus/test-bus-ctl, BUILD/tierctl. */
static void find_tierctl(char *ret, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret, size - 16);

	assert_true(n > 0);
	ret[n] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(ret, '/') = '\0';
	strcat(ret, "/tierctl");
	assert_int_equal(access(ret, X_OK), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	private_bus_start(&f->b, "session", PERMISSIVE);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", f->b.address, 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	find_tierctl(f->tierctl, sizeof(f->tierctl));
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	private_bus_stop(&f->b);
	unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
	free(f);
	return 0;
}

static void read_back(const char *dir, const char *name, char *ret)
{
	char path[128];
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	assert_non_null(file);
	n = fread(ret, 1, OUTPUT_MAX - 1, file);
	ret[n] = '\0';
	fclose(file);
	unlink(path);
}

static void redirect(const char *dir, const char *name, int fd)
{
	char path[128];
	int file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (file < 0 || dup2(file, fd) < 0)
		_exit(125);
}

#define ARGUMENTS_MAX 8

static pid_t start(struct fixture *f, uid_t uid, const char **argv)
{
	pid_t pid;
	int program;

	argv[0] = f->tierctl;
	pid = fork_child();
	if (pid)
		return pid;
	/* Opened first: the other user may not be let into our directory. */
	program = open(f->tierctl, O_RDONLY | O_CLOEXEC);
	redirect(f->b.dir, "out", STDOUT_FILENO);
	redirect(f->b.dir, "err", STDERR_FILENO);
	if (uid && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
		    setresuid(uid, uid, uid) < 0))
		_exit(125);
	/* With a memory checker the copy that runs as nobody may not look at itself at its end. */
	setenv("ASAN_OPTIONS", uid ? "detect_leaks=0" : "detect_leaks=1", 1);
	fexecve(program, (char *const *)argv, environ);
	_exit(125);
}

static int finish(struct fixture *f, pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	read_back(f->b.dir, "out", f->out);
	read_back(f->b.dir, "err", f->err);
	for (const char *p = f->out; *p; p++)
		assert_true(*p == '\n' || !iscntrl((unsigned char)*p));
	return WEXITSTATUS(status);
}

/* Runs "tierctl ARGUMENT..."; the list ends with NULL. */
#define RUN(f, ...) finish(f, start(f, 0, (const char *[ARGUMENTS_MAX]){ NULL, __VA_ARGS__, NULL }))
#define RUN_AS_OTHER(f, ...) \
	finish(f, start(f, OTHER_UID, (const char *[ARGUMENTS_MAX]){ NULL, __VA_ARGS__, NULL }))

static struct json_object *parse(const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	assert_non_null(o);
	assert_int_equal(json_object_get_int(json_object_object_get(o, "version")), 1);
	return o;
}

#define TEXT_OF(o, key) json_object_get_string(json_object_object_get(o, key))
#define NUMBER_OF(o, key) json_object_get_uint64(json_object_object_get(o, key))

static void test_status(void **state)
{
	struct fixture *f = *state;
	struct json_object *o, *tier;

	assert_int_equal(RUN(f, "status"), 0);
	assert_non_null(strstr(f->out, "       State: running\n"));
	assert_non_null(strstr(f->out, "      Tier 0: node 0, 256M of 1G free, 80 ns, 95367 MiB/s\n"));
	assert_non_null(strstr(f->out, "      Tier 1: node 2 (no CPUs), 1G of 2G free\n"));
	assert_non_null(strstr(f->out, "     Tracker: damon, 3 address spaces, 1.5s of CPU\n"));
	assert_non_null(strstr(f->out, "     Cgroups: 3, with 3 processes\n"));
	assert_non_null(strstr(f->out, "       Moved: 48M up, 4M down, 4K not movable\n"));
	assert_non_null(strstr(f->out, "2.5s of CPU, 12M of memory\n"));
	assert_int_equal(RUN(f, "status", "--json"), 0);
	o = parse(f->out);
	assert_string_equal(TEXT_OF(o, "state"), "running");
	assert_null(json_object_object_get(o, "config_error"));
	assert_int_equal(NUMBER_OF(o, "rss_bytes"), 12 * MiB);
	tier = json_object_array_get_idx(json_object_object_get(o, "tiers"), 1);
	assert_int_equal(NUMBER_OF(tier, "total_bytes"), 2 * GiB);
	json_object_put(o);
}

static void test_status_degraded(void **state)
{
	struct fixture *f = *state;

	private_bus_command(&f->b, 's');
	private_bus_command(&f->b, 'b');
	assert_int_equal(RUN(f, "reload"), 1);
	assert_int_equal(RUN(f, "status"), 0);
	assert_non_null(strstr(f->out, "       State: degraded\n"));
	assert_non_null(strstr(f->out, "              DAMON is taken\n"));
	assert_non_null(strstr(f->out, " Last reload: /etc/tierd/policy.d/50-a.conf:3: Mode: "));
}

/* A line with these words, whatever the widths of the columns. */
static void assert_has_row(const char *table, const char *words)
{
	char squeezed[OUTPUT_MAX];
	size_t n = 0;

	for (const char *p = table; *p; p++)
		if (*p != ' ' || !n || squeezed[n - 1] != ' ')
			squeezed[n++] = *p;
	squeezed[n] = '\0';
	if (!strstr(squeezed, words))
		fail_msg("no row '%s' in\n%s", words, table);
}

static void test_list(void **state)
{
	struct fixture *f = *state;
	struct json_object *o, *evil, *web;

	assert_int_equal(RUN(f, "list"), 0);
	assert_memory_equal(f->out, "CGROUP ", 7);
	assert_non_null(strstr(f->out, "system.slice/e\\x1b[31mvil\\xff\\x7f.service observe"));
	assert_has_row(f->out, "system.slice/web.service auto 100M 156M 64M 48M 48M 4M tiered");
	assert_non_null(strstr(f->out, "\n3 cgroups.\n"));
	assert_int_equal(RUN(f, "list", "--no-legend"), 0);
	assert_null(strstr(f->out, "CGROUP"));
	assert_null(strstr(f->out, "cgroups."));
	assert_int_equal(RUN(f, "--json", "list"), 0);
	o = parse(f->out);
	evil = json_object_array_get_idx(json_object_object_get(o, "cgroups"), 0);
	web = json_object_array_get_idx(json_object_object_get(o, "cgroups"), 1);
	assert_string_equal(TEXT_OF(evil, "cgroup_hex"),
			    "73797374656d2e736c6963652f651b5b33316d76696cff7f2e73657276696365");
	assert_string_equal(TEXT_OF(web, "cgroup"), "system.slice/web.service");
	assert_null(json_object_object_get(web, "cgroup_hex"));
	assert_int_equal(NUMBER_OF(web, "hot_fast_bytes"), 48 * MiB);
	assert_int_equal(json_object_array_length(json_object_object_get(web, "tier_bytes")), 2);
	json_object_put(o);
}

static void test_pause(void **state)
{
	struct fixture *f = *state;
	struct json_object *o;

	assert_int_equal(RUN(f, "pause", "web.service"), 0);
	assert_string_equal(f->out, "");
	assert_int_equal(RUN(f, "list", "--no-legend"), 0);
	assert_non_null(strstr(f->out, "paused\n"));
	assert_int_equal(RUN(f, "resume", "/sys/fs/cgroup/system.slice/web.service/"), 0);
	assert_int_equal(RUN(f, "list", "--no-legend"), 0);
	assert_null(strstr(f->out, "paused\n"));
	assert_int_equal(RUN(f, "pause", "--json"), 0);
	o = parse(f->out);
	assert_string_equal(TEXT_OF(o, "result"), "done");
	assert_int_equal(NUMBER_OF(o, "cgroup_id"), 0);
	json_object_put(o);
	assert_int_equal(RUN(f, "pause", "no-such.service"), 1);
	assert_string_equal(f->err, "tierctl: there is no cgroup no-such.service\n");
	assert_int_equal(RUN(f, "pause", "../../etc"), 1);
	assert_string_equal(f->err, "tierctl: there is no cgroup ../../etc\n");
	assert_int_equal(RUN(f, "pause", "user.slice"), 1);
	assert_non_null(strstr(f->err, "tierd does not manage this cgroup"));
}

static void test_reload(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(RUN(f, "reload"), 0);
	private_bus_command(&f->b, 'b');
	assert_int_equal(RUN(f, "reload"), 1);
	assert_string_equal(f->err,
			    "tierctl: /etc/tierd/policy.d/50-a.conf:3: Mode: no such mode\nsecond\n");
}

static void test_rebalance_plan(void **state)
{
	struct fixture *f = *state;
	struct json_object *o;

	assert_int_equal(RUN(f, "rebalance", "web.service", "--dry-run", "--to", "fast"), 0);
	assert_string_equal(f->out, "would move: 64M up, 0 down, in 2 batches\n"
				    "left out: 1M no-room\n");
	assert_int_equal(RUN(f, "rebalance", "web.service", "--dry-run", "--to=slow", "--json"), 0);
	o = parse(f->out);
	assert_string_equal(TEXT_OF(o, "result"), "planned");
	assert_int_equal(NUMBER_OF(o, "to_tier"), 1);
	assert_int_equal(NUMBER_OF(o, "demote_bytes"), JOB_BYTES);
	assert_int_equal(NUMBER_OF(json_object_object_get(o, "held_bytes"), "no-room"), MiB);
	json_object_put(o);
	assert_int_equal(RUN(f, "rebalance", "web.service", "--to", "7"), 1);
	assert_string_equal(f->err, "tierctl: there is no such tier\n");
	assert_int_equal(RUN(f, "rebalance", "web.service", "--to", "1x"), 2);
	assert_int_equal(RUN(f, "rebalance", "user.slice"), 1);
	assert_string_equal(f->err, "tierctl: the policy of this cgroup says Mode=off\n");
}

static void test_rebalance(void **state)
{
	struct fixture *f = *state;
	struct json_object *o;

	private_bus_command(&f->b, 'a');
	assert_int_equal(RUN(f, "rebalance", "web.service"), 0);
	assert_string_equal(f->out, "done: 64M of 64M moved\n");
	assert_non_null(strstr(f->err, "  0%  0 of 64M"));
	private_bus_command(&f->b, 'p');
	assert_int_equal(RUN(f, "rebalance", "web.service", "--to", "1"), 3);
	assert_string_equal(f->out, "partial: 63M of 64M moved\nnot moved: 1M busy\n");
	assert_int_equal(RUN(f, "rebalance", "web.service", "--json"), 3);
	assert_string_equal(f->err, "");
	o = parse(f->out);
	assert_string_equal(TEXT_OF(o, "result"), "partial");
	assert_int_equal(NUMBER_OF(o, "moved_bytes"), 63 * MiB);
	assert_int_equal(NUMBER_OF(json_object_object_get(o, "results"), "busy"), MiB);
	json_object_put(o);
}

/* Everything in the plan was moved, but the plan was not everything. */
static void test_rebalance_left_out(void **state)
{
	struct fixture *f = *state;

	private_bus_command(&f->b, 'a');
	private_bus_command(&f->b, 'h');
	assert_int_equal(RUN(f, "rebalance", "web.service", "--to", "0"), 3);
	assert_string_equal(f->out, "partial: 64M of 64M moved\nleft out: 1M no-room\n");
}

static void test_bar_on_a_terminal(void **state)
{
	struct winsize size = { .ws_row = 24, .ws_col = 100 };
	struct fixture *f = *state;
	int master, status;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	private_bus_command(&f->b, 'a');
	pid = forkpty(&master, NULL, NULL, &size);
	if (pid == 0) {
		execl(f->tierctl, "tierctl", "rebalance", "web.service", (char *)NULL);
		_exit(125);
	}
	if (pid < 0) {
		print_message("skipped: no pseudo terminals here (is /dev/pts mounted?)\n");
		skip();
	}
	/* A terminal whose last user is gone gives EIO. */
	while ((n = read(master, f->out + used, OUTPUT_MAX - 1 - used)) > 0)
		used += (size_t)n;
	f->out[used] = '\0';
	close(master);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_non_null(strstr(f->out, "\r\x1b[K[......"));
	assert_non_null(strstr(f->out, "\r\x1b[K[######"));
	assert_non_null(strstr(f->out, " 25%  16M of 64M  "));
	assert_non_null(strstr(f->out, "\r\x1b[Kdone: 64M of 64M moved"));
}

/* Waits until the job is there, so that the signal does not come too early to mean anything. */
static void wait_for_job(const struct fixture *f)
{
	sd_bus *bus = private_bus_connect(&f->b);
	sd_bus_message *m = NULL;
	int r = 0;

	for (int i = 0; i < 500 && r <= 0; i++) {
		assert_true(CALL(bus, "ListJobs", NULL, &m, NULL) >= 0);
		assert_true(sd_bus_message_enter_container(m, 'a', "a{sv}") > 0);
		r = !sd_bus_message_at_end(m, false);
		m = sd_bus_message_unref(m);
		if (r <= 0)
			usleep(20000);
	}
	assert_int_equal(r, 1);
	sd_bus_flush_close_unref(bus);
}

static void test_interrupt_cancels(void **state)
{
	struct fixture *f = *state;
	const char *argv[ARGUMENTS_MAX] = { NULL, "rebalance", "web.service", NULL };
	pid_t pid = start(f, 0, argv);

	wait_for_job(f);
	assert_int_equal(kill(pid, SIGINT), 0);
	assert_int_equal(finish(f, pid), 4);
	assert_non_null(strstr(f->err, "tierctl: cancelling job 1\n"));
	assert_string_equal(f->out, "cancelled: 0 of 64M moved\n");
}

static void test_wait_no_and_cancel(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(RUN(f, "rebalance", "web.service", "--wait=no"), 0);
	assert_string_equal(f->out, "job 1\n");
	private_bus_command(&f->b, 'n');
	assert_int_equal(RUN(f, "status"), 0);
	assert_non_null(strstr(f->out, "       Job 1: system.slice/web.service, hot up and cold "
				       "down, running, 25% of 64M\n"));
	assert_int_equal(RUN(f, "cancel", "1"), 0);
	assert_int_equal(RUN(f, "cancel", "1"), 1);
	assert_string_equal(f->err, "tierctl: there is no such job\n");
	assert_int_equal(RUN(f, "cancel", "-1"), 2);
	assert_int_equal(RUN(f, "cancel", "x"), 2);
}

static void test_daemon_ends(void **state)
{
	struct fixture *f = *state;
	const char *argv[ARGUMENTS_MAX] = { NULL, "rebalance", "web.service", NULL };
	pid_t pid = start(f, 0, argv);

	wait_for_job(f);
	close(f->b.control);
	f->b.control = -1;
	assert_int_equal(finish(f, pid), 1);
	assert_non_null(strstr(f->err, "tierctl: tierd ended before the job did\n"));
	assert_int_equal(RUN(f, "status"), 5);
	assert_string_equal(f->err, "tierctl: tierd is not running (systemctl start tierd)\n");
}

static void test_not_permitted(void **state)
{
	struct fixture *f = *state;

	if (geteuid()) {
		print_message("needs root, to call as another user\n");
		skip();
	}
	assert_int_equal(RUN_AS_OTHER(f, "list"), 0);
	assert_int_equal(RUN_AS_OTHER(f, "pause"), 6);
	assert_string_equal(f->err, "tierctl: not permitted: this needs root\n");
	assert_int_equal(RUN_AS_OTHER(f, "rebalance", "web.service"), 6);
	assert_int_equal(RUN_AS_OTHER(f, "reload"), 6);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_status),
		TEST(test_status_degraded),
		TEST(test_list),
		TEST(test_pause),
		TEST(test_reload),
		TEST(test_rebalance_plan),
		TEST(test_rebalance),
		TEST(test_rebalance_left_out),
		TEST(test_bar_on_a_terminal),
		TEST(test_interrupt_cancels),
		TEST(test_wait_no_and_cancel),
		TEST(test_daemon_ends),
		TEST(test_not_permitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
