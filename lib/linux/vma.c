// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Text of /proc/PID/{maps,numa_maps,smaps,mountinfo} to values, one line at a time. Pure: opens and
 * remembers nothing. Path names are chosen by whoever mapped the file, so nothing is ever looked
 * for from the right end of a line, and a path alone never makes a mapping movable.
 */
#include "linux/vma.h"

#include "linux/scan.h"
#include "util.h"

static bool parse_range(struct scan *s, uint64_t *ret_start, uint64_t *ret_end)
{
	return scan_u64(s, 16, ret_start) && scan_char(s, '-') && scan_u64(s, 16, ret_end) &&
	       *ret_start < *ret_end && *ret_start % TIER_PAGE_BYTES == 0 &&
	       *ret_end % TIER_PAGE_BYTES == 0;
}

struct maps_line {
	bool shared;
	bool writable;
	uint64_t device;
	uint64_t inode;
	struct scan path;
};

static bool parse_maps_rest(struct scan *s, struct maps_line *ret)
{
	struct scan perms = scan_word(s);
	uint64_t offset, major, minor;

	if (perms.end - perms.p != 4)
		return false;
	ret->writable = perms.p[1] == 'w';
	ret->shared = perms.p[3] == 's';
	scan_blanks(s);
	if (!scan_u64(s, 16, &offset))
		return false;
	scan_blanks(s);
	if (!scan_u64(s, 16, &major) || !scan_char(s, ':') || !scan_u64(s, 16, &minor))
		return false;
	scan_blanks(s);
	if (!scan_u64(s, 10, &ret->inode))
		return false;
	ret->device = vma_device(major, minor);
	scan_blanks(s);
	ret->path = *s;
	return true;
}

static bool shmem_has(const struct shmem_devices *shmem, uint64_t device)
{
	for (size_t i = 0; i < shmem->n; i++)
		if (shmem->devices[i] == device)
			return true;
	return false;
}

/*
 * Names in brackets on a mapping without a file come from the kernel, except [anon:…] and
 * [anon_shmem:…], which the process chooses (PR_SET_VMA_ANON_NAME).
 */
static bool kernel_special(struct scan name)
{
	static const char *const ordinary[] = {"[heap]", "[stack", "[anon:"};

	if (scan_done(&name) || *name.p != '[')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++)
		if (scan_text(&name, ordinary[i]))
			return false;
	return true;
}

static enum vma_kind classify(const struct maps_line *l, const struct shmem_devices *shmem)
{
	struct scan name = l->path;

	if (l->inode == 0)
		return kernel_special(l->path) ? VMA_SPECIAL : VMA_PRIVATE;
	/* The name of the kernel's own hugetlbfs mount; a lie here only keeps pages in place. */
	if (scan_text(&name, "/anon_hugepage"))
		return VMA_HUGETLB;
	if (l->shared)
		return shmem_has(shmem, l->device) ? VMA_SHMEM : VMA_FILE;
	return l->writable ? VMA_PRIVATE : VMA_FILE;
}

int vma_parse_maps(const char *line, size_t size, const struct shmem_devices *shmem,
		   struct vma *ret)
{
	struct scan s = scan_begin(line, size);
	struct maps_line l;
	struct vma v = {0};

	if (!parse_range(&s, &v.start, &v.end) || !parse_maps_rest(&s, &l))
		return -EINVAL;
	v.kind = classify(&l, shmem);
	*ret = v;
	return 0;
}

/*
 * numa_maps prints the policy in force, be it the mapping's or the task's. Somebody who said where
 * memory must be is believed in both cases; where it would rather be is only a wish, and tierd's
 * business is to know better. Flags follow the name: "bind=static:0".
 */
static bool policy_strict(struct scan policy)
{
	static const char *const soft[] = {"default", "local", "prefer"};

	for (size_t i = 0; i < ARRAY_SIZE(soft); i++)
		if (scan_text(&policy, soft[i]))
			return false;
	return true;
}

int vma_parse_numa_maps(const char *line, size_t size, struct vma_policy *ret)
{
	struct scan s = scan_begin(line, size);
	struct vma_policy p = {0};
	struct scan word;

	if (!scan_u64(&s, 16, &p.start) || p.start % TIER_PAGE_BYTES)
		return -EINVAL;
	word = scan_word(&s);
	if (scan_done(&word))
		return -EINVAL;
	p.strict = policy_strict(word);
	/* Blanks in file names are escaped here, so a word of its own is the kernel's. */
	for (word = scan_word(&s); !scan_done(&word); word = scan_word(&s))
		if (scan_is(&word, "huge"))
			p.hugetlb = true;
	*ret = p;
	return 0;
}

static bool flags_have(struct scan s, const char *flag)
{
	for (struct scan word = scan_word(&s); !scan_done(&word); word = scan_word(&s))
		if (scan_is(&word, flag))
			return true;
	return false;
}

enum smaps_line vma_parse_smaps(const char *line, size_t size, struct smaps_entry *entry)
{
	struct scan s = scan_begin(line, size);
	uint64_t start, end;

	if (scan_text(&s, "VmFlags:")) {
		entry->locked = flags_have(s, "lo");
		return SMAPS_FLAGS;
	}
	if (!parse_range(&s, &start, &end))
		return SMAPS_OTHER;
	*entry = (struct smaps_entry){.start = start, .end = end};
	return SMAPS_HEADER;
}

/* "36 35 0:27 / /dev/shm rw,nosuid shared:5 - tmpfs tmpfs rw": blanks in names are escaped. */
int vma_parse_mountinfo(const char *line, size_t size, uint64_t *ret_device)
{
	struct scan s = scan_begin(line, size);
	uint64_t major, minor;
	struct scan word;

	scan_word(&s); /* mount id, parent id */
	scan_word(&s);
	scan_blanks(&s);
	if (!scan_u64(&s, 10, &major) || !scan_char(&s, ':') || !scan_u64(&s, 10, &minor))
		return -EINVAL;
	/* Root, mount point and options come first: "-" as a mount's whole name cannot be. */
	for (word = scan_word(&s); !scan_done(&word); word = scan_word(&s)) {
		if (!scan_is(&word, "-"))
			continue;
		word = scan_word(&s);
		*ret_device = vma_device(major, minor);
		return scan_is(&word, "tmpfs");
	}
	return -EINVAL;
}

static bool alike(const struct vma *a, const struct vma *b)
{
	return a->end == b->start && a->kind == b->kind && a->locked == b->locked &&
	       a->mempolicy == b->mempolicy;
}

size_t vma_merge(struct vma *vmas, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && alike(&vmas[kept - 1], &vmas[i]))
			vmas[kept - 1].end = vmas[i].end;
		else
			vmas[kept++] = vmas[i];
	}
	return kept;
}
