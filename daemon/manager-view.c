// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the outside sees, put together from the newest snapshot, targets and history. Changes
 * nothing but the view.
 */
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "manager-internal.h"
#include "report/journal.h"
#include "util.h"

static uint64_t own_cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t own_rss_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * TIER_PAGE_BYTES;
}

static void add_moves(struct view_group *v, const struct group_counters *c)
{
	if (!c)
		return;
	v->promoted_bytes = tier_outcome_bytes(&c->moved[DIRECTION_PROMOTE], TIER_MOVED);
	v->demoted_bytes = tier_outcome_bytes(&c->moved[DIRECTION_DEMOTE], TIER_MOVED);
	v->failed_bytes = view_failed_bytes(&c->moved[DIRECTION_PROMOTE]) +
			  view_failed_bytes(&c->moved[DIRECTION_DEMOTE]);
	v->folios_split = c->moved[DIRECTION_PROMOTE].folios_lost +
			  c->moved[DIRECTION_DEMOTE].folios_lost;
	v->ping_pong_bytes = c->ping_pong_bytes;
	v->last_move_us = c->last_move_us;
}

/* The pauses as they are now: the snapshot may be older than the last of them. */
static bool is_paused(const struct manager *m, uint64_t cgroup_id)
{
	for (size_t i = 0; i < m->pauses.n_cgroup_ids; i++)
		if (m->paused_ids[i] == cgroup_id)
			return true;
	return false;
}

static void show_group(struct manager *m, size_t i, struct view_group *v)
{
	const struct snapshot_group *g = &m->snapshot->groups[i];
	const struct tier_topology *t = m->snapshot->topology;

	*v = (struct view_group){
		.cgroup_id = g->cgroup_id,
		.path = g->path,
		.policy = g->policy->file,
		.mode = g->policy->mode,
		.paused = is_paused(m, g->cgroup_id),
		.stall_us = g->usage.psi_some_us,
	};
	for (size_t n = 0; n < t->n_nodes; n++)
		v->bytes_by_tier[t->nodes[n].rank] += g->usage.anon_bytes[n] +
						      g->usage.file_bytes[n] +
						      g->usage.shmem_bytes[n];
	if (m->targets && i < m->targets->n_groups) {
		v->hot_bytes = m->targets->groups[i].hot_bytes;
		v->hot_fast_bytes = m->targets->groups[i].hot_fast_bytes;
		v->tracked_bytes = m->targets->groups[i].tracked_bytes;
	}
	add_moves(v, history_group(m->history, g->cgroup_id));
}

static int show_groups(struct manager *m)
{
	const struct snapshot *s = m->snapshot;
	struct view_group *groups = calloc(s->n_groups + 1, sizeof(*groups));

	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_groups; i++)
		show_group(m, i, &groups[i]);
	for (size_t i = 0; i < s->n_spaces; i++)
		groups[s->spaces[i].group].n_processes++;
	free(m->view_groups);
	m->view_groups = groups;
	m->view.groups = groups;
	m->view.n_groups = s->n_groups;
	return 0;
}

static enum view_state state_of(const struct manager *m)
{
	if (m->pauses.all)
		return STATE_PAUSED;
	if (!m->snapshot)
		return m->tick_error < 0 ? STATE_DEGRADED : STATE_STARTING;
	if (m->snapshot->n_groups == 0)
		return STATE_IDLE;
	return m->snapshot->tracker.tracker == TIER_TRACKER_NONE ? STATE_DEGRADED : STATE_RUNNING;
}

static void write_status(struct manager *m)
{
	uint64_t hot = 0, hot_fast = 0;

	for (size_t i = 0; i < m->view.n_groups; i++) {
		hot += m->view_groups[i].hot_bytes;
		hot_fast += m->view_groups[i].hot_fast_bytes;
	}
	switch (m->view.state) {
	case STATE_PAUSED:
		snprintf(m->status, sizeof(m->status), "Paused by the administrator");
		return;
	case STATE_IDLE:
		snprintf(m->status, sizeof(m->status), "No cgroup matches a policy");
		return;
	case STATE_DEGRADED:
		snprintf(m->status, sizeof(m->status), "Degraded: %s",
			 m->snapshot ? m->snapshot->tracker.reason : strerror(-m->tick_error));
		return;
	case STATE_STARTING:
		snprintf(m->status, sizeof(m->status), "Starting");
		return;
	case STATE_RUNNING:
	case STATE_COUNT:
		break;
	}
	snprintf(m->status, sizeof(m->status),
		 "%zu cgroups, %llu MiB hot, %llu MiB of it on the fastest tier", m->view.n_groups,
		 (unsigned long long)(hot / MiB), (unsigned long long)(hot_fast / MiB));
}

/* The tracker needs a moment after the start, and after a process of ours has gone. */
#define DEGRADED_TICKS 2

/* A change of the tracker's fortune is an event; the state itself is in every view. */
static void report_tracker(struct manager *m)
{
	if (m->view.state == STATE_DEGRADED && m->snapshot) {
		if (++m->degraded_ticks < DEGRADED_TICKS || m->reported_degraded)
			return;
		journal_tracker_degraded(m->snapshot->tracker.reason);
		m->reported_degraded = true;
	} else if (m->view.state == STATE_RUNNING) {
		m->degraded_ticks = 0;
		if (m->reported_degraded)
			journal_tracker_recovered();
		m->reported_degraded = false;
	}
}

static int show_snapshot(struct manager *m)
{
	int err = show_groups(m);

	if (err < 0)
		return err;
	m->view.tracker = m->snapshot->tracker;
	m->view.topology = m->snapshot->topology;
	return 0;
}

int manager_show(struct manager *m)
{
	uint64_t now_us = tier_machine_now_us(m->machine);
	int err = m->snapshot ? show_snapshot(m) : 0;

	m->view.jobs = jobs_list(m->jobs, &m->view.n_jobs);
	m->view.state = state_of(m);
	m->view.cpu_us = own_cpu_us();
	m->view.rss_bytes = own_rss_bytes();
	m->view.config_error = m->config_error;
	m->view.ticks = m->ticks;
	m->view.started_us = m->started_us;
	write_status(m);
	m->view.status_text = m->status;
	report_tracker(m);
	bus_update(m->bus, &m->view);
	/* After the bus has seen how they ended. */
	jobs_expire(m->jobs, now_us);
	m->view.jobs = jobs_list(m->jobs, &m->view.n_jobs);
	journal_flush(&m->view, now_us);
	sd_notifyf(false, "STATUS=%s", m->status);
	return err;
}
