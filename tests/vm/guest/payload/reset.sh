# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Puts the guest back into the state that every test case may expect: no tierd, no test services, the
# installed configuration without policies, kernel settings as booted.

saved=/vm/saved

# Settings that cases may change.
knobs=(
	/sys/kernel/mm/numa/demotion_enabled
	/sys/kernel/mm/transparent_hugepage/enabled
	/sys/kernel/mm/transparent_hugepage/defrag
	/sys/kernel/mm/transparent_hugepage/shmem_enabled
	/proc/sys/kernel/numa_balancing
	/proc/sys/vm/swappiness
	/proc/sys/vm/overcommit_memory
	/proc/sys/vm/min_free_kbytes
	/proc/sys/vm/watermark_scale_factor
	/proc/sys/vm/zone_reclaim_mode
	/proc/sys/vm/nr_hugepages
)

# A sysfs file that offers choices marks the one in force: "always [madvise] never".
knob_value() {
	sed -E 's/.*\[([^]]*)\].*/\1/' "$1"
}

save_state() {
	local knob
	mkdir -p "$saved"
	[[ ! -d /etc/tierd ]] || cp -a /etc/tierd "$saved/etc-tierd"
	for knob in "${knobs[@]}"; do
		[[ ! -r $knob ]] || printf '%s %s\n' "$knob" "$(knob_value "$knob")"
	done > "$saved/knobs"
}

restore_knobs() {
	local knob value
	while read -r knob value; do
		[[ $(knob_value "$knob") == "$value" ]] || echo "$value" > "$knob" 2> /dev/null
	done < "$saved/knobs"
	return 0
}

stop_tierd() {
	local dir changed=''
	if systemctl -q is-active tierd.service || systemctl -q is-failed tierd.service; then
		timeout 60 systemctl stop tierd.service || systemctl kill -s KILL tierd.service
		systemctl reset-failed tierd.service 2> /dev/null
	fi
	for dir in /run/systemd/system /etc/systemd/system; do
		[[ ! -e $dir/tierd.service.d ]] || { rm -rf "$dir/tierd.service.d"; changed=1; }
	done
	[[ -z $changed ]] || systemctl daemon-reload
}

# Services, scopes and slices that cases made; their names start with tt-.
stop_test_units() {
	local units
	mapfile -t units < <(systemctl list-units --all --plain --no-legend 'tt-*' | awk '{ print $1 }')
	((${#units[@]})) || return 0
	timeout 60 systemctl stop "${units[@]}" 2> /dev/null ||
		systemctl kill -s KILL "${units[@]}" 2> /dev/null
	systemctl reset-failed "${units[@]}" 2> /dev/null
	return 0
}

# After tierd is gone: whatever monitors memory now would disturb the next case.
stop_damon() {
	local state admin=/sys/kernel/mm/damon/admin/kdamonds
	[[ -e $admin/nr_kdamonds && $(< "$admin/nr_kdamonds") != 0 ]] || return 0
	for state in "$admin"/*/state; do
		echo off > "$state"
	done 2> /dev/null
	echo 0 > "$admin/nr_kdamonds"
}

restore_config() {
	rm -rf /etc/tierd /run/tierd/policy.d
	[[ ! -d $saved/etc-tierd ]] || cp -a "$saved/etc-tierd" /etc/tierd
	rm -f /etc/tierd/policy.d/*
}

reset_state() {
	stop_test_units
	stop_tierd
	stop_damon
	restore_config
	restore_knobs
	swapoff -a 2> /dev/null
	rm -rf /tmp/tt-* /dev/shm/tt-*
	return 0
}
