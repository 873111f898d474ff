// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the machine we run on must offer before it is worth a try. Looks only at our own process and
 * changes nothing.
 */
#include <linux/capability.h>
#include <stdio.h>

#include "linux/checks.h"
#include "linux/linux.h"
#include "linux/parse.h"
#include "util.h"

/* /proc/self/status is about 1.5 KiB; each further group of 32 nodes adds a few bytes. */
#define STATUS_MAX_BYTES (64 * KiB)

/* What each part of the work needs; as tried, not as documented. */
static const struct {
	unsigned int bit;
	const char *name;
} needed[] = {
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},	      /* another user's pages */
	{CAP_SYS_NICE, "CAP_SYS_NICE"},		      /* pages that others map, too */
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"}, /* /proc/PID/pagemap of anybody */
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},	      /* page frame numbers in pagemap */
};

/* Not through /proc/self: that is a symbolic link, and those are not followed. */
static int read_own_status(int proc_fd, char **ret, size_t *ret_size)
{
	char path[sizeof("/status") + 3 * sizeof(int)];

	snprintf(path, sizeof(path), "%d/status", getpid());
	return file_read_at(proc_fd, path, STATUS_MAX_BYTES, false, ret, ret_size);
}

int check_capabilities(const char *status, size_t size, const char **ret_why)
{
	/* Longest: the text before, four names, three separators. Per thread, as callers are. */
	static _Thread_local char text[128];
	const char *value;
	uint64_t effective;
	size_t value_size, n = 0;
	int r;

	*ret_why = "our own capabilities cannot be read from /proc/self/status";
	r = parse_status_field(status, size, "CapEff", &value, &value_size);
	if (r < 0)
		return r;
	r = parse_hex_u64(value, value_size, &effective);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		if (effective >> needed[i].bit & 1)
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
				      n ? ", " : "missing privileges: ", needed[i].name);
	}
	if (n == 0)
		return 0;
	*ret_why = text;
	return -EACCES;
}

int check_mems_allowed_text(const char *status, size_t size, const struct tier_topology *t,
			    const char **ret_why)
{
	struct node_set allowed;
	const char *value;
	size_t value_size;
	int r;

	*ret_why = "our own Mems_allowed_list cannot be read from /proc/self/status";
	r = parse_status_field(status, size, "Mems_allowed_list", &value, &value_size);
	if (r == -ENOENT) /* built without cpusets: nothing is forbidden */
		return 0;
	if (r < 0)
		return r;
	r = parse_node_list(value, value_size, &allowed);
	if (r < 0)
		return r;
	for (size_t i = 0; i < t->n_nodes; i++) {
		if (!t->nodes[i].total_bytes || node_set_has(&allowed, t->nodes[i].id))
			continue;
		*ret_why = "our own cpuset leaves out memory nodes (AllowedMemoryNodes= of the "
			   "unit or its slice): nothing could be moved there";
		return -EACCES;
	}
	return 0;
}

int check_host(int proc_fd, const char **ret_why)
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	if (sysconf(_SC_PAGESIZE) != (long)TIER_PAGE_BYTES) {
		*ret_why = "this kernel's pages are not 4 KiB";
		return -ENOTSUP;
	}
	r = read_own_status(proc_fd, &text, &size);
	if (r < 0) {
		*ret_why = "/proc/self/status cannot be read";
		return r;
	}
	return check_capabilities(text, size, ret_why);
}

int check_mems_allowed(int proc_fd, const struct tier_topology *t, const char **ret_why)
{
	cleanup(freep) char *text = NULL;
	size_t size;
	int r;

	r = read_own_status(proc_fd, &text, &size);
	if (r < 0) {
		*ret_why = "/proc/self/status cannot be read";
		return r;
	}
	return check_mems_allowed_text(text, size, t, ret_why);
}
