/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DAEMON_MANAGER_H
#define DAEMON_MANAGER_H

/*
 * The manager owns every stage and is the only one that sees them all:
 *
 *	observe --snapshot--> decide --targets--> plan --batches--> act --outcomes--> report
 *
 * manager.c holds the tick, manager-admin.c what an administrator asks for between two ticks.
 */

#include "config/config.h"
#include "model/policy.h"
#include "report/bus.h"
#include "tier.h"

struct manager;

/* Takes over @machine and @set, also when it fails. */
int manager_new(sd_event *event, struct tier_machine *machine, struct policy_set *set,
		const struct config_options *config, struct manager **ret);
struct manager *manager_free(struct manager *m);

/* One tick: five stages. Negative errno when a stage could not do its work; the next tick tries
 * again. */
int manager_tick(struct manager *m, uint64_t now_us);
/* A tick now, with what became of it on show. */
void manager_look(struct manager *m);

/* No mover has been in the kernel for longer than a mover can be: for the watchdog. */
bool manager_is_alive(struct manager *m);

/* What the bus may ask for; userdata is the manager. */
extern const struct bus_callbacks manager_bus_callbacks;

#endif
