#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: cgroups made later, with descendants and odd names, are followed; the more specific policy wins
# topology: 2node
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-slice tt.slice
write_policy 20-special 'tt.slice/tt-still.service' Tiering/Mode=observe
start_tierd
sleep 2

start_service late Slice=tt.slice Delegate=yes -- "$(command -v workload)" \
	--status /run/tt-late.status --size $((96 * mib)) --hot "0:$((32 * mib))" --node 1
start_service still Slice=tt.slice -- "$(command -v workload)" \
	--status /run/tt-still.status --size $((96 * mib)) --hot "0:$((32 * mib))" --node 1
wait_until 60 test -s /run/tt-late.status
wait_until 60 test -s /run/tt-still.status
read_workload late
read_workload still

# A process in a cgroup below the service, under a name with a blank and a percent sign.
inner="/sys/fs/cgroup/tt.slice/tt-late.service/in ner 100%"
mkdir "$inner"
echo "${late[pid]}" > "$inner/cgroup.procs"

up() { (($(percent "$(hot_on 0 "$1")" $((32 * mib))) >= 95)); }
wait_until 90 up late
ok "a process that moved to a cgroup of its own below the policy's is followed"
assert_eq "$(hot_on 1 still)" $((32 * mib)) "memory of the service with Mode=observe"
tierctl list
tierctl list --json | grep -q 'tt.slice/tt-still.service' || die "the more specific policy's cgroup is not listed"
ok "the more specific policy wins"

systemctl stop tt-still.service
gone() { ! tierctl list --json | grep -q 'tt-still.service'; }
wait_until 30 gone
ok "a cgroup that was removed is gone from the list"
