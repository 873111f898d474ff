// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cgroups: the walk over trees with every name that a kernel allows, ids against re-used paths, and
 * what the files say. Trees are plain directories opened as recorded ones; the last test looks at
 * the machine that it runs on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "linux/cgroup.h"
#include "linux/linux.h"
#include "util.h"

struct tree {
	char path[64];
	int root_fd;
	int cgroup_fd;
	struct cgroup_mount *mount;
};

static void put_file(struct tree *t, const char *cgroup, const char *name, const char *text)
{
	char path[8192];
	int fd;

	snprintf(path, sizeof(path), "%s%s%s", cgroup, *cgroup ? "/" : "", name);
	fd = openat(t->cgroup_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void put_cgroup(struct tree *t, const char *path)
{
	assert_int_equal(mkdirat(t->cgroup_fd, path, 0755), 0);
	put_file(t, path, "cgroup.procs", "");
}

static int set_up(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	const char *why = NULL;

	strcpy(t->path, "/tmp/tierd-test-cgroup.XXXXXX");
	if (!mkdtemp(t->path))
		return -1;
	t->root_fd = open(t->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mkdirat(t->root_fd, "sys", 0755);
	mkdirat(t->root_fd, "sys/fs", 0755);
	mkdirat(t->root_fd, "sys/fs/cgroup", 0755);
	t->cgroup_fd = openat(t->root_fd, "sys/fs/cgroup", O_PATH | O_DIRECTORY | O_CLOEXEC);
	put_file(t, "", "cgroup.controllers", "cpu io memory pids\n");
	put_file(t, "", "cgroup.procs", "1\n");
	*state = t;
	return cgroup_mount_open(t->root_fd, true, &t->mount, &why);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct tree *t = *state;
	int r;

	cgroup_mount_close(t->mount);
	close(t->cgroup_fd);
	close(t->root_fd);
	r = nftw(t->path, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
	free(t);
	return r;
}

static struct tier_cgroups *walk(struct tree *t)
{
	struct tier_cgroups *c = NULL;

	assert_int_equal(cgroup_walk(t->mount, &c), 0);
	return c;
}

static const struct tier_cgroup *find(const struct tier_cgroups *c, const char *path)
{
	for (size_t i = 0; i < c->n_cgroups; i++)
		if (!strcmp(c->cgroups[i].path, path))
			return &c->cgroups[i];
	return NULL;
}

static uint64_t id_of(struct tree *t, const char *path)
{
	struct tier_cgroups *c = walk(t);
	const struct tier_cgroup *found = find(c, path);
	uint64_t id;

	assert_non_null(found);
	id = found->id;
	tier_cgroups_free(c);
	return id;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* A parent is there, came earlier, and its path is the child's without the last name. */
static void assert_tree(const struct tier_cgroups *c)
{
	assert_true(c->n_cgroups >= 1);
	assert_string_equal(c->cgroups[0].path, "");
	assert_int_equal(c->cgroups[0].parent_id, 0);
	for (size_t i = 1; i < c->n_cgroups; i++) {
		const char *path = c->cgroups[i].path;
		const char *slash = strrchr(path, '/');
		size_t parent_size = slash ? (size_t)(slash - path) : 0;
		size_t at = 0;

		while (at < i && c->cgroups[at].id != c->cgroups[i].parent_id)
			at++;
		assert_true(at < i);
		assert_int_equal(strlen(c->cgroups[at].path), parent_size);
		assert_memory_equal(c->cgroups[at].path, path, parent_size);
	}
}

static void test_walk(void **state)
{
	struct tree *t = *state;
	struct tier_cgroups *c;

	c = walk(t);
	assert_int_equal(c->n_cgroups, 1);
	tier_cgroups_free(c);
	put_cgroup(t, "a");
	put_cgroup(t, "a/b");
	put_cgroup(t, "a/b/c");
	put_cgroup(t, "d");
	c = walk(t);
	assert_int_equal(c->n_cgroups, 5);
	assert_false(c->truncated);
	assert_tree(c);
	assert_int_equal(find(c, "a/b/c")->parent_id, find(c, "a/b")->id);
	assert_int_equal(find(c, "d")->parent_id, find(c, "")->id);
	tier_cgroups_free(c);
}

static void test_odd_names(void **state)
{
	/* As systemd escapes them, as people name them, and what a container may do on purpose. */
	static const char *const names[] = {
		"with space",
		"system-a\\x2db.slice",
		"100%s%n.slice",
		"[brackets]*?",
		"caf\xe9-\xff\xfe",
		"new\nline",
		"tab\there",
		"...",
		"-rf",
		"quote'\"`$(id)",
		"\x01\x02\x7f",
		"a=b,c>d",
		"cgroup.procs.dir",
	};
	char longest[256];
	struct tree *t = *state;
	struct tier_cgroups *c;

	memset(longest, 'x', 255);
	longest[255] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put_cgroup(t, names[i]);
	put_cgroup(t, longest);
	c = walk(t);
	assert_int_equal(c->n_cgroups, ARRAY_SIZE(names) + 2);
	assert_tree(c);
	assert_non_null(find(c, longest));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct tier_cgroup *found = find(c, names[i]);
		char *path = NULL;

		assert_non_null(found);
		assert_int_equal(cgroup_path(t->mount, found->id, &path), 0);
		assert_string_equal(path, names[i]);
		free(path);
	}
	tier_cgroups_free(c);
}

/* Not a cgroup: a link, to a directory or in a circle, and a file. */
static void test_links(void **state)
{
	struct tree *t = *state;
	struct tier_cgroups *c;

	put_cgroup(t, "a");
	assert_int_equal(symlinkat("a", t->cgroup_fd, "to-a"), 0);
	assert_int_equal(symlinkat("..", t->cgroup_fd, "a/up"), 0);
	assert_int_equal(symlinkat("/", t->cgroup_fd, "out"), 0);
	c = walk(t);
	assert_int_equal(c->n_cgroups, 2);
	tier_cgroups_free(c);
}

/* Deeper than libcgroup can follow: what fits is there, the rest is left out and said to be. */
static void test_deep(void **state)
{
	char name[201], path[8192] = "";
	struct tree *t = *state;
	struct tier_cgroups *c;
	int fd = dup(t->cgroup_fd);

	memset(name, 'n', 200);
	name[200] = '\0';
	for (int i = 0; i < 20; i++) {
		int below;

		assert_int_equal(mkdirat(fd, name, 0755), 0);
		below = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		close(fd);
		fd = below;
	}
	close(fd);
	c = walk(t);
	assert_true(c->truncated);
	/* 19 names of 200 bytes with a slash between are 3,818 bytes; one more is beyond 3,840. */
	assert_int_equal(c->n_cgroups, 1 + 19);
	assert_tree(c);
	for (int i = 0; i < 19; i++)
		sprintf(path + strlen(path), "%s%s", i ? "/" : "", name);
	assert_non_null(find(c, path));
	tier_cgroups_free(c);
}

/* More than the cap, most of them below one cgroup: what is higher up in the tree stays. */
static void test_many(void **state)
{
	struct tree *t = *state;
	struct tier_cgroups *c;
	char name[32];

	t->mount->max_cgroups = 100;
	put_cgroup(t, "hostile");
	for (int i = 0; i < 98; i++) {
		snprintf(name, sizeof(name), "hostile/%d", i);
		put_cgroup(t, name);
	}
	c = walk(t);
	assert_int_equal(c->n_cgroups, 100);
	assert_false(c->truncated);
	tier_cgroups_free(c);

	put_cgroup(t, "other");
	c = walk(t);
	assert_int_equal(c->n_cgroups, 100);
	assert_true(c->truncated);
	assert_non_null(find(c, "other"));
	assert_tree(c);
	tier_cgroups_free(c);
}

/* ---- ids ----------------------------------------------------------------------------------- */

static void test_gone(void **state)
{
	struct tier_topology nodes = {.n_nodes = 1};
	struct tree *t = *state;
	struct tier_usage usage;
	pid_t *pids = NULL;
	char *path = NULL;
	uint64_t id;
	size_t n;

	put_cgroup(t, "a");
	id = id_of(t, "a");
	assert_int_equal(unlinkat(t->cgroup_fd, "a/cgroup.procs", 0), 0);
	/* Keeps the inode from being used again at once, as kernfs never does. */
	assert_int_equal(renameat(t->cgroup_fd, "a", t->root_fd, "kept"), 0);
	assert_int_equal(cgroup_path(t->mount, id, &path), -ENOENT);
	assert_int_equal(cgroup_read_pids(t->mount, id, &pids, &n), -ENOENT);
	assert_int_equal(cgroup_read_usage(t->mount, id, &nodes, &usage), -ENOENT);

	/* Another cgroup of the same name is not it, before and after the next walk. */
	put_cgroup(t, "a");
	assert_int_equal(cgroup_path(t->mount, id, &path), -ENOENT);
	assert_int_equal(cgroup_read_pids(t->mount, id, &pids, &n), -ENOENT);
	assert_int_equal(cgroup_read_usage(t->mount, id, &nodes, &usage), -ENOENT);
	assert_int_not_equal(id_of(t, "a"), id);
	assert_int_equal(cgroup_path(t->mount, id, &path), -ENOENT);
	assert_int_equal(cgroup_path(t->mount, id_of(t, "a"), &path), 0);
	assert_string_equal(path, "a");
	free(path);

	/* A file where the cgroup was, and a link to one. */
	id = id_of(t, "a");
	assert_int_equal(renameat(t->cgroup_fd, "a", t->root_fd, "kept2"), 0);
	put_file(t, "", "a", "x");
	assert_int_equal(cgroup_read_pids(t->mount, id, &pids, &n), -ENOENT);
	assert_null(pids);
}

static void test_unknown_id(void **state)
{
	struct tree *t = *state;
	char *path = NULL;

	/* Before the first walk, and after it. */
	assert_int_equal(cgroup_path(t->mount, 1, &path), -ENOENT);
	tier_cgroups_free(walk(t));
	assert_int_equal(cgroup_path(t->mount, 0, &path), -ENOENT);
	assert_int_equal(cgroup_path(t->mount, UINT64_MAX, &path), -ENOENT);
	assert_null(path);
}

/* ---- the files ----------------------------------------------------------------------------- */

static void test_pids(void **state)
{
	struct tree *t = *state;
	pid_t *pids = NULL;
	size_t n = 9;

	put_cgroup(t, "a");
	assert_int_equal(cgroup_read_pids(t->mount, id_of(t, "a"), &pids, &n), 0);
	assert_int_equal(n, 0);
	free(pids);
	put_file(t, "a", "cgroup.procs", "12\n0\n345\n");
	assert_int_equal(cgroup_read_pids(t->mount, id_of(t, "a"), &pids, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(pids[0], 12);
	assert_int_equal(pids[1], 345);
	free(pids);
	assert_int_equal(cgroup_read_pids(t->mount, id_of(t, ""), &pids, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(pids[0], 1);
	free(pids);

	pids = NULL;
	put_file(t, "a", "cgroup.procs", "12\nx\n");
	assert_int_equal(cgroup_read_pids(t->mount, id_of(t, "a"), &pids, &n), -EINVAL);
	assert_null(pids);
}

static void test_usage(void **state)
{
	struct tier_topology nodes = {.n_nodes = 3};
	struct tier_usage usage, before;
	struct tree *t = *state;

	nodes.nodes[0].id = 0;
	nodes.nodes[1].id = 2;
	nodes.nodes[2].id = 5;
	put_cgroup(t, "a");
	/* By node id, not by position; node 7 came after the topology was read. */
	put_file(t, "a", "memory.numa_stat",
		 "anon N0=4096 N2=8192 N5=12288 N7=99\n"
		 "file N5=65536 N2=20480 N0=0\n"
		 "kernel_stack N0=1 N2=1 N5=1\n"
		 "shmem N0=0 N2=4096 N5=65536\n");
	put_file(t, "a", "memory.pressure", "some avg10=0.00 total=11\nfull avg10=0.00 total=3\n");
	memset(&usage, 0xff, sizeof(usage));
	assert_int_equal(cgroup_read_usage(t->mount, id_of(t, "a"), &nodes, &usage), 0);
	assert_int_equal(usage.anon_bytes[0], 4096);
	assert_int_equal(usage.anon_bytes[1], 8192);
	assert_int_equal(usage.anon_bytes[2], 12288);
	assert_int_equal(usage.file_bytes[0], 0);
	/* Shmem is taken out of file. */
	assert_int_equal(usage.file_bytes[1], 16384);
	assert_int_equal(usage.file_bytes[2], 0);
	assert_int_equal(usage.shmem_bytes[1], 4096);
	assert_int_equal(usage.shmem_bytes[2], 65536);
	assert_int_equal(usage.psi_some_us, 11);
	for (size_t i = 3; i < TIER_NODES_MAX; i++)
		assert_int_equal(usage.anon_bytes[i], 0);

	/* Counters are read one after the other: more shmem than file is not a negative amount. */
	put_file(t, "a", "memory.numa_stat", "file N0=1\nshmem N0=2\n");
	assert_int_equal(cgroup_read_usage(t->mount, id_of(t, "a"), &nodes, &usage), 0);
	assert_int_equal(usage.file_bytes[0], 0);

	before = usage;
	put_file(t, "a", "memory.numa_stat", "anon N0=garbage\n");
	assert_int_equal(cgroup_read_usage(t->mount, id_of(t, "a"), &nodes, &usage), -EINVAL);
	put_file(t, "a", "memory.numa_stat", "anon N0=1\n");
	put_file(t, "a", "memory.pressure", "some\n");
	assert_int_equal(cgroup_read_usage(t->mount, id_of(t, "a"), &nodes, &usage), -EINVAL);
	assert_memory_equal(&before, &usage, sizeof(usage));
}

/* Without the memory controller, and without PSI, there are no figures, and that is no error. */
static void test_usage_without_files(void **state)
{
	struct tier_topology nodes = {.n_nodes = 1};
	struct tree *t = *state;
	struct tier_usage usage;

	put_cgroup(t, "a");
	memset(&usage, 0xff, sizeof(usage));
	assert_int_equal(cgroup_read_usage(t->mount, id_of(t, "a"), &nodes, &usage), 0);
	assert_int_equal(usage.anon_bytes[0], 0);
	assert_int_equal(usage.psi_some_us, 0);
	put_file(t, "a", "memory.pressure", "some total=5\n");
	assert_int_equal(cgroup_read_usage(t->mount, id_of(t, "a"), &nodes, &usage), 0);
	assert_int_equal(usage.psi_some_us, 5);
}

/* ---- this machine -------------------------------------------------------------------------- */

/* Our own path from /proc/self/cgroup, without the slash; false if it shows no v2 cgroup. */
static bool own_cgroup(char *ret, size_t size)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;

	assert_non_null(f);
	while (!found && fgets(ret, (int)size, f)) {
		ret[strcspn(ret, "\n")] = '\0';
		if (strncmp(ret, "0::/", 4))
			continue;
		memmove(ret, ret + 4, strlen(ret + 4) + 1);
		found = true;
	}
	fclose(f);
	return found;
}

static void test_this_machine(void **state)
{
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_mount *mount = NULL;
	struct tier_cgroups *c = NULL;
	const char *why = NULL;
	char own[4096];
	int r = cgroup_mount_open(root_fd, false, &mount, &why);

	close(root_fd);
	if (r < 0) {
		/* v1, hybrid, or no memory controller: refused in one line. */
		assert_int_equal(r, -ENOTSUP);
		assert_null(mount);
		assert_non_null(why);
		assert_null(strchr(why, '\n'));
		return;
	}
	assert_int_equal(cgroup_walk(mount, &c), 0);
	assert_tree(c);
	if (own_cgroup(own, sizeof(own))) {
		const struct tier_cgroup *found = find(c, own);
		pid_t *pids = NULL;
		size_t n, at = 0;

		assert_non_null(found);
		assert_int_equal(cgroup_read_pids(mount, found->id, &pids, &n), 0);
		while (at < n && pids[at] != getpid())
			at++;
		assert_true(at < n);
		free(pids);
	}
	tier_cgroups_free(c);
	cgroup_mount_close(mount);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_walk),
		TEST(test_odd_names),
		TEST(test_links),
		TEST(test_deep),
		TEST(test_many),
		TEST(test_gone),
		TEST(test_unknown_id),
		TEST(test_pids),
		TEST(test_usage),
		TEST(test_usage_without_files),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
