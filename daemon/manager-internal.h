/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DAEMON_MANAGER_INTERNAL_H
#define DAEMON_MANAGER_INTERNAL_H

/* Shared by manager.c, manager-admin.c and manager-view.c only. */

#include <systemd/sd-event.h>

#include "act/act.h"
#include "decide/decide.h"
#include "jobs.h"
#include "manager.h"
#include "observe/observe.h"
#include "plan/plan.h"
#include "report/bus.h"
#include "report/view.h"

#define PAUSES_MAX 1024

struct manager {
	/* The stages and what lies between two ticks. */
	struct tier_machine *machine;
	struct observer *observer;
	struct actor *actor;
	struct history *history;
	struct policy_set *set;
	struct snapshot *snapshot; /* of the last tick; NULL after a reload until the next one */
	struct targets *targets;

	/* What the administrator did. */
	struct config_options config;
	char *config_error;
	uint64_t paused_ids[PAUSES_MAX];
	struct pauses pauses;
	struct jobs *jobs;

	/* What the outside sees. */
	struct bus *bus;
	struct view view;
	struct view_group *view_groups;
	char status[256];
	uint64_t ticks;
	uint64_t started_us;
	unsigned int degraded_ticks; /* in a row */
	bool reported_degraded;

	/* When to tick again. */
	sd_event *event;
	sd_event_source *timer;
	sd_event_source *outcomes_source;
	uint64_t interval_us;
	bool busy; /* the last tick planned a move */
	int tick_error; /* of the last tick, 0 when it went well */
};

/*
 * Replaces the view by one of the newest snapshot, or of none after a failed tick, and hands it to
 * the bus and to systemd.
 */
int manager_show(struct manager *m);
/* Sets what Status shows as the error of the last reload; takes @text over. */
void manager_set_config_error(struct manager *m, char *text);
/* Cgroups that are gone, or have no policy any more, are not paused any more either. */
void manager_forget_pauses(struct manager *m);
/* Ticks as soon as the event loop is free. */
void manager_tick_soon(struct manager *m);
/* Forgets the last snapshot and what points into it. */
void manager_forget_snapshot(struct manager *m);

#endif
