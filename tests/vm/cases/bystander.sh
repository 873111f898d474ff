#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: a service without a policy keeps every page where it was while its neighbours are moved
# topology: 2node
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-idle system.slice/tt-idle.service Tiering/ColdAfter=5s
write_policy 20-busy system.slice/tt-busy.service

# Two bystanders: an idle one on the fast node (a tempting victim) and a busy one on the slow node.
start_workload quiet --size $((64 * mib)) --node 0 --idle
start_workload loud --size $((64 * mib)) --hot "0:$((64 * mib))" --node 1
idle_mib=$(($(node_free 0) / mib - 40))
start_workload idle --size $((idle_mib * mib)) --node 0 --idle
start_workload busy --size $((128 * mib)) --hot "0:$((48 * mib))" --node 1

map_of() {
	local -n w=$1
	place --map "${w[pid]}" "${w[start]}" "$(printf '0x%x' $((w[start] + w[size])))"
}
map_of quiet > quiet.before
map_of loud > loud.before

start_tierd
moved() { (($(hot_on 0 busy) >= 44 * mib)); }
wait_until 90 moved
(($(region_on 1 idle) > 0)) || die "nothing was demoted, so the test shows nothing"
ok "neighbours were moved: $(($(hot_on 0 busy) / mib)) MiB up, $(($(region_on 1 idle) / mib)) MiB down"

map_of quiet > quiet.after
map_of loud > loud.after
cmp quiet.before quiet.after || die "pages of the quiet bystander were moved"
cmp loud.before loud.after || die "pages of the loud bystander were moved"
ok "both bystanders are where they were, page by page"
verify_workload quiet
verify_workload loud
verify_workload busy
verify_workload idle
