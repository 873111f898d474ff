/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_SIMPLE_H
#define CTL_SIMPLE_H

/* What the verbs have in common that only tell the daemon something. */

#include <stdint.h>

#include "ctl/ctl.h"

/* Silent on success, as scripts and systemctl expect, but for --json. */
enum ctl_exit simple_done(const struct ctl_options *options, const char *verb, const char *id_key,
			  uint64_t id);

#endif
