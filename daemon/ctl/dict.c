// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * a{sv} into structs, by table. Must not trust lengths or names that come over the bus.
 */
#include "ctl/dict.h"
#include "util.h"

static int read_string(sd_bus_message *m, char **target)
{
	const char *s;
	char *copy;
	int r = sd_bus_message_read(m, "s", &s);

	if (r < 0)
		return r;
	copy = strdup(s);
	if (!copy)
		return -ENOMEM;
	free(*target);
	*target = copy;
	return 0;
}

static int read_bytes(sd_bus_message *m, char **target)
{
	const void *p;
	char *copy;
	size_t n;
	int r = sd_bus_message_read_array(m, 'y', &p, &n);

	if (r < 0)
		return r;
	copy = n ? strndup(p, n) : strdup("");
	if (!copy)
		return -ENOMEM;
	free(*target);
	*target = copy;
	return 0;
}

static int read_numbers(sd_bus_message *m, struct dict_numbers *target)
{
	const void *p;
	size_t n;
	int r = sd_bus_message_read_array(m, 't', &p, &n);

	if (r < 0)
		return r;
	target->n = MIN(n / sizeof(uint64_t), (size_t)DICT_NUMBERS_MAX);
	if (target->n)
		memcpy(target->values, p, target->n * sizeof(uint64_t));
	return 0;
}

static void add_amount(struct dict_amounts *a, const char *name, uint64_t bytes)
{
	size_t len = strlen(name);

	if (a->n >= DICT_AMOUNTS_MAX || len >= DICT_AMOUNT_NAME_MAX ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz-") != len)
		return;
	memcpy(a->items[a->n].name, name, len + 1);
	a->items[a->n++].bytes = bytes;
}

static int read_amounts(sd_bus_message *m, struct dict_amounts *target)
{
	const char *name;
	uint64_t bytes;
	int r = sd_bus_message_enter_container(m, 'a', "{st}");

	target->n = 0;
	while (r >= 0 && (r = sd_bus_message_read(m, "{st}", &name, &bytes)) > 0)
		add_amount(target, name, bytes);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int read_value(sd_bus_message *m, const struct dict_field *f, void *target)
{
	void *p = (char *)target + f->offset;

	if (f->read)
		return f->read(m, p);
	if (!strcmp(f->type, "s"))
		return read_string(m, p);
	if (!strcmp(f->type, "ay"))
		return read_bytes(m, p);
	if (!strcmp(f->type, "at"))
		return read_numbers(m, p);
	if (!strcmp(f->type, "a{st}"))
		return read_amounts(m, p);
	return sd_bus_message_read_basic(m, f->type[0], p);
}

static const struct dict_field *find_field(const struct dict_field *fields, size_t n_fields,
					   const char *key)
{
	for (size_t i = 0; i < n_fields; i++)
		if (!strcmp(fields[i].key, key))
			return &fields[i];
	return NULL;
}

static int read_entry(sd_bus_message *m, const struct dict_field *fields, size_t n_fields,
		      void *target)
{
	const struct dict_field *f;
	const char *key;
	int r = sd_bus_message_read(m, "s", &key);

	if (r < 0)
		return r;
	f = find_field(fields, n_fields, key);
	if (!f)
		return sd_bus_message_skip(m, "v");
	r = sd_bus_message_enter_container(m, 'v', f->type);
	if (r >= 0)
		r = read_value(m, f, target);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

int dict_read(sd_bus_message *m, const struct dict_field *fields, size_t n_fields, void *target)
{
	int r = sd_bus_message_enter_container(m, 'a', "{sv}");

	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		r = read_entry(m, fields, n_fields, target);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
	}
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

void dict_done(const struct dict_field *fields, size_t n_fields, void *target)
{
	for (size_t i = 0; i < n_fields; i++) {
		if (strcmp(fields[i].type, "s") && strcmp(fields[i].type, "ay"))
			continue;
		free(*(char **)((char *)target + fields[i].offset));
		*(char **)((char *)target + fields[i].offset) = NULL;
	}
}

uint64_t dict_amounts_sum(const struct dict_amounts *a)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->n; i++)
		sum += a->items[i].bytes;
	return sum;
}
