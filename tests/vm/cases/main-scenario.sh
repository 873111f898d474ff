#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: an idle service fills the fast node; the hot set of another one on the slow node takes its place
# topology: 2node
# timeout: 420
# print: yes
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tierd.bash"
. "$(dirname "$0")/curve.bash"
need_tierd

hot_bytes=$((64 * mib))
write_policy 10-idle system.slice/tt-idle.service Tiering/ColdAfter=10s
write_policy 20-busy system.slice/tt-busy.service Tiering/ColdAfter=30s

# All but some 40 MiB of the fast node, so that room must be made.
idle_mib=$(($(node_free 0) / mib - 40))
start_workload idle --size "$((idle_mib * mib))" --node 0 --idle
start_workload busy --size "$((256 * mib))" --hot "$((96 * mib)):$hot_bytes" --node 1
echo "fast node: $(($(node_free 0) / mib)) MiB free, idle service has $idle_mib MiB there"
assert_eq "$(hot_on 1 busy)" "$hot_bytes" "hot bytes on the slow node at the start"
(($(percent "$(region_on 0 idle)" "$((idle_mib * mib))") >= 95)) || die "the idle service is not on the fast node"

# place walks 4 KiB by 4 KiB: what it prints is the truth, tierd is never asked.
sample() {
	hot=$(hot_on 0 busy)
	up=$(region_on 0 busy)
	down=$(region_on 1 idle)
}

start_tierd
begin=$SECONDS
curve_begin "$OUT/main-scenario"
limit=$(scaled 90)
while :; do
	sample
	curve_point $((SECONDS - begin)) "$hot" "$up" "$down"
	(($(percent "$hot" "$hot_bytes") >= 95)) && break
	((SECONDS - begin <= limit)) || die "only $(percent "$hot" "$hot_bytes") % of the hot set is on the fast node"
	sleep 2
done
reached=$((SECONDS - begin))
ok "$(percent "$hot" "$hot_bytes") % of the hot set is on the fast node after $reached s (limit $limit s)"

# Let what is under way end, then one quiet minute. The bar is 1 % of the hot set per minute.
sleep "$(scaled 15)"
sample
cold=$((up - hot))
curve_point $((SECONDS - begin)) "$hot" "$up" "$down"
(($(percent "$cold" "$up") <= 10)) || die "$(percent "$cold" "$up") % of what was moved up was cold"
ok "$((cold / 1024)) KiB of $((up / 1024)) KiB moved up were cold ($(percent "$cold" "$up") %)"

moved_before=$(tierctl list --json | moved_bytes)
hot_before=$hot up_before=$up down_before=$down
pid=$(tierd_pid)
cpu_before=$(cpu_ticks "$pid")
sleep 60
cpu=$(($(cpu_ticks "$pid") - cpu_before))
moved=$(($(tierctl list --json | moved_bytes) - moved_before))
sample
curve_point $((SECONDS - begin)) "$hot" "$up" "$down"
((moved < hot_bytes / 100)) || die "tierd moved $((moved / 1024)) KiB in a quiet minute"
drift=$(((hot > hot_before ? hot - hot_before : hot_before - hot) + (up > up_before ? up - up_before : up_before - up) +
	(down > down_before ? down - down_before : down_before - down)))
((drift < hot_bytes / 100)) || die "placement changed by $((drift / 1024)) KiB in a quiet minute"
ok "$((moved / 1024)) KiB moved in the quiet minute, placement drifted by $((drift / 1024)) KiB"

# Clock ticks are hundredths of a second: in 60 s, 6000 are one core.
rss=$(rss_kib "$pid")
awk -v ticks="$cpu" -v rss="$rss" 'BEGIN { printf "steady state: tierd RSS %.1f MiB, CPU %.2f %% of one core\n", rss / 1024, ticks / 60 }'
((rss <= 24 * 1024)) || die "tierd's RSS is $rss KiB"

verify_workload busy
verify_workload idle
ok "contents are intact"
curve_end
