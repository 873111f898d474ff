/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_UTIL_H
#define TIER_UTIL_H

/* The few helpers that every room uses. No I/O here. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define KiB (1ULL << 10)
#define MiB (1ULL << 20)
#define GiB (1ULL << 30)
#define US_PER_MS 1000ULL
#define US_PER_S 1000000ULL

/* Scope-bound clean-up. A file uses these or goto, never both. */
#define cleanup(f) __attribute__((__cleanup__(f)))

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define DEFINE_CLEANUP(type, func)                \
	static inline void func##p(type *p)       \
	{                                         \
		if (*p)                           \
			func(*p);                 \
	}

static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define STEAL(p) ({ __typeof__(p) taken_ = (p); (p) = NULL; taken_; })

static inline uint64_t round_down_u64(uint64_t v, uint64_t align)
{
	return v - v % align;
}

static inline uint64_t round_up_u64(uint64_t v, uint64_t align)
{
	return round_down_u64(v + align - 1, align);
}

/*
 * Makes room for one more element of a growing array; 0 or -ENOMEM. The array grows by doubling, up
 * to @max elements (-E2BIG).
 */
static inline int array_reserve(void **array, size_t *capacity, size_t n, size_t size, size_t max)
{
	size_t want;
	void *p;

	if (n < *capacity)
		return 0;
	if (n >= max)
		return -E2BIG;
	want = MIN(MAX(*capacity * 2, (size_t)8), max);
	p = reallocarray(*array, want, size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*capacity = want;
	return 0;
}

#endif
