/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONFIG_POLICY_H
#define CONFIG_POLICY_H

/*
 * Making and releasing policy sets, and what can only be checked when a set is complete.
 */

#include "config/errors.h"
#include "model/policy.h"

/*
 * Cgroup= lines in one policy. Every cgroup of the machine is compared with every glob each tick,
 * so that the product of this, CONFIG_FILES_MAX and the number of cgroups bounds that work; no sane
 * policy needs more than a handful.
 */
#define POLICY_GLOBS_MAX 64
/* Policy files, and drop-ins of tierd.conf; more than that is an accident, not a configuration. */
#define CONFIG_FILES_MAX 256

/* With the built-in settings and no policy. 0 or -ENOMEM. */
int policy_set_new(struct policy_set **ret);
struct policy_set *policy_set_free(struct policy_set *set);

void policy_done(struct policy *policy);
/* Copies @glob. -EEXIST when the policy has it, -E2BIG beyond POLICY_GLOBS_MAX, -ENOMEM. */
int policy_add_glob(struct policy *policy, const char *glob, unsigned int line);

/* Takes the policy over and clears *policy. 0; on -E2BIG or -ENOMEM *policy is as before. */
int policy_set_add(struct policy_set *set, struct policy *policy);
/* Remembers the path of a settings file; *ret lives as long as the set. -E2BIG, -ENOMEM. */
int policy_set_add_file(struct policy_set *set, const char *path, const char **ret);

/*
 * Checks and completes what spans files: IntervalIdle against Interval, globs that two policies
 * have. 0 (with or without new @errors) or -ENOMEM.
 */
int policy_set_finish(struct policy_set *set, struct config_errors *errors);

#endif
