// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When to read an address space's residency again, and the newest reading of each. Judges only
 * whether a reading is out of date, nothing else.
 */
#include "observe/residents.h"
#include "util.h"

/*
 * A group's use of a node may drift by this much before its spaces are looked at again: noise in
 * small groups, and a part in 64 of what large ones use.
 */
#define DRIFT_BYTES (1 * MiB)
#define DRIFT_SHARE 64
/* Walking a terabyte takes seconds. It may take one part in 20 of the event loop's time. */
#define COST_SHARE 20
/* Swaps between two spaces of one group leave its sums as they were; they are seen this late. */
#define AGE_MAX_US (60 * US_PER_S)
/*
 * All walks together: no further one begins in a tick when they have taken one part in COST_SHARE of
 * the time since the last tick, or this much where ticks are short. What is left over comes first in
 * the next, because it is older.
 */
#define TICK_MIN_US (25 * US_PER_MS)

static uint64_t used_on_node(const struct tier_usage *u, size_t node)
{
	return u->anon_bytes[node] + u->shmem_bytes[node];
}

static bool out_of_date(const struct resident *r, const struct snapshot *s,
			const struct snapshot_space *space)
{
	const struct tier_usage *usage = &s->groups[space->group].usage;

	if (s->now_us < r->rest_until_us)
		return false;
	if (!r->read_us || r->stale || s->now_us - r->read_us > AGE_MAX_US)
		return true;
	for (size_t n = 0; n < s->topology->n_nodes; n++) {
		uint64_t a = used_on_node(usage, n), b = r->usage_bytes[n];

		if ((a > b ? a - b : b - a) > MAX(DRIFT_BYTES, b / DRIFT_SHARE))
			return true;
	}
	return false;
}

static void read_again(struct resident *r, struct tier_machine *machine, const struct snapshot *s,
		       const struct snapshot_space *space)
{
	struct tier_residency *fresh = NULL;
	uint64_t begin_us = tier_machine_now_us(machine);
	int err = tier_machine_read_residency(machine, space->id, &fresh);

	r->read_us = MAX(s->now_us, 1);
	r->rest_until_us = s->now_us + COST_SHARE * (tier_machine_now_us(machine) - begin_us);
	/* Short of memory or fds: the old reading is better than none, and another try is due. */
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return;
	/* A process that ended or cannot be read has nothing to move: no residency, no error. */
	tier_residency_free(r->residency);
	r->residency = err < 0 ? NULL : fresh;
	r->stale = false;
	for (size_t n = 0; n < s->topology->n_nodes; n++)
		r->usage_bytes[n] = used_on_node(&s->groups[space->group].usage, n);
}

static size_t find(const struct residents *r, uint64_t space_id)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->entries[middle].space_id < space_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct residents *r, size_t at, uint64_t space_id)
{
	int err = array_reserve((void **)&r->entries, &r->capacity, r->n, sizeof(*r->entries),
				SIZE_MAX / sizeof(*r->entries));

	if (err < 0)
		return err;
	memmove(&r->entries[at + 1], &r->entries[at], (r->n - at) * sizeof(*r->entries));
	r->entries[at] = (struct resident){ .space_id = space_id };
	r->n++;
	return 0;
}

static int mark_seen(struct residents *r, const struct snapshot *s)
{
	for (size_t i = 0; i < r->n; i++)
		r->entries[i].seen = false;
	for (size_t i = 0; i < s->n_spaces; i++) {
		size_t at = find(r, s->spaces[i].id);
		int err;

		if (at == r->n || r->entries[at].space_id != s->spaces[i].id) {
			err = insert(r, at, s->spaces[i].id);
			if (err < 0)
				return err;
		}
		r->entries[at].seen = true;
	}
	return 0;
}

static void drop_unseen(struct residents *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->entries[i].seen)
			r->entries[kept++] = r->entries[i];
		else
			tier_residency_free(r->entries[i].residency);
	}
	r->n = kept;
}

struct due {
	struct resident *resident;
	const struct snapshot_space *space;
	bool must; /* somebody waits for it */
};

static int urgent_and_older_first(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	if (x->must != y->must)
		return x->must ? -1 : 1;
	if (x->resident->read_us != y->resident->read_us)
		return x->resident->read_us < y->resident->read_us ? -1 : 1;
	return 0;
}

/* Oldest reading first, so that the per-tick limit starves nobody. */
static int read_due(struct residents *r, struct tier_machine *machine, struct snapshot *s,
		    uint64_t fresh_cgroup_id)
{
	cleanup(freep) struct due *due = calloc(s->n_spaces + 1, sizeof(*due));
	uint64_t begin_us = tier_machine_now_us(machine), budget_us;
	size_t n = 0;

	if (!due)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_spaces; i++) {
		const struct snapshot_space *space = &s->spaces[i];
		struct resident *resident = &r->entries[find(r, space->id)];
		bool must = fresh_cgroup_id &&
			    s->groups[space->group].cgroup_id == fresh_cgroup_id;

		if (must || out_of_date(resident, s, space))
			due[n++] = (struct due){ resident, space, must };
	}
	qsort(due, n, sizeof(*due), urgent_and_older_first);
	budget_us = MAX((s->now_us - r->refreshed_us) / COST_SHARE, TICK_MIN_US);
	for (size_t i = 0;
	     i < n && (due[i].must || tier_machine_now_us(machine) - begin_us < budget_us); i++)
		read_again(due[i].resident, machine, s, due[i].space);
	r->refreshed_us = s->now_us;
	return 0;
}

int residents_refresh(struct residents *r, struct tier_machine *machine, struct snapshot *s,
		      uint64_t fresh_cgroup_id)
{
	int err = mark_seen(r, s);

	if (err < 0)
		return err;
	drop_unseen(r);
	err = read_due(r, machine, s, fresh_cgroup_id);
	if (err < 0)
		return err;
	for (size_t i = 0; i < s->n_spaces; i++)
		s->spaces[i].residency = r->entries[find(r, s->spaces[i].id)].residency;
	return 0;
}

void residents_touch(struct residents *r, uint64_t space_id)
{
	size_t at = find(r, space_id);

	if (at < r->n && r->entries[at].space_id == space_id)
		r->entries[at].stale = true;
}

void residents_done(struct residents *r)
{
	for (size_t i = 0; i < r->n; i++)
		tier_residency_free(r->entries[i].residency);
	free(r->entries);
	*r = (struct residents){ 0 };
}
