#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# about: the tracker against the kernel's DAMON: hot against cold, changing sets, clean-up after SIGKILL
# topology: 2node
# timeout: 150
# print: yes
. "$(dirname "$0")/lib.sh"

test-tracker-real > tracker.log 2>&1 || { cat tracker.log; die "test-tracker-real failed"; }
grep -v '^\[' tracker.log || true
if grep -q '^\[  SKIPPED' tracker.log; then die "skipped where DAMON is free"; fi
ok "$(grep -c '^\[       OK' tracker.log) tests"
