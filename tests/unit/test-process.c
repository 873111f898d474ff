// SPDX-License-Identifier: GPL-2.0-or-later
/* Process texts to values; the table with real children that run, exec and end. */
#include <pthread.h>
#include <time.h>

#include "process-fixture.h"

/* ---- text ---------------------------------------------------------------------------------- */

static void test_stat(void **state)
{
	static const char text[] = "42 (a) R 1 (x)) S 1 42 42 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 "
				   "1 0 87294 3133440 412\n";
	static const char kthread[] =
		"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 11 0 0\n";
	struct process_stat st;

	assert_int_equal(process_parse_stat(text, strlen(text), &st), 0);
	assert_true(st.state == 'S' && !st.kernel_thread);
	assert_int_equal(st.start_time, 87294);
	assert_int_equal(process_parse_stat(kthread, strlen(kthread), &st), 0);
	assert_true(st.kernel_thread);
	assert_int_equal(st.start_time, 11);
}

static void test_stat_refuses(void **state)
{
	static const char *const bad[] = {
		"",
		"1 (x",
		"1 (x)",
		"1 (x) S",
		"1 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
		"1 (x) S 1 2 3 4 5 flags 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21",
		"1 (x) SS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21",
	};
	struct process_stat st;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(process_parse_stat(bad[i], strlen(bad[i]), &st), -EINVAL);
}

static void test_statm(void **state)
{
	uint64_t bytes = 5;

	assert_int_equal(process_parse_statm("765 412 380 5 0 90 0\n", 21, &bytes), 0);
	assert_true(bytes == 412 * 4096);
	assert_int_equal(process_parse_statm("765", 3, &bytes), -EINVAL);
	assert_int_equal(process_parse_statm("1 18446744073709551615", 22, &bytes), -EINVAL);
	assert_int_equal(process_parse_statm("1 18446744073709551616", 22, &bytes), -EINVAL);
	assert_true(bytes == 412 * 4096);
}

static void test_cgroup(void **state)
{
	static const char text[] =
		"9:name=systemd:/x\n1:cpu:/0::/no\n0::/system.slice/a b.service\n";
	const char *path = NULL;
	size_t size = 0;

	assert_int_equal(process_parse_cgroup(text, strlen(text), &path, &size), 0);
	assert_int_equal(size, strlen("system.slice/a b.service"));
	assert_memory_equal(path, "system.slice/a b.service", size);
	assert_int_equal(process_parse_cgroup("0::/\n", 5, &path, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(process_parse_cgroup("1:cpu:/\n", 8, &path, &size), -ENOENT);
	assert_int_equal(process_parse_cgroup("", 0, &path, &size), -ENOENT);
}

/* ---- children ------------------------------------------------------------------------------ */

/* A child that has touched @bytes, and runs sleep(1) when it is told to by SIGUSR1. */
static pid_t child_begin(size_t bytes)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		sigset_t set;
		int signal;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, NULL);
		if (bytes) {
			char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

			memset(p, 1, bytes);
		}
		if (write(ready[1], "x", 1) == 1 && sigwait(&set, &signal) == 0)
			execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

/* Waits, at most 10 s, until the child runs another program. */
static void child_exec(pid_t pid)
{
	char path[64], name[16];

	kill(pid, SIGUSR1);
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (int i = 0; i < 1000; i++) {
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, name, sizeof(name));

		close(fd);
		if (n == 6 && memcmp(name, "sleep\n", 6) == 0)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
	}
	fail_msg("no exec");
}

static void test_same_process_same_space(void **state)
{
	struct linux_machine m = machine_begin();
	pid_t pid = child_begin(1 << 20);
	struct tier_processes *list = table_see(m.processes, &pid, 1);
	uint64_t id;

	assert_int_equal(list->n_processes, 1);
	assert_int_equal(list->processes[0].pid, pid);
	assert_int_equal(list->processes[0].cgroup_id, 7);
	assert_true(list->processes[0].resident_bytes >= 1 << 20);
	id = list->processes[0].space_id;
	tier_processes_free(list);
	assert_int_equal(space_of(m.processes, pid), id);
	/* Looking elsewhere in between does not make it another one. */
	assert_int_not_equal(space_of(m.processes, getpid()), id);
	assert_int_equal(space_of(m.processes, pid), id);
	reap(pid);
	machine_end(&m);
}

static void test_exec_is_another_space(void **state)
{
	struct linux_machine m = machine_begin();
	pid_t pid = child_begin(0);
	uint64_t before = space_of(m.processes, pid), after;
	struct process *held, *p;

	assert_true(before > 0);
	assert_int_equal(process_get(m.processes, before, &held), 0);
	assert_true(process_alive(held));
	child_exec(pid);
	assert_false(process_alive(held));
	assert_int_equal(process_get(m.processes, before, &p), -ESRCH);
	after = space_of(m.processes, pid);
	assert_true(after > before);
	assert_int_equal(process_get(m.processes, after, &p), 0);
	assert_true(p->start_time == held->start_time);
	process_unref(m.processes, p);
	process_unref(m.processes, held);
	reap(pid);
	machine_end(&m);
}

static void test_end(void **state)
{
	struct linux_machine m = machine_begin();
	pid_t pid = child_begin(0);
	uint64_t id = space_of(m.processes, pid);
	struct process *held, *p;

	assert_int_equal(process_get(m.processes, id, &held), 0);
	kill(pid, SIGKILL);
	/* Dead but not reaped: its number is still taken, its memory gone. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_false(process_alive(held));
	assert_int_equal(space_of(m.processes, pid), 0);
	assert_int_equal(process_get(m.processes, id, &p), -ESRCH);
	reap(pid);
	assert_int_equal(space_of(m.processes, pid), 0);
	/* The reference outlives the table's own. */
	assert_true(held->pid == pid && held->space_id == id);
	process_unref(m.processes, held);
	machine_end(&m);
}

static void test_left_out(void **state)
{
	struct linux_machine m = machine_begin();
	pid_t pid = child_begin(0);
	struct process_candidate c[] = {
		{.pid = pid, .cgroup_path = "no/such.service"},
		{.pid = 0, .cgroup_path = ""},
		{.pid = 1 << 22, .cgroup_path = ""}, /* above pid_max */
	};
	struct tier_processes *list;

	assert_int_equal(process_table_update(m.processes, c, ARRAY_SIZE(c), &list), 0);
	for (size_t i = 0; i < list->n_processes; i++)
		assert_int_not_equal(list->processes[i].pid, pid);
	tier_processes_free(list);
	assert_int_equal(process_table_update(m.processes, NULL, 0, &list), 0);
	assert_int_equal(list->n_processes, 0);
	tier_processes_free(list);
	reap(pid);
	machine_end(&m);
}

/* With fds for two, the two largest are kept; when a larger one comes, the smaller one goes. */
static void test_fds_for_the_largest(void **state)
{
	static const size_t sizes[] = {1 << 20, 32 << 20, 16 << 20};
	struct linux_machine m = machine_begin();
	struct tier_processes *list;
	pid_t pids[3];

	for (size_t i = 0; i < 3; i++)
		pids[i] = child_begin(sizes[i]);
	process_table_limit(m.processes, 2);
	list = table_see(m.processes, pids, 1);
	assert_int_equal(list->n_processes, 1);
	tier_processes_free(list);
	list = table_see(m.processes, pids, 3);
	assert_int_equal(list->n_processes, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_not_equal(list->processes[i].pid, pids[0]);
	assert_true(list->processes[0].space_id < list->processes[1].space_id);
	tier_processes_free(list);
	for (size_t i = 0; i < 3; i++)
		reap(pids[i]);
	machine_end(&m);
}

static void test_mems_allowed(void **state)
{
	struct linux_machine m = machine_begin();
	struct process *p;

	assert_int_equal(process_get(m.processes, space_of(m.processes, getpid()), &p), 0);
	assert_int_equal(process_mems_allowed(p, 1000), 0);
	assert_int_equal(process_mems_allowed(p, 0), 1);
	process_unref(m.processes, p);
	machine_end(&m);
}

static size_t count_fds(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void *get_and_unref(void *userdata)
{
	struct process_table *t = userdata;

	for (int i = 0; i < 3000; i++) {
		struct process *p;

		if (process_get(t, 1 + (uint64_t)i % 40, &p) == 0)
			process_unref(t, p);
	}
	return NULL;
}

/* Others take and give back references while processes come and go; nothing is left over. */
static void test_threads(void **state)
{
	size_t fds = count_fds();
	struct linux_machine m = machine_begin();
	pthread_t threads[2];

	assert_true(space_of(m.processes, getpid()) == 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_and_unref, m.processes), 0);
	for (int i = 0; i < 20; i++) {
		pid_t pid = child_begin(0);

		assert_true(space_of(m.processes, pid) > 1);
		reap(pid);
		assert_int_equal(space_of(m.processes, pid), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	machine_end(&m);
	assert_int_equal(count_fds(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_stat_refuses),
		cmocka_unit_test(test_statm),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_same_process_same_space),
		cmocka_unit_test(test_exec_is_another_space),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_fds_for_the_largest),
		cmocka_unit_test(test_mems_allowed),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
