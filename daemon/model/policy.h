/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_POLICY_H
#define MODEL_POLICY_H

/*
 * What the operator wants, as plain values. Made by config/ from files, const ever after; a reload
 * makes a whole new set and swaps one pointer. Nothing here reads a file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum policy_mode {
	MODE_AUTO,     /* hot up, cold down */
	MODE_OBSERVE,  /* track and report what would be done, move nothing */
	MODE_PIN_FAST, /* everything belongs on the fastest tier */
	MODE_PIN_SLOW, /* everything belongs on the slowest tier */
	MODE_OFF,      /* not tracked, not moved; its use of memory counts as taken */
};

/* Stable lower-case name, as in Mode=. */
const char *policy_mode_name(enum policy_mode mode);

/* A quantity of memory: bytes, or a share of the tier that it is about. */
struct amount {
	bool is_share;
	uint64_t value; /* bytes, or basis points when is_share */
};

#define AMOUNT_UNLIMITED ((struct amount){ .is_share = false, .value = UINT64_MAX })

/* Where a value was set: tierctl policy show names it. file is NULL for a built-in default. */
struct origin {
	const char *file;
	unsigned int line;
};

/* Every key of a policy file, in the order of the table in config/keys.c. */
enum policy_key {
	POLICY_KEY_MODE,
	POLICY_KEY_FAST_MAX,
	POLICY_KEY_COLD_AFTER,
	POLICY_KEY_HOT_ABOVE,
	POLICY_KEY_BANDWIDTH,
	POLICY_KEY_CALL_MAX,
	POLICY_KEY_SPLIT_FOLIOS,
	POLICY_KEYS,
};

struct policy {
	char *file;          /* full path, for people */
	size_t n_globs;
	char **globs;        /* [Match] Cgroup=, relative to the cgroup mount, no leading slash */
	unsigned int *glob_lines;
	enum policy_mode mode;
	struct amount fast_max;       /* most of the fast tier that one matched cgroup may hold */
	uint64_t cold_after_us;       /* not accessed for this long: may be demoted */
	uint32_t hot_above_bp;        /* temperature above which memory counts as hot */
	uint64_t bandwidth_bytes_s;   /* moved per second for one matched cgroup, both ways */
	uint64_t call_max_us;
	bool split_folios;
	struct origin origins[POLICY_KEYS];
};

/* Every key of tierd.conf, in the order of the table in config/keys.c. */
enum settings_key {
	SETTINGS_KEY_ORDER,
	SETTINGS_KEY_INTERVAL,
	SETTINGS_KEY_INTERVAL_IDLE,
	SETTINGS_KEY_HEADROOM,
	SETTINGS_KEY_BANDWIDTH,
	SETTINGS_KEY_PROCESS_MIN,
	SETTINGS_KEYS,
};

/* tierd.conf */
struct settings {
	char *tier_order;             /* NULL: as the machine says; else "0 > 1,2" */
	uint64_t interval_us;         /* between ticks while there is work */
	uint64_t interval_idle_us;    /* ceiling between ticks while nothing changes */
	struct amount headroom;       /* kept free on every node that is promoted to */
	uint64_t bandwidth_bytes_s;   /* all cgroups together */
	uint64_t process_min_bytes;   /* smaller processes are not tracked */
	struct origin origins[SETTINGS_KEYS];
};

/* The amount in bytes; a share is one of @whole_bytes. Never more than @whole_bytes if a share. */
uint64_t amount_bytes(struct amount a, uint64_t whole_bytes);

struct policy_set {
	struct settings settings;
	size_t n_policies;
	struct policy *policies;      /* in order of file name */
	size_t n_files;
	char **files;                 /* tierd.conf and its drop-ins: the settings' origins point here */
};

#endif
