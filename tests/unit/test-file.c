// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading and writing whole files below a directory: caps at their edge, and no way out of the
 * directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "linux/linux.h"
#include "util.h"

struct dir {
	char path[64];
	int fd;
};

static int set_up(void **state)
{
	static struct dir d;

	strcpy(d.path, "/tmp/tierd-test-file.XXXXXX");
	if (!mkdtemp(d.path))
		return -1;
	d.fd = open(d.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &d;
	return d.fd < 0 ? -1 : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct dir *d = *state;

	close(d->fd);
	return nftw(d->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_file(struct dir *d, const char *name, const char *text, size_t size)
{
	int fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

static void test_read(void **state)
{
	struct dir *d = *state;
	char *text = NULL;
	size_t size = 0;

	make_file(d, "f", "ab\0c\n", 5);
	assert_int_equal(file_read_at(d->fd, "f", 100, false, &text, &size), 0);
	assert_int_equal(size, 5);
	assert_memory_equal(text, "ab\0c\n", 6); /* with the NUL that ends it */
	free(text);
	make_file(d, "empty", "", 0);
	assert_int_equal(file_read_at(d->fd, "empty", 0, false, &text, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(text[0], 0);
	free(text);
}

/* Sizes around the first buffer and its doubling, each with a cap that just fits and one below. */
static void test_caps(void **state)
{
	static const size_t sizes[] = {1, 4095, 4096, 4097, 8191, 8192, 8193, 100000};
	struct dir *d = *state;
	static char big[100000];

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char *text = NULL;
		size_t size = 0;

		make_file(d, "f", big, sizes[i]);
		assert_int_equal(file_read_at(d->fd, "f", sizes[i] - 1, false, &text, &size),
				 -EFBIG);
		assert_null(text);
		assert_int_equal(size, 0);
		assert_int_equal(file_read_at(d->fd, "f", sizes[i], false, &text, &size), 0);
		assert_int_equal(size, sizes[i]);
		assert_memory_equal(text, big, size);
		assert_int_equal(text[size], 0);
		free(text);
	}
}

static void test_refused(void **state)
{
	struct dir *d = *state;
	char absolute[128];
	char *text = NULL;
	size_t size = 7;

	make_file(d, "f", "x", 1);
	assert_int_equal(symlinkat("f", d->fd, "link"), 0);
	assert_int_equal(symlinkat(".", d->fd, "dirlink"), 0);
	assert_int_equal(mkfifoat(d->fd, "fifo", 0600), 0);
	assert_int_equal(mkdirat(d->fd, "sub", 0700), 0);

	assert_int_equal(file_read_at(d->fd, "none", 9, false, &text, &size), -ENOENT);
	assert_int_equal(file_read_at(d->fd, "f/f", 9, false, &text, &size), -ENOTDIR);
	assert_int_equal(file_read_at(d->fd, "link", 9, false, &text, &size), -ELOOP);
	assert_int_equal(file_read_at(d->fd, "dirlink/f", 9, false, &text, &size), -ELOOP);
	assert_int_equal(file_read_at(d->fd, "sub", 9, false, &text, &size), -EISDIR);
	/* Would block without O_NONBLOCK: nobody writes to it. */
	assert_int_equal(file_read_at(d->fd, "fifo", 9, false, &text, &size), -EINVAL);
	assert_int_equal(file_read_at(d->fd, "../passwd", 9, false, &text, &size), -EXDEV);
	assert_int_equal(file_read_at(d->fd, "sub/../../x", 9, false, &text, &size), -EXDEV);
	snprintf(absolute, sizeof(absolute), "%s/f", d->path);
	assert_int_equal(file_read_at(d->fd, absolute, 9, false, &text, &size), -EXDEV);
	assert_int_equal(file_read_at(d->fd, "f", SIZE_MAX, false, &text, &size), -EINVAL);
	assert_int_equal(file_read_at(-1, "f", 9, false, &text, &size), -EBADF);
	assert_null(text);
	assert_int_equal(size, 7);

	/* A way that stays inside is fine. */
	assert_int_equal(file_read_at(d->fd, "sub/../f", 9, false, &text, &size), 0);
	free(text);
}

static void test_mounts(void **state)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *text = NULL;
	size_t size;

	assert_true(root >= 0);
	assert_int_equal(file_read_at(root, "proc/version", 4096, false, &text, &size), -EXDEV);
	assert_int_equal(file_read_at(root, "proc/version", 4096, true, &text, &size), 0);
	assert_true(size > 0);
	free(text);
	/* Magic links stay shut also across mounts. */
	assert_int_equal(file_read_at(root, "proc/self/exe", 4096, true, &text, &size), -ELOOP);
	close(root);
}

static void test_write(void **state)
{
	struct dir *d = *state;
	char *text = NULL;
	size_t size;

	make_file(d, "f", "old", 3);
	assert_int_equal(file_write_at(d->fd, "f", "new"), 0);
	assert_int_equal(file_read_at(d->fd, "f", 100, false, &text, &size), 0);
	assert_string_equal(text, "new");
	free(text);
	/* It never makes a file. */
	assert_int_equal(file_write_at(d->fd, "none", "x"), -ENOENT);
	assert_int_equal(symlinkat("f", d->fd, "link"), 0);
	assert_int_equal(file_write_at(d->fd, "link", "x"), -ELOOP);
	assert_int_equal(file_write_at(d->fd, "../f", "x"), -EXDEV);
}

static void test_write_short(void **state)
{
	int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(dev >= 0);
	assert_int_equal(file_write_at(dev, "full", "x"), -ENOSPC);
	close(dev);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_read),   TEST(test_caps),  TEST(test_refused),
		TEST(test_mounts), TEST(test_write), TEST(test_write_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
