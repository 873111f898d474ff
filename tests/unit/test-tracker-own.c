// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose kdamonds? Written files, played kernels, crashes at every step; what is not ours must come
 * out of each without a write.
 */
#include "tracker-world.h"

static void test_record_file(void **state)
{
	struct fake *f = *state;
	struct own_record r = { .boot_id = FAKE_BOOT, .n_kdamonds = 3 }, back;
	char path[512], other[512];
	int fd;

	fake_path(f, path, "run");
	fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(own_record_read(fd, &back), -ENOENT);
	assert_int_equal(own_record_write(fd, &r), 0);
	assert_int_equal(own_record_write(fd, &r), 0);
	assert_int_equal(own_record_read(fd, &back), 0);
	assert_int_equal(back.n_kdamonds, 3);
	/* What others could have written does not count. */
	fake_path(f, path, "run/damon");
	fake_path(f, other, "run/other");
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(own_record_read(fd, &back), -EPERM);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(own_record_read(fd, &back), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(own_record_read(fd, &back), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(own_record_read(fd, &back), -EPERM);
	if (!geteuid()) {
		assert_int_equal(unlink(path), 0);
		assert_int_equal(rename(other, path), 0);
		assert_int_equal(own_record_read(fd, &back), 0);
		assert_int_equal(chown(path, 1, 1), 0);
		assert_int_equal(own_record_read(fd, &back), -EPERM);
	}
	/* None of which stops us from writing our own. */
	assert_int_equal(own_record_write(fd, &r), 0);
	assert_int_equal(own_record_read(fd, &back), 0);
	assert_int_equal(own_record_remove(fd), 0);
	assert_int_equal(own_record_remove(fd), 0);
	assert_int_equal(own_record_read(fd, &back), -ENOENT);
	close(fd);
}

/* ---- whose kdamonds? ----------------------------------------------------------------------- */

static void begin_own(struct fake *f, struct own *o)
{
	char path[512];

	fake_path(f, path, "run");
	assert_int_equal(own_open(f->sys_fd, f->proc_fd, path, &f->writer, o), 0);
}

/* An own with kdamond 0 running, as if its process had just been killed. */
static void leave_behind(struct fake *f)
{
	const struct damon_target self = { .pid = getpid() };
	char reason[REASON_BYTES];
	struct own o;

	begin_own(f, &o);
	assert_int_equal(own_acquire(&o, reason), 0);
	assert_int_equal(damon_write_targets(&o.damon, o.fds[0], &self, 1), 0);
	assert_int_equal(own_start(&o, 0), 0);
	own_close(&o);
	assert_int_equal(f->ons, 1);
}

static void test_own_life(void **state)
{
	struct fake *f = *state;
	const struct damon_target self = { .pid = getpid() };
	char reason[REASON_BYTES];
	struct own o;

	begin_own(f, &o);
	assert_int_equal(own_acquire(&o, reason), 0);
	assert_int_equal(f->n_kdamonds, TRACKER_KDAMONDS);
	assert_true(has_record(f));
	assert_int_equal(damon_write_targets(&o.damon, o.fds[1], &self, 1), 0);
	assert_int_equal(own_running(&o, 1), 0);
	assert_int_equal(own_start(&o, 1), 0);
	assert_int_equal(own_running(&o, 1), 1);
	assert_int_equal(own_start(&o, 1), -EBUSY);
	assert_int_equal(own_stop(&o, 1), 0);
	assert_int_equal(own_stop(&o, 1), 0);
	assert_int_equal(f->offs, 1);
	assert_int_equal(own_start(&o, 1), 0);
	assert_int_equal(own_release(&o), 0);
	assert_int_equal(f->offs, 2);
	assert_int_equal(f->n_kdamonds, 0);
	assert_false(has_record(f));
	own_close(&o);
}

static void expect_untouched(struct fake *f, const char *words)
{
	uint64_t before = fake_hash(f);
	unsigned int writes = f->writes;
	char reason[REASON_BYTES] = "";
	struct own o;

	begin_own(f, &o);
	assert_int_equal(own_acquire(&o, reason), -EBUSY);
	assert_non_null(strstr(reason, words));
	own_close(&o);
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(f->writes, writes);
	assert_true(fake_hash(f) == before);
}

static void test_foreign(void **state)
{
	struct fake *f = *state;

	fake_make_kdamonds(f, 1);
	expect_untouched(f, "another program uses DAMON (1 kdamond, 0 running, not ours)");
	fake_make_kdamonds(f, TRACKER_KDAMONDS);
	fake_set_pid(f, 2, 4000100);
	expect_untouched(f, "(4 kdamonds, 1 running, not ours)");
}

static void put_record(struct fake *f, const char *text)
{
	fake_put(f, text, "run/damon");
}

/* Files that claim what is not so. */
static void test_foreign_with_record(void **state)
{
	struct fake *f = *state;
	char text[512];
	uint64_t start;
	struct stat st;

	fake_make_kdamonds(f, 1);
	fake_set_pid(f, 0, 4000100);
	start = fake_ticks();
	fake_put_stat(f, 4000100, start);
	fake_path(f, text, KDAMONDS "/0");
	assert_int_equal(stat(text, &st), 0);
#define HEAD "tierd-damon 1\nboot " FAKE_BOOT "\n"
	const char *const formats[] = {
		/* damaged; another boot's; another directory; another pid; another start */
		HEAD "kdamonds 1 made\nkdamond %llu 4000100 %llu no",
		"tierd-damon 1\nboot 99999999-2222-3333-4444-555555555555\n"
		"kdamonds 1 made\nkdamond %llu 4000100 %llu no\n",
		HEAD "kdamonds 1 made\nkdamond 1%llu 4000100 %llu no\n",
		HEAD "kdamonds 1 made\nkdamond %llu 4000101 %llu no\n",
		HEAD "kdamonds 1 made\nkdamond %llu 4000100 1%llu no\n",
		/* we were about to start one, but that was much later, or much earlier */
		HEAD "kdamonds 1 made\nkdamond %llu 0 1%llu starting\n",
		HEAD "kdamonds 1 made\nkdamond %llu 0 1 starting\n",
		/* we were about to make one; but this one runs */
		HEAD "kdamonds 1 creating\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
		snprintf(text, sizeof(text), formats[i], (unsigned long long)st.st_ino,
			 (unsigned long long)start);
#pragma GCC diagnostic pop
		put_record(f, text);
		expect_untouched(f, "(1 kdamond, 1 running, not ours)");
	}
	/* And the true one is believed: the cases above fail for the right reason. */
	snprintf(text, sizeof(text), HEAD "kdamonds 1 made\nkdamond %llu 4000100 %llu no\n",
		 (unsigned long long)st.st_ino, (unsigned long long)start);
	put_record(f, text);
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(f->offs, 1);
	assert_int_equal(f->n_kdamonds, 0);
}

static void test_record_is_a_link(void **state)
{
	struct fake *f = *state;
	char path[512], other[512];

	leave_behind(f);
	fake_path(f, path, "run/damon");
	fake_path(f, other, "elsewhere");
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	expect_untouched(f, "not ours");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(f->n_kdamonds, 0);
}

static void test_leftovers(void **state)
{
	struct fake *f = *state;
	char reason[REASON_BYTES];
	struct own o;

	leave_behind(f);
	begin_own(f, &o);
	assert_int_equal(own_acquire(&o, reason), 0);
	assert_int_equal(f->offs, 1);
	assert_int_equal(f->n_kdamonds, TRACKER_KDAMONDS);
	own_close(&o);
	/* Nothing runs now: given back all the same. */
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(f->offs, 1);
	assert_int_equal(f->n_kdamonds, 0);
	assert_false(has_record(f));
	assert_int_equal(clean_up(f), 0);
}

static void test_leftovers_ended(void **state)
{
	struct fake *f = *state;

	leave_behind(f);
	fake_set_pid(f, 0, 0);
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(f->offs, 0);
	assert_int_equal(f->n_kdamonds, 0);
	assert_false(has_record(f));
}

/* After our crash somebody switched our directory's kdamond off and an own one on. */
static void test_leftovers_taken_over(void **state)
{
	struct fake *f = *state;

	leave_behind(f);
	fake_set_pid(f, 0, 0);
	fake_set_pid(f, 0, 4000500);
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(f->offs, 0);
	assert_int_equal(f->kdamonds[0].pid, 4000500);
	assert_int_equal(f->n_kdamonds, TRACKER_KDAMONDS);
	assert_false(has_record(f));
	expect_untouched(f, "not ours");
}

/* After our crash somebody made directories of the same names, and is about to use them. */
static void test_leftovers_made_anew(void **state)
{
	struct fake *f = *state;

	leave_behind(f);
	fake_set_pid(f, 0, 0);
	fake_make_kdamonds(f, TRACKER_KDAMONDS);
	expect_untouched(f, "(4 kdamonds, 0 running, not ours)");
}

/* Killed between "on" and the note of the pid. */
static void test_crash_while_starting(void **state)
{
	struct fake *f = *state;
	char text[512], path[512];
	struct stat st;

	fake_make_kdamonds(f, 1);
	fake_path(f, path, KDAMONDS "/0");
	assert_int_equal(stat(path, &st), 0);
	snprintf(text, sizeof(text), HEAD "kdamonds 1 made\nkdamond %llu 0 %llu starting\n",
		 (unsigned long long)st.st_ino, (unsigned long long)fake_ticks());
	put_record(f, text);
	fake_set_pid(f, 0, 4000100);
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(f->offs, 1);
	assert_int_equal(f->n_kdamonds, 0);
}

/* Killed around the write to nr_kdamonds. */
static void test_crash_while_creating(void **state)
{
	struct fake *f = *state;

	put_record(f, HEAD "kdamonds 4 creating\n");
	assert_int_equal(clean_up(f), 0);
	assert_false(has_record(f));
	assert_int_equal(f->writes, 0);
	put_record(f, HEAD "kdamonds 4 creating\n");
	fake_make_kdamonds(f, 4);
	assert_int_equal(clean_up(f), 0);
	assert_int_equal(f->n_kdamonds, 0);
	/* Another number than we were about to make: not ours. */
	put_record(f, HEAD "kdamonds 4 creating\n");
	fake_make_kdamonds(f, 2);
	expect_untouched(f, "(2 kdamonds, 0 running, not ours)");
}

static void test_stop_is_careful(void **state)
{
	struct fake *f = *state;
	const struct damon_target self = { .pid = getpid() };
	char reason[REASON_BYTES];
	struct own o;

	begin_own(f, &o);
	assert_int_equal(own_acquire(&o, reason), 0);
	assert_int_equal(damon_write_targets(&o.damon, o.fds[0], &self, 1), 0);
	assert_int_equal(own_start(&o, 0), 0);
	fake_set_pid(f, 0, 0);
	fake_set_pid(f, 0, 4000500);
	assert_int_equal(own_running(&o, 0), -EPERM);
	assert_int_equal(own_stop(&o, 0), -EPERM);
	assert_int_equal(own_start(&o, 0), -EPERM);
	assert_int_equal(own_release(&o), -EBUSY);
	assert_int_equal(f->offs, 0);
	assert_int_equal(f->kdamonds[0].pid, 4000500);
	own_close(&o);
}

static void test_no_vaddr(void **state)
{
	struct fake *f = *state;
	char reason[REASON_BYTES];
	struct own o;

	f->no_vaddr = true;
	begin_own(f, &o);
	assert_int_equal(own_acquire(&o, reason), -ENOTSUP);
	assert_non_null(strstr(reason, "CONFIG_DAMON_VADDR"));
	assert_int_equal(f->n_kdamonds, 0);
	assert_false(has_record(f));
	own_close(&o);
}

static void test_no_damon(void **state)
{
	struct fake *f = *state;
	char reason[REASON_BYTES], path[512];
	struct own o;

	fake_path(f, path, "sys/kernel/mm/damon");
	fake_remove(path);
	begin_own(f, &o);
	assert_int_equal(own_acquire(&o, reason), -ENOENT);
	assert_non_null(strstr(reason, "CONFIG_DAMON_SYSFS"));
	assert_int_equal(clean_up(f), 0);
	own_close(&o);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_record_file),
		T(test_own_life),
		T(test_foreign),
		T(test_foreign_with_record),
		T(test_record_is_a_link),
		T(test_leftovers),
		T(test_leftovers_ended),
		T(test_leftovers_taken_over),
		T(test_leftovers_made_anew),
		T(test_crash_while_starting),
		T(test_crash_while_creating),
		T(test_stop_is_careful),
		T(test_no_vaddr),
		T(test_no_damon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
