/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_JOURNAL_H
#define REPORT_JOURNAL_H

/*
 * What tierd says in the journal, one function for each kind of entry (messages.h). Started by hand
 * rather than by systemd, the same goes to stderr as plain lines. For the main thread only.
 */

#include <sys/uio.h>

#include "model/history.h"
#include "report/view.h"

/* One entry about moved memory for a cgroup in this time: the rest is added up into the next one. */
#define JOURNAL_MOVED_US 10000000ULL
/* Cgroups whose moves are added up at a time; what is beyond is counted as dropped. */
#define JOURNAL_MOVED_MAX 256

void journal_started(size_t n_policies);
void journal_stopped(void);
void journal_reloaded(size_t n_policies);
/* @text: one line for each error. */
void journal_reload_failed(const char *text);
void journal_tracker_degraded(const char *reason);
void journal_tracker_recovered(void);
void journal_mover_stuck(void);
/* A round that failed; the same @error is told at most once in JOURNAL_MOVED_US. */
void journal_tick_failed(int error);
/* @trouble NULL: the bus is there. */
void journal_bus(const char *trouble);
void journal_job_finished(const struct view_job *job);

/* Adds a finished batch to its cgroup's next entry; journal_flush() writes it. */
void journal_outcome(const struct outcome *o);
/* Writes the entries that are due; call it after each tick. Names come from @view. */
void journal_flush(const struct view *view, uint64_t now_us);

/* For tests: entries go to @sink instead (NULL: back to the journal); forgets all that was added up. */
void journal_set_sink(int (*sink)(const struct iovec *fields, int n));

#endif
