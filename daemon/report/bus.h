/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_BUS_H
#define REPORT_BUS_H

/*
 * tierd on D-Bus: org.tierd1 as org.tierd1.txt describes it. Shows the newest view, hands requests
 * to the callbacks, knows nothing about how they are carried out. No callback may block: each is
 * called from the event loop.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "model/plan.h"
#include "report/view.h"

/* Jobs that have not ended: of all senders together, and of one connection. */
#define BUS_JOBS_MAX 16
#define BUS_JOBS_PER_SENDER_MAX 4
/* JobProgress of one job at most this often. */
#define BUS_PROGRESS_US 250000ULL
/* A system bus that is not there is tried again this often: a connect() to a local socket. */
#define BUS_RETRY_US 2000000ULL
/* More cgroups than this are not listed in one reply: about 13 MB, the bus daemon takes 32. */
#define BUS_CGROUPS_MAX 16384

/* What a rebalance is going to do, or would do: the sums of a struct plan. */
struct bus_plan_summary {
	uint64_t bytes[DIRECTIONS];
	uint64_t held_bytes[HELD_BACKS];
	uint32_t n_batches;
};

/*
 * 0 or a negative errno, which becomes an error on the bus:
 *	-ENOENT NoSuchCgroup or NoSuchJob, -EINVAL InvalidTier, -EBUSY Busy, -E2BIG TooManyJobs,
 *	-EAGAIN NotReady (no look at the machine yet), -EOPNOTSUPP NotManaged (Mode=off);
 *	anything else Failed.
 */
struct bus_callbacks {
	/* On failure *ret_error_text is one line per error, to be freed by the bus, or NULL. */
	int (*reload)(void *userdata, char **ret_error_text);
	/* cgroup_id 0: everything */
	int (*pause)(void *userdata, uint64_t cgroup_id, bool pause);
	/* rank -1: hot up, cold down. *ret_job stays 0 when dry_run, or when there is nothing to move. */
	int (*rebalance)(void *userdata, uint64_t cgroup_id, int rank, bool dry_run,
			 struct bus_plan_summary *ret, uint64_t *ret_job);
	int (*cancel)(void *userdata, uint64_t job_id);
	/* Optional: the bus came (@trouble NULL) or is missing; once per change, for the journal. */
	void (*connection)(void *userdata, const char *trouble);
};

struct bus;

/*
 * bus_new - show up on @bus, or with NULL on the system bus
 *
 * A system bus that is missing, goes away or has the name taken is no failure: the daemon runs on
 * without it, @callbacks->connection says so, and it is tried again every BUS_RETRY_US. @callbacks
 * must outlive the bus.
 */
int bus_new(sd_event *event, sd_bus *bus, const struct bus_callbacks *callbacks, void *userdata,
	    struct bus **ret);
struct bus *bus_free(struct bus *b);

/*
 * bus_update - from now on, show @view
 *
 * @view stays the caller's and must stay valid until the next update or bus_free(). Call it after
 * each tick and, while a job runs, whenever one of its batches ended: JobProgress comes from here.
 */
void bus_update(struct bus *b, const struct view *view);

/* Connected, and owner of the name. */
bool bus_is_up(const struct bus *b);

#endif
