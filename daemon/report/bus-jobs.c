// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows the jobs from view to view and tells the bus about it: JobNew, JobProgress, JobRemoved.
 * Also the caps. Must not start or end a job.
 */
#include "report/bus-internal.h"
#include "util.h"

const struct view_job *bus_find_view_job(const struct bus *b, uint64_t id)
{
	for (size_t i = 0; b->view && i < b->view->n_jobs; i++)
		if (b->view->jobs[i].id == id)
			return &b->view->jobs[i];
	return NULL;
}

static struct bus_job *find_job(struct bus *b, uint64_t id)
{
	for (size_t i = 0; i < b->n_jobs; i++)
		if (b->jobs[i].id == id)
			return &b->jobs[i];
	return NULL;
}

int bus_jobs_admit(const struct bus *b, const char *sender)
{
	size_t all = 0, own = 0;

	for (size_t i = 0; i < b->n_jobs; i++) {
		const struct bus_job *job = &b->jobs[i];

		if (job->removed)
			continue;
		all++;
		own += sender && job->sender && !strcmp(job->sender, sender);
	}
	return all >= BUS_JOBS_MAX || own >= BUS_JOBS_PER_SENDER_MAX ? -E2BIG : 0;
}

static void forget_job(struct bus *b, size_t i)
{
	free(b->jobs[i].sender);
	b->jobs[i] = b->jobs[--b->n_jobs];
}

/* A full table holds mostly jobs that ended long ago and linger in the views. */
static bool make_room(struct bus *b)
{
	for (size_t i = 0; b->n_jobs >= BUS_JOBS_KNOWN_MAX && i < b->n_jobs; i++)
		if (b->jobs[i].removed)
			forget_job(b, i);
	return b->n_jobs < BUS_JOBS_KNOWN_MAX;
}

void bus_jobs_add(struct bus *b, uint64_t id, const char *sender)
{
	struct bus_job *known = find_job(b, id);

	/* A view may have shown it before the call that started it was answered. */
	if (known && !known->sender && sender)
		known->sender = strdup(sender);
	if (known || !make_room(b))
		return;
	/* Without memory for the name the job merely does not count for its sender. */
	b->jobs[b->n_jobs++] = (struct bus_job){
		.id = id,
		.sender = sender ? strdup(sender) : NULL,
	};
}

void bus_jobs_done(struct bus *b)
{
	while (b->n_jobs)
		forget_job(b, b->n_jobs - 1);
}

/* A signal that can't be sent is lost: who listens will see the state in ListJobs. */
static int new_signal(const struct bus *b, const char *name, sd_bus_message **ret)
{
	if (!b->up)
		return -ENOTCONN;
	return sd_bus_message_new_signal(b->bus, ret, BUS_PATH, BUS_INTERFACE, name);
}

static void signal_new(const struct bus *b, const struct view_job *job)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *m = NULL;

	if (new_signal(b, "JobNew", &m) < 0 || sd_bus_message_append(m, "t", job->id) < 0 ||
	    bus_append_job(m, job) < 0)
		return;
	(void)sd_bus_send(b->bus, m, NULL);
}

static void signal_removed(const struct bus *b, const struct view_job *job, const char *result)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *m = NULL;

	if (new_signal(b, "JobRemoved", &m) < 0 ||
	    sd_bus_message_append(m, "ts", job->id, result) < 0 || bus_append_job(m, job) < 0)
		return;
	(void)sd_bus_send(b->bus, m, NULL);
}

static void signal_progress(const struct bus *b, struct bus_job *known, const struct view_job *job,
			    uint64_t now_us)
{
	uint64_t done = view_job_done_bytes(job);

	if (known->last_progress_us && now_us - known->last_progress_us < BUS_PROGRESS_US)
		return;
	if (known->last_progress_us && done == known->last_done_bytes)
		return;
	known->last_progress_us = now_us;
	known->last_done_bytes = done;
	if (b->up)
		(void)sd_bus_emit_signal(b->bus, BUS_PATH, BUS_INTERFACE, "JobProgress", "tttt",
					 job->id, job->asked_bytes, done,
					 job->result_bytes[TIER_MOVED]);
}

static void follow_job(struct bus *b, const struct view_job *job, uint64_t now_us)
{
	struct bus_job *known = find_job(b, job->id);

	if (!known) {
		bus_jobs_add(b, job->id, NULL);
		known = find_job(b, job->id);
		if (!known)
			return;
	}
	known->seen = true;
	if (known->removed)
		return;
	if (!known->last_progress_us)
		signal_new(b, job);
	if (view_job_is_final(job)) {
		signal_removed(b, job, view_job_result(job));
		known->removed = true;
		return;
	}
	signal_progress(b, known, job, now_us);
}

void bus_jobs_update(struct bus *b, uint64_t now_us)
{
	for (size_t i = 0; i < b->n_jobs; i++)
		b->jobs[i].seen = false;
	for (size_t i = 0; b->view && i < b->view->n_jobs; i++)
		follow_job(b, &b->view->jobs[i], now_us);
	for (size_t i = b->n_jobs; i-- > 0;) {
		const struct view_job gone = { .id = b->jobs[i].id, .to_rank = -1,
					       .state = JOB_FAILED };

		if (b->jobs[i].seen)
			continue;
		if (!b->jobs[i].removed)
			signal_removed(b, &gone, "failed");
		forget_job(b, i);
	}
}
