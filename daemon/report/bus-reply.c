// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the view to messages: the dictionaries of org.tierd1.txt. Only appends; must not look
 * anything up outside the view and must not decide who may see it.
 */
#include "report/bus-internal.h"
#include "report/text.h"
#include "util.h"

static int append_u32(sd_bus_message *m, const char *key, uint32_t v)
{
	return sd_bus_message_append(m, "{sv}", key, "u", v);
}

static int append_u64(sd_bus_message *m, const char *key, uint64_t v)
{
	return sd_bus_message_append(m, "{sv}", key, "t", v);
}

/* @s is ours or was checked by whoever made it; anything else goes through append_path(). */
static int append_string(sd_bus_message *m, const char *key, const char *s)
{
	return sd_bus_message_append(m, "{sv}", key, "s", s ? s : "");
}

/* Text that comes from files or from the machine: the bus takes UTF-8 only. */
static int append_escaped(sd_bus_message *m, const char *key, const char *s)
{
	cleanup(freep) char *printable = text_escape(s ? s : "", s ? strlen(s) : 0);

	return printable ? append_string(m, key, printable) : -ENOMEM;
}

static int append_lines(sd_bus_message *m, const char *key, const char *s)
{
	cleanup(freep) char *printable = text_escape_lines(s, strlen(s));

	return printable ? append_string(m, key, printable) : -ENOMEM;
}

static int append_bytes_variant(sd_bus_message *m, const char *s)
{
	int r = sd_bus_message_open_container(m, 'v', "ay");

	if (r >= 0)
		r = sd_bus_message_append_array(m, 'y', s, strlen(s));
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r;
}

static int append_path(sd_bus_message *m, const char *path)
{
	int r = sd_bus_message_open_container(m, 'e', "sv");

	if (r >= 0)
		r = sd_bus_message_append(m, "s", "path");
	if (r >= 0)
		r = append_bytes_variant(m, path ? path : "");
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	/* The root has no name; "/" is what people call it. */
	return r < 0 ? r : append_escaped(m, "name", path && *path ? path : "/");
}

/* Opens "key: variant of @type" in a dictionary; close_entry() closes what this opened. */
static int open_entry(sd_bus_message *m, const char *key, const char *type)
{
	int r = sd_bus_message_open_container(m, 'e', "sv");

	if (r >= 0)
		r = sd_bus_message_append(m, "s", key);
	return r < 0 ? r : sd_bus_message_open_container(m, 'v', type);
}

static int close_entry(sd_bus_message *m)
{
	int r = sd_bus_message_close_container(m);

	return r < 0 ? r : sd_bus_message_close_container(m);
}

/* The ranks' nodes; by convention of the topology, nodes without memory have no tier. */
static int append_tier(sd_bus_message *m, const struct tier_topology *t, unsigned int rank)
{
	const struct tier_node *first = NULL;
	uint64_t total_bytes = 0, free_bytes = 0;
	int32_t ids[TIER_NODES_MAX];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < t->n_nodes; i++) {
		const struct tier_node *node = &t->nodes[i];

		if (node->rank != rank || !node->total_bytes)
			continue;
		if (!first || (node->latency_ns && node->latency_ns < first->latency_ns))
			first = node;
		ids[n++] = node->id;
		total_bytes += node->total_bytes;
		free_bytes += node->free_bytes;
	}
	if (!first)
		return 0;
	r = sd_bus_message_open_container(m, 'r', "uaittuub");
	if (r >= 0)
		r = sd_bus_message_append(m, "u", rank);
	if (r >= 0)
		r = sd_bus_message_append_array(m, 'i', ids, n * sizeof(ids[0]));
	if (r >= 0)
		r = sd_bus_message_append(m, "ttuub", total_bytes, free_bytes, first->latency_ns,
					  first->bandwidth_mib_s, first->has_cpus);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int bus_append_tiers(sd_bus_message *m, const struct bus *b)
{
	const struct tier_topology *t = b->view ? b->view->topology : NULL;
	int r = sd_bus_message_open_container(m, 'a', "(uaittuub)");

	for (unsigned int rank = 0; r >= 0 && t && rank < TIER_NODES_MAX; rank++)
		r = append_tier(m, t, rank);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static const char *order_source_name(const struct view *v)
{
	if (!v || !v->topology)
		return "";
	switch (v->topology->source) {
	case TIER_ORDER_OVERRIDE:
		return "override";
	case TIER_ORDER_KERNEL:
		return "kernel";
	case TIER_ORDER_ATTRIBUTES:
		return "attributes";
	case TIER_ORDER_DISTANCE:
		return "distance";
	case TIER_ORDER_SINGLE:
		return "single";
	}
	return "";
}

static int append_sums(sd_bus_message *m, const struct view *v)
{
	uint64_t promoted = 0, demoted = 0, failed = 0;
	uint32_t processes = 0;
	int r;

	for (size_t i = 0; v && i < v->n_groups; i++) {
		promoted += v->groups[i].promoted_bytes;
		demoted += v->groups[i].demoted_bytes;
		failed += v->groups[i].failed_bytes;
		processes += v->groups[i].n_processes;
	}
	r = append_u32(m, "cgroups", v ? (uint32_t)v->n_groups : 0);
	if (r >= 0)
		r = append_u32(m, "processes", processes);
	if (r >= 0)
		r = append_u64(m, "promoted_bytes", promoted);
	if (r >= 0)
		r = append_u64(m, "demoted_bytes", demoted);
	return r < 0 ? r : append_u64(m, "failed_bytes", failed);
}

static int append_self(sd_bus_message *m, const struct view *v)
{
	uint32_t jobs = 0;
	int r;

	for (size_t i = 0; v && i < v->n_jobs; i++)
		jobs += !view_job_is_final(&v->jobs[i]);
	r = append_u32(m, "jobs", jobs);
	if (r >= 0)
		r = append_u64(m, "cpu_us", v ? v->cpu_us : 0);
	if (r >= 0)
		r = append_u64(m, "rss_bytes", v ? v->rss_bytes : 0);
	if (r >= 0)
		r = append_u64(m, "ticks", v ? v->ticks : 0);
	return r < 0 ? r : append_u64(m, "started_us", v ? v->started_us : 0);
}

static int append_state(sd_bus_message *m, const struct bus *b)
{
	static const char *const keys[][2] = {
		{ "state", "State" },
		{ "status_text", "StatusText" },
		{ "tracker", "Tracker" },
		{ "tracker_reason", "TrackerReason" },
		{ "config_error", "ConfigError" },
	};
	int r = append_string(m, "version", TIERD_VERSION);

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(keys); i++)
		r = append_lines(m, keys[i][0], bus_property_text(b, keys[i][1]));
	if (r >= 0)
		r = append_u64(m, "tracker_cpu_us", b->view ? b->view->tracker.cpu_us : 0);
	if (r >= 0)
		r = append_u32(m, "tracked_spaces", b->view ? b->view->tracker.n_tracked : 0);
	return r < 0 ? r : append_string(m, "order_source", order_source_name(b->view));
}

int bus_append_status(sd_bus_message *m, const struct bus *b)
{
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	if (r >= 0)
		r = append_state(m, b);
	if (r >= 0)
		r = open_entry(m, "tiers", "a(uaittuub)");
	if (r >= 0)
		r = bus_append_tiers(m, b);
	if (r >= 0)
		r = close_entry(m);
	if (r >= 0)
		r = append_sums(m, b->view);
	if (r >= 0)
		r = append_self(m, b->view);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_tier_bytes(sd_bus_message *m, const struct view *v, const struct view_group *g)
{
	size_t n = 0;
	int r;

	for (size_t i = 0; v->topology && i < v->topology->n_nodes; i++)
		if (v->topology->nodes[i].total_bytes)
			n = MAX(n, (size_t)v->topology->nodes[i].rank + 1);
	n = MIN(n, (size_t)TIER_NODES_MAX);
	r = open_entry(m, "tier_bytes", "at");
	if (r >= 0)
		r = sd_bus_message_append_array(m, 't', g->bytes_by_tier, n * sizeof(uint64_t));
	return r < 0 ? r : close_entry(m);
}

int bus_append_group(sd_bus_message *m, const struct view *v, const struct view_group *g)
{
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "hot_bytes", g->hot_bytes },           { "hot_fast_bytes", g->hot_fast_bytes },
		{ "tracked_bytes", g->tracked_bytes },   { "promoted_bytes", g->promoted_bytes },
		{ "demoted_bytes", g->demoted_bytes },   { "failed_bytes", g->failed_bytes },
		{ "ping_pong_bytes", g->ping_pong_bytes }, { "folios_split", g->folios_split },
		{ "last_move_us", g->last_move_us },     { "stall_us", g->stall_us },
	};
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	if (r >= 0)
		r = append_u64(m, "cgroup_id", g->cgroup_id);
	if (r >= 0)
		r = append_path(m, g->path);
	if (r >= 0)
		r = append_escaped(m, "policy", g->policy);
	if (r >= 0)
		r = append_string(m, "mode", policy_mode_name(g->mode));
	if (r >= 0)
		r = sd_bus_message_append(m, "{sv}", "paused", "b", (int)g->paused);
	if (r >= 0)
		r = append_u32(m, "processes", g->n_processes);
	if (r >= 0)
		r = append_tier_bytes(m, v, g);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(numbers); i++)
		r = append_u64(m, numbers[i].key, numbers[i].value);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_results(sd_bus_message *m, const struct view_job *job)
{
	int r = open_entry(m, "results", "a{st}");

	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "{st}");
	for (size_t i = 0; r >= 0 && i < TIER_RESULTS; i++)
		if (job->result_bytes[i])
			r = sd_bus_message_append(m, "{st}", tier_result_name((enum tier_result)i),
						  job->result_bytes[i]);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r < 0 ? r : close_entry(m);
}

int bus_append_job(sd_bus_message *m, const struct view_job *job)
{
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	if (r >= 0)
		r = append_u64(m, "job_id", job->id);
	if (r >= 0)
		r = append_u64(m, "cgroup_id", job->cgroup_id);
	if (r >= 0)
		r = append_path(m, job->path);
	if (r >= 0)
		r = sd_bus_message_append(m, "{sv}", "to_rank", "i", (int32_t)job->to_rank);
	if (r >= 0)
		r = append_string(m, "state", view_job_state_name(job->state));
	if (r >= 0)
		r = append_u64(m, "asked_bytes", job->asked_bytes);
	if (r >= 0)
		r = append_u64(m, "done_bytes", view_job_done_bytes(job));
	if (r >= 0)
		r = append_u64(m, "moved_bytes", job->result_bytes[TIER_MOVED]);
	if (r >= 0)
		r = append_results(m, job);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_held(sd_bus_message *m, const struct bus_plan_summary *s)
{
	int r = open_entry(m, "held_bytes", "a{st}");

	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "{st}");
	for (size_t i = 0; r >= 0 && i < HELD_BACKS; i++)
		if (s->held_bytes[i])
			r = sd_bus_message_append(m, "{st}", held_back_name((enum held_back)i),
						  s->held_bytes[i]);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	return r < 0 ? r : close_entry(m);
}

int bus_append_summary(sd_bus_message *m, const struct bus_plan_summary *s)
{
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	if (r >= 0)
		r = append_u64(m, "promote_bytes", s->bytes[DIRECTION_PROMOTE]);
	if (r >= 0)
		r = append_u64(m, "demote_bytes", s->bytes[DIRECTION_DEMOTE]);
	if (r >= 0)
		r = append_u64(m, "asked_bytes",
			       s->bytes[DIRECTION_PROMOTE] + s->bytes[DIRECTION_DEMOTE]);
	if (r >= 0)
		r = append_u32(m, "batches", s->n_batches);
	if (r >= 0)
		r = append_held(m, s);
	return r < 0 ? r : sd_bus_message_close_container(m);
}
