// SPDX-License-Identifier: GPL-2.0-or-later
/* Mapping texts to values, and the mappings of this very process as the kernel shows them. */
#include <fcntl.h>
#include <numaif.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "linux/linux.h"
#include "linux/vma.h"
#include "util.h"

static const struct shmem_devices shmem = {.n = 1, .devices = {1}};

static struct vma maps(const char *line)
{
	struct vma v;

	assert_int_equal(vma_parse_maps(line, strlen(line), &shmem, &v), 0);
	return v;
}

static enum vma_kind kind(const char *line)
{
	return maps(line).kind;
}

static void test_maps_numbers(void **state)
{
	struct vma v = maps("7f0000000000-7f0000200000 rw-p 00000000 00:00 0 ");

	assert_true(v.start == 0x7f0000000000 && v.end == 0x7f0000200000);
	assert_false(v.locked || v.mempolicy);
	assert_int_equal(v.kind, VMA_PRIVATE);
}

static void test_maps_kinds(void **state)
{
	assert_int_equal(kind("1000-2000 rw-p 00000000 00:00 0          [heap]"), VMA_PRIVATE);
	assert_int_equal(kind("1000-2000 rw-p 00000000 00:00 0          [stack]"), VMA_PRIVATE);
	assert_int_equal(kind("1000-2000 rw-p 00000000 00:00 0          [stack:12]"), VMA_PRIVATE);
	assert_int_equal(kind("1000-2000 rw-p 00000000 00:00 0          [anon:vdso]"), VMA_PRIVATE);
	assert_int_equal(kind("1000-2000 ---p 00000000 00:00 0"), VMA_PRIVATE);
	assert_int_equal(kind("1000-2000 r--p 00000000 00:00 0          [vvar]"), VMA_SPECIAL);
	assert_int_equal(kind("1000-2000 r-xp 00000000 00:00 0          [vdso]"), VMA_SPECIAL);
	assert_int_equal(kind("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]"),
			 VMA_SPECIAL);
	assert_int_equal(kind("1000-2000 r-xp 00000000 fe:00 7          /lib/x.so"), VMA_FILE);
	assert_int_equal(kind("1000-2000 rw-p 00000000 fe:00 7          /lib/x.so"), VMA_PRIVATE);
	assert_int_equal(kind("1000-2000 rw-s 00000000 fe:00 7          /var/db"), VMA_FILE);
	assert_int_equal(kind("1000-2000 rw-s 00000000 00:01 7     /dev/zero (deleted)"),
			 VMA_SHMEM);
	assert_int_equal(kind("1000-2000 rw-s 00000000 00:01 7     /SYSV00000000 (deleted)"),
			 VMA_SHMEM);
	assert_int_equal(kind("1000-2000 rw-p 00000000 00:0f 7     /anon_hugepage (deleted)"),
			 VMA_HUGETLB);
}

/* A path is whatever the process likes: it must not look like shared memory or end the line. */
static void test_maps_hostile_paths(void **state)
{
	assert_int_equal(kind("1000-2000 rw-s 00000000 fe:00 7     /dev/zero (deleted)"), VMA_FILE);
	assert_int_equal(kind("1000-2000 rw-s 00000000 fe:00 7     /a 1000-2000 rw-p 0 00:00 0"),
			 VMA_FILE);
	assert_int_equal(kind("1000-2000 rw-s 00000000 fe:00 7     /x\\012[vdso]"), VMA_FILE);
	assert_int_equal(kind("1000-2000 rw-s 00000000 00:01 7     "), VMA_SHMEM);
}

static void test_maps_refuses(void **state)
{
	static const char *const bad[] = {
		"",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 rw-p",
		"1000-2000 rw-p 00000000 00:00",
		"1000-2000 rw 00000000 00:00 0",
		"2000-1000 rw-p 00000000 00:00 0",
		"1000-1000 rw-p 00000000 00:00 0",
		"1001-2000 rw-p 00000000 00:00 0",
		"1000-12345678901234567 rw-p 00000000 00:00 0",
		"-1000-2000 rw-p 00000000 00:00 0",
		"1000-2000 rw-p 00000000 0000 0",
	};
	struct vma v;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(vma_parse_maps(bad[i], strlen(bad[i]), &shmem, &v), -EINVAL);
}

static struct vma_policy policy(const char *line)
{
	struct vma_policy p;

	assert_int_equal(vma_parse_numa_maps(line, strlen(line), &p), 0);
	return p;
}

static void test_numa_maps(void **state)
{
	struct vma_policy p;

	assert_true(policy("7f000 default").start == 0x7f000);
	assert_int_equal(vma_parse_numa_maps("7f00 default", 12, &p), -EINVAL);
	assert_false(policy("7f000 default file=/usr/bin/cat mapped=2 N0=2").strict);
	assert_false(policy("7f000 local anon=1").strict);
	assert_false(policy("7f000 prefer:1 anon=1").strict);
	assert_false(policy("7f000 prefer (many):0-1 anon=1").strict);
	assert_false(policy("7f000 prefer=static:1 anon=1").strict);
	assert_true(policy("7f000 bind:0 anon=1").strict);
	assert_true(policy("7f000 bind=static:0-1 anon=1").strict);
	assert_true(policy("7f000 interleave:0-1").strict);
	assert_true(policy("7f000 weighted interleave:0-1").strict);
	assert_true(policy("7f000 something-new:0-1").strict);
	assert_true(policy("7f000 default file=/anon_hugepage\\040(deleted) huge dirty=1").hugetlb);
	assert_false(policy("7f000 default file=/tmp/\\040huge\\040 anon=1").hugetlb);
	assert_int_equal(vma_parse_numa_maps("7f000", 5, &p), -EINVAL);
	assert_int_equal(vma_parse_numa_maps("", 0, &p), -EINVAL);
	assert_int_equal(vma_parse_numa_maps("zz default", 10, &p), -EINVAL);
}

static enum smaps_line smaps(const char *line, struct smaps_entry *e)
{
	return vma_parse_smaps(line, strlen(line), e);
}

static void test_smaps(void **state)
{
	struct smaps_entry e = {0};

	assert_int_equal(smaps("1000-3000 rw-p 00000000 00:00 0  [heap]", &e), SMAPS_HEADER);
	assert_true(e.start == 0x1000 && e.end == 0x3000 && !e.locked);
	assert_int_equal(smaps("Anonymous:             8 kB", &e), SMAPS_OTHER);
	assert_int_equal(smaps("VmFlags: rd wr mr mw me lo ac sd ", &e), SMAPS_FLAGS);
	assert_true(e.start == 0x1000 && e.locked);
	assert_int_equal(smaps("4000-5000 rw-p 00000000 00:00 0", &e), SMAPS_HEADER);
	assert_false(e.locked);
	assert_int_equal(smaps("VmFlags: rd wr mr mw me ac sd lof", &e), SMAPS_FLAGS);
	assert_false(e.locked);
}

static void test_mountinfo(void **state)
{
	static const char shm[] =
		"27 24 0:25 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw,size=1k";
	static const char ext[] = "1 0 254:3 / / rw - ext4 /dev/vda rw";
	static const char odd[] = "9 0 0:9 / /a\\040-\\040tmpfs rw - fuse x rw";
	uint64_t device = 0;

	assert_int_equal(vma_parse_mountinfo(shm, strlen(shm), &device), 1);
	assert_true(device == 25);
	assert_int_equal(vma_parse_mountinfo(ext, strlen(ext), &device), 0);
	assert_true(device == vma_device(254, 3));
	assert_int_equal(vma_parse_mountinfo(odd, strlen(odd), &device), 0);
	assert_int_equal(vma_parse_mountinfo("1 0 1:", 6, &device), -EINVAL);
	assert_int_equal(vma_parse_mountinfo("1 0 0:2 / / rw", 14, &device), -EINVAL);
}

static void test_merge(void **state)
{
	struct vma v[] = {
		{.start = 0x1000, .end = 0x2000, .kind = VMA_PRIVATE},
		{.start = 0x2000, .end = 0x4000, .kind = VMA_PRIVATE},
		{.start = 0x4000, .end = 0x5000, .kind = VMA_PRIVATE, .locked = true},
		{.start = 0x5000, .end = 0x6000, .kind = VMA_FILE},
		{.start = 0x7000, .end = 0x8000, .kind = VMA_FILE},
	};

	assert_int_equal(vma_merge(v, ARRAY_SIZE(v)), 4);
	assert_true(v[0].start == 0x1000 && v[0].end == 0x4000);
	assert_true(v[1].locked && v[1].start == 0x4000);
	assert_true(v[2].end == 0x6000 && v[3].start == 0x7000);
	assert_int_equal(vma_merge(v, 0), 0);
}

/* ---- this process -------------------------------------------------------------------------- */

static const struct vma *find(const struct vma *vmas, size_t n, const void *address)
{
	for (size_t i = 0; i < n; i++)
		if (vmas[i].start <= (uintptr_t)address && (uintptr_t)address < vmas[i].end)
			return &vmas[i];
	fail_msg("%p is not mapped", address);
	return NULL;
}

static char *map(int prot, int flags, int fd)
{
	char *p = mmap(NULL, 16 * TIER_PAGE_BYTES, prot, flags, fd, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void check_order(const struct vma *vmas, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(vmas[i].start < vmas[i].end);
		if (i > 0)
			assert_true(vmas[i - 1].end <= vmas[i].start);
	}
}

static void test_own_mappings(void **state)
{
	struct process p = {
		.pidfd = -1,
		.proc_fd = open("/proc/self", O_PATH | O_DIRECTORY),
	};
	unsigned long node0 = 1;
	int exe = open("/proc/self/exe", O_RDONLY), memfd = memfd_create("x", 0);
	char *private = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *guard = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *shared = map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
	char *file = map(PROT_READ, MAP_SHARED, exe), *mem = map(PROT_READ, MAP_SHARED, memfd);
	char *locked = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *bound = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *wish = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	bool is_locked, is_bound;
	struct vma *v;
	size_t n;

	/* Not mlock(): under AddressSanitizer that does nothing. */
	is_locked = syscall(SYS_mlock, locked, TIER_PAGE_BYTES) == 0;
	is_bound = mbind(bound, 16 * TIER_PAGE_BYTES, MPOL_BIND, &node0, 64, 0) == 0;
	if (is_bound)
		assert_int_equal(mbind(wish, 16 * TIER_PAGE_BYTES, MPOL_PREFERRED, &node0, 64, 0),
				 0);
	assert_int_equal(vma_facts_new(&p.facts), 0);
	assert_int_equal(process_read_vmas(&p, &v, &n), 0);
	check_order(v, n);
	assert_int_equal(find(v, n, private)->kind, VMA_PRIVATE);
	assert_int_equal(find(v, n, guard)->kind, VMA_PRIVATE);
	assert_int_equal(find(v, n, &n)->kind, VMA_PRIVATE); /* the stack */
	assert_int_equal(find(v, n, shared)->kind, VMA_SHMEM);
	assert_int_equal(find(v, n, mem)->kind, VMA_SHMEM);
	assert_int_equal(find(v, n, file)->kind, VMA_FILE);
	assert_int_equal(find(v, n, (void *)(uintptr_t)test_own_mappings)->kind, VMA_FILE);
	assert_int_equal(find(v, n, locked)->locked, is_locked);
	assert_false(find(v, n, locked + TIER_PAGE_BYTES)->locked);
	assert_int_equal(find(v, n, bound)->mempolicy, is_bound);
	assert_false(find(v, n, wish)->mempolicy || find(v, n, private)->mempolicy);
	free(v);
	/* What is remembered may be old; what is mapped is not. */
	munmap(private, 16 * TIER_PAGE_BYTES);
	assert_int_equal(process_read_vmas(&p, &v, &n), 0);
	for (size_t i = 0; i < n; i++)
		assert_false(v[i].start <= (uintptr_t) private && (uintptr_t) private < v[i].end);
	assert_int_equal(find(v, n, bound)->mempolicy, is_bound);
	free(v);
	/* A policy of the whole task is seen at once, and so is its end. */
	for (int mode = MPOL_BIND; is_bound && mode >= 0; mode -= MPOL_BIND) {
		assert_int_equal(set_mempolicy(mode, mode ? &node0 : NULL, mode ? 64 : 0), 0);
		assert_int_equal(process_read_vmas(&p, &v, &n), 0);
		assert_int_equal(find(v, n, locked)->mempolicy, mode == MPOL_BIND);
		assert_false(find(v, n, wish)->mempolicy);
		free(v);
	}
	vma_facts_free(p.facts);
	close(p.proc_fd);
	close(exe);
	close(memfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps_numbers),	   cmocka_unit_test(test_maps_kinds),
		cmocka_unit_test(test_maps_hostile_paths), cmocka_unit_test(test_maps_refuses),
		cmocka_unit_test(test_numa_maps),	   cmocka_unit_test(test_smaps),
		cmocka_unit_test(test_mountinfo),	   cmocka_unit_test(test_merge),
		cmocka_unit_test(test_own_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
