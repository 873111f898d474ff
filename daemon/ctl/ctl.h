/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_CTL_H
#define CTL_CTL_H

/* What the verbs of tierctl share: exit statuses, options, and the table that lists the verbs. */

#include <stdbool.h>
#include <stddef.h>

/* Documented in tierctl.1; scripts rely on them. */
enum ctl_exit {
	CTL_OK = 0,
	CTL_FAILED = 1,
	CTL_USAGE = 2,
	CTL_PARTIAL = 3,       /* a rebalance moved some bytes, not all */
	CTL_CANCELLED = 4,
	CTL_NOT_RUNNING = 5,
	CTL_NOT_PERMITTED = 6,
};

struct ctl_options {
	bool json;
	bool legend;
	bool dry_run;
	bool wait;
	const char *to; /* NULL: not given */
};

/* Which of the options a verb takes beyond --json and --no-legend. */
#define CTL_TAKES_TO 1U
#define CTL_TAKES_DRY_RUN 2U
#define CTL_TAKES_WAIT 4U

struct ctl_verb {
	const char *name;
	const char *arguments; /* for --help */
	const char *help;
	int min_arguments;
	int max_arguments;
	unsigned int takes;
	/* Prints its own errors. */
	enum ctl_exit (*run)(const struct ctl_options *options, int argc, char **argv);
};

enum ctl_exit ctl_cancel(const struct ctl_options *options, int argc, char **argv);
enum ctl_exit ctl_list(const struct ctl_options *options, int argc, char **argv);
enum ctl_exit ctl_pause(const struct ctl_options *options, int argc, char **argv);
enum ctl_exit ctl_policy(const struct ctl_options *options, int argc, char **argv);
enum ctl_exit ctl_rebalance(const struct ctl_options *options, int argc, char **argv);
enum ctl_exit ctl_reload(const struct ctl_options *options, int argc, char **argv);
enum ctl_exit ctl_resume(const struct ctl_options *options, int argc, char **argv);
enum ctl_exit ctl_status(const struct ctl_options *options, int argc, char **argv);

/* "tierctl: ..." on stderr. */
__attribute__((__format__(__printf__, 1, 2))) void ctl_error(const char *format, ...);

#endif
