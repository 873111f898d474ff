/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef VM_PROGRAMS_COMMON_H
#define VM_PROGRAMS_COMMON_H

/* What both programs need: system calls that glibc does not wrap, and arguments. */

#include <errno.h>
#include <err.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096UL
#define NODES 64 /* ids that a mask of one word can name */

#define MPOL_DEFAULT 0
#define MPOL_BIND 2

/* Exit status for a wrong command line. */
#define EXIT_USAGE 2

static inline long set_mempolicy_node(int mode, int node)
{
	unsigned long mask = node < 0 ? 0 : 1UL << node;

	/* The kernel takes one less than it is told. */
	return syscall(SYS_set_mempolicy, mode, node < 0 ? NULL : &mask, NODES + 1);
}

/* A number in the given base, with K, M or G behind it. */
static inline bool parse_number(const char *text, int base, uint64_t *ret, const char **ret_end)
{
	uint64_t shift = 0;
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, base);
	if (errno || end == text || *text == '-')
		return false;
	if (*end == 'K' || *end == 'M' || *end == 'G')
		shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
	if (shift && *ret > UINT64_MAX >> shift)
		return false;
	*ret <<= shift;
	*ret_end = shift ? end + 1 : end;
	return true;
}

static inline uint64_t number_or_die(const char *text, int base)
{
	const char *end;
	uint64_t v;

	if (!parse_number(text, base, &v, &end) || *end)
		errx(EXIT_USAGE, "not a number: %s", text);
	return v;
}

#endif
