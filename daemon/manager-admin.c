// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an administrator asks for between two ticks: reload, pause, rebalance, cancel. Every move
 * goes through the same plan object and the same movers as an automatic one.
 */
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "manager-internal.h"
#include "report/journal.h"
#include "util.h"

DEFINE_CLEANUP(struct plan *, plan_free)
DEFINE_CLEANUP(struct policy_set *, policy_set_free)

/* NULL when there is no memory for it. */
static char *errors_text(const struct config_errors *errors)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	config_errors_print(errors, f);
	fclose(f);
	return text;
}

void manager_set_config_error(struct manager *m, char *text)
{
	free(m->config_error);
	m->config_error = text;
	m->view.config_error = text;
}

static int keep_old(struct manager *m, char *text, char **ret_error_text)
{
	journal_reload_failed(text ?: "out of memory");
	*ret_error_text = text ? strdup(text) : NULL;
	manager_set_config_error(m, text);
	manager_show(m);
	return -EBADMSG;
}

static int set_order(struct manager *m, const struct policy_set *set, char **ret_text)
{
	const char *why = NULL;
	int err = tier_linux_set_order(m->machine, set->settings.tier_order, &why);

	if (err < 0 && asprintf(ret_text, "tierd.conf: Order: %s", why ?: strerror(-err)) < 0)
		*ret_text = NULL;
	return err;
}

/* Loads beside the old set and swaps one pointer, or keeps the old one whole. */
static int admin_reload(void *userdata, char **ret_error_text)
{
	cleanup(policy_set_freep) struct policy_set *set = NULL;
	struct config_errors errors = { 0 };
	struct manager *m = userdata;
	char *text = NULL;
	int err;

	sd_notifyf(false, "RELOADING=1\nMONOTONIC_USEC=%llu",
		   (unsigned long long)tier_machine_now_us(m->machine));
	err = config_load(&m->config, &set, &errors);
	if (err < 0)
		text = errors_text(&errors);
	else
		err = set_order(m, set, &text);
	config_errors_done(&errors);
	sd_notify(false, "READY=1");
	if (err < 0)
		return keep_old(m, text, ret_error_text);
	manager_forget_snapshot(m);
	policy_set_free(m->set);
	m->set = STEAL(set);
	manager_set_config_error(m, NULL);
	journal_reloaded(m->set->n_policies);
	/* At once, so that whoever asks next is answered under the new policies. */
	manager_look(m);
	manager_tick_soon(m);
	return 0;
}

static size_t find_pause(const struct manager *m, uint64_t cgroup_id)
{
	for (size_t i = 0; i < m->pauses.n_cgroup_ids; i++)
		if (m->paused_ids[i] == cgroup_id)
			return i;
	return SIZE_MAX;
}

static int pause_one(struct manager *m, uint64_t cgroup_id, bool pause)
{
	size_t at = find_pause(m, cgroup_id);

	if (pause == (at != SIZE_MAX))
		return 0;
	if (!pause) {
		m->paused_ids[at] = m->paused_ids[--m->pauses.n_cgroup_ids];
		return 0;
	}
	if (m->pauses.n_cgroup_ids == PAUSES_MAX)
		return -ENOSPC;
	m->paused_ids[m->pauses.n_cgroup_ids++] = cgroup_id;
	return 0;
}

static bool is_group(const struct manager *m, uint64_t cgroup_id)
{
	for (size_t i = 0; i < m->view.n_groups; i++)
		if (m->view_groups[i].cgroup_id == cgroup_id)
			return true;
	return false;
}

void manager_forget_pauses(struct manager *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->pauses.n_cgroup_ids; i++)
		if (is_group(m, m->paused_ids[i]))
			m->paused_ids[kept++] = m->paused_ids[i];
	m->pauses.n_cgroup_ids = kept;
}

static int admin_pause(void *userdata, uint64_t cgroup_id, bool pause)
{
	struct manager *m = userdata;
	int err = 0;

	if (cgroup_id && !is_group(m, cgroup_id) && find_pause(m, cgroup_id) == SIZE_MAX)
		return -ENOENT;
	if (cgroup_id)
		err = pause_one(m, cgroup_id, pause);
	else
		m->pauses.all = pause;
	if (err < 0)
		return err;
	if (pause)
		act_cancel(m->actor, 0, cgroup_id);
	manager_show(m); /* the answer to the next question must be right already */
	manager_tick_soon(m);
	return 0;
}

static void summarise(const struct plan *plan, struct bus_plan_summary *ret)
{
	*ret = (struct bus_plan_summary){ .n_batches = (uint32_t)plan->n_batches };
	memcpy(ret->bytes, plan->bytes, sizeof(ret->bytes));
	memcpy(ret->held_bytes, plan->held_bytes, sizeof(ret->held_bytes));
}

static const struct snapshot_group *find_group(const struct manager *m, uint64_t cgroup_id)
{
	for (size_t i = 0; i < m->snapshot->n_groups; i++)
		if (m->snapshot->groups[i].cgroup_id == cgroup_id)
			return &m->snapshot->groups[i];
	return NULL;
}

/*
 * The machine may have changed since the last tick; a move by hand starts from how it is now, also
 * where reading that is so costly that ticks put up with an older reading.
 */
static int look_again(struct manager *m, uint64_t cgroup_id)
{
	int err;

	manager_forget_snapshot(m);
	err = observe(m->observer, m->set, &m->pauses, tier_machine_now_us(m->machine), cgroup_id,
		      &m->snapshot);
	if (err < 0)
		return err;
	return decide(m->snapshot, m->history, &m->targets);
}

static bool has_job(const struct manager *m, uint64_t cgroup_id)
{
	size_t n;
	const struct view_job *jobs = jobs_list(m->jobs, &n);

	for (size_t i = 0; i < n; i++)
		if (jobs[i].cgroup_id == cgroup_id && !view_job_is_final(&jobs[i]))
			return true;
	return false;
}

static int start_job(struct manager *m, const struct plan *plan, const struct snapshot_group *group,
		     int rank, uint64_t *ret_job)
{
	uint64_t id;
	int err = jobs_add(m->jobs, plan, group->cgroup_id, group->path, rank, &id);

	if (err < 0)
		return err;
	/* So that no tick plans the same memory while it is on its way. */
	err = history_mark_flights(m->history, plan, tier_machine_now_us(m->machine));
	if (err < 0) {
		jobs_drop(m->jobs, id);
		return err == -E2BIG ? -ENOSPC : err;
	}
	err = act(m->actor, plan, id);
	if (err < 0) {
		history_drop_flights(m->history, plan, true, tier_machine_now_us(m->machine));
		jobs_drop(m->jobs, id);
		return err;
	}
	*ret_job = id;
	return 0;
}

static int admin_rebalance(void *userdata, uint64_t cgroup_id, int rank, bool dry_run,
			   struct bus_plan_summary *ret, uint64_t *ret_job)
{
	cleanup(plan_freep) struct plan *plan = NULL;
	const struct snapshot_group *group;
	struct manager *m = userdata;
	uint64_t job = 0;
	int err = look_again(m, cgroup_id);

	if (err < 0)
		return err;
	group = find_group(m, cgroup_id);
	if (!group)
		err = -ENOENT;
	else if (group->policy->mode == MODE_OFF)
		err = -EOPNOTSUPP;
	else if (rank >= (int)m->snapshot->topology->n_tiers)
		err = -EINVAL;
	else if (!dry_run && has_job(m, cgroup_id))
		err = -EBUSY;
	else
		err = plan_rebalance(m->snapshot, m->targets, cgroup_id, rank, &plan);
	if (err >= 0 && !dry_run && plan->n_batches > 0)
		err = start_job(m, plan, group, rank, &job);
	if (err >= 0) {
		summarise(plan, ret);
		*ret_job = job;
	}
	manager_show(m);
	return err;
}

static int admin_cancel(void *userdata, uint64_t job_id)
{
	struct manager *m = userdata;
	int err = jobs_cancel(m->jobs, job_id);

	if (err < 0)
		return err;
	act_cancel(m->actor, job_id, 0);
	return 0;
}

static void admin_connection(void *userdata, const char *trouble)
{
	journal_bus(trouble);
}

const struct bus_callbacks manager_bus_callbacks = {
	.reload = admin_reload,
	.pause = admin_pause,
	.rebalance = admin_rebalance,
	.cancel = admin_cancel,
	.connection = admin_connection,
};
