// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names and small sums of the view's values. Must not know who makes a view or who reads it.
 */
#include "report/view.h"
#include "util.h"

const char *view_state_name(enum view_state s)
{
	static const char *const names[STATE_COUNT] = {
		[STATE_STARTING] = "starting", [STATE_RUNNING] = "running",
		[STATE_DEGRADED] = "degraded", [STATE_PAUSED] = "paused",
		[STATE_IDLE] = "idle",
	};

	return s < STATE_COUNT ? names[s] : "unknown";
}

const char *view_job_state_name(enum view_job_state s)
{
	static const char *const names[JOB_STATES] = {
		[JOB_QUEUED] = "queued",       [JOB_RUNNING] = "running", [JOB_DONE] = "done",
		[JOB_CANCELLED] = "cancelled", [JOB_FAILED] = "failed",
	};

	return s < JOB_STATES ? names[s] : "unknown";
}

uint64_t view_job_done_bytes(const struct view_job *job)
{
	uint64_t sum = 0;

	for (size_t r = 0; r < TIER_RESULTS; r++)
		sum += job->result_bytes[r];
	return sum;
}

bool view_job_is_final(const struct view_job *job)
{
	return job->state >= JOB_DONE;
}

const char *view_job_result(const struct view_job *job)
{
	uint64_t fine = job->result_bytes[TIER_MOVED] + job->result_bytes[TIER_ALREADY_THERE] +
			job->result_bytes[TIER_NOT_RESIDENT] +
			job->result_bytes[TIER_UNSUPPORTED] +
			job->result_bytes[TIER_PROCESS_ENDED];

	if (job->state == JOB_DONE && fine < job->asked_bytes)
		return "partial";
	return view_job_state_name(job->state);
}

uint64_t view_failed_bytes(const struct tier_outcome *o)
{
	static const enum tier_result fine[] = {
		TIER_MOVED, TIER_ALREADY_THERE, TIER_NOT_RESIDENT, TIER_PROCESS_ENDED,
		TIER_NOT_TRIED,
	};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
		sum += tier_outcome_bytes(o, fine[i]);
	return o->asked_bytes > sum ? o->asked_bytes - sum : 0;
}
