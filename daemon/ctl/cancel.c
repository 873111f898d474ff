// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl cancel JOB: ends a rebalance that nobody waits for.
 */
#include "ctl/client.h"
#include "ctl/simple.h"
#include "util.h"

/* Digits only: strtoull() alone would take blanks, signs and nothing. */
static int parse_id(const char *text, uint64_t *ret)
{
	char *end;
	unsigned long long id;

	if (!*text || text[strspn(text, "0123456789")])
		return -EINVAL;
	errno = 0;
	id = strtoull(text, &end, 10);
	if (errno || *end || !id)
		return -EINVAL;
	*ret = id;
	return 0;
}

enum ctl_exit ctl_cancel(const struct ctl_options *options, int argc, char **argv)
{
	cleanup(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	enum ctl_exit status;
	uint64_t id;

	if (parse_id(argv[0], &id) < 0) {
		ctl_error("a job is a number (see tierctl status)");
		return CTL_USAGE;
	}
	status = client_open(&bus);
	if (!status)
		status = client_call(bus, "CancelJob", NULL, "t", id);
	return status ? status : simple_done(options, "cancel", "job_id", id);
}
