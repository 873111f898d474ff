// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The service: options, what must be true before it starts, the event loop, systemd's protocol. It
 * decides nothing about memory.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "config/config.h"
#include "manager.h"
#include "report/journal.h"
#include "util.h"

#define RUN_DIR "/run/tierd"
/* Three fds for each process, and some for DAMON's files. */
#define FDS_WANTED 65536

/* Exit statuses; tierd(8) documents them. */
enum {
	EXIT_USAGE = 2,
	EXIT_CONFIG = 3,
	EXIT_NOTHING_TO_TIER = 4,
	EXIT_CGROUPS = 5,
	EXIT_RIGHTS = 6,
};

DEFINE_CLEANUP(struct manager *, manager_free)
DEFINE_CLEANUP(struct policy_set *, policy_set_free)
DEFINE_CLEANUP(struct tier_topology *, tier_topology_free)

static const char usage[] =
	"tierd [OPTION]\n"
	"Keep the hot memory of chosen cgroups on the fast nodes. Started by systemd.\n"
	"\n"
	"  --check          check the configuration and exit\n"
	"  --dump-config    print the configuration in force, with the origin of each value\n"
	"  --cleanup        stop what a crashed tierd left in the kernel and exit\n"
	"  --config-root DIR  read the configuration below DIR instead of /\n"
	"  -h, --help       this text\n"
	"  -V, --version    the version\n"
	"\n"
	"Exit status: 0 success, 1 failure, 2 wrong usage, 3 bad configuration, 4 nothing to tier on\n"
	"this machine, 5 no usable cgroup hierarchy, 6 rights are missing. See tierd(8).\n";

enum command {
	COMMAND_RUN,
	COMMAND_CHECK,
	COMMAND_DUMP,
	COMMAND_CLEANUP,
};

/* <0>…<7> in front of a line is a priority for the journal; anybody else sees just the text. */
static void say(int priority, const char *text)
{
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", priority, text);
	else
		fprintf(stderr, "tierd: %s\n", text);
}

/*
 * One tierd at a time: what another one runs in the kernel would look like left-overs of a crash.
 * The lock goes with the process, however it ends.
 */
static int lock_instance(int *ret_fd)
{
	cleanup(closep) int fd = -1;

	if (mkdir(RUN_DIR, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(RUN_DIR "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static void say_no_lock(int err)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: %s", RUN_DIR "/lock",
		 err == -EWOULDBLOCK ? "another tierd is running" : strerror(-err));
	say(3, text);
}

static int load_config(const struct config_options *options, struct policy_set **ret)
{
	struct config_errors errors = { 0 };
	int err = config_load(options, ret, &errors);

	config_errors_print(&errors, stderr);
	if (err < 0 && errors.n_errors == 0)
		fprintf(stderr, "tierd: configuration: %s\n", strerror(-err));
	config_errors_done(&errors);
	return err;
}

static int open_machine(const struct policy_set *set, struct tier_machine **ret)
{
	struct tier_linux_options options = {
		.tier_override = set->settings.tier_order,
		.run_dir = RUN_DIR,
	};
	const char *why = NULL;
	int err = tier_machine_new_linux(&options, ret, &why);

	if (err < 0) {
		say(3, why ?: strerror(-err));
		sd_notifyf(false, "STATUS=%s", why ?: strerror(-err));
	}
	return err;
}

/* How a failure to open the machine ends the service. */
static int exit_status_of(int err)
{
	switch (-err) {
	case ENOTSUP:
		return EXIT_CGROUPS;
	case EACCES:
	case EPERM:
		return EXIT_RIGHTS;
	case EINVAL:
		return EXIT_CONFIG;
	}
	return EXIT_FAILURE;
}

static bool has_two_tiers(struct tier_machine *machine)
{
	cleanup(tier_topology_freep) struct tier_topology *t = NULL;
	static const char text[] = "This machine has only one tier of memory: nothing to do here";
	int err = tier_machine_read_topology(machine, &t);

	if (err < 0) {
		say(3, strerror(-err));
		return false;
	}
	if (t->n_tiers >= 2)
		return true;
	say(5, text);
	sd_notifyf(false, "STATUS=%s", text);
	return false;
}

/*
 * A tiering daemon that is swapped out or demoted decides too late. MCL_ONFAULT locks what is used,
 * not what is mapped; MCL_FUTURE would lock windows of foreign objects and is not used.
 */
static void protect_self(void)
{
	struct rlimit limit;

	if (mlockall(MCL_CURRENT | MCL_ONFAULT) < 0)
		say(5, "can't lock own memory, going on without");
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FDS_WANTED) {
		limit.rlim_cur = MIN((rlim_t)FDS_WANTED, limit.rlim_max);
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int on_watchdog(sd_event_source *source, uint64_t usec, void *userdata)
{
	uint64_t interval_us;
	int err;

	if (sd_watchdog_enabled(false, &interval_us) <= 0)
		return 0;
	if (manager_is_alive(userdata))
		sd_notify(false, "WATCHDOG=1");
	else
		journal_mover_stuck();
	err = sd_event_source_set_time_relative(source, interval_us / 3);
	if (err < 0)
		return err;
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int add_signals(sd_event *event)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGHUP, SIG_IGN); /* a reload that fails must be able to say so: tierctl reload */
	err = sd_event_add_signal(event, NULL, SIGTERM, NULL, NULL);
	if (err < 0)
		return err;
	return sd_event_add_signal(event, NULL, SIGINT, NULL, NULL);
}

static int loop(struct tier_machine *machine, struct policy_set *set,
		const struct config_options *config)
{
	cleanup(sd_event_unrefp) sd_event *event = NULL;
	cleanup(manager_freep) struct manager *manager = NULL;
	size_t n_policies = set->n_policies;
	int err = sd_event_default(&event);

	if (err < 0)
		return err;
	err = add_signals(event);
	if (err < 0)
		return err;
	err = manager_new(event, machine, set, config, &manager);
	if (err < 0)
		return err;
	err = sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, 0, 0, on_watchdog, manager);
	if (err < 0)
		return err;
	journal_started(n_policies);
	sd_notify(false, "READY=1");
	err = sd_event_loop(event);
	sd_notify(false, "STOPPING=1");
	journal_stopped();
	return err;
}

static int run(const struct config_options *config)
{
	cleanup(closep) int lock_fd = -1;
	struct policy_set *set = NULL;
	struct tier_machine *machine = NULL;
	int err = load_config(config, &set);

	if (err < 0)
		return EXIT_CONFIG;
	err = lock_instance(&lock_fd);
	if (err < 0) {
		say_no_lock(err);
		policy_set_free(set);
		return exit_status_of(err);
	}
	protect_self();
	err = open_machine(set, &machine);
	if (err < 0) {
		policy_set_free(set);
		return exit_status_of(err);
	}
	if (!has_two_tiers(machine)) {
		tier_machine_free(machine);
		policy_set_free(set);
		return EXIT_NOTHING_TO_TIER;
	}
	err = loop(machine, set, config);
	if (err < 0)
		say(3, strerror(-err));
	return err < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int check(const struct config_options *config, bool dump)
{
	cleanup(policy_set_freep) struct policy_set *set = NULL;

	if (load_config(config, &set) < 0)
		return EXIT_CONFIG;
	if (dump)
		config_dump(set, stdout);
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int clean(void)
{
	cleanup(closep) int lock_fd = -1;
	int err = lock_instance(&lock_fd);

	if (err < 0) {
		say_no_lock(err);
		return EXIT_FAILURE;
	}
	err = tier_linux_cleanup(RUN_DIR);
	if (err < 0)
		say(4, strerror(-err));
	return err < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int carry_out(enum command command, const struct config_options *config)
{
	switch (command) {
	case COMMAND_RUN:
		return run(config);
	case COMMAND_CHECK:
		return check(config, false);
	case COMMAND_DUMP:
		return check(config, true);
	case COMMAND_CLEANUP:
		return clean();
	}
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "check", no_argument, NULL, 'c' },
		{ "dump-config", no_argument, NULL, 'd' },
		{ "cleanup", no_argument, NULL, 'x' },
		{ "config-root", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	struct config_options config = { 0 };
	enum command command = COMMAND_RUN;
	int c;

	while ((c = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			command = COMMAND_CHECK;
			break;
		case 'd':
			command = COMMAND_DUMP;
			break;
		case 'x':
			command = COMMAND_CLEANUP;
			break;
		case 'r':
			config.root = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		case 'V':
			puts("tierd " TIERD_VERSION);
			return EXIT_SUCCESS;
		case '?':
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "tierd: unexpected argument '%s'; see --help\n", argv[optind]);
		return EXIT_USAGE;
	}
	return carry_out(command, &config);
}
