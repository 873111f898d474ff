# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For cases that run tierd against real workloads. Source after lib.sh. Placement is always asked from the
# kernel by the test's own program (`place`, a move_pages() query), never from tierd.

mib=$((1024 * 1024))

# Debian's kernels balance NUMA memory by themselves, and would move the hot set before tierd can. The
# harness puts the setting back.
echo 0 > /proc/sys/kernel/numa_balancing

# write_policy NAME GLOB [SECTION/KEY=VALUE...]: a file in /etc/tierd/policy.d.
write_policy() {
	local name=$1 glob=$2 item section='' file
	shift 2
	file=/etc/tierd/policy.d/$name.conf
	mkdir -p /etc/tierd/policy.d
	printf '[Match]\nCgroup=%s\n' "$glob" > "$file"
	for item; do
		[[ ${item%%/*} == "$section" ]] || printf '\n[%s]\n' "${item%%/*}" >> "$file"
		section=${item%%/*}
		printf '%s\n' "${item#*/}" >> "$file"
	done
}

start_tierd() {
	systemctl start tierd.service || {
		systemctl status --no-pager -l tierd.service || true
		die "tierd did not start"
	}
}

tierd_pid() { systemctl show -P MainPID tierd.service; }

# kdamonds: how many there are.
kdamonds() {
	cat /sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds
}

# start_workload NAME ARG...: a service tt-NAME running the workload; waits until its memory is in place.
# Sets the associative array NAME with pid, start, size, hot_start, hot_length.
start_workload() {
	local name=$1 file=/run/tt-$1.status
	shift
	rm -f "$file"
	start_service "$name" MemoryAccounting=yes -- "$(command -v workload)" --status "$file" "$@"
	wait_until 60 test -s "$file"
	read_workload "$name"
}

read_workload() {
	local key value
	declare -gA "$1=()"
	local -n fields=$1
	while IFS='=' read -r key value; do
		# shellcheck disable=SC2034 # the caller's array, by name
		fields[$key]=$value
	done < "/run/tt-$1.status"
}

# bytes_on NODE PID START LENGTH
bytes_on() {
	place "$2" "$3" "$(printf '0x%x' $(($3 + $4)))" |
		awk -v node="$1" '$1 == "node" && $2 == node { n = $3 } END { print n + 0 }'
}

# region_on NODE ARRAY, hot_on NODE ARRAY: bytes of a workload's memory, or of its hot set, on a node.
region_on() {
	local -n w=$2
	bytes_on "$1" "${w[pid]}" "${w[start]}" "${w[size]}"
}

hot_on() {
	local -n w=$2
	bytes_on "$1" "${w[pid]}" "${w[hot_start]}" "${w[hot_length]}"
}

# node_free NODE: bytes
node_free() {
	awk '$3 == "MemFree:" { print $4 * 1024 }' "/sys/devices/system/node/node$1/meminfo"
}

# verifications NAME: how many the workload has made.
verifications() {
	journalctl -q -o cat -u "tt-$1.service" | awk '/^verify / { n++ } END { print n + 0 }'
}

verified_again() { (($(verifications "$1") > $2)); }

# verify_workload NAME: the workload checks every byte of its memory.
verify_workload() {
	local -n w=$1
	local before last
	before=$(verifications "$1")
	kill -USR1 "${w[pid]}"
	wait_until 60 verified_again "$1" "$before"
	last=$(journalctl -q -o cat -u "tt-$1.service" | grep '^verify ' | tail -n 1)
	assert_eq "$last" "verify ok" "what tt-$1 says of its memory"
}

# percent A B: A of B, whole percent, rounded down.
percent() { echo $(($1 * 100 / ($2 > 0 ? $2 : 1))); }

# cpu_us PID: user and system time.
cpu_ticks() {
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

rss_kib() {
	awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"
}
