# SPDX-License-Identifier: GPL-2.0-only
# Kernels of our own; included by the Makefile. The scripts read BASE, SERIES, CONFIG, KERNEL_SRC and
# KERNEL_JOBS from the environment, where make puts what was given to it.

.PHONY: kernel print-kernel check-kernel check-kernel-vm bench-kernel

# make kernel BASE=7.3 SERIES=yes CONFIG=check; or KERNEL=NAME, with a name as the VM targets take it.
kernel:
	@kernel/build $(filter-out stock,$(KERNEL))

# The path of the image, built when need be: `make -s print-kernel KERNEL=7.3-tierd`.
print-kernel:
	@image=$$(tests/vm/kernel $(KERNEL)) && printf '%s\n' "$$image" | head -n 1

# The series: applies, builds at each step, checkpatch. Then its tests, on a kernel that checks itself.
check-kernel:
	@kernel/check $(BASE)

check-kernel-vm: packages-vm
	@kernel/check-vm $(KERNEL)

bench-kernel: packages-vm
	@kernel/measure $(KERNEL)
