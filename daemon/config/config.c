// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From files to a policy set. Everything is collected in a scratch set; the caller gets it only
 * when every file was right, so that a mistake can never leave half of a configuration in force.
 */
#include "config/config.h"

#include "config/ini.h"
#include "util.h"

DEFINE_CLEANUP(struct policy_set *, policy_set_free)
DEFINE_CLEANUP(struct config_listing *, config_listing_free)

/* One file while it is read. */
struct parse {
	enum config_kind kind;
	const char *path;   /* for messages */
	const char *origin; /* the same text, but living as long as the set */
	struct settings *settings;
	struct policy *policy;
	struct config_errors *errors;
	bool section_known;
	size_t n_assignments;
	unsigned int lines[CONFIG_KEYS_MAX]; /* by index in the table: where it was set, or 0 */
	int error;			     /* -ENOMEM, which ends all */
};

static void on_fault(void *userdata, unsigned int line, const char *message)
{
	struct parse *p = userdata;

	config_errors_add(p->errors, p->path, line, NULL, "%s", message);
}

static const char *other_file(enum config_kind kind)
{
	return kind == CONFIG_SETTINGS ? "a file in policy.d" : "tierd.conf";
}

static void on_section(void *userdata, unsigned int line, const char *section)
{
	struct parse *p = userdata;
	enum config_kind other = p->kind == CONFIG_SETTINGS ? CONFIG_POLICY : CONFIG_SETTINGS;
	char quote[CONFIG_QUOTE_SIZE];
	const char *nearest;

	p->section_known = config_section_known(p->kind, section);
	if (p->section_known)
		return;
	config_quote(section, quote);
	if (config_section_known(other, section)) {
		config_errors_add(p->errors, p->path, line, NULL, "section [%s] belongs in %s",
				  quote, other_file(p->kind));
		return;
	}
	nearest = config_section_nearest(p->kind, section);
	config_errors_add(p->errors, p->path, line, NULL, "unknown section [%s]%s%s%s", quote,
			  nearest ? " (expected [" : "", nearest ? nearest : "",
			  nearest ? "]?)" : "");
}

static void unknown_key(struct parse *p, unsigned int line, const char *section, const char *name)
{
	const struct config_key *elsewhere = config_key_elsewhere(p->kind, section, name);
	const char *nearest = config_key_nearest(p->kind, section, name);
	char quote[CONFIG_QUOTE_SIZE];

	config_quote(name, quote);
	if (elsewhere)
		config_errors_add(p->errors, p->path, line, quote,
				  "not a key of section [%s] (expected in [%s])", section,
				  elsewhere->section);
	else
		config_errors_add(p->errors, p->path, line, quote,
				  "unknown key in section [%s]%s%s%s", section,
				  nearest ? " (expected " : "", nearest ? nearest : "",
				  nearest ? "?)" : "");
}

static void add_glob(struct parse *p, unsigned int line, const struct config_key *key,
		     const char *value)
{
	char quote[CONFIG_QUOTE_SIZE];
	const char *why;
	int r;

	config_quote(value, quote);
	if (glob_check(value, strlen(value), &why) < 0) {
		char expected[CONFIG_KEY_TEXT_MAX];

		config_key_expected(key, expected, sizeof(expected));
		config_errors_add(p->errors, p->path, line, key->name, "\"%s\": %s (expected %s)",
				  quote, why, expected);
		return;
	}
	r = policy_add_glob(p->policy, value, line);
	if (r == -EEXIST)
		config_errors_add(p->errors, p->path, line, key->name,
				  "\"%s\" is there already (expected once)", quote);
	else if (r == -E2BIG)
		config_errors_add(p->errors, p->path, line, key->name, "more than %d in one policy",
				  POLICY_GLOBS_MAX);
	else if (r < 0)
		p->error = r;
}

static void set_origin(struct parse *p, const struct config_key *key, unsigned int line)
{
	struct origin *origins =
		p->kind == CONFIG_SETTINGS ? p->settings->origins : p->policy->origins;

	origins[key->id] = (struct origin){.file = p->origin, .line = line};
}

static void set_value(struct parse *p, unsigned int line, const struct config_key *key,
		      const char *value)
{
	void *object = p->kind == CONFIG_SETTINGS ? (void *)p->settings : p->policy;
	char quote[CONFIG_QUOTE_SIZE], expected[CONFIG_KEY_TEXT_MAX];
	int r;

	r = config_key_set(key, object, value);
	if (r == 0) {
		set_origin(p, key, line);
		return;
	}
	if (r == -ENOMEM) {
		p->error = r;
		return;
	}
	config_key_expected(key, expected, sizeof(expected));
	config_errors_add(p->errors, p->path, line, key->name, "\"%s\" is %s (expected %s)",
			  config_quote(value, quote),
			  r == -ERANGE ? "out of range" : "not understood", expected);
}

static void on_assign(void *userdata, unsigned int line, const char *section, const char *name,
		      const char *value)
{
	struct parse *p = userdata;
	const struct config_key *key;
	char quote[CONFIG_QUOTE_SIZE];
	unsigned int *first;
	size_t n;

	p->n_assignments++;
	if (!*section) {
		config_errors_add(p->errors, p->path, line, config_quote(name, quote),
				  "before the first section (expected below a [Section])");
		return;
	}
	/* The header was refused already; its keys would only repeat that. */
	if (!p->section_known)
		return;
	key = config_key_find(p->kind, section, name);
	if (!key) {
		unknown_key(p, line, section, name);
		return;
	}
	first = &p->lines[key - config_keys(&n)];
	if (*first && !key->repeatable) {
		config_errors_add(p->errors, p->path, line, key->name,
				  "set already in line %u (expected once in a file)", *first);
		return;
	}
	*first = line;
	if (key->type == VALUE_GLOB)
		add_glob(p, line, key, value);
	else
		set_value(p, line, key, value);
}

static const struct ini_events parse_events = {on_section, on_assign, on_fault};

/* ---- one file -------------------------------------------------------------------------------- */

static int run_parse(struct parse *p, const char *text, size_t n)
{
	int r = ini_read(text, n, &parse_events, p);

	return r < 0 ? r : p->error;
}

static int parse_settings(const char *path, const char *text, size_t n, struct policy_set *set,
			  struct config_errors *errors)
{
	struct parse p = {.kind = CONFIG_SETTINGS,
			  .path = path,
			  .settings = &set->settings,
			  .errors = errors};
	int r;

	r = policy_set_add_file(set, path, &p.origin);
	return r < 0 ? r : run_parse(&p, text, n);
}

static int parse_policy(const char *path, const char *text, size_t n, struct policy_set *set,
			struct config_errors *errors)
{
	cleanup(policy_done) struct policy policy = {0};
	struct parse p = {.kind = CONFIG_POLICY, .path = path, .policy = &policy, .errors = errors};
	size_t n_found = errors->n_errors + errors->n_more;
	int r;

	r = policy_init(&policy);
	if (r < 0)
		return r;
	policy.file = strdup(path);
	if (!policy.file)
		return -ENOMEM;
	p.origin = policy.file;
	r = run_parse(&p, text, n);
	if (r < 0)
		return r;
	/* Nothing but comments: somebody's way to switch a policy off. */
	if (p.n_assignments == 0)
		return 0;
	if (policy.n_globs == 0 && errors->n_errors + errors->n_more == n_found)
		config_errors_add(errors, path, 0, "Cgroup",
				  "missing (expected at least one Cgroup= in [Match])");
	return policy.n_globs > 0 ? policy_set_add(set, &policy) : 0;
}

int config_parse(enum config_kind kind, const char *path, const char *text, size_t n,
		 struct policy_set *set, struct config_errors *errors)
{
	switch (kind) {
	case CONFIG_SETTINGS:
		return parse_settings(path, text, n, set, errors);
	case CONFIG_POLICY:
		return parse_policy(path, text, n, set, errors);
	}
	return -EINVAL;
}

/* ---- all files ------------------------------------------------------------------------------- */

static int load_dir(enum config_kind kind, const struct config_options *options, const char *subdir,
		    const char *only, struct policy_set *set, struct config_errors *errors)
{
	cleanup(config_listing_freep) struct config_listing *listing = NULL;
	int r;

	r = config_listing_read(options, subdir, only, errors, &listing);
	for (size_t i = 0; !r && i < listing->n_entries; i++) {
		cleanup(freep) char *path = NULL;
		cleanup(freep) char *text = NULL;
		size_t n;

		if (listing->entries[i].is_masked)
			continue;
		r = config_listing_read_file(listing, &listing->entries[i], options, errors, &path,
					     &text, &n);
		if (!r)
			r = config_parse(kind, path, text, n, set, errors);
		/* What is wrong was noted; the other files may have mistakes of their own. */
		if (r == -EBADMSG)
			r = 0;
	}
	return r;
}

static bool found_errors(const struct config_errors *errors)
{
	return errors->n_errors > 0 || errors->n_more > 0;
}

int config_load(const struct config_options *options, struct policy_set **ret,
		struct config_errors *errors)
{
	cleanup(policy_set_freep) struct policy_set *set = NULL;
	int r;

	r = policy_set_new(&set);
	if (!r)
		r = load_dir(CONFIG_SETTINGS, options, NULL, "tierd.conf", set, errors);
	if (!r)
		r = load_dir(CONFIG_SETTINGS, options, "tierd.conf.d", NULL, set, errors);
	if (!r)
		r = load_dir(CONFIG_POLICY, options, "policy.d", NULL, set, errors);
	if (!r)
		r = policy_set_finish(set, errors);
	if (r < 0)
		return r;
	if (found_errors(errors))
		return -EBADMSG;
	*ret = STEAL(set);
	return 0;
}

/* ---- named files ----------------------------------------------------------------------------- */

static void note_section(void *userdata, unsigned int line, const char *section)
{
	bool *is_settings = userdata;

	*is_settings |= config_section_known(CONFIG_SETTINGS, section);
}

static void ignore_assign(void *userdata, unsigned int line, const char *section, const char *name,
			  const char *value)
{
}

static void ignore_fault(void *userdata, unsigned int line, const char *message)
{
}

static int guess_kind(const char *path, const char *text, size_t n, enum config_kind *ret)
{
	static const struct ini_events events = {note_section, ignore_assign, ignore_fault};
	const char *slash = strrchr(path, '/');
	bool is_settings =
		!strcmp(slash ? slash + 1 : path, "tierd.conf") || strstr(path, "tierd.conf.d/");
	int r = 0;

	if (!is_settings)
		r = ini_read(text, n, &events, &is_settings);
	if (r < 0)
		return r;
	*ret = is_settings ? CONFIG_SETTINGS : CONFIG_POLICY;
	return 0;
}

static int check_file(const char *path, const struct config_options *options,
		      struct policy_set *set, struct config_errors *errors)
{
	cleanup(freep) char *text = NULL;
	enum config_kind kind;
	size_t n;
	int r;

	r = config_file_read(path, options, errors, &text, &n);
	if (!r)
		r = guess_kind(path, text, n, &kind);
	if (!r)
		r = config_parse(kind, path, text, n, set, errors);
	return r == -EBADMSG ? 0 : r;
}

int config_check_files(char *const *files, size_t n_files, const struct config_options *options,
		       struct config_errors *errors)
{
	cleanup(policy_set_freep) struct policy_set *set = NULL;
	int r;

	r = policy_set_new(&set);
	for (size_t i = 0; !r && i < n_files; i++)
		r = check_file(files[i], options, set, errors);
	if (!r)
		r = policy_set_finish(set, errors);
	if (!r && found_errors(errors))
		r = -EBADMSG;
	return r;
}
