#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: two sockets and a node without CPUs: hot memory comes up to a node with CPUs
# topology: 2socket
# timeout: 150
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-busy system.slice/tt-busy.service
start_workload busy --size $((128 * mib)) --hot "$((16 * mib)):$((48 * mib))" --node 2
start_tierd
up() { (($(percent $(($(hot_on 0 busy) + $(hot_on 1 busy))) $((48 * mib))) >= 95)); }
wait_until 90 up
tierctl status
ok "$(($(hot_on 0 busy) / mib)) MiB on node 0, $(($(hot_on 1 busy) / mib)) MiB on node 1"
verify_workload busy
