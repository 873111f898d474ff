#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: one node, nothing to tier
# topology: 1node
# timeout: 30
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/topology.bash"

assert_eq "$(online_nodes)" 0 "nodes"
assert_node 0 0-3 2048 "10"
