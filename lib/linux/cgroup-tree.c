// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which cgroups there are and where each id lives now. A cgroup is its id (the inode number of its
 * directory); a path is only where it was last seen, and is held against the id whenever it is
 * used. Read-only, below the mount's fd; reads no controller file.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "linux/cgroup.h"
#include "linux/linux.h"
#include "util.h"

/* libcgroup cuts paths at FILENAME_MAX (4,096), mount point and file name included. */
#define PATH_BYTES_MAX 3840

DEFINE_CLEANUP(struct tier_cgroups *, tier_cgroups_free)

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

bool cgroup_is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV || r == -ENOTDIR;
}

void cgroup_forget(struct cgroup_mount *c)
{
	for (size_t i = 0; i < c->n_known; i++)
		free(c->known[i].path);
	free(c->known);
	c->known = NULL;
	c->n_known = 0;
}

struct walk {
	size_t max;
	struct tier_cgroups *found;
	size_t capacity;
};

static int open_dir(const struct cgroup_mount *c, const char *path)
{
	return file_open_at(c->fd, *path ? path : ".", O_RDONLY | O_DIRECTORY, false);
}

/* Appends a cgroup, unless there are too many or its path is too long. */
static int walk_add(struct walk *w, uint64_t id, uint64_t parent_id, const char *parent,
		    const char *name)
{
	cleanup(freep) char *path = NULL;
	struct tier_cgroups *f = w->found;
	int r;

	if (f->n_cgroups == w->max || strlen(parent) + 1 + strlen(name) > PATH_BYTES_MAX) {
		f->truncated = true;
		return 0;
	}
	if (asprintf(&path, "%s%s%s", parent, *parent ? "/" : "", name) < 0)
		return -ENOMEM;
	r = array_reserve((void **)&f->cgroups, &w->capacity, f->n_cgroups, sizeof(*f->cgroups),
			  w->max);
	if (r < 0)
		return r;
	f->cgroups[f->n_cgroups++] = (struct tier_cgroup){
		.id = id,
		.parent_id = parent_id,
		.path = STEAL(path),
	};
	return 0;
}

/* Appends the children of the @at-th cgroup found, whose directory is @dir. */
static int walk_children(struct walk *w, size_t at, DIR *dir)
{
	uint64_t parent_id = w->found->cgroups[at].id;
	const char *parent = w->found->cgroups[at].path;
	struct dirent *entry;
	struct stat st;
	int r;

	while ((entry = readdir(dir))) {
		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
			continue;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue; /* gone since readdir() */
		if (!S_ISDIR(st.st_mode))
			continue;
		r = walk_add(w, st.st_ino, parent_id, parent, entry->d_name);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Looks below the @at-th cgroup found, if it is still there. */
static int walk_below(struct cgroup_mount *c, struct walk *w, size_t at)
{
	cleanup(closedirp) DIR *dir = NULL;
	cleanup(closep) int fd = open_dir(c, w->found->cgroups[at].path);
	struct stat st;

	if (cgroup_is_gone(fd) || fd == -EACCES)
		return 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || st.st_ino != w->found->cgroups[at].id)
		return 0; /* another cgroup by now: the next walk finds it */
	/* kernfs counts subdirectories in the link count: a leaf need not be read. */
	if (!c->recorded && st.st_nlink == 2)
		return 0;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	steal_fd(&fd);
	return walk_children(w, at, dir);
}

static int compare_known(const void *a, const void *b)
{
	const struct known_cgroup *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Remembers where everything is. On failure the old table stays. */
static int remember(struct cgroup_mount *c, const struct tier_cgroups *found)
{
	struct cgroup_mount fresh = {.known = calloc(found->n_cgroups, sizeof(*fresh.known))};

	if (!fresh.known)
		return -ENOMEM;
	for (size_t i = 0; i < found->n_cgroups; i++) {
		char *path = strdup(found->cgroups[i].path);

		if (!path) {
			cgroup_forget(&fresh);
			return -ENOMEM;
		}
		fresh.known[fresh.n_known++] = (struct known_cgroup){
			.id = found->cgroups[i].id,
			.path = path,
		};
	}
	qsort(fresh.known, fresh.n_known, sizeof(*fresh.known), compare_known);
	cgroup_forget(c);
	c->known = fresh.known;
	c->n_known = fresh.n_known;
	return 0;
}

int cgroup_walk(struct cgroup_mount *c, struct tier_cgroups **ret)
{
	cleanup(tier_cgroups_freep) struct tier_cgroups *found = calloc(1, sizeof(*found));
	struct walk w = {.max = c->max_cgroups, .found = found};
	struct stat st;
	int r;

	if (!found)
		return -ENOMEM;
	if (fstat(c->fd, &st) < 0)
		return -errno;
	r = walk_add(&w, st.st_ino, 0, "", "");
	/* Level by level, so that the cap leaves out the deepest. */
	for (size_t at = 0; r >= 0 && at < found->n_cgroups; at++)
		r = walk_below(c, &w, at);
	if (r < 0)
		return r;
	r = remember(c, found);
	if (r < 0)
		return r;
	*ret = STEAL(found);
	return 0;
}

const char *cgroup_known_path(const struct cgroup_mount *c, uint64_t id)
{
	struct known_cgroup key = {.id = id};
	const struct known_cgroup *k;

	if (!c->n_known)
		return NULL;
	k = bsearch(&key, c->known, c->n_known, sizeof(*c->known), compare_known);
	return k ? k->path : NULL;
}

int cgroup_open_id(const struct cgroup_mount *c, uint64_t id)
{
	const char *path = cgroup_known_path(c, id);
	cleanup(closep) int fd = -1;
	struct stat st;

	if (!path)
		return -ENOENT;
	fd = open_dir(c, path);
	if (cgroup_is_gone(fd))
		return -ENOENT;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_ino == id ? steal_fd(&fd) : -ENOENT;
}

int cgroup_path(struct cgroup_mount *c, uint64_t cgroup_id, char **ret)
{
	cleanup(closep) int fd = cgroup_open_id(c, cgroup_id);
	char *path;

	if (fd < 0)
		return fd;
	path = strdup(cgroup_known_path(c, cgroup_id));
	if (!path)
		return -ENOMEM;
	*ret = path;
	return 0;
}
