// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One process: a pidfd, a dirfd and an open pagemap, so that a pid that is used again or a program
 * that is replaced by exec() is never taken for the one that we knew. Knows no other process, and
 * reads nothing of what this one maps.
 *
 * What makes an identity. A pid is only a number; as long as a pidfd says that its process runs,
 * the number is that process's. So everything is opened after the pidfd, and the pidfd asked last.
 * exec() keeps pid and start time. What it changes for certain is the address space, and an open
 * pagemap stays with the old one: it reads nothing as soon as that has no user left. Asking costs
 * one pread() of 8 bytes, needs no second look at anything, and cannot be deceived by the process.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/pidfd.h>

#include "linux/linux.h"
#include "linux/parse.h"
#include "linux/process.h"
#include "linux/vma.h"
#include "util.h"

/* stat is about 350 bytes, statm 40; cgroup has a path and, on old layouts, a line per controller.
 */
#define PROC_FILE_MAX_BYTES (64 * KiB)

void process_free(struct process *p)
{
	closep(&p->pidfd);
	closep(&p->proc_fd);
	closep(&p->pagemap_fd);
	vma_facts_free(p->facts);
	free(p);
}

DEFINE_CLEANUP(struct process *, process_free)

static bool pidfd_running(int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};

	return poll(&fd, 1, 0) == 0;
}

static bool same_space(const struct process *p)
{
	uint64_t entry;

	return pread(p->pagemap_fd, &entry, sizeof(entry), 0) == sizeof(entry);
}

bool process_alive(const struct process *p)
{
	if (p->pidfd < 0) /* of a recorded tree: nothing ends there */
		return true;
	return pidfd_running(p->pidfd) && same_space(p);
}

static int read_stat(const struct process *p, struct process_stat *ret)
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	r = file_read_at(p->proc_fd, "stat", PROC_FILE_MAX_BYTES, false, &text, &size);
	return r < 0 ? r : process_parse_stat(text, size, ret);
}

int process_read_resident(int dir_fd, const char *path, uint64_t *ret_bytes)
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	r = file_read_at(dir_fd, path, PROC_FILE_MAX_BYTES, false, &text, &size);
	return r < 0 ? r : process_parse_statm(text, size, ret_bytes);
}

int process_check_cgroup(const struct process *p, const char *path)
{
	cleanup(freep) char *text = NULL;
	const char *is;
	size_t size;
	int r;

	r = file_read_at(p->proc_fd, "cgroup", PROC_FILE_MAX_BYTES, false, &text, &size);
	if (r < 0)
		return r;
	r = process_parse_cgroup(text, size, &is, &size);
	if (r < 0)
		return r;
	return size == strlen(path) && memcmp(is, path, size) == 0 ? 0 : -ESRCH;
}

static int open_fds(int proc_fd, bool live, struct process *p)
{
	char name[16];

	if (live) {
		p->pidfd = pidfd_open(p->pid, 0);
		if (p->pidfd < 0)
			return -errno;
	}
	snprintf(name, sizeof(name), "%d", p->pid);
	p->proc_fd = openat(proc_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->proc_fd < 0)
		return -errno;
	if (live) {
		p->pagemap_fd = openat(p->proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
		if (p->pagemap_fd < 0)
			return -errno;
	}
	return 0;
}

int process_open(int proc_fd, bool live, const struct process_candidate *c, struct process **ret)
{
	cleanup(process_freep) struct process *p = calloc(1, sizeof(*p));
	struct process_stat st;
	int r;

	if (!p)
		return -ENOMEM;
	p->pid = c->pid;
	p->cgroup_id = c->cgroup_id;
	p->pidfd = p->proc_fd = p->pagemap_fd = -1;
	p->refs = 1;
	r = vma_facts_new(&p->facts);
	if (r < 0)
		return r;
	r = open_fds(proc_fd, live, p);
	if (r < 0)
		return r;
	r = read_stat(p, &st);
	if (r < 0)
		return r;
	if (st.kernel_thread)
		return -ESRCH;
	p->start_time = st.start_time;
	r = process_check_cgroup(p, c->cgroup_path);
	if (r < 0)
		return r;
	/* Last, so that all of the above is about one process (see the top of this file). */
	if (!process_alive(p))
		return -ESRCH;
	*ret = STEAL(p);
	return 0;
}

int process_mems_allowed(const struct process *p, int node_id)
{
	cleanup(freep) char *text = NULL;
	struct node_set nodes;
	const char *value;
	size_t size;
	int r;

	r = file_read_at(p->proc_fd, "status", PROC_FILE_MAX_BYTES, false, &text, &size);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = parse_status_field(text, size, "Mems_allowed_list", &value, &size);
	if (r < 0)
		return r;
	r = parse_node_list(value, size, &nodes);
	return r < 0 ? r : node_set_has(&nodes, node_id);
}
