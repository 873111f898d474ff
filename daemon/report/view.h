/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

/*
 * What the outside may see of the daemon, as plain values: made by the manager after each tick (and
 * whenever a job got further), const ever after, read by the bus and by whatever else reports.
 * Nothing here points into the manager's working state in a way that a reader could change.
 */

#include "model/policy.h"
#include "tier.h"

enum view_state {
	STATE_STARTING, /* before the first tick */
	STATE_RUNNING,
	STATE_DEGRADED, /* running, but nothing tells hot from cold: no move without being asked */
	STATE_PAUSED,   /* everything, by the administrator */
	STATE_IDLE,     /* nothing to do: no policy matches a cgroup */
	STATE_COUNT,
};

const char *view_state_name(enum view_state s);

/* One group: a cgroup that a policy matches. Bytes since tierd started where they count moves. */
struct view_group {
	uint64_t cgroup_id;
	const char *path;   /* relative to the cgroup mount; hostile bytes, not text */
	const char *policy; /* full path of the policy file */
	enum policy_mode mode;
	bool paused;
	uint32_t n_processes; /* large enough to be looked at */
	uint64_t bytes_by_tier[TIER_NODES_MAX]; /* by rank */
	uint64_t hot_bytes;
	uint64_t hot_fast_bytes;
	uint64_t tracked_bytes;
	uint64_t promoted_bytes;
	uint64_t demoted_bytes;
	uint64_t failed_bytes;  /* asked, resident, and yet not moved */
	uint64_t ping_pong_bytes; /* moved back soon after they were moved */
	uint64_t folios_split;  /* large folios that were whole before a move and split after it */
	uint64_t last_move_us;  /* monotonic clock, 0 for never */
	uint64_t stall_us;      /* time that tasks of the cgroup waited for memory (PSI some) */
};

enum view_job_state {
	JOB_QUEUED,
	JOB_RUNNING,
	JOB_DONE,      /* every byte has its result, whatever that is */
	JOB_CANCELLED,
	JOB_FAILED,    /* could not be carried on */
	JOB_STATES,
};

const char *view_job_state_name(enum view_job_state s);

/*
 * A rebalance that an administrator asked for. It is in every view from the one that follows its
 * start up to at least one that shows it in a final state (DONE, CANCELLED, FAILED); a job that
 * vanishes before counts as failed.
 */
struct view_job {
	uint64_t id;         /* never 0, never re-used while tierd runs */
	uint64_t cgroup_id;
	const char *path;
	int to_rank;         /* -1: hot up, cold down */
	enum view_job_state state;
	uint64_t asked_bytes;
	uint64_t result_bytes[TIER_RESULTS]; /* of these, what is over and how it ended */
};

uint64_t view_job_done_bytes(const struct view_job *job);
bool view_job_is_final(const struct view_job *job);
/*
 * "done", "partial", "cancelled" or "failed" for a job in a final state. Bytes that were there
 * already, are gone from memory, or are of a kind that is never moved (program text and other file
 * mappings lie in the same slots) are no reason to call it partial; pinned or refused ones are.
 */
const char *view_job_result(const struct view_job *job);

/* Resident, asked for, tried, and yet not moved. */
uint64_t view_failed_bytes(const struct tier_outcome *o);

struct view {
	enum view_state state;
	const char *status_text; /* one line for people */
	struct tier_tracker_state tracker;
	const struct tier_topology *topology;
	size_t n_groups;
	const struct view_group *groups; /* ascending by path */
	size_t n_jobs;
	const struct view_job *jobs;
	uint64_t cpu_us;           /* of tierd itself */
	uint64_t rss_bytes;
	const char *config_error;  /* of the last reload if it failed; NULL or "" when all is well */
	uint64_t ticks;
	uint64_t started_us;       /* monotonic clock */
};

#endif
