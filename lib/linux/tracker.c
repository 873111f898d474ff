// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The tracker's thread and what the machine calls. Callers never wait for the kernel: they leave a
 * wanted set and copy what is there, under a lock that is never held across a file operation. Must
 * not log; the state's reason is all that people get to see.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "linux/linux.h"
#include "linux/tracker.h"
#include "util.h"

struct tracker {
	struct work work; /* the thread's alone; first, so that the thread finds its way back */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;

	/* Under the lock. */
	bool stop;
	struct watched_set *pending; /* newest wanted set that the thread has not taken yet */
	struct tier_accesses *shown;
	struct tier_tracker_state state;

	/* The caller's of tracker_set(). */
	uint64_t *asked_ids;
	size_t n_asked;
};

uint64_t tracker_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

/* ---- the thread ---------------------------------------------------------------------------- */

/* Shows what there is; false: the thread is to end. Out of memory shows the old samples on. */
static bool publish(struct work *w)
{
	struct tracker *t = (struct tracker *)w;
	struct tier_accesses *fresh = work_collect(w);
	struct tier_tracker_state state;
	bool stop;

	work_describe(w, &state);
	pthread_mutex_lock(&t->lock);
	t->state = state;
	if (fresh) {
		struct tier_accesses *old = t->shown;

		t->shown = fresh;
		fresh = old;
	}
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	tier_accesses_free(fresh);
	return !stop;
}

static void take_pending(struct tracker *t)
{
	struct watched_set *fresh;

	pthread_mutex_lock(&t->lock);
	fresh = STEAL(t->pending);
	pthread_mutex_unlock(&t->lock);
	if (fresh)
		work_take_set(&t->work, fresh);
}

/* Sleeps until there is something to do; false: to the end. */
static bool wait_for_work(struct tracker *t)
{
	uint64_t until = work_next_us(&t->work);
	struct timespec at = { .tv_sec = (time_t)(until / US_PER_S),
			       .tv_nsec = (long)(until % US_PER_S * 1000) };
	bool stop;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	while (!t->stop && !t->pending && r != ETIMEDOUT)
		r = until == UINT64_MAX ? pthread_cond_wait(&t->wake, &t->lock)
					: pthread_cond_timedwait(&t->wake, &t->lock, &at);
	stop = t->stop;
	pthread_mutex_unlock(&t->lock);
	return !stop;
}

static void *run(void *arg)
{
	struct tracker *t = arg;

	do {
		take_pending(t);
		work_step(&t->work, tracker_now_us());
	} while (publish(&t->work) && wait_for_work(t));
	work_done(&t->work);
	return NULL;
}

/* All signals stay with the service's own loop. */
static int start_thread(struct tracker *t)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&t->thread, NULL, run, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

static void init_lock(struct tracker *t)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attr);
	pthread_condattr_destroy(&attr);
}

static void release_memory(struct tracker *t)
{
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	watched_set_free(t->pending);
	tier_accesses_free(t->shown);
	free(t->asked_ids);
	free(t);
}

/* ---- what the machine calls ---------------------------------------------------------------- */

int tracker_start(const struct tracker_options *options, struct tracker **ret)
{
	struct tracker *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	init_lock(t);
	r = work_init(&t->work, options);
	if (r >= 0) {
		t->work.between = publish;
		work_describe(&t->work, &t->state);
		r = start_thread(t);
	}
	if (r < 0) {
		work_done(&t->work);
		release_memory(t);
		return r;
	}
	*ret = t;
	return 0;
}

int tracker_new(int sys_fd, const char *run_dir, struct tracker **ret)
{
	struct tracker_options options = { .sys_fd = sys_fd, .proc_fd = -1, .run_dir = run_dir };

	return tracker_start(&options, ret);
}

struct tracker *tracker_free(struct tracker *t)
{
	if (!t)
		return NULL;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	release_memory(t);
	return NULL;
}

/* The same set again, every tick, is the normal case. */
static bool asked_before(const struct tracker *t, const uint64_t *ids, size_t n)
{
	return t->asked_ids && n == t->n_asked && (!n || !memcmp(ids, t->asked_ids, n * sizeof(*ids)));
}

int tracker_set(struct tracker *t, struct process_table *table, const uint64_t *space_ids,
		size_t n_space_ids)
{
	struct watched_set *fresh = NULL;
	uint64_t *ids;
	int r;

	if (asked_before(t, space_ids, n_space_ids))
		return 0;
	ids = calloc(MAX(n_space_ids, (size_t)1), sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	if (n_space_ids)
		memcpy(ids, space_ids, n_space_ids * sizeof(*ids));
	r = watched_set_new(table, space_ids, n_space_ids, &fresh);
	if (r < 0) {
		free(ids);
		return r;
	}
	free(t->asked_ids);
	t->asked_ids = ids;
	t->n_asked = n_space_ids;
	pthread_mutex_lock(&t->lock);
	watched_set_free(t->pending);
	t->pending = fresh;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

int tracker_read(struct tracker *t, struct tier_accesses **ret)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = accesses_copy(t->shown, ret);
	pthread_mutex_unlock(&t->lock);
	return r;
}

void tracker_state(struct tracker *t, struct tier_tracker_state *ret)
{
	pthread_mutex_lock(&t->lock);
	*ret = t->state;
	pthread_mutex_unlock(&t->lock);
}
