// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only user of libinih. What it does with a given file differs between versions and builds
 * (line length, continuation lines, comments behind values, values without '='), and some builds
 * have run-time switches for it. None of them is touched here: the reader that feeds libinih line
 * by line lets nothing through that any build would read differently, and libinih sees an empty
 * line in place of each refused one, so that the rest of the file is checked as well.
 *
 * Must not open files, and must not know any section or key.
 */
#include "config/ini.h"

#include <ini.h>

#include "util.h"

struct reader {
	const char *text;
	size_t n;
	size_t at;
	unsigned int line; /* of the text last handed to libinih, from 1 */
	const struct ini_events *events;
	void *userdata;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* First character from @at on that is not blank, or @n. */
static size_t skip_blanks(const char *s, size_t n, size_t at)
{
	while (at < n && is_blank(s[at]))
		at++;
	return at;
}

static size_t skip_name(const char *s, size_t n, size_t at)
{
	while (at < n && is_name_char(s[at]))
		at++;
	return at;
}

/* "[Name]" and nothing behind it; the length of the name goes to *ret. */
static const char *section_fault(const char *s, size_t n, size_t *ret)
{
	size_t end = skip_name(s, n, 1);

	if (end == n || s[end] != ']')
		return "not a section header (expected [Name] of letters and digits)";
	if (end == 1)
		return "a section without a name";
	if (end - 1 > INI_SECTION_BYTES_MAX)
		return "section name longer than 49 characters";
	if (skip_blanks(s, n, end + 1) < n)
		return "text behind a section header (expected nothing after ']')";
	*ret = end - 1;
	return NULL;
}

static const char *assignment_fault(const char *s, size_t n)
{
	size_t name_end = skip_name(s, n, 0);
	size_t equals = skip_blanks(s, n, name_end);

	if (name_end == 0 || equals == n || s[equals] != '=')
		return "neither a comment, a [Section] nor an assignment (expected KEY=VALUE)";
	for (size_t i = equals + 1; i < n; i++)
		if ((s[i] == ';' || s[i] == '#') && (i == equals + 1 || is_blank(s[i - 1])))
			return "a comment behind a value (expected comments on lines of their own)";
	if (s[n - 1] == '\\')
		return "a line that ends in a backslash (lines cannot be continued)";
	return NULL;
}

static const char *bytes_fault(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\0')
			return "a NUL byte (expected text)";
		if (((unsigned char)s[i] < 0x20 && s[i] != '\t') || s[i] == 0x7f)
			return "a control character (expected text)";
	}
	return NULL;
}

/* NULL when the line may go to libinih; *ret_section is the length of a section's name, or 0. */
static const char *line_fault(const char *s, size_t n, size_t *ret_section)
{
	const char *fault = bytes_fault(s, n);
	size_t first = skip_blanks(s, n, 0);

	*ret_section = 0;
	if (fault)
		return fault;
	/* Comments included: libinih would read the tail of a long one as a line of its own. */
	if (n > INI_LINE_BYTES_MAX)
		return "line longer than 190 bytes";
	if (first == n || s[first] == '#' || s[first] == ';')
		return NULL;
	if (first > 0)
		return "indented line (lines are not continued; expected KEY=VALUE at its start)";
	return s[0] == '[' ? section_fault(s, n, ret_section) : assignment_fault(s, n);
}

/* The next line without its end; false at the end of the text. */
static bool next_line(struct reader *r, const char **ret, size_t *ret_n)
{
	static const char bom[] = "\xef\xbb\xbf";
	const char *begin = r->text + r->at, *end;
	size_t n;

	if (r->at >= r->n)
		return false;
	end = memchr(begin, '\n', r->n - r->at);
	n = end ? (size_t)(end - begin) : r->n - r->at;
	r->at += n + (end != NULL);
	/* The cap keeps the line number from wrapping around; texts are far smaller. */
	r->line += r->line < UINT32_MAX;
	if (n > 0 && begin[n - 1] == '\r')
		n--;
	if (r->line == 1 && n >= 3 && !memcmp(begin, bom, 3)) {
		begin += 3;
		n -= 3;
	}
	*ret = begin;
	*ret_n = n;
	return true;
}

/* libinih's fgets(): one checked line at a time. */
static char *read_line(char *buffer, int size, void *stream)
{
	struct reader *r = stream;
	size_t n, section_n;
	const char *line, *fault;

	if (size < 2 || !next_line(r, &line, &n))
		return NULL;
	fault = line_fault(line, n, &section_n);
	/* A libinih that was built with a smaller buffer. */
	if (!fault && n + 2 > (size_t)size)
		fault = "line longer than this build of libinih takes";
	if (fault) {
		r->events->fault(r->userdata, r->line, fault);
		n = 0;
	}
	if (!fault && section_n > 0) {
		char name[INI_SECTION_BYTES_MAX + 1] = "";

		memcpy(name, line + 1, section_n);
		r->events->section(r->userdata, r->line, name);
	}
	memcpy(buffer, line, n);
	memcpy(buffer + n, "\n", 2);
	return buffer;
}

#if INI_HANDLER_LINENO
static int handle(void *userdata, const char *section, const char *name, const char *value,
		  int lineno)
#else
static int handle(void *userdata, const char *section, const char *name, const char *value)
#endif
{
	struct reader *r = userdata;

	/* Some builds also call this for a new section, without a name. */
	if (name && value)
		r->events->assign(r->userdata, r->line, section, name, value);
	return 1;
}

int ini_read(const char *text, size_t n, const struct ini_events *events, void *userdata)
{
	struct reader reader = {.text = text, .n = n, .events = events, .userdata = userdata};
	int r;

	r = ini_parse_stream(read_line, &reader, handle, &reader);
	if (r < 0)
		return -ENOMEM;
	/* Nothing that passed read_line() should displease libinih; if it does, say so. */
	if (r > 0)
		events->fault(userdata, (unsigned int)r, "cannot be understood");
	return 0;
}
