// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The mappings of a process, read from /proc/PID/maps each time, and what the kernel makes costly
 * to learn about them (memory policies, mlock, which devices are tmpfs), remembered for a while.
 * Parses nothing itself and touches no memory of the process.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "linux/linux.h"
#include "linux/parse.h"
#include "linux/vma.h"
#include "util.h"

/* Just above the default of vm.max_map_count (65530), which counts the same thing. */
#define VMAS_MAX 65536

/* A path of PATH_MAX bytes, each escaped to four, and the numbers around it; more is cut. */
#define LINE_BYTES (20 * KiB)

/* Of all lines of a file that we read: 25 of smaps per mapping are the most that any kernel gives.
 */
#define LINES_MAX (32 * VMAS_MAX)

/* status is about 1.5 KiB; node masks and group lists make it longer. */
#define STATUS_MAX_BYTES (64 * KiB)

/*
 * numa_maps walks every page table of the process. A policy changes rarely and long before it
 * matters, so what was learnt is good for 30 s, and longer where reading it takes long: at most
 * 1/100 of the time goes into it.
 */
#define FACTS_KEEP_US (30 * US_PER_S)
#define FACTS_COST_FACTOR 100

/* What is true of every address from start to end. */
struct fact {
	uint64_t start;
	uint64_t end;
	bool strict;
	bool hugetlb;
	bool locked;
};

struct vma_facts {
	pthread_mutex_t lock; /* movers and the event loop read the same process */
	uint64_t read_us;     /* 0: never */
	uint64_t keep_us;
	bool first_strict; /* the policy of the first mapping, see task_policy_changed() */
	struct shmem_devices shmem;
	size_t n;
	size_t capacity;
	struct fact *facts;
};

int vma_facts_new(struct vma_facts **ret)
{
	struct vma_facts *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	*ret = f;
	return 0;
}

struct vma_facts *vma_facts_free(struct vma_facts *f)
{
	if (!f)
		return NULL;
	pthread_mutex_destroy(&f->lock);
	free(f->facts);
	free(f);
	return NULL;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * US_PER_S + (uint64_t)t.tv_nsec / 1000;
}

/* ---- files line by line -------------------------------------------------------------------- */

/*
 * Calls @line for every line of @name until it returns non-zero, which is then returned, or a
 * negative errno. These files have no size and one read() gives about 4 KiB of them: read until
 * there is nothing more.
 */
struct lines {
	int (*line)(void *userdata, const char *line, size_t size);
	void *userdata;
	size_t used;
	size_t n_lines;
	bool skipping; /* the rest of a line that was cut */
	char buffer[LINE_BYTES];
};

static int lines_deliver(struct lines *l, const char *line, size_t size)
{
	if (l->skipping) {
		l->skipping = false;
		return 0;
	}
	if (l->n_lines++ >= LINES_MAX)
		return -E2BIG;
	return l->line(l->userdata, line, size);
}

/* Delivers every whole line of the buffer and keeps what is left. */
static int lines_consume(struct lines *l)
{
	char *at = l->buffer, *end = l->buffer + l->used, *newline;
	int r = 0;

	while (r == 0 && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		r = lines_deliver(l, at, (size_t)(newline - at));
		at = newline + 1;
	}
	if (r == 0 && at == l->buffer && l->used == sizeof(l->buffer)) {
		r = lines_deliver(l, at, l->used);
		l->skipping = true;
		at = end;
	}
	l->used = (size_t)(end - at);
	memmove(l->buffer, at, l->used);
	return r;
}

static int lines_read(const struct process *p, const char *name,
		      int (*line)(void *userdata, const char *line, size_t size), void *userdata)
{
	cleanup(closep) int fd = -1;
	cleanup(freep) struct lines *l = malloc(sizeof(*l));
	int r = 0;

	if (!l)
		return -ENOMEM;
	l->line = line;
	l->userdata = userdata;
	l->used = l->n_lines = 0;
	l->skipping = false;
	fd = openat(p->proc_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (r == 0) {
		ssize_t n = read(fd, l->buffer + l->used, sizeof(l->buffer) - l->used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		l->used += (size_t)n;
		r = lines_consume(l);
	}
	return r;
}

/* ---- what is costly to learn --------------------------------------------------------------- */

static int facts_add(struct vma_facts *f, const struct fact *fact)
{
	int r = array_reserve((void **)&f->facts, &f->capacity, f->n, sizeof(*fact), VMAS_MAX);

	if (r < 0)
		return r;
	f->facts[f->n++] = *fact;
	return 0;
}

struct numa_reader {
	struct vma_facts *facts;
	bool begun;
	bool open; /* the last fact ends where the next mapping starts */
};

/*
 * numa_maps tells where mappings start, not where they end: a fact reaches up to the next line.
 * That includes the gap between the two, where nothing is.
 */
static int numa_maps_line(void *userdata, const char *line, size_t size)
{
	struct numa_reader *r = userdata;
	struct vma_policy policy;
	struct fact fact;

	if (vma_parse_numa_maps(line, size, &policy) < 0)
		return 0;
	if (!r->begun)
		r->facts->first_strict = policy.strict;
	r->begun = true;
	if (r->open)
		r->facts->facts[r->facts->n - 1].end = policy.start;
	r->open = policy.strict || policy.hugetlb;
	if (!r->open)
		return 0;
	fact = (struct fact){
		.start = policy.start,
		.end = UINT64_MAX,
		.strict = policy.strict,
		.hugetlb = policy.hugetlb,
	};
	return facts_add(r->facts, &fact);
}

struct smaps_reader {
	struct vma_facts *facts;
	struct smaps_entry entry;
};

static int smaps_line(void *userdata, const char *line, size_t size)
{
	struct smaps_reader *r = userdata;
	struct fact fact = {.locked = true};

	if (vma_parse_smaps(line, size, &r->entry) != SMAPS_FLAGS || !r->entry.locked)
		return 0;
	fact.start = r->entry.start;
	fact.end = r->entry.end;
	return facts_add(r->facts, &fact);
}

static int mountinfo_line(void *userdata, const char *line, size_t size)
{
	struct shmem_devices *shmem = userdata;
	uint64_t device;

	if (vma_parse_mountinfo(line, size, &device) != 1)
		return 0;
	if (shmem->n < ARRAY_SIZE(shmem->devices))
		shmem->devices[shmem->n++] = device;
	return 0;
}

/*
 * The kernel's own tmpfs mount, where memfds, SysV segments and MAP_SHARED | MAP_ANONYMOUS live, is
 * in no mountinfo; a memfd of ours tells its device.
 */
static void add_internal_shmem(struct shmem_devices *shmem)
{
	cleanup(closep) int fd = memfd_create("libtier-probe", MFD_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		shmem->devices[shmem->n++] = vma_device(major(st.st_dev), minor(st.st_dev));
}

/* smaps costs more than all else here: only who has mlock()ed anything pays for it. */
static int has_locked(const struct process *p)
{
	cleanup(freep) char *text = NULL;
	const char *value;
	size_t size;
	int r;

	r = file_read_at(p->proc_fd, "status", STATUS_MAX_BYTES, false, &text, &size);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = parse_status_field(text, size, "VmLck", &value, &size);
	if (r < 0)
		return r == -ENOENT ? 0 : r; /* no VmLck: no memory, a process that is ending */
	return !(size >= 1 && value[0] == '0');
}

static int facts_read_locked(const struct process *p, struct vma_facts *f)
{
	struct smaps_reader reader = {.facts = f};
	int r = has_locked(p);

	if (r <= 0)
		return r;
	return lines_read(p, "smaps", smaps_line, &reader);
}

static int facts_read(const struct process *p, struct vma_facts *f)
{
	struct numa_reader numa = {.facts = f};
	uint64_t begin = now_us();
	int r;

	f->read_us = 0; /* until all of it is there */
	f->n = 0;
	f->shmem.n = 0;
	add_internal_shmem(&f->shmem);
	r = lines_read(p, "mountinfo", mountinfo_line, &f->shmem);
	if (r < 0)
		return r;
	r = lines_read(p, "numa_maps", numa_maps_line, &numa);
	/* A kernel without NUMA has no numa_maps and no policies. */
	if (r < 0 && r != -ESRCH)
		return r;
	r = facts_read_locked(p, f);
	if (r < 0)
		return r;
	f->read_us = now_us();
	f->keep_us = MAX(FACTS_KEEP_US, (f->read_us - begin) * FACTS_COST_FACTOR);
	return 0;
}

/*
 * Many set a policy for the whole task while they allocate, and take it back. It shows in every
 * mapping that has none of its own, so the first one is asked each time: a read() of so little
 * walks just that one.
 */
static bool task_policy_changed(const struct process *p, const struct vma_facts *f)
{
	cleanup(closep) int fd = openat(p->proc_fd, "numa_maps", O_RDONLY | O_CLOEXEC);
	struct vma_policy policy;
	char line[64];
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line));

	return n > 0 && vma_parse_numa_maps(line, (size_t)n, &policy) == 0 &&
	       policy.strict != f->first_strict;
}

static int facts_refresh(const struct process *p, struct vma_facts *f)
{
	if (f->read_us && now_us() - f->read_us < f->keep_us && !task_policy_changed(p, f))
		return 0;
	return facts_read(p, f);
}

static void fact_apply(const struct fact *fact, struct vma *v)
{
	v->mempolicy |= fact->strict;
	v->locked |= fact->locked;
	if (fact->hugetlb)
		v->kind = VMA_HUGETLB;
}

/*
 * A mapping that a fact touches anywhere gets it as a whole: the kernel splits mappings where such
 * things differ, so only one that changed meanwhile is treated too carefully.
 */
static void facts_apply(const struct vma_facts *f, struct vma *vmas, size_t n)
{
	/* First those of numa_maps, then those of smaps: each of them ascending. */
	for (size_t i = 0, v = 0; i < f->n; i++) {
		const struct fact *fact = &f->facts[i];

		if (i > 0 && f->facts[i - 1].start > fact->start)
			v = 0;
		while (v < n && vmas[v].end <= fact->start)
			v++;
		for (size_t k = v; k < n && vmas[k].start < fact->end; k++)
			fact_apply(fact, &vmas[k]);
	}
}

/* ---- maps ---------------------------------------------------------------------------------- */

struct maps_reader {
	const struct shmem_devices *shmem;
	struct vma *vmas;
	size_t n;
	size_t capacity;
};

static int maps_line(void *userdata, const char *line, size_t size)
{
	struct maps_reader *m = userdata;
	struct vma v;
	int r;

	if (vma_parse_maps(line, size, m->shmem, &v) < 0)
		return -EBADMSG;
	/*
	 * While mappings change, two reads may show one address twice: what came first stands. The
	 * kernel resumes by address, so nothing ever goes backwards otherwise.
	 */
	if (m->n > 0 && v.start < m->vmas[m->n - 1].end)
		return 0;
	r = array_reserve((void **)&m->vmas, &m->capacity, m->n, sizeof(v), VMAS_MAX);
	if (r < 0)
		return r;
	m->vmas[m->n++] = v;
	return 0;
}

static int read_vmas_locked(const struct process *p, struct vma_facts *f, struct vma **ret,
			    size_t *ret_n)
{
	struct maps_reader m = {.shmem = &f->shmem};
	int r = facts_refresh(p, f);

	if (r < 0)
		return r;
	r = lines_read(p, "maps", maps_line, &m);
	if (r < 0) {
		free(m.vmas);
		return r;
	}
	facts_apply(f, m.vmas, m.n);
	*ret_n = vma_merge(m.vmas, m.n);
	*ret = m.vmas;
	return 0;
}

int process_read_vmas(const struct process *p, struct vma **ret, size_t *ret_n)
{
	int r;

	pthread_mutex_lock(&p->facts->lock);
	r = read_vmas_locked(p, p->facts, ret, ret_n);
	pthread_mutex_unlock(&p->facts->lock);
	/* Files of a process that is ending fail in more ways than one. */
	return r < 0 && !process_alive(p) ? -ESRCH : r;
}
