# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Shared by the programs that run the guest's side of a boot.

# port NAME: the device of a virtio-serial port. Looked up in sysfs, which is there before udev has made
# /dev/virtio-ports.
port() {
	local file tries
	for ((tries = 0; tries < 300; tries++)); do
		for file in /sys/class/virtio-ports/*/name; do
			[[ -e $file && $(< "$file") == "$1" ]] || continue
			file=${file%/name}
			printf '/dev/%s\n' "${file##*/}"
			return
		done
		sleep 0.1
	done
	return 1
}

# What the loop below takes, in microseconds, on an idle 2-core host under TCG; all time-outs were chosen there.
reference_us=110000

# guest_speed: how slow this guest is now, in percent of the reference: 100 or more. The best of three, as
# a single run also measures whatever else starts at the same moment.
guest_speed() {
	local best=0 start end i
	for _ in 1 2 3; do
		start=${EPOCHREALTIME/./}
		for ((i = 0; i < 5000; i++)); do :; done
		end=${EPOCHREALTIME/./}
		((best == 0 || end - start < best)) && best=$((end - start))
	done
	best=$((best * 100 / reference_us))
	echo $((best < 100 ? 100 : best))
}
