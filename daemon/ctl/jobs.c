// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Jobs as the daemon describes them.
 */
#include <stdio.h>

#include "ctl/jobs.h"
#include "util.h"

/* The daemon lists at most 64. */
#define LIST_MAX 1024

#define FIELD(key, type, member) { key, type, offsetof(struct job, member), NULL }

static const struct dict_field fields[] = {
	FIELD("job_id", "t", id),
	FIELD("cgroup_id", "t", cgroup_id),
	FIELD("path", "ay", path),
	FIELD("name", "s", name),
	FIELD("to_rank", "i", to_rank),
	FIELD("state", "s", state),
	FIELD("asked_bytes", "t", asked_bytes),
	FIELD("done_bytes", "t", done_bytes),
	FIELD("moved_bytes", "t", moved_bytes),
	FIELD("results", "a{st}", results),
};

void job_done(struct job *job)
{
	dict_done(fields, ARRAY_SIZE(fields), job);
}

int job_read(sd_bus_message *m, struct job *ret)
{
	struct job job = { .to_rank = -1 };
	int r = dict_read(m, fields, ARRAY_SIZE(fields), &job);

	if (r >= 0 && (!job.path || !job.name || !job.state))
		r = -EBADMSG;
	if (r < 0) {
		job_done(&job);
		return r;
	}
	*ret = job;
	return 0;
}

void job_add_json(struct json_object *o, const struct job *job)
{
	json_add_u64(o, "job_id", job->id);
	json_add_u64(o, "cgroup_id", job->cgroup_id);
	json_add_cgroup(o, job->path);
	json_object_object_add(o, "to_tier",
			       job->to_rank < 0 ? NULL : json_object_new_int(job->to_rank));
	json_add_u64(o, "asked_bytes", job->asked_bytes);
	json_add_u64(o, "done_bytes", job->done_bytes);
	json_add_u64(o, "moved_bytes", job->moved_bytes);
	json_add_amounts(o, "results", &job->results);
}

void job_list_done(struct job_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		job_done(&l->jobs[i]);
	free(l->jobs);
	*l = (struct job_list){ 0 };
}

static int read_list(sd_bus_message *m, struct job_list *l)
{
	size_t capacity = 0;
	int r = sd_bus_message_enter_container(m, 'a', "a{sv}");

	while (r >= 0 && (r = sd_bus_message_at_end(m, false)) == 0) {
		r = array_reserve((void **)&l->jobs, &capacity, l->n, sizeof(l->jobs[0]), LIST_MAX);
		if (r >= 0)
			r = job_read(m, &l->jobs[l->n]);
		if (r >= 0)
			l->n++;
	}
	return r < 0 ? r : 0;
}

enum ctl_exit job_list_get(sd_bus *bus, struct job_list *ret)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct job_list l = { 0 };
	enum ctl_exit status = client_call(bus, "ListJobs", &reply, NULL);
	int r;

	if (status)
		return status;
	r = read_list(reply, &l);
	if (r < 0) {
		job_list_done(&l);
		return client_bad_reply(r);
	}
	*ret = l;
	return CTL_OK;
}

void job_print_target(int rank, char buf[32])
{
	if (rank < 0)
		snprintf(buf, 32, "hot up and cold down");
	else
		snprintf(buf, 32, "to tier %d", rank);
}

unsigned int job_percent(uint64_t done_bytes, uint64_t asked_bytes)
{
	if (done_bytes >= asked_bytes)
		return 100;
	/* In MiB steps where bytes would overflow. */
	if (asked_bytes >= UINT64_MAX / 100)
		return (unsigned int)((done_bytes >> 20) * 100 / (asked_bytes >> 20));
	return (unsigned int)(done_bytes * 100 / asked_bytes);
}
