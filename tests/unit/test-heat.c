// SPDX-License-Identifier: GPL-2.0-or-later
/* The map of temperatures: how samples are merged, what they cost, what counts as hot. */
#include "snapshots.h"

#include "decide/hot.h"

static struct heat_reading read_slot(const struct heat_space *h, unsigned int i)
{
	struct heat_reading r = { 0 };

	assert_true(heat_read(h, slot_at(i), &r));
	return r;
}

struct rig {
	struct heat_space h;
	struct tier_slot slots[SLOTS_MAX];
	struct tier_residency residency;
	struct tier_region regions[16];
	struct tier_access access;
	uint64_t now_us;
	uint64_t cold_after_us;
};

static void rig_init(struct rig *r, unsigned int n_slots)
{
	*r = (struct rig){ .now_us = US_PER_S, .cold_after_us = 8 * US_PER_S };
	for (unsigned int i = 0; i < n_slots; i++) {
		r->slots[i].start = slot_at(i);
		r->slots[i].pages[0] = PAGES_PER_SLOT;
	}
	r->residency = (struct tier_residency){ .n_slots = n_slots, .slots = r->slots };
	r->access.regions = r->regions;
}

static void rig_done(struct rig *r)
{
	free(r->h.chunks);
}

static void feed_regions(struct rig *r)
{
	r->now_us += US_PER_S;
	r->access.seq++;
	assert_int_equal(heat_update(&r->h, &r->residency, &r->access, r->cold_after_us,
				     r->now_us),
			 0);
}

/* One region over everything. */
static void feed(struct rig *r, uint32_t rate_bp)
{
	r->regions[0] = (struct tier_region){ BASE, slot_at(SLOTS_MAX), rate_bp };
	r->access.n_regions = 1;
	feed_regions(r);
}

static void test_follows_a_steady_rate(void **state)
{
	struct rig r;

	rig_init(&r, 4);
	for (unsigned int i = 0; i < 12; i++)
		feed(&r, 5000);
	assert_in_range(read_slot(&r.h, 0).temperature_bp, 4900, 5050);
	for (unsigned int i = 0; i < 60; i++)
		feed(&r, 0);
	assert_int_equal(read_slot(&r.h, 0).temperature_bp, 0);
	/* Both ends of the scale are reached exactly. */
	for (unsigned int i = 0; i < 20; i++)
		feed(&r, 10000);
	assert_int_equal(read_slot(&r.h, 0).temperature_bp, 10000);
	rig_done(&r);
}

static void test_rises_faster_than_it_falls(void **state)
{
	uint16_t top, bottom;
	struct rig r;

	rig_init(&r, 1);
	for (unsigned int i = 0; i < 3; i++)
		feed(&r, 8000);
	top = read_slot(&r.h, 0).temperature_bp;
	assert_true(top >= 5500);
	for (unsigned int i = 0; i < 3; i++)
		feed(&r, 0);
	bottom = read_slot(&r.h, 0).temperature_bp;
	assert_in_range(bottom, top / 2, top - 1);
	rig_done(&r);
}

static void test_one_lost_sample_changes_nothing(void **state)
{
	uint16_t before;
	struct rig r;

	rig_init(&r, 1);
	for (unsigned int i = 0; i < 12; i++)
		feed(&r, 6000);
	before = read_slot(&r.h, 0).temperature_bp;
	for (unsigned int i = 0; i < 20; i++) {
		feed(&r, 0);
		assert_int_equal(read_slot(&r.h, 0).temperature_bp, before);
		feed(&r, 6000);
		feed(&r, 6000);
	}
	rig_done(&r);
}

static void test_one_smeared_sample_changes_nothing(void **state)
{
	struct rig r;

	rig_init(&r, 1);
	for (unsigned int i = 0; i < 20; i++) {
		feed(&r, 0);
		feed(&r, 0);
		feed(&r, 6000);
		assert_int_equal(read_slot(&r.h, 0).temperature_bp, 0);
	}
	rig_done(&r);
}

static void test_regions_are_weighted_by_overlap(void **state)
{
	struct rig r;

	rig_init(&r, 2);
	r.regions[0] = (struct tier_region){ BASE, BASE + TIER_SLOT_BYTES / 4, 8000 };
	r.regions[1] = (struct tier_region){ BASE + TIER_SLOT_BYTES / 4,
					     BASE + 2 * TIER_SLOT_BYTES, 0 };
	r.access.n_regions = 2;
	for (unsigned int i = 0; i < 20; i++)
		feed_regions(&r);
	assert_in_range(read_slot(&r.h, 0).temperature_bp, 1950, 2050);
	assert_int_equal(read_slot(&r.h, 1).temperature_bp, 0);
	rig_done(&r);
}

static void test_what_no_region_covers_is_unknown(void **state)
{
	struct rig r;

	rig_init(&r, 3);
	/* Half of slot 0 is monitored and hot; slot 1 is not monitored at all. */
	r.regions[0] = (struct tier_region){ BASE, BASE + TIER_SLOT_BYTES / 2, 8000 };
	r.regions[1] = (struct tier_region){ slot_at(2), slot_at(3), 4000 };
	r.access.n_regions = 2;
	for (unsigned int i = 0; i < 20; i++)
		feed_regions(&r);
	assert_in_range(read_slot(&r.h, 0).temperature_bp, 7900, 8050);
	assert_int_equal(read_slot(&r.h, 1).samples, 0);
	assert_int_equal(read_slot(&r.h, 1).idle_units, 0);
	assert_in_range(read_slot(&r.h, 2).temperature_bp, 3900, 4050);
	rig_done(&r);
}

static void test_trust_takes_samples(void **state)
{
	struct rig r;

	rig_init(&r, 1);
	for (unsigned int i = 1; i <= 10; i++) {
		feed(&r, 3000);
		assert_int_equal(read_slot(&r.h, 0).samples, MIN(i, (unsigned)HEAT_SAMPLES_MIN));
	}
	rig_done(&r);
}

static void test_same_sample_counts_once(void **state)
{
	struct rig r;

	rig_init(&r, 1);
	feed(&r, 3000);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(heat_update(&r.h, &r.residency, &r.access, r.cold_after_us,
					     r.now_us += US_PER_S),
				 0);
	assert_int_equal(read_slot(&r.h, 0).samples, 1);
	rig_done(&r);
}

static void test_idle_time(void **state)
{
	struct rig r;

	rig_init(&r, 1);
	for (unsigned int i = 0; i < HEAT_SAMPLES_MIN; i++)
		feed(&r, 0);
	/* ColdAfter is 8 s: never said to be idle for that long when it was not. */
	for (unsigned int i = 1; i <= 8; i++) {
		feed(&r, 0);
		assert_true(read_slot(&r.h, 0).idle_units <= HEAT_IDLE_UNITS);
	}
	feed(&r, 0);
	feed(&r, 0);
	assert_true(read_slot(&r.h, 0).idle_units > HEAT_IDLE_UNITS);
	/* One access may be a smeared sample, two in a row are an access. */
	feed(&r, 400);
	assert_true(read_slot(&r.h, 0).idle_units > HEAT_IDLE_UNITS);
	feed(&r, 400);
	assert_int_equal(read_slot(&r.h, 0).idle_units, 0);
	/* A single strong one is believed where it is known what strong means. */
	for (unsigned int i = 0; i < 20; i++)
		feed(&r, 0);
	assert_true(read_slot(&r.h, 0).idle_units > HEAT_IDLE_UNITS);
	r.h.reference_bp = 6000;
	feed(&r, 4000);
	assert_int_equal(read_slot(&r.h, 0).idle_units, 0);
	rig_done(&r);
}

static void test_idle_time_needs_samples(void **state)
{
	struct rig r;

	rig_init(&r, 1);
	for (unsigned int i = 0; i < HEAT_SAMPLES_MIN; i++)
		feed(&r, 0);
	/* The tracker was gone for an hour: what happened meanwhile is not known. */
	r.now_us += 3600 * US_PER_S;
	r.cold_after_us = 60 * US_PER_S;
	feed(&r, 0);
	assert_true(read_slot(&r.h, 0).idle_units <= 2);
	rig_done(&r);
}

static void test_idle_time_survives_a_reload(void **state)
{
	struct rig r;

	rig_init(&r, 1);
	for (unsigned int i = 0; i < 40; i++)
		feed(&r, 0);
	assert_true(read_slot(&r.h, 0).idle_units >= 3 * HEAT_IDLE_UNITS);
	r.cold_after_us = 80 * US_PER_S;
	feed(&r, 0);
	assert_in_range(read_slot(&r.h, 0).idle_units, 1, 2); /* of 20 s each: 35 s */
	rig_done(&r);
}

static void test_chunks_follow_residency(void **state)
{
	struct rig r;

	rig_init(&r, 64);
	for (unsigned int i = 0; i < 12; i++)
		feed(&r, 5000);
	assert_int_equal(r.h.n_chunks, 2);
	/* 1 TiB further on, something else becomes resident; the first 64 MiB go. */
	r.slots[0].start = slot_at(32);
	r.slots[1].start = BASE + (1ULL << 40);
	r.residency.n_slots = 2;
	feed(&r, 5000);
	assert_int_equal(r.h.n_chunks, 2);
	assert_in_range(read_slot(&r.h, 32).temperature_bp, 4900, 5050);
	assert_false(heat_read(&r.h, slot_at(0), &(struct heat_reading){ 0 }));
	assert_true(heat_read(&r.h, BASE + (1ULL << 40), &(struct heat_reading){ 0 }));
	r.residency.n_slots = 0;
	feed(&r, 5000);
	assert_int_equal(r.h.n_chunks, 0);
	rig_done(&r);
}

static void test_memory_per_gib(void **state)
{
	static struct tier_slot slots[512];
	struct tier_residency residency = { .n_slots = 512, .slots = slots };
	struct heat_space h = { 0 };

	for (unsigned int i = 0; i < 512; i++) {
		slots[i].start = slot_at(i);
		slots[i].pages[0] = PAGES_PER_SLOT;
	}
	assert_int_equal(heat_update(&h, &residency, NULL, US_PER_S, US_PER_S), 0);
	print_message("%zu bytes per tracked GiB\n", heat_memory_bytes(&h));
	assert_true(heat_memory_bytes(&h) <= 2 * KiB);
	free(h.chunks);
}

/* ---- what counts as hot ---------------------------------------------------------------------- */

static struct hot_scale scale_of(const struct rig *r, unsigned int n_slots, uint32_t above_bp)
{
	struct hot_scale scale = { .above_bp = above_bp };

	for (unsigned int i = 0; i < n_slots; i++) {
		struct heat_reading reading = read_slot(&r->h, i);

		hot_scale_add(&scale, &reading, PAGES_PER_SLOT, PAGES_PER_SLOT);
	}
	hot_scale_finish(&scale);
	return scale;
}

static enum slot_class class_of(const struct rig *r, unsigned int i, const struct hot_scale *scale)
{
	struct heat_reading unused;

	return hot_classify(&r->h, slot_at(i), scale, &unused);
}

static void test_an_edge_is_not_hot(void **state)
{
	struct hot_scale scale;
	struct rig r;

	rig_init(&r, 64);
	/* Slots 8 to 15 are hot; 16 is warmed by them, 40 is as warm on its own. */
	r.regions[0] = (struct tier_region){ BASE, slot_at(8), 0 };
	r.regions[1] = (struct tier_region){ slot_at(8), slot_at(16), 8000 };
	r.regions[2] = (struct tier_region){ slot_at(16), slot_at(17), 2500 };
	r.regions[3] = (struct tier_region){ slot_at(17), slot_at(40), 0 };
	r.regions[4] = (struct tier_region){ slot_at(40), slot_at(41), 2500 };
	r.regions[5] = (struct tier_region){ slot_at(41), slot_at(64), 0 };
	r.access.n_regions = 6;
	for (unsigned int i = 0; i < 20; i++)
		feed_regions(&r);
	scale = scale_of(&r, 64, 1000);
	assert_int_equal(class_of(&r, 8, &scale), SLOT_HOT);
	assert_int_equal(class_of(&r, 15, &scale), SLOT_HOT);
	assert_int_equal(class_of(&r, 16, &scale), SLOT_BETWEEN);
	assert_int_equal(class_of(&r, 40, &scale), SLOT_HOT);
	assert_int_equal(class_of(&r, 63, &scale), SLOT_COLD);
	rig_done(&r);
}

static void test_an_edge_that_is_half_hot_is_hot_in_the_end(void **state)
{
	struct hot_scale scale;
	struct rig r;

	rig_init(&r, 64);
	r.regions[0] = (struct tier_region){ BASE, slot_at(8), 0 };
	r.regions[1] = (struct tier_region){ slot_at(8), slot_at(16) + TIER_SLOT_BYTES * 6 / 10,
					     8000 };
	r.regions[2] = (struct tier_region){ r.regions[1].end, slot_at(64), 0 };
	r.access.n_regions = 3;
	for (unsigned int i = 0; i < HEAT_SAMPLES_MIN + 1; i++)
		feed_regions(&r);
	scale = scale_of(&r, 64, 1000);
	assert_int_equal(class_of(&r, 15, &scale), SLOT_HOT);
	assert_int_equal(class_of(&r, 16, &scale), SLOT_BETWEEN);
	for (unsigned int i = 0; i < 20; i++) {
		r.h.reference_bp = (uint16_t)scale_of(&r, 64, 1000).reference_bp;
		feed_regions(&r);
	}
	scale = scale_of(&r, 64, 1000);
	assert_int_equal(class_of(&r, 16, &scale), SLOT_HOT);
	rig_done(&r);
}

static void test_uniform(void **state)
{
	struct hot_scale scale;
	struct rig r;

	rig_init(&r, 64);
	for (unsigned int i = 0; i < 20; i++)
		feed(&r, 3000);
	scale = scale_of(&r, 64, 1000);
	assert_true(scale.uniform);
	assert_int_equal(class_of(&r, 30, &scale), SLOT_HOT);
	/* Nothing is hot: nothing is uniformly hot either. */
	scale = scale_of(&r, 64, 5000);
	assert_false(scale.uniform);
	assert_int_equal(class_of(&r, 30, &scale), SLOT_BETWEEN);
	rig_done(&r);
}

static void test_young_memory_is_unknown(void **state)
{
	struct hot_scale scale = { .above_bp = 1000 };
	struct rig r;

	rig_init(&r, 4);
	for (unsigned int i = 1; i < HEAT_SAMPLES_MIN; i++) {
		feed(&r, 9000);
		assert_int_equal(class_of(&r, 0, &scale), SLOT_UNKNOWN);
	}
	feed(&r, 9000);
	assert_int_equal(class_of(&r, 0, &scale), SLOT_HOT);
	rig_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follows_a_steady_rate),
		cmocka_unit_test(test_rises_faster_than_it_falls),
		cmocka_unit_test(test_one_lost_sample_changes_nothing),
		cmocka_unit_test(test_one_smeared_sample_changes_nothing),
		cmocka_unit_test(test_regions_are_weighted_by_overlap),
		cmocka_unit_test(test_what_no_region_covers_is_unknown),
		cmocka_unit_test(test_trust_takes_samples),
		cmocka_unit_test(test_same_sample_counts_once),
		cmocka_unit_test(test_idle_time),
		cmocka_unit_test(test_idle_time_needs_samples),
		cmocka_unit_test(test_idle_time_survives_a_reload),
		cmocka_unit_test(test_chunks_follow_residency),
		cmocka_unit_test(test_memory_per_gib),
		cmocka_unit_test(test_an_edge_is_not_hot),
		cmocka_unit_test(test_an_edge_that_is_half_hot_is_hot_in_the_end),
		cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_young_memory_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
