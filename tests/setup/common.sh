# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the set-up and the VM scripts share: messages, the package list and the check of free disk.
# Sourced, never run; the sourcing script has set -euo pipefail.

setup_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$*"; exit 1; }

# packages_with_tag TAG...: the names that carry one of the tags, in the order of the file.
packages_with_tag() {
	local name tags want
	while read -r name tags _; do
		[[ -n $name && $name != '#'* ]] || continue
		for want; do
			[[ ,$tags, == *",$want,"* ]] && printf '%s\n' "$name" && break
		done
	done < "$setup_dir/packages"
}

# need_disk DIR: a full disk in the middle of a download gives obscure errors, so refuse early.
# TIERD_MIN_FREE_MB and TIERD_DF (a command that prints like `df -Pk DIR`) are for tests.
need_disk() {
	local dir=$1 want=${TIERD_MIN_FREE_MB:-3072} free
	while [[ ! -d $dir ]]; do dir=$(dirname "$dir"); done
	free=$(${TIERD_DF:-df -Pk} "$dir" | awk 'NR == 2 { print int($4 / 1024) }')
	[[ -n $free ]] || die "cannot tell how much disk is free at $dir"
	((free >= want)) ||
		die "only $free MiB are free at $dir, $want MiB are needed; nothing was downloaded"
}
