// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl list: the managed cgroups and where their memory is.
 */
#include <stdio.h>

#include "ctl/cgroups.h"
#include "ctl/json.h"
#include "ctl/table.h"
#include "report/text.h"
#include "util.h"

DEFINE_CLEANUP(struct table *, table_free)

static const char *state_of(const struct cgroup *c)
{
	if (!strcmp(c->mode, "off"))
		return "off";
	if (c->paused)
		return "paused";
	if (!c->processes)
		return "no processes";
	return strcmp(c->mode, "observe") ? "tiered" : "observed";
}

static struct json_object *to_json(const struct cgroup *c)
{
	struct json_object *o = json_object_new_object();
	struct json_object *tiers = json_object_new_array();

	json_add_u64(o, "cgroup_id", c->id);
	json_add_cgroup(o, c->path);
	json_add_text(o, "policy", c->policy);
	json_add_text(o, "mode", c->mode);
	json_add_text(o, "state", state_of(c));
	json_add_bool(o, "paused", c->paused);
	json_add_u64(o, "processes", c->processes);
	for (size_t i = 0; i < c->tier_bytes.n; i++)
		json_object_array_add(tiers, json_object_new_uint64(c->tier_bytes.values[i]));
	json_object_object_add(o, "tier_bytes", tiers);
	json_add_u64(o, "hot_bytes", c->hot_bytes);
	json_add_u64(o, "hot_fast_bytes", c->hot_fast_bytes);
	json_add_u64(o, "tracked_bytes", c->tracked_bytes);
	json_add_u64(o, "promoted_bytes", c->promoted_bytes);
	json_add_u64(o, "demoted_bytes", c->demoted_bytes);
	json_add_u64(o, "failed_bytes", c->failed_bytes);
	json_add_u64(o, "ping_pong_bytes", c->ping_pong_bytes);
	json_add_u64(o, "folios_split", c->folios_split);
	json_add_u64(o, "last_move_us", c->last_move_us);
	json_add_u64(o, "stall_us", c->stall_us);
	return o;
}

static enum ctl_exit print_json(const struct cgroup_list *l)
{
	struct json_object *cgroups = json_object_new_array();
	struct json_object *o = json_new();

	for (size_t i = 0; i < l->n; i++)
		json_object_array_add(cgroups, to_json(&l->cgroups[i]));
	json_object_object_add(o, "cgroups", cgroups);
	return json_print(o);
}

static void add_row(struct table *t, const struct cgroup *c, size_t n_tiers)
{
	table_begin_row(t);
	table_add_text(t, c->name);
	table_add_text(t, c->mode);
	for (size_t i = 0; i < n_tiers; i++)
		table_add_size(t, i < c->tier_bytes.n ? c->tier_bytes.values[i] : 0);
	table_add_size(t, c->hot_bytes);
	table_add_size(t, c->hot_fast_bytes);
	table_add_size(t, c->promoted_bytes);
	table_add_size(t, c->demoted_bytes);
	table_add_text(t, state_of(c));
}

static void add_columns(struct table *t, size_t n_tiers)
{
	char heading[32];

	table_add_column(t, "CGROUP", false);
	table_add_column(t, "MODE", false);
	for (size_t i = 0; i < n_tiers; i++) {
		snprintf(heading, sizeof(heading), "TIER%zu", i);
		table_add_column(t, heading, true);
	}
	table_add_column(t, "HOT", true);
	table_add_column(t, "HOT-ON-FAST", true);
	table_add_column(t, "MOVED-UP", true);
	table_add_column(t, "MOVED-DOWN", true);
	table_add_column(t, "STATE", false);
}

static enum ctl_exit print_table(const struct cgroup_list *l, bool legend)
{
	cleanup(table_freep) struct table *t = table_new(legend);
	size_t n_tiers = 0;
	int r = -ENOMEM;

	for (size_t i = 0; i < l->n; i++)
		n_tiers = MAX(n_tiers, l->cgroups[i].tier_bytes.n);
	if (t) {
		add_columns(t, n_tiers);
		for (size_t i = 0; i < l->n; i++)
			add_row(t, &l->cgroups[i], n_tiers);
		r = table_print(t);
	}
	if (r < 0) {
		ctl_error("cannot print the table: %s", strerrordesc_np(-r));
		return CTL_FAILED;
	}
	if (legend)
		printf("\n%zu cgroup%s.\n", l->n, l->n == 1 ? "" : "s");
	return CTL_OK;
}

enum ctl_exit ctl_list(const struct ctl_options *options, int argc, char **argv)
{
	cleanup(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	cleanup(cgroup_list_done) struct cgroup_list l = { 0 };
	enum ctl_exit status = client_open(&bus);

	if (!status)
		status = cgroup_list_get(bus, &l);
	if (status)
		return status;
	return options->json ? print_json(&l) : print_table(&l, options->legend);
}
