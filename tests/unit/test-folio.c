// SPDX-License-Identifier: GPL-2.0-or-later
/* Folios of this very process as pagemap and kpageflags show them; needs the right to see frames.
 */
#include <time.h>

#include "process-fixture.h"

#define PAGE 4096UL
#define SLOT (2UL << 20)

struct seen {
	size_t n;
	size_t max;
	struct folio folios[2048];
	uint64_t pages;
	uint64_t last_end;
};

static int see(void *userdata, const struct folio *f)
{
	struct seen *s = userdata;

	assert_true(f->pages > 0);
	assert_true(f->address >= s->last_end); /* ascending, never twice */
	s->last_end = f->address + f->pages * PAGE;
	s->pages += f->pages;
	if (s->n < ARRAY_SIZE(s->folios))
		s->folios[s->n] = *f;
	s->n++;
	return s->max && s->n == s->max ? 42 : 0;
}

struct fixture {
	struct linux_machine m;
	struct process *self;
	struct seen seen;
};

static int setup(void **state)
{
	struct fixture *f;

	if (!fixture_possible(true))
		return 0;
	f = calloc(1, sizeof(*f));
	f->m = machine_begin();
	*state = f;
	return process_get(f->m.processes, space_of(f->m.processes, getpid()), &f->self);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (!f)
		return 0;
	process_unref(f->m.processes, f->self);
	machine_end(&f->m);
	free(f);
	return 0;
}

static int walk(struct fixture *f, const void *start, size_t bytes, bool need_orders)
{
	memset(&f->seen, 0, sizeof(f->seen));
	return folio_walk(f->self, f->m.spans, (uintptr_t)start, (uintptr_t)start + bytes,
			  need_orders, see, &f->seen);
}

/* Slot-aligned; what lies around is unmapped again. */
static char *map_slots(size_t slots, int advice)
{
	char *p = mmap(NULL, (slots + 1) * SLOT, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *aligned = (char *)(((uintptr_t)p + SLOT - 1) / SLOT * SLOT);

	assert_true(p != MAP_FAILED);
	if (aligned > p)
		munmap(p, (size_t)(aligned - p));
	munmap(aligned + slots * SLOT, (size_t)(p + SLOT - aligned));
	madvise(aligned, slots * SLOT, advice);
	return aligned;
}

/* A slot that is one 2 MiB folio; skips where the kernel has none to give. */
static char *map_huge(struct fixture *f)
{
	char *p = map_slots(1, MADV_HUGEPAGE);

	memset(p, 1, SLOT);
	assert_int_equal(walk(f, p, SLOT, true), 0);
	if (f->seen.folios[0].order != 9) {
		print_message("skipped: no 2 MiB folio to be had\n");
		skip();
	}
	return p;
}

static void test_base_pages_and_holes(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(2, MADV_NOHUGEPAGE);

	p[0] = p[3 * PAGE] = p[4 * PAGE] = p[SLOT - PAGE] = p[SLOT] = 1;
	assert_int_equal(walk(f, p, 2 * SLOT, true), 0);
	assert_int_equal(f->seen.n, 5);
	assert_int_equal(f->seen.pages, 5);
	assert_ptr_equal(f->seen.folios[1].address, p + 3 * PAGE);
	assert_ptr_equal(f->seen.folios[4].address, p + SLOT);
	for (size_t i = 0; i < 5; i++) {
		const struct folio *x = &f->seen.folios[i];

		assert_true(x->pages == 1 && x->order == 0 && x->whole && x->anon);
		assert_true(x->mapped_once && !x->unmovable && !x->zero_page);
		assert_true(x->pfn > 0 && x->node >= 0);
	}
	munmap(p, 2 * SLOT);
}

static void test_runs_without_orders(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(2, MADV_NOHUGEPAGE);

	memset(p + 10 * PAGE, 1, 700 * PAGE);
	p[SLOT + 300 * PAGE] = 1;
	assert_int_equal(walk(f, p, 2 * SLOT, false), 0);
	assert_int_equal(f->seen.pages, 701);
	assert_ptr_equal(f->seen.folios[0].address, p + 10 * PAGE);
	assert_true(f->seen.n < 701);
	munmap(p, 2 * SLOT);
}

static void test_range_is_kept(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(1, MADV_NOHUGEPAGE);

	memset(p, 1, SLOT);
	for (int orders = 0; orders <= 1; orders++) {
		assert_int_equal(walk(f, p + 5 * PAGE, 7 * PAGE, orders), 0);
		assert_int_equal(f->seen.pages, 7);
		assert_ptr_equal(f->seen.folios[0].address, p + 5 * PAGE);
		assert_int_equal(walk(f, p, 0, orders), 0);
		assert_int_equal(f->seen.n, 0);
	}
	munmap(p, SLOT);
}

static void test_visit_ends_the_walk(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(1, MADV_NOHUGEPAGE);

	memset(p, 1, SLOT);
	memset(&f->seen, 0, sizeof(f->seen));
	f->seen.max = 3;
	assert_int_equal(folio_walk(f->self, f->m.spans, (uintptr_t)p, (uintptr_t)p + SLOT, true,
				    see, &f->seen),
			 42);
	assert_int_equal(f->seen.n, 3);
	munmap(p, SLOT);
}

static void test_huge(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_huge(f);
	const struct folio *x = &f->seen.folios[0];

	assert_int_equal(f->seen.n, 1);
	assert_true(x->pages == 512 && x->whole && x->anon && x->mapped_once && !x->unmovable);
	assert_int_equal(x->pfn % 512, 0);
	/* Cut at its end, it is still whole; cut at its start, it is not. */
	assert_int_equal(walk(f, p, 10 * PAGE, true), 0);
	assert_true(f->seen.n == 1 && x->pages == 10 && x->order == 9 && x->whole);
	assert_int_equal(walk(f, p + 10 * PAGE, SLOT - 10 * PAGE, true), 0);
	assert_true(f->seen.n == 1 && x->pages == 502 && x->order == 9 && !x->whole);
	munmap(p, SLOT);
}

/* A hole in the middle: both parts belong to one folio and neither is all of it. */
static void test_huge_with_a_hole(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_huge(f);

	madvise(p + 100 * PAGE, PAGE, MADV_DONTNEED);
	assert_int_equal(walk(f, p, SLOT, true), 0);
	/* The kernel may split such a folio at any time; then there are base pages. */
	assert_int_equal(f->seen.pages, 511);
	for (size_t i = 0; i < f->seen.n && i < 2; i++)
		assert_true(f->seen.folios[i].order == 0 || !f->seen.folios[i].whole);
	munmap(p, SLOT);
}

/* Moved to where it lies across slots, a folio is still seen as one. */
static void test_huge_across_slots(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_huge(f), *to = map_slots(3, MADV_NOHUGEPAGE);
	char *at = to + 77 * PAGE;

	assert_ptr_equal(mremap(p, SLOT, SLOT, MREMAP_MAYMOVE | MREMAP_FIXED, at), at);
	to[0] = 1;
	to[3 * SLOT - PAGE] = 1;
	assert_int_equal(walk(f, to, 3 * SLOT, true), 0);
	assert_int_equal(f->seen.pages, 514);
	assert_int_equal(f->seen.n, 3);
	assert_ptr_equal(f->seen.folios[1].address, at);
	assert_true(f->seen.folios[1].order == 9 && f->seen.folios[1].whole);
	assert_int_equal(f->seen.folios[1].pages, 512);
	munmap(to, 3 * SLOT);
}

static void test_zero_page(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(1, MADV_NOHUGEPAGE);

	assert_int_equal(*(volatile char *)p, 0);
	assert_int_equal(walk(f, p, SLOT, true), 0);
	assert_int_equal(f->seen.n, 1);
	if (!f->seen.folios[0].zero_page) {
		print_message("skipped: this kernel gives a page of its own to a mere read\n");
		munmap(p, SLOT);
		skip();
	}
	assert_false(f->seen.folios[0].mapped_once);
	munmap(p, SLOT);
}

/* After fork() the pages are mapped by two, until the child is gone. */
static void test_shared_after_fork(void **state)
{
	struct fixture *f = fixture(state);
	char *p = map_slots(1, MADV_NOHUGEPAGE);
	pid_t pid;

	memset(p, 1, 4 * PAGE);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(walk(f, p, SLOT, true), 0);
	assert_int_equal(f->seen.n, 4);
	assert_true(f->seen.folios[0].anon && !f->seen.folios[0].mapped_once);
	reap(pid);
	assert_int_equal(walk(f, p, SLOT, true), 0);
	assert_true(f->seen.folios[0].mapped_once);
	munmap(p, SLOT);
}

static void test_shmem(void **state)
{
	struct fixture *f = fixture(state);
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, 2 * PAGE);
	assert_int_equal(walk(f, p, 4 * PAGE, true), 0);
	assert_int_equal(f->seen.n, 2);
	assert_true(!f->seen.folios[0].anon && f->seen.folios[0].mapped_once);
	munmap(p, 4 * PAGE);
}

/* 100 GiB of nothing with a page here and there. */
static void test_sparse(void **state)
{
	struct fixture *f = fixture(state);
	const size_t slots = 100UL << 9;
	char *p = map_slots(slots, MADV_NOHUGEPAGE);
	struct timespec begin, end;
	double ms;

	for (size_t i = 0; i < slots; i += 256)
		p[i * SLOT + 17 * PAGE] = 1;
	for (int orders = 0; orders <= 1; orders++) {
		clock_gettime(CLOCK_MONOTONIC, &begin);
		assert_int_equal(walk(f, p, slots * SLOT, orders), 0);
		clock_gettime(CLOCK_MONOTONIC, &end);
		ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 +
		     (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
		assert_int_equal(f->seen.n, slots / 256);
		print_message("100 GiB with %zu pages %s orders: %.1f ms\n", slots / 256,
			      orders ? "with" : "without", ms);
		assert_true(ms < 1000);
	}
	munmap(p, slots * SLOT);
}

static void test_refuses(void **state)
{
	struct fixture *f = fixture(state);

	assert_int_equal(folio_walk(f->self, f->m.spans, 1, PAGE, true, see, &f->seen), -EINVAL);
	assert_int_equal(folio_walk(f->self, f->m.spans, 2 * PAGE, PAGE, true, see, &f->seen),
			 -EINVAL);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_base_pages_and_holes),
		TEST(test_runs_without_orders),
		TEST(test_range_is_kept),
		TEST(test_visit_ends_the_walk),
		TEST(test_huge),
		TEST(test_huge_with_a_hole),
		TEST(test_huge_across_slots),
		TEST(test_zero_page),
		TEST(test_shared_after_fork),
		TEST(test_shmem),
		TEST(test_sparse),
		TEST(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
