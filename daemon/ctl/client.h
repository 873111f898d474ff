/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

/* tierctl's end of the bus. Errors are printed here, once, in words for people. */

#include <stdint.h>
#include <systemd/sd-bus.h>

#include "ctl/ctl.h"

#define CLIENT_NAME "org.tierd1"
#define CLIENT_PATH "/org/tierd1"
#define CLIENT_INTERFACE "org.tierd1.Manager"

enum ctl_exit client_open(sd_bus **ret);
/*
 * Calls a method of the manager with arguments as for sd_bus_message_append(); never starts tierd.
 * @ret_reply may be NULL.
 */
enum ctl_exit client_call(sd_bus *bus, const char *method, sd_bus_message **ret_reply,
			  const char *types, ...);
/* The reply was not what this tierctl understands. */
enum ctl_exit client_bad_reply(int error);
/*
 * The id of the cgroup that people call @name: a path below /sys/fs/cgroup in any spelling, or the
 * last component of a managed cgroup's path.
 */
enum ctl_exit client_find_cgroup(sd_bus *bus, const char *name, uint64_t *ret_id);

#endif
