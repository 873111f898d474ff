// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mover threads and the hand-over of outcomes. One thread per target node, started when the
 * first batch for that node comes: two threads moving to the same node would only contend for its
 * zone lock. A mover holds no lock while it is in the kernel.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "act/act.h"
#include "act/queue.h"
#include "util.h"

/* A mover's stack: libtier keeps its buffers on the heap or below 64 KiB. */
#define STACK_BYTES (256 * KiB)

struct mover {
	struct actor *actor;
	pthread_t thread;
	int node;
	struct work *current;
	uint64_t last_alive_us; /* it came back from the kernel, or took the batch */
};

struct actor {
	struct tier_machine *machine;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct queue queue;
	size_t n_movers;
	struct mover movers[TIER_NODES_MAX];
	struct outcome *finished;
	size_t n_finished, capacity;
	int event_fd;
	bool stop;
};

static void lock(struct actor *a)
{
	pthread_mutex_lock(&a->lock);
}

static void unlock(struct actor *a)
{
	pthread_mutex_unlock(&a->lock);
}

static void on_progress(void *userdata, const struct tier_outcome *so_far)
{
	struct mover *m = userdata;

	lock(m->actor);
	m->last_alive_us = tier_machine_now_us(m->actor->machine);
	unlock(m->actor);
}

/* Everything asked, nothing tried. */
static void all_as(struct tier_outcome *o, const struct batch *b, enum tier_result why)
{
	*o = (struct tier_outcome){ 0 };
	for (size_t i = 0; i < b->n_ranges; i++)
		o->asked_bytes += b->ranges[i].end - b->ranges[i].start;
	o->bytes[why][0] = o->asked_bytes;
}

static void run_batch(struct mover *m, struct work *w, struct outcome *ret)
{
	struct tier_move move = {
		.space_id = w->batch.space_id,
		.target_node = w->batch.target_node,
		.headroom_bytes = w->batch.headroom_bytes,
		.call_max_us = w->batch.call_max_us,
		.n_ranges = w->batch.n_ranges,
		.ranges = w->batch.ranges,
		.split_folios = w->batch.split_folios,
		.cancel = &w->cancelled,
		.progress = on_progress,
		.userdata = m,
	};

	*ret = (struct outcome){ .job_id = w->job_id };
	ret->error = tier_machine_move(m->actor->machine, &move, &ret->result);
	if (ret->error < 0)
		all_as(&ret->result, &w->batch, TIER_NOT_TRIED);
	ret->finished_us = tier_machine_now_us(m->actor->machine);
}

/* The array has had room for this outcome since its batch was queued. */
static void hand_over(struct actor *a, struct work *w, struct outcome *outcome)
{
	uint64_t one = 1;

	outcome->batch = w->batch; /* takes the ranges */
	work_finish(w);
	free(w);
	a->finished[a->n_finished++] = *outcome;
	pthread_cond_broadcast(&a->wake); /* a gate may be open now */
	/* An event fd counts in 64 bits: the write can't block, and a failed one is made good by the
	 * next outcome. */
	if (write(a->event_fd, &one, sizeof(one)) < 0)
		return;
}

static void *mover_main(void *userdata)
{
	struct mover *m = userdata;
	struct actor *a = m->actor;

	lock(a);
	while (!a->stop) {
		struct outcome outcome;

		m->current = queue_take(&a->queue, m->node);
		if (!m->current) {
			pthread_cond_wait(&a->wake, &a->lock);
			continue;
		}
		m->last_alive_us = tier_machine_now_us(a->machine);
		unlock(a);
		run_batch(m, m->current, &outcome);
		lock(a);
		hand_over(a, STEAL(m->current), &outcome);
	}
	unlock(a);
	return NULL;
}

/* Signals belong to the event loop: the mover starts with all of them blocked. */
static int start_mover(struct actor *a, int node)
{
	struct mover *m = &a->movers[a->n_movers];
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	*m = (struct mover){ .actor = a, .node = node };
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&m->thread, &attr, mover_main, m);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err)
		return -err;
	a->n_movers++;
	return 0;
}

static int ensure_mover(struct actor *a, int node)
{
	for (size_t i = 0; i < a->n_movers; i++)
		if (a->movers[i].node == node)
			return 0;
	if (a->n_movers == TIER_NODES_MAX)
		return -E2BIG;
	return start_mover(a, node);
}

int actor_new(struct tier_machine *machine, struct actor **ret, int *ret_fd)
{
	struct actor *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->machine = machine;
	a->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->event_fd < 0) {
		int err = -errno;

		free(a);
		return err;
	}
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	queue_init(&a->queue);
	*ret = a;
	*ret_fd = a->event_fd;
	return 0;
}

struct actor *actor_free(struct actor *a)
{
	if (!a)
		return NULL;
	lock(a);
	a->stop = true;
	for (size_t i = 0; i < a->n_movers; i++)
		if (a->movers[i].current)
			a->movers[i].current->cancelled = true;
	pthread_cond_broadcast(&a->wake);
	unlock(a);
	for (size_t i = 0; i < a->n_movers; i++)
		pthread_join(a->movers[i].thread, NULL);
	queue_done(&a->queue);
	for (size_t i = 0; i < a->n_finished; i++)
		free(a->finished[i].batch.ranges);
	free(a->finished);
	close(a->event_fd);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->wake);
	free(a);
	return NULL;
}

static size_t n_pending(const struct actor *a)
{
	size_t n = a->queue.n;

	for (size_t i = 0; i < a->n_movers; i++)
		n += a->movers[i].current != NULL;
	return n;
}

/* Room for every outcome that can come, made when there is still somebody to tell of a failure. */
static int reserve_outcomes(struct actor *a, size_t more)
{
	size_t want = a->n_finished + n_pending(a) + more;
	struct outcome *p;

	if (want <= a->capacity)
		return 0;
	p = reallocarray(a->finished, want, sizeof(*p));
	if (!p)
		return -ENOMEM;
	a->finished = p;
	a->capacity = want;
	return 0;
}

static int act_locked(struct actor *a, const struct plan *plan, uint64_t job_id)
{
	int err = reserve_outcomes(a, plan->n_batches);

	if (err < 0)
		return err;
	for (size_t i = 0; i < plan->n_batches; i++) {
		err = ensure_mover(a, plan->batches[i].target_node);
		if (err < 0)
			return err;
	}
	err = queue_add_plan(&a->queue, plan, job_id);
	if (err == 0)
		pthread_cond_broadcast(&a->wake);
	return err;
}

int act(struct actor *a, const struct plan *plan, uint64_t job_id)
{
	int err;

	lock(a);
	err = act_locked(a, plan, job_id);
	unlock(a);
	return err;
}

/* The fd stays readable when there is no memory: the outcomes are not lost, and asked for again. */
int act_collect(struct actor *a, struct outcomes **ret)
{
	struct outcomes *o = calloc(1, sizeof(*o));
	struct outcome *spare;
	uint64_t count;

	if (!o)
		return -ENOMEM;
	lock(a);
	spare = calloc(n_pending(a) + 1, sizeof(*spare));
	if (!spare) {
		unlock(a);
		free(o);
		return -ENOMEM;
	}
	/* Only clears the level; zero or many, the list below is the truth. */
	if (read(a->event_fd, &count, sizeof(count)) < 0)
		count = 0;
	o->n_outcomes = a->n_finished;
	o->outcomes = a->finished;
	a->finished = spare;
	a->n_finished = 0;
	a->capacity = n_pending(a) + 1;
	unlock(a);
	*ret = o;
	return 0;
}

void act_cancel(struct actor *a, uint64_t job_id, uint64_t cgroup_id)
{
	lock(a);
	queue_cancel(&a->queue, job_id, cgroup_id);
	for (size_t i = 0; i < a->n_movers; i++) {
		struct work *w = a->movers[i].current;

		if (w && work_matches(w, job_id, cgroup_id))
			w->cancelled = true;
	}
	pthread_cond_broadcast(&a->wake);
	unlock(a);
}

void act_read_state(struct actor *a, struct act_state *ret)
{
	uint64_t now_us = tier_machine_now_us(a->machine);

	*ret = (struct act_state){ 0 };
	lock(a);
	for (const struct work *w = a->queue.head; w; w = w->next)
		ret->n_automatic += w->job_id == 0;
	for (size_t i = 0; i < a->n_movers; i++) {
		const struct mover *m = &a->movers[i];

		ret->n_automatic += m->current && m->current->job_id == 0;
		if (m->current && now_us > m->last_alive_us)
			ret->silent_us = MAX(ret->silent_us, now_us - m->last_alive_us);
	}
	unlock(a);
}
