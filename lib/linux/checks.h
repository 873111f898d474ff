/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_LINUX_CHECKS_H
#define TIER_LINUX_CHECKS_H

/*
 * What the machine we run on must offer us before it is worth a try. Each gives one line for people
 * with its refusal, which stays valid in the calling thread.
 */

#include "tier.h"

/* -ENOTSUP pages are not 4 KiB; -EACCES capabilities are missing, and which. */
int check_host(int proc_fd, const char **ret_why);
/* -EACCES when our own cpuset leaves out a node with memory: every move there would fail. */
int check_mems_allowed(int proc_fd, const struct tier_topology *t, const char **ret_why);

/* The same on the text of /proc/self/status; for tests. */
int check_capabilities(const char *status, size_t size, const char **ret_why);
int check_mems_allowed_text(const char *status, size_t size, const struct tier_topology *t,
			    const char **ret_why);

#endif
