// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Structured journal entries. Loses entries rather than time: what can't be written is counted and
 * the count goes out with the next entry. Must not decide anything, nor be called from a mover.
 */
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <time.h>

#include "report/journal.h"
#include "report/messages.h"
#include "report/text.h"
#include "util.h"

#define MESSAGE_ID(name, id) [MESSAGE_##name] = id,
static const char *const message_ids[MESSAGE_COUNT] = { MESSAGES(MESSAGE_ID) };

/* Fields of one entry: MESSAGE, MESSAGE_ID, PRIORITY, SYSLOG_IDENTIFIER and up to twelve more. */
#define FIELDS_MAX 16

struct entry {
	int n;
	struct iovec fields[FIELDS_MAX];
};

static int (*entry_sink)(const struct iovec *fields, int n);
static uint64_t dropped;

/* For people at a terminal; @fields[0] is MESSAGE=. */
static int write_stderr(const struct iovec *fields)
{
	size_t skip = strlen("MESSAGE=");

	fprintf(stderr, "tierd: %.*s\n", (int)(fields[0].iov_len - skip),
		(const char *)fields[0].iov_base + skip);
	return 0;
}

static int write_entry(const struct iovec *fields, int n)
{
	if (entry_sink)
		return entry_sink(fields, n);
	/* Set by systemd when stdout or stderr go to the journal. */
	return getenv("JOURNAL_STREAM") ? sd_journal_sendv(fields, n) : write_stderr(fields);
}

__attribute__((__format__(__printf__, 2, 3))) static void entry_add(struct entry *e,
								    const char *format, ...)
{
	char *text;
	va_list ap;
	int n;

	if (e->n >= FIELDS_MAX)
		return;
	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	/* Without memory an entry says less. */
	if (n >= 0)
		e->fields[e->n++] = (struct iovec){ .iov_base = text, .iov_len = (size_t)n };
}

static void entry_done(struct entry *e)
{
	for (int i = 0; i < e->n; i++)
		free(e->fields[i].iov_base);
}

/* The MESSAGE= field comes first; finish() adds what every entry has and sends it. */
static void finish(struct entry *e, enum message id, int priority)
{
	entry_add(e, "MESSAGE_ID=%s", message_ids[id]);
	entry_add(e, "PRIORITY=%d", priority);
	entry_add(e, "SYSLOG_IDENTIFIER=tierd");
	if (dropped)
		entry_add(e, "TIERD_DROPPED=%llu", (unsigned long long)dropped);
	if (e->n && write_entry(e->fields, e->n) >= 0)
		dropped = 0;
	else
		dropped++;
}

/* Bytes of a cgroup's path, fit to be shown; never NULL. */
static char *printable_path(const char *path, uint64_t cgroup_id)
{
	char *s = NULL;

	if (path)
		return text_escape(*path ? path : "/", MAX(strlen(path), (size_t)1));
	if (asprintf(&s, "cgroup %llu", (unsigned long long)cgroup_id) < 0)
		return NULL;
	return s;
}

void journal_started(size_t n_policies)
{
	cleanup(entry_done) struct entry e = { 0 };

	entry_add(&e, "MESSAGE=tierd " TIERD_VERSION " started with %zu policy files", n_policies);
	entry_add(&e, "TIERD_POLICIES=%zu", n_policies);
	finish(&e, MESSAGE_STARTED, LOG_INFO);
}

void journal_stopped(void)
{
	cleanup(entry_done) struct entry e = { 0 };

	entry_add(&e, "MESSAGE=tierd stopped");
	finish(&e, MESSAGE_STOPPED, LOG_INFO);
}

void journal_reloaded(size_t n_policies)
{
	cleanup(entry_done) struct entry e = { 0 };

	entry_add(&e, "MESSAGE=Configuration read again, %zu policy files", n_policies);
	entry_add(&e, "TIERD_POLICIES=%zu", n_policies);
	finish(&e, MESSAGE_RELOADED, LOG_INFO);
}

void journal_reload_failed(const char *text)
{
	cleanup(entry_done) struct entry e = { 0 };

	entry_add(&e, "MESSAGE=Configuration not taken, the previous one stays in force: %.*s",
		  (int)strcspn(text, "\n"), text);
	entry_add(&e, "TIERD_ERRORS=%s", text);
	finish(&e, MESSAGE_RELOAD_FAILED, LOG_ERR);
}

void journal_tracker_degraded(const char *reason)
{
	cleanup(entry_done) struct entry e = { 0 };

	entry_add(&e, "MESSAGE=Degraded, nothing tells hot memory from cold: %s", reason);
	entry_add(&e, "TIERD_REASON=%s", reason);
	finish(&e, MESSAGE_TRACKER_DEGRADED, LOG_WARNING);
}

void journal_tracker_recovered(void)
{
	cleanup(entry_done) struct entry e = { 0 };

	entry_add(&e, "MESSAGE=Hot memory can be told from cold again");
	finish(&e, MESSAGE_TRACKER_RECOVERED, LOG_NOTICE);
}

void journal_mover_stuck(void)
{
	cleanup(entry_done) struct entry e = { 0 };

	entry_add(&e, "MESSAGE=A call that moves memory does not come back from the kernel");
	finish(&e, MESSAGE_MOVER_STUCK, LOG_CRIT);
}

static uint64_t clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

void journal_tick_failed(int error)
{
	static uint64_t last_us;
	static int last_error;
	cleanup(entry_done) struct entry e = { 0 };
	uint64_t now_us = clock_us();

	if (error == last_error && now_us - last_us < JOURNAL_MOVED_US) {
		dropped++;
		return;
	}
	last_us = now_us;
	last_error = error;
	entry_add(&e, "MESSAGE=Could not look at the machine: %s", strerror(-error));
	entry_add(&e, "TIERD_REASON=%s", strerror(-error));
	finish(&e, MESSAGE_TICK_FAILED, LOG_WARNING);
}

void journal_bus(const char *trouble)
{
	cleanup(entry_done) struct entry e = { 0 };

	if (!trouble) {
		entry_add(&e, "MESSAGE=On the system bus as org.tierd1");
		finish(&e, MESSAGE_BUS_CONNECTED, LOG_INFO);
		return;
	}
	entry_add(&e, "MESSAGE=Going on without the system bus: %s", trouble);
	entry_add(&e, "TIERD_REASON=%s", trouble);
	finish(&e, MESSAGE_BUS_MISSING, LOG_WARNING);
}

/* "moved=4096 busy=8192", those that are not 0. */
static void add_results(struct entry *e, const struct view_job *job)
{
	char text[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < TIER_RESULTS && n < sizeof(text); i++)
		if (job->result_bytes[i])
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s=%llu", n ? " " : "",
					      tier_result_name((enum tier_result)i),
					      (unsigned long long)job->result_bytes[i]);
	entry_add(e, "TIERD_RESULTS=%s", text);
}

void journal_job_finished(const struct view_job *job)
{
	cleanup(freep) char *path = printable_path(job->path, job->cgroup_id);
	cleanup(entry_done) struct entry e = { 0 };
	char moved[TEXT_NUMBER_MAX], asked[TEXT_NUMBER_MAX];

	entry_add(&e, "MESSAGE=Rebalance %llu of %s: %s, %s of %s moved",
		  (unsigned long long)job->id, path ? path : "?", view_job_result(job),
		  text_size(job->result_bytes[TIER_MOVED], moved),
		  text_size(job->asked_bytes, asked));
	entry_add(&e, "TIERD_JOB_ID=%llu", (unsigned long long)job->id);
	entry_add(&e, "TIERD_CGROUP=%s", path ? path : "?");
	entry_add(&e, "TIERD_CGROUP_ID=%llu", (unsigned long long)job->cgroup_id);
	entry_add(&e, "TIERD_RESULT=%s", view_job_result(job));
	entry_add(&e, "TIERD_ASKED_BYTES=%llu", (unsigned long long)job->asked_bytes);
	entry_add(&e, "TIERD_MOVED_BYTES=%llu",
		  (unsigned long long)job->result_bytes[TIER_MOVED]);
	add_results(&e, job);
	finish(&e, MESSAGE_JOB_FINISHED, LOG_INFO);
}

/* ---- moves, added up by cgroup --------------------------------------------------------------- */

struct moved {
	uint64_t cgroup_id;
	uint64_t bytes[DIRECTIONS];
	uint64_t failed_bytes;
	uint64_t call_max_us;
	uint32_t batches;      /* since the last entry; 0: nothing to tell */
	uint64_t last_entry_us; /* 0: none yet */
};

static struct moved moved[JOURNAL_MOVED_MAX];
static size_t n_moved;

static struct moved *moved_of(uint64_t cgroup_id)
{
	for (size_t i = 0; i < n_moved; i++)
		if (moved[i].cgroup_id == cgroup_id)
			return &moved[i];
	if (n_moved >= JOURNAL_MOVED_MAX)
		return NULL;
	moved[n_moved] = (struct moved){ .cgroup_id = cgroup_id };
	return &moved[n_moved++];
}

void journal_outcome(const struct outcome *o)
{
	struct moved *m = moved_of(o->batch.cgroup_id);

	if (!m) {
		dropped++;
		return;
	}
	m->batches++;
	m->failed_bytes += o->error < 0 ? o->batch.bytes : view_failed_bytes(&o->result);
	m->call_max_us = MAX(m->call_max_us, o->result.call_max_us);
	if (o->batch.direction < DIRECTIONS)
		m->bytes[o->batch.direction] += tier_outcome_bytes(&o->result, TIER_MOVED);
}

static const char *path_of(const struct view *v, uint64_t cgroup_id)
{
	for (size_t i = 0; v && i < v->n_groups; i++)
		if (v->groups[i].cgroup_id == cgroup_id)
			return v->groups[i].path;
	return NULL;
}

static void write_moved(const struct moved *m, const char *known_path)
{
	cleanup(freep) char *path = printable_path(known_path, m->cgroup_id);
	cleanup(entry_done) struct entry e = { 0 };
	char up[TEXT_NUMBER_MAX], down[TEXT_NUMBER_MAX], failed[TEXT_NUMBER_MAX];

	entry_add(&e, "MESSAGE=%s: %s moved up, %s down, %s not movable", path ? path : "?",
		  text_size(m->bytes[DIRECTION_PROMOTE], up),
		  text_size(m->bytes[DIRECTION_DEMOTE], down), text_size(m->failed_bytes, failed));
	entry_add(&e, "TIERD_CGROUP=%s", path ? path : "?");
	entry_add(&e, "TIERD_CGROUP_ID=%llu", (unsigned long long)m->cgroup_id);
	entry_add(&e, "TIERD_PROMOTED_BYTES=%llu",
		  (unsigned long long)m->bytes[DIRECTION_PROMOTE]);
	entry_add(&e, "TIERD_DEMOTED_BYTES=%llu", (unsigned long long)m->bytes[DIRECTION_DEMOTE]);
	entry_add(&e, "TIERD_FAILED_BYTES=%llu", (unsigned long long)m->failed_bytes);
	entry_add(&e, "TIERD_BATCHES=%u", m->batches);
	entry_add(&e, "TIERD_CALL_MAX_USEC=%llu", (unsigned long long)m->call_max_us);
	finish(&e, MESSAGE_MEMORY_MOVED, LOG_INFO);
}

void journal_flush(const struct view *view, uint64_t now_us)
{
	for (size_t i = n_moved; i-- > 0;) {
		struct moved *m = &moved[i];

		if (m->last_entry_us && now_us - m->last_entry_us < JOURNAL_MOVED_US)
			continue;
		if (!m->batches) {
			*m = moved[--n_moved];
			continue;
		}
		write_moved(m, path_of(view, m->cgroup_id));
		*m = (struct moved){ .cgroup_id = m->cgroup_id, .last_entry_us = now_us };
	}
}

void journal_set_sink(int (*sink)(const struct iovec *fields, int n))
{
	entry_sink = sink;
	n_moved = 0;
	dropped = 0;
}
