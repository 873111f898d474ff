// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl pause and resume, of one cgroup or of everything.
 */
#include "ctl/client.h"
#include "ctl/simple.h"
#include "util.h"

static enum ctl_exit tell(const struct ctl_options *options, const char *verb, const char *method,
			  const char *cgroup)
{
	cleanup(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	enum ctl_exit status = client_open(&bus);
	uint64_t id = 0; /* everything */

	if (!status && cgroup)
		status = client_find_cgroup(bus, cgroup, &id);
	if (!status)
		status = client_call(bus, method, NULL, "t", id);
	return status ? status : simple_done(options, verb, "cgroup_id", id);
}

enum ctl_exit ctl_pause(const struct ctl_options *options, int argc, char **argv)
{
	return tell(options, "pause", "Pause", argc ? argv[0] : NULL);
}

enum ctl_exit ctl_resume(const struct ctl_options *options, int argc, char **argv)
{
	return tell(options, "resume", "Resume", argc ? argv[0] : NULL);
}
