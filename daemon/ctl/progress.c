// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Draws how far a job is. Must not write to stdout, which is for results.
 */
#include <stdio.h>
#include <sys/ioctl.h>

#include "ctl/jobs.h"
#include "ctl/progress.h"
#include "report/text.h"
#include "util.h"

#define LINE_EVERY_US US_PER_S
/* What stands beside the bar: "100%  1023.9M of 1023.9M  1023.9M/s" with room to breathe. */
#define TEXT_COLUMNS 44
#define BAR_COLUMNS_MAX 60

void progress_init(struct progress *p, bool quiet, uint64_t now_us)
{
	*p = (struct progress){
		.quiet = quiet,
		.is_terminal = isatty(STDERR_FILENO),
		.started_us = now_us,
	};
}

static int bar_columns(void)
{
	struct winsize size;
	int columns = 80;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		columns = size.ws_col;
	return MAX(MIN(columns - TEXT_COLUMNS, BAR_COLUMNS_MAX), 0);
}

static uint64_t rate(const struct progress *p, uint64_t now_us, uint64_t done_bytes)
{
	uint64_t ms = (now_us - p->started_us) / US_PER_MS;

	return ms ? done_bytes / ms * 1000 : 0;
}

static void draw_bar(unsigned int percent)
{
	int columns = bar_columns(), full = columns * (int)percent / 100;

	if (!columns)
		return;
	fputc('[', stderr);
	for (int i = 0; i < columns; i++)
		fputc(i < full ? '#' : '.', stderr);
	fputs("] ", stderr);
}

void progress_show(struct progress *p, uint64_t now_us, uint64_t asked_bytes, uint64_t done_bytes)
{
	char done[TEXT_NUMBER_MAX], asked[TEXT_NUMBER_MAX], speed[TEXT_NUMBER_MAX];
	unsigned int percent = job_percent(done_bytes, asked_bytes);

	if (p->quiet)
		return;
	if (!p->is_terminal && p->last_line_us && now_us - p->last_line_us < LINE_EVERY_US)
		return;
	p->last_line_us = now_us;
	if (p->is_terminal) {
		fputs("\r\033[K", stderr);
		draw_bar(percent);
		p->is_drawn = true;
	}
	fprintf(stderr, "%3u%%  %s of %s  %s/s%s", percent, text_size(done_bytes, done),
		text_size(asked_bytes, asked), text_size(rate(p, now_us, done_bytes), speed),
		p->is_terminal ? "" : "\n");
	fflush(stderr);
}

void progress_clear(struct progress *p)
{
	if (p->is_drawn)
		fputs("\r\033[K", stderr);
	p->is_drawn = false;
}
