/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

/*
 * Every key of every configuration file, in one table. Parsing, defaults, limits, --dump-config,
 * the commented sample and the tests of the man pages all read it; nothing else knows a key's name.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/policy.h"

enum config_kind {
	CONFIG_SETTINGS, /* tierd.conf and its drop-ins: struct settings */
	CONFIG_POLICY,   /* policy.d: struct policy, one per file */
};

enum value_type {
	VALUE_SIZE,        /* uint64_t, bytes */
	VALUE_RATE,        /* uint64_t, bytes per second */
	VALUE_AMOUNT,      /* struct amount */
	VALUE_TIME,        /* uint64_t, microseconds */
	VALUE_BOOLEAN,     /* bool */
	VALUE_MODE,        /* enum policy_mode */
	VALUE_TEMPERATURE, /* uint32_t, basis points */
	VALUE_TIER_ORDER,  /* char *, NULL for none */
	VALUE_GLOB,        /* a list; stored by policy_add_glob() */
};

/**
 * struct config_key - one key
 * @offset: of the member of struct settings or struct policy
 * @initial: the built-in default, as one would write it
 * @min, @max: in the unit of the type; bytes for an amount
 * @max_bp: largest share of an amount
 * @id: enum settings_key or enum policy_key: index of the member's origin
 * @repeatable: may be given more than once in a file
 * @description: for people: the sample, the dump, --help
 * @why: why this default and these limits
 */
struct config_key {
	enum config_kind kind;
	const char *section;
	const char *name;
	enum value_type type;
	size_t offset;
	const char *initial;
	uint64_t min;
	uint64_t max;
	uint32_t max_bp;
	unsigned int id;
	bool repeatable;
	const char *description;
	const char *why;
};

/* @id of a key without an origin: the globs carry their own lines. */
#define CONFIG_KEY_NO_ORIGIN UINT32_MAX
/* At least the number of keys in the table. */
#define CONFIG_KEYS_MAX 32
/* Room for a value's or an expectation's text. */
#define CONFIG_KEY_TEXT_MAX 256

/* The table, in order of kind, section and appearance. */
const struct config_key *config_keys(size_t *ret_n);
const struct config_key *config_key_find(enum config_kind kind, const char *section,
					 const char *name);
/* A key of that name in any other section of the kind, or NULL. */
const struct config_key *config_key_elsewhere(enum config_kind kind, const char *section,
					      const char *name);
bool config_section_known(enum config_kind kind, const char *section);
/* The key or section with the most similar name, NULL when none is similar. */
const char *config_key_nearest(enum config_kind kind, const char *section, const char *name);
const char *config_section_nearest(enum config_kind kind, const char *section);

/*
 * Parses @text and stores it in @object, a struct settings or a struct policy, as the key's kind
 * says. -EINVAL: no such value, -ERANGE: beyond the key's limits, -ENOMEM. Not for VALUE_GLOB.
 */
int config_key_set(const struct config_key *key, void *object, const char *text);
/* The value in @object, as one would write it. */
void config_key_format(const struct config_key *key, const void *object, char *ret, size_t n);
/* What the key takes, "a time such as 20ms or 1min 30s, from 1ms to 1s". */
void config_key_expected(const struct config_key *key, char *ret, size_t n);

/* Fill an object that is all zeroes with the built-in defaults. 0 or -ENOMEM. */
int settings_init(struct settings *settings);
int policy_init(struct policy *policy);

#endif
