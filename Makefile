# SPDX-License-Identifier: GPL-2.0-or-later
#
# make                 tierd, tierctl, libtier.so and libtier.a, below build/
# make demo            a tiered machine in a VM, with tierd at work on it
# make check           every test; sets up what it needs
# make check-unit      tests on the host: no root, no NUMA
# make check-vm        tests in VMs; TEST=name for one of them
# make vm-shell        a root shell in a VM with tierd installed
# make vm-run          SCRIPT=FILE in such a VM, with its exit status
# make kernel          a kernel of our own, vanilla or patched; see kernel/README.md
# make install         DESTDIR= PREFIX=
# make help            this
#
# Variables: DESTDIR=, PREFIX= (install); SAN=address,undefined (sanitizers); V=1 (print commands);
# KERNEL=, TOPOLOGY=, TEST=, SCRIPT=, FILES= (VM targets); TIERD_CACHE= (downloads and images).

VERSION := 0.1.0

PREFIX ?= /usr/local
DESTDIR ?=
BUILD_ROOT := build
SAN ?=
# Sanitized objects live apart, so that the two kinds never mix.
BUILD := $(BUILD_ROOT)$(if $(SAN),/san)

comma := ,
CC ?= gcc
CFLAGS ?= -O2 -g
PKGS := libsystemd hwloc libcgroup inih json-c smartcols numa
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla \
	-Wformat=2 -Wimplicit-fallthrough -Wwrite-strings -Wno-unused-parameter \
	-Wno-missing-field-initializers
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -DTIERD_VERSION='"$(VERSION)"' -Ilib -Idaemon $(WARN) \
	-Werror -fPIC -fvisibility=hidden -pthread -MMD -MP $(SANFLAGS) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread -Wl,--as-needed $(SANFLAGS) $(LDFLAGS)

LIB_SRC := $(wildcard lib/*.c lib/linux/*.c lib/sim/*.c)
CTL_SRC := $(wildcard daemon/ctl/*.c)
# All of the daemon but its main(): linked by tierd, by tierctl (config/ only) and by the tests.
CORE_SRC := $(filter-out daemon/tierd.c daemon/ctl/%,$(wildcard daemon/*.c daemon/*/*.c))
TEST_SRC := $(wildcard tests/unit/test-*.c tests/golden/test-*.c tests/sim/test-*.c tests/bus/test-*.c)
PURE_SRC := $(wildcard daemon/decide/*.c daemon/plan/*.c daemon/model/*.c)

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB_OBJ := $(call obj,$(LIB_SRC))
CORE_OBJ := $(call obj,$(CORE_SRC))
CTL_OBJ := $(call obj,$(CTL_SRC))
TEST_BIN := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SRC))
TEST_OBJ := $(call obj,$(TEST_SRC))
PURE_OBJ := $(call obj,$(PURE_SRC))

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
ifneq ($(V),1)
Q := @
say = @printf '  %-6s %s\n' '$(1)' '$(2)';
endif

.PHONY: all
all: $(BUILD)/tierd $(BUILD)/tierctl $(BUILD)/libtier.so.1 $(BUILD)/libtier.a

# Packages come before anything that asks pkg-config.
.PHONY: packages-build
packages-build:
	@tests/setup/ensure-packages build

# Evaluated by the recipes, after the packages are there.
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
PKG_LIBS = $(shell pkg-config --libs $(PKGS))

$(BUILD)/obj/%.o: %.c Makefile | packages-build
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/libtier.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(LIB_OBJ)

$(BUILD)/libtier.so.1: $(LIB_OBJ) lib/libtier.sym
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libtier.so.1 -Wl,--version-script=lib/libtier.sym \
		$(ALL_LDFLAGS) -o $@ $(LIB_OBJ) $(PKG_LIBS)
	$(Q)ln -sf libtier.so.1 $(BUILD)/libtier.so

$(BUILD)/libcore.a: $(CORE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(CORE_OBJ)

$(BUILD)/tierd: $(call obj,daemon/tierd.c) $(BUILD)/libcore.a $(BUILD)/libtier.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/tierctl: $(CTL_OBJ) $(BUILD)/libcore.a $(BUILD)/libtier.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(BUILD)/libcore.a $(BUILD)/libtier.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) -lcmocka

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CORE_OBJ) $(CTL_OBJ) $(TEST_OBJ) $(call obj,daemon/tierd.c))

include tests/tests.mk
include tests/vm/programs/programs.mk
include tests/vm/vm.mk
include tests/vm/demo/demo.mk
include kernel/kernel.mk
include conf/install.mk

.PHONY: help
help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile

.PHONY: clean
clean:
	rm -rf $(BUILD_ROOT)
