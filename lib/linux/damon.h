/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_DAMON_H
#define TIER_DAMON_H

/*
 * DAMON's sysfs files, one function per file operation. Which kdamond may be touched, and when, is
 * not decided here (tracker-own.c).
 *
 * Everything about one kdamond goes through a directory fd on it: when somebody re-creates the
 * directories, the fd names what is gone (-ENOENT, -ENODEV) and never the newcomer's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * 20 ms between samples: a page that is used at least every 20 ms shows as hot in every sample,
 * which is the grain that moving whole slots needs, and waking up 50 times a second is most of what
 * a kdamond costs when it has few regions. kdamond sleeps by high-resolution timer up to 20 ms, by
 * the tick above.
 */
#define DAMON_SAMPLE_US 20000U
/*
 * Fifteen samples make one rate (steps of 667 basis points; finer steps would drown in the noise of
 * one random page per region and sample). Regions split and merge once per aggregation: three
 * rounds a second find the edges of a hot range within seconds.
 */
#define DAMON_AGGR_US 300000U
/* New mappings, and targets added to a running kdamond, are seen at the next update. */
#define DAMON_UPDATE_US 1000000U
/* Highest access count that one region can have. */
#define DAMON_ACCESSES_MAX (DAMON_AGGR_US / DAMON_SAMPLE_US)
/* Each target costs one scheme directory of about sixty files, and a filter run per region. */
#define DAMON_TARGETS_MAX 32U

/* How files are written: NULL in struct damon means write(2). Tests play the kernel here. */
struct damon_writer {
	int (*write)(void *userdata, int dir_fd, const char *path, const char *text);
	void *userdata;
};

struct damon {
	int dir_fd; /* kernel/mm/damon/admin/kdamonds */
	const struct damon_writer *writer;
};

enum damon_command {
	DAMON_ON,
	DAMON_OFF,
	DAMON_COMMIT,
	DAMON_UPDATE_REGIONS,
};

/* One process to watch; @obsolete: drop it at the next commit (damon_can_drop_targets()). */
struct damon_target {
	pid_t pid;
	bool obsolete;
};

struct damon_region {
	uint64_t start;
	uint64_t end;
	uint64_t accesses; /* 0..DAMON_ACCESSES_MAX */
};

/* -ENOENT: this kernel has no DAMON sysfs interface. */
int damon_open(int sys_fd, const struct damon_writer *writer, struct damon *ret);
void damon_close(struct damon *d);
int damon_read_count(const struct damon *d, size_t *ret);
/* Destroys and re-creates all kdamond directories; the kernel refuses while one runs (-EBUSY). */
int damon_write_count(const struct damon *d, size_t n);
/* *ret_ino tells this directory from later ones of the same name. */
int damon_open_kdamond(const struct damon *d, size_t index, int *ret_fd, uint64_t *ret_ino);
/* 0 when it does not run. */
int damon_read_pid(int kdamond_fd, pid_t *ret);
/* Gives the kdamond its one context. Does away with what was set up in it before. */
int damon_write_context(const struct damon *d, int kdamond_fd);
/* Is "vaddr" on offer? 1 yes, 0 no. Needs a context. */
int damon_has_vaddr(int kdamond_fd);
int damon_write_attributes(const struct damon *d, int kdamond_fd, unsigned int min_regions,
			   unsigned int max_regions);
int damon_write_targets(const struct damon *d, int kdamond_fd, const struct damon_target *targets,
			size_t n);
/* Can a commit drop single targets? Needs at least one target directory. */
bool damon_can_drop_targets(int kdamond_fd);
/* One scheme per target that does nothing but list its regions. */
int damon_write_schemes(const struct damon *d, int kdamond_fd, size_t n);
int damon_command(const struct damon *d, int kdamond_fd, enum damon_command c);
/* What the last DAMON_UPDATE_REGIONS found for one target: ascending, not overlapping. */
int damon_read_regions(int kdamond_fd, size_t target, size_t max, struct damon_region **ret,
		       size_t *ret_n);
/* Name of the kernel module that holds DAMON for itself, NULL when none says so. */
const char *damon_exclusive_module(int sys_fd);

/* Pure: sorts, drops what is empty or overlaps; returns how many are left. */
size_t damon_regions_tidy(struct damon_region *regions, size_t n);

#endif
