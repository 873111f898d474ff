// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate-stress [SECONDS [SEED]]: processes that do to their memory whatever a process can do, while a thread of
 * each sends all of it to and fro between nodes 0 and 1. What every page should contain is known at any time, and
 * is compared all the time. Exit status 0 when it always was. For a kernel that checks itself; needs root.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL
#define REGION (16UL << 20)
#define NR_PAGES (REGION / PAGE)
#define HUGE (2UL << 20)
#define PROCESSES 3

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static _Atomic(char *) region;
static atomic_bool stop;
static atomic_ulong moves;
static uint64_t expected[NR_PAGES];
static uint64_t state;
static char *slots[2];

static uint64_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static unsigned below(unsigned n)
{
	return random_number() % n;
}

static uint64_t *word(char *base, size_t page, size_t at)
{
	return (uint64_t *)(base + page * PAGE + at);
}

static void check_page(char *base, size_t page, const char *who)
{
	if (*word(base, page, 0) == expected[page] && *word(base, page, PAGE - 8) == expected[page])
		return;
	printf("%s: page %zu has %lx and %lx, not %lx\n", who, page, (long)*word(base, page, 0),
	       (long)*word(base, page, PAGE - 8), (long)expected[page]);
	exit(1);
}

static void write_page(char *base, size_t page)
{
	expected[page] = random_number() | 1;
	*word(base, page, 0) = expected[page];
	*word(base, page, PAGE - 8) = expected[page];
}

/* Everything to the other node, by one call for a range or with an address per 16 KiB. */
static void *migrate(void *arg)
{
	static void *pages[NR_PAGES / 4];
	static int nodes[NR_PAGES / 4], status[NR_PAGES / 4];
	int node = 0;

	while (!atomic_load(&stop)) {
		char *base = atomic_load(&region);
		unsigned long mask;
		size_t i;

		node = !node;
		mask = 1UL << node;
		if (random() % 2) {
			syscall(SYS_mbind, base, REGION, MPOL_PREFERRED, &mask, sizeof(mask) * 8 + 1, MPOL_MF_MOVE);
		} else {
			for (i = 0; i < NR_PAGES / 4; i++) {
				pages[i] = base + i * 4 * PAGE;
				nodes[i] = node;
			}
			syscall(SYS_move_pages, 0, NR_PAGES / 4, pages, nodes, status,
				random() % 2 ? MPOL_MF_MOVE : MPOL_MF_MOVE_ALL);
		}
		atomic_fetch_add(&moves, 1);
	}
	return arg;
}

static void fork_child(char *base)
{
	pid_t pid = fork();
	unsigned i;

	if (!pid) {
		for (i = 0; i < 64; i++)
			check_page(base, below(NR_PAGES), "child");
		for (i = 0; i < 64; i++)
			write_page(base, below(NR_PAGES));
		for (i = 0; i < NR_PAGES; i++)
			check_page(base, i, "child");
		_exit(0);
	}
	/* What the child writes is not for us; what we write now is not for it. */
	for (i = 0; i < 64; i++)
		write_page(base, below(NR_PAGES));
	if (pid > 0) {
		int status;

		waitpid(pid, &status, 0);
		if (status)
			exit(1);
	}
}

static void act(unsigned what)
{
	char *base = atomic_load(&region);
	size_t first = below(NR_PAGES), nr = 1 + below(below(4) ? 16 : 512), i;

	if (first + nr > NR_PAGES)
		nr = NR_PAGES - first;
	switch (what) {
	case 0: /* drop some */
		madvise(base + first * PAGE, nr * PAGE, MADV_DONTNEED);
		memset(expected + first, 0, nr * sizeof(*expected));
		break;
	case 1: /* protect some, for a while */
		mprotect(base + first * PAGE, nr * PAGE, PROT_READ);
		for (i = first; i < first + nr; i++)
			check_page(base, i, "read-only");
		mprotect(base + first * PAGE, nr * PAGE, PROT_READ | PROT_WRITE);
		break;
	case 2: /* elsewhere; the kernel may merge or split page tables and VMAs over it */
		i = base == slots[0];
		if (mremap(base, REGION, REGION, MREMAP_MAYMOVE | MREMAP_FIXED, slots[i]) != slots[i])
			break;
		atomic_store(&region, slots[i]);
		/* Nobody else may get the place to which we return. */
		mmap(base, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		break;
	case 3:
		fork_child(base);
		break;
	case 4:
		madvise(base + first * PAGE, nr * PAGE, MADV_PAGEOUT);
		break;
	case 5:
		mlock(base + first * PAGE, nr * PAGE);
		munlock(base + first * PAGE, nr * PAGE);
		break;
	case 6:
		madvise(base, REGION, MADV_MERGEABLE);
		break;
	case 7:
		madvise(base, REGION, MADV_UNMERGEABLE);
		break;
	case 8:
		madvise(base + below(REGION / HUGE) * HUGE, HUGE, MADV_COLLAPSE);
		break;
	case 9: /* a fresh piece, with large folios where the kernel gives some */
		i = below(REGION / HUGE) * HUGE;
		madvise(base + i, HUGE, MADV_DONTNEED);
		for (first = i / PAGE; first < (i + HUGE) / PAGE; first++)
			write_page(base, first);
		break;
	default:
		for (i = first; i < first + nr; i++) {
			check_page(base, i, "parent");
			if (below(2))
				write_page(base, i);
		}
	}
}

static int run(time_t end, uint64_t seed)
{
	unsigned long actions = 0;
	pthread_t thread;
	size_t i;

	state = seed;
	srandom(seed);
	/* Aligned to huge pages, and not. */
	for (i = 0; i < 2; i++) {
		slots[i] = mmap(NULL, REGION + 2 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		slots[i] = (char *)(((uintptr_t)slots[i] + HUGE - 1) & ~(HUGE - 1)) + i * 32 * PAGE;
	}
	mmap(slots[0], REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise(slots[0], REGION, MADV_HUGEPAGE);
	atomic_store(&region, slots[0]);
	pthread_create(&thread, NULL, migrate, NULL);
	while (time(NULL) < end) {
		act(below(24));
		actions++;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	for (i = 0; i < NR_PAGES; i++)
		check_page(atomic_load(&region), i, "end");
	printf("seed %lu: %lu actions, %lu moves\n", (long)seed, actions, atomic_load(&moves));
	return 0;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 60);
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	int i, status, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < PROCESSES; i++)
		if (!fork())
			_exit(run(end, seed + i));
	for (i = 0; i < PROCESSES; i++)
		if (wait(&status) > 0 && status)
			failed++;
	printf("%d of %d processes failed\n", failed, PROCESSES);
	return failed != 0;
}
