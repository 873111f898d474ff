/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

/* Bytes and numbers as people read them. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Room for any text_size() or text_span(), with the final NUL.
 */
#define TEXT_NUMBER_MAX 24

bool text_is_utf8(const char *s, size_t n);
/*
 * A printable copy: bytes that are not UTF-8, control characters and characters that change the
 * direction or the layout of text become \xNN. For showing only: a backslash stays as it is, because
 * unit names are full of them. NULL when out of memory.
 */
char *text_escape(const char *s, size_t n);
/* The same, for text of several lines: line feeds stay. */
char *text_escape_lines(const char *s, size_t n);
/* "0", "4K", "1.5G": rounded down to one decimal, none from 100 on. Returns @buf. */
const char *text_size(uint64_t bytes, char buf[TEXT_NUMBER_MAX]);
/* "350ms", "12.3s", "5min", "3.1h", "4.2d". Returns @buf. */
const char *text_span(uint64_t us, char buf[TEXT_NUMBER_MAX]);

#endif
