# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Shared by the scripts beside it: the cache, arguments and how artefacts get into the cache.
# Sourced, never run; the sourcing script has set -euo pipefail.

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm_top=$(cd "$vm_dir/../.." && pwd)
. "$vm_top/tests/setup/common.sh"

BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$vm_top/$BUILD
TIERD_CACHE=${TIERD_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/tierd}
[[ $TIERD_CACHE == /* ]] || TIERD_CACHE=$PWD/$TIERD_CACHE
export BUILD TIERD_CACHE

# take_arguments "NAMES" ARG...: NAME=VALUE arguments override the environment, as in make.
take_arguments() {
	local known=" $1 " arg
	shift
	for arg; do
		[[ $arg == *=* && $known == *" ${arg%%=*} "* ]] ||
			die "unknown argument '$arg'; known:$known"
		export "${arg?}"
	done
}

# absolute PATH: without following links, so that names in messages stay the caller's.
absolute() {
	[[ $1 == /* ]] && printf '%s\n' "$1" || printf '%s/%s\n' "$PWD" "$1"
}

hash_of() { sha256sum | cut -c1-16; }

# has_artefact CLASS KEY: published artefacts are complete by construction.
has_artefact() { [[ -d $TIERD_CACHE/$1/$2 ]]; }

# remove_scratch DIR...: what an interrupted mmdebstrap leaves without root belongs to subordinate users.
remove_scratch() {
	local dir
	for dir; do
		[[ -e $dir ]] || continue
		rm -rf --one-file-system "$dir" 2> /dev/null ||
			unshare --map-root-user --map-auto rm -rf --one-file-system "$dir" 2> /dev/null ||
			say "cannot remove $dir, left by an interrupted build"
	done
}

# publish_artefact CLASS KEY BUILDER ARG...: run BUILDER ARG... TMPDIR and publish what it left there as
# CLASS/KEY by a rename. An interrupted builder leaves only a .tmp directory, which nobody trusts and which
# the next builder removes. One builder per class at a time; the second one finds the work done.
# Never call this in a condition.
publish_artefact() {
	local class=$1 key=$2 dir=$TIERD_CACHE/$1 tmp lock status
	shift 2
	mkdir -p "$dir"
	exec {lock}> "$dir/.lock"
	flock -n "$lock" || { say "waiting for another $class builder"; flock "$lock"; }
	if ! has_artefact "$class" "$key"; then
		remove_scratch "$dir"/.tmp.*
		tmp=$(mktemp -d "$dir/.tmp.XXXXXX")
		chmod 755 "$tmp"
		# Not in a condition: bash would ignore -e in the builder and publish what it left.
		set +e
		(set -e; "$@" "$tmp") {lock}>&-
		status=$?
		set -e
		((status == 0)) || { remove_scratch "$tmp"; die "could not build $class/$key"; }
		sync -f "$tmp"
		mv -T "$tmp" "$dir/$key"
	fi
	exec {lock}>&-
}

# keep_newest CLASS N PREFIX: old artefacts go, by time of publication.
keep_newest() {
	local class=$1 keep=$2 prefix=$3 old
	find "$TIERD_CACHE/$class" -mindepth 1 -maxdepth 1 -type d -name "$prefix*" -printf '%T@ %p\n' |
		sort -rn | tail -n +$((keep + 1)) | cut -d' ' -f2- |
		while read -r old; do rm -rf --one-file-system "$old"; done
}
