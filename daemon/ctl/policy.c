// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tierctl policy check: the daemon's own parser over files, without the daemon and without rights.
 */
#include <stdio.h>

#include "config/config.h"
#include "ctl/json.h"
#include "util.h"

DEFINE_CLEANUP(struct policy_set *, policy_set_free)

static struct json_object *error_to_json(const struct config_error *e)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "file", e->file);
	json_add_u64(o, "line", e->line);
	json_add_text(o, "key", e->key);
	json_add_text(o, "message", e->message);
	return o;
}

static enum ctl_exit print_json(const struct config_errors *errors, bool ok)
{
	struct json_object *list = json_object_new_array();
	struct json_object *o = json_new();

	json_add_text(o, "verb", "policy check");
	json_add_text(o, "result", ok ? "done" : "failed");
	for (size_t i = 0; i < errors->n_errors; i++)
		json_object_array_add(list, error_to_json(&errors->errors[i]));
	json_object_object_add(o, "errors", list);
	json_add_u64(o, "more_errors", errors->n_more);
	return json_print(o);
}

static int check(char *const *files, size_t n_files, struct config_errors *errors)
{
	/* Files on the command line may be the caller's own: they are not in force yet. */
	struct config_options options = { .trust_caller = n_files > 0 };
	cleanup(policy_set_freep) struct policy_set *set = NULL;

	if (n_files)
		return config_check_files(files, n_files, &options, errors);
	return config_load(&options, &set, errors);
}

enum ctl_exit ctl_policy(const struct ctl_options *options, int argc, char **argv)
{
	cleanup(config_errors_done) struct config_errors errors = { 0 };
	enum ctl_exit status = CTL_OK;
	int r;

	if (strcmp(argv[0], "check")) {
		ctl_error("policy knows one thing to do: policy check [FILE...]");
		return CTL_USAGE;
	}
	r = check(argv + 1, (size_t)argc - 1, &errors);
	if (r < 0 && r != -EBADMSG && !errors.n_errors) {
		ctl_error("cannot check: %s", strerrordesc_np(-r));
		return CTL_FAILED;
	}
	if (options->json)
		status = print_json(&errors, r >= 0);
	else
		config_errors_print(&errors, stderr);
	return r < 0 ? CTL_FAILED : status;
}
