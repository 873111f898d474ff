// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Configuration files are orders to a privileged daemon: they count only when nobody but root could
 * have written them. Everything is opened once, without following links, and checked on the open
 * file, so that what was checked is what is read. Must not look into the files.
 */
#include "config/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "config/policy.h"
#include "util.h"

#define RESOLVE_STRICT (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* Relative to the root; index as in struct config_listing. */
static const char *const base_dirs[CONFIG_DIRS] = {"etc/tierd", "run/tierd", "usr/local/lib/tierd",
						   "usr/lib/tierd"};

static void dir_closep(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

DEFINE_CLEANUP(struct config_listing *, config_listing_free)

struct config_listing *config_listing_free(struct config_listing *listing)
{
	if (!listing)
		return NULL;
	for (size_t i = 0; i < CONFIG_DIRS; i++) {
		closep(&listing->dir_fds[i]);
		free(listing->dir_paths[i]);
	}
	for (size_t i = 0; i < listing->n_entries; i++)
		free(listing->entries[i].name);
	free(listing->entries);
	free(listing);
	return NULL;
}

static int open_at(int dir_fd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (uint64_t)flags | O_CLOEXEC, .resolve = resolve};
	long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Nobody but root, or the caller where allowed, may be able to change it. */
static int check_trust(const struct stat *st, const char *path, const struct config_options *o,
		       struct config_errors *errors)
{
	if (st->st_uid != 0 && !(o->trust_caller && st->st_uid == geteuid())) {
		config_errors_add(errors, path, 0, NULL, "owned by user %u (expected %s)",
				  (unsigned int)st->st_uid,
				  o->trust_caller ? "root or yourself" : "root");
		return -EBADMSG;
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		config_errors_add(errors, path, 0, NULL,
				  "writable by others, mode %04o (expected no write permission for "
				  "group and others)",
				  (unsigned int)st->st_mode & 07777);
		return -EBADMSG;
	}
	return 0;
}

static int report_open(int error, const char *path, struct config_errors *errors)
{
	if (error == -ENOMEM)
		return error;
	if (error == -ELOOP)
		config_errors_add(errors, path, 0, NULL,
				  "a symbolic link (expected the file itself, or a link to "
				  "/dev/null to disable it)");
	else
		config_errors_add(errors, path, 0, NULL, "cannot be opened: %s", strerror(-error));
	return -EBADMSG;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Up to one byte more than the limit, to tell a file that is too long from one that just fits. */
static int read_all(int fd, char **ret, size_t *ret_n)
{
	cleanup(freep) char *text = NULL;
	size_t n = 0, capacity = 0;

	for (;;) {
		ssize_t got;
		int r;

		r = array_reserve((void **)&text, &capacity, n, 1, CONFIG_FILE_BYTES_MAX + 1);
		if (r < 0)
			return r == -E2BIG ? -EFBIG : r;
		got = read(fd, text + n, capacity - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret = STEAL(text);
	*ret_n = n;
	return 0;
}

static int read_checked(int fd, const char *path, const struct config_options *options,
			struct config_errors *errors, char **ret_text, size_t *ret_n)
{
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return report_open(-errno, path, errors);
	if (!S_ISREG(st.st_mode)) {
		config_errors_add(errors, path, 0, NULL, "%s (expected a regular file)",
				  S_ISDIR(st.st_mode) ? "a directory" : "not a file");
		return -EBADMSG;
	}
	r = check_trust(&st, path, options, errors);
	if (r < 0)
		return r;
	r = read_all(fd, ret_text, ret_n);
	if (r == -EFBIG)
		config_errors_add(errors, path, 0, NULL, "too large (expected at most 1 MiB)");
	else if (r < 0 && r != -ENOMEM)
		config_errors_add(errors, path, 0, NULL, "cannot be read: %s", strerror(-r));
	return r < 0 && r != -ENOMEM ? -EBADMSG : r;
}

/* Without O_NONBLOCK a FIFO in the place of a file would hang the daemon. */
#define OPEN_FILE (O_RDONLY | O_NONBLOCK | O_NOCTTY)

int config_file_read(const char *path, const struct config_options *options,
		     struct config_errors *errors, char **ret_text, size_t *ret_n)
{
	cleanup(closep) int fd = open_at(AT_FDCWD, path, OPEN_FILE, 0);

	if (fd < 0)
		return report_open(fd, path, errors);
	return read_checked(fd, path, options, errors, ret_text, ret_n);
}

int config_listing_read_file(const struct config_listing *listing, const struct config_entry *entry,
			     const struct config_options *options, struct config_errors *errors,
			     char **ret_path, char **ret_text, size_t *ret_n)
{
	cleanup(closep) int fd = -1;
	char *path;

	if (asprintf(&path, "%s/%s", listing->dir_paths[entry->dir], entry->name) < 0)
		return -ENOMEM;
	*ret_path = path;
	fd = open_at(listing->dir_fds[entry->dir], entry->name, OPEN_FILE, RESOLVE_STRICT);
	if (fd < 0)
		return report_open(fd, path, errors);
	return read_checked(fd, path, options, errors, ret_text, ret_n);
}

/* ---- listing --------------------------------------------------------------------------------- */

static bool is_mask(int dir_fd, const char *name)
{
	char target[sizeof("/dev/null")];
	ssize_t n = readlinkat(dir_fd, name, target, sizeof(target));

	return n == (ssize_t)sizeof(target) - 1 && !memcmp(target, "/dev/null", (size_t)n);
}

static bool has_entry(const struct config_listing *l, const char *name)
{
	for (size_t i = 0; i < l->n_entries; i++)
		if (!strcmp(l->entries[i].name, name))
			return true;
	return false;
}

/* 0, -E2BIG or -ENOMEM. */
static int add_entry(struct config_listing *l, size_t *capacity, unsigned int dir, const char *name)
{
	char *copy;
	int r;

	if (has_entry(l, name))
		return 0;
	r = array_reserve((void **)&l->entries, capacity, l->n_entries, sizeof(*l->entries),
			  CONFIG_FILES_MAX);
	if (r < 0)
		return r;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	l->entries[l->n_entries++] =
		(struct config_entry){copy, dir, is_mask(l->dir_fds[dir], name)};
	return 0;
}

static bool is_config_name(const char *name)
{
	size_t n = strlen(name);

	return name[0] != '.' && n > 5 && !strcmp(name + n - 5, ".conf");
}

static bool is_printable(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			return false;
	return true;
}

static int list_dir(struct config_listing *l, size_t *capacity, unsigned int index,
		    struct config_errors *errors)
{
	cleanup(dir_closep) DIR *dir = NULL;
	const char *path = l->dir_paths[index];
	struct dirent *entry;
	int fd, r = 0;

	fd = open_at(l->dir_fds[index], ".", O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return report_open(fd, path, errors);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!r && (errno = 0, entry = readdir(dir))) {
		if (!is_config_name(entry->d_name))
			continue;
		if (is_printable(entry->d_name))
			r = add_entry(l, capacity, index, entry->d_name);
		else
			config_errors_add(errors, path, 0, NULL,
					  "a file name with control characters");
	}
	if (r == -E2BIG)
		config_errors_add(errors, path, 0, NULL, "more than %d files", CONFIG_FILES_MAX);
	else if (!r && errno)
		config_errors_add(errors, path, 0, NULL, "cannot be read: %s", strerror(errno));
	return r == -ENOMEM ? r : 0;
}

/*
 * Opens one directory below another and checks that only trusted users can put files into it. A
 * directory that is not there leaves *ret_fd at -1.
 */
static int open_dir(int at_fd, const char *below, const char *path,
		    const struct config_options *options, struct config_errors *errors, int *ret_fd)
{
	cleanup(closep) int fd = open_at(at_fd, below, O_RDONLY | O_DIRECTORY, RESOLVE_STRICT);
	struct stat st;

	if (fd == -ENOENT)
		return 0;
	if (fd == -ELOOP) {
		config_errors_add(errors, path, 0, NULL, "a symbolic link (expected a directory)");
		return -EBADMSG;
	}
	if (fd < 0)
		return report_open(fd, path, errors);
	if (fstat(fd, &st) < 0)
		return report_open(-errno, path, errors);
	if (check_trust(&st, path, options, errors) < 0)
		return -EBADMSG;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int open_base(struct config_listing *l, unsigned int index, int root_fd, const char *subdir,
		     const struct config_options *options, struct config_errors *errors)
{
	const char *root = options->root ? options->root : "";
	cleanup(closep) int base_fd = -1;
	cleanup(freep) char *base = NULL;
	int r;

	if (asprintf(&base, "%s/%s", root, base_dirs[index]) < 0)
		return -ENOMEM;
	if (asprintf(&l->dir_paths[index], "%s%s%s", base, subdir ? "/" : "",
		     subdir ? subdir : "") < 0) {
		l->dir_paths[index] = NULL;
		return -ENOMEM;
	}
	r = open_dir(root_fd, base_dirs[index], base, options, errors, &base_fd);
	if (r < 0 || base_fd < 0)
		return r;
	if (!subdir) {
		l->dir_fds[index] = steal_fd(&base_fd);
		return 0;
	}
	return open_dir(base_fd, subdir, l->dir_paths[index], options, errors, &l->dir_fds[index]);
}

static int compare_entries(const void *a, const void *b)
{
	const struct config_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int config_listing_read(const struct config_options *options, const char *subdir, const char *only,
			struct config_errors *errors, struct config_listing **ret)
{
	cleanup(config_listing_freep) struct config_listing *l = calloc(1, sizeof(*l));
	cleanup(closep) int root_fd = -1;
	size_t capacity = 0;

	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < CONFIG_DIRS; i++)
		l->dir_fds[i] = -1;
	root_fd = open_at(AT_FDCWD, options->root ? options->root : "/", O_PATH | O_DIRECTORY, 0);
	if (root_fd < 0)
		return root_fd;
	for (unsigned int i = 0; i < CONFIG_DIRS; i++) {
		struct stat st;
		int r;

		r = open_base(l, i, root_fd, subdir, options, errors);
		if (r < 0 && r != -EBADMSG)
			return r;
		if (l->dir_fds[i] < 0)
			continue;
		if (!only)
			r = list_dir(l, &capacity, i, errors);
		else if (!fstatat(l->dir_fds[i], only, &st, AT_SYMLINK_NOFOLLOW))
			r = add_entry(l, &capacity, i, only);
		if (r < 0 && r != -EBADMSG)
			return r;
	}
	if (l->n_entries > 0)
		qsort(l->entries, l->n_entries, sizeof(*l->entries), compare_entries);
	*ret = STEAL(l);
	return 0;
}
