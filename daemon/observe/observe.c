// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Puts a snapshot together: topology, groups with their use, address spaces with residency and
 * samples. Tells libtier which spaces to watch. Decides nothing: what is tracked follows from the
 * policies' modes and the size of the processes alone.
 */
#include "observe/observe.h"
#include "observe/groups.h"
#include "observe/residents.h"
#include "util.h"

struct observer {
	struct tier_machine *machine;
	struct residents residents;
	/* What the last snapshot points into. */
	struct tier_cgroups *cgroups;
	struct tier_accesses *accesses;
	struct groups groups;
};

DEFINE_CLEANUP(struct tier_processes *, tier_processes_free)
DEFINE_CLEANUP(struct snapshot *, snapshot_free)

int observer_new(struct tier_machine *machine, struct observer **ret)
{
	struct observer *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->machine = machine;
	*ret = o;
	return 0;
}

static void forget_last(struct observer *o)
{
	o->cgroups = tier_cgroups_free(o->cgroups);
	o->accesses = tier_accesses_free(o->accesses);
	groups_done(&o->groups);
}

struct observer *observer_free(struct observer *o)
{
	if (!o)
		return NULL;
	forget_last(o);
	residents_done(&o->residents);
	free(o);
	return NULL;
}

struct snapshot *snapshot_free(struct snapshot *s)
{
	if (!s)
		return NULL;
	tier_topology_free(s->topology);
	free(s->spaces);
	free(s);
	return NULL;
}

void observer_touch(struct observer *o, uint64_t space_id)
{
	residents_touch(&o->residents, space_id);
}

/* A cgroup that vanished since the walk keeps a usage of zero; its processes are gone as well. */
static int read_groups(struct observer *o, struct snapshot *s, const struct policy_set *set)
{
	int err = tier_machine_read_cgroups(o->machine, &o->cgroups);

	if (err < 0)
		return err;
	err = groups_match(o->cgroups, set, &o->groups);
	if (err < 0)
		return err;
	for (size_t i = 0; i < o->groups.n_groups; i++) {
		err = tier_machine_read_usage(o->machine, o->groups.groups[i].cgroup_id,
					      &o->groups.groups[i].usage);
		if (err == -ENOMEM)
			return err;
	}
	groups_subtract_inner(&o->groups);
	s->n_groups = o->groups.n_groups;
	s->groups = o->groups.groups;
	return 0;
}

static void mark_paused(struct snapshot *s, const struct pauses *pauses)
{
	s->paused = pauses->all;
	for (size_t i = 0; i < s->n_groups; i++)
		for (size_t j = 0; j < pauses->n_cgroup_ids; j++)
			if (s->groups[i].cgroup_id == pauses->cgroup_ids[j])
				s->groups[i].paused = true;
}

struct member {
	uint64_t cgroup_id;
	size_t group;
};

static int member_compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->cgroup_id < y->cgroup_id ? -1 : x->cgroup_id > y->cgroup_id;
}

static int space_compare(const void *a, const void *b)
{
	const struct snapshot_space *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* The cgroups whose processes are of interest, ascending by id. */
static size_t list_members(const struct observer *o, struct member *members)
{
	size_t n = 0;

	for (size_t i = 0; i < o->cgroups->n_cgroups; i++) {
		size_t group = o->groups.by_cgroup[i];

		if (group == GROUP_NONE || o->groups.groups[group].policy->mode == MODE_OFF)
			continue;
		members[n++] = (struct member){ o->cgroups->cgroups[i].id, group };
	}
	qsort(members, n, sizeof(*members), member_compare);
	return n;
}

static int fill_spaces(struct snapshot *s, const struct tier_processes *processes,
		       const struct member *members, size_t n_members)
{
	s->spaces = calloc(processes->n_processes + 1, sizeof(*s->spaces));
	if (!s->spaces)
		return -ENOMEM;
	for (size_t i = 0; i < processes->n_processes; i++) {
		const struct tier_process *p = &processes->processes[i];
		struct member key = { .cgroup_id = p->cgroup_id };
		const struct member *m =
			bsearch(&key, members, n_members, sizeof(*members), member_compare);

		if (!m || p->resident_bytes < s->settings->process_min_bytes)
			continue;
		s->spaces[s->n_spaces++] = (struct snapshot_space){
			.id = p->space_id,
			.pid = p->pid,
			.group = m->group,
			.resident_bytes = p->resident_bytes,
		};
	}
	qsort(s->spaces, s->n_spaces, sizeof(*s->spaces), space_compare);
	return 0;
}

static int read_spaces(struct observer *o, struct snapshot *s)
{
	cleanup(freep) struct member *members = NULL;
	cleanup(freep) uint64_t *ids = NULL;
	cleanup(tier_processes_freep) struct tier_processes *processes = NULL;
	size_t n;
	int err;

	members = calloc(o->cgroups->n_cgroups + 1, sizeof(*members));
	ids = calloc(o->cgroups->n_cgroups + 1, sizeof(*ids));
	if (!members || !ids)
		return -ENOMEM;
	n = list_members(o, members);
	for (size_t i = 0; i < n; i++)
		ids[i] = members[i].cgroup_id;
	err = tier_machine_read_processes(o->machine, ids, n, &processes);
	if (err < 0)
		return err;
	return fill_spaces(s, processes, members, n);
}

static int larger_first(const void *a, const void *b)
{
	const struct snapshot_space *const *x = a, *const *y = b;

	if ((*x)->resident_bytes != (*y)->resident_bytes)
		return (*x)->resident_bytes > (*y)->resident_bytes ? -1 : 1;
	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

/* The tracker takes the first ones when it can't take all: largest first. */
static int track_spaces(struct observer *o, const struct snapshot *s)
{
	cleanup(freep) const struct snapshot_space **order = calloc(s->n_spaces + 1,
								    sizeof(*order));
	cleanup(freep) uint64_t *ids = calloc(s->n_spaces + 1, sizeof(*ids));

	if (!order || !ids)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_spaces; i++)
		order[i] = &s->spaces[i];
	qsort(order, s->n_spaces, sizeof(*order), larger_first);
	for (size_t i = 0; i < s->n_spaces; i++)
		ids[i] = order[i]->id;
	return tier_machine_track(o->machine, ids, s->n_spaces);
}

static int read_samples(struct observer *o, struct snapshot *s)
{
	int err = tier_machine_read_access(o->machine, &o->accesses);

	if (err < 0)
		return err;
	for (size_t i = 0; i < o->accesses->n_accesses; i++) {
		struct snapshot_space key = { .id = o->accesses->accesses[i].space_id };
		struct snapshot_space *space = bsearch(&key, s->spaces, s->n_spaces,
						       sizeof(*s->spaces), space_compare);

		if (space)
			space->access = &o->accesses->accesses[i];
	}
	tier_machine_read_tracker(o->machine, &s->tracker);
	return 0;
}

int observe(struct observer *o, const struct policy_set *set, const struct pauses *pauses,
	    uint64_t now_us, uint64_t fresh_cgroup_id, struct snapshot **ret)
{
	cleanup(snapshot_freep) struct snapshot *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	forget_last(o);
	s->now_us = now_us;
	s->settings = &set->settings;
	err = tier_machine_read_topology(o->machine, &s->topology);
	if (err < 0)
		return err;
	err = read_groups(o, s, set);
	if (err < 0)
		return err;
	mark_paused(s, pauses);
	err = read_spaces(o, s);
	if (err < 0)
		return err;
	err = track_spaces(o, s);
	if (err < 0)
		return err;
	err = read_samples(o, s);
	if (err < 0)
		return err;
	err = residents_refresh(&o->residents, o->machine, s, fresh_cgroup_id);
	if (err < 0)
		return err;
	*ret = STEAL(s);
	return 0;
}
