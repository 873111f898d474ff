/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

/*
 * How far a job is, on stderr: a bar that is redrawn on a terminal, at most a line each second
 * elsewhere.
 */

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool quiet;
	bool is_terminal;
	bool is_drawn;
	uint64_t started_us;
	uint64_t last_line_us;
};

void progress_init(struct progress *p, bool quiet, uint64_t now_us);
void progress_show(struct progress *p, uint64_t now_us, uint64_t asked_bytes, uint64_t done_bytes);
/* Takes the bar away, so that something else can be printed. */
void progress_clear(struct progress *p);

#endif
