// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * org.tierd1.Manager: properties and methods as org.tierd1.txt has them. Checks who asks and what is
 * asked, hands it to the callbacks, and turns their errors into the bus's. Must not do the work.
 */
#include "report/bus-internal.h"
#include "report/text.h"
#include "util.h"

const char *const bus_announced_properties[] = {
	"State", "StatusText", "Tracker", "TrackerReason", "ConfigError", NULL,
};

static const char *tracker_name(enum tier_tracker t)
{
	switch (t) {
	case TIER_TRACKER_NONE:
		return "none";
	case TIER_TRACKER_DAMON:
		return "damon";
	case TIER_TRACKER_SIM:
		return "sim";
	}
	return "none";
}

const char *bus_property_text(const struct bus *b, const char *property)
{
	const struct view *v = b->view;
	const char *text = NULL;

	if (!strcmp(property, "State"))
		return view_state_name(v ? v->state : STATE_STARTING);
	if (!strcmp(property, "Tracker"))
		return tracker_name(v ? v->tracker.tracker : TIER_TRACKER_NONE);
	if (v && !strcmp(property, "StatusText"))
		text = v->status_text;
	else if (v && !strcmp(property, "TrackerReason"))
		text = v->tracker.reason;
	else if (v && !strcmp(property, "ConfigError"))
		text = v->config_error;
	return text ? text : "";
}

static int get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
		    sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	const char *text = bus_property_text(userdata, property);
	cleanup(freep) char *printable = text_escape_lines(text, strlen(text));

	return printable ? sd_bus_message_append(reply, "s", printable) : -ENOMEM;
}

static int get_version(sd_bus *bus, const char *path, const char *interface, const char *property,
		       sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	return sd_bus_message_append(reply, "s", TIERD_VERSION);
}

static int get_tiers(sd_bus *bus, const char *path, const char *interface, const char *property,
		     sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	return bus_append_tiers(reply, userdata);
}

/*
 * 0 when the sender may change things. Only what the bus itself says counts: augmented credentials
 * come from /proc and are about whoever has that pid now. No answer means no.
 */
static int check_sender(sd_bus_message *m, sd_bus_error *ret_error)
{
	cleanup(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
	uid_t uid;

	if (sd_bus_query_sender_creds(m, SD_BUS_CREDS_EUID, &creds) >= 0 &&
	    !(sd_bus_creds_get_augmented_mask(creds) & SD_BUS_CREDS_EUID) &&
	    sd_bus_creds_get_euid(creds, &uid) >= 0 && (uid == 0 || uid == geteuid()))
		return 0;
	return sd_bus_error_set(ret_error, SD_BUS_ERROR_ACCESS_DENIED, "only root may do this");
}

static const char *error_text(int error)
{
	const char *text = strerrordesc_np(-error);

	return text ? text : "unknown error";
}

/* What a callback's errno means on the bus. @missing: the error for -ENOENT. */
static int set_error(sd_bus_error *ret_error, int error, const char *missing)
{
	switch (-error) {
	case ENOENT:
		return sd_bus_error_set(ret_error, missing, "there is none with this id");
	case EINVAL:
		return sd_bus_error_set(ret_error, BUS_ERROR("InvalidTier"),
					"there is no such tier");
	case EBUSY:
		return sd_bus_error_set(ret_error, BUS_ERROR("Busy"), "the cgroup has a job already");
	case E2BIG:
		return sd_bus_error_set(ret_error, BUS_ERROR("TooManyJobs"),
					"there are too many jobs");
	case EAGAIN:
		return sd_bus_error_set(ret_error, BUS_ERROR("NotReady"),
					"tierd has not looked at the machine yet");
	case EOPNOTSUPP:
		return sd_bus_error_set(ret_error, BUS_ERROR("NotManaged"),
					"the policy of this cgroup says Mode=off");
	}
	return sd_bus_error_set(ret_error, BUS_ERROR("Failed"), error_text(error));
}

static int method_status(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r = sd_bus_message_new_method_return(m, &reply);

	if (r >= 0)
		r = bus_append_status(reply, userdata);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int method_list_cgroups(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const struct view *v = ((struct bus *)userdata)->view;
	int r;

	if (v && v->n_groups > BUS_CGROUPS_MAX)
		return sd_bus_error_set(ret_error, BUS_ERROR("TooLarge"),
					"there are too many cgroups for one message");
	r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'a', "a{sv}");
	for (size_t i = 0; r >= 0 && v && i < v->n_groups; i++)
		r = bus_append_group(reply, v, &v->groups[i]);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int method_list_jobs(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const struct view *v = ((struct bus *)userdata)->view;
	int r = sd_bus_message_new_method_return(m, &reply);

	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'a', "a{sv}");
	for (size_t i = 0; r >= 0 && v && i < v->n_jobs; i++)
		r = bus_append_job(reply, &v->jobs[i]);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int method_reload(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	cleanup(freep) char *text = NULL;
	cleanup(freep) char *printable = NULL;
	const struct bus *b = userdata;
	const char *why;
	int r = check_sender(m, ret_error);

	if (r < 0)
		return r;
	r = b->callbacks->reload(b->userdata, &text);
	if (r >= 0)
		return sd_bus_reply_method_return(m, NULL);
	why = text ? text : error_text(r);
	printable = text_escape_lines(why, strlen(why));
	return sd_bus_error_set(ret_error, BUS_ERROR("ReloadFailed"),
				printable ? printable : "out of memory");
}

static int pause_or_resume(sd_bus_message *m, struct bus *b, bool pause, sd_bus_error *ret_error)
{
	uint64_t cgroup_id;
	int r = check_sender(m, ret_error);

	if (r >= 0)
		r = sd_bus_message_read(m, "t", &cgroup_id);
	if (r < 0)
		return r;
	r = b->callbacks->pause(b->userdata, cgroup_id, pause);
	if (r < 0)
		return set_error(ret_error, r, BUS_ERROR("NoSuchCgroup"));
	return sd_bus_reply_method_return(m, NULL);
}

static int method_pause(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return pause_or_resume(m, userdata, true, ret_error);
}

static int method_resume(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	return pause_or_resume(m, userdata, false, ret_error);
}

static bool rank_exists(const struct view *v, int32_t rank)
{
	if (rank == -1)
		return true;
	for (size_t i = 0; rank >= 0 && v->topology && i < v->topology->n_nodes; i++)
		if (v->topology->nodes[i].rank == (uint32_t)rank &&
		    v->topology->nodes[i].total_bytes)
			return true;
	return false;
}

static int reply_rebalance(sd_bus_message *m, const struct bus_plan_summary *s, uint64_t job_id)
{
	cleanup(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r = sd_bus_message_new_method_return(m, &reply);

	if (r >= 0)
		r = bus_append_summary(reply, s);
	if (r >= 0)
		r = sd_bus_message_append(reply, "t", job_id);
	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int method_rebalance(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct bus_plan_summary summary = { 0 };
	struct bus *b = userdata;
	uint64_t cgroup_id, job_id = 0;
	int32_t rank;
	int dry_run, r = check_sender(m, ret_error);

	if (r >= 0)
		r = sd_bus_message_read(m, "tib", &cgroup_id, &rank, &dry_run);
	if (r < 0)
		return r;
	if (!b->view)
		r = -EAGAIN;
	else if (!rank_exists(b->view, rank))
		r = -EINVAL;
	else if (!dry_run)
		r = bus_jobs_admit(b, sd_bus_message_get_sender(m));
	if (r >= 0)
		r = b->callbacks->rebalance(b->userdata, cgroup_id, rank, dry_run, &summary,
					    &job_id);
	if (r < 0)
		return set_error(ret_error, r, BUS_ERROR("NoSuchCgroup"));
	if (job_id)
		bus_jobs_add(b, job_id, sd_bus_message_get_sender(m));
	return reply_rebalance(m, &summary, job_id);
}

static int method_cancel_job(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct bus *b = userdata;
	uint64_t job_id;
	int r = check_sender(m, ret_error);

	if (r >= 0)
		r = sd_bus_message_read(m, "t", &job_id);
	if (r < 0)
		return r;
	r = b->callbacks->cancel(b->userdata, job_id);
	if (r < 0)
		return set_error(ret_error, r, BUS_ERROR("NoSuchJob"));
	return sd_bus_reply_method_return(m, NULL);
}

#define READ SD_BUS_VTABLE_UNPRIVILEGED
#define ANNOUNCED SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
/* Without UNPRIVILEGED sd-bus refuses strangers by itself, before check_sender() does. */
#define PRIVILEGED 0

const sd_bus_vtable bus_manager_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("Version", "s", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
	SD_BUS_PROPERTY("State", "s", get_text, 0, ANNOUNCED),
	SD_BUS_PROPERTY("StatusText", "s", get_text, 0, ANNOUNCED),
	SD_BUS_PROPERTY("Tracker", "s", get_text, 0, ANNOUNCED),
	SD_BUS_PROPERTY("TrackerReason", "s", get_text, 0, ANNOUNCED),
	SD_BUS_PROPERTY("ConfigError", "s", get_text, 0, ANNOUNCED),
	SD_BUS_PROPERTY("Tiers", "a(uaittuub)", get_tiers, 0, 0),
	SD_BUS_METHOD_WITH_ARGS("Status", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", status),
				method_status, READ),
	SD_BUS_METHOD_WITH_ARGS("ListCgroups", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", cgroups),
				method_list_cgroups, READ),
	SD_BUS_METHOD_WITH_ARGS("ListJobs", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", jobs),
				method_list_jobs, READ),
	SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_reload,
				PRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Pause", SD_BUS_ARGS("t", cgroup_id), SD_BUS_NO_RESULT,
				method_pause, PRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Resume", SD_BUS_ARGS("t", cgroup_id), SD_BUS_NO_RESULT,
				method_resume, PRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("Rebalance",
				SD_BUS_ARGS("t", cgroup_id, "i", rank, "b", dry_run),
				SD_BUS_RESULT("a{sv}", summary, "t", job_id), method_rebalance,
				PRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS("CancelJob", SD_BUS_ARGS("t", job_id), SD_BUS_NO_RESULT,
				method_cancel_job, PRIVILEGED),
	SD_BUS_SIGNAL_WITH_ARGS("JobNew", SD_BUS_ARGS("t", job_id, "a{sv}", job), 0),
	SD_BUS_SIGNAL_WITH_ARGS("JobProgress",
				SD_BUS_ARGS("t", job_id, "t", asked_bytes, "t", done_bytes, "t",
					    moved_bytes),
				0),
	SD_BUS_SIGNAL_WITH_ARGS("JobRemoved",
				SD_BUS_ARGS("t", job_id, "s", result, "a{sv}", job), 0),
	SD_BUS_VTABLE_END,
};
