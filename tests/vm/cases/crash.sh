#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: kill -9 in mid-move leaves no kdamond of ours; the restarted daemon carries on
# topology: 2node
# timeout: 240
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
need_tierd

mkdir -p /run/systemd/system/tierd.service.d
# A restart that takes its time, so that what ExecStopPost= did can be seen.
printf '[Service]\nRestartSec=20s\n' > /run/systemd/system/tierd.service.d/slow-restart.conf
systemctl daemon-reload

write_policy 10-busy system.slice/tt-busy.service Migration/Bandwidth=8M
start_workload busy --size $((192 * mib)) --hot "0:$((128 * mib))" --node 1
start_tierd
moving() { (($(hot_on 0 busy) > 4 * mib)); }
wait_until 60 moving
echo "$(($(hot_on 0 busy) / mib)) MiB have moved after $SECONDS s"
(($(kdamonds) > 0)) || die "tierd runs no kdamond"
(($(hot_on 0 busy) < 120 * mib)) || die "the move was over before it could be interrupted"
kill -KILL "$(tierd_pid)"
cleaned() { [[ $(kdamonds) == 0 ]]; }
wait_until 10 cleaned
if pgrep -x kdamond.0 > /dev/null; then die "a kdamond still runs"; fi
ok "no kdamond is left after kill -9"
verify_workload busy

back() { systemctl -q is-active tierd.service; }
wait_until 60 back
done_moving() { (($(hot_on 0 busy) >= 122 * mib)); }
wait_until 90 done_moving
ok "the restarted daemon finished the job"
verify_workload busy

# A second one by hand would take the first one's kdamonds for left-overs.
if tierd 2> second.log; then die "a second tierd started"; fi
grep -q 'another tierd is running' second.log || { cat second.log; die "it does not say why"; }
if tierd --cleanup 2> second.log; then die "--cleanup works under a running tierd"; fi
(($(kdamonds) > 0)) || die "the running tierd lost its kdamonds"
ok "a second tierd is refused"

systemctl stop tierd.service
assert_eq "$(kdamonds)" 0 "kdamonds after a clean stop"
[[ ! -e /run/tierd/damon ]] || die "the record of our kdamonds is left behind"
