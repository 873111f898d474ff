#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: tierctl rebalance, dry run, pause and resume, JSON, and who may do it
# topology: 2node
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

cgroup=system.slice/tt-app.service
write_policy 10-app $cgroup Tiering/Mode=observe
start_workload app --size $((128 * mib)) --node 1 --idle
start_tierd
listed() { tierctl list --json | grep -q tt-app.service; }
wait_until 30 listed

tierctl rebalance --dry-run --to 0 $cgroup > plan.txt || die "dry run failed"
cat plan.txt
assert_eq "$(region_on 1 app)" $((128 * mib)) "memory after a dry run"
ok "a dry run moves nothing"

tierctl rebalance --to 0 $cgroup > moved.txt || die "rebalance failed with $?"
cat moved.txt
(($(percent "$(region_on 0 app)" $((128 * mib))) >= 98)) || die "only $(($(region_on 0 app) / mib)) MiB arrived"
ok "rebalance --to 0 moved $(($(region_on 0 app) / mib)) MiB up"

# The unit's name is enough.
tierctl rebalance --to 1 tt-app.service > /dev/null || die "rebalance by unit name failed with $?"
(($(percent "$(region_on 1 app)" $((128 * mib))) >= 98)) || die "only $(($(region_on 1 app) / mib)) MiB went down"
ok "rebalance by unit name"
verify_workload app

# Memory that its owner has bound stays, and the answer says so.
write_policy 20-bound system.slice/tt-bound.service Tiering/Mode=observe
start_service bound -- numactl --membind=1 "$(command -v workload)" \
	--status /run/tt-bound.status --size $((24 * mib)) --idle
systemctl reload tierd.service
bound_bytes() {
	tierctl list --json | tr -d ' \n' |
		sed -n 's/.*tt-bound\.service[^[]*"tier_bytes":\[[0-9]*,\([0-9]*\).*/\1/p'
}
large() {
	local bytes
	bytes=$(bound_bytes)
	((${bytes:-0} > 20 * mib))
}
wait_until 60 large
status=0; tierctl rebalance --to 0 tt-bound.service > bound.txt 2>&1 || status=$?
cat bound.txt
assert_eq "$status" 3 "exit status for bound memory"
grep -q excluded bound.txt || die "the bound memory is not named"
large || die "the bound memory was moved"
ok "bound memory stays and is named"

status=0; tierctl rebalance --to 7 $cgroup > err.txt 2>&1 || status=$?
assert_eq "$status" 1 "exit status for a tier that does not exist"
cat err.txt
status=0; tierctl rebalance no-such.service > err.txt 2>&1 || status=$?
assert_eq "$status" 1 "exit status for a cgroup that does not exist"
cat err.txt
status=0; tierctl frobnicate > err.txt 2>&1 || status=$?
assert_eq "$status" 2 "exit status for a verb that does not exist"

for verb in "status" "list"; do
	setpriv --reuid=65534 --clear-groups tierctl $verb > /dev/null || die "$verb is denied to an ordinary user"
done
for verb in "pause" "resume" "reload" "rebalance --to 0 $cgroup"; do
	status=0
	# shellcheck disable=SC2086
	setpriv --reuid=65534 --clear-groups tierctl $verb > err.txt 2>&1 || status=$?
	assert_eq "$status" 6 "exit status of '$verb' for an ordinary user"
done
ok "ordinary users may read and nothing else"

tierctl pause && tierctl status | grep -qi paused || die "not paused"
tierctl resume
if tierctl status | grep -qi paused; then die "still paused"; fi
systemctl stop tierd.service
status=0; tierctl status > err.txt 2>&1 || status=$?
# D-Bus starts tierd again when it is asked for; without activation it is status 5.
[[ $status == 0 || $status == 5 ]] || die "status without a daemon: $status"
ok "exit statuses"
