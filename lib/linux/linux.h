/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_LINUX_H
#define TIER_LINUX_H

/*
 * The Linux machine from the inside: what its rooms offer to each other. linux.c makes the machine
 * and owns all of it; every other file knows this header and its own business.
 *
 *   file.c      whole small files below a directory fd, capped
 *   parse.c     text to numbers and lists; pure
 *   topology.c  nodes, tiers, distances
 *   cgroup.c    the v2 tree, numa_stat, PSI; the only user of libcgroup
 *   process.c   pidfd + /proc dirfd per process, maps, Mems_allowed
 *   folio.c     pagemap + kpageflags to runs of folios; PFN to node
 *   residency.c pages per slot and node
 *   damon.c     DAMON's sysfs files, one function per file operation
 *   tracker.c   the thread that keeps the wanted targets in DAMON and the newest samples here
 *   move.c      the only caller of move_pages()
 */

#include <pthread.h>

#include "machine.h"

struct cgroup_mount;
struct process_table;
struct vma_facts;
struct node_spans;
struct topology_cache;
struct tracker;

struct linux_machine {
	struct tier_machine base;
	int root_fd; /* "/" or a recorded tree */
	int proc_fd;
	int sys_fd;
	bool recorded; /* read-only: somebody else's /sys and /proc */
	char *root; /* path of root_fd for hwloc, NULL for "/" */
	char *tier_override;
	struct topology_cache *topology; /* what stays until nodes come or go */
	struct tier_topology *last_topology; /* what callers last got: node indexes mean this */
	struct cgroup_mount *cgroups;
	struct process_table *processes;
	pthread_rwlock_t spans_lock; /* held for reading by linux.c around whatever uses spans */
	struct node_spans *spans; /* PFN to node; NULL on a recorded tree */
	struct tier_topology *spans_topology; /* the nodes when spans were read */
	struct tracker *tracker;  /* NULL when there is no run_dir or the tree is recorded */
};

/* ---- file.c -------------------------------------------------------------------------------- */

/* openat2() as below; O_CLOEXEC is added. The fd, or negative errno. */
int file_open_at(int dir_fd, const char *path, int flags, bool cross_mounts);
/*
 * Reads a whole file below @dir_fd (openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
 * RESOLVE_NO_XDEV unless @cross_mounts) until read() gives 0. *ret is NUL-terminated. -EFBIG beyond
 * @max_bytes.
 */
int file_read_at(int dir_fd, const char *path, size_t max_bytes, bool cross_mounts, char **ret,
		 size_t *ret_size);
/* One write() of the whole text; a short write is -EIO. */
int file_write_at(int dir_fd, const char *path, const char *text);

/* ---- topology.c ---------------------------------------------------------------------------- */

int linux_topology_read(struct linux_machine *m, struct tier_topology **ret);

/* ---- cgroup.c ------------------------------------------------------------------------------ */

/* -ENOTSUP: no cgroup v2 at the usual place, or hybrid; *ret_why gets one static line. */
int cgroup_mount_open(int root_fd, bool recorded, struct cgroup_mount **ret, const char **ret_why);
struct cgroup_mount *cgroup_mount_close(struct cgroup_mount *c);
int cgroup_walk(struct cgroup_mount *c, struct tier_cgroups **ret);
int cgroup_read_usage(struct cgroup_mount *c, uint64_t cgroup_id, const struct tier_topology *t,
		      struct tier_usage *ret);
/* Pids directly in the cgroup; -ENOENT when it is gone. *ret_pids is malloc()ed. */
int cgroup_read_pids(struct cgroup_mount *c, uint64_t cgroup_id, pid_t **ret_pids, size_t *ret_n);
/* The path that this id has now, copied; -ENOENT. */
int cgroup_path(struct cgroup_mount *c, uint64_t cgroup_id, char **ret);

/* ---- process.c ----------------------------------------------------------------------------- */

/*
 * One process that the machine holds on to. References are counted; the struct stays valid, and its
 * fds open, as long as somebody holds one, also after the process ended.
 *
 * An open pagemap belongs to the address space, not to the process: after exec() or exit it reads
 * nothing. Holding one is what makes space_id true.
 */
struct process {
	uint64_t space_id;
	uint64_t cgroup_id;
	pid_t pid;
	int pidfd;
	int proc_fd; /* dirfd of /proc/PID */
	int pagemap_fd; /* of this address space */
	struct vma_facts *facts; /* mappings.c: what is costly to learn about its mappings */
	uint64_t start_time; /* field 22 of stat: tells a re-used pid */
	unsigned int refs;
};

int process_table_new(int proc_fd, struct process_table **ret);
struct process_table *process_table_free(struct process_table *t);
/*
 * Brings the table up to date with the pids of these cgroups and lists the live ones. A process of
 * another cgroup than asked (it moved meanwhile) is left out. Kernel threads never appear.
 */
int process_table_scan(struct process_table *t, struct cgroup_mount *c, const uint64_t *cgroup_ids,
		       size_t n_cgroup_ids, struct tier_processes **ret);
/* Takes a reference; -ESRCH when unknown or ended. Thread-safe, as is process_unref(). */
int process_get(struct process_table *t, uint64_t space_id, struct process **ret);
struct process *process_unref(struct process_table *t, struct process *p);
/* Still the same running process with the same address space? (pidfd and pagemap) */
bool process_alive(const struct process *p);
/* Is node @id in Mems_allowed of /proc/PID/status? 1 yes, 0 no, negative errno. */
int process_mems_allowed(const struct process *p, int node_id);

enum vma_kind {
	VMA_PRIVATE,  /* anonymous, heap, stack, private writable file mappings' own pages */
	VMA_SHMEM,    /* shmem, memfd, tmpfs, MAP_SHARED | MAP_ANONYMOUS */
	VMA_FILE,     /* page cache of ordinary files */
	VMA_HUGETLB,
	VMA_SPECIAL,  /* vdso, vsyscall, VM_IO, VM_PFNMAP, DAX, … */
};

struct vma {
	uint64_t start;
	uint64_t end;
	enum vma_kind kind;
	bool locked;      /* mlock()ed */
	bool mempolicy;   /* has a policy of its own: bind or interleave */
};

/*
 * All mappings, ascending, at most 65536 (-E2BIG); from maps, numa_maps and smaps. Neighbours that
 * differ in nothing shown here are joined. Policies and locks may be 30 s old.
 */
int process_read_vmas(const struct process *p, struct vma **ret, size_t *ret_n);

/* ---- folio.c ------------------------------------------------------------------------------- */

struct node_spans *node_spans_free(struct node_spans *s);
/* From /proc/zoneinfo; to be read again after memory hotplug. */
int node_spans_read(int proc_fd, struct node_spans **ret);
/* Kernel node id of a page frame, or -1. */
int node_spans_find(const struct node_spans *s, uint64_t pfn);

/* One folio, or the part of one, as it is mapped at @address. */
struct folio {
	uint64_t address;    /* first mapped page of it in the range walked */
	uint64_t pfn;        /* of that page */
	uint32_t pages;      /* consecutive pages mapped from there */
	uint8_t order;       /* of the folio; 0 for a base page */
	bool whole;          /* all of it is mapped from @address on, be it beyond the range walked */
	bool anon;
	bool mapped_once;    /* pagemap bit 56: no other process maps it */
	bool unmovable;      /* reserved, hugetlb, hwpoison, zero page, … */
	bool zero_page;
	int node;            /* kernel id, -1 unknown */
};

/*
 * Calls @visit for every folio mapped in [start, end), ascending; a non-zero return of it ends the
 * walk and is returned. Streams: memory use does not depend on the length of the range.
 * @need_orders false: kpageflags is not read, every page is reported as order 0 in runs of pages
 * on one node (cheap: what residency needs).
 */
int folio_walk(const struct process *p, const struct node_spans *spans, uint64_t start,
	       uint64_t end, bool need_orders, int (*visit)(void *userdata, const struct folio *f),
	       void *userdata);

/* ---- residency.c, move.c ------------------------------------------------------------------- */

int linux_residency_read(struct linux_machine *m, uint64_t space_id, struct tier_residency **ret);
int linux_move(struct linux_machine *m, const struct tier_move *move, struct tier_outcome *ret);

/* ---- tracker.c ----------------------------------------------------------------------------- */

/*
 * Starts the tracker's thread. @run_dir gets the file that names the kdamonds that are ours, so
 * that they can be stopped after a crash. Never fails for want of DAMON: the state then says why.
 */
int tracker_new(int sys_fd, const char *run_dir, struct tracker **ret);
struct tracker *tracker_free(struct tracker *t); /* stops our kdamonds */
/* Replaces the set; the tracker takes its own references. Never waits for the kernel. */
int tracker_set(struct tracker *t, struct process_table *table, const uint64_t *space_ids,
		size_t n_space_ids);
int tracker_read(struct tracker *t, struct tier_accesses **ret);
void tracker_state(struct tracker *t, struct tier_tracker_state *ret);
/* For ExecStopPost=: stops and removes what the file in @run_dir says was ours. */
int tracker_cleanup(int sys_fd, const char *run_dir);

#endif
