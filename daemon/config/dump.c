// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The configuration as text for people: what is in force, and the sample that is installed. Both
 * are the table of keys, printed; what they say can be read back by the parser.
 */
#include "config/config.h"

#include "util.h"

/* Width of the sample, as in the sources. */
#define SAMPLE_COLUMNS 100

/* @text as comment lines, broken between words. */
static void write_comment(FILE *to, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (column > 0 && column + 1 + n > SAMPLE_COLUMNS) {
			fputc('\n', to);
			column = 0;
		}
		if (column == 0)
			column = (size_t)fprintf(to, "#");
		column += (size_t)fprintf(to, " %.*s", (int)n, text);
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

void config_write_sample(FILE *to)
{
	const char *section = "";
	size_t n;
	const struct config_key *keys = config_keys(&n);

	fputs("# SPDX-License-Identifier: GPL-2.0-or-later\n#\n", to);
	write_comment(to,
		      "Configuration of tierd: every key, commented at its built-in default. "
		      "Change a copy in /etc/tierd, or put the keys that differ into a file "
		      "of their own in /etc/tierd/tierd.conf.d. What is done for which cgroup "
		      "is said in /etc/tierd/policy.d. See tierd.conf(5) and tierd-policy(5).");
	for (size_t i = 0; i < n; i++) {
		if (keys[i].kind != CONFIG_SETTINGS)
			continue;
		if (strcmp(section, keys[i].section))
			fprintf(to, "\n[%s]\n", keys[i].section);
		else
			fputs("\n", to);
		section = keys[i].section;
		write_comment(to, keys[i].description);
		fprintf(to, "#%s=%s\n", keys[i].name, keys[i].initial);
	}
}

static void dump_globs(const struct policy *policy, FILE *to)
{
	for (size_t i = 0; i < policy->n_globs; i++)
		fprintf(to, "# from %s:%u\nCgroup=%s\n", policy->file, policy->glob_lines[i],
			policy->globs[i]);
}

static void dump_value(const struct config_key *key, const void *object,
		       const struct origin *origin, FILE *to)
{
	char text[CONFIG_KEY_TEXT_MAX];

	if (origin->file)
		fprintf(to, "# from %s:%u\n", origin->file, origin->line);
	else
		fputs("# built-in default\n", to);
	config_key_format(key, object, text, sizeof(text));
	fprintf(to, "%s=%s\n", key->name, text);
}

static void dump_object(enum config_kind kind, const void *object, const struct origin *origins,
			FILE *to)
{
	const char *section = "";
	size_t n;
	const struct config_key *keys = config_keys(&n);

	for (size_t i = 0; i < n; i++) {
		if (keys[i].kind != kind)
			continue;
		if (strcmp(section, keys[i].section))
			fprintf(to, "\n[%s]\n", keys[i].section);
		section = keys[i].section;
		if (keys[i].type == VALUE_GLOB)
			dump_globs(object, to);
		else
			dump_value(&keys[i], object, &origins[keys[i].id], to);
	}
}

void config_dump(const struct policy_set *set, FILE *to)
{
	fputs("# tierd.conf\n", to);
	dump_object(CONFIG_SETTINGS, &set->settings, set->settings.origins, to);
	for (size_t i = 0; i < set->n_policies; i++) {
		fprintf(to, "\n# %s\n", set->policies[i].file);
		dump_object(CONFIG_POLICY, &set->policies[i], set->policies[i].origins, to);
	}
}
