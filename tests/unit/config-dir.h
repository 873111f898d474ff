/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TEST_CONFIG_DIR_H
#define TEST_CONFIG_DIR_H

/*
 * A directory of its own for each test, to be the root of a configuration. Include after cmocka.h.
 */

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"

struct config_dir {
	char root[64];
	struct config_options options;
	struct config_errors errors;
};

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* A cmocka setup: *state becomes a struct config_dir whose files may belong to the caller. */
static inline int config_dir_setup(void **state)
{
	struct config_dir *d = calloc(1, sizeof(*d));

	if (!d)
		return -1;
	strcpy(d->root, "/tmp/tierd-test-config-XXXXXX");
	if (!mkdtemp(d->root))
		return -1;
	/* Checked-out or created files must not depend on who runs the test. */
	umask(022);
	d->options = (struct config_options){ .root = d->root, .trust_caller = true };
	*state = d;
	return 0;
}

static inline int config_dir_teardown(void **state)
{
	struct config_dir *d = *state;

	config_errors_done(&d->errors);
	nftw(d->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(d);
	return 0;
}

/* Full path of @path below the root, its directories made. Valid until the next call. */
static inline const char *config_dir_path(struct config_dir *d, const char *path)
{
	static char full[4096];

	snprintf(full, sizeof(full), "%s/%s", d->root, path);
	for (char *p = full + strlen(d->root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	return full;
}

static inline void config_dir_write_bytes(struct config_dir *d, const char *path, const char *text,
					  size_t n)
{
	int fd = open(config_dir_path(d, path), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

static inline void config_dir_write(struct config_dir *d, const char *path, const char *text)
{
	config_dir_write_bytes(d, path, text, strlen(text));
}

/* Loads, with the errors of the last time forgotten. */
static inline int config_dir_load(struct config_dir *d, struct policy_set **ret)
{
	config_errors_done(&d->errors);
	return config_load(&d->options, ret, &d->errors);
}

/* Exactly one error, at this file (below the root) and line, whose text has @part in it. */
static inline void assert_one_error(struct config_dir *d, const char *file, unsigned int line,
				    const char *part)
{
	const struct config_error *e = &d->errors.errors[0];
	char full[4096];

	if (d->errors.n_errors != 1 || d->errors.n_more)
		config_errors_print(&d->errors, stdout);
	assert_int_equal(d->errors.n_errors, 1);
	assert_int_equal(d->errors.n_more, 0);
	snprintf(full, sizeof(full), "%s/%s", d->root, file);
	assert_string_equal(e->file, full);
	assert_int_equal(e->line, line);
	if (!strstr(e->message, part))
		fail_msg("\"%s\" lacks \"%s\"", e->message, part);
}

/* A file of the source tree, whole. */
static inline char *read_source(const char *path, size_t *ret_n)
{
	const char *src = getenv("TIERD_SRC");
	char full[4096], *text;
	FILE *f;
	long n;

	snprintf(full, sizeof(full), "%s/%s", src ? src : ".", path);
	f = fopen(full, "re");
	if (!f)
		fail_msg("%s: cannot be opened; run from the source root or set TIERD_SRC", full);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)n, f), n);
	fclose(f);
	*ret_n = (size_t)n;
	return text;
}

#endif
