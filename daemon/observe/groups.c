// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Matching of cgroups to policies. Works on the list that libtier gives; reads nothing itself.
 */
#include <stdlib.h>
#include <string.h>

#include "config/match.h"
#include "observe/groups.h"
#include "util.h"

struct match {
	const struct tier_cgroup *cgroup;
	const struct policy *policy;
	size_t cgroup_index;
};

static int match_compare(const void *a, const void *b)
{
	const struct match *x = a, *y = b;

	return strcmp(x->cgroup->path, y->cgroup->path);
}

static int id_compare(const void *a, const void *b)
{
	const struct tier_cgroup *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

/* Index of the cgroup with this id, through pointers sorted by id; SIZE_MAX when there is none. */
static size_t find_by_id(const struct tier_cgroups *cgroups, const struct tier_cgroup **sorted,
			 uint64_t id)
{
	struct tier_cgroup key = { .id = id };
	const struct tier_cgroup *key_p = &key, **hit;

	hit = bsearch(&key_p, sorted, cgroups->n_cgroups, sizeof(*sorted), id_compare);
	return hit ? (size_t)(*hit - cgroups->cgroups) : SIZE_MAX;
}

static size_t fill_groups(struct groups *g, const struct match *matches, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		g->groups[i] = (struct snapshot_group){
			.cgroup_id = matches[i].cgroup->id,
			.path = matches[i].cgroup->path,
			.policy = matches[i].policy,
		};
		g->by_cgroup[matches[i].cgroup_index] = i;
	}
	return n;
}

/* Parents come first in the list, so one pass hands every group down the tree. */
static void inherit(struct groups *g, const struct tier_cgroups *cgroups,
		    const struct tier_cgroup **sorted)
{
	for (size_t i = 0; i < cgroups->n_cgroups; i++) {
		size_t parent = find_by_id(cgroups, sorted, cgroups->cgroups[i].parent_id);
		size_t inherited = parent == SIZE_MAX ? GROUP_NONE : g->by_cgroup[parent];

		if (g->by_cgroup[i] == GROUP_NONE)
			g->by_cgroup[i] = inherited;
		else
			g->parents[g->by_cgroup[i]] = inherited;
	}
}

static size_t find_matches(const struct tier_cgroups *cgroups, const struct policy_set *set,
			   struct match *matches)
{
	size_t n = 0;

	for (size_t i = 0; i < cgroups->n_cgroups; i++) {
		const struct policy *policy = policy_set_match(set, cgroups->cgroups[i].path);

		if (policy)
			matches[n++] = (struct match){ &cgroups->cgroups[i], policy, i };
	}
	qsort(matches, n, sizeof(*matches), match_compare);
	return n;
}

int groups_match(const struct tier_cgroups *cgroups, const struct policy_set *set,
		 struct groups *ret)
{
	size_t n = cgroups->n_cgroups;
	cleanup(freep) struct match *matches = calloc(n + 1, sizeof(*matches));
	cleanup(freep) const struct tier_cgroup **sorted = calloc(n + 1, sizeof(*sorted));
	struct groups g = { 0 };

	g.groups = calloc(n + 1, sizeof(*g.groups));
	g.parents = calloc(n + 1, sizeof(*g.parents));
	g.by_cgroup = calloc(n + 1, sizeof(*g.by_cgroup));
	if (!matches || !sorted || !g.groups || !g.parents || !g.by_cgroup) {
		groups_done(&g);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		sorted[i] = &cgroups->cgroups[i];
		g.by_cgroup[i] = GROUP_NONE;
		g.parents[i] = GROUP_NONE;
	}
	qsort(sorted, n, sizeof(*sorted), id_compare);
	g.n_groups = fill_groups(&g, matches, find_matches(cgroups, set, matches));
	inherit(&g, cgroups, sorted);
	*ret = g;
	return 0;
}

void groups_done(struct groups *g)
{
	free(g->groups);
	free(g->parents);
	free(g->by_cgroup);
	*g = (struct groups){ 0 };
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void groups_subtract_inner(struct groups *g)
{
	cleanup(freep) struct tier_usage *whole = calloc(g->n_groups + 1, sizeof(*whole));

	if (!whole)
		return; /* the outer groups then look too big; nothing is decided on that alone */
	for (size_t i = 0; i < g->n_groups; i++)
		whole[i] = g->groups[i].usage;
	for (size_t i = 0; i < g->n_groups; i++) {
		struct tier_usage *outer;

		if (g->parents[i] == GROUP_NONE)
			continue;
		outer = &g->groups[g->parents[i]].usage;
		for (size_t n = 0; n < TIER_NODES_MAX; n++) {
			outer->anon_bytes[n] = minus(outer->anon_bytes[n], whole[i].anon_bytes[n]);
			outer->file_bytes[n] = minus(outer->file_bytes[n], whole[i].file_bytes[n]);
			outer->shmem_bytes[n] =
				minus(outer->shmem_bytes[n], whole[i].shmem_bytes[n]);
		}
	}
}
