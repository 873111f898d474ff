#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: a fast node with CPUs and a slow one without, two memory tiers
# topology: 2node
# timeout: 30
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/topology.bash"

assert_eq "$(online_nodes)" 0-1 "nodes"
assert_node 0 0-3 1024 "10 20"
assert_node 1 "" 2048 "20 10"
assert_faster 0 1
assert_no_swap
assert_eq "$(cat "$nodes/node1/access0/initiators/read_latency")" 250 "latency of node 1"
assert_eq "$(cat "$nodes/node0/access0/initiators/read_latency")" 80 "latency of node 0"
