// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only file with libsmartcols. Errors are kept until table_print(), so that callers can add cell
 * after cell without looking.
 */
#include <libsmartcols.h>

#include "ctl/table.h"
#include "report/text.h"
#include "util.h"

struct table {
	struct libscols_table *table;
	struct libscols_line *line; /* owned by the table */
	size_t column;
	int error;
};

struct table *table_new(bool headings)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->table = scols_new_table();
	if (!t->table)
		return table_free(t);
	t->error = scols_table_enable_noheadings(t->table, !headings);
	/* What comes here is printable; a second escaping would spell its backslashes out. */
	if (!t->error)
		t->error = scols_table_enable_noencoding(t->table, 1);
	return t;
}

struct table *table_free(struct table *t)
{
	if (!t)
		return NULL;
	scols_unref_table(t->table);
	free(t);
	return NULL;
}

void table_add_column(struct table *t, const char *heading, bool is_number)
{
	if (!t->error &&
	    !scols_table_new_column(t->table, heading, 0, is_number ? SCOLS_FL_RIGHT : 0))
		t->error = -ENOMEM;
}

void table_begin_row(struct table *t)
{
	t->column = 0;
	if (t->error)
		return;
	t->line = scols_table_new_line(t->table, NULL);
	if (!t->line)
		t->error = -ENOMEM;
}

void table_add_text(struct table *t, const char *text)
{
	if (!t->error)
		t->error = scols_line_set_data(t->line, t->column++, text);
}

void table_add_size(struct table *t, uint64_t bytes)
{
	char buf[TEXT_NUMBER_MAX];

	table_add_text(t, text_size(bytes, buf));
}

int table_print(struct table *t)
{
	return t->error ? t->error : scols_print_table(t->table);
}
