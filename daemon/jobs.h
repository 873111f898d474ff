/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DAEMON_JOBS_H
#define DAEMON_JOBS_H

/*
 * Rebalances that an administrator asked for, from the request to a while after their end. Only
 * books; the moving is act/'s business.
 */

#include "model/history.h"
#include "report/view.h"

struct jobs;

/* Finished jobs are listed for this long, so that a slow reader still sees the result. */
#define JOBS_KEEP_US (60 * 1000000ULL)
/* Running and finished ones together. */
#define JOBS_MAX 64

int jobs_new(struct jobs **ret);
struct jobs *jobs_free(struct jobs *j);

/* *ret_id is never 0. -E2BIG when too many jobs are under way. */
int jobs_add(struct jobs *j, const struct plan *plan, uint64_t cgroup_id, const char *path,
	     int rank, uint64_t *ret_id);
void jobs_drop(struct jobs *j, uint64_t id);
/* -ENOENT: unknown or at its end already. */
int jobs_cancel(struct jobs *j, uint64_t id);
/* True when this outcome ended a job; *ret (may be NULL) is that job, valid until the next call. */
bool jobs_account(struct jobs *j, const struct outcome *o, const struct view_job **ret);
bool jobs_running(const struct jobs *j);
/* Forgets what ended long ago. */
void jobs_expire(struct jobs *j, uint64_t now_us);
/* For the view; valid until the next call of any of these. */
const struct view_job *jobs_list(const struct jobs *j, size_t *ret_n);

#endif
