# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the scripts of this directory share: names of kernels, and what each is made of.
# Sourced, never run; the sourcing script has set -euo pipefail.
#
# A kernel's NAME is BASE[-vanilla|-tierd][-check]: a base (a directory here with a file BASE), without
# (vanilla, the default) or with our series, and with the configuration `base` or `check`.

kernel_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$kernel_dir/../tests/vm/lib.sh"

# kernel_parse NAME: sets $base, $series (yes, no), $fragments (configuration fragments, in order) and
# $kernel_name, BASE-SERIES-CONFIG with nothing left to defaults. Fails silently when there is no such kernel.
kernel_parse() {
	local rest=$1
	series=no fragments=(base)
	[[ $rest != *-check ]] || { rest=${rest%-check}; fragments+=(check); }
	case $rest in
	*-tierd) rest=${rest%-tierd} series=yes ;;
	*-vanilla) rest=${rest%-vanilla} ;;
	esac
	base=$rest
	[[ $base =~ ^[0-9.]+$ && -f $kernel_dir/$base/BASE ]] || return 1
	kernel_name=$base
	if [[ $series == yes ]]; then kernel_name+=-tierd; else kernel_name+=-vanilla; fi
	kernel_name+=-${fragments[-1]}
}

kernel_names() {
	local file base
	for file in "$kernel_dir"/*/BASE; do
		base=$(basename "$(dirname "$file")")
		printf '%s\n' "$base" "$base-vanilla" "$base-tierd" "$base-vanilla-check" "$base-tierd-check"
	done
}

# made_for BASE: the package and its version.
made_for() {
	sed -n 's/^\(package\|version\)=//p' "$kernel_dir/$1/BASE" | paste -sd' '
}

# series_patches BASE: the patches in their order, one path a line.
series_patches() {
	local line
	while read -r line; do
		[[ -z $line || $line == '#'* ]] || printf '%s\n' "$kernel_dir/$1/$line"
	done < "$kernel_dir/$1/series"
}

# patched_files PATCH...: the files that the patches touch, relative to the tree.
patched_files() {
	sed -n 's,^\(---\|+++\) [ab]/\([^\t]*\).*,\2,p' "$@" < /dev/null | LC_ALL=C sort -u
}

# apply_patch TREE PATCH: --fuzz=0, as a hunk that fits elsewhere too is worse than one that does not fit.
apply_patch() {
	patch -s -p1 -N --fuzz=0 --no-backup-if-mismatch -r - -d "$1" -i "$2" >&2
}

# make_kernel TREE BUILD ARG...: what is built does not depend on who builds it, where and when.
make_kernel() {
	local tree=$1 out=$2
	shift 2
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BASE -u V -u KERNEL \
		nice -n 5 make -s -C "$tree" O="$out" -j"${KERNEL_JOBS:-$(nproc)}" LOCALVERSION= \
		KBUILD_BUILD_USER=tierd KBUILD_BUILD_HOST=tierd KBUILD_BUILD_VERSION=1 \
		KBUILD_BUILD_TIMESTAMP=@1 "$@"
}

# configure TREE BUILD FRAGMENT...: tinyconfig and the fragments over it. An option that this base does not
# have, or that something else switches, is a mistake in the fragment: a test would miss it much later.
configure() {
	local tree=$1 out=$2 files=() name line option wrong=()
	shift 2
	for name; do files+=("$kernel_dir/config/$name.config"); done
	mkdir -p "$out"
	make_kernel "$tree" "$out" tinyconfig > /dev/null
	(cd "$out" && "$tree/scripts/kconfig/merge_config.sh" -m -O . .config "${files[@]}" > /dev/null)
	make_kernel "$tree" "$out" olddefconfig > /dev/null
	while read -r line; do
		option=${line%%=*}
		if [[ $line == *=n ]]; then
			! grep -q "^$option=" "$out/.config" || wrong+=("$line")
		else
			grep -qxF "$line" "$out/.config" || wrong+=("$line")
		fi
	done < <(cat "${files[@]}" | awk -F= '/^CONFIG_/ { last[$1] = $0 } END { for (o in last) print last[o] }')
	((${#wrong[@]} == 0)) || die "this base does not take from config/: ${wrong[*]}"
}
