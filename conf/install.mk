# SPDX-License-Identifier: GPL-2.0-or-later
#
# make install DESTDIR= PREFIX=   puts everything in its place below $(DESTDIR)$(PREFIX), and a first
#                                 tierd.conf into $(DESTDIR)/etc/tierd unless there is one
# make uninstall                  takes it away again; what is in /etc/tierd stays
# $(BUILD)/tree/.stamp            an installed tree with PREFIX=/usr, for the VMs and for packages

INSTALL ?= install
BINDIR = $(PREFIX)/bin
SBINDIR = $(PREFIX)/sbin
LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
DATADIR = $(PREFIX)/share
MANDIR = $(DATADIR)/man
DOCDIR = $(DATADIR)/doc/tierd
UNITDIR = $(LIBDIR)/systemd/system
# The bus reads policies from two places only; the one below /usr belongs to packages.
BUSDIR = $(if $(filter /usr,$(PREFIX)),$(DATADIR),/etc)/dbus-1/system.d
# Configuration is where the daemon looks for it, whatever the prefix.
CONFDIR = /etc/tierd

MAN_PAGES = $(wildcard daemon/ctl/tierctl.1 daemon/tierd.8 daemon/config/*.5)
EXAMPLES = $(wildcard conf/examples/*.conf)

# What an installed tree is made of, as far as it is in the source.
INSTALL_SRC := conf/install.mk conf/org.tierd1.conf conf/org.tierd1.service conf/tierd.catalog \
	conf/tierd.conf systemd/tierd.service systemd/tierd.slice lib/tier.h conf/libtier.pc.in \
	$(MAN_PAGES) $(EXAMPLES)
INSTALL_BIN := $(BUILD)/tierd $(BUILD)/tierctl $(BUILD)/libtier.so.1 $(BUILD)/libtier.a

# Quoted for the shell: a path may have blanks.
D = "$(DESTDIR)"
# substitute SOURCE DESTINATION: @PREFIX@ and @VERSION@, mode 644.
substitute = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g' $(1) > $(2) && chmod 644 $(2)

.PHONY: install uninstall install-bin install-lib install-conf install-doc
install: install-bin install-lib install-conf install-doc

install-bin: all
	$(call say,INST,$(D)$(PREFIX))
	$(Q)$(INSTALL) -d $(D)$(BINDIR) $(D)$(SBINDIR) $(D)$(UNITDIR)
	$(Q)$(INSTALL) -m 755 $(BUILD)/tierctl $(D)$(BINDIR)/tierctl
	$(Q)$(INSTALL) -m 755 $(BUILD)/tierd $(D)$(SBINDIR)/tierd
	$(Q)$(call substitute,systemd/tierd.service,$(D)$(UNITDIR)/tierd.service)
	$(Q)$(INSTALL) -m 644 systemd/tierd.slice $(D)$(UNITDIR)/tierd.slice

install-lib: all
	$(Q)$(INSTALL) -d $(D)$(LIBDIR)/pkgconfig $(D)$(INCLUDEDIR)
	$(Q)$(INSTALL) -m 755 $(BUILD)/libtier.so.1 $(D)$(LIBDIR)/libtier.so.$(VERSION)
	$(Q)ln -sf libtier.so.$(VERSION) $(D)$(LIBDIR)/libtier.so.1
	$(Q)ln -sf libtier.so.1 $(D)$(LIBDIR)/libtier.so
	$(Q)$(INSTALL) -m 644 $(BUILD)/libtier.a $(D)$(LIBDIR)/libtier.a
	$(Q)$(INSTALL) -m 644 lib/tier.h $(D)$(INCLUDEDIR)/tier.h
	$(Q)$(call substitute,conf/libtier.pc.in,$(D)$(LIBDIR)/pkgconfig/libtier.pc)

install-conf:
	$(Q)$(INSTALL) -d $(D)$(BUSDIR) $(D)$(DATADIR)/dbus-1/system-services \
		$(D)$(LIBDIR)/systemd/catalog $(D)$(CONFDIR)/policy.d
	$(Q)$(INSTALL) -m 644 conf/org.tierd1.conf $(D)$(BUSDIR)/org.tierd1.conf
	$(Q)$(INSTALL) -m 644 conf/org.tierd1.service \
		$(D)$(DATADIR)/dbus-1/system-services/org.tierd1.service
	$(Q)$(INSTALL) -m 644 conf/tierd.catalog $(D)$(LIBDIR)/systemd/catalog/tierd.catalog
	$(Q)[ -e $(D)$(CONFDIR)/tierd.conf ] || \
		$(INSTALL) -m 644 conf/tierd.conf $(D)$(CONFDIR)/tierd.conf

install-doc:
	$(Q)$(INSTALL) -d $(D)$(DOCDIR)/examples
	$(Q)$(INSTALL) -m 644 daemon/report/org.tierd1.txt $(D)$(DOCDIR)/org.tierd1.txt
	$(Q)for f in $(EXAMPLES); do \
		$(INSTALL) -m 644 $$f $(D)$(DOCDIR)/examples/ || exit 1; done
	$(Q)for f in $(MAN_PAGES); do \
		$(INSTALL) -D -m 644 $$f $(D)$(MANDIR)/man$${f##*.}/$${f##*/} || exit 1; done

uninstall:
	rm -f $(D)$(BINDIR)/tierctl $(D)$(SBINDIR)/tierd $(D)$(UNITDIR)/tierd.service \
		$(D)$(UNITDIR)/tierd.slice $(D)$(LIBDIR)/libtier.so.$(VERSION) \
		$(D)$(LIBDIR)/libtier.so.1 $(D)$(LIBDIR)/libtier.so $(D)$(LIBDIR)/libtier.a \
		$(D)$(LIBDIR)/pkgconfig/libtier.pc $(D)$(INCLUDEDIR)/tier.h \
		$(D)$(BUSDIR)/org.tierd1.conf \
		$(D)$(DATADIR)/dbus-1/system-services/org.tierd1.service \
		$(D)$(LIBDIR)/systemd/catalog/tierd.catalog
	for f in $(MAN_PAGES); do rm -f $(D)$(MANDIR)/man$${f##*.}/$${f##*/}; done
	rm -rf $(D)$(DOCDIR)

# Made anew each time, so that nothing outlives its removal from the list above. A make of its own:
# DESTDIR and PREFIX of this one may be set for something else.
$(BUILD)/tree/.stamp: $(INSTALL_BIN) $(INSTALL_SRC) daemon/report/org.tierd1.txt
	$(Q)rm -rf $(BUILD)/tree
	$(Q)$(MAKE) --no-print-directory install DESTDIR=$(abspath $(BUILD)/tree) PREFIX=/usr
	$(Q)touch $@
