# SPDX-License-Identifier: GPL-2.0-or-later

.PHONY: demo
demo: $(VM_TREE) $(VM_PROGRAMS) packages-vm
	@$(call vm,demo/run)
