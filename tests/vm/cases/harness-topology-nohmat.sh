#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: two nodes that only their distance tells apart
# topology: nohmat
# timeout: 30
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/topology.bash"

assert_eq "$(online_nodes)" 0-1 "nodes"
assert_node 0 0-3 1024 "10 20"
assert_node 1 "" 2048 "20 10"
assert_same_tier 0 1
[[ ! -e $nodes/node1/access0/initiators/read_latency ]] || die "this guest has an HMAT"
