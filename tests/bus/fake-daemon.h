/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_FAKE_DAEMON_H
#define TESTS_FAKE_DAEMON_H

/*
 * The process that offers org.tierd1 in the bus tests: the real report/bus.c over a view that is made
 * up, and callbacks that stand in for the manager. The test steers it over a socket, byte by byte.
 */

#include <stdio.h>
#include <sys/epoll.h>

#include "report/bus.h"
#include "util.h"

#define WEB_ID 101   /* does what it is asked to */
#define EVIL_ID 102  /* has a name that hurts; Rebalance says Busy */
#define OFF_ID 103   /* Mode=off */
#define EVIL_PATH "system.slice/e\x1b[31mvil\xff\x7f.service"
#define JOB_BYTES (64 * MiB)
struct server {
	struct bus *bus;
	struct view view;
	struct tier_topology topology;
	struct view_group groups[3];
	struct view_job jobs[BUS_JOBS_MAX * 2];
	uint64_t next_job;
	bool bad_config;
	bool runs_by_itself;
	bool ends_partly;
	bool holds_back;
};

static void server_view_init(struct server *s)
{
	s->topology = (struct tier_topology){
		.n_nodes = 3,
		.n_tiers = 2,
		.source = TIER_ORDER_KERNEL,
		.nodes = { { .id = 0, .rank = 0, .has_cpus = true, .total_bytes = GiB,
			     .free_bytes = 256 * MiB, .latency_ns = 80, .bandwidth_mib_s = 95367 },
			   { .id = 2, .rank = 1, .total_bytes = 2 * GiB, .free_bytes = GiB },
			   { .id = 5, .rank = 1 } },
	};
	s->groups[0] = (struct view_group){ .cgroup_id = EVIL_ID, .path = EVIL_PATH,
					    .policy = "/etc/tierd/policy.d/50-a.conf",
					    .mode = MODE_OBSERVE, .n_processes = 1 };
	s->groups[1] = (struct view_group){
		.cgroup_id = WEB_ID, .path = "system.slice/web.service",
		.policy = "/etc/tierd/policy.d/50-a.conf", .mode = MODE_AUTO, .n_processes = 2,
		.bytes_by_tier = { 100 * MiB, 156 * MiB }, .hot_bytes = 64 * MiB,
		.hot_fast_bytes = 48 * MiB, .tracked_bytes = 256 * MiB,
		.promoted_bytes = 48 * MiB, .demoted_bytes = 4 * MiB, .failed_bytes = 4096,
		.last_move_us = 7 * US_PER_S,
	};
	s->groups[2] = (struct view_group){ .cgroup_id = OFF_ID, .path = "user.slice",
					    .policy = "/etc/tierd/policy.d/60-b.conf",
					    .mode = MODE_OFF };
	s->view = (struct view){
		.state = STATE_RUNNING, .status_text = "all is well",
		.tracker = { .tracker = TIER_TRACKER_DAMON, .cpu_us = 1500000, .n_tracked = 3 },
		.topology = &s->topology, .n_groups = 3, .groups = s->groups, .jobs = s->jobs,
		.cpu_us = 2500000, .rss_bytes = 12 * MiB, .ticks = 9, .started_us = 1,
	};
	s->next_job = 1;
}

static int server_reload(void *userdata, char **ret_error_text)
{
	struct server *s = userdata;

	if (!s->bad_config)
		return 0;
	*ret_error_text = strdup("/etc/tierd/policy.d/50-a.conf:3: Mode: no such mode\nsecond");
	s->view.config_error = "/etc/tierd/policy.d/50-a.conf:3: Mode: no such mode";
	bus_update(s->bus, &s->view);
	return -EBADMSG;
}

static int server_pause(void *userdata, uint64_t cgroup_id, bool pause)
{
	struct server *s = userdata;

	if (cgroup_id && cgroup_id != WEB_ID)
		return -ENOENT;
	s->groups[1].paused = pause;
	bus_update(s->bus, &s->view);
	return 0;
}

static int server_rebalance(void *userdata, uint64_t cgroup_id, int rank, bool dry_run,
			    struct bus_plan_summary *ret, uint64_t *ret_job)
{
	struct server *s = userdata;

	if (cgroup_id == EVIL_ID)
		return -EBUSY;
	if (cgroup_id == OFF_ID)
		return -EOPNOTSUPP;
	if (cgroup_id != WEB_ID)
		return -ENOENT;
	*ret = (struct bus_plan_summary){ .bytes = { rank ? 0 : JOB_BYTES, rank ? JOB_BYTES : 0 },
					  .n_batches = 2 };
	if (dry_run || s->holds_back)
		ret->held_bytes[HELD_NO_ROOM] = MiB;
	if (dry_run || s->view.n_jobs >= ARRAY_SIZE(s->jobs))
		return 0;
	s->jobs[s->view.n_jobs++] = (struct view_job){
		.id = s->next_job, .cgroup_id = WEB_ID, .path = s->groups[1].path,
		.to_rank = rank, .state = JOB_RUNNING, .asked_bytes = JOB_BYTES,
	};
	*ret_job = s->next_job++;
	return 0;
}

static struct view_job *server_find_job(struct server *s, uint64_t id)
{
	for (size_t i = 0; i < s->view.n_jobs; i++)
		if (s->jobs[i].id == id && !view_job_is_final(&s->jobs[i]))
			return &s->jobs[i];
	return NULL;
}

static int server_cancel(void *userdata, uint64_t job_id)
{
	struct server *s = userdata;
	struct view_job *job = server_find_job(s, job_id);

	if (!job)
		return -ENOENT;
	job->state = JOB_CANCELLED;
	return 0;
}

/* One quarter further; the last one ends the job. */
static void server_advance(struct server *s)
{
	for (size_t i = 0; i < s->view.n_jobs; i++) {
		struct view_job *job = &s->jobs[i];

		if (view_job_is_final(job))
			continue;
		job->result_bytes[TIER_MOVED] += JOB_BYTES / 4;
		if (view_job_done_bytes(job) < JOB_BYTES)
			continue;
		job->state = JOB_DONE;
		if (s->ends_partly) {
			job->result_bytes[TIER_MOVED] -= MiB;
			job->result_bytes[TIER_BUSY] += MiB;
		}
	}
}

/* Commands of the test: one byte, answered with the same byte when it is done. */
static void server_command(struct server *s, char command)
{
	switch (command) {
	case 'a': /* jobs advance by themselves, every 100 ms */
		s->runs_by_itself = true;
		break;
	case 'm': /* or only when told to */
		s->runs_by_itself = false;
		break;
	case 'b':
		s->bad_config = true;
		break;
	case 'p':
		s->ends_partly = true;
		break;
	case 'h': /* a plan that can't hold everything */
		s->holds_back = true;
		break;
	case 'n': /* one step further */
		server_advance(s);
		break;
	case 'g': /* every job vanishes */
		s->view.n_jobs = 0;
		break;
	case 's':
		s->view.state = STATE_DEGRADED;
		snprintf(s->view.tracker.reason, sizeof(s->view.tracker.reason), "DAMON is taken");
		break;
	}
	bus_update(s->bus, &s->view);
}

static int server_on_command(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	char command;

	if (read(fd, &command, 1) != 1)
		return sd_event_exit(sd_event_source_get_event(source), 0);
	server_command(userdata, command);
	return write(fd, &command, 1) == 1 ? 0 : -EIO;
}

static int server_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct server *s = userdata;

	if (s->runs_by_itself)
		server_advance(s);
	bus_update(s->bus, &s->view);
	sd_event_source_set_time_relative(source, 100 * US_PER_MS);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static const struct bus_callbacks server_callbacks = {
	.reload = server_reload,
	.pause = server_pause,
	.rebalance = server_rebalance,
	.cancel = server_cancel,
};

static int server_run(const char *address, int control)
{
	static struct server s;
	sd_event *event = NULL;
	sd_bus *bus = NULL;
	int r = sd_event_new(&event);

	server_view_init(&s);
	if (r >= 0)
		r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, address);
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, true);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		r = bus_new(event, bus, &server_callbacks, &s, &s.bus);
	if (r >= 0)
		r = sd_event_add_io(event, NULL, control, EPOLLIN, server_on_command, &s);
	/* The first view comes by command or by this timer. */
	if (r >= 0)
		r = sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, 100 * US_PER_MS, 0,
					       server_on_timer, &s);
	if (r >= 0)
		r = sd_event_loop(event);
	bus_free(s.bus);
	sd_bus_flush_close_unref(bus);
	sd_event_unref(event);
	return r < 0;
}

#endif
