// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Text of /proc/PID/{stat,statm,cgroup} to values. Pure: opens nothing.
 */
#include "linux/process.h"
#include "linux/scan.h"
#include "util.h"

/* PF_KTHREAD, part of what stat shows as flags: stable since the flag exists. */
#define STAT_KERNEL_THREAD 0x00200000ULL

/* Numbers of fields as proc(5) counts them. */
#define STAT_FLAGS 9
#define STAT_START_TIME 22

int process_parse_stat(const char *text, size_t size, struct process_stat *ret)
{
	/* Behind the name there are only numbers: the last parenthesis is the one that ends it. */
	const char *name_end = memrchr(text, ')', size);
	struct process_stat st = {0};
	struct scan s, word;
	uint64_t flags = 0;

	if (!name_end)
		return -EINVAL;
	s = scan_begin(name_end + 1, size - (size_t)(name_end + 1 - text));
	word = scan_word(&s);
	if (word.end - word.p != 1)
		return -EINVAL;
	st.state = *word.p;
	for (unsigned int field = 4; field <= STAT_START_TIME; field++) {
		word = scan_word(&s);
		if (scan_done(&word))
			return -EINVAL;
		if (field == STAT_FLAGS && !scan_u64(&word, 10, &flags))
			return -EINVAL;
		if (field == STAT_START_TIME && !scan_u64(&word, 10, &st.start_time))
			return -EINVAL;
	}
	st.kernel_thread = flags & STAT_KERNEL_THREAD;
	*ret = st;
	return 0;
}

int process_parse_statm(const char *text, size_t size, uint64_t *ret_resident_bytes)
{
	struct scan s = scan_begin(text, size);
	uint64_t pages, bytes;

	if (!scan_u64(&s, 10, &pages))
		return -EINVAL;
	scan_blanks(&s);
	if (!scan_u64(&s, 10, &pages) || __builtin_mul_overflow(pages, TIER_PAGE_BYTES, &bytes))
		return -EINVAL;
	*ret_resident_bytes = bytes;
	return 0;
}

int process_parse_cgroup(const char *text, size_t size, const char **ret_path, size_t *ret_size)
{
	struct scan s = scan_begin(text, size), line;

	while (scan_line(&s, &line)) {
		if (!scan_text(&line, "0::/"))
			continue;
		*ret_path = line.p;
		*ret_size = (size_t)(line.end - line.p);
		return 0;
	}
	return -ENOENT;
}
