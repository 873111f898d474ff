// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The life of a history: making, finding, forgetting. What moves leave behind is in moves.c, what
 * is inside a chunk of temperatures in decide/heat.c.
 */
#include "model/moves.h"
#include "util.h"

/* Far above what a machine runs; keeps a process that forks without end from growing us. */
#define SPACES_MAX 1000000
#define GROUPS_MAX 100000
/* A service that is restarted gets a new cgroup id anyway; this is for a policy that comes back. */
#define GROUP_KEPT_US (600 * US_PER_S)
/* A 32nd per look: half a minute at the usual pace. */
#define REFERENCE_FALL 32
/* Snapshots that a space may be missing from: reading a process can fail once. */
#define SPACE_ABSENT_MAX 1

struct history *history_new(uint64_t now_us)
{
	struct history *h = calloc(1, sizeof(*h));

	if (h)
		h->begin_us = now_us;
	return h;
}

static void space_done(struct heat_space *s)
{
	free(s->chunks);
	free(s->moves);
}

struct history *history_free(struct history *h)
{
	if (!h)
		return NULL;
	for (size_t i = 0; i < h->n_spaces; i++)
		space_done(&h->spaces[i]);
	free(h->spaces);
	free(h->groups);
	free(h->flights);
	free(h);
	return NULL;
}

uint32_t history_seconds(const struct history *h, uint64_t now_us)
{
	return now_us < h->begin_us ? 1 : (uint32_t)((now_us - h->begin_us) / US_PER_S) + 1;
}

/* First place whose id is not below @id; every element begins with its id. */
static size_t lower_bound(const void *base, size_t n, size_t size, uint64_t id)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t there;

		memcpy(&there, (const char *)base + middle * size, sizeof(there));
		if (there < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t group_place(const struct history *h, uint64_t cgroup_id)
{
	_Static_assert(offsetof(struct group_counters, cgroup_id) == 0, "lower_bound reads it");
	return lower_bound(h->groups, h->n_groups, sizeof(*h->groups), cgroup_id);
}

static size_t space_place(const struct history *h, uint64_t space_id)
{
	_Static_assert(offsetof(struct heat_space, space_id) == 0, "lower_bound reads it");
	return lower_bound(h->spaces, h->n_spaces, sizeof(*h->spaces), space_id);
}

struct group_counters *history_group(struct history *h, uint64_t cgroup_id)
{
	size_t i = group_place(h, cgroup_id);

	return i < h->n_groups && h->groups[i].cgroup_id == cgroup_id ? &h->groups[i] : NULL;
}

int history_group_add(struct history *h, uint64_t cgroup_id, uint64_t now_us,
		      struct group_counters **ret)
{
	size_t i = group_place(h, cgroup_id);

	if (i == h->n_groups || h->groups[i].cgroup_id != cgroup_id) {
		int r = array_reserve((void **)&h->groups, &h->groups_capacity, h->n_groups,
				      sizeof(*h->groups), GROUPS_MAX);

		if (r < 0)
			return r;
		memmove(&h->groups[i + 1], &h->groups[i], (h->n_groups - i) * sizeof(*h->groups));
		h->groups[i] = (struct group_counters){ .cgroup_id = cgroup_id };
		h->n_groups++;
	}
	h->groups[i].last_seen_us = MAX(h->groups[i].last_seen_us, now_us);
	*ret = &h->groups[i];
	return 0;
}

/*
 * The reference follows upwards at once and downwards slowly: a run of merged samples makes hot
 * memory look cooler than it is, and the scale that edges are measured by must not shrink with it.
 */
static void judge_reference(struct group_counters *g, uint32_t reference_bp)
{
	uint32_t kept_bp = g->reference_bp - g->reference_bp / REFERENCE_FALL;

	g->reference_bp = (uint16_t)MAX(reference_bp, kept_bp);
}

void history_judge(struct group_counters *g, uint32_t reference_bp, bool looks_uniform,
		   uint32_t now_s)
{
	enum skew looks = looks_uniform ? SKEW_UNIFORM : SKEW_SKEWED;
	uint32_t wait_s = g->skew == SKEW_UNKNOWN ? HISTORY_SKEW_FIRST_S : HISTORY_SKEW_S;

	judge_reference(g, reference_bp);
	/* As long as nothing is hot there is nothing to judge. */
	if (!reference_bp)
		return;
	if (looks == g->skew) {
		g->doubt_s = 0;
	} else if (!g->doubt_s) {
		g->doubt_s = now_s;
	} else if (now_s >= g->doubt_s + wait_s) {
		g->skew = looks;
		g->doubt_s = 0;
	}
}

struct heat_space *history_space(const struct history *h, uint64_t space_id)
{
	size_t i = space_place(h, space_id);

	return i < h->n_spaces && h->spaces[i].space_id == space_id ? &h->spaces[i] : NULL;
}

int history_space_add(struct history *h, uint64_t space_id, struct heat_space **ret)
{
	size_t i = space_place(h, space_id);

	if (i == h->n_spaces || h->spaces[i].space_id != space_id) {
		int r = array_reserve((void **)&h->spaces, &h->spaces_capacity, h->n_spaces,
				      sizeof(*h->spaces), SPACES_MAX);

		if (r < 0)
			return r;
		memmove(&h->spaces[i + 1], &h->spaces[i], (h->n_spaces - i) * sizeof(*h->spaces));
		h->spaces[i] = (struct heat_space){ .space_id = space_id };
		h->n_spaces++;
	}
	*ret = &h->spaces[i];
	return 0;
}

static void forget_spaces(struct history *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->n_spaces; i++) {
		if (h->spaces[i].absent <= SPACE_ABSENT_MAX)
			h->spaces[kept++] = h->spaces[i];
		else
			space_done(&h->spaces[i]);
	}
	h->n_spaces = kept;
}

static void forget_groups(struct history *h, uint64_t now_us)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->n_groups; i++)
		if (now_us < h->groups[i].last_seen_us + GROUP_KEPT_US)
			h->groups[kept++] = h->groups[i];
	h->n_groups = kept;
}

static void forget_flights(struct history *h, uint32_t now_s)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->n_flights; i++)
		if (now_s < h->flights[i].planned_s + HISTORY_FLIGHT_S)
			h->flights[kept++] = h->flights[i];
	h->n_flights = kept;
}

void history_forget(struct history *h, uint64_t now_us)
{
	uint32_t now_s = history_seconds(h, now_us);

	forget_spaces(h);
	forget_groups(h, now_us);
	forget_flights(h, now_s);
	for (size_t i = 0; i < h->n_spaces; i++)
		moves_forget(&h->spaces[i], now_s);
}
