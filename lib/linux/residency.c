// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Where an address space's memory lives: base pages by slot and node. Counts only what a move could
 * take along; the rest of what is resident is one number. Moves nothing.
 */
#include <time.h>

#include "linux/linux.h"
#include "linux/parse.h"
#include "linux/process.h"
#include "linux/residency.h"
#include "util.h"

/* 2 TiB of dense memory; a struct tier_slot per slot makes 72 MiB of it. */
#define SLOTS_MAX (1 << 20)

/* A list of 1,024 node ids is below 5 KiB. */
#define NODE_LIST_MAX_BYTES (16 * KiB)

DEFINE_CLEANUP(struct tier_residency *, tier_residency_free)

int node_index_make(const struct node_set *online, int16_t ret[NODE_ID_MAX + 1])
{
	int16_t index = 0;

	if (node_set_count(online) > TIER_NODES_MAX)
		return -E2BIG;
	for (int id = 0; id <= NODE_ID_MAX; id++)
		ret[id] = node_set_has(online, id) ? index++ : -1;
	return 0;
}

static int add_pages(struct slot_list *l, uint64_t slot, int index, uint32_t pages)
{
	int r;

	if (l->n == 0 || l->slots[l->n - 1].start != slot) {
		r = array_reserve((void **)&l->slots, &l->capacity, l->n, sizeof(*l->slots),
				  SLOTS_MAX);
		if (r < 0)
			return r;
		l->slots[l->n++] = (struct tier_slot){.start = slot};
	}
	l->slots[l->n - 1].pages[index] += (uint16_t)pages;
	return 0;
}

int slot_list_add(struct slot_list *l, uint64_t address, uint32_t pages, int index)
{
	while (pages > 0) {
		uint64_t slot = round_down_u64(address, TIER_SLOT_BYTES);
		uint32_t here = (uint32_t)MIN((slot + TIER_SLOT_BYTES - address) / TIER_PAGE_BYTES,
					      (uint64_t)pages);
		int r = add_pages(l, slot, index, here);

		if (r < 0)
			return r;
		l->pages += here;
		address += here * TIER_PAGE_BYTES;
		pages -= here;
	}
	return 0;
}

/* The topology lists the online nodes in ascending order; so does this. */
static int read_node_index(const struct linux_machine *m, int16_t ret[NODE_ID_MAX + 1])
{
	cleanup(freep) char *text = NULL;
	struct node_set online;
	size_t size;
	int r;

	r = file_read_at(m->sys_fd, "devices/system/node/online", NODE_LIST_MAX_BYTES, false, &text,
			 &size);
	if (r < 0)
		return r;
	r = parse_node_list(text, size, &online);
	return r < 0 ? r : node_index_make(&online, ret);
}

struct reading {
	const struct vma *vma;
	uint64_t *excluded_bytes; /* by node index */
	struct slot_list list;
	int16_t node_index[NODE_ID_MAX + 1];
};

bool vma_movable(const struct vma *v)
{
	return (v->kind == VMA_PRIVATE || v->kind == VMA_SHMEM) && !v->locked && !v->mempolicy;
}

/*
 * A page that others map, too, would not be moved; that goes for the zero page as well, which looks
 * like memory of the process otherwise. In a private mapping, page cache is not the process's own.
 */
static int visit(void *userdata, const struct folio *f)
{
	struct reading *r = userdata;
	int index = f->node >= 0 && f->node <= NODE_ID_MAX ? r->node_index[f->node] : -1;

	if (f->unmovable || index < 0 || (r->vma->kind == VMA_PRIVATE && !f->anon))
		return 0;
	/* In private memory that may as well be the zero page, which is nobody's. */
	if (!f->mapped_once && r->vma->kind == VMA_PRIVATE)
		return 0;
	if (!f->mapped_once || !vma_movable(r->vma)) {
		r->excluded_bytes[index] += f->pages * TIER_PAGE_BYTES;
		return 0;
	}
	return slot_list_add(&r->list, f->address, f->pages, index);
}

static int read_slots(const struct linux_machine *m, const struct process *p, struct reading *r)
{
	cleanup(freep) struct vma *vmas = NULL;
	size_t n_vmas;
	int e;

	e = process_read_vmas(p, &vmas, &n_vmas);
	if (e < 0)
		return e;
	for (size_t i = 0; i < n_vmas; i++) {
		if (vmas[i].kind != VMA_PRIVATE && vmas[i].kind != VMA_SHMEM)
			continue;
		r->vma = &vmas[i];
		e = folio_walk(p, m->spans, vmas[i].start, vmas[i].end, false, visit, r);
		if (e < 0)
			return e;
	}
	return 0;
}

static int read_process(const struct linux_machine *m, const struct process *p,
			struct tier_residency *ret)
{
	cleanup(freep) struct reading *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->excluded_bytes = ret->excluded_bytes;
	e = read_node_index(m, r->node_index);
	if (e == 0)
		e = read_slots(m, p, r);
	ret->slots = r->list.slots;
	ret->n_slots = r->list.n;
	if (e < 0)
		return e;
	/* Of a process that ended or exec()ed meanwhile, nothing of this is true. */
	return process_alive(p) ? 0 : -ESRCH;
}

int linux_residency_read(struct linux_machine *m, uint64_t space_id, struct tier_residency **ret)
{
	cleanup(tier_residency_freep) struct tier_residency *residency = NULL;
	struct timespec now;
	struct process *p;
	int r;

	if (m->recorded || !m->spans)
		return -EROFS;
	residency = calloc(1, sizeof(*residency));
	if (!residency)
		return -ENOMEM;
	r = process_get(m->processes, space_id, &p);
	if (r < 0)
		return r;
	clock_gettime(CLOCK_MONOTONIC, &now);
	residency->space_id = space_id;
	residency->read_us = (uint64_t)now.tv_sec * US_PER_S + (uint64_t)now.tv_nsec / 1000;
	r = read_process(m, p, residency);
	if (r < 0 && !process_alive(p))
		r = -ESRCH;
	process_unref(m->processes, p);
	if (r < 0)
		return r;
	*ret = STEAL(residency);
	return 0;
}
