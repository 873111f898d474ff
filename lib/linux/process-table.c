// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The table of the processes that we hold on to, kept in step with the pids of the cgroups that
 * somebody asks about. Decides nothing about which processes matter; what makes one process is
 * process.c's business.
 */
#include <linux/magic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <time.h>

#include "linux/linux.h"
#include "linux/process.h"
#include "util.h"

/* pidfd, /proc dirfd, pagemap. */
#define FDS_PER_PROCESS 3

/*
 * Of RLIMIT_NOFILE, left for the bus, the journal, sysfs files and the like; and, as far as a quarter
 * of the limit goes, for what the tracker and the movers still hold of processes that have left the
 * table: at most 1,024 watched ones.
 */
#define FDS_FOR_OTHERS 128
#define FDS_FOR_LEAVERS (1024 * FDS_PER_PROCESS)

/*
 * A process that nobody asked about for this long is forgotten. It must be longer than any interval
 * at which one caller looks at one set of cgroups, or spaces would get new ids each time.
 */
#define KEEP_UNSEEN_US (60 * US_PER_S)

DEFINE_CLEANUP(struct process *, process_free)
DEFINE_CLEANUP(struct tier_processes *, tier_processes_free)

struct entry {
	struct process *process;
	uint64_t seen_us;
	uint64_t resident_bytes;
	bool listed; /* in the running update */
	bool drop;   /* likewise */
};

/*
 * Only process_table_scan() changes the array, and only one thread calls it; the lock is for
 * readers of other threads and for the reference counts.
 */
struct process_table {
	pthread_mutex_t lock;
	int proc_fd;
	bool live;    /* a real /proc, not a recorded tree */
	size_t limit; /* on the number of processes, set by a test; 0: by our fds */
	uint64_t last_space_id;
	size_t n;
	size_t capacity;
	struct entry *entries; /* ascending by space_id */
};

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

/* ---- the table ----------------------------------------------------------------------------- */

/* Asked each time, because a daemon may raise its limit at any time. */
static size_t processes_allowed(const struct process_table *t)
{
	struct rlimit limit;
	rlim_t others;

	if (t->limit)
		return t->limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return PROCESSES_MAX;
	others = FDS_FOR_OTHERS + MIN(limit.rlim_cur / 4, (rlim_t)FDS_FOR_LEAVERS);
	if (limit.rlim_cur <= others)
		return 0;
	return MIN((limit.rlim_cur - others) / FDS_PER_PROCESS, (rlim_t)PROCESSES_MAX);
}

int process_table_new(int proc_fd, struct process_table **ret)
{
	struct process_table *t;
	struct statfs fs;

	if (fstatfs(proc_fd, &fs) < 0)
		return -errno;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->proc_fd = proc_fd;
	t->live = fs.f_type == PROC_SUPER_MAGIC;
	*ret = t;
	return 0;
}

void process_table_limit(struct process_table *t, size_t n_processes)
{
	t->limit = n_processes;
}

struct process_table *process_table_free(struct process_table *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->n; i++)
		process_unref(t, t->entries[i].process);
	pthread_mutex_destroy(&t->lock);
	free(t->entries);
	free(t);
	return NULL;
}

static struct entry *find_space(const struct process_table *t, uint64_t space_id)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->entries[mid].process->space_id < space_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == t->n || t->entries[lo].process->space_id != space_id)
		return NULL;
	return &t->entries[lo];
}

int process_get(struct process_table *t, uint64_t space_id, struct process **ret)
{
	struct process *p = NULL;
	struct entry *e;

	pthread_mutex_lock(&t->lock);
	e = find_space(t, space_id);
	if (e) {
		p = e->process;
		p->refs++;
	}
	pthread_mutex_unlock(&t->lock);
	if (!p)
		return -ESRCH;
	if (!process_alive(p)) {
		process_unref(t, p);
		return -ESRCH;
	}
	*ret = p;
	return 0;
}

struct process *process_unref(struct process_table *t, struct process *p)
{
	unsigned int left;

	if (!p)
		return NULL;
	pthread_mutex_lock(&t->lock);
	left = --p->refs;
	pthread_mutex_unlock(&t->lock);
	if (left == 0)
		process_free(p);
	return NULL;
}

/* ---- an update ----------------------------------------------------------------------------- */

static int by_pid(const void *a, const void *b)
{
	const struct process_candidate *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_size(const void *a, const void *b)
{
	const struct process_candidate *x = a, *y = b;

	if (x->resident_bytes != y->resident_bytes)
		return x->resident_bytes < y->resident_bytes ? 1 : -1;
	return by_pid(a, b);
}

static int process_by_pid(const void *a, const void *b)
{
	const struct process *x = *(struct process *const *)a, *y = *(struct process *const *)b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Marks the candidates that we hold already; @by is scratch for as many pointers as entries. */
static void match_known(struct process_table *t, struct process_candidate *c, size_t n,
			struct process **by)
{
	size_t n_by = 0;

	for (size_t i = 0; i < t->n; i++)
		if (process_alive(t->entries[i].process))
			by[n_by++] = t->entries[i].process;
	qsort(by, n_by, sizeof(*by), process_by_pid);
	for (size_t i = 0, k = 0; i < n; i++) {
		c[i].known = NULL;
		while (k < n_by && by[k]->pid < c[i].pid)
			k++;
		if (k < n_by && by[k]->pid == c[i].pid)
			c[i].known = by[k];
	}
}

/*
 * Sizes, and of a pid that moved and was seen in two cgroups only the place where it is now. What
 * cannot be read has ended and sinks to the end by its size, 0.
 */
static void look_at(const struct process_table *t, struct process_candidate *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool twice = (i > 0 && c[i - 1].pid == c[i].pid) ||
			     (i + 1 < n && c[i + 1].pid == c[i].pid);
		char path[32];

		c[i].resident_bytes = 0;
		if (c[i].known && twice && process_check_cgroup(c[i].known, c[i].cgroup_path) < 0)
			continue;
		snprintf(path, sizeof(path), "%d/statm", c[i].pid);
		if (c[i].known)
			process_read_resident(c[i].known->proc_fd, "statm", &c[i].resident_bytes);
		else
			process_read_resident(t->proc_fd, path, &c[i].resident_bytes);
	}
}

static int table_append(struct process_table *t, struct process *p)
{
	int r;

	pthread_mutex_lock(&t->lock);
	r = array_reserve((void **)&t->entries, &t->capacity, t->n, sizeof(*t->entries),
			  PROCESSES_MAX);
	if (r == 0) {
		p->space_id = ++t->last_space_id;
		t->entries[t->n++] = (struct entry){.process = p};
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

static int take_new(struct process_table *t, const struct process_candidate *c)
{
	cleanup(process_freep) struct process *p = NULL;
	int r = process_open(t->proc_fd, t->live, c, &p);

	if (r < 0)
		return r;
	r = table_append(t, p);
	if (r == 0)
		p = NULL;
	return r;
}

/*
 * What has ended goes; so does what nobody asked about for long, or, when there are more than we
 * have fds for, at all. Others may still hold what is dropped. @dropped is scratch.
 */
static void table_drop(struct process_table *t, uint64_t now, bool crowded,
		       struct process **dropped)
{
	size_t kept = 0, n_dropped = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct entry *e = &t->entries[i];

		e->drop = !e->listed && (crowded || now - e->seen_us > KEEP_UNSEEN_US ||
					 !process_alive(e->process));
	}
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->n; i++) {
		if (t->entries[i].drop)
			dropped[n_dropped++] = t->entries[i].process;
		else
			t->entries[kept++] = t->entries[i];
	}
	t->n = kept;
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < n_dropped; i++)
		process_unref(t, dropped[i]);
}

static void entry_list(struct entry *e, const struct process_candidate *c, uint64_t now)
{
	e->process->cgroup_id = c->cgroup_id;
	e->resident_bytes = c->resident_bytes;
	e->seen_us = now;
	e->listed = true;
}

/* Marks those that we know; returns how many of the @n others there are. */
static size_t list_known(struct process_table *t, const struct process_candidate *c, size_t n,
			 uint64_t now)
{
	size_t n_new = 0;

	for (size_t i = 0; i < t->n; i++)
		t->entries[i].listed = false;
	for (size_t i = 0; i < n; i++) {
		if (c[i].known)
			entry_list(find_space(t, c[i].known->space_id), &c[i], now);
		else
			n_new++;
	}
	return n_new;
}

/* One that cannot be opened has ended, moved or is not ours to see; without fds, no others can. */
static void list_new(struct process_table *t, const struct process_candidate *c, size_t n,
		     uint64_t now)
{
	for (size_t i = 0; i < n; i++) {
		int r;

		if (c[i].known)
			continue;
		r = take_new(t, &c[i]);
		if (r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -E2BIG)
			return;
		if (r == 0)
			entry_list(&t->entries[t->n - 1], &c[i], now);
	}
}

static int make_list(const struct process_table *t, struct tier_processes **ret)
{
	cleanup(tier_processes_freep) struct tier_processes *list = calloc(1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	list->processes = calloc(t->n + 1, sizeof(*list->processes));
	if (!list->processes)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		const struct entry *e = &t->entries[i];

		if (!e->listed)
			continue;
		list->processes[list->n_processes++] = (struct tier_process){
			.space_id = e->process->space_id,
			.cgroup_id = e->process->cgroup_id,
			.resident_bytes = e->resident_bytes,
			.pid = e->process->pid,
		};
	}
	*ret = STEAL(list);
	return 0;
}

int process_table_update(struct process_table *t, struct process_candidate *candidates, size_t n,
			 struct tier_processes **ret)
{
	cleanup(freep) struct process **scratch = calloc(t->n + 1, sizeof(*scratch));
	size_t max = processes_allowed(t), n_new;
	uint64_t now = now_us();

	if (!scratch)
		return -ENOMEM;
	if (n > 0)
		qsort(candidates, n, sizeof(*candidates), by_pid);
	match_known(t, candidates, n, scratch);
	look_at(t, candidates, n);
	/* The largest matter most when there are not fds for all. */
	if (n > 0)
		qsort(candidates, n, sizeof(*candidates), by_size);
	n = MIN(n, max);
	while (n > 0 && candidates[n - 1].resident_bytes == 0)
		n--;
	n_new = list_known(t, candidates, n, now);
	table_drop(t, now, t->n + n_new > max, scratch);
	list_new(t, candidates, n, now);
	return make_list(t, ret);
}
