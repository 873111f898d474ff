/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_DICT_H
#define CTL_DICT_H

/*
 * Reads a{sv} into a struct by a table of fields. Keys that are not in the table are skipped: a
 * newer tierd may say more. A key of another type than expected is an error.
 */

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

struct dict_field {
	const char *key;
	/*
	 * What the variant holds, and what stands at @offset: "s" char *, "ay" char * (with a NUL
	 * added; bytes behind a NUL are dropped), "t" uint64_t, "u" uint32_t, "i" int32_t,
	 * "b" int, "a{st}" struct dict_amounts, "at" struct dict_numbers; anything else is read by
	 * @read.
	 */
	const char *type;
	size_t offset;
	int (*read)(sd_bus_message *m, void *target);
};

/* Names with bytes: results, reasons. More than fit are skipped; names are [a-z-] only. */
#define DICT_AMOUNTS_MAX 32
#define DICT_AMOUNT_NAME_MAX 32
struct dict_amounts {
	size_t n;
	struct {
		char name[DICT_AMOUNT_NAME_MAX];
		uint64_t bytes;
	} items[DICT_AMOUNTS_MAX];
};

#define DICT_NUMBERS_MAX 32
struct dict_numbers {
	size_t n;
	uint64_t values[DICT_NUMBERS_MAX];
};

/* @target has been zeroed, or filled by an earlier read of the same fields. */
int dict_read(sd_bus_message *m, const struct dict_field *fields, size_t n_fields, void *target);
/* Frees the strings. */
void dict_done(const struct dict_field *fields, size_t n_fields, void *target);
uint64_t dict_amounts_sum(const struct dict_amounts *a);

#endif
