# SPDX-License-Identifier: GPL-2.0-or-later
# Virtual machines; included by the Makefile. The scripts read KERNEL, TOPOLOGY, SCRIPT, FILES, TIMEOUT, TEST,
# CASES, VM_NAME, VM_ENV and the TIERD_* variables from the environment, where make puts what was given to it.
# Needs BUILD, and a rule that makes $(BUILD)/tree/.stamp by `make install DESTDIR=$(BUILD)/tree PREFIX=/usr`.
# VM_PROGRAMS may name test programs in $(BUILD)/vm-bin, which are in the PATH of test cases.

TIERD_TREE ?= $(BUILD)/tree
VM_TREE := $(if $(filter $(BUILD)/tree,$(TIERD_TREE)),$(BUILD)/tree/.stamp)
vm = BUILD=$(BUILD) TIERD_TREE=$(TIERD_TREE) tests/vm/$(1)

.PHONY: packages-vm vm-image vm-run vm-shell check-vm check-vm-harness
packages-vm:
	@tests/setup/ensure-packages vm

# Everything that a first boot would download or build.
vm-image: packages-vm
	@$(call vm,prepare)

# make itself exits 2 when the script fails; call tests/vm/run where its exact status matters.
vm-run: $(VM_TREE) packages-vm
	@$(call vm,run)

vm-shell: $(VM_TREE) packages-vm
	@$(call vm,shell)

check-vm: $(VM_TREE) $(VM_PROGRAMS) packages-vm
	@$(call vm,check)

# The scripts themselves: exit statuses, panics, interrupted builds, full disks.
check-vm-harness: packages-vm
	@$(call vm,selftest)
