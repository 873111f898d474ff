// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only file with json-c's way of building things. Must not let bytes through that are not UTF-8
 * or that would do something to a terminal.
 */
#include <stdio.h>

#include "ctl/json.h"
#include "report/text.h"
#include "util.h"

struct json_object *json_new(void)
{
	struct json_object *o = json_object_new_object();

	if (o)
		json_add_u64(o, "version", JSON_VERSION);
	return o;
}

void json_add_u64(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

void json_add_bool(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

void json_add_text(struct json_object *o, const char *key, const char *text)
{
	cleanup(freep) char *printable = text ? text_escape_lines(text, strlen(text)) : NULL;

	json_object_object_add(o, key, printable ? json_object_new_string(printable) : NULL);
}

static char *to_hex(const char *bytes)
{
	size_t n = strlen(bytes);
	char *hex = malloc(2 * n + 1);

	for (size_t i = 0; hex && i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
	if (hex)
		hex[2 * n] = '\0';
	return hex;
}

void json_add_cgroup(struct json_object *o, const char *path)
{
	cleanup(freep) char *printable = text_escape(path, strlen(path));
	cleanup(freep) char *hex = to_hex(path);

	if (!printable || !hex)
		return;
	json_object_object_add(o, "cgroup", json_object_new_string(printable));
	if (strcmp(printable, path))
		json_object_object_add(o, "cgroup_hex", json_object_new_string(hex));
}

void json_add_amounts(struct json_object *o, const char *key, const struct dict_amounts *a)
{
	struct json_object *amounts = json_object_new_object();

	for (size_t i = 0; amounts && i < a->n; i++)
		json_add_u64(amounts, a->items[i].name, a->items[i].bytes);
	json_object_object_add(o, key, amounts);
}

enum ctl_exit json_print(struct json_object *o)
{
	const char *text = o ? json_object_to_json_string_ext(
				       o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
						  JSON_C_TO_STRING_NOSLASHESCAPE) :
			       NULL;

	if (text)
		puts(text);
	else
		ctl_error("out of memory");
	json_object_put(o);
	return text ? CTL_OK : CTL_FAILED;
}
