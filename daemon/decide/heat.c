// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The map of temperatures of one address space. heat.h says how samples are merged and why. Must
 * not judge what is hot: that depends on policies and on the rest of the group.
 */
#include "decide/heat.h"
#include "util.h"

/* 64 MiB: small enough that sparse spaces waste little, large enough that the address is cheap. */
#define CHUNK_SLOTS 32
#define CHUNK_BYTES (CHUNK_SLOTS * TIER_SLOT_BYTES)

/*
 * Rates and temperatures are kept in 255 steps of 39 basis points. A tracker that looks 20 times
 * per sample can't tell less than 500 apart, so nothing is lost, and a GiB costs 1,664 bytes.
 */
#define STEPS 255
#define BP 10000
/* A rate of 1 % or less is as good as none. */
#define ACCESSED_MIN 3
/*
 * state: steadiness in the three low bits; above it the number of samples as long as there
 * are fewer than needed, and from AGE_KNOWN on the idle units on top of it.
 */
#define STEADY_MASK HEAT_STEADY_MAX
#define AGE_SHIFT 3
#define AGE_KNOWN HEAT_SAMPLES_MIN
#define IDLE_MAX (31 - AGE_KNOWN)
/*
 * A sample vouches for the time since the one before, up to this: twice the longest interval
 * between ticks that is usual. Beyond it the tracker was not there.
 */
#define GAP_MAX_US (10 * US_PER_S)
/* ColdAfter may be tiny; a unit of idle time is never less than this. */
#define IDLE_UNIT_MIN_US (50 * US_PER_MS)

struct heat_chunk {
	uint64_t start;
	uint8_t temperature[CHUNK_SLOTS];
	uint8_t last_rate[CHUNK_SLOTS];
	uint8_t state[CHUNK_SLOTS];
};

size_t heat_memory_bytes(const struct heat_space *h)
{
	return h->n_chunks * sizeof(*h->chunks);
}

static uint8_t steps_of_bp(uint64_t bp)
{
	return (uint8_t)((MIN(bp, (uint64_t)BP) * STEPS + BP / 2) / BP);
}

/* ---- which chunks there are ------------------------------------------------------------------ */

static size_t count_chunks(const struct tier_residency *r)
{
	uint64_t last = UINT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < r->n_slots; i++) {
		uint64_t start = round_down_u64(r->slots[i].start, CHUNK_BYTES);

		n += start != last;
		last = start;
	}
	return n;
}

static bool chunks_match(const struct heat_space *h, const struct tier_residency *r)
{
	uint64_t last = UINT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < r->n_slots; i++) {
		uint64_t start = round_down_u64(r->slots[i].start, CHUNK_BYTES);

		if (start == last)
			continue;
		if (n == h->n_chunks || h->chunks[n].start != start)
			return false;
		last = start;
		n++;
	}
	return n == h->n_chunks;
}

/* A new array of exactly the chunks that are needed; those that were there keep their heat. */
static int fit_chunks(struct heat_space *h, const struct tier_residency *r)
{
	struct heat_chunk *chunks;
	size_t n = 0, old = 0;

	if (chunks_match(h, r))
		return 0;
	chunks = calloc(count_chunks(r) + 1, sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_slots; i++) {
		uint64_t start = round_down_u64(r->slots[i].start, CHUNK_BYTES);

		if (n && chunks[n - 1].start == start)
			continue;
		while (old < h->n_chunks && h->chunks[old].start < start)
			old++;
		if (old < h->n_chunks && h->chunks[old].start == start)
			chunks[n] = h->chunks[old];
		chunks[n++].start = start;
	}
	free(h->chunks);
	h->chunks = chunks;
	h->n_chunks = n;
	return 0;
}

/* ---- one sample ------------------------------------------------------------------------------ */

/*
 * Mean rate over the slot, weighted by overlap. False where no region is. *cursor is the first
 * region that may matter; slots come in ascending order.
 */
static bool slot_rate(const struct tier_access *a, uint64_t start, size_t *cursor, uint8_t *ret)
{
	uint64_t end = start + TIER_SLOT_BYTES;
	uint64_t known_bytes = 0, sum = 0;

	while (*cursor < a->n_regions && a->regions[*cursor].end <= start)
		(*cursor)++;
	for (size_t i = *cursor; i < a->n_regions && a->regions[i].start < end; i++) {
		const struct tier_region *r = &a->regions[i];
		uint64_t from = MAX(r->start, start);
		uint64_t to = MIN(r->end, end);

		if (from >= to)
			continue;
		known_bytes += to - from;
		sum += (to - from) * MIN(r->rate_bp, (uint32_t)BP);
	}
	if (!known_bytes)
		return false;
	*ret = steps_of_bp(sum / known_bytes);
	return true;
}

/* Rounded away from where it is, so that it arrives. */
static uint8_t follow(uint8_t temperature, uint8_t low, uint8_t high)
{
	if (low > temperature)
		return (uint8_t)(temperature + (low - temperature + 1) / 2);
	if (high < temperature)
		return (uint8_t)(temperature - (temperature - high + 7) / 8);
	return temperature;
}

static void merge_slot(struct heat_chunk *c, size_t i, uint8_t rate, unsigned int idle_passed,
		       uint8_t strong)
{
	unsigned int steady = c->state[i] & STEADY_MASK;
	unsigned int age = c->state[i] >> AGE_SHIFT;
	uint8_t low = MIN(rate, c->last_rate[i]);
	uint8_t high = MAX(rate, c->last_rate[i]);

	c->temperature[i] = follow(c->temperature[i], low, high);
	c->last_rate[i] = rate;
	steady = c->temperature[i] >= strong ? MIN(steady + 1, STEADY_MASK) : 0;
	if (age < AGE_KNOWN)
		age++;
	else if (low >= ACCESSED_MIN || rate >= strong)
		age = AGE_KNOWN;
	else
		age = MIN(age + idle_passed, AGE_KNOWN + IDLE_MAX);
	c->state[i] = (uint8_t)(age << AGE_SHIFT | steady);
}

/* Whole units that have passed since the last time; the rest stays for the next. */
static unsigned int pass_time(struct heat_space *h, uint64_t now_us)
{
	uint64_t units;

	if (!h->aged_us || now_us < h->aged_us) {
		h->aged_us = now_us;
		return 0;
	}
	if (now_us - h->aged_us > h->idle_unit_us + GAP_MAX_US)
		h->aged_us = now_us - h->idle_unit_us - GAP_MAX_US;
	units = (now_us - h->aged_us) / h->idle_unit_us;
	h->aged_us += units * h->idle_unit_us;
	return (unsigned int)MIN(units, (uint64_t)IDLE_MAX);
}

static void merge_sample(struct heat_space *h, const struct tier_access *a, uint64_t now_us)
{
	unsigned int idle_passed = pass_time(h, now_us);
	uint16_t usual = h->reference_bp;
	/* Half as hot as hot memory usually is; without any, only two samples in a row count. */
	uint8_t strong = usual ? MAX(steps_of_bp(usual / 2), (uint8_t)ACCESSED_MIN) : STEPS;
	size_t cursor = 0;

	for (size_t c = 0; c < h->n_chunks; c++) {
		for (size_t i = 0; i < CHUNK_SLOTS; i++) {
			uint8_t rate;

			if (slot_rate(a, h->chunks[c].start + i * TIER_SLOT_BYTES, &cursor, &rate))
				merge_slot(&h->chunks[c], i, rate, idle_passed, strong);
		}
	}
	h->access_seq = a->seq;
	if (!h->first_us)
		h->first_us = now_us;
}

/* A policy with another ColdAfter: idle times are converted, rounded down. */
static void set_idle_unit(struct heat_space *h, uint64_t cold_after_us)
{
	uint64_t unit_us = MAX(cold_after_us / HEAT_IDLE_UNITS, IDLE_UNIT_MIN_US);
	uint64_t old_us = h->idle_unit_us;

	h->idle_unit_us = unit_us;
	if (!old_us || old_us == unit_us)
		return;
	for (size_t c = 0; c < h->n_chunks; c++) {
		for (size_t i = 0; i < CHUNK_SLOTS; i++) {
			uint8_t *state = &h->chunks[c].state[i];
			uint64_t age = *state >> AGE_SHIFT;

			if (age < AGE_KNOWN)
				continue;
			age = MIN((age - AGE_KNOWN) * old_us / unit_us, (uint64_t)IDLE_MAX);
			*state = (uint8_t)((age + AGE_KNOWN) << AGE_SHIFT |
					   (*state & STEADY_MASK));
		}
	}
}

int heat_update(struct heat_space *h, const struct tier_residency *residency,
		const struct tier_access *access, uint64_t cold_after_us, uint64_t now_us)
{
	if (residency) {
		int r = fit_chunks(h, residency);

		if (r < 0)
			return r;
	}
	set_idle_unit(h, cold_after_us);
	if (access && access->seq != h->access_seq)
		merge_sample(h, access, now_us);
	return 0;
}

bool heat_read(const struct heat_space *h, uint64_t start, struct heat_reading *ret)
{
	uint64_t chunk = round_down_u64(start, CHUNK_BYTES);
	size_t low = 0, high = h->n_chunks;
	const struct heat_chunk *c;
	unsigned int age;
	size_t i;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (h->chunks[middle].start < chunk)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == h->n_chunks || h->chunks[low].start != chunk)
		return false;
	c = &h->chunks[low];
	i = (start - chunk) / TIER_SLOT_BYTES;
	ret->temperature_bp = (uint16_t)(c->temperature[i] * BP / STEPS);
	age = c->state[i] >> AGE_SHIFT;
	ret->samples = (uint8_t)MIN(age, (unsigned int)AGE_KNOWN);
	ret->idle_units = (uint8_t)(age - ret->samples);
	ret->steady = c->state[i] & STEADY_MASK;
	return true;
}
