// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the text of one key to its member of struct settings or struct policy, and back; what the
 * table says about limits is held here. Must not know any single key.
 */
#include "config/keys.h"

#include <stdio.h>

#include "config/value.h"
#include "util.h"

static int in_range(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min || v > max ? -ERANGE : 0;
}

static int set_number(const struct config_key *key, uint64_t *member, const char *text)
{
	size_t n = strlen(text);
	uint64_t v;
	int r;

	r = key->type == VALUE_TIME ? value_parse_time(text, n, &v) : value_parse_size(text, n, &v);
	if (!r)
		r = in_range(v, key->min, key->max);
	if (!r)
		*member = v;
	return r;
}

static int set_amount(const struct config_key *key, struct amount *member, const char *text)
{
	struct amount v;
	int r;

	r = value_parse_amount(text, strlen(text), &v);
	if (!r)
		r = v.is_share ? in_range(v.value, 0, key->max_bp)
			       : in_range(v.value, key->min, key->max);
	if (!r)
		*member = v;
	return r;
}

static int set_temperature(const struct config_key *key, uint32_t *member, const char *text)
{
	uint32_t v;
	int r;

	r = value_parse_share(text, strlen(text), &v);
	if (!r)
		r = in_range(v, key->min, key->max);
	if (!r)
		*member = v;
	return r;
}

static int set_tier_order(char **member, const char *text)
{
	char *copy = NULL;
	int r;

	r = value_check_tier_order(text, strlen(text));
	if (r < 0)
		return r;
	if (*text) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
	}
	free(*member);
	*member = copy;
	return 0;
}

int config_key_set(const struct config_key *key, void *object, const char *text)
{
	void *member = (char *)object + key->offset;

	switch (key->type) {
	case VALUE_SIZE:
	case VALUE_RATE:
	case VALUE_TIME:
		return set_number(key, member, text);
	case VALUE_AMOUNT:
		return set_amount(key, member, text);
	case VALUE_BOOLEAN:
		return value_parse_boolean(text, strlen(text), member);
	case VALUE_MODE:
		return value_parse_mode(text, strlen(text), member);
	case VALUE_TEMPERATURE:
		return set_temperature(key, member, text);
	case VALUE_TIER_ORDER:
		return set_tier_order(member, text);
	case VALUE_GLOB:
		break;
	}
	return -EINVAL;
}

void config_key_format(const struct config_key *key, const void *object, char *ret, size_t n)
{
	const void *member = (const char *)object + key->offset;
	const char *text;

	switch (key->type) {
	case VALUE_SIZE:
	case VALUE_RATE:
		value_format_size(*(const uint64_t *)member, ret, n);
		return;
	case VALUE_TIME:
		value_format_time(*(const uint64_t *)member, ret, n);
		return;
	case VALUE_AMOUNT:
		value_format_amount(*(const struct amount *)member, ret, n);
		return;
	case VALUE_BOOLEAN:
		snprintf(ret, n, "%s", *(const bool *)member ? "yes" : "no");
		return;
	case VALUE_MODE:
		snprintf(ret, n, "%s", policy_mode_name(*(const enum policy_mode *)member));
		return;
	case VALUE_TEMPERATURE:
		value_format_share(*(const uint32_t *)member, ret, n);
		return;
	case VALUE_TIER_ORDER:
		text = *(const char *const *)member;
		snprintf(ret, n, "%s", text ? text : "");
		return;
	case VALUE_GLOB:
		snprintf(ret, n, "%s", "");
		return;
	}
}

static void expected_size(const struct config_key *key, char *ret, size_t n)
{
	char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

	value_format_size(key->min, min, sizeof(min));
	value_format_size(key->max, max, sizeof(max));
	snprintf(ret, n, "%s such as 64M, from %s to %s, with K, M, G or T for powers of 1024",
		 key->type == VALUE_RATE ? "bytes per second" : "bytes", min, max);
}

static void expected_time(const struct config_key *key, char *ret, size_t n)
{
	char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

	value_format_time(key->min, min, sizeof(min));
	value_format_time(key->max, max, sizeof(max));
	snprintf(ret, n, "a time from %s to %s, such as 20ms, 5s or 1min 30s", min, max);
}

static void expected_amount(const struct config_key *key, char *ret, size_t n)
{
	char max[VALUE_TEXT_MAX], max_share[VALUE_TEXT_MAX];

	value_format_share(key->max_bp, max_share, sizeof(max_share));
	if (key->max == UINT64_MAX) {
		snprintf(ret, n, "bytes such as 64M or 8G, a share up to %s, or infinity",
			 max_share);
		return;
	}
	value_format_size(key->max, max, sizeof(max));
	snprintf(ret, n, "bytes such as 64M or 8G up to %s, or a share up to %s", max, max_share);
}

static void expected_temperature(const struct config_key *key, char *ret, size_t n)
{
	char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

	value_format_share(key->min, min, sizeof(min));
	value_format_share(key->max, max, sizeof(max));
	snprintf(ret, n, "a share from %s to %s, such as 12.5%%", min, max);
}

void config_key_expected(const struct config_key *key, char *ret, size_t n)
{
	switch (key->type) {
	case VALUE_SIZE:
	case VALUE_RATE:
		expected_size(key, ret, n);
		return;
	case VALUE_TIME:
		expected_time(key, ret, n);
		return;
	case VALUE_AMOUNT:
		expected_amount(key, ret, n);
		return;
	case VALUE_BOOLEAN:
		snprintf(ret, n, "yes or no");
		return;
	case VALUE_MODE:
		snprintf(ret, n, "auto, observe, pin-fast, pin-slow or off");
		return;
	case VALUE_TEMPERATURE:
		expected_temperature(key, ret, n);
		return;
	case VALUE_TIER_ORDER:
		snprintf(ret, n, "node ids, fastest first, such as 0,2 > 1");
		return;
	case VALUE_GLOB:
		snprintf(ret, n, "a cgroup path such as system.slice/db-*.service");
		return;
	}
}

/* ---- defaults -------------------------------------------------------------------------------- */

static int set_defaults(enum config_kind kind, void *object)
{
	size_t n_keys;
	const struct config_key *table = config_keys(&n_keys);

	for (size_t i = 0; i < n_keys; i++) {
		int r;

		if (table[i].kind != kind || table[i].type == VALUE_GLOB)
			continue;
		r = config_key_set(&table[i], object, table[i].initial);
		if (r < 0)
			return r;
	}
	return 0;
}

int settings_init(struct settings *settings)
{
	return set_defaults(CONFIG_SETTINGS, settings);
}

int policy_init(struct policy *policy)
{
	return set_defaults(CONFIG_POLICY, policy);
}
