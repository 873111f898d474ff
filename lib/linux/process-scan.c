// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * From cgroups to the pids in them, for the table to look at. Opens no process itself.
 */
#include "linux/linux.h"
#include "linux/process.h"
#include "util.h"

struct gathering {
	size_t n;
	size_t capacity;
	struct process_candidate *candidates;
	size_t n_paths;
	char **paths;
};

static void gathering_done(struct gathering *g)
{
	for (size_t i = 0; i < g->n_paths; i++)
		free(g->paths[i]);
	free(g->paths);
	free(g->candidates);
}

/* A cgroup that is gone has no processes. More than PROCESSES_MAX are cut off, not refused. */
static int gather(struct gathering *g, struct cgroup_mount *c, uint64_t cgroup_id)
{
	cleanup(freep) pid_t *pids = NULL;
	char *path;
	size_t n;
	int r;

	r = cgroup_read_pids(c, cgroup_id, &pids, &n);
	if (r == -ENOENT || (r == 0 && n == 0))
		return 0;
	if (r < 0)
		return r;
	r = cgroup_path(c, cgroup_id, &path);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	g->paths[g->n_paths++] = path;
	for (size_t i = 0; i < n; i++) {
		r = array_reserve((void **)&g->candidates, &g->capacity, g->n,
				  sizeof(*g->candidates), PROCESSES_MAX);
		if (r < 0)
			return r == -E2BIG ? 0 : r;
		g->candidates[g->n++] = (struct process_candidate){
			.pid = pids[i],
			.cgroup_id = cgroup_id,
			.cgroup_path = path,
		};
	}
	return 0;
}

int process_table_scan(struct process_table *t, struct cgroup_mount *c, const uint64_t *cgroup_ids,
		       size_t n_cgroup_ids, struct tier_processes **ret)
{
	cleanup(gathering_done) struct gathering g = {0};
	int r;

	g.paths = calloc(n_cgroup_ids + 1, sizeof(*g.paths));
	if (!g.paths)
		return -ENOMEM;
	for (size_t i = 0; i < n_cgroup_ids; i++) {
		r = gather(&g, c, cgroup_ids[i]);
		if (r < 0)
			return r;
	}
	return process_table_update(t, g.candidates, g.n, ret);
}
