// SPDX-License-Identifier: GPL-2.0-or-later
/* report/journal: fields, adding up, what is dropped; and that the catalog explains every message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "report/journal.h"
#include "report/messages.h"
#include "util.h"

#define TEXT_MAX 8192

static int n_entries;
static int sink_result;
static char last[TEXT_MAX]; /* the fields of the last entry, a line each */

static int sink(const struct iovec *fields, int n)
{
	size_t used = 0;

	if (sink_result < 0)
		return sink_result;
	n_entries++;
	last[used++] = '\n';
	for (int i = 0; i < n; i++) {
		assert_true(used + fields[i].iov_len + 2 < TEXT_MAX);
		memcpy(last + used, fields[i].iov_base, fields[i].iov_len);
		used += fields[i].iov_len;
		last[used++] = '\n';
	}
	last[used] = '\0';
	return 0;
}

static int set_up(void **state)
{
	n_entries = 0;
	sink_result = 0;
	*last = '\0';
	journal_set_sink(sink);
	return 0;
}

static int tear_down(void **state)
{
	journal_set_sink(NULL);
	return 0;
}

static void assert_has(const char *field)
{
	char line[256];

	snprintf(line, sizeof(line), "\n%s\n", field);
	if (!strstr(last, line))
		fail_msg("'%s' is not in %s", field, last);
}

static struct outcome moved(uint64_t cgroup_id, enum direction direction, uint64_t bytes)
{
	struct outcome o = { .batch = { .cgroup_id = cgroup_id, .direction = direction,
					.bytes = bytes + 8192 } };

	o.result.asked_bytes = bytes + 8192;
	o.result.bytes[TIER_MOVED][9] = bytes;
	o.result.bytes[TIER_BUSY][0] = 4096;
	o.result.bytes[TIER_NOT_RESIDENT][0] = 4096;
	o.result.call_max_us = 1500;
	return o;
}

static void test_plain_entries(void **state)
{
	journal_started(3);
	assert_has("TIERD_POLICIES=3");
	assert_has("SYSLOG_IDENTIFIER=tierd");
	assert_has("PRIORITY=6");
	journal_reload_failed("a.conf:1: Mode: bad\nb.conf:2: worse");
	assert_has("MESSAGE=Configuration not taken, the previous one stays in force: a.conf:1: "
		   "Mode: bad");
	assert_has("TIERD_ERRORS=a.conf:1: Mode: bad\nb.conf:2: worse");
	assert_has("PRIORITY=3");
	journal_tracker_degraded("DAMON is taken");
	assert_has("TIERD_REASON=DAMON is taken");
	journal_tracker_recovered();
	journal_reloaded(1);
	journal_bus("there is no system bus");
	assert_has("TIERD_REASON=there is no system bus");
	journal_bus(NULL);
	journal_mover_stuck();
	assert_has("PRIORITY=2");
	journal_stopped();
	assert_int_equal(n_entries, 9);
}

static void test_job(void **state)
{
	const struct view_job job = {
		.id = 7, .cgroup_id = 42, .path = "a/b\n.service", .to_rank = 1, .state = JOB_DONE,
		.asked_bytes = 8192,
		.result_bytes = { [TIER_MOVED] = 4096, [TIER_BUSY] = 4096 },
	};

	journal_job_finished(&job);
	assert_has("MESSAGE=Rebalance 7 of a/b\\x0a.service: partial, 4K of 8K moved");
	assert_has("TIERD_RESULT=partial");
	assert_has("TIERD_RESULTS=moved=4096 busy=4096");
	assert_has("TIERD_CGROUP_ID=42");
}

/* The first entry at once, the next one ten seconds later with all that came meanwhile. */
static void test_moves_are_added_up(void **state)
{
	const struct view_group group = { .cgroup_id = 42, .path = "web.service" };
	const struct view view = { .n_groups = 1, .groups = &group };
	struct outcome up = moved(42, DIRECTION_PROMOTE, 2 * MiB);
	struct outcome down = moved(42, DIRECTION_DEMOTE, 4 * MiB);

	journal_flush(&view, 1000);
	assert_int_equal(n_entries, 0);
	journal_outcome(&up);
	assert_int_equal(n_entries, 0);
	journal_flush(&view, 2000);
	assert_int_equal(n_entries, 1);
	assert_has("MESSAGE=web.service: 2M moved up, 0 down, 4K not movable");
	journal_outcome(&up);
	journal_outcome(&up);
	journal_outcome(&down);
	journal_flush(&view, 2000 + JOURNAL_MOVED_US - 1);
	assert_int_equal(n_entries, 1);
	journal_flush(&view, 2000 + JOURNAL_MOVED_US);
	assert_int_equal(n_entries, 2);
	assert_has("TIERD_PROMOTED_BYTES=4194304");
	assert_has("TIERD_DEMOTED_BYTES=4194304");
	assert_has("TIERD_FAILED_BYTES=12288");
	assert_has("TIERD_BATCHES=3");
	assert_has("TIERD_CALL_MAX_USEC=1500");
	journal_flush(&view, 2000 + 3 * JOURNAL_MOVED_US);
	assert_int_equal(n_entries, 2);
}

/* A cgroup that is gone has no name any more; a batch that could not be tried has failed. */
static void test_unknown_cgroup(void **state)
{
	struct outcome o = { .error = -ENOMEM, .batch = { .cgroup_id = 9, .bytes = 4096 } };

	journal_outcome(&o);
	journal_flush(NULL, 1000);
	assert_has("TIERD_CGROUP=cgroup 9");
	assert_has("TIERD_FAILED_BYTES=4096");
}

static void test_dropped(void **state)
{
	/* More cgroups than are followed at a time. */
	for (uint64_t i = 0; i < JOURNAL_MOVED_MAX + 5; i++) {
		struct outcome o = moved(i + 1, DIRECTION_PROMOTE, 4096);

		journal_outcome(&o);
	}
	journal_stopped();
	assert_has("TIERD_DROPPED=5");
	journal_stopped();
	assert_null(strstr(last, "TIERD_DROPPED"));
	/* A journal that does not take anything. */
	sink_result = -ENOBUFS;
	journal_stopped();
	journal_stopped();
	sink_result = 0;
	journal_stopped();
	assert_has("TIERD_DROPPED=2");
}

static void test_failed_ticks_are_told_once(void **state)
{
	journal_tick_failed(-ENOMEM);
	journal_tick_failed(-ENOMEM);
	journal_tick_failed(-ENOMEM);
	assert_int_equal(n_entries, 1);
	journal_tick_failed(-EIO);
	assert_int_equal(n_entries, 2);
	assert_has("TIERD_REASON=Input/output error");
	assert_has("TIERD_DROPPED=2");
}

/* ---- the catalog ------------------------------------------------------------------------------ */

#define MESSAGE_ID(name, id) id,
static const char *const ids[] = { MESSAGES(MESSAGE_ID) };

static FILE *open_catalog(void)
{
	const char *root = getenv("TIERD_SRC");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/conf/tierd.catalog", root ? root : ".");
	f = fopen(path, "re");
	assert_non_null(f);
	return f;
}

static size_t count_in(const char *id, const char *const *list, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += !strncmp(list[i], id, 32);
	return found;
}

static void test_catalog(void **state)
{
	char line[512];
	size_t n = 0, n_subjects = 0;
	FILE *f = open_catalog();

	while (fgets(line, sizeof(line), f)) {
		n_subjects += !strncmp(line, "Subject: ", 9);
		if (strncmp(line, "-- ", 3))
			continue;
		n++;
		assert_int_equal(strspn(line + 3, "0123456789abcdef"), 32);
		assert_int_equal(count_in(line + 3, ids, ARRAY_SIZE(ids)), 1);
	}
	fclose(f);
	assert_int_equal(n, ARRAY_SIZE(ids));
	assert_int_equal(n_subjects, n);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(count_in(ids[i], ids, ARRAY_SIZE(ids)), 1);
}

/* Every field that the catalog shows is one that some entry has. */
static void test_catalog_fields(void **state)
{
	static const char *const fields[] = {
		"TIERD_POLICIES", "TIERD_ERRORS", "TIERD_REASON", "TIERD_CGROUP",
		"TIERD_PROMOTED_BYTES", "TIERD_DEMOTED_BYTES", "TIERD_FAILED_BYTES",
		"TIERD_JOB_ID", "TIERD_RESULT", "TIERD_MOVED_BYTES", "TIERD_ASKED_BYTES",
	};
	FILE *f = open_catalog();
	char line[512], *at, *end;

	while (fgets(line, sizeof(line), f)) {
		for (at = line; (at = strchr(at, '@')); at = end + 1) {
			bool known = false;

			end = strchr(at + 1, '@');
			assert_non_null(end);
			*end = '\0';
			for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
				known |= !strcmp(fields[i], at + 1);
			assert_true(known);
		}
	}
	fclose(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_plain_entries),
		TEST(test_job),
		TEST(test_moves_are_added_up),
		TEST(test_unknown_cgroup),
		TEST(test_dropped),
		TEST(test_failed_ticks_are_told_once),
		cmocka_unit_test(test_catalog),
		cmocka_unit_test(test_catalog_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
