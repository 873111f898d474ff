/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_CGROUPS_H
#define CTL_CGROUPS_H

/* ListCgroups as structs. */

#include "ctl/client.h"
#include "ctl/dict.h"

struct cgroup {
	uint64_t id;
	char *path;   /* bytes, may be anything */
	char *name;   /* for showing */
	char *policy;
	char *mode;
	int paused;
	uint32_t processes;
	struct dict_numbers tier_bytes;
	uint64_t hot_bytes;
	uint64_t hot_fast_bytes;
	uint64_t tracked_bytes;
	uint64_t promoted_bytes;
	uint64_t demoted_bytes;
	uint64_t failed_bytes;
	uint64_t ping_pong_bytes;
	uint64_t folios_split;
	uint64_t last_move_us;
	uint64_t stall_us;
};

struct cgroup_list {
	size_t n;
	struct cgroup *cgroups;
};

enum ctl_exit cgroup_list_get(sd_bus *bus, struct cgroup_list *ret);
void cgroup_list_done(struct cgroup_list *l);

#endif
