/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TIER_H
#define TIER_H

/*
 * libtier: the mechanism of memory tiering on Linux. It finds memory nodes and their order, cgroups
 * and their processes, what they access and where it lives, and it moves ranges of whole folios
 * between nodes. It decides nothing, prints nothing and never exits.
 *
 * Conventions
 *   * A negative return is -errno: the call failed, outputs are untouched. Zero is success. What is
 *     not a failure but must be handled by the caller comes as a named value (enum tier_result).
 *   * Outputs come last and are named ret_*; what they point to belongs to the caller and is
 *     released by the matching *_free(), which takes NULL and returns NULL.
 *   * Sizes are bytes, times microseconds of the machine's own monotonic clock, shares basis
 *     points (1/10000); the unit is the end of the name.
 *   * Nodes are named by their kernel id (struct tier_node.id); ids may be sparse.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** Base page; libtier is for architectures with 4 KiB pages (checked when a machine is made). */
#define TIER_PAGE_BYTES 4096ULL
/** Heat and plans work in slots of this size; also the largest folio that is moved whole. */
#define TIER_SLOT_BYTES (2ULL << 20)
/** Nodes beyond this many are refused (-E2BIG), never silently dropped. */
#define TIER_NODES_MAX 32
/** Folio orders that are told apart: 0 (4 KiB) to 9 (2 MiB); larger ones count as 9. */
#define TIER_ORDERS 10

struct tier_machine;

/* ---- topology ------------------------------------------------------------------------------ */

/** Where the order of the nodes comes from, best source first. */
enum tier_order_source {
	TIER_ORDER_OVERRIDE,   /* the administrator's list */
	TIER_ORDER_KERNEL,     /* /sys/devices/virtual/memory_tiering tells tiers apart */
	TIER_ORDER_ATTRIBUTES, /* hwloc memory attributes (HMAT): latency, then bandwidth */
	TIER_ORDER_DISTANCE,   /* nodes with CPUs first, then the SLIT distance to the nearest of them */
	TIER_ORDER_SINGLE,     /* there is nothing to order: all nodes are alike */
};

/**
 * struct tier_node - one memory node
 * @id: kernel node id
 * @rank: 0 is the fastest tier; nodes with the same rank are one tier
 * @has_cpus: at least one CPU is local
 * @total_bytes: installed; 0 for a memoryless node (which has no rank of use)
 * @free_bytes: free when last read
 * @reserve_bytes: below this much free memory the kernel itself reclaims (the zones' high
 *	watermarks); moves never eat into it
 * @latency_ns: access latency from the nearest initiator, 0 when unknown
 * @bandwidth_mib_s: likewise
 * Since: 0.1
 */
struct tier_node {
	int id;
	unsigned int rank;
	bool has_cpus;
	uint64_t total_bytes;
	uint64_t free_bytes;
	uint64_t reserve_bytes;
	uint32_t latency_ns;
	uint32_t bandwidth_mib_s;
};

/**
 * struct tier_topology - all nodes, in ascending order of id
 * @distance: SLIT distance between nodes[a] and nodes[b] (by index, not id); 0 when unknown
 * @n_tiers: number of distinct ranks among nodes that have memory
 * Since: 0.1
 */
struct tier_topology {
	size_t n_nodes;
	size_t n_tiers;
	enum tier_order_source source;
	struct tier_node nodes[TIER_NODES_MAX];
	uint8_t distance[TIER_NODES_MAX][TIER_NODES_MAX];
};

struct tier_topology *tier_topology_free(struct tier_topology *t);
/** Index of the node with kernel id @id, or -1. */
int tier_topology_index(const struct tier_topology *t, int id);

/* ---- cgroups ------------------------------------------------------------------------------- */

/**
 * struct tier_cgroup - one cgroup of the v2 tree
 * @id: kernel cgroup id (inode number): the identity, because paths are re-used
 * @parent_id: 0 for the root
 * @path: relative to the mount, without a leading slash; "" for the root; bytes, not text
 * Since: 0.1
 */
struct tier_cgroup {
	uint64_t id;
	uint64_t parent_id;
	char *path;
};

struct tier_cgroups {
	size_t n_cgroups; /* parents come before their children */
	struct tier_cgroup *cgroups;
	bool truncated; /* there are more than can be held; the deepest are left out */
};

struct tier_cgroups *tier_cgroups_free(struct tier_cgroups *c);

/**
 * struct tier_usage - what a cgroup with its descendants uses
 * @anon_bytes, @file_bytes, @shmem_bytes: from memory.numa_stat, by node *index* in the topology.
 *	The kernel counts shmem inside file; here file is without shmem.
 * @psi_some_us: total stall time ("some total" of memory.pressure), 0 without PSI
 * Since: 0.1
 */
struct tier_usage {
	uint64_t anon_bytes[TIER_NODES_MAX];
	uint64_t file_bytes[TIER_NODES_MAX];
	uint64_t shmem_bytes[TIER_NODES_MAX];
	uint64_t psi_some_us;
};

/* ---- processes ----------------------------------------------------------------------------- */

/**
 * struct tier_process - one process (thread group) as the machine tracks it
 * @space_id: identity of this address space, never re-used while the machine lives; an exec or a
 *	re-used pid gives a new one
 * @cgroup_id: the cgroup that it is directly in
 * @resident_bytes: RSS when last read (anonymous + shmem + file)
 * Since: 0.1
 */
struct tier_process {
	uint64_t space_id;
	uint64_t cgroup_id;
	uint64_t resident_bytes;
	pid_t pid;
};

struct tier_processes {
	size_t n_processes;
	struct tier_process *processes;
};

struct tier_processes *tier_processes_free(struct tier_processes *p);

/* ---- residency and access ------------------------------------------------------------------ */

/**
 * struct tier_slot - what is resident in one slot of an address space
 * @start: address, a multiple of TIER_SLOT_BYTES
 * @pages: resident and movable base pages by node index, at most 512 in all
 * Since: 0.1
 */
struct tier_slot {
	uint64_t start;
	uint16_t pages[TIER_NODES_MAX];
};

/**
 * struct tier_residency - where an address space's memory lives
 * @slots: ascending by start; slots with nothing resident are left out
 * @excluded_bytes: by node index: memory of the process's own, but not part of @slots because moves
 *	leave it alone: bound by a memory policy, locked, or shared memory that others map, too
 * Since: 0.1
 */
struct tier_residency {
	uint64_t space_id;
	uint64_t read_us;
	uint64_t excluded_bytes[TIER_NODES_MAX];
	size_t n_slots;
	struct tier_slot *slots;
};

struct tier_residency *tier_residency_free(struct tier_residency *r);

/**
 * struct tier_region - an address range and how often it was seen accessed
 * @rate_bp: share of the samples that found it accessed, 0..10000
 * Since: 0.1
 */
struct tier_region {
	uint64_t start;
	uint64_t end;
	uint32_t rate_bp;
};

/**
 * struct tier_access - the newest sample of one address space
 * @seq: grows with every new sample of this space; the same value again means nothing new
 * @regions: ascending, not overlapping; what lies between them was not monitored
 * Since: 0.1
 */
struct tier_access {
	uint64_t space_id;
	uint64_t seq;
	size_t n_regions;
	struct tier_region *regions;
};

struct tier_accesses {
	size_t n_accesses;
	struct tier_access *accesses;
};

struct tier_accesses *tier_accesses_free(struct tier_accesses *a);

/** What finds out which memory is hot. */
enum tier_tracker {
	TIER_TRACKER_NONE,  /* degraded: nothing tells hot from cold, so nothing is moved by itself */
	TIER_TRACKER_DAMON, /* DAMON vaddr through sysfs */
	TIER_TRACKER_SIM,   /* the synthetic machine */
};

/**
 * struct tier_tracker_state - which tracker works, and why not a better one
 * @reason: one line for people, "" when all is well
 * @cpu_us: CPU time that the tracker's kernel threads have used so far
 * Since: 0.1
 */
struct tier_tracker_state {
	enum tier_tracker tracker;
	char reason[160];
	uint64_t cpu_us;
	uint32_t n_tracked;
};

/* ---- moving -------------------------------------------------------------------------------- */

/** What became of bytes that were asked to move. Every byte asked ends in exactly one of them. */
enum tier_result {
	TIER_MOVED,
	TIER_ALREADY_THERE,
	TIER_NOT_RESIDENT,  /* hole, swapped, unmapped meanwhile, zero page */
	TIER_BUSY,          /* pinned, locked or isolated by somebody else */
	TIER_SHARED,        /* mapped by other processes too */
	TIER_CPUSET,        /* the target is not in the task's Mems_allowed */
	TIER_MEMPOLICY,     /* the mapping has a policy of its own (bind, interleave) */
	TIER_UNSUPPORTED,   /* file mapping, hugetlb, device memory, mlocked, … */
	TIER_TARGET_FULL,   /* no room above the headroom on the target */
	TIER_WOULD_SPLIT,   /* a large folio would have been split; it was left alone */
	TIER_PROCESS_ENDED,
	TIER_NOT_TRIED,     /* cancelled or out of budget before its turn */
	TIER_RESULTS,
};

/** Stable lower-case name of a result, for JSON and metrics ("moved", "already-there", …). */
const char *tier_result_name(enum tier_result r);

/**
 * struct tier_outcome - what a move did
 * @bytes: by result and folio order; the sum over all is @asked_bytes
 * @calls: move_pages() calls made
 * @call_max_us: the longest of them
 * @call_sum_us: all of them
 * @folios_lost: large folios that were whole before and are split now
 * Since: 0.1
 */
struct tier_outcome {
	uint64_t asked_bytes;
	uint64_t bytes[TIER_RESULTS][TIER_ORDERS];
	uint64_t call_max_us;
	uint64_t call_sum_us;
	uint64_t folios_lost;
	uint32_t calls;
};

uint64_t tier_outcome_bytes(const struct tier_outcome *o, enum tier_result r);
void tier_outcome_add(struct tier_outcome *sum, const struct tier_outcome *o);

struct tier_range {
	uint64_t start;
	uint64_t end;
};

/**
 * struct tier_move - one request: ranges of one address space to one node
 * @target_node: kernel id
 * @headroom_bytes: free memory to leave on the target; the move stops with TIER_TARGET_FULL before
 *	it would eat into it
 * @call_max_us: aim for calls no longer than this; 0 for the default of 20 ms
 * @ranges: ascending, not overlapping; widened or narrowed to whole folios by the mover
 * @cancel: polled between calls when not NULL; the rest then ends as TIER_NOT_TRIED
 * @progress: called after each call when not NULL, with what was done so far
 * @split_folios: allow large folios to be split where the target has no free block of their size
 * Since: 0.1
 */
struct tier_move {
	uint64_t space_id;
	int target_node;
	uint64_t headroom_bytes;
	uint64_t call_max_us;
	size_t n_ranges;
	const struct tier_range *ranges;
	bool split_folios;
	const volatile bool *cancel;
	void (*progress)(void *userdata, const struct tier_outcome *so_far);
	void *userdata;
};

/* ---- the machine --------------------------------------------------------------------------- */

/**
 * struct tier_linux_options - how to look at a Linux machine
 * @root: directory that stands for "/" (recorded trees of other machines); NULL for "/". A machine
 *	with a root is read-only: tracking and moving give -EROFS.
 * @tier_override: NULL, or the administrator's order, fastest first: node lists separated by '>',
 *	"0,2 > 1 > 3"
 * @run_dir: where state that must survive a crash is kept ("/run/tierd"); NULL to track nothing
 * Since: 0.1
 */
struct tier_linux_options {
	const char *root;
	const char *tier_override;
	const char *run_dir;
};

/**
 * tier_machine_new_linux - the machine we run on
 *
 * Errors: -ENOTSUP no cgroup v2 or a hybrid hierarchy, -EACCES no right to read what is needed,
 * -EINVAL a bad @tier_override, -E2BIG too many nodes; @ret_why (may be NULL) then gets one line
 * for people in static or machine-independent memory.
 * Since: 0.1
 */
int tier_machine_new_linux(const struct tier_linux_options *options, struct tier_machine **ret,
			   const char **ret_why);
struct tier_machine *tier_machine_free(struct tier_machine *m);
/**
 * tier_linux_set_order - replace the administrator's order of a Linux machine
 * @order: as @tier_override; NULL for the machine's own order
 *
 * -EINVAL with *ret_why (static text) when it does not fit the machine's nodes; the old order then
 * stays in force. On another machine than Linux's: -ENOTSUP.
 * Since: 0.1
 */
int tier_linux_set_order(struct tier_machine *m, const char *order, const char **ret_why);
/**
 * tier_linux_cleanup - stop what a crashed user of @run_dir left running in the kernel
 *
 * For ExecStopPost= and for the start of a service. Touches only kdamonds that a file in @run_dir
 * names and that are still the same; 0 also when there is nothing to do.
 * Since: 0.1
 */
int tier_linux_cleanup(const char *run_dir);

/** The machine's monotonic clock. */
uint64_t tier_machine_now_us(struct tier_machine *m);
/** Nodes, order, distances and free bytes, as they are now. */
int tier_machine_read_topology(struct tier_machine *m, struct tier_topology **ret);
/** The whole cgroup tree; a cgroup that vanishes during the walk is left out, never an error. */
int tier_machine_read_cgroups(struct tier_machine *m, struct tier_cgroups **ret);
/** One cgroup's use by node index. -ENOENT when the cgroup is gone. */
int tier_machine_read_usage(struct tier_machine *m, uint64_t cgroup_id, struct tier_usage *ret);
/** Processes directly in the given cgroups (not in their children). Gone cgroups are left out. */
int tier_machine_read_processes(struct tier_machine *m, const uint64_t *cgroup_ids,
				size_t n_cgroup_ids, struct tier_processes **ret);
/** Where a space's memory lives. -ESRCH when the process has ended. */
int tier_machine_read_residency(struct tier_machine *m, uint64_t space_id,
				struct tier_residency **ret);
/**
 * tier_machine_track - from now on, watch exactly these spaces
 *
 * Never waits for the kernel: the change is carried out by the tracker's own thread. Spaces that
 * stay in the set keep their history.
 */
int tier_machine_track(struct tier_machine *m, const uint64_t *space_ids, size_t n_space_ids);
/** The newest sample of each tracked space that has one. Never waits. */
int tier_machine_read_access(struct tier_machine *m, struct tier_accesses **ret);
void tier_machine_read_tracker(struct tier_machine *m, struct tier_tracker_state *ret);
/**
 * tier_machine_move - move ranges of one address space; blocks; callable from any thread
 *
 * Returns 0 whenever *ret accounts for every byte asked, whatever became of them; negative only
 * when nothing could be tried (-EINVAL a bad request, -ENOMEM, -EROFS).
 */
int tier_machine_move(struct tier_machine *m, const struct tier_move *move,
		      struct tier_outcome *ret);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
