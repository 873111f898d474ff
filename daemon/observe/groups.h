/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef OBSERVE_GROUPS_H
#define OBSERVE_GROUPS_H

/*
 * Which policy governs which cgroup. A cgroup that a policy matches makes a group; a cgroup that
 * none matches belongs to the group of its nearest ancestor that has one, or to none.
 */

#include "model/snapshot.h"

#define GROUP_NONE SIZE_MAX

struct groups {
	size_t n_groups;
	struct snapshot_group *groups; /* ascending by path; paths belong to the tier_cgroups */
	size_t *parents;               /* by group: the group that contains it, or GROUP_NONE */
	size_t *by_cgroup;             /* by index into the tier_cgroups, or GROUP_NONE */
};

int groups_match(const struct tier_cgroups *cgroups, const struct policy_set *set,
		 struct groups *ret);
void groups_done(struct groups *g);

/*
 * memory.numa_stat counts descendants; a group without its inner groups is what is left. Usage is
 * read at different times, so a difference that would be negative is zero.
 */
void groups_subtract_inner(struct groups *g);

#endif
