// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * org.tierd1 over a private bus: every method with right and wrong arguments, signals, caps, who may
 * do what, and that introspection says what org.tierd1.txt says.
 */
#include "private-bus.h"

struct fixture {
	struct private_bus b;
	sd_bus *bus;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	private_bus_start(&f->b, "session", PERMISSIVE);
	f->bus = private_bus_connect(&f->b);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sd_bus_flush_close_unref(f->bus);
	private_bus_stop(&f->b);
	free(f);
	return 0;
}

/* The call must fail with this error; returns its message, to be freed. */
static char *expect_error(sd_bus *bus, const char *name, const char *method, const char *types, ...)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *m = NULL;
	char *message;
	va_list ap;

	assert_true(sd_bus_message_new_method_call(bus, &m, NAME, PATH, INTERFACE, method) >= 0);
	va_start(ap, types);
	if (types)
		assert_true(sd_bus_message_appendv(m, types, ap) >= 0);
	va_end(ap);
	assert_true(sd_bus_call(bus, m, 0, &error, NULL) < 0);
	assert_string_equal(error.name, name);
	message = strdup(error.message);
	sd_bus_error_free(&error);
	sd_bus_message_unref(m);
	return message;
}

#define EXPECT_ERROR(...) free(expect_error(__VA_ARGS__))

/* Stands in the variant of @key, somewhere in the dictionary that @m is at. False: not there. */
static bool find_key(sd_bus_message *m, const char *key, const char *type)
{
	const char *k;

	assert_true(sd_bus_message_enter_container(m, 'a', "{sv}") > 0);
	while (sd_bus_message_enter_container(m, 'e', "sv") > 0) {
		assert_true(sd_bus_message_read(m, "s", &k) > 0);
		if (!strcmp(k, key)) {
			assert_true(sd_bus_message_enter_container(m, 'v', type) > 0);
			return true;
		}
		assert_true(sd_bus_message_skip(m, "v") >= 0);
		assert_true(sd_bus_message_exit_container(m) >= 0);
	}
	assert_true(sd_bus_message_exit_container(m) >= 0);
	return false;
}

static uint64_t read_u64(sd_bus_message *m, const char *key)
{
	uint64_t v = 0;

	assert_true(sd_bus_message_rewind(m, true) >= 0);
	assert_true(find_key(m, key, "t"));
	assert_true(sd_bus_message_read(m, "t", &v) > 0);
	return v;
}

static const char *read_string(sd_bus_message *m, const char *key)
{
	const char *v = NULL;

	assert_true(sd_bus_message_rewind(m, true) >= 0);
	assert_true(find_key(m, key, "s"));
	assert_true(sd_bus_message_read(m, "s", &v) > 0);
	return v;
}

static void test_status(void **state)
{
	struct fixture *f = *state;
	sd_bus_message *m = NULL;

	assert_true(CALL(f->bus, "Status", NULL, &m, NULL) >= 0);
	assert_string_equal(sd_bus_message_get_signature(m, true), "a{sv}");
	assert_string_equal(read_string(m, "version"), TIERD_VERSION);
	assert_string_equal(read_string(m, "state"), "running");
	assert_string_equal(read_string(m, "status_text"), "all is well");
	assert_string_equal(read_string(m, "tracker"), "damon");
	assert_string_equal(read_string(m, "order_source"), "kernel");
	assert_string_equal(read_string(m, "config_error"), "");
	assert_int_equal(read_u64(m, "promoted_bytes"), 48 * MiB);
	assert_int_equal(read_u64(m, "failed_bytes"), 4096);
	assert_int_equal(read_u64(m, "rss_bytes"), 12 * MiB);
	sd_bus_message_unref(m);
	EXPECT_ERROR(f->bus, SD_BUS_ERROR_INVALID_ARGS, "Status", "s", "x");
}

/* Nodes without memory are in no tier; two tiers of one node each remain. */
static void test_tiers(void **state)
{
	struct fixture *f = *state;
	sd_bus_message *m = NULL;
	uint32_t rank, latency, bandwidth;
	uint64_t total, free_bytes;
	const int32_t *ids;
	size_t size;
	int has_cpus;

	assert_true(sd_bus_get_property(f->bus, NAME, PATH, INTERFACE, "Tiers", NULL, &m,
					"a(uaittuub)") >= 0);
	assert_true(sd_bus_message_enter_container(m, 'a', "(uaittuub)") > 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(sd_bus_message_enter_container(m, 'r', "uaittuub") > 0);
		assert_true(sd_bus_message_read(m, "u", &rank) > 0);
		assert_true(sd_bus_message_read_array(m, 'i', (const void **)&ids, &size) > 0);
		assert_true(sd_bus_message_read(m, "ttuub", &total, &free_bytes, &latency,
						&bandwidth, &has_cpus) > 0);
		assert_int_equal(rank, i);
		assert_int_equal(size, sizeof(int32_t));
		assert_int_equal(ids[0], i ? 2 : 0);
		assert_int_equal(total, i ? 2 * GiB : GiB);
		assert_int_equal(latency, i ? 0 : 80);
		assert_int_equal(has_cpus, !i);
		assert_true(sd_bus_message_exit_container(m) >= 0);
	}
	assert_true(sd_bus_message_at_end(m, false) > 0);
	sd_bus_message_unref(m);
}

/* The exact bytes, and a name that does nothing to a terminal. */
static void test_list_cgroups(void **state)
{
	struct fixture *f = *state;
	sd_bus_message *m = NULL;
	const void *path;
	const char *name;
	size_t n;

	assert_true(CALL(f->bus, "ListCgroups", NULL, &m, NULL) >= 0);
	assert_string_equal(sd_bus_message_get_signature(m, true), "aa{sv}");
	assert_true(sd_bus_message_enter_container(m, 'a', "a{sv}") > 0);
	assert_true(find_key(m, "path", "ay"));
	assert_true(sd_bus_message_read_array(m, 'y', &path, &n) > 0);
	assert_int_equal(n, strlen(EVIL_PATH));
	assert_memory_equal(path, EVIL_PATH, n);
	assert_true(sd_bus_message_rewind(m, true) >= 0);
	assert_true(sd_bus_message_enter_container(m, 'a', "a{sv}") > 0);
	assert_true(find_key(m, "name", "s"));
	assert_true(sd_bus_message_read(m, "s", &name) > 0);
	assert_string_equal(name, "system.slice/e\\x1b[31mvil\\xff\\x7f.service");
	sd_bus_message_unref(m);
	EXPECT_ERROR(f->bus, SD_BUS_ERROR_INVALID_ARGS, "ListCgroups", "t", (uint64_t)1);
}

static void test_reload(void **state)
{
	struct fixture *f = *state;
	sd_bus_message *m = NULL;
	char *text;

	assert_true(CALL(f->bus, "Reload", NULL, NULL, NULL) >= 0);
	private_bus_command(&f->b, 'b');
	text = expect_error(f->bus, "org.tierd1.Error.ReloadFailed", "Reload", NULL);
	assert_string_equal(text, "/etc/tierd/policy.d/50-a.conf:3: Mode: no such mode\nsecond");
	free(text);
	assert_true(CALL(f->bus, "Status", NULL, &m, NULL) >= 0);
	assert_string_equal(read_string(m, "config_error"),
			    "/etc/tierd/policy.d/50-a.conf:3: Mode: no such mode");
	sd_bus_message_unref(m);
	EXPECT_ERROR(f->bus, SD_BUS_ERROR_INVALID_ARGS, "Reload", "s", "/etc/shadow");
}

static int is_paused(sd_bus *bus)
{
	sd_bus_message *m = NULL;
	int paused = -1;

	assert_true(CALL(bus, "ListCgroups", NULL, &m, NULL) >= 0);
	assert_true(sd_bus_message_enter_container(m, 'a', "a{sv}") > 0);
	assert_true(sd_bus_message_skip(m, "a{sv}") >= 0);
	assert_true(find_key(m, "paused", "b"));
	assert_true(sd_bus_message_read(m, "b", &paused) > 0);
	sd_bus_message_unref(m);
	return paused;
}

static void test_pause(void **state)
{
	struct fixture *f = *state;

	assert_true(CALL(f->bus, "Pause", NULL, NULL, "t", (uint64_t)WEB_ID) >= 0);
	assert_int_equal(is_paused(f->bus), 1);
	assert_true(CALL(f->bus, "Resume", NULL, NULL, "t", (uint64_t)WEB_ID) >= 0);
	assert_int_equal(is_paused(f->bus), 0);
	assert_true(CALL(f->bus, "Pause", NULL, NULL, "t", (uint64_t)0) >= 0);
	EXPECT_ERROR(f->bus, "org.tierd1.Error.NoSuchCgroup", "Pause", "t", (uint64_t)4711);
	EXPECT_ERROR(f->bus, "org.tierd1.Error.NoSuchCgroup", "Resume", "t", (uint64_t)4711);
	EXPECT_ERROR(f->bus, SD_BUS_ERROR_INVALID_ARGS, "Pause", "s", "web.service");
	EXPECT_ERROR(f->bus, SD_BUS_ERROR_INVALID_ARGS, "Resume", NULL);
}

static uint64_t rebalance(sd_bus *bus, int rank, bool dry_run)
{
	sd_bus_message *m = NULL;
	uint64_t job = 4711;

	assert_true(CALL(bus, "Rebalance", NULL, &m, "tib", (uint64_t)WEB_ID, rank,
			 (int)dry_run) >= 0);
	assert_int_equal(read_u64(m, "asked_bytes"), JOB_BYTES);
	assert_int_equal(read_u64(m, "promote_bytes"), rank ? 0 : JOB_BYTES);
	assert_true(sd_bus_message_rewind(m, true) >= 0);
	assert_true(sd_bus_message_skip(m, "a{sv}") >= 0);
	assert_true(sd_bus_message_read(m, "t", &job) > 0);
	sd_bus_message_unref(m);
	return job;
}

static void test_rebalance(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(rebalance(f->bus, 0, true), 0);
	assert_int_equal(rebalance(f->bus, 1, false), 1);
	assert_int_equal(rebalance(f->bus, -1, false), 2);
	EXPECT_ERROR(f->bus, "org.tierd1.Error.InvalidTier", "Rebalance", "tib", (uint64_t)WEB_ID,
		     2, 0);
	EXPECT_ERROR(f->bus, "org.tierd1.Error.InvalidTier", "Rebalance", "tib", (uint64_t)WEB_ID,
		     -2, 1);
	EXPECT_ERROR(f->bus, "org.tierd1.Error.NoSuchCgroup", "Rebalance", "tib", (uint64_t)7, 0, 0);
	EXPECT_ERROR(f->bus, "org.tierd1.Error.Busy", "Rebalance", "tib", (uint64_t)EVIL_ID, 0, 0);
	EXPECT_ERROR(f->bus, "org.tierd1.Error.NotManaged", "Rebalance", "tib", (uint64_t)OFF_ID, 0,
		     0);
	EXPECT_ERROR(f->bus, SD_BUS_ERROR_INVALID_ARGS, "Rebalance", "tb", (uint64_t)WEB_ID, 0);
}

static void test_job_caps(void **state)
{
	struct fixture *f = *state;
	sd_bus *others[BUS_JOBS_MAX / BUS_JOBS_PER_SENDER_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = private_bus_connect(&f->b);
		for (int k = 0; k < BUS_JOBS_PER_SENDER_MAX; k++)
			assert_true(rebalance(others[i], 0, false) > 0);
		EXPECT_ERROR(others[i], "org.tierd1.Error.TooManyJobs", "Rebalance", "tib",
			     (uint64_t)WEB_ID, 0, 0);
		/* Looking costs nothing. */
		assert_int_equal(rebalance(others[i], 0, true), 0);
	}
	EXPECT_ERROR(f->bus, "org.tierd1.Error.TooManyJobs", "Rebalance", "tib", (uint64_t)WEB_ID,
		     0, 0);
	for (int i = 0; i < 4; i++)
		private_bus_command(&f->b, 'n');
	/* They are at their end, and what has ended does not count. */
	assert_true(rebalance(f->bus, 0, false) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		sd_bus_flush_close_unref(others[i]);
}

/* ---- signals ---------------------------------------------------------------------------------- */

struct seen {
	int n_new, n_progress, n_removed, n_changed;
	uint64_t done, moved;
	char result[16];
};

static int on_signal(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct seen *seen = userdata;
	uint64_t id, asked;
	const char *result;

	if (sd_bus_message_is_signal(m, INTERFACE, "JobNew")) {
		seen->n_new++;
	} else if (sd_bus_message_is_signal(m, INTERFACE, "JobProgress")) {
		seen->n_progress++;
		assert_true(sd_bus_message_read(m, "tttt", &id, &asked, &seen->done,
						&seen->moved) > 0);
		assert_int_equal(asked, JOB_BYTES);
	} else if (sd_bus_message_is_signal(m, INTERFACE, "JobRemoved")) {
		seen->n_removed++;
		assert_true(sd_bus_message_read(m, "ts", &id, &result) > 0);
		snprintf(seen->result, sizeof(seen->result), "%s", result);
	} else if (sd_bus_message_is_signal(m, NULL, "PropertiesChanged")) {
		seen->n_changed++;
	}
	return 0;
}

/* Everything that was sent before now. */
static void drain(sd_bus *bus)
{
	assert_true(CALL(bus, "ListJobs", NULL, NULL, NULL) >= 0);
	while (sd_bus_process(bus, NULL) > 0)
		;
}

static void listen_to(struct fixture *f, struct seen *seen)
{
	assert_true(sd_bus_add_match(f->bus, NULL, "type='signal',path='" PATH "'", on_signal,
				     seen) >= 0);
}

static void test_job_signals(void **state)
{
	struct fixture *f = *state;
	struct seen seen = { 0 };

	listen_to(f, &seen);
	private_bus_command(&f->b, 'p');
	rebalance(f->bus, 0, false);
	private_bus_command(&f->b, 'n');
	drain(f->bus);
	assert_int_equal(seen.n_new, 1);
	assert_int_equal(seen.n_removed, 0);
	assert_true(seen.n_progress >= 1);
	for (int i = 0; i < 3; i++)
		private_bus_command(&f->b, 'n');
	drain(f->bus);
	assert_int_equal(seen.n_removed, 1);
	assert_string_equal(seen.result, "partial");
	/* Ended jobs stay in the view; they are not announced again. */
	private_bus_command(&f->b, 'm');
	drain(f->bus);
	assert_int_equal(seen.n_new, 1);
	assert_int_equal(seen.n_removed, 1);
}

/* Three steps in a moment are not three signals: one each 250 ms. */
static void test_progress_is_throttled(void **state)
{
	struct fixture *f = *state;
	struct seen seen = { 0 };
	struct timespec a, b;
	long ms;

	listen_to(f, &seen);
	rebalance(f->bus, 0, false);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 3; i++)
		private_bus_command(&f->b, 'n');
	drain(f->bus);
	clock_gettime(CLOCK_MONOTONIC, &b);
	ms = (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
	assert_in_range(seen.n_progress, 1, 1 + ms / 250);
	/* What was held back comes with a later view. */
	usleep(300000);
	private_bus_command(&f->b, 'm');
	drain(f->bus);
	assert_int_equal(seen.done, JOB_BYTES / 4 * 3);
}

static void test_vanished_job(void **state)
{
	struct fixture *f = *state;
	struct seen seen = { 0 };

	listen_to(f, &seen);
	rebalance(f->bus, 0, false);
	private_bus_command(&f->b, 'g');
	drain(f->bus);
	assert_int_equal(seen.n_removed, 1);
	assert_string_equal(seen.result, "failed");
}

static void test_cancel(void **state)
{
	struct fixture *f = *state;
	struct seen seen = { 0 };
	uint64_t job;

	listen_to(f, &seen);
	job = rebalance(f->bus, 0, false);
	assert_true(CALL(f->bus, "CancelJob", NULL, NULL, "t", job) >= 0);
	private_bus_command(&f->b, 'm');
	drain(f->bus);
	assert_string_equal(seen.result, "cancelled");
	EXPECT_ERROR(f->bus, "org.tierd1.Error.NoSuchJob", "CancelJob", "t", job);
	EXPECT_ERROR(f->bus, "org.tierd1.Error.NoSuchJob", "CancelJob", "t", (uint64_t)99);
	EXPECT_ERROR(f->bus, SD_BUS_ERROR_INVALID_ARGS, "CancelJob", "u", 1U);
}

static void test_list_jobs(void **state)
{
	struct fixture *f = *state;
	sd_bus_message *m = NULL;
	const char *name;
	uint64_t bytes;

	rebalance(f->bus, 1, false);
	private_bus_command(&f->b, 'n');
	assert_true(CALL(f->bus, "ListJobs", NULL, &m, NULL) >= 0);
	assert_string_equal(sd_bus_message_get_signature(m, true), "aa{sv}");
	assert_true(sd_bus_message_enter_container(m, 'a', "a{sv}") > 0);
	assert_true(find_key(m, "results", "a{st}"));
	assert_true(sd_bus_message_enter_container(m, 'a', "{st}") > 0);
	assert_true(sd_bus_message_read(m, "{st}", &name, &bytes) > 0);
	assert_string_equal(name, "moved");
	assert_int_equal(bytes, JOB_BYTES / 4);
	sd_bus_message_unref(m);
	EXPECT_ERROR(f->bus, SD_BUS_ERROR_INVALID_ARGS, "ListJobs", "s", "");
}

static void test_properties_changed(void **state)
{
	struct fixture *f = *state;
	struct seen seen = { 0 };
	char *text = NULL;

	listen_to(f, &seen);
	private_bus_command(&f->b, 'm');
	drain(f->bus);
	assert_int_equal(seen.n_changed, 0);
	private_bus_command(&f->b, 's');
	private_bus_command(&f->b, 'm');
	drain(f->bus);
	assert_int_equal(seen.n_changed, 1);
	assert_true(sd_bus_get_property_string(f->bus, NAME, PATH, INTERFACE, "TrackerReason", NULL,
					       &text) >= 0);
	assert_string_equal(text, "DAMON is taken");
	free(text);
	assert_true(sd_bus_set_property(f->bus, NAME, PATH, INTERFACE, "State", NULL, "s", "x") < 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_status),
		TEST(test_tiers),
		TEST(test_list_cgroups),
		TEST(test_reload),
		TEST(test_pause),
		TEST(test_rebalance),
		TEST(test_job_caps),
		TEST(test_job_signals),
		TEST(test_progress_is_throttled),
		TEST(test_vanished_job),
		TEST(test_cancel),
		TEST(test_list_jobs),
		TEST(test_properties_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
