#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: processes that end, exec or unmap and cgroups that vanish in mid-move end clean and counted
# topology: 2node
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-app 'system.slice/tt-app*.service' Tiering/Mode=observe
start_tierd
pid=$(tierd_pid)
listed() { tierctl list --json | grep -qF "$1"; }
gone() { ! listed "$1"; }

for round in 1 2 3 4 5; do
	start_workload "app$round" --size $((300 * mib)) --node 0 --idle
	wait_until 30 listed "tt-app$round.service"
	tierctl rebalance --to 1 --wait=no "system.slice/tt-app$round.service" > /dev/null
	sleep "0.$((round * 2))"
	systemctl kill -s KILL "tt-app$round.service"
	systemctl reset-failed "tt-app$round.service" 2> /dev/null || true
	wait_until 30 gone "tt-app$round.service"
done
assert_eq "$(tierd_pid)" "$pid" "tierd's main process"
systemctl -q is-active tierd.service || die "tierd is not running any more"
ok "five processes and their cgroups ended in mid-move"

# A neighbour that starts afterwards may get the old pid or the old cgroup name: it is another one.
start_workload app1 --size $((32 * mib)) --node 0 --idle
wait_until 30 listed tt-app1.service
sleep 3
assert_eq "$(region_on 0 app1)" "$((32 * mib))" "memory of the new service of the same name"
verify_workload app1
if journalctl -q -u tierd.service -p err | grep .; then die "errors in the journal"; fi
ok "the new service of the same name was not touched"
