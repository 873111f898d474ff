// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Golden plans: each tests/golden/plans/NAME.machine describes a machine in a few lines of text,
 * and NAME.plan holds the plan that tierd makes of it. A change of the plans shows up as a diff to be
 * read; GOLDEN=update writes the plans anew.
 *
 * A machine, one statement a line ('#' starts a comment; sizes in MiB, addresses in slots):
 *   node ID RANK TOTAL FREE
 *   distance ID ID DISTANCE
 *   settings HEADROOM BANDWIDTH
 *   tracker none
 *   paused
 *   group NAME MODE FAST_MAX(or -) BANDWIDTH
 *   space GROUP                          a process, the following lines are about the newest one
 *   slots FIRST COUNT NODE PAGES         where it is; PAGES in each slot
 *   heat FIRST COUNT RATE_BP             how it is accessed; not at all elsewhere
 *   ticks N                              samples before the plan (20); ColdAfter is 10 s
 *   manual GROUP RANK                    a rebalance by hand; RANK -1: by heat
 */
#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <setjmp.h>
#include <cmocka.h>

#include "decide/decide.h"
#include "plan/plan.h"
#include "util.h"

#define GROUPS 8
#define SPACES 8
#define SLOTS 512
#define BASE 0x7f0000000000ULL

struct space_text {
	size_t group;
	size_t n_regions;
	struct tier_slot slots[SLOTS];
	struct tier_region regions[SLOTS];
};

struct machine_text {
	struct tier_topology topology;
	struct settings settings;
	struct policy policies[GROUPS];
	struct snapshot_group groups[GROUPS];
	char names[GROUPS][32];
	struct space_text spaces[SPACES];
	size_t n_groups;
	size_t n_spaces;
	enum tier_tracker tracker;
	bool paused;
	unsigned int ticks;
	int manual_group; /* -1: an automatic tick */
	int manual_rank;
};

static const char *source_root(void)
{
	const char *root = getenv("TIERD_SRC");

	return root ? root : ".";
}

/* ---- reading --------------------------------------------------------------------------------- */

static int find_group(const struct machine_text *m, const char *name)
{
	for (size_t i = 0; i < m->n_groups; i++)
		if (!strcmp(m->names[i], name))
			return (int)i;
	fail_msg("no group %s", name);
	return -1;
}

static enum policy_mode parse_mode(const char *text)
{
	static const char *const names[] = { "auto", "observe", "pin-fast", "pin-slow", "off" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], text))
			return (enum policy_mode)i;
	fail_msg("no mode %s", text);
	return MODE_OFF;
}

static void add_node(struct machine_text *m, int id, unsigned int rank, uint64_t total,
		     uint64_t left)
{
	size_t n = m->topology.n_nodes++;

	m->topology.nodes[n] = (struct tier_node){ .id = id, .rank = rank,
						   .total_bytes = total * MiB,
						   .free_bytes = left * MiB };
	for (size_t i = 0; i <= n; i++)
		m->topology.distance[i][n] = m->topology.distance[n][i] = i == n ? 10 : 20;
}

static void add_group(struct machine_text *m, const char *name, const char *mode, const char *max,
		      uint64_t bandwidth)
{
	size_t n = m->n_groups++;

	snprintf(m->names[n], sizeof(m->names[n]), "%s", name);
	m->policies[n] = (struct policy){
		.mode = parse_mode(mode),
		.fast_max = AMOUNT_UNLIMITED,
		.cold_after_us = 10 * US_PER_S,
		.hot_above_bp = 1000,
		.bandwidth_bytes_s = bandwidth * MiB,
		.call_max_us = 20 * US_PER_MS,
	};
	if (strcmp(max, "-"))
		m->policies[n].fast_max.value = strtoull(max, NULL, 10) * MiB;
	m->groups[n] = (struct snapshot_group){
		.cgroup_id = 100 + n, .path = m->names[n], .policy = &m->policies[n]
	};
}

static void add_slots(struct machine_text *m, unsigned int first, unsigned int count, int node,
		      unsigned int pages)
{
	struct space_text *s = &m->spaces[m->n_spaces - 1];
	int index = tier_topology_index(&m->topology, node);

	assert_true(index >= 0 && first + count <= SLOTS);
	for (unsigned int i = first; i < first + count; i++)
		s->slots[i].pages[index] = (uint16_t)(s->slots[i].pages[index] + pages);
	m->groups[s->group].usage.anon_bytes[index] += (uint64_t)count * pages * TIER_PAGE_BYTES;
}

/* Regions cover all of the space: gaps between what is given are cold. */
static void add_heat(struct machine_text *m, unsigned int first, unsigned int count, uint32_t rate)
{
	struct space_text *s = &m->spaces[m->n_spaces - 1];
	uint64_t done = s->n_regions ? s->regions[s->n_regions - 1].end : BASE;
	uint64_t start = BASE + first * TIER_SLOT_BYTES;

	assert_true(start >= done && s->n_regions + 2 < SLOTS);
	if (start > done)
		s->regions[s->n_regions++] = (struct tier_region){ done, start, 0 };
	s->regions[s->n_regions++] = (struct tier_region){
		start, start + count * TIER_SLOT_BYTES, rate
	};
}

static bool parse_machine_line(struct machine_text *m, const char *line)
{
	unsigned long long a, b, c;
	int id, other;

	if (sscanf(line, "node %d %llu %llu %llu", &id, &a, &b, &c) == 4) {
		add_node(m, id, (unsigned int)a, b, c);
	} else if (sscanf(line, "distance %d %d %llu", &id, &other, &a) == 3) {
		int x = tier_topology_index(&m->topology, id);
		int y = tier_topology_index(&m->topology, other);

		m->topology.distance[x][y] = m->topology.distance[y][x] = (uint8_t)a;
	} else if (sscanf(line, "settings %llu %llu", &a, &b) == 2) {
		m->settings.headroom.value = a * MiB;
		m->settings.bandwidth_bytes_s = b * MiB;
	} else if (!strcmp(line, "tracker none")) {
		m->tracker = TIER_TRACKER_NONE;
	} else if (!strcmp(line, "paused")) {
		m->paused = true;
	} else {
		return false;
	}
	return true;
}

static bool parse_group_line(struct machine_text *m, const char *line)
{
	char name[32], mode[16], max[16];
	unsigned long long bandwidth;
	unsigned int a, b, c;
	int d;

	if (sscanf(line, "group %31s %15s %15s %llu", name, mode, max, &bandwidth) == 4)
		add_group(m, name, mode, max, bandwidth);
	else if (sscanf(line, "space %31s", name) == 1)
		m->spaces[m->n_spaces++].group = (size_t)find_group(m, name);
	else if (sscanf(line, "slots %u %u %d %u", &a, &b, &d, &c) == 4)
		add_slots(m, a, b, d, c);
	else if (sscanf(line, "heat %u %u %u", &a, &b, &c) == 3)
		add_heat(m, a, b, c);
	else if (sscanf(line, "ticks %u", &a) == 1)
		m->ticks = a;
	else if (sscanf(line, "manual %31s %d", name, &m->manual_rank) == 2)
		m->manual_group = find_group(m, name);
	else
		return false;
	return true;
}

static struct machine_text *read_machine(const char *path)
{
	struct machine_text *m = calloc(1, sizeof(*m));
	FILE *f = fopen(path, "re");
	char line[256];

	assert_non_null(f);
	assert_non_null(m);
	m->settings = (struct settings){
		.interval_us = US_PER_S,
		.headroom.value = 16 * MiB,
		.bandwidth_bytes_s = GiB,
	};
	m->tracker = TIER_TRACKER_SIM;
	m->ticks = 20;
	m->manual_group = -1;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "#\n")] = '\0';
		if (strspn(line, " ") != strlen(line) && !parse_machine_line(m, line) &&
		    !parse_group_line(m, line))
			fail_msg("%s: cannot read: %s", path, line);
	}
	fclose(f);
	return m;
}

/* ---- running --------------------------------------------------------------------------------- */

struct run {
	struct tier_residency residency[SPACES];
	struct tier_slot slots[SPACES][SLOTS];
	struct tier_access access[SPACES];
	struct snapshot_space spaces[SPACES];
	struct snapshot snapshot;
};

static void fill_space(struct machine_text *m, struct run *r, size_t i)
{
	struct space_text *s = &m->spaces[i];
	size_t n = 0;

	m->n_spaces = MAX(m->n_spaces, i + 1);
	for (size_t slot = 0; slot < SLOTS; slot++) {
		unsigned int pages = 0;

		for (size_t node = 0; node < m->topology.n_nodes; node++)
			pages += s->slots[slot].pages[node];
		if (!pages)
			continue;
		r->slots[i][n] = s->slots[slot];
		r->slots[i][n++].start = BASE + slot * TIER_SLOT_BYTES;
	}
	s->regions[s->n_regions] = (struct tier_region){
		s->n_regions ? s->regions[s->n_regions - 1].end : BASE,
		BASE + SLOTS * TIER_SLOT_BYTES, 0
	};
	r->residency[i] = (struct tier_residency){ .n_slots = n, .slots = r->slots[i] };
	r->access[i] = (struct tier_access){ .n_regions = s->n_regions + 1, .regions = s->regions };
	r->spaces[i] = (struct snapshot_space){
		.id = i + 1,
		.pid = (pid_t)(1000 + i),
		.group = s->group,
		.residency = &r->residency[i],
		.access = &r->access[i],
	};
}

static struct run *make_run(struct machine_text *m)
{
	struct run *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	for (size_t i = 0; i < m->n_spaces; i++)
		fill_space(m, r, i);
	r->snapshot = (struct snapshot){
		.topology = &m->topology,
		.settings = &m->settings,
		.tracker.tracker = m->tracker,
		.paused = m->paused,
		.n_groups = m->n_groups,
		.groups = m->groups,
		.n_spaces = m->n_spaces,
		.spaces = r->spaces,
	};
	return r;
}

static struct plan *plan_of(struct machine_text *m)
{
	struct run *r = make_run(m);
	struct history *h = history_new(US_PER_S);
	struct targets *t = NULL;
	struct plan *plan;

	for (unsigned int tick = 1; tick <= m->ticks; tick++) {
		targets_free(t);
		r->snapshot.now_us = (tick + 1) * US_PER_S;
		for (size_t i = 0; i < m->n_spaces; i++)
			r->access[i].seq = m->tracker == TIER_TRACKER_NONE ? 0 : tick;
		assert_int_equal(decide(&r->snapshot, h, &t), 0);
	}
	if (m->manual_group < 0)
		assert_int_equal(plan_make(&r->snapshot, t, h, &plan), 0);
	else
		assert_int_equal(plan_rebalance(&r->snapshot, t,
						m->groups[m->manual_group].cgroup_id,
						m->manual_rank, &plan),
				 0);
	targets_free(t);
	history_free(h);
	free(r);
	return plan;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void print_batch(FILE *f, const struct machine_text *m, const struct batch *b)
{
	fprintf(f, "%s %s: space %llu of %s, node %d to %d, %llu KiB, headroom %llu MiB\n",
		b->direction == DIRECTION_PROMOTE ? "promote" : "demote", reason_name(b->reason),
		(unsigned long long)b->space_id, m->names[b->cgroup_id - 100], b->source_node,
		b->target_node, (unsigned long long)(b->bytes / KiB),
		(unsigned long long)(b->headroom_bytes / MiB));
	for (size_t i = 0; i < b->n_ranges; i++)
		fprintf(f, "  slots %llu..%llu\n",
			(unsigned long long)((b->ranges[i].start - BASE) / TIER_SLOT_BYTES),
			(unsigned long long)((b->ranges[i].end - BASE) / TIER_SLOT_BYTES - 1));
}

static char *print_plan(const struct machine_text *m, const struct plan *plan)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	for (size_t i = 0; i < plan->n_batches; i++)
		print_batch(f, m, &plan->batches[i]);
	for (size_t i = 0; i < HELD_BACKS; i++)
		if (plan->held_bytes[i])
			fprintf(f, "held back, %s: %llu KiB\n", held_back_name((enum held_back)i),
				(unsigned long long)(plan->held_bytes[i] / KiB));
	fprintf(f, "up %llu KiB, down %llu KiB\n",
		(unsigned long long)(plan->bytes[DIRECTION_PROMOTE] / KiB),
		(unsigned long long)(plan->bytes[DIRECTION_DEMOTE] / KiB));
	fclose(f);
	return text;
}

static char *read_text(const char *path)
{
	char *text = calloc(1, 65536);
	FILE *f = fopen(path, "re");

	assert_non_null(text);
	if (f) {
		text[fread(text, 1, 65535, f)] = '\0';
		fclose(f);
	}
	return text;
}

static void check_plan(const char *machine_path)
{
	struct machine_text *m = read_machine(machine_path);
	struct plan *plan = plan_of(m);
	char *got = print_plan(m, plan);
	char *path = strdup(machine_path);
	char *want;

	strcpy(strrchr(path, '.'), ".plan");
	if (getenv("GOLDEN") && !strcmp(getenv("GOLDEN"), "update")) {
		FILE *f = fopen(path, "we");

		assert_non_null(f);
		fputs(got, f);
		fclose(f);
	}
	want = read_text(path);
	if (strcmp(got, want))
		print_message("%s\n--- wanted\n%s--- got\n%s", path, want, got);
	assert_string_equal(got, want);
	free(want);
	free(path);
	free(got);
	plan_free(plan);
	free(m);
}

static int is_machine(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && !strcmp(dot, ".machine");
}

static void test_golden_plans(void **state)
{
	struct dirent **names;
	char dir[4096], path[4600];
	int n;

	snprintf(dir, sizeof(dir), "%s/tests/golden/plans", source_root());
	n = scandir(dir, &names, is_machine, alphasort);
	assert_true(n >= 10);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		check_plan(path);
		free(names[i]);
	}
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_golden_plans) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
