// SPDX-License-Identifier: GPL-2.0-only
/*
 * What migration costs, in instructions: the only program of a guest that `measure` boots with -icount, where
 * a turn of the time stamp counter is one instruction. Prints lines for `measure`:
 *
 *   first SIZE INSTRUCTIONS HEADS      move_pages(), one address per folio, of freshly faulted memory
 *   every SIZE INSTRUCTIONS HEADS      the same, with an address for every 4 KiB; HEADS, then the numbers of
 *                                      statuses that are not the target node and of pages not there
 *   trips SIZE INSTRUCTIONS HEADS      ten mbind() passes to and fro, their sum
 *   mixed SIZE INSTRUCTIONS HEADS      like first, with soft-dirty changing from page to page
 *   scattered SIZE INSTRUCTIONS 0      every other base page, one address each
 *   pinned SIZE RETURN 0 WRONG UNMOVED one folio of 512 that cannot be moved
 *
 * INSTRUCTIONS are per 4 KiB page, times 100; HEADS the large folios after it; SIZE in KiB, 2048p for 2 MiB
 * folios mapped by PTEs. Each line is one repetition; whoever reads them takes the minimum.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <x86intrin.h>

#define REGION (32UL << 20)
#define ALIGNMENT (2UL << 20)
#define PAGE 4096UL
#define NR_PAGES (REGION / PAGE)
#define REPETITIONS 5
#define PASSES 10

struct kind {
	const char *name;
	size_t size;
	int by_ptes;
};

static const struct kind kinds[] = {
	{ "4", PAGE, 0 },	 { "64", 64 << 10, 0 },	  { "256", 256 << 10, 0 },
	{ "1024", 1 << 20, 0 }, { "2048p", 2 << 20, 1 }, { "2048", 2 << 20, 0 },
};

static char *map, *mem;
static void *pages[NR_PAGES];
static int nodes[NR_PAGES], status[NR_PAGES];

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("# cannot write %s\n", path);
	close(fd);
}

static void choose_folio_size(size_t size)
{
	char path[128];
	unsigned kb;

	for (kb = 8; kb <= 2048; kb *= 2) {
		snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/hugepages-%ukB/enabled", kb);
		if (!access(path, F_OK))
			write_file(path, kb * 1024 == size ? "always" : "never");
	}
}

static void set_policy(int mode, int node, unsigned flags)
{
	unsigned long mask = 1UL << node;

	if (syscall(SYS_mbind, mem, REGION, mode, &mask, sizeof(mask) * 8 + 1, flags))
		printf("# mbind failed\n");
}

static void make_region(const struct kind *kind)
{
	size_t i;

	choose_folio_size(kind->size);
	map = mmap(NULL, REGION + ALIGNMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mem = (char *)(((uintptr_t)map + ALIGNMENT - 1) & ~(ALIGNMENT - 1));
	set_policy(MPOL_BIND, 0, 0);
	for (i = 0; i < REGION; i += PAGE)
		*(unsigned long *)(mem + i) = i + 1;
	/* khugepaged must not repair anything. */
	madvise(mem, REGION, MADV_NOHUGEPAGE);
	for (i = 0; kind->by_ptes && i < REGION; i += kind->size) {
		mprotect(mem + i, PAGE, PROT_READ);
		mprotect(mem + i, PAGE, PROT_READ | PROT_WRITE);
	}
	for (i = 0; i < REGION; i += PAGE)
		*(unsigned long *)(mem + i) = i + 1;
}

static void drop_region(void)
{
	munmap(map, REGION + ALIGNMENT);
}

static int count_heads(void)
{
	static uint64_t entries[NR_PAGES];
	int pagemap = open("/proc/self/pagemap", O_RDONLY), flags = open("/proc/kpageflags", O_RDONLY), n = 0;
	uint64_t flag;
	size_t i;

	if (pread(pagemap, entries, sizeof(entries), (uintptr_t)mem / PAGE * 8) != sizeof(entries))
		printf("# pagemap failed\n");
	for (i = 0; i < NR_PAGES; i++) {
		if (pread(flags, &flag, 8, (entries[i] & ((1ULL << 55) - 1)) * 8) != 8)
			printf("# kpageflags failed\n");
		n += flag >> 15 & 1;
	}
	close(pagemap);
	close(flags);
	return n;
}

/* Pages that are not on @node or have lost their content. */
static int count_unmoved(int node)
{
	static void *all[NR_PAGES];
	static int where[NR_PAGES];
	int n = 0;
	size_t i;

	for (i = 0; i < NR_PAGES; i++)
		all[i] = mem + i * PAGE;
	syscall(SYS_move_pages, 0, NR_PAGES, all, NULL, where, 0);
	for (i = 0; i < NR_PAGES; i++)
		n += where[i] != node || *(unsigned long *)(mem + i * PAGE) != i * PAGE + 1;
	return n;
}

/* Move with one address per @step; returns instructions per 4 KiB of @moved, times 100. */
static unsigned long timed_move(size_t step, size_t moved, int node, long *ret_rc)
{
	size_t i, nr = REGION / step;
	uint64_t start, end;

	for (i = 0; i < nr; i++) {
		pages[i] = mem + i * step;
		nodes[i] = node;
		status[i] = -999;
	}
	start = __rdtsc();
	*ret_rc = syscall(SYS_move_pages, 0, nr, pages, nodes, status, MPOL_MF_MOVE);
	end = __rdtsc();
	return (end - start) * 100 / (moved / PAGE);
}

static int count_wrong_statuses(size_t step, int node)
{
	size_t i;
	int n = 0;

	for (i = 0; i < REGION / step; i++)
		n += status[i] != node;
	return n;
}

static void report(const char *what, const struct kind *kind, long value, size_t step, int node)
{
	printf("%s %s %ld %d %d %d\n", what, kind->name, value, count_heads(), count_wrong_statuses(step, node),
	       count_unmoved(node));
}

/* One move of a fresh region, with an address every @step bytes. */
static void once(const char *what, const struct kind *kind, size_t step)
{
	unsigned long cost;
	long rc;

	make_region(kind);
	cost = timed_move(step, REGION, 1, &rc);
	report(what, kind, rc ? -1 : (long)cost, step, 1);
	drop_region();
}

static void trips(const struct kind *kind)
{
	uint64_t start, sum = 0;
	int i;

	make_region(kind);
	for (i = 1; i <= PASSES; i++) {
		start = __rdtsc();
		set_policy(MPOL_BIND, i % 2, MPOL_MF_MOVE);
		sum += __rdtsc() - start;
	}
	printf("trips %s %ld %d 0 %d\n", kind->name, (long)(sum * 100 / NR_PAGES), count_heads(),
	       count_unmoved(PASSES % 2));
	drop_region();
}

static void mixed(const struct kind *kind)
{
	unsigned long cost;
	size_t i;
	long rc;

	make_region(kind);
	write_file("/proc/self/clear_refs", "4");
	for (i = 0; i < REGION; i += 2 * PAGE)
		*(unsigned long *)(mem + i) = i + 1;
	cost = timed_move(kind->size, REGION, 1, &rc);
	report("mixed", kind, rc ? -1 : (long)cost, kind->size, 1);
	drop_region();
}

static void scattered(const struct kind *kind)
{
	unsigned long cost;
	long rc;

	make_region(kind);
	cost = timed_move(2 * PAGE, REGION / 2, 1, &rc);
	printf("scattered %s %ld 0 %d 0\n", kind->name, rc ? -1 : (long)cost, count_wrong_statuses(2 * PAGE, 1));
	drop_region();
}

static void pinned(const struct kind *kind)
{
	struct iovec iov = { .iov_len = 1 };
	int fds[2];
	long rc;

	make_region(kind);
	iov.iov_base = mem + REGION / 2;
	if (pipe(fds) || vmsplice(fds[1], &iov, 1, 0) != 1)
		printf("# vmsplice failed\n");
	timed_move(kind->size, REGION, 1, &rc);
	/* RETURN, and without the page that is pinned there should be nothing wrong. */
	printf("pinned %s %ld 0 %d %d\n", kind->name, rc, count_wrong_statuses(kind->size, 1), count_unmoved(1));
	close(fds[0]);
	close(fds[1]);
	drop_region();
}

int main(void)
{
	const int nr = sizeof(kinds) / sizeof(kinds[0]);
	int i, rep;

	setvbuf(stdout, NULL, _IOLBF, 0);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	write_file("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0");
	for (i = 0; i < nr; i++)
		for (rep = 0; rep < REPETITIONS; rep++)
			once("first", &kinds[i], kinds[i].size);
	for (i = 0; i < nr; i++)
		trips(&kinds[i]);
	for (i = 1; i < nr; i++)
		for (rep = 0; rep < 2; rep++)
			once("every", &kinds[i], PAGE);
	for (i = 1; i < nr - 1; i++)
		for (rep = 0; rep < REPETITIONS; rep++)
			mixed(&kinds[i]);
	for (rep = 0; rep < REPETITIONS; rep++)
		scattered(&kinds[0]);
	pinned(&kinds[1]);
	printf("done\n");
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
