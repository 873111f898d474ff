# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the cases harness-topology-* share: questions about the guest's nodes, answered from sysfs.

nodes=/sys/devices/system/node

online_nodes() { cat "$nodes/online"; }
node_cpus() { cat "$nodes/node$1/cpulist"; }
node_distances() { cat "$nodes/node$1/distance"; }
node_mib() { awk '/MemTotal/ { print int($4 / 1024) }' "$nodes/node$1/meminfo"; }

# node_tier NODE: the rank in the name of its memory tier; smaller is faster.
node_tier() {
	local list
	for list in /sys/devices/virtual/memory_tiering/memory_tier*/nodelist; do
		in_list "$1" "$(< "$list")" || continue
		list=${list%/nodelist}
		echo "${list##*memory_tier}"
		return
	done
	die "node $1 is in no memory tier"
}

# in_list NUMBER 0-1,4
in_list() {
	local part
	for part in ${2//,/ }; do
		(($1 >= ${part%-*} && $1 <= ${part#*-})) && return
	done
	return 1
}

# assert_node NODE CPUS MIB DISTANCES: firmware and the kernel keep some MiB for themselves.
assert_node() {
	local mib
	assert_eq "$(node_cpus "$1")" "$2" "CPUs of node $1"
	mib=$(node_mib "$1")
	((mib <= $3 && mib >= $3 * 85 / 100)) || die "node $1 has $mib MiB of $3"
	assert_eq "$(node_distances "$1")" "$4" "distances of node $1"
	ok "node $1: CPUs '$2', $mib MiB, distances $4"
}

assert_faster() {
	local fast slow
	fast=$(node_tier "$1")
	slow=$(node_tier "$2")
	((fast < slow)) || die "node $1 is in tier $fast, node $2 in tier $slow"
	ok "node $1 (tier $fast) is faster than node $2 (tier $slow)"
}

assert_same_tier() {
	assert_eq "$(node_tier "$1")" "$(node_tier "$2")" "tiers of nodes $1 and $2"
	ok "nodes $1 and $2 share tier $(node_tier "$1")"
}

assert_no_swap() {
	assert_eq "$(wc -l < /proc/swaps)" 1 "lines of /proc/swaps"
}
