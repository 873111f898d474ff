/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_LINUX_CGROUP_H
#define TIER_LINUX_CGROUP_H

/*
 * What the two files about cgroups share: cgroup-tree.c knows which there are, cgroup.c the mount
 * and what is in their files.
 */

#include "tier.h"

/* systemd and the container engines stay far below this; some 16 MiB of table at most. */
#define CGROUPS_MAX 65536

/* Where an id was at the last walk. */
struct known_cgroup {
	uint64_t id;
	char *path;
};

/* Not thread-safe: the thread that walks is the thread that reads. */
struct cgroup_mount {
	int fd;
	bool recorded;
	bool libcgroup;	    /* libcgroup sees the memory controller in the same place */
	size_t max_cgroups; /* of one walk */
	size_t n_known;
	struct known_cgroup *known; /* ascending by id */
};

/* Is @r what a vanished cgroup looks like: no such path, or a file that outlived its directory? */
bool cgroup_is_gone(int r);
void cgroup_forget(struct cgroup_mount *c);
/* Path of an id at the last walk, or NULL; it may be somebody else's by now. */
const char *cgroup_known_path(const struct cgroup_mount *c, uint64_t id);
/* Directory fd of a cgroup by id; -ENOENT when it is gone or something else has its path now. */
int cgroup_open_id(const struct cgroup_mount *c, uint64_t id);

#endif
