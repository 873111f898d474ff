// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What tierd answers to Introspect is what org.tierd1.txt promises, member by member.
 */
#include "private-bus.h"

static char *read_whole(const char *name)
{
	const char *root = getenv("TIERD_SRC");
	char *text = calloc(1, 65536), path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root ? root : ".", name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	return text;
}

/* The value of an attribute of the tag at @tag; "" when there is none. */
static void attribute(const char *tag, const char *name, char ret[128])
{
	const char *end = strchr(tag, '>'), *p;
	char key[32];
	size_t n;

	snprintf(key, sizeof(key), " %s=\"", name);
	p = strstr(tag, key);
	*ret = '\0';
	if (!p || p > end)
		return;
	p += strlen(key);
	n = strcspn(p, "\"");
	assert_true(n < 128);
	memcpy(ret, p, n);
	ret[n] = '\0';
}

static void print_args(FILE *out, const char *begin, const char *end, const char *direction)
{
	char type[128], name[128], is[128];
	bool any = false;

	for (const char *p = begin; (p = strstr(p, "<arg ")) && p < end; p++) {
		attribute(p, "direction", is);
		if (direction && strcmp(is, direction))
			continue;
		attribute(p, "type", type);
		attribute(p, "name", name);
		fprintf(out, "%s%s %s", any ? ", " : "", type, name);
		any = true;
	}
}

static bool has_annotation(const char *begin, const char *end, const char *name, const char *value)
{
	char text[160];
	const char *p;

	snprintf(text, sizeof(text), "name=\"%s\" value=\"%s\"", name, value);
	p = strstr(begin, text);
	return p && p < end;
}

static void print_property(FILE *out, const char *p)
{
	static const char changes[] = "org.freedesktop.DBus.Property.EmitsChangedSignal";
	const char *end = strstr(p, "</property>"), *self_closed = strstr(p, "/>");
	char name[128], type[128];

	/* Without an annotation inside the tag closes itself. */
	if (!end || (self_closed && !memchr(p, '\n', (size_t)(self_closed - p))))
		end = self_closed;
	attribute(p, "name", name);
	attribute(p, "type", type);
	fprintf(out, "property %s %s %s\n", name, type,
		has_annotation(p, end, changes, "const") ? "constant" :
		has_annotation(p, end, changes, "false") ? "silent" :
							   "announced");
}

static void print_member(FILE *out, const char *p, const char *what, const char *close)
{
	const char *end = strstr(p, close), *self_closed = strstr(p, "/>");
	char name[128];

	if (!end || (self_closed && self_closed < strchr(p, '\n')))
		end = self_closed;
	attribute(p, "name", name);
	fprintf(out, "%s %s(", what, name);
	print_args(out, p, end, strcmp(what, "method") ? NULL : "in");
	if (strcmp(what, "method")) {
		fprintf(out, ")\n");
		return;
	}
	fprintf(out, ") -> (");
	print_args(out, p, end, "out");
	fprintf(out, ")%s\n",
		has_annotation(p, end, "org.freedesktop.systemd1.Privileged", "true") ?
			" privileged" :
			"");
}

/* In the order in which they stand, as org.tierd1.txt has them: properties, methods, signals. */
static char *list_of(const char *xml)
{
	const char *begin = strstr(xml, "<interface name=\"" INTERFACE "\">"), *end;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(begin);
	end = strstr(begin, "</interface>");
	for (const char *p = begin; (p = strstr(p, "<property ")) && p < end; p++)
		print_property(out, p);
	for (const char *p = begin; (p = strstr(p, "<method ")) && p < end; p++)
		print_member(out, p, "method", "</method>");
	for (const char *p = begin; (p = strstr(p, "<signal ")) && p < end; p++)
		print_member(out, p, "signal", "</signal>");
	fclose(out);
	return text;
}

static void test_introspection(void **state)
{
	struct private_bus b;
	sd_bus_message *m = NULL;
	char *text = read_whole("daemon/report/org.tierd1.txt"), *said, *begin, *end;
	const char *xml;
	sd_bus *bus;

	private_bus_start(&b, "session", PERMISSIVE);
	bus = private_bus_connect(&b);
	begin = strstr(text, "\nBEGIN " INTERFACE "\n");
	assert_non_null(begin);
	begin += strlen("\nBEGIN " INTERFACE "\n");
	end = strstr(begin, "\nEND");
	assert_non_null(end);
	end[1] = '\0';
	assert_true(sd_bus_call_method(bus, NAME, PATH, "org.freedesktop.DBus.Introspectable",
				       "Introspect", NULL, &m, NULL) >= 0);
	assert_true(sd_bus_message_read(m, "s", &xml) > 0);
	said = list_of(xml);
	assert_string_equal(said, begin);
	free(said);
	free(text);
	sd_bus_message_unref(m);
	sd_bus_flush_close_unref(bus);
	private_bus_stop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_introspection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
