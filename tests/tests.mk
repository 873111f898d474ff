# SPDX-License-Identifier: GPL-2.0-or-later
#
# Host-side tests: no root, no NUMA. Every test program prints cmocka's own summary; tests/run-unit
# adds them up.

.PHONY: check-unit
check-unit: all $(TEST_BIN)
	@tests/run-unit $(BUILD) $(TEST_BIN)
