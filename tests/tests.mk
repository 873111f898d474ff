# SPDX-License-Identifier: GPL-2.0-or-later
#
# Host-side tests: no root, no NUMA. Every test program prints cmocka's own summary; tests/run-unit
# adds them up.

.PHONY: check check-unit check-pure
check-unit: all $(TEST_BIN) check-pure
	@tests/run-unit $(BUILD) $(TEST_BIN)

# decide/, plan/ and model/ are pure: no system call, no clock, no logging, no floating point.
check-pure: $(PURE_OBJ)
	@tests/check-pure $(PURE_OBJ)

check:
	@tests/run-all
