#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: somebody else's kdamond is left alone: degraded, said so, recovered when it is gone
# topology: 2node
# timeout: 320
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

admin=/sys/kernel/mm/damon/admin/kdamonds
cleanup() {
	echo off > $admin/0/state 2> /dev/null || true
	echo 0 > $admin/nr_kdamonds 2> /dev/null || true
}
sleep 1000 &
echo 1 > $admin/nr_kdamonds
echo 1 > $admin/0/contexts/nr_contexts
echo vaddr > $admin/0/contexts/0/operations
echo 1 > $admin/0/contexts/0/targets/nr_targets
echo $! > $admin/0/contexts/0/targets/0/pid_target
echo on > $admin/0/state
foreign=$(cat $admin/0/pid)

write_policy 10-busy system.slice/tt-busy.service
start_workload busy --size $((96 * mib)) --hot "0:$((32 * mib))" --node 1
start_tierd
degraded() { tierctl status --json | grep -q '"state": *"degraded"'; }
wait_until 30 degraded
tierctl status
tierctl status | grep -qi 'not ours' || die "status does not say who has DAMON"
sleep 5
assert_eq "$(cat $admin/0/state)" on "state of the foreign kdamond"
assert_eq "$(cat $admin/0/pid)" "$foreign" "pid of the foreign kdamond"
assert_eq "$(hot_on 1 busy)" $((32 * mib)) "memory while degraded"
systemctl restart tierd.service
wait_until 30 degraded
assert_eq "$(cat $admin/0/state)" on "state of the foreign kdamond after a restart"
ok "degraded, and the foreign kdamond runs on"

# What needs no tracker works all the same.
tierctl rebalance --to 0 tt-busy.service > /dev/null || die "a manual rebalance failed with $?"
assert_eq "$(hot_on 0 busy)" $((32 * mib)) "memory after a manual rebalance"
tierctl rebalance --to 1 tt-busy.service > /dev/null

cleanup
recovered() { tierctl status --json | grep -q '"state": *"running"'; }
wait_until 60 recovered
up() { (($(percent "$(hot_on 0 busy)" $((32 * mib))) >= 95)); }
wait_until 180 up
ok "recovered when the foreign kdamond was gone"
