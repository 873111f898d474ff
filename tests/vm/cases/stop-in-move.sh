#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: SIGTERM during a move ends the service in under 2 s (scaled) with nothing lost
# topology: 2node
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-app system.slice/tt-app.service Tiering/Mode=observe
start_workload app --size $((400 * mib)) --node 0 --idle
start_tierd
listed() { tierctl list --json | grep -q tt-app.service; }
wait_until 30 listed

for round in 1 2 3; do
	tierctl rebalance --wait=no --to $((round % 2)) system.slice/tt-app.service > /dev/null
	sleep 0.3
	begin=${EPOCHREALTIME/./}
	systemctl stop tierd.service
	took_ms=$(((${EPOCHREALTIME/./} - begin) / 1000))
	assert_eq "$(systemctl show -P Result tierd.service)" success "result of the service"
	((took_ms < 20 * GUEST_SPEED)) || die "stopping took $took_ms ms"
	echo "round $round: stopped in $took_ms ms with $(($(region_on 1 app) / mib)) MiB on the slow node"
	assert_eq "$(kdamonds)" 0 "kdamonds after the stop"
	start_tierd
	wait_until 30 listed
done
verify_workload app
ok "stopped three times in mid-move"
