/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONFIG_FILES_H
#define CONFIG_FILES_H

/*
 * Where configuration files lie, which of them count, and whether they can be trusted. Knows
 * nothing of what is in them.
 */

#include <stdbool.h>
#include <stddef.h>

#include "config/errors.h"

/* Far beyond any sane file, far below what would hurt. */
#define CONFIG_FILE_BYTES_MAX (1u << 20)

/* Directories that are searched, strongest first: etc, run, usr/local/lib, usr/lib. */
#define CONFIG_DIRS 4

/**
 * struct config_options - where to look and whom to trust
 * @root: directory that stands for "/"; NULL for "/"
 * @trust_caller: files may also be owned by the effective user, not by root alone
 */
struct config_options {
	const char *root;
	bool trust_caller;
};

/* One file that counts: not hidden behind a file of the same name in a stronger directory. */
struct config_entry {
	char *name;
	unsigned int dir; /* index into dirs */
	bool is_masked;   /* a link to /dev/null: hides others, has nothing to say itself */
};

struct config_listing {
	int dir_fds[CONFIG_DIRS];      /* -1 where there is none */
	char *dir_paths[CONFIG_DIRS];
	size_t n_entries;
	struct config_entry *entries;  /* ascending by name */
};

/*
 * Lists the files NAME.conf of tierd/@subdir in all directories, or only the file @only of tierd/
 * itself when @subdir is NULL. What is wrong goes to @errors. 0 (also when there is nothing) or
 * -ENOMEM, -errno when the root cannot be opened.
 */
int config_listing_read(const struct config_options *options, const char *subdir, const char *only,
			struct config_errors *errors, struct config_listing **ret);
struct config_listing *config_listing_free(struct config_listing *listing);

/*
 * Reads one file of a listing, if it is a regular file that can be trusted, at most
 * CONFIG_FILE_BYTES_MAX long. -EBADMSG when something was wrong; it is in @errors then. *ret_path,
 * for people, is made in any case where there is memory for it; *ret_text only with 0.
 */
int config_listing_read_file(const struct config_listing *listing, const struct config_entry *entry,
			     const struct config_options *options, struct config_errors *errors,
			     char **ret_path, char **ret_text, size_t *ret_n);
/* The same for any path of the caller's choice, links followed. */
int config_file_read(const char *path, const struct config_options *options,
		     struct config_errors *errors, char **ret_text, size_t *ret_n);

#endif
