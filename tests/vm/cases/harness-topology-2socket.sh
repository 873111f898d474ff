#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: two sockets in one tier and a node without CPUs in a slower one
# topology: 2socket
# timeout: 30
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/topology.bash"

assert_eq "$(online_nodes)" 0-2 "nodes"
assert_node 0 0-1 1024 "10 21 17"
assert_node 1 2-3 1024 "21 10 28"
assert_node 2 "" 1024 "17 28 10"
assert_same_tier 0 1
assert_faster 0 2
