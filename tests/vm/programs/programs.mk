# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs that run inside the VM and know nothing of libtier: what they say about placement and
# contents is evidence of its own.

VM_PROGRAMS := $(BUILD)/vm-bin/place $(BUILD)/vm-bin/workload $(BUILD)/vm-bin/test-tracker-real

.PHONY: vm-programs
vm-programs: $(VM_PROGRAMS)

# Plain gcc: no sanitizers (they would own the address space), no packages.
$(BUILD)/vm-bin/%: tests/vm/programs/%.c tests/vm/programs/common.h
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARN) -Werror -o $@ $<

# The unit tests that need a kernel whose DAMON nobody uses.
$(BUILD)/vm-bin/test-%: $(BUILD)/tests/unit/test-%
	@mkdir -p $(@D)
	$(Q)cp $< $@
