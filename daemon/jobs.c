// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of rebalances. A job ends when the outcome of its last batch is in.
 */
#include "jobs.h"
#include "util.h"

struct job {
	size_t n_batches; /* still to come back */
	bool cancelled;
	bool error;
	uint64_t finished_us;
	char *path;
};

struct jobs {
	uint64_t next_id;
	size_t n;
	struct job jobs[JOBS_MAX];
	struct view_job views[JOBS_MAX]; /* the same jobs, as the outside sees them */
};

int jobs_new(struct jobs **ret)
{
	struct jobs *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->next_id = 1;
	*ret = j;
	return 0;
}

static void remove_at(struct jobs *j, size_t at)
{
	free(j->jobs[at].path);
	j->n--;
	memmove(&j->jobs[at], &j->jobs[at + 1], (j->n - at) * sizeof(j->jobs[0]));
	memmove(&j->views[at], &j->views[at + 1], (j->n - at) * sizeof(j->views[0]));
}

struct jobs *jobs_free(struct jobs *j)
{
	if (!j)
		return NULL;
	while (j->n > 0)
		remove_at(j, j->n - 1);
	free(j);
	return NULL;
}

static size_t find(const struct jobs *j, uint64_t id)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->views[i].id == id)
			return i;
	return SIZE_MAX;
}

/* The oldest job that has ended makes room for a new one. */
static bool drop_oldest_final(struct jobs *j)
{
	for (size_t i = 0; i < j->n; i++) {
		if (view_job_is_final(&j->views[i])) {
			remove_at(j, i);
			return true;
		}
	}
	return false;
}

static uint64_t asked_bytes(const struct plan *plan)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < plan->n_batches; i++)
		for (size_t r = 0; r < plan->batches[i].n_ranges; r++)
			sum += plan->batches[i].ranges[r].end - plan->batches[i].ranges[r].start;
	return sum;
}

int jobs_add(struct jobs *j, const struct plan *plan, uint64_t cgroup_id, const char *path,
	     int rank, uint64_t *ret_id)
{
	char *copy;

	if (j->n == JOBS_MAX && !drop_oldest_final(j))
		return -E2BIG;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	j->jobs[j->n] = (struct job){ .n_batches = plan->n_batches, .path = copy };
	j->views[j->n] = (struct view_job){
		.id = j->next_id++,
		.cgroup_id = cgroup_id,
		.path = copy,
		.to_rank = rank,
		.state = JOB_QUEUED,
		.asked_bytes = asked_bytes(plan),
	};
	*ret_id = j->views[j->n++].id;
	return 0;
}

void jobs_drop(struct jobs *j, uint64_t id)
{
	size_t at = find(j, id);

	if (at != SIZE_MAX)
		remove_at(j, at);
}

int jobs_cancel(struct jobs *j, uint64_t id)
{
	size_t at = find(j, id);

	if (at == SIZE_MAX || view_job_is_final(&j->views[at]))
		return -ENOENT;
	j->jobs[at].cancelled = true;
	return 0;
}

static enum view_job_state final_state(const struct job *job)
{
	if (job->cancelled)
		return JOB_CANCELLED;
	return job->error ? JOB_FAILED : JOB_DONE;
}

bool jobs_account(struct jobs *j, const struct outcome *o, const struct view_job **ret)
{
	size_t at = o->job_id ? find(j, o->job_id) : SIZE_MAX;
	struct view_job *view;
	struct job *job;

	if (at == SIZE_MAX)
		return false;
	job = &j->jobs[at];
	view = &j->views[at];
	for (size_t r = 0; r < TIER_RESULTS; r++)
		view->result_bytes[r] += tier_outcome_bytes(&o->result, r);
	view->state = JOB_RUNNING;
	job->error |= o->error < 0;
	if (--job->n_batches > 0)
		return false;
	view->state = final_state(job);
	job->finished_us = o->finished_us;
	if (ret)
		*ret = view;
	return true;
}

bool jobs_running(const struct jobs *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (!view_job_is_final(&j->views[i]))
			return true;
	return false;
}

void jobs_expire(struct jobs *j, uint64_t now_us)
{
	for (size_t i = j->n; i-- > 0;)
		if (view_job_is_final(&j->views[i]) &&
		    now_us > j->jobs[i].finished_us + JOBS_KEEP_US)
			remove_at(j, i);
}

const struct view_job *jobs_list(const struct jobs *j, size_t *ret_n)
{
	*ret_n = j->n;
	return j->views;
}
