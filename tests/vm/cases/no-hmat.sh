#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: without HMAT the kernel knows one tier only; the order comes from the distances
# topology: nohmat
# timeout: 200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

write_policy 10-busy system.slice/tt-busy.service
start_workload busy --size $((128 * mib)) --hot "$((16 * mib)):$((48 * mib))" --node 1
start_tierd
ready() { tierctl status --json > status.json && grep -q '"order_source": *"distance"' status.json; }
wait_until 20 ready || { cat status.json; exit 1; }
ok "the order comes from the distances"
up() { (($(percent "$(hot_on 0 busy)" $((48 * mib))) >= 95)); }
wait_until 60 up
ok "$(($(hot_on 0 busy) / mib)) of 48 MiB hot are on the fast node"
verify_workload busy

# The administrator's order beats the machine's.
printf '[Tiers]\nOrder=1 > 0\n' > /etc/tierd/tierd.conf
systemctl reload tierd.service || die "Order= was refused"
turned() { tierctl status --json > status.json && grep -q '"order_source": *"override"' status.json; }
wait_until 10 turned
down() { (($(percent "$(hot_on 1 busy)" $((48 * mib))) >= 95)); }
wait_until 120 down
ok "with Order=1 > 0 node 1 is the fast one"
printf '[Tiers]\nOrder=1 > 7\n' > /etc/tierd/tierd.conf
if systemctl reload tierd.service; then die "an order with an unknown node was accepted"; fi
grep -q override <(tierctl status --json) || die "the bad order changed something"
ok "an order with an unknown node is refused"
