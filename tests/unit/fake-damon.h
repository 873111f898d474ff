/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TEST_FAKE_DAMON_H
#define TEST_FAKE_DAMON_H

/*
 * A tree of plain files in the shape of DAMON's sysfs directory, and somebody to play the kernel
 * behind it: every write goes through fake_write(), which stores the text and then does what the
 * kernel would. Regions are made up from the pid of the process that a target's memory belongs to,
 * so that a test sees at once when a target is shown somebody else's.
 */

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "linux/tracker.h"
#include "util.h"

#define FAKE_KDAMONDS 8
#define FAKE_TARGETS 64
#define FAKE_BOOT "11111111-2222-3333-4444-555555555555"
/* A target's memory is this far apart from the next pid's. */
#define FAKE_SPAN (16 * MiB)
#define FAKE_REGIONS 3

struct fake_kdamond {
	pid_t pid;                   /* 0: off */
	size_t n;
	pid_t targets[FAKE_TARGETS]; /* whom the kernel watches */
	pid_t regions[FAKE_TARGETS]; /* whose regions those are: stays when a target is replaced */
};

struct fake {
	char root[64];
	int sys_fd, proc_fd;
	struct damon_writer writer;
	struct fake_kdamond kdamonds[FAKE_KDAMONDS];
	size_t n_kdamonds;
	pid_t next_pid;
	size_t n_graves;
	/* How this kernel behaves. */
	bool can_drop;       /* obsolete_target, and commit reports a bad list */
	bool no_vaddr;
	bool exclusive;      /* "on" gives -EBUSY */
	bool hot;            /* the middle region's rate changes */
	int busy;            /* that many writes fail with -EBUSY first */
	pid_t victim;        /* ends just before the next "on" or "commit" reads the list */
	/* What happened. */
	unsigned int writes, ons, offs, commits, updates;
};

static inline void fake_path(const struct fake *f, char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static inline void fake_path(const struct fake *f, char *path, const char *format, ...)
{
	size_t n = (size_t)snprintf(path, 512, "%s/", f->root);
	va_list ap;

	va_start(ap, format);
	vsnprintf(path + n, 512 - n, format, ap);
	va_end(ap);
}

/* Makes the directories on the way, too. */
static inline void put_file(const char *path, const char *text)
{
	char dir[1024];
	FILE *file;

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(dir, 0755);
		*p = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static inline void fake_put(const struct fake *f, const char *text, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static inline void fake_put(const struct fake *f, const char *text, const char *format, ...)
{
	char path[512], name[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(name, sizeof(name), format, ap);
	va_end(ap);
	fake_path(f, path, "%s", name);
	put_file(path, text);
}

#define KDAMONDS "sys/kernel/mm/damon/admin/kdamonds"

static inline void fake_put_number(const struct fake *f, uint64_t v, const char *path)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)v);
	fake_put(f, text, "%s", path);
}

/* The text below KDAMONDS, without its newline. */
static inline void fake_get(const struct fake *f, const char *name, char *text, size_t size)
{
	char path[512];
	FILE *file;
	size_t n;

	fake_path(f, path, KDAMONDS "/%s", name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("no %s", path);
	n = fread(text, 1, size - 1, file);
	fclose(file);
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
}

static inline long long fake_number(const struct fake *f, const char *name)
{
	char text[64];

	fake_get(f, name, text, sizeof(text));
	return atoll(text);
}

static inline int fake_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	return remove(path);
}

static inline void fake_remove(const char *path)
{
	nftw(path, fake_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Empties a directory but keeps it elsewhere: its inode must not come back for a new one. */
static inline void fake_bury(struct fake *f, const char *path)
{
	char grave[512], inside[768];
	struct dirent *e;
	DIR *dir;

	if (access(path, F_OK))
		return;
	fake_path(f, grave, "grave-%zu", f->n_graves++);
	assert_int_equal(rename(path, grave), 0);
	dir = opendir(grave);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(inside, sizeof(inside), "%s/%s", grave, e->d_name);
		fake_remove(inside);
	}
	closedir(dir);
}

static inline uint64_t fake_ticks(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 100 + (uint64_t)now.tv_nsec / 10000000;
}

static inline void fake_put_stat(const struct fake *f, pid_t pid, uint64_t start)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "%d (kdamond.0) S 2 0 0 0 -1 2129984 0 0 0 0 30 70 0 0 20 0 1 0 %llu 0 0 1 0\n",
		 pid, (unsigned long long)start);
	fake_put(f, text, "proc/%d/stat", pid);
}

static inline void fake_set_pid(struct fake *f, size_t i, pid_t pid)
{
	char text[32], path[512];

	if (f->kdamonds[i].pid) {
		fake_path(f, path, "proc/%d", f->kdamonds[i].pid);
		fake_remove(path);
	}
	f->kdamonds[i].pid = pid;
	snprintf(text, sizeof(text), "%d\n", pid ? pid : -1);
	fake_put(f, text, KDAMONDS "/%zu/pid", i);
	fake_put(f, pid ? "on\n" : "off\n", KDAMONDS "/%zu/state", i);
	if (pid)
		fake_put_stat(f, pid, fake_ticks());
}

static inline void fake_make_kdamonds(struct fake *f, size_t n)
{
	char path[512];

	for (size_t i = 0; i < MAX(f->n_kdamonds, n); i++) {
		fake_path(f, path, KDAMONDS "/%zu", i);
		fake_bury(f, path);
	}
	f->n_kdamonds = n;
	for (size_t i = 0; i < n; i++) {
		fake_set_pid(f, i, 0);
		fake_put(f, "0\n", KDAMONDS "/%zu/contexts/nr_contexts", i);
	}
	fake_put_number(f, n, KDAMONDS "/nr_kdamonds");
}

static inline void fake_make_context(struct fake *f, size_t i)
{
	static const char *const files[] = {
		"operations",	      "monitoring_attrs/intervals/sample_us",
		"targets/nr_targets", "monitoring_attrs/intervals/aggr_us",
		"schemes/nr_schemes", "monitoring_attrs/intervals/update_us",
		"monitoring_attrs/nr_regions/min", "monitoring_attrs/nr_regions/max",
	};

	for (size_t j = 0; j < ARRAY_SIZE(files); j++)
		fake_put(f, "0\n", KDAMONDS "/%zu/contexts/0/%s", i, files[j]);
	fake_put(f, f->no_vaddr ? "paddr\n" : "vaddr\nfvaddr\npaddr\n",
		 KDAMONDS "/%zu/contexts/0/avail_operations", i);
}

static inline void fake_make_targets(struct fake *f, size_t i, size_t n)
{
	char path[512];

	fake_path(f, path, KDAMONDS "/%zu/contexts/0/targets", i);
	fake_remove(path);
	fake_put(f, "", KDAMONDS "/%zu/contexts/0/targets/nr_targets", i);
	for (size_t j = 0; j < n; j++) {
		fake_put(f, "0\n", KDAMONDS "/%zu/contexts/0/targets/%zu/pid_target", i, j);
		if (f->can_drop)
			fake_put(f, "N\n", KDAMONDS "/%zu/contexts/0/targets/%zu/obsolete_target",
				 i, j);
	}
}

static inline void fake_make_schemes(struct fake *f, size_t i, size_t n)
{
	static const char *const files[] = {
		"action", "access_pattern/sz/min", "access_pattern/sz/max",
		"access_pattern/nr_accesses/min", "access_pattern/nr_accesses/max",
		"access_pattern/age/min", "access_pattern/age/max", "filters/nr_filters",
		"tried_regions/total_bytes",
	};
	char path[512];

	fake_path(f, path, KDAMONDS "/%zu/contexts/0/schemes", i);
	fake_remove(path);
	fake_put(f, "", KDAMONDS "/%zu/contexts/0/schemes/nr_schemes", i);
	for (size_t j = 0; j < n; j++)
		for (size_t k = 0; k < ARRAY_SIZE(files); k++)
			fake_put(f, "0\n", KDAMONDS "/%zu/contexts/0/schemes/%zu/%s", i, j,
				 files[k]);
}

static inline void fake_make_filters(struct fake *f, size_t i, size_t j, size_t n)
{
	static const char *const files[] = { "type", "matching", "damon_target_idx" };

	for (size_t k = 0; k < n; k++)
		for (size_t l = 0; l < ARRAY_SIZE(files); l++)
			fake_put(f, "0\n", KDAMONDS "/%zu/contexts/0/schemes/%zu/filters/%zu/%s", i,
				 j, k, files[l]);
}

/* The target list as sysfs has it; false: a process on it has ended. */
static inline bool fake_load_list(const struct fake *f, size_t i, pid_t *pids, bool *obsolete,
				  size_t *ret_n)
{
	char name[128], text[16];
	size_t n;

	snprintf(name, sizeof(name), "%zu/contexts/0/targets/nr_targets", i);
	n = (size_t)fake_number(f, name);
	assert_true(n <= FAKE_TARGETS);
	for (size_t j = 0; j < n; j++) {
		snprintf(name, sizeof(name), "%zu/contexts/0/targets/%zu/pid_target", i, j);
		pids[j] = (pid_t)fake_number(f, name);
		if (kill(pids[j], 0) < 0 || pids[j] == f->victim)
			return false;
		obsolete[j] = false;
		if (!f->can_drop)
			continue;
		snprintf(name, sizeof(name), "%zu/contexts/0/targets/%zu/obsolete_target", i, j);
		fake_get(f, name, text, sizeof(text));
		obsolete[j] = text[0] == 'Y';
	}
	*ret_n = n;
	return true;
}

/* Still a zombie when this returns, but no longer on any list. */
static inline void fake_strike(const struct fake *f)
{
	siginfo_t info;

	if (!f->victim)
		return;
	kill(f->victim, SIGKILL);
	waitid(P_PID, (id_t)f->victim, &info, WEXITED | WNOWAIT);
}

static inline int fake_on(struct fake *f, size_t i)
{
	struct fake_kdamond *k = &f->kdamonds[i];
	bool obsolete[FAKE_TARGETS];

	fake_strike(f);
	if (f->exclusive || k->pid)
		return -EBUSY;
	if (!fake_load_list(f, i, k->targets, obsolete, &k->n))
		return -EINVAL;
	memcpy(k->regions, k->targets, sizeof(k->regions));
	fake_set_pid(f, i, f->next_pid++);
	f->ons++;
	return 0;
}

static inline int fake_off(struct fake *f, size_t i)
{
	if (!f->kdamonds[i].pid)
		return -EPERM;
	fake_set_pid(f, i, 0);
	f->offs++;
	return 0;
}

/* By index, as the kernel does it. */
static inline int fake_commit(struct fake *f, size_t i)
{
	struct fake_kdamond *k = &f->kdamonds[i];
	struct fake_kdamond new = { .pid = k->pid };
	pid_t pids[FAKE_TARGETS];
	bool obsolete[FAKE_TARGETS];
	size_t n;

	f->commits++;
	fake_strike(f);
	if (!k->pid)
		return -EINVAL;
	if (!fake_load_list(f, i, pids, obsolete, &n)) {
		if (f->can_drop)
			return -EINVAL;
		fake_set_pid(f, i, 0);
		return 0;
	}
	for (size_t j = 0; j < n; j++) {
		if (obsolete[j]) {
			assert_true(j < k->n);
			continue;
		}
		new.targets[new.n] = pids[j];
		new.regions[new.n++] = j < k->n ? k->regions[j] : pids[j];
	}
	*k = new;
	return 0;
}

static inline void fake_put_region(struct fake *f, size_t i, size_t j, size_t dir, pid_t owner,
				   size_t r)
{
	uint64_t start = (uint64_t)owner * FAKE_SPAN + r * MiB;
	uint64_t values[] = { start, start + MiB, r == 1 && f->hot ? DAMON_ACCESSES_MAX : 0, r };
	static const char *const names[] = { "start", "end", "nr_accesses", "age" };

	for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
		char name[256];

		snprintf(name, sizeof(name),
			 KDAMONDS "/%zu/contexts/0/schemes/%zu/tried_regions/%zu/%s", i, j, dir,
			 names[v]);
		fake_put_number(f, values[v], name);
	}
}

/* Does scheme @j let target @t through? */
static inline bool fake_passes(const struct fake *f, size_t i, size_t j, size_t t)
{
	char name[128], text[32];

	snprintf(name, sizeof(name), "%zu/contexts/0/schemes/%zu/filters/nr_filters", i, j);
	if (!fake_number(f, name))
		return true;
	snprintf(name, sizeof(name), "%zu/contexts/0/schemes/%zu/filters/0/type", i, j);
	fake_get(f, name, text, sizeof(text));
	assert_string_equal(text, "target");
	snprintf(name, sizeof(name), "%zu/contexts/0/schemes/%zu/filters/0/damon_target_idx", i, j);
	/* "matching" N: what is not this target is filtered out. */
	return (size_t)fake_number(f, name) == t;
}

static inline int fake_update(struct fake *f, size_t i)
{
	const struct fake_kdamond *k = &f->kdamonds[i];
	char name[128], path[512];
	size_t n, dir = 0;

	f->updates++;
	if (!k->pid)
		return f->can_drop ? -ECANCELED : -EINVAL;
	snprintf(name, sizeof(name), "%zu/contexts/0/schemes/nr_schemes", i);
	n = (size_t)fake_number(f, name);
	for (size_t j = 0; j < n; j++) {
		fake_path(f, path, KDAMONDS "/%zu/contexts/0/schemes/%zu/tried_regions", i, j);
		fake_remove(path);
		fake_put(f, "0\n",
			 KDAMONDS "/%zu/contexts/0/schemes/%zu/tried_regions/total_bytes", i, j);
		/* Some kernels number the regions through all schemes, some begin anew in each. */
		if (f->can_drop)
			dir = 0;
		for (size_t t = 0; t < k->n; t++)
			for (size_t r = 0; fake_passes(f, i, j, t) && r < FAKE_REGIONS; r++)
				fake_put_region(f, i, j, dir++, k->regions[t], r);
	}
	return 0;
}

static inline int fake_state(struct fake *f, size_t i, const char *text)
{
	if (!strcmp(text, "on"))
		return fake_on(f, i);
	if (!strcmp(text, "off"))
		return fake_off(f, i);
	if (!strcmp(text, "commit"))
		return fake_commit(f, i);
	if (!strcmp(text, "update_schemes_tried_regions"))
		return fake_update(f, i);
	return -EINVAL;
}

/* What the kernel does on a write; @name is relative to KDAMONDS. */
static inline int fake_react(struct fake *f, const char *name, const char *text)
{
	size_t i, j, n = (size_t)atoll(text);
	char rest[256];

	if (!strcmp(name, "nr_kdamonds")) {
		for (i = 0; i < f->n_kdamonds; i++)
			if (f->kdamonds[i].pid)
				return -EBUSY;
		fake_make_kdamonds(f, n);
		return 0;
	}
	if (sscanf(name, "%zu/%255s", &i, rest) != 2)
		return -EINVAL;
	if (!strcmp(rest, "state"))
		return fake_state(f, i, text);
	if (!strcmp(rest, "contexts/nr_contexts"))
		fake_make_context(f, i);
	else if (!strcmp(rest, "contexts/0/targets/nr_targets"))
		fake_make_targets(f, i, n);
	else if (!strcmp(rest, "contexts/0/schemes/nr_schemes"))
		fake_make_schemes(f, i, n);
	else if (sscanf(rest, "contexts/0/schemes/%zu/filters/nr_filter%1s", &j, (char[2]){ 0 }) == 2)
		fake_make_filters(f, i, j, n);
	return 0;
}

static inline int fake_write(void *userdata, int dir_fd, const char *path, const char *text)
{
	struct fake *f = userdata;
	char link[64], base[512], full[1024], root[512];
	ssize_t n;
	int r;

	if (f->busy > 0) {
		f->busy--;
		return -EBUSY;
	}
	if (faccessat(dir_fd, path, F_OK, 0) < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir_fd);
	n = readlink(link, base, sizeof(base) - 1);
	assert_true(n > 0);
	base[n] = '\0';
	snprintf(full, sizeof(full), "%s/%s", base, path);
	fake_path(f, root, KDAMONDS "/");
	if (strncmp(full, root, strlen(root)))
		fail_msg("write outside of the tree: %s", full);
	f->writes++;
	r = fake_react(f, full + strlen(root), text);
	/* "state" shows what is, and the numbers are there already after a failure. */
	if (r >= 0 && !strstr(path, "state"))
		put_file(full, text);
	return r;
}

static inline void fake_init(struct fake *f)
{
	char path[512];

	*f = (struct fake){ .next_pid = 4000001 };
	snprintf(f->root, sizeof(f->root), "/tmp/tierd-damon-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	f->writer = (struct damon_writer){ .write = fake_write, .userdata = f };
	fake_put(f, "0\n", KDAMONDS "/nr_kdamonds");
	fake_put(f, FAKE_BOOT "\n", "proc/sys/kernel/random/boot_id");
	fake_path(f, path, "run");
	mkdir(path, 0755);
	fake_path(f, path, "sys");
	f->sys_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fake_path(f, path, "proc");
	f->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->sys_fd >= 0 && f->proc_fd >= 0);
}

static inline void fake_done(struct fake *f)
{
	close(f->sys_fd);
	close(f->proc_fd);
	fake_remove(f->root);
}

/* For cmocka; a test gets a struct fake as its state. */
static inline int fake_setup(void **state)
{
	/* Shared: a child that is killed leaves its kernel behind. */
	struct fake *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);

	assert_true(f != MAP_FAILED);
	fake_init(f);
	*state = f;
	return 0;
}

static inline int fake_teardown(void **state)
{
	fake_done(*state);
	munmap(*state, sizeof(struct fake));
	return 0;
}

/* Names, contents and inodes of everything below KDAMONDS, as one number. */
static inline uint64_t fake_hash_tree(const char *path, uint64_t hash)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char inside[1024], text[512] = "";
		struct stat st;
		FILE *file;

		snprintf(inside, sizeof(inside), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && !stat(inside, &st)) {
			hash = hash * 31 + st.st_ino;
			hash = hash * 31 + (uint64_t)st.st_mtim.tv_nsec;
			for (const char *c = names[i]->d_name; *c; c++)
				hash = hash * 31 + (uint64_t)*c;
			if (S_ISDIR(st.st_mode)) {
				hash = fake_hash_tree(inside, hash);
			} else if ((file = fopen(inside, "r"))) {
				size_t got = fread(text, 1, sizeof(text), file);

				for (size_t j = 0; j < got; j++)
					hash = hash * 31 + (uint64_t)text[j];
				fclose(file);
			}
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return hash;
}

static inline uint64_t fake_hash(const struct fake *f)
{
	char path[512];

	fake_path(f, path, KDAMONDS);
	return fake_hash_tree(path, 7);
}

#endif
