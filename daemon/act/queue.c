// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Order of execution between the movers: first come first served per node, and behind the demotions
 * of the same plan that make room there. Knows nothing of threads or of moving.
 */
#include "act/queue.h"
#include "util.h"

void queue_init(struct queue *q)
{
	*q = (struct queue){ 0 };
	q->tail = &q->head;
}

/* Demotions from @node that are not done yet; NULL when the plan has none. */
static size_t *gate_demotions(struct act_gate *g, int node)
{
	for (size_t i = 0; i < g->n_sources; i++)
		if (g->sources[i].node == node)
			return &g->sources[i].n_demotions;
	return NULL;
}

static void gate_add(struct act_gate *g, const struct batch *b)
{
	size_t *n = gate_demotions(g, b->source_node);

	g->n_batches++;
	if (b->direction != DIRECTION_DEMOTE)
		return;
	if (!n && g->n_sources < TIER_NODES_MAX) {
		g->sources[g->n_sources].node = b->source_node;
		n = &g->sources[g->n_sources++].n_demotions;
	}
	if (n)
		(*n)++;
}

static bool gate_is_open(struct act_gate *g, const struct batch *b)
{
	size_t *n = gate_demotions(g, b->target_node);

	return !n || *n == 0;
}

static struct work *work_new(const struct batch *batch, struct act_gate *gate, uint64_t job_id)
{
	struct work *w = calloc(1, sizeof(*w));
	size_t size = batch->n_ranges * sizeof(*batch->ranges);

	if (!w)
		return NULL;
	w->batch = *batch;
	w->batch.ranges = malloc(MAX(size, (size_t)1));
	if (!w->batch.ranges) {
		free(w);
		return NULL;
	}
	memcpy(w->batch.ranges, batch->ranges, size);
	w->gate = gate;
	w->job_id = job_id;
	return w;
}

static void work_list_free(struct work *w)
{
	while (w) {
		struct work *next = w->next;

		free(w->batch.ranges);
		free(w);
		w = next;
	}
}

int queue_add_plan(struct queue *q, const struct plan *plan, uint64_t job_id)
{
	struct work *list = NULL, **end = &list;
	struct act_gate *gate;

	if (plan->n_batches == 0)
		return 0;
	gate = calloc(1, sizeof(*gate));
	if (!gate)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_batches; i++) {
		*end = work_new(&plan->batches[i], gate, job_id);
		if (!*end) {
			work_list_free(list);
			free(gate);
			return -ENOMEM;
		}
		end = &(*end)->next;
		gate_add(gate, &plan->batches[i]);
	}
	*q->tail = list;
	q->tail = end;
	q->n += plan->n_batches;
	return 0;
}

struct work *queue_take(struct queue *q, int node)
{
	for (struct work **at = &q->head; *at; at = &(*at)->next) {
		struct work *w = *at;

		if (w->batch.target_node != node)
			continue;
		/* Work that was cancelled has nothing to wait for. */
		if (!w->cancelled && !gate_is_open(w->gate, &w->batch))
			continue;
		*at = w->next;
		if (!w->next)
			q->tail = at;
		w->next = NULL;
		q->n--;
		return w;
	}
	return NULL;
}

bool work_matches(const struct work *w, uint64_t job_id, uint64_t cgroup_id)
{
	return w->job_id == job_id && (!cgroup_id || w->batch.cgroup_id == cgroup_id);
}

void queue_cancel(struct queue *q, uint64_t job_id, uint64_t cgroup_id)
{
	for (struct work *w = q->head; w; w = w->next)
		if (work_matches(w, job_id, cgroup_id))
			w->cancelled = true;
}

void work_finish(struct work *w)
{
	size_t *n = gate_demotions(w->gate, w->batch.source_node);

	if (n && w->batch.direction == DIRECTION_DEMOTE)
		(*n)--;
	if (--w->gate->n_batches == 0)
		free(w->gate);
	w->gate = NULL;
}

void queue_done(struct queue *q)
{
	while (q->head) {
		struct work *w = q->head;

		q->head = w->next;
		work_finish(w);
		free(w->batch.ranges);
		free(w);
	}
	queue_init(q);
}
