// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One kdamond: brings its targets up to date and reads its regions. Runs in the tracker's thread
 * only, because every step may wait for the kernel; takes no lock. Starts and stops nothing except
 * through tracker-own.c.
 *
 * Each target has a scheme of its own with a filter on the target's index: the kernel's list of
 * regions does not say which target a region belongs to. Cutting one list where addresses go down
 * would do for most processes, but a target without regions (new, or it ended at once) would shift
 * every following one to its neighbour, silently.
 */
#include <stdio.h>

#include "linux/linux.h"
#include "linux/tracker.h"
#include "util.h"

/* What the list may be while a commit drops all targets and adds as many. */
#define LIST_MAX (2 * DAMON_TARGETS_MAX)
/* Each try takes milliseconds; who loses three races waits for the next change. */
#define REBUILD_TRIES 3
/* Any pid that exists at all times does for a target that the commit drops. */
#define PID_PLACEHOLDER 1

static void target_done(struct kdamond_target *t)
{
	watched_unref(t->watched);
	free(t->newest.regions);
	free(t->reference.regions);
	memset(t, 0, sizeof(*t));
}

void kdamond_forget(struct kdamond *k)
{
	for (size_t i = 0; i < k->n_targets; i++)
		target_done(&k->targets[i]);
	k->n_targets = 0;
}

static uint64_t space_of(const struct watched *w)
{
	return w->process->space_id;
}

static bool is_among(const struct watched *w, struct watched *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (space_of(list[i]) == space_of(w))
			return true;
	return false;
}

static bool is_target(const struct kdamond *k, const struct watched *w)
{
	for (size_t i = 0; i < k->n_targets; i++)
		if (space_of(k->targets[i].watched) == space_of(w))
			return true;
	return false;
}

/* ---- writing the lists --------------------------------------------------------------------- */

static size_t fill_list(const struct kdamond *k, struct damon_target *list)
{
	for (size_t i = 0; i < k->n_targets; i++)
		list[i] = (struct damon_target){ .pid = k->targets[i].watched->process->pid };
	return k->n_targets;
}

/* Takes what @drop marks out of our list. */
static void compact(struct kdamond *k, const bool *drop)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->n_targets; i++) {
		if (drop[i])
			target_done(&k->targets[i]);
		else
			k->targets[kept++] = k->targets[i];
	}
	for (size_t i = kept; i < k->n_targets; i++)
		memset(&k->targets[i], 0, sizeof(k->targets[i]));
	k->n_targets = kept;
}

/* Puts what is wanted and alive but no target yet at the end of our list. */
static void append_new(struct kdamond *k, struct watched *const *wanted, size_t n)
{
	for (size_t i = 0; i < n && k->n_targets < DAMON_TARGETS_MAX; i++)
		if (!is_target(k, wanted[i]) && process_alive(wanted[i]->process))
			k->targets[k->n_targets++] =
				(struct kdamond_target){ .watched = watched_ref(wanted[i]) };
}

static int write_lists(struct own *o, size_t i, const struct kdamond *k,
		       const struct damon_target *list, size_t n_list)
{
	int r = damon_write_attributes(&o->damon, o->fds[i], k->bounds.min_regions,
				       k->bounds.max_regions);

	if (r >= 0)
		r = damon_write_targets(&o->damon, o->fds[i], list, n_list);
	if (r >= 0)
		r = damon_write_schemes(&o->damon, o->fds[i], k->n_targets);
	return r;
}

/*
 * The kernel matches its targets with the list by position: first come those that it has, the ones
 * to be dropped marked as such, then the new ones. The schemes count what will be left. What stays
 * in sysfs afterwards does not matter: every commit and every start writes the whole list.
 */
static int commit(struct own *o, size_t i, struct kdamond *k, const bool *drop,
		  struct watched *const *wanted, size_t n)
{
	struct damon_target list[LIST_MAX];
	size_t n_list = fill_list(k, list), n_kept;
	int r;

	for (size_t j = 0; j < n_list; j++)
		if (drop[j])
			list[j] = (struct damon_target){ .pid = PID_PLACEHOLDER, .obsolete = true };
	compact(k, drop);
	n_kept = k->n_targets;
	append_new(k, wanted, n);
	for (size_t j = n_kept; j < k->n_targets; j++)
		list[n_list++] =
			(struct damon_target){ .pid = k->targets[j].watched->process->pid };
	r = write_lists(o, i, k, list, n_list);
	if (r >= 0)
		r = damon_command(&o->damon, o->fds[i], DAMON_COMMIT);
	return r;
}

/* Whatever runs here next counts its CPU time from nothing again. */
static int stop_running(struct own *o, size_t i, struct kdamond *k)
{
	kdamond_count_cpu(o, i, k);
	k->cpu_done_ticks += k->cpu_now_ticks;
	k->cpu_now_ticks = 0;
	return own_stop(o, i);
}

static int rebuild(struct own *o, size_t i, struct kdamond *k, const bool *drop,
		   struct watched *const *wanted, size_t n)
{
	struct damon_target list[DAMON_TARGETS_MAX];
	int r = stop_running(o, i, k);

	if (r < 0)
		return r;
	compact(k, drop);
	append_new(k, wanted, n);
	if (!k->n_targets)
		return 0;
	r = write_lists(o, i, k, list, fill_list(k, list));
	return r < 0 ? r : own_start(o, i);
}

static int stop(struct own *o, size_t i, struct kdamond *k)
{
	int r = stop_running(o, i, k);

	if (r < 0)
		return r;
	kdamond_forget(k);
	return damon_write_targets(&o->damon, o->fds[i], NULL, 0);
}

/* ---- deciding what to write ---------------------------------------------------------------- */

static struct group_bounds bounds_for(struct watched *const *wanted, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += MIN(watched_bytes(wanted[i]), UINT64_MAX - bytes);
	return group_bounds(bytes, n);
}

static void look_at_targets(const struct kdamond *k, struct watched *const *wanted, size_t n,
			    struct group_target *targets, bool *drop)
{
	for (size_t i = 0; i < k->n_targets; i++) {
		struct watched *w = k->targets[i].watched;

		targets[i].wanted = is_among(w, wanted, n);
		targets[i].alive = process_alive(w->process);
		drop[i] = !targets[i].wanted || !targets[i].alive;
	}
}

static size_t count_new(const struct kdamond *k, struct watched *const *wanted, size_t n)
{
	size_t added = 0;

	for (size_t i = 0; i < n; i++)
		added += !is_target(k, wanted[i]) && process_alive(wanted[i]->process);
	return added;
}

static bool any(const bool *flags, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (flags[i])
			return true;
	return false;
}

/*
 * The kernel refuses a list with a process that has just ended. In a storm of forks that may happen
 * again at once; -EAGAIN when it did.
 */
static int rebuild_with_living(struct own *o, size_t i, struct kdamond *k,
			       struct watched *const *wanted, size_t n)
{
	struct group_target targets[DAMON_TARGETS_MAX];
	bool drop[DAMON_TARGETS_MAX];
	int r;

	for (int tries = 0; tries < REBUILD_TRIES; tries++) {
		look_at_targets(k, wanted, n, targets, drop);
		r = rebuild(o, i, k, drop, wanted, n);
		if (r != -EINVAL && r != -ESRCH)
			return r;
		look_at_targets(k, wanted, n, targets, drop);
		if (!any(drop, k->n_targets))
			return r;
	}
	return -EAGAIN;
}

/* A commit that did not do what it should leaves two lists that no longer match: begin anew. */
static int commit_or_rebuild(struct own *o, size_t i, struct kdamond *k, const bool *drop,
			     struct watched *const *wanted, size_t n)
{
	int r = commit(o, i, k, drop, wanted, n);

	/* Some kernels say yes and end the kdamond when a process on the list has just ended. */
	if (r >= 0 && own_running(o, i) > 0)
		return 0;
	return rebuild_with_living(o, i, k, wanted, n);
}

int kdamond_apply(struct own *o, size_t i, struct kdamond *k, struct watched *const *wanted,
		  size_t n, bool *ret_changed)
{
	struct group_target targets[DAMON_TARGETS_MAX] = { 0 };
	bool drop[DAMON_TARGETS_MAX] = { 0 };
	struct group_bounds bounds = bounds_for(wanted, n);
	bool resize = group_bounds_differ(bounds, k->bounds);
	int running = own_running(o, i), r = 0;
	enum group_step step;

	if (running < 0)
		return running;
	look_at_targets(k, wanted, n, targets, drop);
	step = group_decide(targets, k->n_targets, count_new(k, wanted, n), running,
			    running && damon_can_drop_targets(o->fds[i]), resize);
	if (step != GROUP_KEEP)
		k->bounds = bounds;
	switch (step) {
	case GROUP_KEEP:
		break;
	case GROUP_COMMIT:
		r = commit_or_rebuild(o, i, k, drop, wanted, n);
		break;
	case GROUP_REBUILD:
		r = rebuild_with_living(o, i, k, wanted, n);
		break;
	case GROUP_STOP:
		r = stop(o, i, k);
		break;
	}
	*ret_changed = step != GROUP_KEEP;
	return r;
}

/* ---- reading ------------------------------------------------------------------------------- */

static int to_picture(const struct damon_region *regions, size_t n, struct picture *ret)
{
	struct tier_region *out = calloc(MAX(n, (size_t)1), sizeof(*out));

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		out[i].start = regions[i].start;
		out[i].end = regions[i].end;
		out[i].rate_bp = (uint32_t)(regions[i].accesses * 10000 / DAMON_ACCESSES_MAX);
	}
	*ret = (struct picture){ .n = n, .regions = out };
	return 0;
}

static int copy_picture(const struct picture *p, struct picture *ret)
{
	struct tier_region *copy = calloc(MAX(p->n, (size_t)1), sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (p->n)
		memcpy(copy, p->regions, p->n * sizeof(*copy));
	free(ret->regions);
	*ret = (struct picture){ .n = p->n, .regions = copy };
	return 0;
}

static int sample_target(int fd, size_t index, struct kdamond_target *t, uint64_t *seq,
			 struct change *change)
{
	cleanup(freep) struct damon_region *regions = NULL;
	struct picture picture;
	size_t n = 0;
	int r = damon_read_regions(fd, index, TRACKER_REGIONS_MAX, &regions, &n);

	/* New targets have no regions before the next update; the last sample stays. */
	if (r < 0 || !n)
		return r;
	r = to_picture(regions, n, &picture);
	if (r < 0)
		return r;
	free(t->newest.regions);
	t->newest = picture;
	t->seq = ++*seq;
	if (!t->reference.regions)
		return copy_picture(&t->newest, &t->reference);
	change_add(change, t->reference.regions, t->reference.n, picture.regions, picture.n);
	return 0;
}

int kdamond_sample(struct own *o, size_t i, struct kdamond *k, uint64_t *seq,
		   struct change *change)
{
	int r;

	if (!k->n_targets)
		return 0;
	r = own_running(o, i);
	if (r <= 0)
		return r < 0 ? r : -ESRCH;
	r = damon_command(&o->damon, o->fds[i], DAMON_UPDATE_REGIONS);
	/* It ended meanwhile; kernels differ in how they say so. */
	if (r < 0 && own_running(o, i) == 0)
		return -ESRCH;
	for (size_t j = 0; j < k->n_targets && r >= 0; j++)
		if (process_alive(k->targets[j].watched->process))
			r = sample_target(o->fds[i], j, &k->targets[j], seq, change);
	kdamond_count_cpu(o, i, k);
	/* Only the list went away under our hands, not the kdamond: there will be another. */
	return r == -ENOENT || r == -ENODEV ? -EAGAIN : r;
}

/* Out of memory leaves the old reference, which only means that we look more often. */
void kdamond_take_references(struct kdamond *k)
{
	for (size_t j = 0; j < k->n_targets; j++)
		if (k->targets[j].newest.regions)
			copy_picture(&k->targets[j].newest, &k->targets[j].reference);
}

void kdamond_count_cpu(struct own *o, size_t i, struct kdamond *k)
{
	uint64_t cpu, start;
	pid_t pid = o->record.kdamonds[i].pid;

	if (!pid || tracker_read_stat(o->proc_fd, pid, &cpu, &start) < 0 ||
	    start != o->record.kdamonds[i].start_time)
		return;
	k->cpu_now_ticks = cpu;
}
