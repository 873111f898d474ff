// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * DAMON's sysfs files. Must not decide whose kdamond it is, keep state, or wait for anything but
 * the kernel; only the tracker's thread calls this, because a write may block for an aggregation.
 *
 * Files are read with one read(): a sysfs attribute comes whole, and there are three of them read
 * per region, so that a second read() just to see the end would cost a quarter of all system calls.
 */
#include "linux/damon.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "linux/linux.h"
#include "linux/parse.h"
#include "util.h"

#define DAMON_DIR "kernel/mm/damon/admin/kdamonds"
/* Longest attribute that is read: a list of operations or a number. */
#define ATTRIBUTE_MAX 256
/*
 * The kernel guards the whole tree with one lock that it only tries to take, and every running
 * kdamond takes it for a moment after each sample: -EBUSY by accident is normal. Somebody else's
 * command holds it for an aggregation; 100 tries 4 ms apart outlast ours.
 */
#define BUSY_TRIES 100
#define BUSY_PAUSE_NS 4000000L

DEFINE_CLEANUP(DIR *, closedir)

static void busy_pause(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = BUSY_PAUSE_NS }, NULL);
}

static ssize_t read_once(int dir_fd, const char *path, char *buffer, size_t size)
{
	cleanup(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buffer, size);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? -EFBIG : n;
}

static ssize_t attribute_read(int dir_fd, const char *path, char *buffer, size_t size)
{
	ssize_t n = -EBUSY;

	for (int i = 0; i < BUSY_TRIES && n == -EBUSY; i++) {
		if (i)
			busy_pause();
		n = read_once(dir_fd, path, buffer, size);
	}
	return n;
}

static int attribute_read_number(int dir_fd, const char *path, uint64_t *ret)
{
	char text[ATTRIBUTE_MAX];
	ssize_t n = attribute_read(dir_fd, path, text, sizeof(text));

	return n < 0 ? (int)n : parse_u64(text, (size_t)n, UINT64_MAX, ret);
}

static int write_once(const struct damon *d, int dir_fd, const char *path, const char *text)
{
	if (d->writer)
		return d->writer->write(d->writer->userdata, dir_fd, path, text);
	return file_write_at(dir_fd, path, text);
}

static int attribute_write(const struct damon *d, int dir_fd, const char *path, const char *text)
{
	int r = -EBUSY;

	for (int i = 0; i < BUSY_TRIES && r == -EBUSY; i++) {
		if (i)
			busy_pause();
		r = write_once(d, dir_fd, path, text);
	}
	return r;
}

static int attribute_write_number(const struct damon *d, int dir_fd, const char *path, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return attribute_write(d, dir_fd, path, text);
}

int damon_open(int sys_fd, const struct damon_writer *writer, struct damon *ret)
{
	int fd = openat(sys_fd, DAMON_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret = (struct damon){ .dir_fd = fd, .writer = writer };
	return 0;
}

void damon_close(struct damon *d)
{
	closep(&d->dir_fd);
	d->dir_fd = -1;
}

int damon_read_count(const struct damon *d, size_t *ret)
{
	uint64_t n;
	int r = attribute_read_number(d->dir_fd, "nr_kdamonds", &n);

	if (r < 0)
		return r;
	*ret = n;
	return 0;
}

int damon_write_count(const struct damon *d, size_t n)
{
	return attribute_write_number(d, d->dir_fd, "nr_kdamonds", n);
}

int damon_open_kdamond(const struct damon *d, size_t index, int *ret_fd, uint64_t *ret_ino)
{
	cleanup(closep) int fd = -1;
	struct stat st;
	char name[24];

	snprintf(name, sizeof(name), "%zu", index);
	fd = openat(d->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret_ino = st.st_ino;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int damon_read_pid(int kdamond_fd, pid_t *ret)
{
	char text[ATTRIBUTE_MAX];
	ssize_t n = attribute_read(kdamond_fd, "pid", text, sizeof(text));
	uint64_t v = 0;
	int r;

	if (n < 0)
		return (int)n;
	if (!parse_has_word(text, (size_t)n, "-1")) {
		r = parse_u64(text, (size_t)n, INT32_MAX, &v);
		if (r < 0)
			return r;
	}
	*ret = (pid_t)v;
	return 0;
}

int damon_write_context(const struct damon *d, int kdamond_fd)
{
	return attribute_write(d, kdamond_fd, "contexts/nr_contexts", "1");
}

int damon_has_vaddr(int kdamond_fd)
{
	char text[ATTRIBUTE_MAX];
	ssize_t n = attribute_read(kdamond_fd, "contexts/0/avail_operations", text, sizeof(text));

	return n < 0 ? (int)n : parse_has_word(text, (size_t)n, "vaddr");
}

int damon_write_attributes(const struct damon *d, int kdamond_fd, unsigned int min_regions,
			   unsigned int max_regions)
{
#define INTERVALS "contexts/0/monitoring_attrs/intervals/"
#define NR_REGIONS "contexts/0/monitoring_attrs/nr_regions/"
	const struct {
		const char *path;
		uint64_t value;
	} numbers[] = {
		{ INTERVALS "sample_us", DAMON_SAMPLE_US }, { INTERVALS "aggr_us", DAMON_AGGR_US },
		{ INTERVALS "update_us", DAMON_UPDATE_US }, { NR_REGIONS "min", min_regions },
		{ NR_REGIONS "max", max_regions },
	};
	int r = attribute_write(d, kdamond_fd, "contexts/0/operations", "vaddr");

	for (size_t i = 0; i < ARRAY_SIZE(numbers) && r >= 0; i++)
		r = attribute_write_number(d, kdamond_fd, numbers[i].path, numbers[i].value);
	return r;
}

int damon_write_targets(const struct damon *d, int kdamond_fd, const struct damon_target *targets,
			size_t n)
{
	char path[64];
	int r = attribute_write_number(d, kdamond_fd, "contexts/0/targets/nr_targets", n);

	for (size_t i = 0; i < n && r >= 0; i++) {
		snprintf(path, sizeof(path), "contexts/0/targets/%zu/pid_target", i);
		r = attribute_write_number(d, kdamond_fd, path, (uint64_t)targets[i].pid);
		if (r < 0 || !targets[i].obsolete)
			continue;
		snprintf(path, sizeof(path), "contexts/0/targets/%zu/obsolete_target", i);
		r = attribute_write(d, kdamond_fd, path, "Y");
	}
	return r;
}

bool damon_can_drop_targets(int kdamond_fd)
{
	return !faccessat(kdamond_fd, "contexts/0/targets/0/obsolete_target", F_OK, 0);
}

/*
 * "matching" N with a target's index: what does NOT belong to the target is filtered out. Kernels
 * that know "allow" have it N for a new filter, which rejects what the filter speaks of: the same.
 */
static int write_filter(const struct damon *d, int scheme_fd, size_t target)
{
	int r = attribute_write(d, scheme_fd, "filters/nr_filters", "1");

	if (r >= 0)
		r = attribute_write(d, scheme_fd, "filters/0/type", "target");
	if (r >= 0)
		r = attribute_write(d, scheme_fd, "filters/0/matching", "N");
	if (r >= 0)
		r = attribute_write_number(d, scheme_fd, "filters/0/damon_target_idx", target);
	return r;
}

/* Every region of any size, rate and age matches; the lower ends are 0 in a new directory. */
static int write_pattern(const struct damon *d, int scheme_fd)
{
	int r = attribute_write(d, scheme_fd, "action", "stat");

	if (r >= 0)
		r = attribute_write_number(d, scheme_fd, "access_pattern/sz/max", UINT64_MAX);
	if (r >= 0)
		r = attribute_write_number(d, scheme_fd, "access_pattern/nr_accesses/max",
					   UINT32_MAX);
	if (r >= 0)
		r = attribute_write_number(d, scheme_fd, "access_pattern/age/max", UINT32_MAX);
	return r;
}

static int write_scheme(const struct damon *d, int kdamond_fd, size_t target, bool filtered)
{
	cleanup(closep) int fd = -1;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "contexts/0/schemes/%zu", target);
	fd = openat(kdamond_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = write_pattern(d, fd);
	return r < 0 || !filtered ? r : write_filter(d, fd, target);
}

int damon_write_schemes(const struct damon *d, int kdamond_fd, size_t n)
{
	int r = attribute_write_number(d, kdamond_fd, "contexts/0/schemes/nr_schemes", n);

	for (size_t i = 0; i < n && r >= 0; i++)
		r = write_scheme(d, kdamond_fd, i, n > 1);
	return r;
}

int damon_command(const struct damon *d, int kdamond_fd, enum damon_command c)
{
	static const char *const words[] = {
		[DAMON_ON] = "on",
		[DAMON_OFF] = "off",
		[DAMON_COMMIT] = "commit",
		[DAMON_UPDATE_REGIONS] = "update_schemes_tried_regions",
	};

	return attribute_write(d, kdamond_fd, "state", words[c]);
}

static int compare_regions(const void *a, const void *b)
{
	const struct damon_region *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

size_t damon_regions_tidy(struct damon_region *regions, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(regions, n, sizeof(*regions), compare_regions);
	for (size_t i = 0; i < n; i++) {
		if (regions[i].start >= regions[i].end)
			continue;
		if (kept && regions[i].start < regions[kept - 1].end)
			continue;
		regions[kept] = regions[i];
		regions[kept].accesses = MIN(regions[i].accesses, (uint64_t)DAMON_ACCESSES_MAX);
		kept++;
	}
	return kept;
}

static int read_region(int dir_fd, const char *name, struct damon_region *ret)
{
	struct damon_region region;
	const struct {
		const char *name;
		uint64_t *value;
	} files[] = {
		{ "start", &region.start },
		{ "end", &region.end },
		{ "nr_accesses", &region.accesses },
	};
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int r;

		if (snprintf(path, sizeof(path), "%s/%s", name, files[i].name) >= (int)sizeof(path))
			return -EINVAL;
		r = attribute_read_number(dir_fd, path, files[i].value);
		if (r < 0)
			return r;
	}
	*ret = region;
	return 0;
}

static int open_regions(int kdamond_fd, size_t target, DIR **ret)
{
	char path[64];
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "contexts/0/schemes/%zu/tried_regions", target);
	fd = openat(kdamond_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	*ret = dir;
	return 0;
}

/* The directories are numbered from anywhere on: some kernels count through all schemes. */
int damon_read_regions(int kdamond_fd, size_t target, size_t max, struct damon_region **ret,
		       size_t *ret_n)
{
	cleanup(freep) struct damon_region *regions = NULL;
	cleanup(closedirp) DIR *dir = NULL;
	size_t n = 0, capacity = 0;
	struct dirent *entry;
	int r = open_regions(kdamond_fd, target, &dir);

	if (r < 0)
		return r;
	while (n < max && (entry = readdir(dir))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		r = array_reserve((void **)&regions, &capacity, n, sizeof(*regions), max);
		if (r < 0)
			return r;
		r = read_region(dirfd(dir), entry->d_name, &regions[n]);
		if (r < 0)
			return r;
		n++;
	}
	*ret_n = damon_regions_tidy(regions, n);
	*ret = STEAL(regions);
	return 0;
}

const char *damon_exclusive_module(int sys_fd)
{
	static const char *const modules[] = { "damon_stat", "damon_reclaim", "damon_lru_sort" };
	char path[64], text[ATTRIBUTE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		ssize_t n;

		snprintf(path, sizeof(path), "module/%s/parameters/enabled", modules[i]);
		n = attribute_read(sys_fd, path, text, sizeof(text));
		if (n > 0 && (text[0] == 'Y' || text[0] == '1'))
			return modules[i];
	}
	return NULL;
}
