#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: a good reload takes effect; a bad one fails, names file, line and key, and changes nothing
# topology: 2node
# timeout: 150
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

mode_of() {
	tierctl list --json | tr -d ' \n' | grep -o '"cgroup":"[^"]*","[^}]*' | grep -F "\"$1\"" |
		sed -n 's/.*"mode":"\([^"]*\)".*/\1/p'
}

write_policy 10-app system.slice/tt-app.service Tiering/Mode=observe
start_workload app --size $((32 * mib)) --node 1 --idle
start_tierd
mode_is() { [[ $(mode_of system.slice/tt-app.service) == "$1" ]]; }
wait_until 20 mode_is observe

write_policy 10-app system.slice/tt-app.service Tiering/Mode=auto
systemctl reload tierd.service || die "a good configuration was refused"
mode_is auto || die "the new mode is not in force after the reload: '$(mode_of system.slice/tt-app.service)'"
ok "a good reload is in force when systemctl reload returns"

pid=$(tierd_pid)
cat > /etc/tierd/policy.d/20-bad.conf <<-'BAD'
	[Match]
	Cgroup=system.slice/other.service

	[Tiering]
	Mode=observe
	FastMaxx=1G
BAD
write_policy 10-app system.slice/tt-app.service Tiering/Mode=observe
if systemctl reload tierd.service; then die "a bad configuration was accepted"; fi
mode_is auto || die "a part of the bad configuration is in force"
assert_eq "$(tierd_pid)" "$pid" "tierd's main process"
tierctl status > status.txt
grep -F '/etc/tierd/policy.d/20-bad.conf:6: FastMaxx' status.txt || { cat status.txt; die "status does not name file, line and key"; }
journalctl -q -u tierd.service | grep -qF '20-bad.conf:6' || die "the journal does not name file and line"
ok "a bad reload fails and changes nothing"

check=$(tierctl policy check 2>&1) && die "policy check accepts the bad file"
assert_match "$check" '20-bad.conf:6: FastMaxx' "policy check"
rm /etc/tierd/policy.d/20-bad.conf
systemctl reload tierd.service
mode_is observe || die "the repaired configuration is not in force"
if tierctl status | grep -F '20-bad.conf'; then die "status still shows the old error"; fi
ok "the repaired configuration is in force"

# At the start there is nothing to fall back on: exit status 3, said once, no restart loop.
echo 'Interval=never' | sed '1i [Service]' > /etc/tierd/tierd.conf
systemctl stop tierd.service
if systemctl start tierd.service; then die "tierd starts with a bad configuration"; fi
assert_eq "$(systemctl show -P ExecMainStatus tierd.service)" 3 "exit status with a bad configuration"
journalctl -q -u tierd.service | grep -qF '/etc/tierd/tierd.conf:2: Interval' || die "the journal does not name the bad key"
ok "a bad configuration at the start is refused with status 3"
