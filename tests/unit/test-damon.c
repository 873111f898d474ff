// SPDX-License-Identifier: GPL-2.0-or-later
/* DAMON's sysfs files: what is written where, what is read, and what happens when it is odd. */
#include "fake-damon.h"

/* One kdamond with a context. */
static int begin(struct fake *f, struct damon *d)
{
	uint64_t ino;
	int fd;

	assert_int_equal(damon_open(f->sys_fd, &f->writer, d), 0);
	assert_int_equal(damon_write_count(d, 2), 0);
	assert_int_equal(damon_open_kdamond(d, 0, &fd, &ino), 0);
	assert_int_equal(damon_write_context(d, fd), 0);
	return fd;
}

static void end(struct damon *d, int fd)
{
	close(fd);
	damon_close(d);
}

static void test_no_interface(void **state)
{
	struct fake *f = *state;
	struct damon d;
	char path[512];

	fake_path(f, path, "sys/kernel/mm/damon");
	fake_remove(path);
	assert_int_equal(damon_open(f->sys_fd, NULL, &d), -ENOENT);
}

static void test_count(void **state)
{
	struct fake *f = *state;
	struct damon d;
	size_t n = 99;
	int fd = begin(f, &d);

	assert_int_equal(damon_read_count(&d, &n), 0);
	assert_int_equal(n, 2);
	fake_put(f, "many\n", KDAMONDS "/nr_kdamonds");
	assert_int_equal(damon_read_count(&d, &n), -EINVAL);
	assert_int_equal(n, 2);
	end(&d, fd);
}

static void test_identity(void **state)
{
	struct fake *f = *state;
	uint64_t ino, again;
	struct damon d;
	int fd = begin(f, &d), other;
	pid_t pid;

	assert_int_equal(damon_open_kdamond(&d, 0, &other, &ino), 0);
	close(other);
	assert_int_equal(damon_write_count(&d, 2), 0);
	assert_int_equal(damon_open_kdamond(&d, 0, &other, &again), 0);
	close(other);
	assert_true(ino != again);
	/* The old fd names what is gone, not the newcomer. */
	assert_int_equal(damon_read_pid(fd, &pid), -ENOENT);
	assert_int_equal(damon_command(&d, fd, DAMON_OFF), -ENOENT);
	end(&d, fd);
}

static void test_pid(void **state)
{
	struct fake *f = *state;
	struct damon d;
	pid_t pid = 7;
	int fd = begin(f, &d);

	assert_int_equal(damon_read_pid(fd, &pid), 0);
	assert_int_equal(pid, 0);
	fake_put(f, "123\n", KDAMONDS "/0/pid");
	assert_int_equal(damon_read_pid(fd, &pid), 0);
	assert_int_equal(pid, 123);
	fake_put(f, "99999999999\n", KDAMONDS "/0/pid");
	assert_true(damon_read_pid(fd, &pid) < 0);
	assert_int_equal(pid, 123);
	end(&d, fd);
}

static void test_vaddr(void **state)
{
	struct fake *f = *state;
	struct damon d;
	int fd = begin(f, &d);

	assert_int_equal(damon_has_vaddr(fd), 1);
	fake_put(f, "fvaddr\npaddr\n", KDAMONDS "/0/contexts/0/avail_operations");
	assert_int_equal(damon_has_vaddr(fd), 0);
	end(&d, fd);
}

static void expect(const struct fake *f, const char *name, const char *text)
{
	char got[64];

	fake_get(f, name, got, sizeof(got));
	assert_string_equal(got, text);
}

static void test_configuration(void **state)
{
	struct fake *f = *state;
	struct damon d;
	const struct damon_target targets[] = { { .pid = 11 }, { .pid = 22 } };
	int fd = begin(f, &d);

	assert_int_equal(damon_write_attributes(&d, fd, 64, 256), 0);
	assert_int_equal(damon_write_targets(&d, fd, targets, 2), 0);
	assert_int_equal(damon_write_schemes(&d, fd, 2), 0);
#define C "0/contexts/0/"
	expect(f, C "operations", "vaddr");
	assert_int_equal(fake_number(f, C "monitoring_attrs/intervals/sample_us"), DAMON_SAMPLE_US);
	assert_int_equal(fake_number(f, C "monitoring_attrs/intervals/aggr_us"), DAMON_AGGR_US);
	assert_int_equal(fake_number(f, C "monitoring_attrs/intervals/update_us"), DAMON_UPDATE_US);
	expect(f, C "monitoring_attrs/nr_regions/min", "64");
	expect(f, C "monitoring_attrs/nr_regions/max", "256");
	expect(f, C "targets/nr_targets", "2");
	expect(f, C "targets/0/pid_target", "11");
	expect(f, C "targets/1/pid_target", "22");
	expect(f, C "schemes/1/action", "stat");
	expect(f, C "schemes/1/access_pattern/sz/max", "18446744073709551615");
	expect(f, C "schemes/1/access_pattern/nr_accesses/max", "4294967295");
	expect(f, C "schemes/1/access_pattern/age/max", "4294967295");
	expect(f, C "schemes/1/filters/0/type", "target");
	expect(f, C "schemes/1/filters/0/matching", "N");
	expect(f, C "schemes/1/filters/0/damon_target_idx", "1");
	/* A single target needs no filter. */
	assert_int_equal(damon_write_schemes(&d, fd, 1), 0);
	assert_int_equal(fake_number(f, C "schemes/0/filters/nr_filters"), 0);
	end(&d, fd);
}

static void test_obsolete(void **state)
{
	struct fake *f = *state;
	struct damon d;
	const struct damon_target targets[] = { { .pid = 11, .obsolete = true }, { .pid = 22 } };
	int fd = begin(f, &d);

	assert_int_equal(damon_write_targets(&d, fd, targets + 1, 1), 0);
	assert_false(damon_can_drop_targets(fd));
	/* Asking for it where it does not exist is an error, never silence. */
	assert_int_equal(damon_write_targets(&d, fd, targets, 2), -ENOENT);
	f->can_drop = true;
	assert_int_equal(damon_write_targets(&d, fd, targets, 2), 0);
	assert_true(damon_can_drop_targets(fd));
	expect(f, C "targets/0/obsolete_target", "Y");
	expect(f, C "targets/1/obsolete_target", "N");
	end(&d, fd);
}

/* The kernel only tries its lock: a moment's -EBUSY must not reach the caller. */
static void test_busy(void **state)
{
	struct fake *f = *state;
	struct damon d;
	int fd = begin(f, &d);

	f->busy = 5;
	assert_int_equal(damon_write_count(&d, 2), 0);
	assert_int_equal(f->busy, 0);
	f->busy = 1000;
	assert_int_equal(damon_write_count(&d, 2), -EBUSY);
	end(&d, fd);
}

static void put_region(struct fake *f, size_t dir, const char *start, const char *end_,
		       const char *accesses)
{
	const char *const values[] = { start, end_, accesses };
	const char *const names[] = { "start", "end", "nr_accesses" };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		fake_put(f, values[i], KDAMONDS "/" C "schemes/0/tried_regions/%zu/%s", dir, names[i]);
}

static void test_regions(void **state)
{
	struct fake *f = *state;
	struct damon_region *regions = NULL;
	struct damon d;
	size_t n = 77;
	int fd = begin(f, &d);

	assert_int_equal(damon_write_schemes(&d, fd, 1), 0);
	assert_int_equal(damon_read_regions(fd, 0, 100, &regions, &n), 0);
	assert_int_equal(n, 0);
	free(regions);
	put_region(f, 10, "8192\n", "12288\n", "3\n");
	put_region(f, 9, "4096\n", "8192\n", "15\n");
	put_region(f, 11, "12288\n", "18446744073709547520\n", "0\n");
	assert_int_equal(damon_read_regions(fd, 0, 100, &regions, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(regions[0].start, 4096);
	assert_int_equal(regions[0].accesses, 15);
	assert_int_equal(regions[1].accesses, 3);
	assert_true(regions[2].end == 18446744073709547520ULL);
	free(regions);
	/* Capped. */
	assert_int_equal(damon_read_regions(fd, 0, 2, &regions, &n), 0);
	assert_int_equal(n, 2);
	free(regions);
	/* Nonsense is an error, and no memory is handed out. */
	regions = NULL;
	n = 55;
	put_region(f, 12, "abc\n", "1\n", "0\n");
	assert_int_equal(damon_read_regions(fd, 0, 100, &regions, &n), -EINVAL);
	assert_int_equal(n, 55);
	assert_null(regions);
	assert_int_equal(damon_read_regions(fd, 3, 100, &regions, &n), -ENOENT);
	end(&d, fd);
}

static void test_tidy(void **state)
{
	struct damon_region r[] = {
		{ .start = 300, .end = 400, .accesses = 99 }, { .start = 100, .end = 200 },
		{ .start = 150, .end = 250 },		      { .start = 500, .end = 500 },
		{ .start = 700, .end = 600 },		      { .start = 400, .end = 401 },
	};

	assert_int_equal(damon_regions_tidy(r, ARRAY_SIZE(r)), 3);
	assert_int_equal(r[0].start, 100);
	assert_int_equal(r[1].start, 300);
	assert_int_equal(r[1].accesses, DAMON_ACCESSES_MAX);
	assert_int_equal(r[2].start, 400);
	assert_int_equal(damon_regions_tidy(NULL, 0), 0);
}

static void test_exclusive(void **state)
{
	struct fake *f = *state;

	assert_null(damon_exclusive_module(f->sys_fd));
	fake_put(f, "N\n", "sys/module/damon_stat/parameters/enabled");
	assert_null(damon_exclusive_module(f->sys_fd));
	fake_put(f, "Y\n", "sys/module/damon_reclaim/parameters/enabled");
	assert_string_equal(damon_exclusive_module(f->sys_fd), "damon_reclaim");
}

#define T(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_no_interface), T(test_count),	T(test_identity), T(test_pid),
		T(test_vaddr),	      T(test_obsolete), T(test_busy),	  T(test_configuration),
		T(test_regions),      T(test_exclusive), cmocka_unit_test(test_tidy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
