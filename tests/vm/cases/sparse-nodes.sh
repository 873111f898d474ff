#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: nodes 0, 1 (CPUs, no memory) and 3: ids with gaps and a node without memory
# topology: sparse
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-busy system.slice/tt-busy.service
start_workload busy --size $((128 * mib)) --hot "$((16 * mib)):$((48 * mib))" --node 3
start_tierd
up() { (($(percent "$(hot_on 0 busy)" $((48 * mib))) >= 95)); }
wait_until 90 up
tierctl status
ok "$(($(hot_on 0 busy) / mib)) of 48 MiB hot came from node 3 to node 0"
tierctl rebalance --to 1 tt-busy.service > /dev/null || die "rebalance failed with $?"
(($(percent "$(region_on 3 busy)" $((128 * mib))) >= 98)) || die "only $(($(region_on 3 busy) / mib)) MiB went to node 3"
verify_workload busy
ok "and back by hand"
