// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Free memory of one node, read anew each time it is asked for. Reserves nothing: what is free now
 * may be gone a moment later.
 */
#include <stdio.h>

#include "linux/parse.h"
#include "linux/room.h"
#include "util.h"

/* A node's meminfo is about 1.5 KiB; buddyinfo has 110 bytes for each of at most 160 zones. */
#define FILE_MAX_BYTES (64 * KiB)

static int read_meminfo(const struct linux_machine *m, int node, uint64_t *ret_total_bytes,
			uint64_t *ret_free_bytes)
{
	cleanup(freep) char *text = NULL;
	char path[64];
	size_t size;
	int r;

	snprintf(path, sizeof(path), "devices/system/node/node%d/meminfo", node);
	r = file_read_at(m->sys_fd, path, FILE_MAX_BYTES, false, &text, &size);
	return r < 0 ? r : parse_meminfo(text, size, ret_total_bytes, ret_free_bytes);
}

int room_node_exists(const struct linux_machine *m, int node)
{
	uint64_t total_bytes, free_bytes;
	int r;

	if (node < 0)
		return 0;
	r = read_meminfo(m, node, &total_bytes, &free_bytes);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : total_bytes > 0;
}

int room_read(const struct linux_machine *m, int node, uint64_t headroom_bytes, uint64_t *ret_bytes)
{
	uint64_t keep_bytes = MAX(headroom_bytes, node_spans_reserve_bytes(m->spans, node));
	uint64_t total_bytes, free_bytes;
	int r = read_meminfo(m, node, &total_bytes, &free_bytes);

	if (r < 0)
		return r;
	*ret_bytes = free_bytes > keep_bytes ? free_bytes - keep_bytes : 0;
	return 0;
}

int room_read_blocks(const struct linux_machine *m, int node, uint64_t ret_blocks[BUDDY_ORDERS])
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	r = file_read_at(m->proc_fd, "buddyinfo", FILE_MAX_BYTES, false, &text, &size);
	return r < 0 ? r : buddyinfo_parse(text, size, node, ret_blocks);
}
