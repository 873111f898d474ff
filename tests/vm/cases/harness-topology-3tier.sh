#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: three nodes in three memory tiers
# topology: 3tier
# timeout: 30
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/topology.bash"

assert_eq "$(online_nodes)" 0-2 "nodes"
assert_node 0 0-3 1024 "10 17 28"
assert_node 1 "" 1024 "17 10 28"
assert_node 2 "" 1024 "28 28 10"
assert_faster 0 1
assert_faster 1 2
