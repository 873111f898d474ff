# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What `run` and `shell` share: the disk that carries tierd and the script in, and QEMU's command line.
# Sourced after lib.sh.

# vm_prepare: kernel, modules and root, made or fetched when the cache lacks them.
# Sets $bzimage, $initrd (may be empty), $modules_disk (may be empty), $root_disk.
vm_prepare() {
	local lines modules
	lines=$("$vm_dir/kernel" "$KERNEL") || exit 1
	{ read -r bzimage; read -r modules || modules=; } <<< "$lines"
	initrd='' modules_disk=''
	if [[ -n $modules ]]; then
		lines=$("$vm_dir/initrd" "$modules") || exit 1
		{ read -r initrd; read -r modules_disk; } <<< "$lines"
	fi
	root_disk=$("$vm_dir/image") || exit 1
}

# vm_topology_file NAME|FILE
vm_topology_file() {
	local file
	for file in "$vm_dir/topologies/$1.args" "$1"; do
		[[ -f $file ]] || continue
		absolute "$file"
		return
	done
	die "no topology '$1'; there are: $(cd "$vm_dir/topologies" && echo *.args | sed 's/\.args//g')"
}

# One VM at a time: on a small host two in parallel take longer than one after the other, and every
# time-out would have to be twice as long.
vm_lock() {
	mkdir -p "$TIERD_CACHE"
	exec {vm_lock_fd}> "$TIERD_CACHE/vm.lock"
	flock -n "$vm_lock_fd" && return
	say "another VM is running; waiting for it to end"
	# In the background, so that our traps work while we wait.
	flock "$vm_lock_fd" &
	vm_lock_pid=$!
	wait "$vm_lock_pid"
	vm_lock_pid=''
}

# For the traps: a waiting flock would outlive us.
vm_stop_waiting() {
	[[ -z ${vm_lock_pid:-} ]] || kill "$vm_lock_pid" 2> /dev/null || true
}

# vm_stage DIR: lay out what the guest unpacks over its root: the install tree of tierd, and below /vm the
# harness's own programs and environment. Uses $topology_file.
vm_stage() {
	local dir=$1 name
	mkdir -p "$dir/vm/files"
	if [[ $TIERD_TREE != none ]]; then
		[[ -d $TIERD_TREE ]] || die "no install tree '$TIERD_TREE': run make, or give TIERD_TREE=none"
		cp -a "$TIERD_TREE/." "$dir/"
		rm -f "$dir/.stamp"
	fi
	cp -a "$vm_dir/guest/payload" "$dir/vm/guest"
	[[ ! -f ${topology_file%.args}.setup ]] ||
		cp "${topology_file%.args}.setup" "$dir/vm/guest/topology.setup"
	{
		printf 'export TOPOLOGY=%q KERNEL=%q\n' "$TOPOLOGY" "$KERNEL"
		printf 'TIMEOUT=%q\n' "${TIMEOUT:-600}"
		for name in ${VM_ENV:-}; do
			printf 'export %s=%q\n' "$name" "${!name-}"
		done
	} > "$dir/vm/env"
}

# vm_pack DIR TAR: owners do not depend on who built the tree.
vm_pack() {
	tar -C "$1" --owner=0 --group=0 --numeric-owner -cf "$2" .
}

# vm_topology_files FILE: create the backing files that a topology asks for with "# file: NAME SIZE".
vm_topology_files() {
	local name size
	while read -r name size; do
		rm -f "$name"
		truncate -s "$size" "$name"
	done < <(sed -n 's/^# file: *//p' "$1")
}

# vm_qemu_args FILE TAR: fills the array qemu_args.
vm_qemu_args() {
	local file=$1 tar=$2 words append
	append="console=ttyS0 panic=-1 oops=panic mitigations=off quiet systemd.show_status=0"
	append+=" systemd.unified_cgroup_hierarchy=1 psi=1 root=/dev/vda rw init=/usr/lib/tierd-vm/init"
	append+=" ${vm_append:-} ${TIERD_APPEND:-}"
	mapfile -t words < <(sed '/^#/d' "$file" | tr -s ' \t' '\n\n' | sed '/^$/d')
	# qemu64 is the fastest model under TCG ("max" emulates features that only cost time); without svm the
	# guest does not load KVM; with rdrand dbus need not wait for the kernel to gather randomness.
	qemu_args=(
		-nodefaults -no-user-config -display none -no-reboot
		-accel "${TIERD_ACCEL:-tcg,thread=multi}" -cpu "${TIERD_CPU:-qemu64,-svm,+rdrand}"
		"${words[@]}"
		-kernel "$bzimage" -append "$append"
		-drive "file=$root_disk,format=raw,if=none,id=root,snapshot=on,cache=unsafe"
		-device virtio-blk-pci,drive=root
		-drive "file=$tar,format=raw,if=none,id=in,readonly=on,cache=unsafe"
		-device virtio-blk-pci,drive=in
	)
	[[ -z $initrd ]] || qemu_args+=(-initrd "$initrd")
	[[ -z $modules_disk ]] || qemu_args+=(
		-drive "file=$modules_disk,format=raw,if=none,id=modules,readonly=on,cache=unsafe"
		-device virtio-blk-pci,drive=modules
	)
}

# vm_defaults: parameters that both programs take, from arguments or environment.
vm_defaults() {
	TOPOLOGY=${TOPOLOGY:-2node}
	KERNEL=${KERNEL:-stock}
	TIERD_TREE=${TIERD_TREE:-$BUILD/tree}
	[[ $TIERD_TREE == none ]] || TIERD_TREE=$(absolute "$TIERD_TREE")
	[[ ! -e $KERNEL ]] || KERNEL=$(absolute "$KERNEL")
	"$vm_top/tests/setup/ensure-packages" vm
}
