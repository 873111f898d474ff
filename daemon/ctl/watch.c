// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits for the end of a job over signals, while drawing how far it is. Must not poll the daemon.
 */
#include <signal.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "ctl/progress.h"
#include "ctl/watch.h"
#include "util.h"

struct watch {
	sd_event *event;
	sd_bus *bus;
	sd_bus_slot *progress_slot;
	sd_bus_slot *removed_slot;
	sd_bus_slot *owner_slot;
	sd_event_source *interrupt;
	uint64_t id;
	struct progress progress;
	bool cancelled;
	bool is_over;
	const char *result; /* NULL: ended without one */
	struct job job;
};

static uint64_t now_us(struct watch *w)
{
	uint64_t t = 0;

	(void)sd_event_now(w->event, CLOCK_MONOTONIC, &t);
	return t;
}

static int finish(struct watch *w)
{
	w->is_over = true;
	return sd_event_exit(w->event, 0);
}

static int on_progress(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct watch *w = userdata;
	uint64_t id, asked, done, moved;

	if (sd_bus_message_read(m, "tttt", &id, &asked, &done, &moved) >= 0 && id == w->id)
		progress_show(&w->progress, now_us(w), asked, done);
	return 0;
}

/* One of the results that we know: it ends up in the exit status. */
static const char *known_result(const char *result)
{
	static const char *const known[] = { "done", "partial", "cancelled", "failed" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i], result))
			return known[i];
	return "failed";
}

static int on_removed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct watch *w = userdata;
	const char *result;
	uint64_t id;

	if (w->is_over || sd_bus_message_read(m, "ts", &id, &result) < 0 || id != w->id)
		return 0;
	if (job_read(m, &w->job) >= 0)
		w->result = known_result(result);
	return finish(w);
}

static int on_owner(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	const char *name, *old, *new;
	struct watch *w = userdata;

	/* A first owner is not the end of anything. */
	if (sd_bus_message_read(m, "sss", &name, &old, &new) < 0 || !*old)
		return 0;
	return finish(w);
}

static int on_interrupt(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
	struct watch *w = userdata;

	progress_clear(&w->progress);
	if (w->cancelled) {
		ctl_error("not waiting any longer");
		return finish(w);
	}
	w->cancelled = true;
	ctl_error("cancelling job %llu", (unsigned long long)w->id);
	/* What comes of it arrives as JobRemoved; a job that is over already is no error. */
	(void)sd_bus_call_method_async(w->bus, NULL, CLIENT_NAME, CLIENT_PATH, CLIENT_INTERFACE,
				       "CancelJob", NULL, NULL, "t", w->id);
	return 0;
}

static int listen_to_daemon(struct watch *w)
{
	int r = sd_bus_match_signal(w->bus, &w->progress_slot, CLIENT_NAME, CLIENT_PATH,
				    CLIENT_INTERFACE, "JobProgress", on_progress, w);

	if (r >= 0)
		r = sd_bus_match_signal(w->bus, &w->removed_slot, CLIENT_NAME, CLIENT_PATH,
					CLIENT_INTERFACE, "JobRemoved", on_removed, w);
	if (r >= 0)
		r = sd_bus_add_match(w->bus, &w->owner_slot,
				     "type='signal',sender='org.freedesktop.DBus',"
				     "member='NameOwnerChanged',arg0='" CLIENT_NAME "'",
				     on_owner, w);
	return r;
}

static int set_up(struct watch *w)
{
	sigset_t set;
	int r = sd_event_new(&w->event);

	if (r < 0)
		return r;
	/* sd-event takes signals only from those that are blocked. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	r = sd_event_add_signal(w->event, &w->interrupt, SIGINT, on_interrupt, w);
	if (r >= 0)
		r = listen_to_daemon(w);
	return r < 0 ? r : sd_bus_attach_event(w->bus, w->event, SD_EVENT_PRIORITY_NORMAL);
}

enum ctl_exit watch_new(sd_bus *bus, struct watch **ret)
{
	struct watch *w = calloc(1, sizeof(*w));
	int r = -ENOMEM;

	if (w) {
		w->bus = sd_bus_ref(bus);
		r = set_up(w);
	}
	if (r < 0) {
		ctl_error("cannot watch the job: %s", strerrordesc_np(-r));
		watch_free(w);
		return CTL_FAILED;
	}
	*ret = w;
	return CTL_OK;
}

struct watch *watch_free(struct watch *w)
{
	if (!w)
		return NULL;
	sd_bus_slot_unref(w->progress_slot);
	sd_bus_slot_unref(w->removed_slot);
	sd_bus_slot_unref(w->owner_slot);
	sd_bus_detach_event(w->bus);
	sd_bus_unref(w->bus);
	sd_event_source_unref(w->interrupt);
	sd_event_unref(w->event);
	job_done(&w->job);
	free(w);
	return NULL;
}

enum ctl_exit watch_job(struct watch *w, uint64_t id, uint64_t asked_bytes, bool quiet,
			const char **ret_result, struct job *ret_job)
{
	int r;

	w->id = id;
	progress_init(&w->progress, quiet, now_us(w));
	progress_show(&w->progress, now_us(w), asked_bytes, 0);
	r = sd_event_loop(w->event);
	progress_clear(&w->progress);
	if (r >= 0 && w->result) {
		*ret_result = w->result;
		*ret_job = w->job;
		w->job = (struct job){ 0 };
		return CTL_OK;
	}
	if (w->cancelled)
		return CTL_CANCELLED;
	ctl_error("tierd ended before the job did");
	return CTL_FAILED;
}
