// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl reload: returns when the new configuration is in force, or says why it is not. This is
 * also what systemctl reload tierd runs.
 */
#include "ctl/client.h"
#include "ctl/simple.h"
#include "util.h"

enum ctl_exit ctl_reload(const struct ctl_options *options, int argc, char **argv)
{
	cleanup(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	enum ctl_exit status = client_open(&bus);

	if (!status)
		status = client_call(bus, "Reload", NULL, NULL);
	return status ? status : simple_done(options, "reload", NULL, 0);
}
