/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONFIG_MATCH_H
#define CONFIG_MATCH_H

/*
 * Which policy is meant for a cgroup. Pure: no file, no clock, no memory of its own.
 *
 * A glob matches a whole path. '*', '?' and '[...]' stay within one component; a backslash is an
 * ordinary character, because the names of systemd's units contain it ("dev-disk-by\x2dlabel"); a
 * last component "**" stands for one or more components, so that below "a.slice" it means every
 * cgroup at any depth, but not a.slice itself.
 *
 * Of several matching globs the most specific wins:
 *   1. one without wildcards;
 *   2. the longer text before the first wildcard;
 *   3. more characters outside wildcards;
 *   4. one that does not end in a component "**";
 *   5. the one whose file name sorts last.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/policy.h"

/* Longest glob: the kernel's PATH_MAX. */
#define GLOB_BYTES_MAX 4096

/* How specific a glob is, most telling member first. */
struct glob_rank {
	bool is_exact;
	size_t prefix_bytes;
	size_t literal_bytes;
	bool is_one_level; /* no "**" */
};

/*
 * Is this a glob for [Match] Cgroup=? 0, or -EINVAL with a few words in *ret_why. The functions
 * below take only globs that pass.
 */
int glob_check(const char *s, size_t n, const char **ret_why);
bool glob_match(const char *glob, const char *path);
struct glob_rank glob_rank(const char *glob);
/* As strcmp(): below 0 when @a is less specific than @b. */
int glob_rank_compare(const struct glob_rank *a, const struct glob_rank *b);

/* The policy for exactly this cgroup path ("" for the root, which no policy matches), or NULL. */
const struct policy *policy_set_match(const struct policy_set *set, const char *path);
/* The same, and which of its globs it was; *ret_glob is untouched without a match. */
const struct policy *policy_set_match_glob(const struct policy_set *set, const char *path,
					   size_t *ret_glob);

#endif
