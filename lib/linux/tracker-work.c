// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The tracker's work: getting kdamonds, bringing the wanted set into them, taking samples, and when
 * each is due. Belongs to the tracker's thread alone: no lock here, and every call may wait for the
 * kernel.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "linux/linux.h"
#include "linux/tracker.h"
#include "util.h"

/* A storm of forks changes the set all the time; DAMON needs a few aggregations to see anything. */
#define CHANGE_US (2 * US_PER_S)
/* Somebody else's use of DAMON ends by a person's hand or a timer's: no hurry to notice. */
#define RETRY_US (10 * US_PER_S)
/*
 * Heat follows within seconds, as moving does; a sample a second is what that needs, and more would
 * mostly read the same aggregation again.
 */
#define PERIOD_US US_PER_S
/* How long a grown process may have regions that are too coarse for it. */
#define RECHECK_US (10 * US_PER_S)
/* Between passes that take longer than the period: the kernel's answers alone may take a second. */
#define REST_US (100 * US_PER_MS)

/* ---- having kdamonds ----------------------------------------------------------------------- */

static void acquire(struct work *w, uint64_t now)
{
	int r = 0;

	w->next_acquire_us = now + w->retry_us;
	if (w->own.run_fd < 0) {
		if (mkdir(w->run_dir, 0755) < 0 && errno != EEXIST)
			r = -errno;
		else
			r = own_open(w->sys_fd, w->proc_fd, w->run_dir, w->writer, &w->own);
		if (r < 0) {
			snprintf(w->reason, sizeof(w->reason), "no run directory %.60s: %.60s",
				 w->run_dir, strerrordesc_np(-r));
			return;
		}
	}
	r = own_acquire(&w->own, w->reason);
	if (r < 0)
		return;
	w->reason[0] = '\0';
	w->owned = true;
	w->dirty = true;
}

/* Our kdamonds are gone or somebody else's run in their place: let go, and wait. */
static void lose(struct work *w, uint64_t now)
{
	snprintf(w->reason, sizeof(w->reason), "another program has taken DAMON over");
	own_release(&w->own);
	for (size_t i = 0; i < TRACKER_KDAMONDS; i++)
		kdamond_forget(&w->kdamonds[i]);
	w->owned = false;
	w->n_placed = 0;
	w->next_acquire_us = now + w->retry_us;
}

static bool is_loss(int error)
{
	return error == -ENOENT || error == -ENODEV || error == -EPERM;
}

/* What went wrong with a change of the set; it is tried again later. */
static void note_failure(struct work *w, int error, uint64_t now)
{
	if (is_loss(error)) {
		lose(w, now);
		return;
	}
	w->dirty = true;
	/* Processes end faster than they can be listed: nothing is wrong with DAMON. */
	if (error == -EAGAIN)
		return;
	if (error == -EBUSY)
		own_busy_reason(&w->own, w->reason);
	else
		snprintf(w->reason, sizeof(w->reason), "DAMON refuses to watch: %.100s",
			 strerrordesc_np(-error));
	w->next_change_us = now + w->retry_us;
}

/* ---- bringing the set into the kernel ------------------------------------------------------ */

static int kdamond_of(const struct work *w, uint64_t space_id)
{
	for (size_t i = 0; i < TRACKER_KDAMONDS; i++)
		for (size_t j = 0; j < w->kdamonds[i].n_targets; j++)
			if (w->kdamonds[i].targets[j].watched->process->space_id == space_id)
				return (int)i;
	return -1;
}

static struct group_wish *make_wishes(const struct work *w, size_t n)
{
	struct group_wish *wishes = calloc(MAX(n, (size_t)1), sizeof(*wishes));

	for (size_t i = 0; wishes && i < n; i++) {
		const struct process *p = w->set->items[i]->process;

		wishes[i].space_id = p->space_id;
		wishes[i].cgroup_id = p->cgroup_id;
		wishes[i].tracked = kdamond_of(w, p->space_id);
	}
	return wishes;
}

static int apply_one(struct work *w, size_t i, const struct group_wish *wishes, size_t n,
		     bool *changed)
{
	struct watched *wanted[DAMON_TARGETS_MAX];
	size_t n_wanted = 0;
	bool one = false;
	int r;

	for (size_t j = 0; j < n && n_wanted < DAMON_TARGETS_MAX; j++)
		if (wishes[j].kdamond == (int)i)
			wanted[n_wanted++] = w->set->items[j];
	r = kdamond_apply(&w->own, i, &w->kdamonds[i], wanted, n_wanted, &one);
	*changed |= one;
	w->n_placed += n_wanted;
	return r;
}

static void apply(struct work *w, uint64_t now)
{
	size_t n = w->set ? w->set->n : 0;
	cleanup(freep) struct group_wish *wishes = make_wishes(w, n);
	bool changed = false;
	int r, worst = 0;

	w->next_check_us = now + RECHECK_US;
	w->next_change_us = now + w->change_us;
	if (!wishes)
		return;
	w->dirty = false;
	w->n_over = group_assign(wishes, n) + (w->set ? w->set->n_left_out : 0);
	w->n_placed = 0;
	/* -EBUSY comes after long enough a wait, and holds for all. */
	for (size_t i = 0; i < TRACKER_KDAMONDS && worst != -EBUSY; i++) {
		r = apply_one(w, i, wishes, n, &changed);
		if (r < 0)
			worst = is_loss(worst) ? worst : r;
	}
	if (changed) {
		pace_reset(&w->pace);
		w->next_sample_us = MIN(w->next_sample_us, now + w->period_us);
	}
	/* The change itself took its time, too. */
	w->next_change_us = tracker_now_us() + w->change_us;
	w->reason[0] = '\0';
	if (worst < 0)
		note_failure(w, worst, now);
}

/* ---- samples ------------------------------------------------------------------------------- */

static void keep_pace(struct work *w, const struct change *change)
{
	if (pace_step(&w->pace, change_is_large(change)) == PACE_NEW_REFERENCE)
		for (size_t i = 0; i < TRACKER_KDAMONDS; i++)
			kdamond_take_references(&w->kdamonds[i]);
}

/* One kdamond after the other: the kernel takes one command at a time for all of them. */
static void sample(struct work *w, uint64_t now)
{
	struct change change = { 0 };

	for (size_t i = 0; i < TRACKER_KDAMONDS; i++) {
		int r = kdamond_sample(&w->own, i, &w->kdamonds[i], &w->seq, &change);

		if (is_loss(r)) {
			lose(w, now);
			return;
		}
		/* Ended by itself: all of its processes have. Anything else may pass. */
		if (r == -ESRCH)
			w->dirty = true;
		if (w->kdamonds[i].n_targets && !w->between(w))
			return;
	}
	keep_pace(w, &change);
	w->next_sample_us = MAX(now + pace_period_us(&w->pace, w->period_us),
				tracker_now_us() + REST_US);
}

/* ---- when what is due ---------------------------------------------------------------------- */

static bool has_targets(const struct work *w)
{
	for (size_t i = 0; i < TRACKER_KDAMONDS; i++)
		if (w->kdamonds[i].n_targets)
			return true;
	return false;
}

uint64_t work_next_us(const struct work *w)
{
	uint64_t next = UINT64_MAX;

	if (!w->owned)
		return w->next_acquire_us;
	if (w->dirty)
		next = w->next_change_us;
	if (has_targets(w)) {
		next = MIN(next, MAX(w->next_check_us, w->next_change_us));
		next = MIN(next, w->next_sample_us);
	}
	return next;
}

void work_step(struct work *w, uint64_t now)
{
	if (!w->owned && now >= w->next_acquire_us)
		acquire(w, now);
	if (w->owned && now >= w->next_change_us &&
	    (w->dirty || (has_targets(w) && now >= w->next_check_us)))
		apply(w, now);
	if (w->owned && has_targets(w) && now >= w->next_sample_us)
		sample(w, now);
}

void work_take_set(struct work *w, struct watched_set *set)
{
	watched_set_free(w->set);
	w->set = set;
	w->dirty = true;
}

int work_init(struct work *w, const struct tracker_options *options)
{
	*w = (struct work){
		.own = { .run_fd = -1, .damon = { .dir_fd = -1 } },
		.sys_fd = options->sys_fd,
		.writer = options->writer,
		.change_us = options->change_us ? options->change_us : CHANGE_US,
		.retry_us = options->retry_us ? options->retry_us : RETRY_US,
		.period_us = options->period_us ? options->period_us : PERIOD_US,
		.reason = "the tracker is starting",
	};
	for (size_t i = 0; i < TRACKER_KDAMONDS; i++)
		w->own.fds[i] = -1;
	w->proc_fd = options->proc_fd >= 0 ? fcntl(options->proc_fd, F_DUPFD_CLOEXEC, 3) :
					     open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->proc_fd < 0)
		return -errno;
	w->run_dir = strdup(options->run_dir);
	return w->run_dir ? 0 : -ENOMEM;
}

void work_done(struct work *w)
{
	if (w->owned)
		own_release(&w->own);
	for (size_t i = 0; i < TRACKER_KDAMONDS; i++)
		kdamond_forget(&w->kdamonds[i]);
	own_close(&w->own);
	closep(&w->proc_fd);
	watched_set_free(w->set);
	free(w->run_dir);
}
