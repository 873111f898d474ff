// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl's end of the bus: connect, call, and say in a line what went wrong. Must not start tierd
 * behind the administrator's back.
 */
#include <stdarg.h>
#include <stdio.h>

#include "ctl/client.h"
#include "report/text.h"
#include "util.h"

/* A reload reads and checks files; all other calls only look at memory. */
#define CALL_TIMEOUT_US (30 * US_PER_S)

enum ctl_exit client_open(sd_bus **ret)
{
	int r = sd_bus_open_system(ret);

	if (r >= 0)
		return CTL_OK;
	if (r == -ENOENT || r == -ECONNREFUSED)
		ctl_error("there is no system bus here, so tierd cannot be reached");
	else
		ctl_error("cannot connect to the system bus: %s", strerrordesc_np(-r));
	return r == -EACCES || r == -EPERM ? CTL_NOT_PERMITTED : CTL_NOT_RUNNING;
}

/* Errors whose text is ours, because the bus's would tell people about the bus. */
static const struct {
	const char *name;
	enum ctl_exit status;
	const char *text;
} known_errors[] = {
	{ SD_BUS_ERROR_SERVICE_UNKNOWN, CTL_NOT_RUNNING,
	  "tierd is not running (systemctl start tierd)" },
	{ SD_BUS_ERROR_NAME_HAS_NO_OWNER, CTL_NOT_RUNNING,
	  "tierd is not running (systemctl start tierd)" },
	{ SD_BUS_ERROR_ACCESS_DENIED, CTL_NOT_PERMITTED, "not permitted: this needs root" },
	{ SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, CTL_NOT_PERMITTED,
	  "not permitted: this needs root" },
	{ SD_BUS_ERROR_NO_REPLY, CTL_FAILED, "tierd did not answer" },
	{ SD_BUS_ERROR_TIMEOUT, CTL_FAILED, "tierd did not answer in time" },
	{ SD_BUS_ERROR_UNKNOWN_METHOD, CTL_FAILED,
	  "the running tierd does not know this: it is of another version" },
	{ "org.tierd1.Error.NoSuchCgroup", CTL_FAILED,
	  "tierd does not manage this cgroup (tierctl list shows those that it does)" },
	{ "org.tierd1.Error.NoSuchJob", CTL_FAILED, "there is no such job" },
};

static enum ctl_exit report_error(const sd_bus_error *error, int r)
{
	cleanup(freep) char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(known_errors); i++) {
		if (!sd_bus_error_has_name(error, known_errors[i].name))
			continue;
		ctl_error("%s", known_errors[i].text);
		return known_errors[i].status;
	}
	if (sd_bus_error_is_set(error) && error->message)
		text = text_escape_lines(error->message, strlen(error->message));
	ctl_error("%s", text ? text : strerrordesc_np(-r));
	return CTL_FAILED;
}

enum ctl_exit client_call(sd_bus *bus, const char *method, sd_bus_message **ret_reply,
			  const char *types, ...)
{
	cleanup(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	cleanup(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	va_list ap;
	int r = sd_bus_message_new_method_call(bus, &m, CLIENT_NAME, CLIENT_PATH, CLIENT_INTERFACE,
					       method);

	if (r >= 0)
		r = sd_bus_message_set_auto_start(m, false);
	if (r >= 0 && types) {
		va_start(ap, types);
		r = sd_bus_message_appendv(m, types, ap);
		va_end(ap);
	}
	if (r >= 0)
		r = sd_bus_call(bus, m, CALL_TIMEOUT_US, &error, ret_reply);
	return r < 0 ? report_error(&error, r) : CTL_OK;
}

enum ctl_exit client_bad_reply(int error)
{
	if (error == -ENOMEM)
		ctl_error("out of memory");
	else
		ctl_error("cannot read tierd's answer: it is of another version");
	return CTL_FAILED;
}
