/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_WATCH_H
#define CTL_WATCH_H

/* Follows one job to its end; the first Ctrl-C cancels it, the second stops waiting. */

#include "ctl/client.h"
#include "ctl/jobs.h"

struct watch;

/* Begins to listen; must come before the job is started, or its end could be missed. */
enum ctl_exit watch_new(sd_bus *bus, struct watch **ret);
struct watch *watch_free(struct watch *w);
/*
 * Waits for the end of job @id. CTL_OK: *ret_result ("done", "partial", "cancelled", "failed") and
 * *ret_job (to be released with job_done()) are set. Otherwise it was printed why not.
 */
enum ctl_exit watch_job(struct watch *w, uint64_t id, uint64_t asked_bytes, bool quiet,
			const char **ret_result, struct job *ret_job);

#endif
