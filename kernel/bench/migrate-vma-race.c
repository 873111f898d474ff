// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migrates memory to test_hmm's device while another thread has its page tables freed. Needs a kernel with
 * TEST_HMM and 7.3/repro/migrate-vma-race.patch, which makes the race likely, and root. Exit status 0: the
 * race was run; whether it was lost is in the kernel log ("migrate_vma: collected ...").
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* As in lib/test_hmm_uapi.h, which is not installed. */
struct hmm_dmirror_cmd {
	__u64 addr, ptr, npages, cpages, faults;
};
#define HMM_DMIRROR_MIGRATE_TO_DEV _IOWR('H', 0x02, struct hmm_dmirror_cmd)

#define HUGE (2UL << 20)
#define PAGE 4096UL

static char *mem;
static atomic_bool stop;

/* Frees the page table (PT_RECLAIM), under the mmap lock that migration holds as well. */
static void *zap(void *arg)
{
	const struct timespec pause = { .tv_nsec = 7000000 };

	while (!atomic_load(&stop)) {
		nanosleep(&pause, NULL);
		madvise(mem, HUGE, MADV_DONTNEED);
	}
	return arg;
}

static void choose(const char *size, const char *value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/hugepages-%skB/enabled", size);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		perror(path);
	close(fd);
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10, fd = open("/dev/hmm_dmirror0", O_RDWR);
	time_t end = time(NULL) + seconds;
	unsigned long rounds = 0, moved = 0;
	pthread_t thread;
	char *map, *out;
	size_t i;

	if (fd < 0) {
		perror("/dev/hmm_dmirror0");
		return 77;
	}
	map = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	out = malloc(HUGE);
	mem = (char *)(((uintptr_t)map + HUGE - 1) & ~(HUGE - 1));
	choose("2048", "never");
	choose("64", "always");
	pthread_create(&thread, NULL, zap, NULL);
	while (time(NULL) < end) {
		struct hmm_dmirror_cmd cmd = {
			.addr = (uintptr_t)mem,
			.ptr = (uintptr_t)out,
			.npages = HUGE / PAGE,
		};

		/* Faults on huge device pages have races of their own: have none. */
		madvise(mem, HUGE, MADV_DONTNEED);
		for (i = 0; i < HUGE; i += PAGE)
			mem[i] = 1;
		ioctl(fd, HMM_DMIRROR_MIGRATE_TO_DEV, &cmd);
		moved += cmd.cpages;
		rounds++;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	choose("64", "never");
	printf("%lu rounds, %lu pages migrated\n", rounds, moved);
	return 0;
}
