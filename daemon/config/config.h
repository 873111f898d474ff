/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

/*
 * The configuration as the rest of tierd and tierctl see it: files in, one const policy set out, or
 * a list of everything that is wrong with them and no set at all.
 */

#include <stdio.h>

#include "config/errors.h"
#include "config/files.h"
#include "config/keys.h"
#include "config/match.h"
#include "config/policy.h"

/*
 * Reads tierd.conf, tierd.conf.d and policy.d. 0: *ret is a whole new set, which the caller frees
 * with policy_set_free(). -EBADMSG: something is wrong, @errors says what. Any other -errno:
 * nothing could be checked. *ret is touched only with 0. No file at all is a valid configuration.
 */
int config_load(const struct config_options *options, struct policy_set **ret,
		struct config_errors *errors);
/*
 * Checks the named files together, as if they were all there is. A file is a tierd.conf when it is
 * called so, lies in a tierd.conf.d or has sections of one; else it is a policy. 0 or as above.
 */
int config_check_files(char *const *files, size_t n_files, const struct config_options *options,
		       struct config_errors *errors);
/*
 * One file's text into @set; @path is for messages and origins. Errors are added to @errors and may
 * leave @set with a part of the file, so that it is good for nothing but further checks.
 * 0 or -ENOMEM.
 */
int config_parse(enum config_kind kind, const char *path, const char *text, size_t n,
		 struct policy_set *set, struct config_errors *errors);

/* All values in force, in the form of the files they came from, with file and line of each. */
void config_dump(const struct policy_set *set, FILE *to);
/* tierd.conf with every key commented at its default: what is installed. */
void config_write_sample(FILE *to);

#endif
