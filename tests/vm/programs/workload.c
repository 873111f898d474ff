// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A service as tierd meets it: memory that starts on a given node, a part of it in use all the
 * time, and contents that can be checked. Knows nothing of tierd.
 *
 *	--size BYTES              of the region (K, M, G)
 *	--node N                  where it is placed at first (otherwise by the kernel)
 *	--hot OFFSET:LENGTH       every page of it is read and written once a period
 *	--hot-period-ms MS        default 20
 *	--change-hot OFFSET:LENGTH@SECONDS   the hot part from then on; may be repeated
 *	--idle                    no hot part
 *	--thp never|always        madvise() for the region; default: as the system has it
 *	--seconds N               end after this time; default: on SIGTERM or SIGINT
 *	--status FILE             written once the region is filled, again when the hot part
 *changes: pid=, start=0x, size=, hot_start=0x, hot_length= line by line
 *	--seed N                  of the contents
 *
 * SIGUSR1 checks all contents, as does the end: prints "verify ok" or "verify BAD n" (pages).
 * Exit status 1 when any check was bad.
 *
 * Contents. Words of a page are a mix of their address and the seed, never zero (a page of zeros
 * may be replaced by the zero page). The first word of a page is a counter instead: how often the
 * page was written since the start, mixed likewise; the workload keeps the counts beside.
 */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "common.h"

#define SLOT (2UL << 20)
#define CHANGES_MAX 16
#define IDLE_PERIOD_MS 1000 /* with nothing to do but to look at the clock */
#define WORDS (PAGE / sizeof(uint64_t))

struct hot {
	uint64_t offset;
	uint64_t length;
	uint64_t from_s;
};

static struct {
	uint64_t size;
	int node;
	bool idle;
	int advice;
	uint64_t period_ms;
	uint64_t seconds;
	uint64_t seed;
	const char *status;
	size_t n_changes;
	struct hot hot[CHANGES_MAX + 1]; /* the first from the start */
} options = {.node = -1, .advice = -1, .period_ms = 20, .seed = 1};

static volatile sig_atomic_t stop, check;
static char *region;
static uint32_t *counts; /* by page */
static bool bad;

static void on_signal(int signal)
{
	if (signal == SIGUSR1)
		check = 1;
	else
		stop = 1;
}

/* ---- contents ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t v)
{
	v ^= options.seed * 0x9e3779b97f4a7c15;
	v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
	v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
	return (v ^ (v >> 31)) | 1;
}

static uint64_t *words_of(size_t page)
{
	return (uint64_t *)(region + page * PAGE);
}

static uint64_t counter_word(size_t page)
{
	return mix((uint64_t)page << 32 | counts[page]);
}

static void fill(void)
{
	for (size_t page = 0; page < options.size / PAGE; page++) {
		uint64_t *words = words_of(page);

		words[0] = counter_word(page);
		for (size_t i = 1; i < WORDS; i++)
			words[i] = mix((uintptr_t)&words[i]);
	}
}

static bool page_good(size_t page)
{
	const uint64_t *words = words_of(page);

	if (words[0] != counter_word(page))
		return false;
	for (size_t i = 1; i < WORDS; i++)
		if (words[i] != mix((uintptr_t)&words[i]))
			return false;
	return true;
}

static void verify(void)
{
	size_t wrong = 0;

	for (size_t page = 0; page < options.size / PAGE; page++)
		wrong += !page_good(page);
	if (wrong) {
		bad = true;
		printf("verify BAD %zu\n", wrong);
	} else {
		printf("verify ok\n");
	}
	fflush(stdout);
}

/* Reads and writes a page: the counter and one word somewhere in it. */
static void touch(size_t page)
{
	volatile uint64_t *words = words_of(page);
	size_t i = 1 + (page + counts[page]) % (WORDS - 1);

	if (words[0] != counter_word(page) || words[i] != mix((uintptr_t)&words[i])) {
		bad = true;
		printf("page %zu changed under us\n", page);
		fflush(stdout);
	}
	counts[page]++;
	words[0] = counter_word(page);
}

/* ---- set-up -------------------------------------------------------------------------------- */

static void *map(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(EXIT_USAGE, "mmap of %llu bytes", (unsigned long long)size);
	return p;
}

/* Whole slots, so that large folios have where to be and neighbours do not merge with them. */
static void make_region(void)
{
	char *p = map(options.size + SLOT);

	region = (char *)(((uintptr_t)p + SLOT - 1) / SLOT * SLOT);
	counts = map((options.size / PAGE * sizeof(*counts) + PAGE - 1) / PAGE * PAGE);
	if (options.advice >= 0 && madvise(region, options.size, options.advice) < 0)
		err(EXIT_USAGE, "madvise");
	if (options.node >= 0 && set_mempolicy_node(MPOL_BIND, options.node) < 0)
		err(EXIT_USAGE, "set_mempolicy to node %d", options.node);
	fill();
	if (options.node >= 0 && set_mempolicy_node(MPOL_DEFAULT, -1) < 0)
		err(EXIT_USAGE, "set_mempolicy");
}

/* Under its final name only when it is whole. */
static void write_status(const struct hot *hot)
{
	char path[PATH_MAX];
	FILE *f;

	if (!options.status)
		return;
	snprintf(path, sizeof(path), "%s.new", options.status);
	f = fopen(path, "we");
	if (!f)
		err(EXIT_USAGE, "%s", path);
	fprintf(f, "pid=%d\nstart=%p\nsize=%llu\nhot_start=%p\nhot_length=%llu\n", getpid(),
		(void *)region, (unsigned long long)options.size, (void *)(region + hot->offset),
		(unsigned long long)hot->length);
	if (fclose(f) || rename(path, options.status) < 0)
		err(EXIT_USAGE, "%s", options.status);
}

/* ---- the work ------------------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * A real CPU evicts address translations all the time. An emulated one keeps them for as long as
 * nobody flushes them, and does not mark a page as accessed again until then: DAMON would see hot
 * memory go cold. Changing the protection of more pages than x86 flushes one by one (33) flushes all.
 */
static void flush_translations(void)
{
	static char scratch[64 * PAGE] __attribute__((aligned(4096)));

	for (size_t i = 0; i < sizeof(scratch); i += PAGE)
		((volatile char *)scratch)[i]++;
	if (mprotect(scratch, sizeof(scratch), PROT_READ) < 0 ||
	    mprotect(scratch, sizeof(scratch), PROT_READ | PROT_WRITE) < 0)
		err(EXIT_FAILURE, "mprotect");
}

/*
 * Signals come in only here, so none is missed between a look and the sleep. Sleeps for what is
 * left of the period; at least a quarter of it, so that a slow machine is not filled up.
 */
static void rest(uint64_t begin_ms)
{
	uint64_t took = now_ms() - begin_ms, min = options.period_ms / 4 + 1;
	uint64_t ms = options.period_ms > took ? options.period_ms - took : 0;
	struct timespec t;
	sigset_t none;

	ms = ms > min ? ms : min;
	t = (struct timespec){.tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(ms % 1000 * 1000000)};
	sigemptyset(&none);
	ppoll(NULL, 0, &t, &none);
}

static size_t hot_at(uint64_t elapsed_ms)
{
	size_t i = 0;

	while (i < options.n_changes && options.hot[i + 1].from_s * 1000 <= elapsed_ms)
		i++;
	return i;
}

static void work(void)
{
	uint64_t start_ms = now_ms();
	size_t current = 0;

	while (!stop) {
		uint64_t begin_ms = now_ms();
		size_t i = hot_at(begin_ms - start_ms);
		const struct hot *hot = &options.hot[i];

		if (i != current) {
			write_status(hot);
			current = i;
		}
		for (uint64_t at = hot->offset; at < hot->offset + hot->length; at += PAGE)
			touch(at / PAGE);
		if (hot->length)
			flush_translations();
		if (check) {
			check = 0;
			verify();
		}
		if (options.seconds && begin_ms - start_ms >= options.seconds * 1000)
			break;
		rest(begin_ms);
	}
}

/* ---- options ------------------------------------------------------------------------------- */

static struct hot parse_hot(const char *text, bool with_time)
{
	struct hot h = {0};
	const char *p;

	if (!parse_number(text, 10, &h.offset, &p) || *p != ':' ||
	    !parse_number(p + 1, 10, &h.length, &p) ||
	    (with_time && (*p != '@' || !parse_number(p + 1, 10, &h.from_s, &p))) || *p)
		errx(EXIT_USAGE, "not OFFSET:LENGTH%s: %s", with_time ? "@SECONDS" : "", text);
	return h;
}

static void check_options(void)
{
	if (!options.size || options.size % PAGE)
		errx(EXIT_USAGE, "--size must be given, in whole pages");
	if (options.node >= NODES)
		errx(EXIT_USAGE, "--node is too large");
	if (!options.period_ms)
		errx(EXIT_USAGE, "--hot-period-ms must be more than 0");
	if (!options.idle && !options.hot[0].length)
		errx(EXIT_USAGE, "--hot or --idle must be given");
	for (size_t i = 0; i <= options.n_changes; i++) {
		const struct hot *h = &options.hot[i];

		if (h->offset % PAGE || h->length % PAGE || h->length > options.size ||
		    h->offset > options.size - h->length)
			errx(EXIT_USAGE, "a hot part is not whole pages of the region");
		if (i > 1 && h->from_s < h[-1].from_s)
			errx(EXIT_USAGE, "--change-hot must come in the order of time");
	}
}

static int parse_thp(const char *text)
{
	if (!strcmp(text, "always"))
		return MADV_HUGEPAGE;
	if (!strcmp(text, "never"))
		return MADV_NOHUGEPAGE;
	errx(EXIT_USAGE, "--thp is never or always, not %s", text);
}

static void parse_option(int c, const char *value)
{
	switch (c) {
	case 's':
		options.size = number_or_die(value, 10);
		return;
	case 'n':
		options.node = (int)number_or_die(value, 10);
		return;
	case 'h':
		options.hot[0] = parse_hot(value, false);
		return;
	case 'p':
		options.period_ms = number_or_die(value, 10);
		return;
	case 'c':
		if (options.n_changes == CHANGES_MAX)
			errx(EXIT_USAGE, "too many --change-hot");
		options.hot[++options.n_changes] = parse_hot(value, true);
		return;
	case 'i':
		options.idle = true;
		return;
	case 't':
		options.advice = parse_thp(value);
		return;
	case 'S':
		options.seconds = number_or_die(value, 10);
		return;
	case 'f':
		options.status = value;
		return;
	case 'e':
		options.seed = number_or_die(value, 10);
		return;
	}
	exit(EXIT_USAGE); /* getopt has said why */
}

static void parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{"size", required_argument, NULL, 's'},
		{"node", required_argument, NULL, 'n'},
		{"hot", required_argument, NULL, 'h'},
		{"hot-period-ms", required_argument, NULL, 'p'},
		{"change-hot", required_argument, NULL, 'c'},
		{"idle", no_argument, NULL, 'i'},
		{"thp", required_argument, NULL, 't'},
		{"seconds", required_argument, NULL, 'S'},
		{"status", required_argument, NULL, 'f'},
		{"seed", required_argument, NULL, 'e'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		parse_option(c, optarg);
	if (optind < argc)
		errx(EXIT_USAGE, "unexpected: %s", argv[optind]);
	if (options.idle && !options.n_changes)
		options.period_ms = IDLE_PERIOD_MS;
	check_options();
}

static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
}

int main(int argc, char **argv)
{
	parse_options(argc, argv);
	catch_signals();
	make_region();
	write_status(&options.hot[0]);
	work();
	verify();
	return bad ? 1 : 0;
}
