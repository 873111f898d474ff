/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_DAEMON_STATE_H
#define CTL_DAEMON_STATE_H

/* The answer of Status, as a struct. */

#include "ctl/client.h"
#include "ctl/dict.h"

#define STATE_TIERS_MAX 32
#define STATE_NODES_MAX 32

struct tier {
	uint32_t rank;
	size_t n_nodes;
	int32_t nodes[STATE_NODES_MAX];
	uint64_t total_bytes;
	uint64_t free_bytes;
	uint32_t latency_ns;
	uint32_t bandwidth_mib_s;
	int has_cpus;
};

struct tiers {
	size_t n;
	struct tier tiers[STATE_TIERS_MAX];
};

struct daemon_state {
	char *version;
	char *state;
	char *status_text;
	char *tracker;
	char *tracker_reason;
	uint64_t tracker_cpu_us;
	uint32_t tracked_spaces;
	char *order_source;
	struct tiers tiers;
	char *config_error;
	uint32_t cgroups;
	uint32_t processes;
	uint32_t jobs;
	uint64_t promoted_bytes;
	uint64_t demoted_bytes;
	uint64_t failed_bytes;
	uint64_t cpu_us;
	uint64_t rss_bytes;
	uint64_t ticks;
	uint64_t started_us;
};

enum ctl_exit daemon_state_get(sd_bus *bus, struct daemon_state *ret);
void daemon_state_done(struct daemon_state *s);

#endif
