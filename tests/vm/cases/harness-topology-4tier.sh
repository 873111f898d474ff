#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: four nodes in four memory tiers, the last one hot-added
# topology: 4tier
# timeout: 30
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/topology.bash"

assert_eq "$(online_nodes)" 0-3 "nodes"
assert_node 0 0-3 1024 "10 17 28 40"
assert_node 1 "" 1024 "17 10 28 40"
assert_node 2 "" 1024 "28 28 10 40"
assert_node 3 "" 1024 "40 40 40 10"
assert_faster 0 1
assert_faster 1 2
assert_faster 2 3
