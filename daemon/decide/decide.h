/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DECIDE_DECIDE_H
#define DECIDE_DECIDE_H

/*
 * Pure: the snapshot and the history in, wishes out. Merges the snapshot's samples into the history
 * first (heat), then tells hot from cold per group and asks for what is in the wrong place.
 */

#include "model/history.h"
#include "model/snapshot.h"
#include "model/target.h"

int decide(const struct snapshot *s, struct history *h, struct targets **ret);

#endif
