// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The movers: order of execution, hand-over of outcomes, cancelling. The machine behind them is a
 * fake that records the calls and waits where a test wants it to.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>

#include "act/act.h"
#include "act/queue.h"
#include "machine.h"
#include "util.h"

#define CALLS_MAX 64

struct fake {
	struct tier_machine base;
	pthread_mutex_t lock;
	size_t n_calls;
	uint64_t spaces[CALLS_MAX];
	bool hold_until_cancelled;
	int error;
};

static uint64_t fake_now_us(struct tier_machine *m)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static int fake_move(struct tier_machine *m, const struct tier_move *move, struct tier_outcome *ret)
{
	struct fake *f = (struct fake *)m;
	enum tier_result result = TIER_MOVED;

	pthread_mutex_lock(&f->lock);
	if (f->n_calls < CALLS_MAX)
		f->spaces[f->n_calls++] = move->space_id;
	pthread_mutex_unlock(&f->lock);
	if (f->error)
		return f->error;
	while (f->hold_until_cancelled && !*move->cancel)
		nap();
	if (*move->cancel)
		result = TIER_NOT_TRIED;
	*ret = (struct tier_outcome){ .calls = 1 };
	for (size_t i = 0; i < move->n_ranges; i++)
		ret->asked_bytes += move->ranges[i].end - move->ranges[i].start;
	ret->bytes[result][9] = ret->asked_bytes;
	move->progress(move->userdata, ret);
	return 0;
}

static const struct tier_machine_ops fake_ops = {
	.name = "fake",
	.now_us = fake_now_us,
	.move = fake_move,
};

static struct fake *fake_new(void)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->base.ops = &fake_ops;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

static struct tier_range one_slot = { 0, TIER_SLOT_BYTES };

static struct batch batch(uint64_t space_id, enum direction direction, int node)
{
	return (struct batch){
		.space_id = space_id,
		.cgroup_id = space_id / 100,
		.direction = direction,
		.source_node = direction == DIRECTION_DEMOTE ? 0 : 9,
		.target_node = node,
		.n_ranges = 1,
		.ranges = &one_slot,
	};
}

/* Waits for @n outcomes through the fd, as the event loop does. */
static struct outcomes *collect(struct actor *a, int fd, size_t n)
{
	struct outcomes *all = calloc(1, sizeof(*all)), *some;

	while (all->n_outcomes < n) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_int_equal(act_collect(a, &some), 0);
		all->outcomes = reallocarray(all->outcomes, all->n_outcomes + some->n_outcomes + 1,
					     sizeof(*all->outcomes));
		memcpy(&all->outcomes[all->n_outcomes], some->outcomes,
		       some->n_outcomes * sizeof(*some->outcomes));
		all->n_outcomes += some->n_outcomes;
		free(some->outcomes);
		free(some);
	}
	return all;
}

static void free_fake(struct fake *f)
{
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static void test_promotions_wait_for_demotions(void **state)
{
	struct batch batches[] = {
		batch(1, DIRECTION_DEMOTE, 1), batch(2, DIRECTION_DEMOTE, 2),
		batch(3, DIRECTION_PROMOTE, 0), batch(4, DIRECTION_DEMOTE, 1),
	};
	struct plan plan = { .n_batches = ARRAY_SIZE(batches), .batches = batches };
	struct fake *f = fake_new();
	struct outcomes *o;
	struct actor *a;
	int fd;

	assert_int_equal(actor_new(&f->base, &a, &fd), 0);
	assert_int_equal(act(a, &plan, 0), 0);
	o = collect(a, fd, 4);
	assert_int_equal(o->n_outcomes, 4);
	assert_int_equal(f->n_calls, 4);
	assert_int_equal(f->spaces[3], 3);
	outcomes_free(o);
	actor_free(a);
	free_fake(f);
}

static void test_every_batch_comes_back_once(void **state)
{
	struct batch batches[40];
	struct plan plan = { .n_batches = ARRAY_SIZE(batches), .batches = batches };
	bool seen[ARRAY_SIZE(batches)] = { 0 };
	struct fake *f = fake_new();
	struct outcomes *o;
	struct actor *a;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(batches); i++)
		batches[i] = i % 3 ? batch(i, DIRECTION_PROMOTE, (int)(i % 4)) :
				     batch(i, DIRECTION_DEMOTE, 1 + (int)(i % 4));
	assert_int_equal(actor_new(&f->base, &a, &fd), 0);
	assert_int_equal(act(a, &plan, 7), 0);
	o = collect(a, fd, ARRAY_SIZE(batches));
	assert_int_equal(o->n_outcomes, ARRAY_SIZE(batches));
	for (size_t i = 0; i < o->n_outcomes; i++) {
		assert_false(seen[o->outcomes[i].batch.space_id]);
		seen[o->outcomes[i].batch.space_id] = true;
		assert_int_equal(o->outcomes[i].job_id, 7);
		assert_int_equal(tier_outcome_bytes(&o->outcomes[i].result, TIER_MOVED),
				 TIER_SLOT_BYTES);
	}
	outcomes_free(o);
	actor_free(a);
	free_fake(f);
}

static void test_cancel_one_job_only(void **state)
{
	struct batch first[] = { batch(100, DIRECTION_DEMOTE, 1), batch(101, DIRECTION_PROMOTE, 0) };
	struct batch second[] = { batch(200, DIRECTION_DEMOTE, 1) };
	struct plan one = { .n_batches = 2, .batches = first };
	struct plan two = { .n_batches = 1, .batches = second };
	struct fake *f = fake_new();
	struct act_state doing;
	struct outcomes *o;
	struct actor *a;
	int fd;

	f->hold_until_cancelled = true;
	assert_int_equal(actor_new(&f->base, &a, &fd), 0);
	assert_int_equal(act(a, &one, 1), 0);
	assert_int_equal(act(a, &two, 2), 0);
	act_cancel(a, 1, 0);
	o = collect(a, fd, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(o->outcomes[i].job_id, 1);
		assert_int_equal(tier_outcome_bytes(&o->outcomes[i].result, TIER_NOT_TRIED),
				 TIER_SLOT_BYTES);
	}
	act_read_state(a, &doing);
	assert_int_equal(doing.n_automatic, 0);
	outcomes_free(o);
	actor_free(a); /* ends the second one, too */
	free_fake(f);
}

static void test_cancel_one_cgroup_only(void **state)
{
	struct batch batches[] = { batch(100, DIRECTION_DEMOTE, 1), batch(200, DIRECTION_DEMOTE, 2) };
	struct plan plan = { .n_batches = 2, .batches = batches };
	struct fake *f = fake_new();
	struct outcomes *o;
	struct actor *a;
	int fd;

	f->hold_until_cancelled = true;
	assert_int_equal(actor_new(&f->base, &a, &fd), 0);
	assert_int_equal(act(a, &plan, 0), 0);
	act_cancel(a, 0, 2);
	o = collect(a, fd, 1);
	assert_int_equal(o->n_outcomes, 1);
	assert_int_equal(o->outcomes[0].batch.space_id, 200);
	outcomes_free(o);
	actor_free(a);
	free_fake(f);
}

static void test_failed_move_is_accounted(void **state)
{
	struct batch batches[] = { batch(1, DIRECTION_PROMOTE, 0) };
	struct plan plan = { .n_batches = 1, .batches = batches };
	struct fake *f = fake_new();
	struct outcomes *o;
	struct actor *a;
	int fd;

	f->error = -ENOMEM;
	assert_int_equal(actor_new(&f->base, &a, &fd), 0);
	assert_int_equal(act(a, &plan, 0), 0);
	o = collect(a, fd, 1);
	assert_int_equal(o->outcomes[0].error, -ENOMEM);
	assert_int_equal(o->outcomes[0].result.asked_bytes, TIER_SLOT_BYTES);
	assert_int_equal(tier_outcome_bytes(&o->outcomes[0].result, TIER_NOT_TRIED),
			 TIER_SLOT_BYTES);
	outcomes_free(o);
	actor_free(a);
	free_fake(f);
}

static void test_freed_with_work_queued(void **state)
{
	struct batch batches[] = { batch(1, DIRECTION_DEMOTE, 1), batch(2, DIRECTION_DEMOTE, 1),
				   batch(3, DIRECTION_PROMOTE, 0) };
	struct plan plan = { .n_batches = 3, .batches = batches };
	struct fake *f = fake_new();
	struct actor *a;
	int fd;

	f->hold_until_cancelled = true;
	assert_int_equal(actor_new(&f->base, &a, &fd), 0);
	assert_int_equal(act(a, &plan, 0), 0);
	assert_null(actor_free(a));
	free_fake(f);
}

static void test_queue_order(void **state)
{
	struct batch batches[] = { batch(1, DIRECTION_DEMOTE, 1), batch(2, DIRECTION_PROMOTE, 0),
				   batch(3, DIRECTION_DEMOTE, 1) };
	struct plan plan = { .n_batches = 3, .batches = batches };
	struct work *first, *second, *third;
	struct queue q;

	queue_init(&q);
	assert_int_equal(queue_add_plan(&q, &plan, 0), 0);
	assert_null(queue_take(&q, 0)); /* its room is not made yet */
	assert_null(queue_take(&q, 5));
	first = queue_take(&q, 1);
	second = queue_take(&q, 1);
	assert_int_equal(first->batch.space_id, 1);
	assert_int_equal(second->batch.space_id, 3);
	work_finish(first);
	assert_null(queue_take(&q, 0));
	work_finish(second);
	third = queue_take(&q, 0);
	assert_non_null(third);
	assert_int_equal(q.n, 0);
	work_finish(third);
	/* The list is whole after its last element was taken. */
	assert_int_equal(queue_add_plan(&q, &plan, 0), 0);
	assert_int_equal(q.n, 3);
	queue_done(&q);
	for (size_t i = 0; i < 3; i++) {
		struct work *w = (struct work *[]){ first, second, third }[i];

		free(w->batch.ranges);
		free(w);
	}
}

/* Three tiers: what goes from 0 to 1 waits for what goes from 1 to 2. */
static void test_demotions_wait_for_their_room(void **state)
{
	struct batch batches[] = { batch(1, DIRECTION_DEMOTE, 1), batch(2, DIRECTION_DEMOTE, 2) };
	struct plan plan = { .n_batches = 2, .batches = batches };
	struct work *lower, *upper;
	struct queue q;

	batches[1].source_node = 1;
	queue_init(&q);
	assert_int_equal(queue_add_plan(&q, &plan, 0), 0);
	assert_null(queue_take(&q, 1));
	lower = queue_take(&q, 2);
	assert_non_null(lower);
	assert_null(queue_take(&q, 1));
	work_finish(lower);
	upper = queue_take(&q, 1);
	assert_non_null(upper);
	work_finish(upper);
	free(lower->batch.ranges);
	free(lower);
	free(upper->batch.ranges);
	free(upper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demotions_wait_for_their_room),
		cmocka_unit_test(test_queue_order),
		cmocka_unit_test(test_promotions_wait_for_demotions),
		cmocka_unit_test(test_every_batch_comes_back_once),
		cmocka_unit_test(test_cancel_one_job_only),
		cmocka_unit_test(test_cancel_one_cgroup_only),
		cmocka_unit_test(test_failed_move_is_accounted),
		cmocka_unit_test(test_freed_with_work_queued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
