// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tick, and when it comes. The one file that sees all five stages; it does the work of none.
 */
#include "manager-internal.h"
#include "report/journal.h"
#include "util.h"

/*
 * A mover comes back from the kernel after each call, which it keeps near 20 ms; a call on a machine
 * under memory pressure may reclaim for seconds, and reading the mappings of terabytes takes some,
 * too. Twenty seconds without a sign is a mover that hangs.
 */
#define MOVER_STUCK_US (20 * US_PER_S)
/* The hot bytes of all groups must change by more than this between two ticks to keep them coming
 * fast: smaller changes are noise of the tracker. */
#define HOT_CHANGE_BYTES (2 * TIER_SLOT_BYTES)

DEFINE_CLEANUP(struct plan *, plan_free)
DEFINE_CLEANUP(struct outcomes *, outcomes_free)
DEFINE_CLEANUP(struct manager *, manager_free)

void manager_forget_snapshot(struct manager *m)
{
	/* The view points into the snapshot; the bus may ask for it at any time. */
	m->view.topology = NULL;
	m->view.groups = NULL;
	m->view.n_groups = 0;
	m->snapshot = snapshot_free(m->snapshot);
	m->targets = targets_free(m->targets);
}

int manager_tick(struct manager *m, uint64_t now_us)
{
	cleanup(plan_freep) struct plan *plan = NULL;
	int err;

	manager_forget_snapshot(m);
	err = observe(m->observer, m->set, &m->pauses, now_us, 0, &m->snapshot);
	if (err < 0)
		return err;
	err = decide(m->snapshot, m->history, &m->targets);
	if (err < 0)
		return err;
	err = plan_make(m->snapshot, m->targets, m->history, &plan);
	if (err < 0)
		return err;
	err = act(m->actor, plan, 0);
	if (err < 0) {
		history_drop_flights(m->history, plan, false, now_us);
		return err;
	}
	m->ticks++;
	m->busy = plan->n_batches > 0;
	return manager_show(m);
}

void manager_look(struct manager *m)
{
	m->tick_error = manager_tick(m, tier_machine_now_us(m->machine));
	if (m->tick_error < 0) {
		journal_tick_failed(m->tick_error);
		manager_forget_snapshot(m);
		manager_show(m);
	} else {
		manager_forget_pauses(m);
	}
}

static uint64_t hot_bytes(const struct targets *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; t && i < t->n_groups; i++)
		sum += t->groups[i].hot_bytes;
	return sum;
}

/* Memory that has not been sampled often enough to be judged: every tick brings it nearer. */
static bool has_young(const struct targets *t)
{
	for (size_t i = 0; t && i < t->n_groups; i++)
		if (t->groups[i].young_bytes)
			return true;
	return false;
}

/* Fast while there is work or news, then ever slower down to the idle interval. */
static uint64_t next_interval(struct manager *m, uint64_t hot_before, size_t spaces_before)
{
	uint64_t hot = hot_bytes(m->targets);
	uint64_t change = hot > hot_before ? hot - hot_before : hot_before - hot;
	const struct settings *settings = &m->set->settings;
	struct act_state moving;

	act_read_state(m->actor, &moving);
	if (m->busy || moving.n_automatic > 0 || jobs_running(m->jobs) || change > HOT_CHANGE_BYTES || has_young(m->targets) || !m->snapshot ||
	    m->snapshot->n_spaces != spaces_before)
		return settings->interval_us;
	return MIN(MAX(m->interval_us * 2, settings->interval_us), settings->interval_idle_us);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manager *m = userdata;
	uint64_t hot_before = hot_bytes(m->targets);
	size_t spaces_before = m->snapshot ? m->snapshot->n_spaces : 0;
	int err;

	manager_look(m);
	m->interval_us = next_interval(m, hot_before, spaces_before);
	err = sd_event_source_set_time_relative(source, m->interval_us);
	if (err < 0)
		return err;
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void manager_tick_soon(struct manager *m)
{
	/* Fails only on a source that was never made. */
	sd_event_source_set_time_relative(m->timer, 0);
	sd_event_source_set_enabled(m->timer, SD_EVENT_ONESHOT);
}

static void account(struct manager *m, const struct outcomes *outcomes)
{
	for (size_t i = 0; i < outcomes->n_outcomes; i++) {
		const struct outcome *o = &outcomes->outcomes[i];
		const struct view_job *ended;

		observer_touch(m->observer, o->batch.space_id);
		journal_outcome(o);
		if (jobs_account(m->jobs, o, &ended))
			journal_job_finished(ended);
	}
}

/* Outcomes flow into the history as soon as they are there; the next tick decides upon it. */
static int on_outcomes(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	cleanup(outcomes_freep) struct outcomes *outcomes = NULL;
	struct manager *m = userdata;
	int err = act_collect(m->actor, &outcomes);

	if (err < 0)
		return 0; /* out of memory: they stay with the actor until the next one comes */
	account(m, outcomes);
	err = history_account(m->history, outcomes);
	if (err < 0)
		journal_tick_failed(err);
	manager_show(m);
	return 0;
}

static int add_sources(struct manager *m, int outcomes_fd)
{
	int err = sd_event_add_io(m->event, &m->outcomes_source, outcomes_fd, EPOLLIN, on_outcomes,
				  m);

	if (err < 0)
		return err;
	/* A tenth of a second of slack lets the kernel group our wake-ups with others. */
	return sd_event_add_time_relative(m->event, &m->timer, CLOCK_MONOTONIC, 0, 100 * US_PER_MS,
					  on_timer, m);
}

int manager_new(sd_event *event, struct tier_machine *machine, struct policy_set *set,
		const struct config_options *config, struct manager **ret)
{
	cleanup(manager_freep) struct manager *m = calloc(1, sizeof(*m));
	uint64_t now_us = tier_machine_now_us(machine);
	int outcomes_fd, err;

	if (!m) {
		tier_machine_free(machine);
		policy_set_free(set);
		return -ENOMEM;
	}
	m->machine = machine;
	m->set = set;
	m->config = *config;
	m->event = sd_event_ref(event);
	m->started_us = now_us;
	m->pauses.cgroup_ids = m->paused_ids;
	m->history = history_new(now_us);
	if (!m->history)
		return -ENOMEM;
	err = observer_new(machine, &m->observer);
	if (err < 0)
		return err;
	err = jobs_new(&m->jobs);
	if (err < 0)
		return err;
	err = actor_new(machine, &m->actor, &outcomes_fd);
	if (err < 0)
		return err;
	err = add_sources(m, outcomes_fd);
	if (err < 0)
		return err;
	err = bus_new(event, NULL, &manager_bus_callbacks, m, &m->bus);
	if (err < 0)
		return err;
	*ret = STEAL(m);
	return 0;
}

struct manager *manager_free(struct manager *m)
{
	if (!m)
		return NULL;
	actor_free(m->actor); /* first: the movers stop soonest, and they use the machine */
	bus_free(m->bus);
	sd_event_source_disable_unref(m->timer);
	sd_event_source_disable_unref(m->outcomes_source);
	manager_forget_snapshot(m);
	observer_free(m->observer);
	history_free(m->history);
	jobs_free(m->jobs);
	tier_machine_free(m->machine);
	policy_set_free(m->set);
	free(m->view_groups);
	free(m->config_error);
	sd_event_unref(m->event);
	free(m);
	return NULL;
}

bool manager_is_alive(struct manager *m)
{
	struct act_state state;

	act_read_state(m->actor, &state);
	return state.silent_us < MOVER_STUCK_US;
}
