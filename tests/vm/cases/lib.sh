# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For test cases: `. "$(dirname "$0")/lib.sh"` in the first lines.
#
# A case runs as root in the guest, in a unit of its own, with bash. Exit 0 = passed, 77 = skipped with the
# reason as the last line, anything else = failed; so does a kernel log with a call trace. In its environment:
# GUEST_SPEED (percent, 100 = an idle host), TOPOLOGY, KERNEL, CASE (its name), OUT (a directory that is
# copied to the host). The header says where it runs:
#   # about: one line for people
#   # topology: 2node        a name from topologies/ (default 2node)
#   # kernel: any            any, stock, own (not stock) or >=X.Y (default any)
#   # timeout: 120           seconds on an idle host (default 120)
#   # boot: own              a machine of its own, when the case leaves marks (default shared)
#   # dmesg: any             call traces are expected, such as an OOM kill's
#   # print: yes             what it prints is worth reading also when it passes
# A function `cleanup` in the case, if any, runs at its end. Whatever the case does to tierd, its
# configuration, units named tt-* and the usual kernel settings is undone before the next one.

set -Eeuo pipefail
# To stderr: a command substitution must get what its commands print, and nothing else.
trap 'echo "${BASH_SOURCE[0]##*/}:$LINENO: failed: $BASH_COMMAND" >&2' ERR
trap '[[ $(type -t cleanup) != function ]] || cleanup' EXIT

# ok WORDS: something that was checked.
ok() { printf 'ok: %s\n' "$*"; }

# die WORDS: the case has failed. Names the place in the case, not in this file.
die() {
	local i=1
	trap - ERR
	while ((i + 1 < ${#BASH_SOURCE[@]})) && [[ ${BASH_SOURCE[i]} == "${BASH_SOURCE[0]}" ]]; do
		i=$((i + 1))
	done
	printf 'FAILED: %s (%s:%s)\n' "$*" "${BASH_SOURCE[i]##*/}" "${BASH_LINENO[i - 1]}"
	exit 1
}

# skip REASON
skip() {
	trap - ERR
	printf '%s\n' "$*"
	exit 77
}

# assert COMMAND ARG...: dies unless the command succeeds.
assert() {
	"$@" || die "$*"
}

# assert_eq GOT WANTED WHAT
assert_eq() {
	[[ $1 == "$2" ]] || die "$3: got '$1', wanted '$2'"
}

# assert_match TEXT EXTENDED-REGEX WHAT
assert_match() {
	[[ $1 =~ $2 ]] || die "$3: '$1' does not match '$2'"
}

# scaled SECONDS: how long that is on this guest.
scaled() {
	echo $(($1 * GUEST_SPEED / 100))
}

# wait_until SECONDS COMMAND ARG...: dies when the command has not succeeded after so many (idle-host) seconds.
wait_until() {
	local limit deadline
	limit=$(scaled "$1")
	deadline=$((SECONDS + limit))
	shift
	until "$@"; do
		((SECONDS < deadline)) || die "not within $limit s: $*"
		sleep 0.2
	done
}

# need_tierd: for cases that test tierd itself.
need_tierd() {
	systemctl -q cat tierd.service > /dev/null 2>&1 || skip "tierd is not installed in this guest"
}

# start_service NAME [PROPERTY=VALUE...] -- COMMAND ARG...: start a service tt-NAME.
start_service() {
	local name=$1 properties=()
	shift
	while [[ $1 != -- ]]; do
		properties+=(-p "$1")
		shift
	done
	shift
	systemd-run --quiet --unit="tt-$name" "${properties[@]}" "$@"
}
