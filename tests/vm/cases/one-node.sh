#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: one memory node: a clean refusal that a person can read, and no restart loop
# topology: 1node
# timeout: 90
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

if systemctl start tierd.service; then die "tierd runs where there is nothing to tier"; fi
sleep 2
assert_eq "$(systemctl show -P ExecMainStatus tierd.service)" 4 "exit status"
assert_eq "$(systemctl show -P NRestarts tierd.service)" 0 "restarts"
systemctl status --no-pager -l tierd.service > status.txt || true
cat status.txt
grep -q 'only one tier of memory' status.txt || die "systemctl status does not say why"
assert_eq "$(kdamonds)" 0 "kdamonds"
tierctl policy check || die "policy check needs no second tier"
ok "refused with one clear line and status 4"
