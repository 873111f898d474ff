// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of configuration errors. Writes only to the stream that it is given, and lets no byte of
 * a configuration file through to a terminal or a journal unescaped.
 */
#include "config/errors.h"

#include <stdarg.h>

#include "util.h"

static void config_error_done(struct config_error *e)
{
	free(e->file);
	free(e->key);
	free(e->message);
	*e = (struct config_error){0};
}

void config_errors_done(struct config_errors *errors)
{
	for (size_t i = 0; i < errors->n_errors; i++)
		config_error_done(&errors->errors[i]);
	*errors = (struct config_errors){0};
}

/* A directory that is searched for several kinds of files is refused each time: once is enough. */
static bool is_known(const struct config_errors *errors, const struct config_error *e)
{
	for (size_t i = 0; i < errors->n_errors; i++)
		if (errors->errors[i].line == e->line &&
		    !strcmp(errors->errors[i].file, e->file) &&
		    !strcmp(errors->errors[i].message, e->message))
			return true;
	return false;
}

void config_errors_add(struct config_errors *errors, const char *file, unsigned int line,
		       const char *key, const char *format, ...)
{
	struct config_error e = {.line = line};
	va_list args;

	if (errors->n_errors == CONFIG_ERRORS_MAX) {
		errors->n_more++;
		return;
	}
	va_start(args, format);
	if (vasprintf(&e.message, format, args) < 0)
		e.message = NULL;
	va_end(args);
	e.file = strdup(file);
	if (key)
		e.key = strdup(key);
	if (!e.message || !e.file || (key && !e.key)) {
		config_error_done(&e);
		errors->n_more++;
		return;
	}
	if (is_known(errors, &e)) {
		config_error_done(&e);
		return;
	}
	errors->errors[errors->n_errors++] = e;
}

char *config_error_format(const struct config_error *e)
{
	char line[16] = "";
	char *text;

	if (e->line > 0)
		snprintf(line, sizeof(line), ":%u", e->line);
	if (asprintf(&text, "%s%s: %s%s%s", e->file, line, e->key ? e->key : "", e->key ? ": " : "",
		     e->message) < 0)
		return NULL;
	return text;
}

void config_errors_print(const struct config_errors *errors, FILE *to)
{
	for (size_t i = 0; i < errors->n_errors; i++) {
		cleanup(freep) char *text = config_error_format(&errors->errors[i]);

		fprintf(to, "%s\n", text ? text : "out of memory");
	}
	if (errors->n_more > 0)
		fprintf(to, "and %zu more\n", errors->n_more);
}

const char *config_quote(const char *text, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = strnlen(text, CONFIG_QUOTE_BYTES_MAX + 1);
	char *out = ret;

	for (size_t i = 0; i < MIN(n, (size_t)CONFIG_QUOTE_BYTES_MAX); i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c < 0x7f) {
			*out++ = (char)c;
			continue;
		}
		*out++ = '\\';
		*out++ = 'x';
		*out++ = digits[c >> 4];
		*out++ = digits[c & 15];
	}
	if (n > CONFIG_QUOTE_BYTES_MAX)
		out = stpcpy(out, "...");
	*out = '\0';
	return ret;
}
