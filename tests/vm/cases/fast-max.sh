#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: FastMax= bounds what a cgroup may hold of the fast node, and takes effect on reload
# topology: 2node
# timeout: 400
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-busy system.slice/tt-busy.service Tiering/FastMax=40M Tiering/ColdAfter=10s
start_workload busy --size $((192 * mib)) --hot "$((32 * mib)):$((96 * mib))" --node 1
start_tierd
near_max() { (($(hot_on 0 busy) >= 32 * mib)); }
wait_until 90 near_max
sleep "$(scaled 10)"
(($(region_on 0 busy) <= 40 * mib)) || die "$(($(region_on 0 busy) / mib)) MiB are on the fast node, FastMax is 40 MiB"
ok "$(($(region_on 0 busy) / mib)) MiB are on the fast node with FastMax=40M"

write_policy 10-busy system.slice/tt-busy.service Tiering/FastMax=16M Tiering/ColdAfter=10s
systemctl reload tierd.service
below() { (($(region_on 0 busy) <= 16 * mib)); }
wait_until 60 below
ok "$(($(region_on 0 busy) / mib)) MiB after a reload with FastMax=16M"

write_policy 10-busy system.slice/tt-busy.service Tiering/ColdAfter=10s
systemctl reload tierd.service
all_up() { (($(percent "$(hot_on 0 busy)" $((96 * mib))) >= 95)); }
# Slots that have just gone down cool down before they come up again.
wait_until 240 all_up
ok "$(($(hot_on 0 busy) / mib)) of 96 MiB hot without FastMax"
verify_workload busy
