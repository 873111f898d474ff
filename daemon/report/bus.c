// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The connection: makes it, takes the name, notices its end and makes it again; announces what
 * changed between two views. Must not keep the daemon from working when there is no bus.
 */
#include "report/bus-internal.h"
#include "util.h"

static int connect_bus(struct bus *b);

/* Tells @trouble (NULL: all is well) once, not at each attempt. */
static void tell(struct bus *b, const char *trouble)
{
	if (b->trouble && !strcmp(b->trouble, trouble ? trouble : ""))
		return;
	free(b->trouble);
	b->trouble = strdup(trouble ? trouble : "");
	if (b->callbacks->connection)
		b->callbacks->connection(b->userdata, trouble);
}

static void drop_connection(struct bus *b)
{
	b->up = false;
	b->name = sd_bus_slot_unref(b->name);
	b->object = sd_bus_slot_unref(b->object);
	b->disconnected = sd_bus_slot_unref(b->disconnected);
	if (!b->bus)
		return;
	sd_bus_detach_event(b->bus);
	/* Somebody else's connection is not ours to close. */
	b->bus = b->own ? sd_bus_close_unref(b->bus) : sd_bus_unref(b->bus);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bus *b = userdata;

	drop_connection(b);
	(void)connect_bus(b);
	return 0;
}

static void retry_later(struct bus *b)
{
	if (!b->own)
		return;
	if (sd_event_source_set_time_relative(b->retry, BUS_RETRY_US) >= 0)
		(void)sd_event_source_set_enabled(b->retry, SD_EVENT_ONESHOT);
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct bus *b = userdata;

	/* The connection is closed by the timer: this runs inside it. */
	b->up = false;
	tell(b, "the connection to the bus is gone");
	retry_later(b);
	return 0;
}

static int on_name(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct bus *b = userdata;
	uint32_t answer;

	if (sd_bus_message_is_method_error(m, NULL)) {
		tell(b, sd_bus_message_is_method_error(m, SD_BUS_ERROR_ACCESS_DENIED) ?
				"the bus does not let tierd have the name " BUS_NAME :
				"the bus refused the name " BUS_NAME);
		retry_later(b);
		return 0;
	}
	/* 1: primary owner, 4: was it already (org.freedesktop.DBus.RequestName) */
	if (sd_bus_message_read(m, "u", &answer) < 0 || (answer != 1 && answer != 4)) {
		tell(b, "somebody else has the name " BUS_NAME);
		retry_later(b);
		return 0;
	}
	b->up = true;
	tell(b, NULL);
	return 0;
}

/* What makes a connection org.tierd1. */
static int offer(struct bus *b)
{
	int r = sd_bus_get_event(b->bus) ? 0 :
		sd_bus_attach_event(b->bus, b->event, SD_EVENT_PRIORITY_NORMAL);

	if (r >= 0)
		r = sd_bus_match_signal_async(b->bus, &b->disconnected,
					      "org.freedesktop.DBus.Local", NULL,
					      "org.freedesktop.DBus.Local", "Disconnected",
					      on_disconnected, NULL, b);
	if (r >= 0)
		r = sd_bus_add_object_vtable(b->bus, &b->object, BUS_PATH, BUS_INTERFACE,
					     bus_manager_vtable, b);
	if (r >= 0)
		r = sd_bus_request_name_async(b->bus, &b->name, BUS_NAME, 0, on_name, b);
	return r;
}

/* Never waits: sd-bus connects, authenticates and says hello from the event loop. */
static int connect_bus(struct bus *b)
{
	int r = sd_bus_open_system_with_description(&b->bus, "tierd");

	if (r >= 0)
		r = offer(b);
	if (r < 0) {
		drop_connection(b);
		tell(b, "there is no system bus");
		retry_later(b);
	}
	return r;
}

static int start(struct bus *b, sd_bus *bus)
{
	int r = sd_event_add_time_relative(b->event, &b->retry, CLOCK_MONOTONIC, 0, 0, on_retry, b);

	if (r < 0)
		return r;
	if (!bus) {
		/* The first attempt is made by the timer, from the loop. */
		b->own = true;
		return 0;
	}
	(void)sd_event_source_set_enabled(b->retry, SD_EVENT_OFF);
	b->bus = sd_bus_ref(bus);
	return offer(b);
}

int bus_new(sd_event *event, sd_bus *bus, const struct bus_callbacks *callbacks, void *userdata,
	    struct bus **ret)
{
	struct bus *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->event = sd_event_ref(event);
	b->callbacks = callbacks;
	b->userdata = userdata;
	r = start(b, bus);
	if (r < 0) {
		bus_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

struct bus *bus_free(struct bus *b)
{
	if (!b)
		return NULL;
	/* What was said last (JobRemoved) should still get out; this waits for the socket only. */
	if (b->up)
		(void)sd_bus_flush(b->bus);
	drop_connection(b);
	sd_event_source_disable_unref(b->retry);
	bus_jobs_done(b);
	free(b->trouble);
	sd_event_unref(b->event);
	free(b);
	return NULL;
}

/* FNV-1a, 64 bit: old views are gone when the new one comes, so their texts can't be compared. */
static uint64_t fingerprint(const char *s)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3ULL;
	return hash;
}

static void announce_changes(struct bus *b)
{
	char *changed[ARRAY_SIZE(b->announced) + 1] = { NULL };
	size_t n = 0;

	for (size_t i = 0; bus_announced_properties[i]; i++) {
		const char *name = bus_announced_properties[i];
		uint64_t now = fingerprint(bus_property_text(b, name));

		if (now == b->announced[i])
			continue;
		b->announced[i] = now;
		changed[n++] = (char *)name;
	}
	if (n && b->up)
		(void)sd_bus_emit_properties_changed_strv(b->bus, BUS_PATH, BUS_INTERFACE, changed);
}

void bus_update(struct bus *b, const struct view *view)
{
	uint64_t now_us = 0;

	b->view = view;
	(void)sd_event_now(b->event, CLOCK_MONOTONIC, &now_us);
	announce_changes(b);
	bus_jobs_update(b, now_us);
}

bool bus_is_up(const struct bus *b)
{
	return b->up;
}
