/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_BUS_INTERNAL_H
#define REPORT_BUS_INTERNAL_H

/* Shared by the bus-*.c files only: bus.c connects, -manager.c answers, -reply.c writes, -jobs.c
 * follows jobs. */

#include "report/bus.h"

#define BUS_NAME "org.tierd1"
#define BUS_PATH "/org/tierd1"
#define BUS_INTERFACE "org.tierd1.Manager"
#define BUS_ERROR(name) "org.tierd1.Error." name

/* Jobs of one view that are followed: those that run, and some that have just ended. */
#define BUS_JOBS_KNOWN_MAX 64

struct bus_job {
	uint64_t id;
	char *sender;             /* unique name; NULL when it was not started over the bus */
	uint64_t last_progress_us; /* 0: none yet */
	uint64_t last_done_bytes;
	bool seen;                /* in the view that is being shown */
	bool removed;             /* JobRemoved is out; kept until it leaves the views */
};

struct bus {
	sd_event *event;
	sd_bus *bus;              /* NULL while there is no connection */
	bool own;                 /* the system bus, made and made again by us */
	bool up;
	sd_bus_slot *object;
	sd_bus_slot *disconnected;
	sd_bus_slot *name;
	sd_event_source *retry;
	char *trouble;            /* last told to callbacks->connection; "" when all was well */
	const struct bus_callbacks *callbacks;
	void *userdata;
	const struct view *view;  /* NULL before the first update */
	uint64_t announced[5];    /* fingerprints of the announced properties, as last announced */
	size_t n_jobs;
	struct bus_job jobs[BUS_JOBS_KNOWN_MAX];
};

extern const sd_bus_vtable bus_manager_vtable[];

/* Properties; the array ends with NULL. In the order of bus.announced. */
extern const char *const bus_announced_properties[];
/* Value of an announced property: never NULL. */
const char *bus_property_text(const struct bus *b, const char *property);

/* Writers: append to @m what org.tierd1.txt says. */
int bus_append_status(sd_bus_message *m, const struct bus *b);
int bus_append_tiers(sd_bus_message *m, const struct bus *b);
int bus_append_group(sd_bus_message *m, const struct view *v, const struct view_group *g);
int bus_append_job(sd_bus_message *m, const struct view_job *job);
int bus_append_summary(sd_bus_message *m, const struct bus_plan_summary *s);

const struct view_job *bus_find_view_job(const struct bus *b, uint64_t id);
/* Whether one more job may be started; -E2BIG. */
int bus_jobs_admit(const struct bus *b, const char *sender);
/* Remembers a job that was just started. */
void bus_jobs_add(struct bus *b, uint64_t id, const char *sender);
/* Compares the jobs with those of the new view and sends the signals that follow from it. */
void bus_jobs_update(struct bus *b, uint64_t now_us);
void bus_jobs_done(struct bus *b);

#endif
