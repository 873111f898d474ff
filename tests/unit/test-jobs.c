// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of rebalances: ends, results, caps, expiry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "jobs.h"
#include "util.h"

static struct tier_range two_slots = { 0, 2 * TIER_SLOT_BYTES };

static struct plan plan_of(struct batch *batches, size_t n)
{
	for (size_t i = 0; i < n; i++)
		batches[i] = (struct batch){ .n_ranges = 1, .ranges = &two_slots };
	return (struct plan){ .n_batches = n, .batches = batches };
}

static struct outcome outcome_of(uint64_t job, enum tier_result r, uint64_t finished_us)
{
	struct outcome o = { .job_id = job, .finished_us = finished_us };

	o.result.asked_bytes = 2 * TIER_SLOT_BYTES;
	o.result.bytes[r][9] = 2 * TIER_SLOT_BYTES;
	return o;
}

static void test_job_ends_with_its_last_batch(void **state)
{
	struct batch batches[2];
	struct plan plan = plan_of(batches, 2);
	struct outcome moved, busy, other;
	const struct view_job *ended = NULL;
	struct jobs *j;
	uint64_t id;
	size_t n;

	assert_int_equal(jobs_new(&j), 0);
	assert_int_equal(jobs_add(j, &plan, 42, "a/b", 0, &id), 0);
	assert_true(id > 0);
	assert_true(jobs_running(j));
	other = outcome_of(0, TIER_MOVED, 5);
	assert_false(jobs_account(j, &other, &ended));
	moved = outcome_of(id, TIER_MOVED, 5);
	assert_false(jobs_account(j, &moved, &ended));
	assert_int_equal(jobs_list(j, &n)[0].state, JOB_RUNNING);
	busy = outcome_of(id, TIER_BUSY, 6);
	assert_true(jobs_account(j, &busy, &ended));
	assert_int_equal(ended->state, JOB_DONE);
	assert_int_equal(ended->asked_bytes, 4 * TIER_SLOT_BYTES);
	assert_int_equal(ended->result_bytes[TIER_MOVED], 2 * TIER_SLOT_BYTES);
	assert_string_equal(view_job_result(ended), "partial");
	assert_false(jobs_running(j));
	jobs_expire(j, 6 + JOBS_KEEP_US);
	jobs_list(j, &n);
	assert_int_equal(n, 1);
	jobs_expire(j, 7 + JOBS_KEEP_US);
	jobs_list(j, &n);
	assert_int_equal(n, 0);
	jobs_free(j);
}

static void test_cancelled_job(void **state)
{
	struct batch batches[1];
	struct plan plan = plan_of(batches, 1);
	const struct view_job *ended = NULL;
	struct outcome o;
	struct jobs *j;
	uint64_t id;

	assert_int_equal(jobs_new(&j), 0);
	assert_int_equal(jobs_add(j, &plan, 1, "a", 1, &id), 0);
	assert_int_equal(jobs_cancel(j, id + 1), -ENOENT);
	assert_int_equal(jobs_cancel(j, id), 0);
	o = outcome_of(id, TIER_NOT_TRIED, 1);
	assert_true(jobs_account(j, &o, &ended));
	assert_int_equal(ended->state, JOB_CANCELLED);
	assert_int_equal(jobs_cancel(j, id), -ENOENT);
	jobs_free(j);
}

static void test_failed_job(void **state)
{
	struct batch batches[1];
	struct plan plan = plan_of(batches, 1);
	const struct view_job *ended = NULL;
	struct outcome o;
	struct jobs *j;
	uint64_t id;

	assert_int_equal(jobs_new(&j), 0);
	assert_int_equal(jobs_add(j, &plan, 1, "a", 1, &id), 0);
	o = outcome_of(id, TIER_NOT_TRIED, 1);
	o.error = -ENOMEM;
	assert_true(jobs_account(j, &o, &ended));
	assert_int_equal(ended->state, JOB_FAILED);
	jobs_free(j);
}

static void test_full_table(void **state)
{
	struct batch batches[1];
	struct plan plan = plan_of(batches, 1);
	uint64_t first, id;
	struct outcome o;
	struct jobs *j;
	size_t n;

	assert_int_equal(jobs_new(&j), 0);
	assert_int_equal(jobs_add(j, &plan, 1, "a", 1, &first), 0);
	for (size_t i = 1; i < JOBS_MAX; i++)
		assert_int_equal(jobs_add(j, &plan, 1, "a", 1, &id), 0);
	assert_int_equal(jobs_add(j, &plan, 1, "a", 1, &id), -E2BIG);
	o = outcome_of(first, TIER_MOVED, 1);
	assert_true(jobs_account(j, &o, NULL));
	assert_int_equal(jobs_add(j, &plan, 1, "b", 1, &id), 0);
	assert_string_equal(jobs_list(j, &n)[JOBS_MAX - 1].path, "b");
	assert_int_equal(n, JOBS_MAX);
	jobs_drop(j, id);
	jobs_list(j, &n);
	assert_int_equal(n, JOBS_MAX - 1);
	jobs_free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job_ends_with_its_last_batch),
		cmocka_unit_test(test_cancelled_job),
		cmocka_unit_test(test_failed_job),
		cmocka_unit_test(test_full_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
