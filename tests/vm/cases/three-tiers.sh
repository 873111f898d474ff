#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: three tiers: hot memory comes up from the lowest, cold memory goes down one step
# topology: 3tier
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-idle system.slice/tt-idle.service Tiering/ColdAfter=5s
write_policy 20-busy system.slice/tt-busy.service
idle_mib=$(($(node_free 0) / mib - 40))
start_workload idle --size $((idle_mib * mib)) --node 0 --idle
start_workload busy --size $((160 * mib)) --hot "$((32 * mib)):$((48 * mib))" --node 2
start_tierd
ready() { tierctl status --json > status.json && [[ $(grep -c '"tier": *[0-9]' status.json) == 3 ]]; }
wait_until 30 ready
ok "tierd sees three tiers"
up() { (($(percent "$(hot_on 0 busy)" $((48 * mib))) >= 95)); }
wait_until 90 up
ok "$(($(hot_on 0 busy) / mib)) of 48 MiB hot came from the third tier to the first"
demoted=$(region_on 1 idle)
assert_eq "$(region_on 2 idle)" 0 "idle memory on the third tier while the second has room"
((demoted > 0)) || die "nothing went down one step"
ok "$((demoted / mib)) MiB of the idle service went down one step"
verify_workload busy
verify_workload idle
