// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl status: how the daemon is, on one screen.
 */
#include <stdio.h>
#include <time.h>

#include "ctl/daemon-state.h"
#include "ctl/jobs.h"
#include "ctl/json.h"
#include "report/text.h"
#include "util.h"

/* Labels are right-aligned to this column. */
#define LABEL_WIDTH 12

static struct json_object *tier_to_json(const struct tier *t)
{
	struct json_object *o = json_object_new_object();
	struct json_object *nodes = json_object_new_array();

	json_add_u64(o, "tier", t->rank);
	for (size_t i = 0; i < t->n_nodes; i++)
		json_object_array_add(nodes, json_object_new_int(t->nodes[i]));
	json_object_object_add(o, "nodes", nodes);
	json_add_u64(o, "total_bytes", t->total_bytes);
	json_add_u64(o, "free_bytes", t->free_bytes);
	json_add_u64(o, "latency_ns", t->latency_ns);
	json_add_u64(o, "bandwidth_mib_s", t->bandwidth_mib_s);
	json_add_bool(o, "has_cpus", t->has_cpus);
	return o;
}

static void add_lists(struct json_object *o, const struct daemon_state *s, const struct job_list *l)
{
	struct json_object *tiers = json_object_new_array();
	struct json_object *jobs = json_object_new_array();

	for (size_t i = 0; i < s->tiers.n; i++)
		json_object_array_add(tiers, tier_to_json(&s->tiers.tiers[i]));
	json_object_object_add(o, "tiers", tiers);
	for (size_t i = 0; i < l->n; i++) {
		struct json_object *job = json_object_new_object();

		job_add_json(job, &l->jobs[i]);
		json_add_text(job, "state", l->jobs[i].state);
		json_object_array_add(jobs, job);
	}
	json_object_object_add(o, "jobs", jobs);
}

static enum ctl_exit print_json(const struct daemon_state *s, const struct job_list *l)
{
	struct json_object *o = json_new();

	json_add_text(o, "tierd_version", s->version);
	json_add_text(o, "state", s->state);
	json_add_text(o, "status_text", s->status_text);
	json_add_text(o, "tracker", s->tracker);
	json_add_text(o, "tracker_reason", s->tracker_reason);
	json_add_u64(o, "tracker_cpu_us", s->tracker_cpu_us);
	json_add_u64(o, "tracked_spaces", s->tracked_spaces);
	json_add_text(o, "order_source", s->order_source);
	json_add_text(o, "config_error", *s->config_error ? s->config_error : NULL);
	json_add_u64(o, "cgroups", s->cgroups);
	json_add_u64(o, "processes", s->processes);
	json_add_u64(o, "promoted_bytes", s->promoted_bytes);
	json_add_u64(o, "demoted_bytes", s->demoted_bytes);
	json_add_u64(o, "failed_bytes", s->failed_bytes);
	json_add_u64(o, "cpu_us", s->cpu_us);
	json_add_u64(o, "rss_bytes", s->rss_bytes);
	json_add_u64(o, "ticks", s->ticks);
	json_add_u64(o, "started_us", s->started_us);
	add_lists(o, s, l);
	return json_print(o);
}

/* What comes from the bus is shown escaped, whoever it was that escaped it before. */
static void print_line(const char *label, const char *text)
{
	cleanup(freep) char *printable = text_escape(text, strlen(text));

	printf("%*s%s %s\n", LABEL_WIDTH, label, *label ? ":" : " ", printable ? printable : "");
}

static void print_lines(const char *label, const char *text)
{
	for (const char *line = text; *line; label = "") {
		size_t n = strcspn(line, "\n");
		cleanup(freep) char *one = strndup(line, n);

		print_line(label, one ? one : "");
		line += n + (line[n] == '\n');
	}
}

static void print_tier(const struct tier *t)
{
	char label[TEXT_NUMBER_MAX], free_text[TEXT_NUMBER_MAX], total_text[TEXT_NUMBER_MAX];

	snprintf(label, sizeof(label), "Tier %u", t->rank);
	printf("%*s: node", LABEL_WIDTH, label);
	for (size_t i = 0; i < t->n_nodes; i++)
		printf("%s%d", i ? "," : " ", t->nodes[i]);
	printf("%s, %s of %s free", t->has_cpus ? "" : " (no CPUs)",
	       text_size(t->free_bytes, free_text), text_size(t->total_bytes, total_text));
	if (t->latency_ns)
		printf(", %u ns", t->latency_ns);
	if (t->bandwidth_mib_s)
		printf(", %u MiB/s", t->bandwidth_mib_s);
	putchar('\n');
}

static void print_tracker(const struct daemon_state *s)
{
	char cpu[TEXT_NUMBER_MAX];

	printf("%*s: %s, %u address spaces, %s of CPU\n", LABEL_WIDTH, "Tracker", s->tracker,
	       s->tracked_spaces, text_span(s->tracker_cpu_us, cpu));
	if (*s->tracker_reason)
		print_line("", s->tracker_reason);
}

static void print_job(const struct job *job)
{
	char target[32], asked[TEXT_NUMBER_MAX], label[TEXT_NUMBER_MAX + 4];

	job_print_target(job->to_rank, target);
	snprintf(label, sizeof(label), "Job %llu", (unsigned long long)job->id);
	printf("%*s: %s, %s, %s, %u%% of %s\n", LABEL_WIDTH, label, job->name, target, job->state,
	       job_percent(job->done_bytes, job->asked_bytes),
	       text_size(job->asked_bytes, asked));
}

static uint64_t clock_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

static void print_self(const struct daemon_state *s)
{
	char cpu[TEXT_NUMBER_MAX], rss[TEXT_NUMBER_MAX], age[TEXT_NUMBER_MAX];
	uint64_t now_us = clock_us();

	printf("%*s: version %s", LABEL_WIDTH, "tierd", s->version);
	/* 0 before the first look at the machine */
	if (s->started_us && s->started_us < now_us)
		printf(", up for %s", text_span(now_us - s->started_us, age));
	printf(", %s of CPU, %s of memory\n", text_span(s->cpu_us, cpu),
	       text_size(s->rss_bytes, rss));
}

static void print_human(const struct daemon_state *s, const struct job_list *l)
{
	char up[TEXT_NUMBER_MAX], down[TEXT_NUMBER_MAX], failed[TEXT_NUMBER_MAX];

	print_line("State", s->state);
	if (*s->status_text)
		print_line("Status", s->status_text);
	for (size_t i = 0; i < s->tiers.n; i++)
		print_tier(&s->tiers.tiers[i]);
	print_tracker(s);
	printf("%*s: %u, with %u processes\n", LABEL_WIDTH, "Cgroups", s->cgroups, s->processes);
	printf("%*s: %s up, %s down, %s not movable\n", LABEL_WIDTH, "Moved",
	       text_size(s->promoted_bytes, up), text_size(s->demoted_bytes, down),
	       text_size(s->failed_bytes, failed));
	for (size_t i = 0; i < l->n; i++)
		print_job(&l->jobs[i]);
	print_self(s);
	if (*s->config_error)
		print_lines("Last reload", s->config_error);
}

enum ctl_exit ctl_status(const struct ctl_options *options, int argc, char **argv)
{
	cleanup(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	cleanup(daemon_state_done) struct daemon_state s = { 0 };
	cleanup(job_list_done) struct job_list l = { 0 };
	enum ctl_exit status = client_open(&bus);

	if (!status)
		status = daemon_state_get(bus, &s);
	if (!status)
		status = job_list_get(bus, &l);
	if (status)
		return status;
	if (options->json)
		return print_json(&s, &l);
	print_human(&s, &l);
	return CTL_OK;
}
