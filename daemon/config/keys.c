// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of keys, and names: which there are, and which was probably meant. A key is added here,
 * in the model's struct and in the man page, and nowhere else. Must not read files or parse values.
 */
#include "config/keys.h"

#include "util.h"

#define TiB (GiB << 10)
#define MINUTE_US (60 * US_PER_S)
#define DAY_US (86400 * US_PER_S)

#define SETTINGS(section_, name_, type_, member, id_) \
	.kind = CONFIG_SETTINGS, .section = section_, .name = name_, .type = type_, \
	.offset = offsetof(struct settings, member), .id = id_
#define POLICY(section_, name_, type_, member, id_) \
	.kind = CONFIG_POLICY, .section = section_, .name = name_, .type = type_, \
	.offset = offsetof(struct policy, member), .id = id_

static const struct config_key table[] = {
	{
		SETTINGS("Tiers", "Order", VALUE_TIER_ORDER, tier_order, SETTINGS_KEY_ORDER),
		.initial = "",
		.description =
			"Order of the memory nodes, fastest first, where the machine tells it "
			"wrong: tiers separated by '>', nodes of one tier by commas, as in 0,2 > "
			"1 > 3. Nodes that are left out come last. Empty: as firmware and kernel "
			"say.",
		.why =
			"Firmware with an HMAT is right more often than a list that survives a "
			"change of hardware.",
	},
	{
		SETTINGS("Service", "Interval", VALUE_TIME, interval_us, SETTINGS_KEY_INTERVAL),
		.initial = "1s", .min = 100 * US_PER_MS, .max = MINUTE_US,
		.description = "Time between two looks at the machine while there is work.",
		.why =
			"The kernel's per-cgroup counters lag up to 2 s, so looking more often "
			"sees little news; less often, a new hot set waits. Below 100 ms tierd "
			"would be the load that it measures; above 1 min nothing is hot any more "
			"when it moves.",
	},
	{
		SETTINGS("Service", "IntervalIdle", VALUE_TIME, interval_idle_us,
			 SETTINGS_KEY_INTERVAL_IDLE),
		.initial = "5s", .min = 100 * US_PER_MS, .max = 10 * MINUTE_US,
		.description =
			"Longest time between two looks while nothing changes; never shorter than "
			"Interval, and raised to it where only Interval is set.",
		.why =
			"A fifth of the work on an idle machine, and a change is still seen well "
			"before memory has had the time to count as cold.",
	},
	{
		SETTINGS("Service", "Headroom", VALUE_AMOUNT, headroom, SETTINGS_KEY_HEADROOM),
		.initial = "4%", .max = TiB, .max_bp = 5000,
		.description =
			"Memory that stays free on every node that tierd moves memory to: bytes, "
			"or a share of the node.",
		.why =
			"Above the watermarks at which the kernel starts to reclaim (about 1 % of "
			"a node), with as much again for what services allocate between two "
			"looks. Beyond half of the node a tier is no tier.",
	},
	{
		SETTINGS("Service", "Bandwidth", VALUE_RATE, bandwidth_bytes_s,
			 SETTINGS_KEY_BANDWIDTH),
		.initial = "1G", .min = 2 * MiB, .max = TiB,
		.description = "Most that is moved per second, both ways and all cgroups together.",
		.why =
			"A tenth or less of what a memory expander carries, so that moving stays "
			"in the shade of the work. Less than 2 MiB, the largest folio, would "
			"never move anything.",
	},
	{
		SETTINGS("Service", "ProcessMin", VALUE_SIZE, process_min_bytes,
			 SETTINGS_KEY_PROCESS_MIN),
		.initial = "8M", .max = TiB,
		.description = "Processes with less resident memory than this are left alone.",
		.why =
			"Watching costs about the same for a small process as for a large one; "
			"four of the largest folios are the least that can pay for it. 0 watches "
			"all.",
	},
	{
		POLICY("Match", "Cgroup", VALUE_GLOB, globs, CONFIG_KEY_NO_ORIGIN),
		.initial = "", .repeatable = true,
		.description =
			"Glob over cgroup paths, without a leading '/'. May be given several "
			"times.",
		.why =
			"No default: a policy without a cgroup would match nothing, or "
			"everything.",
	},
	{
		POLICY("Tiering", "Mode", VALUE_MODE, mode, POLICY_KEY_MODE),
		.initial = "auto",
		.description =
			"auto: hot memory up, cold memory down. observe: watch and report, move "
			"nothing. pin-fast, pin-slow: all to the fastest, the slowest tier. off: "
			"not watched, not moved.",
		.why = "Who writes a policy wants the memory placed; observe is for trying.",
	},
	{
		POLICY("Tiering", "FastMax", VALUE_AMOUNT, fast_max, POLICY_KEY_FAST_MAX),
		.initial = "infinity", .max = UINT64_MAX, .max_bp = 10000,
		.description =
			"Most of the fastest tier that one matched cgroup may hold: bytes, a "
			"share of the tier, or infinity.",
		.why = "Fast memory that nobody else wants is best used; limits are for sharing.",
	},
	{
		POLICY("Tiering", "ColdAfter", VALUE_TIME, cold_after_us, POLICY_KEY_COLD_AFTER),
		.initial = "2min", .min = US_PER_S, .max = 7 * DAY_US,
		.description =
			"Memory that was not accessed for this long may be moved down when the "
			"room is needed.",
		.why =
			"Longer than the minute at which timers and health checks come round, so "
			"that their memory is not moved to and fro. Under 1 s a single sample "
			"decides; over a week is never.",
	},
	{
		POLICY("Tiering", "HotAbove", VALUE_TEMPERATURE, hot_above_bp,
		       POLICY_KEY_HOT_ABOVE),
		.initial = "10%", .min = 1, .max = 10000,
		.description =
			"Memory counts as hot when more than this share of the latest samples "
			"found it accessed.",
		.why =
			"A page that is found in one of ten looks is used tens of times a second "
			"and repays its move within seconds; below, one noisy sample would do.",
	},
	{
		POLICY("Migration", "Bandwidth", VALUE_RATE, bandwidth_bytes_s,
		       POLICY_KEY_BANDWIDTH),
		.initial = "1G", .min = 2 * MiB, .max = TiB,
		.description = "Most that is moved per second for one matched cgroup, both ways.",
		.why =
			"The whole of the service's default: one busy cgroup need not wait for "
			"others that have nothing to move.",
	},
	{
		POLICY("Migration", "CallMax", VALUE_TIME, call_max_us, POLICY_KEY_CALL_MAX),
		.initial = "20ms", .min = US_PER_MS, .max = US_PER_S,
		.description =
			"Longest time that a single call into the kernel should take, as "
			"measured; calls get smaller until they fit.",
		.why =
			"A call holds up page faults on what it moves; 20 ms is below what people "
			"and most time-outs notice, and long enough for the fixed cost of a call "
			"(work on every CPU) to be small. Under 1 ms that cost is all there is.",
	},
	{
		POLICY("Migration", "SplitFolios", VALUE_BOOLEAN, split_folios,
		       POLICY_KEY_SPLIT_FOLIOS),
		.initial = "no",
		.description =
			"Allow large folios to be split where the target has no free block of "
			"their size. Without it they stay where they are.",
		.why =
			"A folio that was split is slower for as long as it lives, wherever it "
			"is.",
	},
};

const struct config_key *config_keys(size_t *ret_n)
{
	_Static_assert(ARRAY_SIZE(table) <= CONFIG_KEYS_MAX, "raise CONFIG_KEYS_MAX");
	*ret_n = ARRAY_SIZE(table);
	return table;
}

/* ---- names ----------------------------------------------------------------------------------- */

const struct config_key *config_key_find(enum config_kind kind, const char *section,
					 const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].kind == kind && !strcmp(table[i].section, section) &&
		    !strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

const struct config_key *config_key_elsewhere(enum config_kind kind, const char *section,
					      const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].kind == kind && strcmp(table[i].section, section) &&
		    !strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

bool config_section_known(enum config_kind kind, const char *section)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].kind == kind && !strcmp(table[i].section, section))
			return true;
	return false;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Longest name that is compared; every name of the table is shorter. */
#define NAME_BYTES_MAX 40

/* Edits (insert, drop, replace) from one name to the other, whatever their case. */
static unsigned int name_distance(const char *a, const char *b)
{
	unsigned int row[NAME_BYTES_MAX + 1];
	size_t n = strlen(b);

	if (strlen(a) > NAME_BYTES_MAX || n > NAME_BYTES_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 0; a[i]; i++) {
		unsigned int diagonal = row[0];

		row[0]++;
		for (size_t j = 1; j <= n; j++) {
			unsigned int replaced = diagonal + (lower(a[i]) != lower(b[j - 1]));

			diagonal = row[j];
			row[j] = MIN(MIN(row[j] + 1, row[j - 1] + 1), replaced);
		}
	}
	return row[n];
}

/* A name is similar when no more than two fifths of it would have to change. */
static bool name_similar(const char *name, unsigned int distance)
{
	return distance <= strlen(name) * 2 / 5;
}

const char *config_key_nearest(enum config_kind kind, const char *section, const char *name)
{
	unsigned int best = UINT32_MAX;
	const char *nearest = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		unsigned int distance;

		if (table[i].kind != kind || strcmp(table[i].section, section))
			continue;
		distance = name_distance(name, table[i].name);
		if (distance >= best || !name_similar(table[i].name, distance))
			continue;
		best = distance;
		nearest = table[i].name;
	}
	return nearest;
}

const char *config_section_nearest(enum config_kind kind, const char *section)
{
	unsigned int best = UINT32_MAX;
	const char *nearest = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		unsigned int distance = name_distance(section, table[i].section);

		if (table[i].kind != kind || distance >= best ||
		    !name_similar(table[i].section, distance))
			continue;
		best = distance;
		nearest = table[i].section;
	}
	return nearest;
}
