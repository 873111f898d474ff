/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONFIG_ERRORS_H
#define CONFIG_ERRORS_H

/*
 * What is wrong with a configuration: a capped list, so that one run names every mistake and a
 * mangled file cannot fill the memory or the journal.
 */

#include <stddef.h>
#include <stdio.h>

/* As many as fit on a screen; more are counted. */
#define CONFIG_ERRORS_MAX 32
/* Text taken from a file is quoted up to this many bytes, so that a message stays on a line. */
#define CONFIG_QUOTE_BYTES_MAX 64
/* Room for a quoted text: every byte may become "\xNN", and "..." and NUL follow. */
#define CONFIG_QUOTE_SIZE (CONFIG_QUOTE_BYTES_MAX * 4 + 4)

struct config_error {
	char *file;        /* full path; never NULL */
	unsigned int line; /* 0: the file as a whole */
	char *key;         /* NULL when it is not about one key */
	char *message;     /* one line; printable ASCII, whatever the file holds */
};

/* Begins as all zeroes; ends with config_errors_done(). */
struct config_errors {
	size_t n_errors;
	struct config_error errors[CONFIG_ERRORS_MAX];
	size_t n_more; /* found, but beyond the cap (or beyond memory) */
};

/* Never fails: what cannot be stored is counted in n_more. */
__attribute__((__format__(__printf__, 5, 6))) void
config_errors_add(struct config_errors *errors, const char *file, unsigned int line,
		  const char *key, const char *format, ...);
void config_errors_done(struct config_errors *errors);
/* "FILE:LINE: KEY: message"; NULL without memory. */
char *config_error_format(const struct config_error *error);
/* One line each, and how many more there are. */
void config_errors_print(const struct config_errors *errors, FILE *to);

/*
 * @text for a message: printable ASCII stays, other bytes become "\xNN", a long text ends in "...".
 * Returns @ret, which holds CONFIG_QUOTE_SIZE bytes.
 */
const char *config_quote(const char *text, char *ret);

#endif
