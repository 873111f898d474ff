#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: no rights, no cgroup v2, no DAMON: one clear line each, and the documented exit status
# topology: 2node
# timeout: 150
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

dropin=/run/systemd/system/tierd.service.d/refusal.conf
with_dropin() {
	mkdir -p "${dropin%/*}"
	printf '[Service]\n%s\n' "$1" > "$dropin"
	systemctl daemon-reload
}

# refused STATUS TEXT
refused() {
	if systemctl start tierd.service; then die "tierd started all the same"; fi
	assert_eq "$(systemctl show -P ExecMainStatus tierd.service)" "$1" "exit status"
	sleep 2
	assert_eq "$(systemctl show -P NRestarts tierd.service)" 0 "restarts"
	systemctl status --no-pager -l tierd.service > status.txt || true
	grep -q "$2" status.txt || { cat status.txt; die "systemctl status does not say '$2'"; }
	grep "$2" status.txt
	systemctl reset-failed tierd.service
}

with_dropin "CapabilityBoundingSet=~CAP_SYS_PTRACE"
refused 6 'CAP_SYS_PTRACE'
ok "missing rights are named"

# What is in place of the hierarchy must not be covered by the unit's own protection of it.
with_dropin $'TemporaryFileSystem=/sys/fs/cgroup\nProtectControlGroups=no'
refused 5 'cgroup'
ok "no unified cgroup hierarchy"

with_dropin "InaccessiblePaths=/sys/kernel/mm/damon"
write_policy 10-busy system.slice/tt-busy.service
start_workload busy --size $((64 * mib)) --hot "0:$((32 * mib))" --node 1
start_tierd
degraded() { tierctl status --json | grep -q '"state": *"degraded"'; }
wait_until 30 degraded
tierctl status
tierctl status | grep -q 'DAMON' || die "status does not say what is missing"
tierctl rebalance --to 0 tt-busy.service > /dev/null || die "a manual rebalance failed with $?"
assert_eq "$(hot_on 0 busy)" $((32 * mib)) "memory after a manual rebalance"
ok "without DAMON: degraded, and moves by hand work"
