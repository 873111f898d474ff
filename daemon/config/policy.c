// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Policy sets as objects: made once, filled file by file, const afterwards, freed as a whole.
 * Must not read files.
 */
#include "config/policy.h"

#include "config/keys.h"
#include "config/value.h"
#include "util.h"

DEFINE_CLEANUP(struct policy_set *, policy_set_free)

int policy_set_new(struct policy_set **ret)
{
	cleanup(policy_set_freep) struct policy_set *set = calloc(1, sizeof(*set));
	int r;

	if (!set)
		return -ENOMEM;
	r = settings_init(&set->settings);
	if (r < 0)
		return r;
	*ret = STEAL(set);
	return 0;
}

struct policy_set *policy_set_free(struct policy_set *set)
{
	if (!set)
		return NULL;
	for (size_t i = 0; i < set->n_policies; i++)
		policy_done(&set->policies[i]);
	for (size_t i = 0; i < set->n_files; i++)
		free(set->files[i]);
	free(set->policies);
	free(set->files);
	free(set->settings.tier_order);
	free(set);
	return NULL;
}

void policy_done(struct policy *policy)
{
	for (size_t i = 0; i < policy->n_globs; i++)
		free(policy->globs[i]);
	free(policy->globs);
	free(policy->glob_lines);
	free(policy->file);
	*policy = (struct policy){0};
}

int policy_add_glob(struct policy *policy, const char *glob, unsigned int line)
{
	cleanup(freep) char *copy = NULL;
	size_t n = policy->n_globs;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(policy->globs[i], glob))
			return -EEXIST;
	if (n == POLICY_GLOBS_MAX)
		return -E2BIG;
	/* Both arrays at once, at their full size: they are small, and grow together or not. */
	if (!policy->globs)
		policy->globs = calloc(POLICY_GLOBS_MAX, sizeof(*policy->globs));
	if (!policy->glob_lines)
		policy->glob_lines = calloc(POLICY_GLOBS_MAX, sizeof(*policy->glob_lines));
	copy = strdup(glob);
	if (!policy->globs || !policy->glob_lines || !copy)
		return -ENOMEM;
	policy->globs[n] = STEAL(copy);
	policy->glob_lines[n] = line;
	policy->n_globs++;
	return 0;
}

/* Makes room in an array that has no capacity of its own to remember: one element at a time. */
static int grow(void **array, size_t n, size_t size, size_t max)
{
	void *p;

	if (n >= max)
		return -E2BIG;
	p = reallocarray(*array, n + 1, size);
	if (!p)
		return -ENOMEM;
	*array = p;
	return 0;
}

int policy_set_add(struct policy_set *set, struct policy *policy)
{
	int r;

	r = grow((void **)&set->policies, set->n_policies, sizeof(*set->policies),
		 CONFIG_FILES_MAX);
	if (r < 0)
		return r;
	set->policies[set->n_policies++] = *policy;
	*policy = (struct policy){0};
	return 0;
}

int policy_set_add_file(struct policy_set *set, const char *path, const char **ret)
{
	cleanup(freep) char *copy = strdup(path);
	int r;

	if (!copy)
		return -ENOMEM;
	/* One more than the drop-ins: tierd.conf itself. */
	r = grow((void **)&set->files, set->n_files, sizeof(*set->files), CONFIG_FILES_MAX + 1);
	if (r < 0)
		return r;
	*ret = copy;
	set->files[set->n_files++] = STEAL(copy);
	return 0;
}

static void check_intervals(struct settings *s, struct config_errors *errors)
{
	const struct origin *idle = &s->origins[SETTINGS_KEY_INTERVAL_IDLE];
	char text[VALUE_TEXT_MAX];

	if (s->interval_idle_us >= s->interval_us)
		return;
	if (!idle->file) {
		s->interval_idle_us = s->interval_us;
		return;
	}
	value_format_time(s->interval_us, text, sizeof(text));
	config_errors_add(errors, idle->file, idle->line, "IntervalIdle",
			  "shorter than Interval (expected at least %s)", text);
}

/* One glob of one policy, to find those that are there twice. */
struct glob_ref {
	const char *glob;
	const struct policy *policy;
	unsigned int line;
};

static int compare_refs(const void *a, const void *b)
{
	const struct glob_ref *x = a, *y = b;
	int c = strcmp(x->glob, y->glob);

	if (c)
		return c;
	/* The same glob is never twice in one policy; policies lie in order of file name. */
	return x->policy < y->policy ? -1 : x->policy > y->policy;
}

static size_t collect_refs(const struct policy_set *set, struct glob_ref *refs)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n_policies; i++)
		for (size_t j = 0; j < set->policies[i].n_globs; j++)
			refs[n++] = (struct glob_ref){set->policies[i].globs[j], &set->policies[i],
						      set->policies[i].glob_lines[j]};
	return n;
}

static int check_globs(const struct policy_set *set, struct config_errors *errors)
{
	cleanup(freep) struct glob_ref *refs = NULL;
	char quote[CONFIG_QUOTE_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < set->n_policies; i++)
		n += set->policies[i].n_globs;
	if (n < 2)
		return 0;
	refs = calloc(n, sizeof(*refs));
	if (!refs)
		return -ENOMEM;
	n = collect_refs(set, refs);
	qsort(refs, n, sizeof(*refs), compare_refs);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(refs[i - 1].glob, refs[i].glob))
			config_errors_add(
				errors, refs[i].policy->file, refs[i].line, "Cgroup",
				"\"%s\" is also matched at %s:%u (expected one policy for "
				"a cgroup)",
				config_quote(refs[i].glob, quote), refs[i - 1].policy->file,
				refs[i - 1].line);
	return 0;
}

int policy_set_finish(struct policy_set *set, struct config_errors *errors)
{
	check_intervals(&set->settings, errors);
	return check_globs(set, errors);
}
