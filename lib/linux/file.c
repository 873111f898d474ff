// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Whole small files below a directory fd: the one way in which text from /proc, /sys and cgroups
 * gets into this library. Never follows a symbolic link, never leaves the directory, never reads
 * more than asked. Parses nothing.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "linux/linux.h"
#include "util.h"

/*
 * The kernel gives -EAGAIN when a rename anywhere on the machine raced with a walk that must stay
 * beneath its directory; that passes, unless somebody provokes it on purpose.
 */
#define OPEN_TRIES 8

/* Most files read here fit in one page, and one read() of a kernel text file gives about that. */
#define FIRST_READ_BYTES 4096

/* glibc 2.36 has no wrapper for openat2(). */
int file_open_at(int dir_fd, const char *path, int flags, bool cross_mounts)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   (cross_mounts ? 0 : RESOLVE_NO_XDEV),
	};

	for (int i = 0; i < OPEN_TRIES; i++) {
		long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

/*
 * Reads @fd to its end. The buffer always has room for one byte more than may be kept, for the NUL
 * and to see that a file is too long.
 */
static int read_to_end(int fd, size_t max_bytes, char **ret, size_t *ret_size)
{
	cleanup(freep) char *text = NULL;
	size_t room = 0, size = 0;

	for (;;) {
		ssize_t n;

		if (size == room) {
			char *grown;

			room = MIN(MAX(room * 2, (size_t)FIRST_READ_BYTES), max_bytes + 1);
			grown = realloc(text, room);
			if (!grown)
				return -ENOMEM;
			text = grown;
		}
		n = read(fd, text + size, room - size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		size += (size_t)n;
		if (size > max_bytes)
			return -EFBIG;
		if (n == 0)
			break;
	}
	text[size] = '\0';
	*ret = STEAL(text);
	*ret_size = size;
	return 0;
}

int file_read_at(int dir_fd, const char *path, size_t max_bytes, bool cross_mounts, char **ret,
		 size_t *ret_size)
{
	cleanup(closep) int fd = -1;
	struct stat st;

	if (max_bytes == SIZE_MAX)
		return -EINVAL;
	/* O_NONBLOCK: a FIFO in a recorded tree must not stop us before it is told apart. */
	fd = file_open_at(dir_fd, path, O_RDONLY | O_NOCTTY | O_NONBLOCK, cross_mounts);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return read_to_end(fd, max_bytes, ret, ret_size);
}

int file_write_at(int dir_fd, const char *path, const char *text)
{
	cleanup(closep) int fd = -1;
	size_t size = strlen(text);
	ssize_t n;

	fd = file_open_at(dir_fd, path, O_WRONLY | O_NOCTTY, false);
	if (fd < 0)
		return fd;
	do
		n = write(fd, text, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EIO;
}
