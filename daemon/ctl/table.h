/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

/* Tables on a terminal or in a pipe, through libsmartcols. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

/* NULL without memory. */
struct table *table_new(bool headings);
struct table *table_free(struct table *t);
void table_add_column(struct table *t, const char *heading, bool is_number);
/* Cells of one row follow each other; a row that was begun may end early. */
void table_begin_row(struct table *t);
void table_add_text(struct table *t, const char *text);
void table_add_size(struct table *t, uint64_t bytes);
/* 0 or a negative errno, also for anything that went wrong before. */
int table_print(struct table *t);

#endif
