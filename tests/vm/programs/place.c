// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the pages of a range of a process are, by the kernel's own word: move_pages() without
 * target nodes, page by page. Used to check tierd, so it shares nothing with it.
 *
 *	place PID START END          "node N BYTES" for every node, then "none BYTES": holes,
 *swapped, the zero page place --map PID START END    one line per 2 MiB, one character per page:
 *the node's number in base 36, '.' where there is none
 *
 * START and END are hexadecimal, with or without 0x. Exit status 1: the process is gone; 2: a wrong
 * command line, or no right to ask.
 */
#include "common.h"

#define PAGES_PER_LINE 512

struct answer {
	uint64_t node_bytes[NODES];
	uint64_t none_bytes;
	bool map;
};

static char map_char(int status)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

	if (status < 0)
		return '.';
	return status < 36 ? digits[status] : '?';
}

/* A line's worth of pages. */
static void count(struct answer *a, const int *status, size_t n)
{
	char line[PAGES_PER_LINE + 1];

	for (size_t i = 0; i < n; i++) {
		line[i] = map_char(status[i]);
		if (status[i] >= 0 && status[i] < NODES)
			a->node_bytes[status[i]] += PAGE;
		else
			a->none_bytes += PAGE;
	}
	line[n] = '\0';
	if (a->map)
		puts(line);
}

/* False when the process is gone. */
static bool ask(pid_t pid, uint64_t start, uint64_t end, struct answer *a)
{
	void *pages[PAGES_PER_LINE];
	int status[PAGES_PER_LINE];

	for (uint64_t at = start; at < end;) {
		size_t n = 0;

		for (; n < PAGES_PER_LINE && at < end; at += PAGE)
			pages[n++] = (void *)(uintptr_t)at;
		if (syscall(SYS_move_pages, pid, n, pages, NULL, status, 0) < 0) {
			if (errno == ESRCH || errno == EINVAL)
				return false;
			err(EXIT_USAGE, "move_pages of %d", pid);
		}
		count(a, status, n);
	}
	return true;
}

/* Ids up to the last possible are shown, also when they hold nothing. */
static int last_node(void)
{
	FILE *f = fopen("/sys/devices/system/node/possible", "re");
	char line[64] = "";
	const char *p;

	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	p = strpbrk(line, "-,") ? line + strcspn(line, "\n") : line;
	while (p > line && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return atoi(p);
}

static void print(const struct answer *a)
{
	int last = last_node();

	for (int i = 0; i < NODES; i++)
		if (i <= last || a->node_bytes[i])
			printf("node %d %llu\n", i, (unsigned long long)a->node_bytes[i]);
	printf("none %llu\n", (unsigned long long)a->none_bytes);
}

int main(int argc, char **argv)
{
	struct answer a = {.map = argc == 5 && !strcmp(argv[1], "--map")};
	char **args = argv + (a.map ? 2 : 1);

	if (argc != (a.map ? 5 : 4)) {
		fprintf(stderr, "usage: place [--map] PID START END\n");
		return EXIT_USAGE;
	}
	if (!ask((pid_t)number_or_die(args[0], 10), number_or_die(args[1], 16),
		 number_or_die(args[2], 16), &a))
		return 1;
	if (!a.map)
		print(&a);
	return 0;
}
