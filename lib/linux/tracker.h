/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_TRACKER_H
#define TIER_TRACKER_H

/*
 * The tracker's own rooms; the machine knows only what linux.h says.
 *
 *   tracker-record.c   the file that names our kdamonds: text, atomic write, careful read
 *   tracker-own.c      which kdamonds are ours; taking, starting, stopping, giving back
 *   tracker-group.c    pure: which space on which kdamond, what a change calls for, region counts
 *   tracker-change.c   pure: did the picture change since we last looked? how long to wait?
 *   tracker-watched.c  the wanted processes
 *   tracker-kdamond.c  one kdamond: its targets brought up to date, its regions read
 *   tracker-work.c     all of the thread's work, and when what is due
 *   tracker-show.c     copies of it for others
 *   tracker.c          the thread and what the machine calls
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "linux/damon.h"
#include "tier.h"

/*
 * One wakes up 50 times a second whatever it watches, and the kernel's one lock makes them answer
 * one after the other: with four, a look at all of them takes one to two seconds at worst.
 */
#define TRACKER_KDAMONDS 4U
/* Four kdamonds with 1,024 regions each are the most that we ask for; one space gets no more. */
#define TRACKER_REGIONS_MAX 4096U

/* ---- tracker-record.c ---------------------------------------------------------------------- */

#define BOOT_ID_LENGTH 36U

struct own_kdamond {
	uint64_t ino;        /* of its directory: tells it from one that somebody made later */
	pid_t pid;           /* 0: does not run, as far as we know */
	uint64_t start_time; /* of that pid, field 22 of its stat */
	bool starting;       /* "on" may have been written, the pid is not known yet */
};

/* What is ours. Written before each step that a crash could leave half done. */
struct own_record {
	char boot_id[BOOT_ID_LENGTH + 1];
	size_t n_kdamonds; /* 0: nothing is ours */
	bool creating;     /* nr_kdamonds may have been written, the inodes are not known yet */
	struct own_kdamond kdamonds[TRACKER_KDAMONDS];
};

/* Pure. @size of the buffer 1024 is always enough; returns the length. */
size_t own_record_format(const struct own_record *r, char *buffer, size_t size);
/* Pure. -EINVAL for anything that own_record_format() would not write. */
int own_record_parse(const char *text, size_t size, struct own_record *ret);
/*
 * -ENOENT: there is none; -EPERM: not a plain file that only we can write; -ELOOP: a link;
 * -EINVAL: damaged.
 */
int own_record_read(int run_fd, struct own_record *ret);
int own_record_write(int run_fd, const struct own_record *r);
int own_record_remove(int run_fd);
int own_boot_id(int proc_fd, char ret[BOOT_ID_LENGTH + 1]);
/* Pure: user and system time together, and the start time, both in clock ticks. */
int tracker_parse_stat(const char *text, size_t size, uint64_t *ret_cpu, uint64_t *ret_start);
int tracker_read_stat(int proc_fd, pid_t pid, uint64_t *ret_cpu, uint64_t *ret_start);

/* ---- tracker-own.c ------------------------------------------------------------------------- */

#define REASON_BYTES sizeof(((struct tier_tracker_state *)0)->reason)

struct own {
	int sys_fd;  /* borrowed */
	int proc_fd; /* borrowed */
	int run_fd;
	struct damon damon;
	struct own_record record;
	int fds[TRACKER_KDAMONDS]; /* directories of our kdamonds */
};

int own_open(int sys_fd, int proc_fd, const char *run_dir, const struct damon_writer *writer,
	     struct own *ret);
void own_close(struct own *o);
/*
 * Makes TRACKER_KDAMONDS kdamonds, after giving back what a crashed run of ours has left. Writes
 * nothing to DAMON when somebody else uses it: -EBUSY. *ret_reason gets a line for people on
 * failure.
 */
int own_acquire(struct own *o, char ret_reason[REASON_BYTES]);
/* -EBUSY also when DAMON is held by a module of the kernel. */
int own_start(struct own *o, size_t i);
/* Stops the kdamond if it is the one that we started; -EPERM, and nothing done, if it is not. */
int own_stop(struct own *o, size_t i);
/* Does it run, and is it ours? 1, 0, negative errno (-EPERM: somebody else's runs there). */
int own_running(struct own *o, size_t i);
/* Stops and removes all that is ours and forgets it. -EBUSY: somebody else's are among them. */
int own_release(struct own *o);
/* Gives back what the record in @run_dir says; 0 when there is nothing to do. */
int own_cleanup(int sys_fd, int proc_fd, const char *run_dir, const struct damon_writer *writer);
/* Why "on" said -EBUSY. */
void own_busy_reason(const struct own *o, char ret_reason[REASON_BYTES]);

/* ---- tracker-group.c: pure ----------------------------------------------------------------- */

/* One wanted space, in the caller's order: largest first. */
struct group_wish {
	uint64_t space_id;
	uint64_t cgroup_id;
	int tracked; /* on this kdamond now, -1: on none */
	int kdamond; /* result: to be on this one, -1: no place */
};

/*
 * Finds each a kdamond: all of one cgroup on one, where it is already or else on the one with the
 * fewest targets; at most DAMON_TARGETS_MAX on each, those that are there already a little
 * preferred over larger ones so that the set does not flutter. Returns how many got no place.
 */
size_t group_assign(struct group_wish *wishes, size_t n);

/* One target as the kernel has it. */
struct group_target {
	bool wanted; /* still on the wish list of this kdamond */
	bool alive;
};

enum group_step {
	GROUP_KEEP,
	GROUP_COMMIT,  /* the running kdamond takes the new list over; regions and ages stay */
	GROUP_REBUILD, /* off, new list, on: it starts from nothing */
	GROUP_STOP,
};

/*
 * What brings a kdamond with @targets and @n_added more to what is wanted? @can_drop: a commit can
 * drop single targets. @resize: its bounds on the number of regions should change.
 */
enum group_step group_decide(const struct group_target *targets, size_t n, size_t n_added,
			     bool running, bool can_drop, bool resize);

struct group_bounds {
	unsigned int min_regions;
	unsigned int max_regions;
};

/* For this much address space in so many targets. */
struct group_bounds group_bounds(uint64_t bytes, size_t n_targets);
/* Are these so far apart that it is worth a commit? */
bool group_bounds_differ(struct group_bounds a, struct group_bounds b);

/* ---- tracker-change.c: pure ---------------------------------------------------------------- */

/* How alike are two pictures of a space? Bytes times rate, summed over the space. */
struct change {
	uint64_t different;
	uint64_t total;
};

void change_add(struct change *c, const struct tier_region *a, size_t n_a,
		const struct tier_region *b, size_t n_b);
/* Half of what is hot, or more, is somewhere else now. */
bool change_is_large(const struct change *c);

/* When to look next. */
struct pace {
	unsigned int calm; /* pictures like the reference in a row */
	unsigned int odd;  /* unlike it, in a row */
};

enum pace_step {
	PACE_KEEP_REFERENCE,
	PACE_NEW_REFERENCE, /* the picture has really changed */
};

enum pace_step pace_step(struct pace *p, bool large_change);
void pace_reset(struct pace *p);
/* @busy_us while things change, five times that when they have been calm for a while. */
uint64_t pace_period_us(const struct pace *p, uint64_t busy_us);

/* ---- tracker-watched.c --------------------------------------------------------------------- */

struct process;
struct process_table;

/* A wanted process with one reference on it, shared by the wanted set and a kdamond's target. */
struct watched {
	struct process_table *table;
	struct process *process;
	unsigned int refs; /* not atomic: made by one thread, then used by the tracker's only */
};

/* -ESRCH: it has ended. */
int watched_new(struct process_table *table, uint64_t space_id, struct watched **ret);
struct watched *watched_ref(struct watched *w);
struct watched *watched_unref(struct watched *w);
/* Size of its address space; 0 when it is gone. */
uint64_t watched_bytes(const struct watched *w);
/* Pure: the first number of statm, in bytes. */
int watched_parse_statm(const char *text, size_t size, uint64_t *ret_bytes);

/*
 * More than this many wanted spaces are not even looked at: 128 can be watched, and the caller
 * gives the largest first.
 */
#define WATCHED_MAX 1024U

struct watched_set {
	size_t n;
	size_t n_left_out;
	struct watched **items;
};

int watched_set_new(struct process_table *table, const uint64_t *space_ids, size_t n,
		    struct watched_set **ret);
struct watched_set *watched_set_free(struct watched_set *s);

/* ---- tracker-kdamond.c --------------------------------------------------------------------- */

struct picture {
	size_t n;
	struct tier_region *regions;
};

struct kdamond_target {
	struct watched *watched;
	uint64_t seq;            /* 0: no sample yet */
	struct picture newest;
	struct picture reference; /* what newest is compared with, to see whether things are calm */
};

/* The targets in the order in which the kernel has them: its list and this one change together. */
struct kdamond {
	size_t n_targets;
	struct kdamond_target targets[DAMON_TARGETS_MAX];
	struct group_bounds bounds;
	uint64_t cpu_done_ticks; /* of kdamonds that ran here before */
	uint64_t cpu_now_ticks;
};

/*
 * Brings kdamond @i to these wanted spaces, at most DAMON_TARGETS_MAX; *ret_changed tells whether
 * anything had to be done.
 */
int kdamond_apply(struct own *o, size_t i, struct kdamond *k, struct watched *const *wanted,
		  size_t n, bool *ret_changed);
/*
 * Takes a new sample of every live target; sequence numbers go up from *seq. Adds to *change how
 * far the samples are from their references. -ESRCH: the kdamond has ended by itself.
 */
int kdamond_sample(struct own *o, size_t i, struct kdamond *k, uint64_t *seq,
		   struct change *change);
void kdamond_take_references(struct kdamond *k);
/* Lets go of the targets; nothing is written. */
void kdamond_forget(struct kdamond *k);
void kdamond_count_cpu(struct own *o, size_t i, struct kdamond *k);

/* ---- tracker-work.c ------------------------------------------------------------------------ */

/* What tests may want different; 0 and NULL stand for the real thing. */
struct tracker_options {
	int sys_fd;
	int proc_fd; /* used instead of /proc when >= 0 */
	const char *run_dir;
	const struct damon_writer *writer;
	uint64_t change_us; /* shortest time between two changes of the set */
	uint64_t retry_us;  /* between attempts to get DAMON */
	uint64_t period_us; /* between samples while things change */
};

/* Everything that the tracker's thread knows and does; no other thread may touch it. */
struct work {
	struct own own;
	bool owned;                /* we have kdamonds */
	struct watched_set *set;   /* NULL: nothing is wanted */
	bool dirty;                /* the kernel may have something else */
	size_t n_placed;
	size_t n_over;             /* wanted, but beyond the limit */
	char reason[REASON_BYTES]; /* why DAMON does not work, "" when it does */
	struct kdamond kdamonds[TRACKER_KDAMONDS];
	uint64_t seq;
	struct pace pace;
	uint64_t next_acquire_us, next_change_us, next_sample_us, next_check_us;
	/* Called between kdamonds, as a pass over all can take seconds; false: come to an end. */
	bool (*between)(struct work *w);
	int sys_fd; /* borrowed */
	int proc_fd;
	char *run_dir;
	const struct damon_writer *writer;
	uint64_t change_us, retry_us, period_us;
};

/* work_done() is due whether this fails or not. */
int work_init(struct work *w, const struct tracker_options *options);
void work_done(struct work *w);
/* Takes the set over. */
void work_take_set(struct work *w, struct watched_set *set);
void work_step(struct work *w, uint64_t now);
/* When the next step is due; UINT64_MAX: not before there is a new set. */
uint64_t work_next_us(const struct work *w);

/* ---- tracker-show.c ------------------------------------------------------------------------ */

/* NULL: out of memory. Ascending by space. */
struct tier_accesses *work_collect(const struct work *w);
void work_describe(const struct work *w, struct tier_tracker_state *ret);
/* @from may be NULL: no samples. */
int accesses_copy(const struct tier_accesses *from, struct tier_accesses **ret);

/* ---- tracker.c ----------------------------------------------------------------------------- */

struct tracker;

uint64_t tracker_now_us(void);
int tracker_start(const struct tracker_options *options, struct tracker **ret);

#endif
