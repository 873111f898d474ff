/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_JOBS_H
#define CTL_JOBS_H

/* The dictionary of a job, as ListJobs and the signals carry it. */

#include "ctl/client.h"
#include "ctl/dict.h"
#include "ctl/json.h"

struct job {
	uint64_t id;
	uint64_t cgroup_id;
	char *path;
	char *name;
	int32_t to_rank;
	char *state;
	uint64_t asked_bytes;
	uint64_t done_bytes;
	uint64_t moved_bytes;
	struct dict_amounts results;
};

int job_read(sd_bus_message *m, struct job *ret);
void job_done(struct job *job);
/* Into @o: all of it but the state. */
void job_add_json(struct json_object *o, const struct job *job);

struct job_list {
	size_t n;
	struct job *jobs;
};

enum ctl_exit job_list_get(sd_bus *bus, struct job_list *ret);
void job_list_done(struct job_list *l);

/* What "--to TIER" or the lack of it means, for people: "to tier 1", "hot up and cold down". */
void job_print_target(int rank, char buf[32]);
/* done / asked in percent; 100 when nothing was asked. */
unsigned int job_percent(uint64_t done_bytes, uint64_t asked_bytes);

#endif
