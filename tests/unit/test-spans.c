// SPDX-License-Identifier: GPL-2.0-or-later
/* Zones to nodes, free blocks; pure but for the last test, which looks at this machine. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "linux/spans.h"
#include "util.h"

static const char two_nodes[] =
	"Node 0, zone      DMA\n"
	"  per-node stats\n"
	"      nr_inactive_anon 1234\n"
	"  pages free     2816\n"
	"        boost    0\n"
	"        min      8\n"
	"        low      10\n"
	"        high     12\n"
	"        spanned  4095\n"
	"        present  3998\n"
	"        managed  3840\n"
	"        protection: (0, 2952, 3911, 3911, 3911)\n"
	"      nr_free_pages 2816\n"
	"  pagesets\n"
	"    cpu: 0\n"
	"              count:    0\n"
	"              high:     14\n"
	"              high_min: 9999\n"
	"  node_unreclaimable:  0\n"
	"  start_pfn:           1\n"
	"Node 0, zone   Normal\n"
	"  pages free     100\n"
	"        high     30\n"
	"        spanned  1000\n"
	"  start_pfn:           4096\n"
	"Node 0, zone  Movable\n"
	"  pages free     0\n"
	"        high     32\n"
	"        spanned  0\n"
	"Node 2, zone  Movable\n"
	"        high     7\n"
	"        spanned  50\n"
	"  start_pfn:           8192\n";

static void test_zoneinfo(void **state)
{
	struct zone zones[ZONES_MAX];
	size_t n;

	assert_int_equal(zoneinfo_parse(two_nodes, strlen(two_nodes), zones, &n), 0);
	assert_int_equal(n, 3);
	assert_true(zones[0].span.start == 1 && zones[0].span.end == 4096);
	assert_int_equal(zones[0].high_pages, 12);
	assert_int_equal(zones[1].high_pages, 30);
	assert_int_equal(zones[1].span.node, 0);
	assert_int_equal(zones[2].span.node, 2);
	assert_true(zones[2].span.start == 8192 && zones[2].span.end == 8242);
}

static void test_zoneinfo_refuses(void **state)
{
	static const char overflow[] = "Node 0, zone DMA\n spanned 18446744073709551615\n start_pfn: 2\n";
	static const char zone[] = "Node 0, zone DMA\n spanned 1\n start_pfn: 2\n";
	struct zone zones[ZONES_MAX];
	char many[(ZONES_MAX + 1) * sizeof(zone)];
	size_t n = 77, size = 0;

	assert_int_equal(zoneinfo_parse("", 0, zones, &n), -EINVAL);
	assert_int_equal(zoneinfo_parse("nonsense\n", 9, zones, &n), -EINVAL);
	assert_int_equal(zoneinfo_parse(overflow, strlen(overflow), zones, &n), -EINVAL);
	for (int i = 0; i < ZONES_MAX + 1; i++, size += strlen(zone))
		memcpy(many + size, zone, strlen(zone));
	assert_int_equal(zoneinfo_parse(many, size, zones, &n), -E2BIG);
	assert_int_equal(n, 77);
	assert_int_equal(zoneinfo_parse(many, size - strlen(zone), zones, &n), 0);
	assert_int_equal(n, ZONES_MAX);
}

/* Node 1 lies in a hole of node 0's span; two zones of node 0 touch. */
static void test_flatten(void **state)
{
	static const struct zone zones[] = {
		{ .span = { 0, 100, 0 } },
		{ .span = { 100, 1000, 0 } },
		{ .span = { 400, 600, 1 } },
		{ .span = { 2000, 2100, 5 } },
	};
	struct span spans[SPANS_MAX];
	size_t n;

	spans_flatten(zones, ARRAY_SIZE(zones), spans, &n);
	assert_int_equal(n, 4);
	assert_true(spans[0].start == 0 && spans[0].end == 400 && spans[0].node == 0);
	assert_true(spans[1].start == 400 && spans[1].end == 600 && spans[1].node == 1);
	assert_true(spans[2].start == 600 && spans[2].end == 1000 && spans[2].node == 0);
	assert_true(spans[3].start == 2000 && spans[3].node == 5);
	spans_flatten(zones, 0, spans, &n);
	assert_int_equal(n, 0);
}

static void test_buddyinfo(void **state)
{
	static const char text[] =
		"Node 0, zone      DMA      0      0      0      0      0      0      0      0      1 "
		"     1      3 \n"
		"Node 0, zone   Normal   6357   3094   1776    960    576    388    255    118     78 "
		"    55    153 \n"
		"Node 10, zone Normal 1 0 0 0 0 0 0 0 0 2 0\n";
	uint64_t blocks[BUDDY_ORDERS];

	assert_int_equal(buddyinfo_parse(text, strlen(text), 0, blocks), 0);
	assert_int_equal(blocks[0], 6357);
	assert_int_equal(blocks[9], 56);
	assert_int_equal(blocks[10], 156);
	assert_int_equal(blocks[11], 0);
	assert_int_equal(buddyinfo_parse(text, strlen(text), 10, blocks), 0);
	assert_true(blocks[0] == 1 && blocks[9] == 2);
	assert_int_equal(buddyinfo_parse(text, strlen(text), 1, blocks), -ENOENT);
	assert_true(blocks[9] == 2); /* untouched on failure */
}

static void test_this_machine(void **state)
{
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY);
	struct node_spans *s;

	assert_int_equal(node_spans_read(proc_fd, &s), 0);
	/* 1 MiB .. 16 MiB is RAM of some node on every x86 machine. */
	assert_true(node_spans_find(s, 0x800) >= 0);
	assert_int_equal(node_spans_find(s, UINT64_MAX >> 12), -1);
	assert_true(node_spans_reserve_bytes(s, node_spans_find(s, 0x800)) > 0);
	assert_int_equal(node_spans_reserve_bytes(s, 1000), 0);
	assert_null(node_spans_free(s));
	close(proc_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zoneinfo),
		cmocka_unit_test(test_zoneinfo_refuses),
		cmocka_unit_test(test_flatten),
		cmocka_unit_test(test_buddyinfo),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
