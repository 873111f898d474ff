// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of the verbs that only tell the daemon something.
 */
#include "ctl/json.h"
#include "ctl/simple.h"

enum ctl_exit simple_done(const struct ctl_options *options, const char *verb, const char *id_key,
			  uint64_t id)
{
	struct json_object *o;

	if (!options->json)
		return CTL_OK;
	o = json_new();
	json_add_text(o, "verb", verb);
	if (id_key)
		json_add_u64(o, id_key, id);
	json_add_text(o, "result", "done");
	return json_print(o);
}
