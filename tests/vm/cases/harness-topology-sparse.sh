#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: a gap in the node numbers and CPUs without memory; a node that comes later
# topology: sparse
# timeout: 30
# boot: own
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/topology.bash"

assert_eq "$(online_nodes)" 0-1,3 "nodes"
assert_eq "$(cat "$nodes/has_memory")" 0,3 "nodes with memory"
assert_node 0 0-1 1024 "10 12 28"
assert_node 1 2-3 0 "12 10 28"
assert_node 3 "" 1024 "28 28 10"
assert_faster 0 3

/vm/guest/dax-memory 2 > /dev/null
assert_eq "$(online_nodes)" 0-3 "nodes after the hot-add"
