/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_PRIVATE_BUS_H
#define TESTS_PRIVATE_BUS_H

/*
 * A bus of our own with the fake daemon on it. Needs dbus-daemon, no root and no system bus.
 */

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "fake-daemon.h"

#define NAME "org.tierd1"
#define PATH "/org/tierd1"
#define INTERFACE "org.tierd1.Manager"

#define CALL(bus, method, error, reply, ...) \
	sd_bus_call_method(bus, NAME, PATH, INTERFACE, method, error, reply, __VA_ARGS__)

#define START_TIMEOUT_MS 20000

struct private_bus {
	char dir[64];
	char address[128];
	pid_t bus_pid;
	pid_t server_pid;
	int control; /* to the server */
};

/* Nothing of a test outlives it. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void end_child(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGTERM);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

static int write_bus_config(const struct private_bus *b, const char *type, const char *policy)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/bus.conf", b->dir);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(f,
		"<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n"
		"\"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
		"<busconfig><type>%s</type><listen>unix:path=%s/socket</listen><auth>EXTERNAL</auth>"
		"%s</busconfig>\n",
		type, b->dir, policy);
	return fclose(f) ? -errno : 0;
}

static int start_dbus_daemon(struct private_bus *b)
{
	char option[128];
	int out[2];
	struct pollfd p;
	char byte;

	if (pipe(out) < 0)
		return -errno;
	snprintf(option, sizeof(option), "--config-file=%s/bus.conf", b->dir);
	b->bus_pid = fork_child();
	if (b->bus_pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		/* It complains about limits that it may not raise. */
		if (!freopen("/dev/null", "w", stderr))
			_exit(126);
		execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile",
		       "--print-address", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	/* The address is printed when the socket is there; the end of the pipe means it is not. */
	p = (struct pollfd){ .fd = out[0], .events = POLLIN };
	byte = 0;
	if (poll(&p, 1, START_TIMEOUT_MS) == 1 && read(out[0], &byte, 1) != 1)
		byte = 0;
	close(out[0]);
	return byte ? 0 : -ENOENT;
}

/* Everybody may do everything: what is refused is refused by tierd itself. */
#define PERMISSIVE                                                                                \
	"<policy context=\"default\"><allow user=\"*\"/><allow own=\"*\"/>"                        \
	"<allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/></policy>"

static void private_bus_stop(struct private_bus *b)
{
	char path[128];

	if (b->control > 0)
		close(b->control);
	b->control = -1;
	/* The end of the control socket ends the server, with its clean-up. */
	if (b->server_pid > 0)
		waitpid(b->server_pid, NULL, 0);
	b->server_pid = 0;
	end_child(&b->bus_pid);
	snprintf(path, sizeof(path), "%s/bus.conf", b->dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/socket", b->dir);
	unlink(path);
	rmdir(b->dir);
}

static int private_bus_prepare(struct private_bus *b, const char *type, const char *policy)
{
	*b = (struct private_bus){ .control = -1, .dir = "/tmp/tierd-test-XXXXXX" };
	/* Other users connect, too. */
	if (!mkdtemp(b->dir) || chmod(b->dir, 0755) < 0)
		return -errno;
	snprintf(b->address, sizeof(b->address), "unix:path=%s/socket", b->dir);
	return write_bus_config(b, type, policy);
}

static int start_server(struct private_bus *b)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	b->server_pid = fork_child();
	if (b->server_pid == 0) {
		close(pair[0]);
		_exit(server_run(b->address, pair[1]));
	}
	close(pair[1]);
	b->control = pair[0];
	return b->server_pid < 0 ? -errno : 0;
}

/* Tells the server something and waits until it is done. */
static void private_bus_command(struct private_bus *b, char command)
{
	char answer = 0;

	assert_int_equal(write(b->control, &command, 1), 1);
	assert_int_equal(read(b->control, &answer, 1), 1);
	assert_int_equal(answer, command);
}

static sd_bus *private_bus_connect(const struct private_bus *b)
{
	sd_bus *bus = NULL;

	assert_true(sd_bus_new(&bus) >= 0);
	assert_true(sd_bus_set_address(bus, b->address) >= 0);
	assert_true(sd_bus_set_bus_client(bus, true) >= 0);
	assert_true(sd_bus_start(bus) >= 0);
	return bus;
}

static void private_bus_wait_for_name(const struct private_bus *b)
{
	sd_bus *bus = private_bus_connect(b);
	int r = -ENXIO;

	for (int i = 0; i < START_TIMEOUT_MS / 20 && r < 0; i++) {
		r = sd_bus_get_name_creds(bus, "org.tierd1", 0, NULL);
		if (r < 0)
			usleep(20000);
	}
	sd_bus_flush_close_unref(bus);
	assert_true(r >= 0);
}

/* A bus with a server on it, whose first view is there. */
static void private_bus_start(struct private_bus *b, const char *type, const char *policy)
{
	assert_int_equal(private_bus_prepare(b, type, policy), 0);
	assert_int_equal(start_dbus_daemon(b), 0);
	assert_int_equal(start_server(b), 0);
	private_bus_wait_for_name(b);
	private_bus_command(b, 'm');
}

#endif
