// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which kdamonds are ours, and the only place that starts, stops, makes or removes any. The rule:
 * nothing is written to a kdamond that the record does not name, and each "off" comes right after
 * a look at who runs there. Knows nothing of targets and samples.
 *
 * A kdamond is ours when its directory is the one that we made (inode) and what runs in it is what
 * we started (pid and start time). A directory fd can't name a newcomer's directory; nr_kdamonds,
 * which is everybody's, is written only after all inodes were compared.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "linux/linux.h"
#include "linux/tracker.h"
#include "util.h"

/* A kdamond ends within one sample; half a second covers a machine that is short of CPU. */
#define STOP_TRIES 50
#define STOP_PAUSE_NS 10000000L
/*
 * Crashed between writing "on" and noting the pid: ours is what started within this time after the
 * note that it was about to. "on" takes milliseconds, on a stalled machine perhaps a second or two.
 */
#define START_WINDOW_S 5U
/* Somebody else's kdamonds are counted for the reason text; more than this is "many" anyway. */
#define FOREIGN_LOOK 64U

static void forget(struct own *o)
{
	for (size_t i = 0; i < TRACKER_KDAMONDS; i++) {
		closep(&o->fds[i]);
		o->fds[i] = -1;
	}
	o->record.n_kdamonds = 0;
	o->record.creating = false;
	memset(o->record.kdamonds, 0, sizeof(o->record.kdamonds));
}

int own_open(int sys_fd, int proc_fd, const char *run_dir, const struct damon_writer *writer,
	     struct own *ret)
{
	struct own o = { .sys_fd = sys_fd, .proc_fd = proc_fd, .run_fd = -1 };

	for (size_t i = 0; i < TRACKER_KDAMONDS; i++)
		o.fds[i] = -1;
	o.damon = (struct damon){ .dir_fd = -1, .writer = writer };
	o.run_fd = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o.run_fd < 0)
		return -errno;
	*ret = o;
	return 0;
}

void own_close(struct own *o)
{
	forget(o);
	damon_close(&o->damon);
	closep(&o->run_fd);
	o->run_fd = -1;
}

/* ---- whose is it? -------------------------------------------------------------------------- */

/* Does what runs as @pid in kdamond @i come from us? */
static bool started_by_us(const struct own *o, size_t i, pid_t pid)
{
	const struct own_kdamond *k = &o->record.kdamonds[i];
	uint64_t cpu, start;

	if (!k->starting && k->pid != pid)
		return false;
	if (tracker_read_stat(o->proc_fd, pid, &cpu, &start) < 0)
		return false;
	if (k->starting)
		return start >= k->start_time &&
		       start - k->start_time <= START_WINDOW_S * (uint64_t)sysconf(_SC_CLK_TCK);
	return start == k->start_time;
}

int own_running(struct own *o, size_t i)
{
	pid_t pid;
	int r = damon_read_pid(o->fds[i], &pid);

	if (r < 0)
		return r;
	if (!pid)
		return 0;
	return started_by_us(o, i, pid) ? 1 : -EPERM;
}

/*
 * Are the directories still exactly the ones of the record, and does nothing run in them? 1: yes,
 * 0: there are none at all. While they were being made their inodes are not known; then the number
 * and the stillness must do.
 */
static int all_idle_and_ours(struct own *o)
{
	size_t n;
	int r = damon_read_count(&o->damon, &n);

	if (r < 0 || !n)
		return r;
	if (n != o->record.n_kdamonds)
		return -EBUSY;
	for (size_t i = 0; i < n; i++) {
		cleanup(closep) int fd = -1;
		uint64_t ino;
		pid_t pid;

		r = damon_open_kdamond(&o->damon, i, &fd, &ino);
		if (r < 0)
			return r;
		if (!o->record.creating && ino != o->record.kdamonds[i].ino)
			return -EBUSY;
		r = damon_read_pid(fd, &pid);
		if (r < 0)
			return r;
		if (pid)
			return -EBUSY;
	}
	return 1;
}

static void foreign_reason(const struct own *o, size_t n, char ret_reason[REASON_BYTES])
{
	size_t running = 0;

	for (size_t i = 0; i < MIN(n, (size_t)FOREIGN_LOOK); i++) {
		cleanup(closep) int fd = -1;
		uint64_t ino;
		pid_t pid;

		if (damon_open_kdamond(&o->damon, i, &fd, &ino) >= 0 &&
		    damon_read_pid(fd, &pid) >= 0 && pid)
			running++;
	}
	snprintf(ret_reason, REASON_BYTES,
		 "another program uses DAMON (%zu kdamond%s, %zu running, not ours)", n,
		 n == 1 ? "" : "s", running);
}

void own_busy_reason(const struct own *o, char ret_reason[REASON_BYTES])
{
	const char *module = damon_exclusive_module(o->sys_fd);

	if (module)
		snprintf(ret_reason, REASON_BYTES,
			 "the kernel's %s has DAMON for itself "
			 "(/sys/module/%s/parameters/enabled is Y)",
			 module, module);
	else
		snprintf(ret_reason, REASON_BYTES, "another user of DAMON in the kernel holds it");
}

/* ---- starting and stopping ----------------------------------------------------------------- */

/* The clock that start times of processes are in. */
static uint64_t boot_ticks(void)
{
	struct timespec now = { 0 };
	uint64_t per_s = (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * per_s + (uint64_t)now.tv_nsec * per_s / 1000000000U;
}

/* Keeps the record true; the file first says that something may be running, last what it is. */
static int note(struct own *o, size_t i, pid_t pid, bool starting)
{
	struct own_kdamond *k = &o->record.kdamonds[i];
	uint64_t cpu;

	k->start_time = starting ? boot_ticks() : 0;
	if (pid && tracker_read_stat(o->proc_fd, pid, &cpu, &k->start_time) < 0)
		pid = 0; /* it ended before we could look */
	k->pid = pid;
	k->starting = starting;
	return own_record_write(o->run_fd, &o->record);
}

int own_start(struct own *o, size_t i)
{
	pid_t pid = 0;
	int r = own_running(o, i);

	if (r != 0)
		return r < 0 ? r : -EBUSY;
	r = note(o, i, 0, true);
	if (r < 0)
		return r;
	r = damon_command(&o->damon, o->fds[i], DAMON_ON);
	if (r < 0) {
		note(o, i, 0, false);
		return r;
	}
	r = damon_read_pid(o->fds[i], &pid);
	if (r < 0)
		return r;
	return note(o, i, pid, false);
}

static int wait_until_stopped(const struct own *o, size_t i)
{
	pid_t pid = 1;
	int r = 0;

	for (int tries = 0; tries < STOP_TRIES && r >= 0; tries++) {
		if (tries)
			nanosleep(&(struct timespec){ .tv_nsec = STOP_PAUSE_NS }, NULL);
		r = damon_read_pid(o->fds[i], &pid);
		if (r >= 0 && !pid)
			return 0;
	}
	return r < 0 ? r : -ETIMEDOUT;
}

int own_stop(struct own *o, size_t i)
{
	int r = own_running(o, i);

	if (r < 0)
		return r;
	if (r > 0) {
		r = damon_command(&o->damon, o->fds[i], DAMON_OFF);
		/* -EPERM, -EINVAL: it has ended by itself since we looked. */
		if (r < 0 && r != -EPERM && r != -EINVAL)
			return r;
		r = wait_until_stopped(o, i);
		if (r < 0)
			return r;
	}
	if (!o->record.kdamonds[i].pid && !o->record.kdamonds[i].starting)
		return 0;
	return note(o, i, 0, false);
}

/* ---- taking and giving back ---------------------------------------------------------------- */

/* Opens those directories of the record that still are the ones that we made. */
static void open_ours(struct own *o)
{
	for (size_t i = 0; !o->record.creating && i < o->record.n_kdamonds; i++) {
		cleanup(closep) int fd = -1;
		uint64_t ino;

		if (o->fds[i] >= 0 || damon_open_kdamond(&o->damon, i, &fd, &ino) < 0)
			continue;
		if (ino == o->record.kdamonds[i].ino)
			o->fds[i] = steal_fd(&fd);
	}
}

int own_release(struct own *o)
{
	int r = 0, worst = 0;

	if (!o->record.n_kdamonds)
		return 0;
	for (size_t i = 0; i < o->record.n_kdamonds; i++) {
		r = o->fds[i] >= 0 ? own_stop(o, i) : 0;
		/* Gone means that somebody removed it: then it does not run either. */
		if (r < 0 && r != -ENOENT && r != -ENODEV)
			worst = r;
	}
	r = all_idle_and_ours(o);
	if (r > 0)
		r = damon_write_count(&o->damon, 0);
	/* One that is ours and would not stop stays on record, for the next attempt. */
	if (worst < 0 && worst != -EPERM)
		return worst;
	forget(o);
	own_record_remove(o->run_fd);
	return r;
}

/* What did a run of ours that crashed leave behind? */
static int release_leftovers(struct own *o)
{
	struct own_record record;
	int r = own_record_read(o->run_fd, &record);

	/* No record, or one that we do not believe: nothing is known to be ours. */
	if (r < 0)
		return 0;
	if (strcmp(record.boot_id, o->record.boot_id)) {
		own_record_remove(o->run_fd);
		return 0;
	}
	forget(o);
	o->record = record;
	open_ours(o);
	return own_release(o);
}

/* Fills the new directories' inodes in and sets the contexts up. */
static int adopt_new(struct own *o)
{
	int r = 0;

	for (size_t i = 0; i < TRACKER_KDAMONDS && r >= 0; i++)
		r = damon_open_kdamond(&o->damon, i, &o->fds[i], &o->record.kdamonds[i].ino);
	if (r < 0)
		return r;
	o->record.creating = false;
	r = own_record_write(o->run_fd, &o->record);
	for (size_t i = 0; i < TRACKER_KDAMONDS && r >= 0; i++)
		r = damon_write_context(&o->damon, o->fds[i]);
	return r;
}

static int make_kdamonds(struct own *o)
{
	int r;

	o->record.n_kdamonds = TRACKER_KDAMONDS;
	o->record.creating = true;
	r = own_record_write(o->run_fd, &o->record);
	if (r < 0) {
		forget(o);
		return r;
	}
	r = damon_write_count(&o->damon, TRACKER_KDAMONDS);
	if (r < 0) {
		forget(o);
		own_record_remove(o->run_fd);
		return r;
	}
	r = adopt_new(o);
	if (r >= 0) {
		r = damon_has_vaddr(o->fds[0]);
		r = r == 0 ? -ENOTSUP : r;
	}
	if (r < 0)
		own_release(o);
	return r < 0 ? r : 0;
}

static void failure_reason(int error, char ret_reason[REASON_BYTES])
{
	if (error == -ENOENT)
		snprintf(ret_reason, REASON_BYTES,
			 "this kernel has no DAMON sysfs interface (CONFIG_DAMON_SYSFS)");
	else if (error == -ENOTSUP)
		snprintf(ret_reason, REASON_BYTES,
			 "this kernel's DAMON can't watch processes (CONFIG_DAMON_VADDR)");
	else if (error == -EACCES || error == -EPERM || error == -EROFS)
		snprintf(ret_reason, REASON_BYTES,
			 "no right to use DAMON or to write the run directory: %s",
			 strerrordesc_np(-error));
	else
		snprintf(ret_reason, REASON_BYTES, "DAMON can't be set up: %s",
			 strerrordesc_np(-error));
}

int own_acquire(struct own *o, char ret_reason[REASON_BYTES])
{
	size_t n = 0;
	int r = 0;

	if (o->damon.dir_fd < 0)
		r = damon_open(o->sys_fd, o->damon.writer, &o->damon);
	if (r >= 0)
		r = own_boot_id(o->proc_fd, o->record.boot_id);
	if (r >= 0) {
		/* Whether or not this goes well, what counts is what is there afterwards. */
		release_leftovers(o);
		r = damon_read_count(&o->damon, &n);
	}
	if (r >= 0 && n) {
		foreign_reason(o, n, ret_reason);
		return -EBUSY;
	}
	if (r >= 0)
		r = make_kdamonds(o);
	if (r == -EBUSY && damon_read_count(&o->damon, &n) >= 0)
		foreign_reason(o, n, ret_reason);
	else if (r < 0)
		failure_reason(r, ret_reason);
	return r;
}

int own_cleanup(int sys_fd, int proc_fd, const char *run_dir, const struct damon_writer *writer)
{
	struct own o;
	int r = own_open(sys_fd, proc_fd, run_dir, writer, &o);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = damon_open(sys_fd, writer, &o.damon);
	if (r >= 0)
		r = own_boot_id(proc_fd, o.record.boot_id);
	if (r >= 0)
		r = release_leftovers(&o);
	own_close(&o);
	/* No DAMON here, or what is left is somebody else's: nothing to do. */
	return r == -ENOENT || r == -EBUSY ? 0 : r;
}

int tracker_cleanup(int sys_fd, const char *run_dir)
{
	cleanup(closep) int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return proc_fd < 0 ? -errno : own_cleanup(sys_fd, proc_fd, run_dir, NULL);
}
