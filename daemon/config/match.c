// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Globs over cgroup paths, and which of several is the most specific. Paths are hostile bytes: they
 * are compared, never copied, and however long they are.
 */
#include "config/match.h"

#include <fnmatch.h>

#include "util.h"

static const char below[] = "/**";

static bool is_text(const char *s, size_t n, const char *literal)
{
	return n == strlen(literal) && memcmp(s, literal, n) == 0;
}

/* One component between slashes: "." and "..", brackets that stay open, wild stars. */
static const char *component_fault(const char *s, size_t n, bool is_first, bool is_last)
{
	bool in_bracket = false;

	if (n == 0)
		return "an empty component: '/' at the start, at the end, or twice in a row";
	if (is_text(s, n, ".") || is_text(s, n, ".."))
		return "a component '.' or '..'";
	if (is_text(s, n, "**"))
		return is_last && !is_first ? NULL : "'**' is only for the end, as in 'a.slice/**'";
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '*' && !in_bracket && i + 1 < n && s[i + 1] == '*')
			return "'**' inside a component";
		if (s[i] == '[' && !in_bracket) {
			in_bracket = true;
			/* A ']' that comes first is a member, also behind the negation. */
			i += i + 1 < n && (s[i + 1] == '!' || s[i + 1] == '^');
			i += i + 1 < n && s[i + 1] == ']';
		} else if (s[i] == ']') {
			in_bracket = false;
		}
	}
	return in_bracket ? "a '[' without its ']'" : NULL;
}

static const char *glob_fault(const char *s, size_t n)
{
	if (n == 0)
		return "empty; a policy cannot match the root cgroup";
	if (n > GLOB_BYTES_MAX)
		return "longer than 4096 bytes";
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return "a control character";
	for (size_t begin = 0, i = 0; i <= n; i++) {
		const char *fault;

		if (i < n && s[i] != '/')
			continue;
		fault = component_fault(s + begin, i - begin, begin == 0, i == n);
		if (fault)
			return fault;
		begin = i + 1;
	}
	return NULL;
}

int glob_check(const char *s, size_t n, const char **ret_why)
{
	const char *fault = glob_fault(s, n);

	if (!fault)
		return 0;
	*ret_why = fault;
	return -EINVAL;
}

/* Length of the glob without a last component "**", or 0 when it has none. */
static size_t below_prefix(const char *glob)
{
	size_t n = strlen(glob), tail = sizeof(below) - 1;

	return n > tail && !strcmp(glob + n - tail, below) ? n - tail : 0;
}

static size_t count_slashes(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == '/';
	return n;
}

bool glob_match(const char *glob, const char *path)
{
	const int flags = FNM_PATHNAME | FNM_NOESCAPE;
	size_t n = below_prefix(glob);
	char prefix[GLOB_BYTES_MAX + 1];

	/* The root cgroup: "*" would match its empty path. */
	if (!*path)
		return false;
	if (n == 0)
		return fnmatch(glob, path, flags) == 0;
	if (n >= sizeof(prefix))
		return false;
	memcpy(prefix, glob, n);
	prefix[n] = '\0';
	/* FNM_LEADING_DIR would take the prefix alone as well; below it there is one more slash. */
	return count_slashes(path) > count_slashes(prefix) &&
	       fnmatch(prefix, path, flags | FNM_LEADING_DIR) == 0;
}

/* Behind the bracket expression that begins at @s; the check of globs has seen that it ends. */
static const char *skip_bracket(const char *s)
{
	const char *p = s + 1;

	p += *p == '!' || *p == '^';
	p += *p == ']';
	p = strchr(p, ']');
	return p ? p + 1 : s + strlen(s);
}

struct glob_rank glob_rank(const char *glob)
{
	struct glob_rank rank = {.is_exact = true, .is_one_level = below_prefix(glob) == 0};

	while (*glob) {
		if (*glob == '*' || *glob == '?' || *glob == '[') {
			rank.is_exact = false;
			glob = *glob == '[' ? skip_bracket(glob) : glob + 1;
			continue;
		}
		rank.prefix_bytes += rank.is_exact;
		rank.literal_bytes++;
		glob++;
	}
	return rank;
}

static int compare(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

int glob_rank_compare(const struct glob_rank *a, const struct glob_rank *b)
{
	int c = compare(a->is_exact, b->is_exact);

	if (!c)
		c = compare(a->prefix_bytes, b->prefix_bytes);
	if (!c)
		c = compare(a->literal_bytes, b->literal_bytes);
	if (!c)
		c = compare(a->is_one_level, b->is_one_level);
	return c;
}

const struct policy *policy_set_match_glob(const struct policy_set *set, const char *path,
					   size_t *ret_glob)
{
	const struct policy *best = NULL;
	struct glob_rank best_rank = {0};

	for (size_t i = 0; i < set->n_policies; i++) {
		const struct policy *policy = &set->policies[i];

		for (size_t j = 0; j < policy->n_globs; j++) {
			struct glob_rank rank;

			if (!glob_match(policy->globs[j], path))
				continue;
			rank = glob_rank(policy->globs[j]);
			/* Policies lie in order of file name: of equals the last one wins. */
			if (best && glob_rank_compare(&rank, &best_rank) < 0)
				continue;
			best = policy;
			best_rank = rank;
			*ret_glob = j;
		}
	}
	return best;
}

const struct policy *policy_set_match(const struct policy_set *set, const char *path)
{
	size_t glob;

	return policy_set_match_glob(set, path, &glob);
}
