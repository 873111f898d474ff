// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the answer of Status.
 */
#include "ctl/daemon-state.h"
#include "util.h"

static int read_tier(sd_bus_message *m, struct tier *t)
{
	const void *nodes;
	size_t size;
	int r = sd_bus_message_read(m, "u", &t->rank);

	if (r >= 0)
		r = sd_bus_message_read_array(m, 'i', &nodes, &size);
	if (r < 0)
		return r;
	t->n_nodes = MIN(size / sizeof(int32_t), (size_t)STATE_NODES_MAX);
	if (t->n_nodes)
		memcpy(t->nodes, nodes, t->n_nodes * sizeof(int32_t));
	return sd_bus_message_read(m, "ttuub", &t->total_bytes, &t->free_bytes, &t->latency_ns,
				   &t->bandwidth_mib_s, &t->has_cpus);
}

static int read_tiers(sd_bus_message *m, void *target)
{
	struct tiers *tiers = target;
	int r = sd_bus_message_enter_container(m, 'a', "(uaittuub)");

	tiers->n = 0;
	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'r', "uaittuub")) > 0) {
		if (tiers->n >= STATE_TIERS_MAX)
			return -E2BIG;
		r = read_tier(m, &tiers->tiers[tiers->n++]);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

#define FIELD(key, type, member) { key, type, offsetof(struct daemon_state, member), NULL }

static const struct dict_field fields[] = {
	FIELD("version", "s", version),
	FIELD("state", "s", state),
	FIELD("status_text", "s", status_text),
	FIELD("tracker", "s", tracker),
	FIELD("tracker_reason", "s", tracker_reason),
	FIELD("tracker_cpu_us", "t", tracker_cpu_us),
	FIELD("tracked_spaces", "u", tracked_spaces),
	FIELD("order_source", "s", order_source),
	{ "tiers", "a(uaittuub)", offsetof(struct daemon_state, tiers), read_tiers },
	FIELD("config_error", "s", config_error),
	FIELD("cgroups", "u", cgroups),
	FIELD("processes", "u", processes),
	FIELD("jobs", "u", jobs),
	FIELD("promoted_bytes", "t", promoted_bytes),
	FIELD("demoted_bytes", "t", demoted_bytes),
	FIELD("failed_bytes", "t", failed_bytes),
	FIELD("cpu_us", "t", cpu_us),
	FIELD("rss_bytes", "t", rss_bytes),
	FIELD("ticks", "t", ticks),
	FIELD("started_us", "t", started_us),
};

void daemon_state_done(struct daemon_state *s)
{
	dict_done(fields, ARRAY_SIZE(fields), s);
}

enum ctl_exit daemon_state_get(sd_bus *bus, struct daemon_state *ret)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct daemon_state s = { 0 };
	enum ctl_exit status = client_call(bus, "Status", &reply, NULL);
	int r;

	if (status)
		return status;
	r = dict_read(reply, fields, ARRAY_SIZE(fields), &s);
	if (r >= 0 && (!s.version || !s.state || !s.status_text || !s.tracker ||
		       !s.tracker_reason || !s.order_source || !s.config_error))
		r = -EBADMSG;
	if (r < 0) {
		daemon_state_done(&s);
		return client_bad_reply(r);
	}
	*ret = s;
	return CTL_OK;
}
