/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_JSON_H
#define CTL_JSON_H

/*
 * --json: one object on stdout. Keys are snake_case, bytes and microseconds are integers, and
 * "version" is the version of this form: it changes when a key changes or goes, not when one comes.
 * Out of memory ends as an object that lacks something, so json_print() reports it.
 */

#include <json-c/json.h>

#include "ctl/ctl.h"
#include "ctl/dict.h"

#define JSON_VERSION 1

/* With "version" in it. */
struct json_object *json_new(void);
void json_add_u64(struct json_object *o, const char *key, uint64_t value);
void json_add_bool(struct json_object *o, const char *key, bool value);
/* Text is shown as it may go to a terminal; NULL becomes null. */
void json_add_text(struct json_object *o, const char *key, const char *text);
/* "cgroup", and "cgroup_hex" with the exact bytes when the name had to be changed to be shown. */
void json_add_cgroup(struct json_object *o, const char *path);
/* An object: name to bytes. */
void json_add_amounts(struct json_object *o, const char *key, const struct dict_amounts *a);
/* Takes @o over. */
enum ctl_exit json_print(struct json_object *o);

#endif
