// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The cgroup v2 mount, and what the files of one cgroup say: what it uses, who is in it. Read-only:
 * nothing below the mount is ever written. Which cgroups there are is cgroup-tree.c's business.
 *
 * The only user of libcgroup, which finds the mount and reads memory.numa_stat. Not left to it:
 *   - the walk: it visits and stat()s every file of every cgroup, and tells no ids. Measured over
 *     500 cgroups with 20 files each: 40 ms of CPU; ours takes 3 ms, however many files there are;
 *   - pids and PSI: it has buffers of fixed size and opens by absolute path, so that a re-used name
 *     would go unnoticed. Its one read here is held against the id afterwards;
 *   - a recorded tree, or a machine with another cgroup2 mount ahead of /sys/fs/cgroup: it knows
 *     only the mounts of the machine it runs on, and of these the first.
 * All that goes through openat2() below the mount.
 */
#include <fcntl.h>
#include <libcgroup.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "linux/cgroup.h"
#include "linux/linux.h"
#include "linux/parse.h"
#include "util.h"

#define CGROUP_DIR "sys/fs/cgroup"

/* As many processes as one cgroup can reasonably hold; a quarter of the kernel's limit for all. */
#define PIDS_MAX (1024 * 1024)
/* That many pids of seven digits and a newline. */
#define PIDS_FILE_MAX_BYTES (8 * MiB)

/* Of memory.pressure (below 200 bytes) and cgroup.controllers. */
#define SMALL_FILE_MAX_BYTES (4 * KiB)

/* Of memory.numa_stat: about 30 lines with 32 nodes of up to 27 bytes ("N1023=" and 20 digits). */
#define NUMA_STAT_LINE_BYTES 1024
#define NUMA_STAT_FILE_MAX_BYTES (64 * KiB)

DEFINE_CLEANUP(struct cgroup_mount *, cgroup_mount_close)

/* ---- the mount ----------------------------------------------------------------------------- */

static void ignore_log(void *userdata, int level, const char *format, va_list ap)
{
}

/* Does libcgroup find the memory controller in the directory @fd? */
static bool libcgroup_agrees(int fd)
{
	cleanup(freep) char *path = NULL;
	struct stat ours, theirs;

	/* By default it prints errors on stdout. */
	cgroup_set_logger(ignore_log, 0, NULL);
	return cgroup_init() == 0 && cgroup_get_subsys_mount_point("memory", &path) == 0 &&
	       fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

/* NULL when there is a memory controller in the v2 hierarchy at @fd, else what is wrong. */
static const char *check_mount(int fd, bool recorded)
{
	cleanup(freep) char *text = NULL;
	struct statfs fs;
	size_t size;

	/* A recorded tree has no file system to tell by. */
	if (!recorded && (fstatfs(fd, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC))
		return "/sys/fs/cgroup is not cgroup v2 (it is v1 or hybrid): boot with "
		       "systemd.unified_cgroup_hierarchy=1";
	/* Not /proc/cgroups: that lacks controllers that exist in v2 only. */
	if (file_read_at(fd, "cgroup.controllers", SMALL_FILE_MAX_BYTES, false, &text, &size) < 0)
		return "/sys/fs/cgroup is not cgroup v2: it has no cgroup.controllers";
	if (!parse_has_word(text, size, "memory"))
		return "the memory controller is not in the cgroup v2 hierarchy: it is disabled "
		       "or in use by cgroup v1";
	return NULL;
}

int cgroup_mount_open(int root_fd, bool recorded, struct cgroup_mount **ret, const char **ret_why)
{
	cleanup(cgroup_mount_closep) struct cgroup_mount *c = calloc(1, sizeof(*c));
	const char *why;

	if (!c)
		return -ENOMEM;
	c->recorded = recorded;
	c->max_cgroups = CGROUPS_MAX;
	c->fd = file_open_at(root_fd, CGROUP_DIR, O_RDONLY | O_DIRECTORY, true);
	if (c->fd == -ENOENT || c->fd == -ENOTDIR) {
		*ret_why = "there is no cgroup file system at /sys/fs/cgroup";
		return -ENOTSUP;
	}
	if (c->fd < 0)
		return c->fd;
	why = check_mount(c->fd, recorded);
	if (why) {
		*ret_why = why;
		return -ENOTSUP;
	}
	c->libcgroup = !recorded && libcgroup_agrees(c->fd);
	*ret = STEAL(c);
	return 0;
}

struct cgroup_mount *cgroup_mount_close(struct cgroup_mount *c)
{
	if (!c)
		return NULL;
	cgroup_forget(c);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
	return NULL;
}

/* ---- one cgroup ---------------------------------------------------------------------------- */

/*
 * -ENODATA when the cgroup is there but the file is not, or cannot be read for what the cgroup is;
 * -ENOENT when it is gone. @fd is its directory.
 */
static int read_file(struct cgroup_mount *c, uint64_t cgroup_id, int fd, const char *name,
		     size_t max_bytes, char **ret, size_t *ret_size)
{
	cleanup(closep) int again = -1;
	int r;

	r = file_read_at(fd, name, max_bytes, false, ret, ret_size);
	if (r == -EOPNOTSUPP)
		return -ENODATA;
	if (!cgroup_is_gone(r))
		return r;
	again = cgroup_open_id(c, cgroup_id);
	return again < 0 ? again : -ENODATA;
}

/* Adds one line of memory.numa_stat to @usage; nodes that the topology lacks are left out. */
static int add_numa_stat_line(const char *line, size_t size, const struct tier_topology *t,
			      struct tier_usage *usage)
{
	struct numa_stat_line parsed;
	uint64_t *bytes = NULL;
	int r;

	r = parse_numa_stat_line(line, size, &parsed);
	if (r < 0)
		return r;
	switch (parsed.kind) {
	case NUMA_STAT_ANON:
		bytes = usage->anon_bytes;
		break;
	case NUMA_STAT_FILE:
		bytes = usage->file_bytes;
		break;
	case NUMA_STAT_SHMEM:
		bytes = usage->shmem_bytes;
		break;
	case NUMA_STAT_OTHER:
		return 0;
	}
	for (size_t i = 0; i < parsed.n_nodes; i++) {
		int index = tier_topology_index(t, parsed.nodes[i].id);

		if (index >= 0)
			bytes[index] = parsed.nodes[i].bytes;
	}
	return 0;
}

static void value_endp(void **handle)
{
	if (*handle)
		cgroup_read_value_end(handle);
}

/* What libcgroup's last error means here: the file is missing, or something went wrong. */
static int numa_stat_open_error(void)
{
	int error = cgroup_get_last_errno();

	if (cgroup_is_gone(-error) || error == EOPNOTSUPP)
		return -ENODATA;
	return error > 0 ? -error : -EIO;
}

/*
 * By libcgroup, line by line. What it read belongs to this cgroup only if the caller finds it still
 * in its place afterwards.
 */
static int read_numa_stat_by_path(const char *path, const struct tier_topology *t,
				  struct tier_usage *usage)
{
	static char file[] = "memory.numa_stat"; /* its prototype wants a writable string */
	char line[NUMA_STAT_LINE_BYTES];
	cleanup(value_endp) void *handle = NULL;
	int r, e;

	e = cgroup_read_value_begin("memory", path, file, &handle, line, sizeof(line));
	/* Without a file there is no handle, and the end function does not bear that. */
	if (e && !handle)
		return numa_stat_open_error();
	for (; e == 0; e = cgroup_read_value_next(&handle, line, sizeof(line))) {
		/* A line that did not fit comes in parts, and half a number looks like a number. */
		if (!strchr(line, '\n'))
			return -E2BIG;
		r = add_numa_stat_line(line, strlen(line), t, usage);
		if (r < 0)
			return r;
	}
	return e == ECGEOF ? 0 : -EIO;
}

static int read_numa_stat_by_fd(struct cgroup_mount *c, uint64_t id, int fd,
				const struct tier_topology *t, struct tier_usage *usage)
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	r = read_file(c, id, fd, "memory.numa_stat", NUMA_STAT_FILE_MAX_BYTES, &text, &size);
	if (r < 0)
		return r;
	for (char *line = text, *end = text + size; line < end;) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		char *next = newline ? newline + 1 : end;

		r = add_numa_stat_line(line, (size_t)(next - line), t, usage);
		if (r < 0)
			return r;
		line = next;
	}
	return 0;
}

static int read_psi(struct cgroup_mount *c, uint64_t id, int fd, struct tier_usage *usage)
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	r = read_file(c, id, fd, "memory.pressure", SMALL_FILE_MAX_BYTES, &text, &size);
	if (r < 0)
		return r;
	return parse_psi_some(text, size, &usage->psi_some_us);
}

/*
 * A cgroup in whose parent the memory controller is not enabled has no files of it, and without
 * PSI there is no memory.pressure: then there are no figures, and all are zero.
 */
int cgroup_read_usage(struct cgroup_mount *c, uint64_t cgroup_id, const struct tier_topology *t,
		      struct tier_usage *ret)
{
	cleanup(closep) int fd = cgroup_open_id(c, cgroup_id);
	cleanup(closep) int again = -1;
	struct tier_usage usage = {.psi_some_us = 0};
	int r;

	if (fd < 0)
		return fd;
	if (c->libcgroup)
		r = read_numa_stat_by_path(cgroup_known_path(c, cgroup_id), t, &usage);
	else
		r = read_numa_stat_by_fd(c, cgroup_id, fd, t, &usage);
	if (r < 0 && r != -ENODATA)
		return r;
	r = read_psi(c, cgroup_id, fd, &usage);
	if (r < 0 && r != -ENODATA)
		return r;
	again = cgroup_open_id(c, cgroup_id);
	if (again < 0)
		return again;
	for (size_t i = 0; i < TIER_NODES_MAX; i++)
		usage.file_bytes[i] -= MIN(usage.file_bytes[i], usage.shmem_bytes[i]);
	*ret = usage;
	return 0;
}

int cgroup_read_pids(struct cgroup_mount *c, uint64_t cgroup_id, pid_t **ret_pids, size_t *ret_n)
{
	cleanup(closep) int fd = cgroup_open_id(c, cgroup_id);
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	if (fd < 0)
		return fd;
	r = read_file(c, cgroup_id, fd, "cgroup.procs", PIDS_FILE_MAX_BYTES, &text, &size);
	/* The processes of a threaded cgroup are in its domain cgroup's list. */
	if (r == -ENODATA)
		return parse_pids("", 0, PIDS_MAX, ret_pids, ret_n);
	if (r < 0)
		return r;
	return parse_pids(text, size, PIDS_MAX, ret_pids, ret_n);
}
