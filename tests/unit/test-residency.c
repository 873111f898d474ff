// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages by slot and node: the counting, and what this very process looks like. */
#include <sys/prctl.h>
#include <time.h>

#include "process-fixture.h"
#include "linux/residency.h"

#define PAGE 4096UL
#define SLOT (2UL << 20)

static void test_slot_list(void **state)
{
	struct slot_list l = {0};

	assert_int_equal(slot_list_add(&l, 3 * SLOT + 5 * PAGE, 7, 0), 0);
	assert_int_equal(slot_list_add(&l, 3 * SLOT + 12 * PAGE, 1, 2), 0);
	assert_int_equal(slot_list_add(&l, 4 * SLOT - PAGE, 1 + 512 + 3, 1), 0);
	assert_int_equal(slot_list_add(&l, 9 * SLOT, 1, 1), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.pages, 7 + 1 + 516 + 1);
	assert_true(l.slots[0].start == 3 * SLOT);
	assert_int_equal(l.slots[0].pages[0], 7);
	assert_int_equal(l.slots[0].pages[1], 1);
	assert_int_equal(l.slots[0].pages[2], 1);
	assert_true(l.slots[1].start == 4 * SLOT && l.slots[1].pages[1] == 512);
	assert_true(l.slots[2].start == 5 * SLOT && l.slots[2].pages[1] == 3);
	assert_true(l.slots[3].start == 9 * SLOT && l.slots[3].pages[1] == 1);
	free(l.slots);
}

static void test_node_index(void **state)
{
	struct node_set online = {0};
	int16_t index[NODE_ID_MAX + 1];

	node_set_add(&online, 0);
	node_set_add(&online, 3);
	node_set_add(&online, 1023);
	assert_int_equal(node_index_make(&online, index), 0);
	assert_int_equal(index[0], 0);
	assert_int_equal(index[1], -1);
	assert_int_equal(index[3], 1);
	assert_int_equal(index[1023], 2);
	for (int id = 100; id < 100 + TIER_NODES_MAX; id++)
		node_set_add(&online, id);
	assert_int_equal(node_index_make(&online, index), -E2BIG);
}

static void test_movable(void **state)
{
	assert_true(vma_movable(&(struct vma){.kind = VMA_PRIVATE}));
	assert_true(vma_movable(&(struct vma){.kind = VMA_SHMEM}));
	assert_false(vma_movable(&(struct vma){.kind = VMA_FILE}));
	assert_false(vma_movable(&(struct vma){.kind = VMA_HUGETLB}));
	assert_false(vma_movable(&(struct vma){.kind = VMA_SPECIAL}));
	assert_false(vma_movable(&(struct vma){.kind = VMA_PRIVATE, .locked = true}));
	assert_false(vma_movable(&(struct vma){.kind = VMA_SHMEM, .mempolicy = true}));
}

/* ---- this process -------------------------------------------------------------------------- */

static struct tier_residency *read_self(struct linux_machine *m)
{
	struct tier_residency *r;

	assert_int_equal(linux_residency_read(m, space_of(m->processes, getpid()), &r), 0);
	for (size_t i = 1; i < r->n_slots; i++)
		assert_true(r->slots[i - 1].start < r->slots[i].start);
	return r;
}

static uint64_t pages_in(const struct tier_residency *r, const void *start, size_t bytes)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < r->n_slots; i++)
		if (r->slots[i].start >= (uintptr_t)start &&
		    r->slots[i].start < (uintptr_t)start + bytes)
			for (size_t k = 0; k < TIER_NODES_MAX; k++)
				pages += r->slots[i].pages[k];
	return pages;
}

static uint64_t excluded_in(const struct tier_residency *r)
{
	uint64_t bytes = 0;

	for (size_t k = 0; k < TIER_NODES_MAX; k++)
		bytes += r->excluded_bytes[k];
	return bytes;
}

static char *map_slots(size_t slots)
{
	char *p = mmap(NULL, (slots + 2) * SLOT, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(p != MAP_FAILED);
	return (char *)(((uintptr_t)p + SLOT - 1) / SLOT * SLOT);
}

static void test_self(void **state)
{
	struct linux_machine m;
	struct tier_residency *r;
	char *p = map_slots(8), *locked = map_slots(1);
	uint64_t excluded;

	need_frames();
	m = machine_begin();
	memset(p + SLOT + 3 * PAGE, 1, 5 * PAGE);
	memset(p + 4 * SLOT, 1, 2 * SLOT);
	r = read_self(&m);
	assert_int_equal(pages_in(r, p, SLOT), 0);
	assert_int_equal(pages_in(r, p + SLOT, SLOT), 5);
	assert_int_equal(pages_in(r, p + 2 * SLOT, 2 * SLOT), 0);
	assert_int_equal(pages_in(r, p + 4 * SLOT, SLOT), 512);
	assert_int_equal(pages_in(r, p, 8 * SLOT), 1029);
	excluded = excluded_in(r);
	tier_residency_free(r);
	/* Not mlock(): under AddressSanitizer that does nothing. */
	if (syscall(SYS_mlock, locked, SLOT) == 0) {
		process_table_free(m.processes); /* and what it remembers of policies and locks */
		assert_int_equal(process_table_new(m.proc_fd, &m.processes), 0);
		r = read_self(&m);
		assert_int_equal(pages_in(r, locked, SLOT), 0);
		assert_true(excluded_in(r) >= excluded + SLOT / 2);
		tier_residency_free(r);
	}
	machine_end(&m);
}

/* Neither what a child shares with us nor what was only read counts as ours to move. */
static void test_not_ours(void **state)
{
	struct linux_machine m;
	struct tier_residency *r;
	char *p = map_slots(2);
	pid_t pid;

	need_frames();
	m = machine_begin();
	madvise(p, 2 * SLOT, MADV_NOHUGEPAGE);
	memset(p, 1, 4 * PAGE);
	assert_int_equal(*(volatile char *)(p + SLOT), 0);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	p[0] = 2; /* this page is ours again */
	r = read_self(&m);
	assert_int_equal(pages_in(r, p, SLOT), 1);
	assert_int_equal(pages_in(r, p + SLOT, SLOT), 0);
	tier_residency_free(r);
	reap(pid);
	machine_end(&m);
}

static void test_ended(void **state)
{
	struct linux_machine m = machine_begin();
	struct tier_residency *r = NULL;
	pid_t pid = fork();
	uint64_t id;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	id = space_of(m.processes, pid);
	reap(pid);
	assert_int_equal(linux_residency_read(&m, id, &r), -ESRCH);
	assert_int_equal(linux_residency_read(&m, 12345, &r), -ESRCH);
	assert_null(r);
	m.recorded = true;
	assert_int_equal(linux_residency_read(&m, id, &r), -EROFS);
	machine_end(&m);
}

/* Frames hidden from us are an error, not an empty answer. */
static void test_no_right(void **state)
{
	struct linux_machine m;
	struct tier_residency *r = NULL;
	pid_t pid;
	int status;

	need_frames();
	pid = fork();
	if (pid == 0) {
		m = machine_begin();
		if (setresuid(65534, 65534, 65534) != 0)
			_exit(2);
		prctl(PR_SET_DUMPABLE, 1);
		_exit(linux_residency_read(&m, space_of(m.processes, getpid()), &r) == -EPERM ? 0
											      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static double ms_since(const struct timespec *begin)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	return (double)(end.tv_sec - begin->tv_sec) * 1e3 +
	       (double)(end.tv_nsec - begin->tv_nsec) / 1e6;
}

/* 100 GiB of address space, 256 MiB of it resident. */
static void test_cost(void **state)
{
	struct linux_machine m;
	struct timespec begin;
	char *p = map_slots(100UL << 9);

	need_frames();
	m = machine_begin();
	madvise(p, 100UL << 30, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < 256UL << 20; i += PAGE)
		p[i] = 1;
	for (size_t i = 200; i < 100UL << 9; i += 200)
		p[i * SLOT] = 1;
	for (int i = 0; i < 2; i++) {
		struct tier_residency *r;
		double ms;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		r = read_self(&m);
		ms = ms_since(&begin);
		print_message("100 GiB mapped, 256 MiB resident, %s: %.1f ms\n",
			      i ? "again" : "first time", ms);
		assert_int_equal(pages_in(r, p, 256UL << 20), 65536);
		assert_true(ms < 2000);
		tier_residency_free(r);
	}
	machine_end(&m);
	munmap(p, 100UL << 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slot_list), cmocka_unit_test(test_node_index),
		cmocka_unit_test(test_movable),	  cmocka_unit_test(test_self),
		cmocka_unit_test(test_not_ours),  cmocka_unit_test(test_ended),
		cmocka_unit_test(test_no_right),  cmocka_unit_test(test_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
