#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: 2 MiB folios arrive as 2 MiB folios
# topology: 2node
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

huge_kib() {
	awk '/^AnonHugePages:/ { sum += $2 } END { print sum + 0 }' "/proc/${app[pid]}/smaps"
}

write_policy 10-app system.slice/tt-app.service Tiering/Mode=observe
start_workload app --size $((128 * mib)) --node 1 --idle --thp always
before=$(huge_kib)
((before > 0)) || skip "the kernel gave no huge page"
start_tierd
listed() { tierctl list --json | grep -q tt-app.service; }
wait_until 30 listed
for tier in 0 1 0; do
	tierctl rebalance --to $tier tt-app.service > /dev/null || die "rebalance failed with $?"
	(($(percent "$(region_on "$tier" app)" $((128 * mib))) >= 98)) || die "only $(($(region_on "$tier" app) / mib)) MiB on node $tier"
	echo "on node $tier: $(huge_kib) KiB in huge pages"
done
(($(huge_kib) >= before)) || die "huge pages were split: $before KiB before, $(huge_kib) KiB now"
verify_workload app
ok "$((before / 2048)) huge pages moved three times and are still whole"
