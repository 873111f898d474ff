// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl: the administrator's side of tierd. Here: the command line and the table of verbs; what
 * a verb does is in the file of its name. Must not know anything about memory.
 */
#include <getopt.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>

#include "ctl/ctl.h"
#include "util.h"

static const struct ctl_verb verbs[] = {
	{ "status", "", "Show how tierd is and what it does", 0, 0, 0, ctl_status },
	{ "list", "", "List the managed cgroups with their memory", 0, 0, 0, ctl_list },
	{ "pause", "[CGROUP]", "Stop moving memory, of all or of one cgroup", 0, 1, 0, ctl_pause },
	{ "resume", "[CGROUP]", "Move again", 0, 1, 0, ctl_resume },
	{ "rebalance", "CGROUP", "Move a cgroup's memory now", 1, 1,
	  CTL_TAKES_TO | CTL_TAKES_DRY_RUN | CTL_TAKES_WAIT, ctl_rebalance },
	{ "cancel", "JOB", "End a rebalance", 1, 1, 0, ctl_cancel },
	{ "reload", "", "Make tierd read its configuration again", 0, 0, 0, ctl_reload },
	{ "policy", "check [FILE...]", "Check configuration files, without tierd", 1, 256, 0,
	  ctl_policy },
};

enum {
	OPTION_DRY_RUN = 256,
	OPTION_HELP,
	OPTION_JSON,
	OPTION_NO_LEGEND,
	OPTION_TO,
	OPTION_VERSION,
	OPTION_WAIT,
};

static const struct option long_options[] = {
	{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "no-legend", no_argument, NULL, OPTION_NO_LEGEND },
	{ "to", required_argument, NULL, OPTION_TO },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "wait", required_argument, NULL, OPTION_WAIT },
	{ NULL },
};

void ctl_error(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("tierctl: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static enum ctl_exit print_help(void)
{
	puts("tierctl [OPTION...] VERB [ARGUMENT...]\n\n"
	     "Controls tierd, the memory tiering daemon.\n\nVerbs:");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		char head[40];

		snprintf(head, sizeof(head), "%s %s", verbs[i].name, verbs[i].arguments);
		printf("  %-24s %s\n", head, verbs[i].help);
	}
	puts("\nOptions:\n"
	     "  --json                   Print JSON\n"
	     "  --no-legend              Print no headings and no totals\n"
	     "  --to TIER                rebalance: to this tier (0 is the fastest, or fast, slow);\n"
	     "                           without it hot memory goes up and cold memory down\n"
	     "  --dry-run                rebalance: say what would be moved, move nothing\n"
	     "  --wait=no                rebalance: start the job and return\n"
	     "  --help                   Print this\n"
	     "  --version                Print the version\n\n"
	     "A CGROUP is a path below /sys/fs/cgroup, or the name of a unit (web.service).\n"
	     "Exit status: 0 done, 1 failed, 2 usage, 3 partly moved, 4 cancelled, 5 tierd is not\n"
	     "running, 6 not permitted. See tierctl(1).");
	return CTL_OK;
}

static const struct ctl_verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static enum ctl_exit usage(const char *what, const char *which)
{
	ctl_error("%s%s (see tierctl --help)", what, which);
	return CTL_USAGE;
}

static int parse_wait(const char *value, bool *ret)
{
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return -EINVAL;
	*ret = !strcmp(value, "yes");
	return 0;
}

/* The option as a bit of ctl_verb.takes, or 0 when every verb takes it; negative: end with ~r. */
static int take_option(int option, struct ctl_options *o)
{
	switch (option) {
	case OPTION_DRY_RUN:
		o->dry_run = true;
		return CTL_TAKES_DRY_RUN;
	case OPTION_HELP:
		return ~(int)print_help();
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_NO_LEGEND:
		o->legend = false;
		return 0;
	case OPTION_TO:
		o->to = optarg;
		return CTL_TAKES_TO;
	case OPTION_VERSION:
		puts("tierctl " TIERD_VERSION);
		return ~(int)CTL_OK;
	case OPTION_WAIT:
		if (parse_wait(optarg, &o->wait) < 0)
			return ~(int)usage("--wait= takes yes or no", "");
		return CTL_TAKES_WAIT;
	}
	/* getopt has said what is wrong. */
	return ~(int)CTL_USAGE;
}

static enum ctl_exit run(const struct ctl_options *o, unsigned int given, int argc, char **argv)
{
	const struct ctl_verb *verb;

	if (argc < 1)
		return usage("which verb?", "");
	verb = find_verb(argv[0]);
	if (!verb)
		return usage("there is no such verb", "");
	if (given & ~verb->takes)
		return usage("this option is not for ", verb->name);
	if (argc - 1 < verb->min_arguments)
		return usage("something is missing after ", verb->name);
	if (argc - 1 > verb->max_arguments)
		return usage("too many arguments after ", verb->name);
	return verb->run(o, argc - 1, argv + 1);
}

/* What was printed and got lost, on a full disk, is no success. */
static enum ctl_exit flush(enum ctl_exit status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	ctl_error("cannot write: %m");
	return CTL_FAILED;
}

int main(int argc, char **argv)
{
	struct ctl_options o = { .legend = true, .wait = true };
	unsigned int given = 0;
	int c, r;

	setlocale(LC_ALL, "");
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		r = take_option(c, &o);
		if (r < 0)
			return flush(~r);
		given |= (unsigned int)r;
	}
	return flush(run(&o, given, argc - optind, argv + optind));
}
