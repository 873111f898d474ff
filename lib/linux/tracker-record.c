// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The file in the run directory that says which kdamonds are ours, so that a later process can stop
 * them after a crash. Believes only a plain file that nobody but us could have written. Knows
 * nothing of DAMON.
 *
 *   tierd-damon 1
 *   boot 2f0c6f9e-0d6d-4a3b-8a4e-6a3d3f0b7c11
 *   kdamonds 2 made
 *   kdamond 4242 310 88211 no
 *   kdamond 4310 0 0 starting
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "linux/linux.h"
#include "linux/parse.h"
#include "linux/tracker.h"
#include "util.h"

#define RECORD_NAME "damon"
#define RECORD_NEW RECORD_NAME ".new"
/* Four kdamonds of at most 70 characters and three short lines. */
#define RECORD_MAX 1024
/* A stat line is about 300 characters; a name of 16 that is all escapes does not double it. */
#define STAT_MAX 1024

size_t own_record_format(const struct own_record *r, char *buffer, size_t size)
{
	size_t n = 0;

	n += (size_t)snprintf(buffer, size, "tierd-damon 1\nboot %s\nkdamonds %zu %s\n", r->boot_id,
			      r->n_kdamonds, r->creating ? "creating" : "made");
	for (size_t i = 0; !r->creating && i < r->n_kdamonds; i++) {
		const struct own_kdamond *k = &r->kdamonds[i];

		n += (size_t)snprintf(buffer + MIN(n, size), size - MIN(n, size),
				      "kdamond %llu %d %llu %s\n", (unsigned long long)k->ino,
				      k->pid, (unsigned long long)k->start_time,
				      k->starting ? "starting" : "no");
	}
	return n;
}

/* Takes the text up to @end, which must come, off the front. */
static int take_until(const char **text, size_t *size, char end, const char **ret, size_t *ret_n)
{
	const char *found = memchr(*text, end, *size);

	if (!found)
		return -EINVAL;
	*ret = *text;
	*ret_n = (size_t)(found - *text);
	*size -= *ret_n + 1;
	*text = found + 1;
	return 0;
}

static int take_literal(const char **text, size_t *size, const char *literal)
{
	size_t n = strlen(literal);

	if (*size < n || memcmp(*text, literal, n))
		return -EINVAL;
	*text += n;
	*size -= n;
	return 0;
}

static int take_number(const char **text, size_t *size, char end, uint64_t max, uint64_t *ret)
{
	const char *word;
	size_t n;
	int r = take_until(text, size, end, &word, &n);

	/* parse_u64() forgives a newline at the end; there is no room for one here. */
	if (r < 0 || memchr(word, '\n', n))
		return -EINVAL;
	return parse_u64(word, n, max, ret) < 0 ? -EINVAL : 0;
}

/* One of two words and the end of the line: 0 or 1. */
static int take_choice(const char **text, size_t *size, const char *zero, const char *one)
{
	if (!take_literal(text, size, zero))
		return 0;
	return take_literal(text, size, one) < 0 ? -EINVAL : 1;
}

static int take_kdamond(const char **text, size_t *size, struct own_kdamond *ret)
{
	uint64_t pid;
	int r = take_literal(text, size, "kdamond ");

	if (r >= 0)
		r = take_number(text, size, ' ', UINT64_MAX, &ret->ino);
	if (r >= 0)
		r = take_number(text, size, ' ', INT32_MAX, &pid);
	if (r >= 0)
		r = take_number(text, size, ' ', UINT64_MAX, &ret->start_time);
	if (r >= 0)
		r = take_choice(text, size, "no\n", "starting\n");
	if (r < 0)
		return r;
	ret->pid = (pid_t)pid;
	ret->starting = r;
	return 0;
}

static int take_head(const char **text, size_t *size, struct own_record *ret)
{
	const char *word;
	uint64_t count;
	size_t n;

	if (take_literal(text, size, "tierd-damon 1\nboot ") < 0 ||
	    take_until(text, size, '\n', &word, &n) < 0 || n != BOOT_ID_LENGTH)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!memchr("0123456789abcdef-", word[i], 17))
			return -EINVAL;
	memcpy(ret->boot_id, word, n);
	ret->boot_id[n] = '\0';
	if (take_literal(text, size, "kdamonds ") < 0 ||
	    take_number(text, size, ' ', TRACKER_KDAMONDS, &count) < 0)
		return -EINVAL;
	ret->n_kdamonds = count;
	return take_choice(text, size, "made\n", "creating\n");
}

int own_record_parse(const char *text, size_t size, struct own_record *ret)
{
	struct own_record record = { 0 };
	int r = take_head(&text, &size, &record);

	if (r < 0)
		return r;
	record.creating = r;
	for (size_t i = 0; !record.creating && i < record.n_kdamonds; i++) {
		r = take_kdamond(&text, &size, &record.kdamonds[i]);
		if (r < 0)
			return r;
	}
	if (size)
		return -EINVAL;
	*ret = record;
	return 0;
}

static int check_trust(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return -EPERM;
	return 0;
}

int own_record_read(int run_fd, struct own_record *ret)
{
	cleanup(closep) int fd = -1;
	char text[RECORD_MAX];
	ssize_t n;
	int r;

	/* O_NONBLOCK: a FIFO must not stop us before it is told apart. */
	fd = openat(run_fd, RECORD_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = check_trust(fd);
	if (r < 0)
		return r;
	n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(text) ? -EINVAL : own_record_parse(text, (size_t)n, ret);
}

/* By a new file and a rename: whoever reads sees the old or the new one, never half of one. */
int own_record_write(int run_fd, const struct own_record *record)
{
	cleanup(closep) int fd = -1;
	char text[RECORD_MAX];
	size_t size = own_record_format(record, text, sizeof(text));
	ssize_t n;

	if (size >= sizeof(text))
		return -EFBIG;
	if (unlinkat(run_fd, RECORD_NEW, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(run_fd, RECORD_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	n = write(fd, text, size);
	if (n < 0)
		return -errno;
	if ((size_t)n != size)
		return -EIO;
	return renameat(run_fd, RECORD_NEW, run_fd, RECORD_NAME) < 0 ? -errno : 0;
}

int own_record_remove(int run_fd)
{
	if (unlinkat(run_fd, RECORD_NEW, 0) < 0 && errno != ENOENT)
		return -errno;
	if (unlinkat(run_fd, RECORD_NAME, 0) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int own_boot_id(int proc_fd, char ret[BOOT_ID_LENGTH + 1])
{
	cleanup(freep) char *text = NULL;
	size_t size;
	/* ProtectKernelTunables= makes /proc/sys a mount of its own. */
	int r = file_read_at(proc_fd, "sys/kernel/random/boot_id", 64, true, &text, &size);

	if (r < 0)
		return r;
	if (size < BOOT_ID_LENGTH)
		return -EINVAL;
	memcpy(ret, text, BOOT_ID_LENGTH);
	ret[BOOT_ID_LENGTH] = '\0';
	return 0;
}

/* Fields are counted from behind the name, which may hold blanks and parentheses. */
int tracker_parse_stat(const char *text, size_t size, uint64_t *ret_cpu, uint64_t *ret_start)
{
	const char *close = memrchr(text, ')', size), *word;
	uint64_t utime = 0, stime = 0;
	size_t n;

	if (!close || (size_t)(close - text) + 2 > size)
		return -EINVAL;
	size -= (size_t)(close - text) + 2;
	text = close + 2;
	/* Field 3 is the first behind the name; 14 and 15 are utime and stime, 22 the start. */
	for (int field = 3; field < 22; field++) {
		if (take_until(&text, &size, ' ', &word, &n) < 0)
			return -EINVAL;
		if (field == 14 && parse_u64(word, n, UINT64_MAX, &utime) < 0)
			return -EINVAL;
		if (field == 15 && parse_u64(word, n, UINT64_MAX, &stime) < 0)
			return -EINVAL;
	}
	if (take_number(&text, &size, ' ', UINT64_MAX, ret_start) < 0)
		return -EINVAL;
	*ret_cpu = utime + stime;
	return 0;
}

int tracker_read_stat(int proc_fd, pid_t pid, uint64_t *ret_cpu, uint64_t *ret_start)
{
	cleanup(freep) char *text = NULL;
	char path[32];
	size_t size;
	int r;

	snprintf(path, sizeof(path), "%d/stat", pid);
	r = file_read_at(proc_fd, path, STAT_MAX, false, &text, &size);
	return r < 0 ? r : tracker_parse_stat(text, size, ret_cpu, ret_start);
}
