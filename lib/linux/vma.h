/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_VMA_H
#define TIER_VMA_H

/*
 * The texts that describe a process's mappings, line by line: /proc/PID/maps, numa_maps, smaps and
 * mountinfo. Pure. A line comes without its newline and may have been cut at the right.
 */

#include "linux/linux.h"

/* No process needs to be seen with more shared memory file systems than this. */
#define SHMEM_DEVICES_MAX 64

/* Devices (major << 32 | minor) of file systems whose pages are shared memory. */
struct shmem_devices {
	size_t n;
	uint64_t devices[SHMEM_DEVICES_MAX];
};

static inline uint64_t vma_device(uint64_t major, uint64_t minor)
{
	return major << 32 | (minor & UINT32_MAX);
}

/* One line of maps as struct vma; locked and mempolicy stay false. -EINVAL when it is none. */
int vma_parse_maps(const char *line, size_t size, const struct shmem_devices *shmem,
		   struct vma *ret);

/* What numa_maps says about the mapping that starts at @start. */
struct vma_policy {
	uint64_t start;
	bool strict;  /* bind, interleave, weighted interleave, or one we do not know */
	bool hugetlb;
};

int vma_parse_numa_maps(const char *line, size_t size, struct vma_policy *ret);

enum smaps_line {
	SMAPS_HEADER, /* a new mapping: start and end */
	SMAPS_FLAGS,  /* VmFlags: locked or not */
	SMAPS_OTHER,
};

struct smaps_entry {
	uint64_t start;
	uint64_t end;
	bool locked;
};

/* Fills in what the line tells and leaves the rest of *entry. */
enum smaps_line vma_parse_smaps(const char *line, size_t size, struct smaps_entry *entry);

/* 1 and the device when the mount is a tmpfs, 0 when it is something else, -EINVAL. */
int vma_parse_mountinfo(const char *line, size_t size, uint64_t *ret_device);

/* Joins neighbours that differ in nothing; returns the new number. */
size_t vma_merge(struct vma *vmas, size_t n);

/* Makes what process_read_vmas() remembers of a process: see mappings.c. */
struct vma_facts;
int vma_facts_new(struct vma_facts **ret);
struct vma_facts *vma_facts_free(struct vma_facts *f);

#endif
