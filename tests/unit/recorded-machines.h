/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TEST_RECORDED_MACHINES_H
#define TEST_RECORDED_MACHINES_H

/* For tests that read the recorded machines of tests/fixtures/make: fresh copies for each test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "linux/linux.h"
#include "linux/topology.h"
#include "util.h"

/* Room for a path below the temporary directory. */
#define PATH_ROOM 512

static char machines[64];

static inline const char *source_root(void)
{
	const char *root = getenv("TIERD_SRC");

	return root ? root : ".";
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* Fresh machines for each test: tests change them. */
static inline int set_up(void **state)
{
	char command[PATH_ROOM];

	strcpy(machines, "/tmp/tierd-test-machines.XXXXXX");
	if (!mkdtemp(machines))
		return -1;
	snprintf(command, sizeof(command), "%s/tests/fixtures/make %s", source_root(), machines);
	return system(command);
}

static inline int tear_down(void **state)
{
	return nftw(machines, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- a machine without its other parts ------------------------------------------------------ */

static inline void machine_open(struct linux_machine *m, const char *root, const char *order)
{
	int fd = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	*m = (struct linux_machine){.recorded = root != NULL, .root_fd = fd};
	assert_true(fd >= 0);
	m->sys_fd = file_open_at(fd, "sys", O_RDONLY | O_DIRECTORY, true);
	m->proc_fd = file_open_at(fd, "proc", O_RDONLY | O_DIRECTORY, true);
	assert_true(m->sys_fd >= 0 && m->proc_fd >= 0);
	m->root = root ? strdup(root) : NULL;
	m->tier_override = order ? strdup(order) : NULL;
	assert_int_equal(topology_cache_new(&m->topology), 0);
}

static inline void machine_close(struct linux_machine *m)
{
	topology_cache_free(m->topology);
	free(m->root);
	free(m->tier_override);
	close(m->sys_fd);
	close(m->proc_fd);
	close(m->root_fd);
}

static inline void machine_open_recorded(struct linux_machine *m, const char *name, const char *order)
{
	char root[PATH_ROOM];

	snprintf(root, sizeof(root), "%s/%s", machines, name);
	machine_open(m, root, order);
}

static inline struct tier_topology *read_topology(struct linux_machine *m)
{
	struct tier_topology *t = NULL;

	assert_int_equal(linux_topology_read(m, &t), 0);
	return t;
}

static inline void write_file(const char *machine, const char *name, const char *text)
{
	char path[PATH_ROOM];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", machines, machine, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

#define NODE "sys/devices/system/node"
#define TIERS "sys/devices/virtual/memory_tiering"

#endif
