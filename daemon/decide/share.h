/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DECIDE_SHARE_H
#define DECIDE_SHARE_H

/*
 * How much of the fast tier there is, how much of it each group holds and may hold.
 */

#include "model/history.h"
#include "model/snapshot.h"
#include "model/target.h"

/*
 * Fills fast_bytes and fast_max_bytes of every group. The kernel's counters lag, what was seen of
 * the processes may count shared memory twice: the greater of the two, so that nothing is promoted
 * beyond a limit.
 */
void share_measure(const struct snapshot *s, struct targets *t);
/*
 * What the group holds beyond FastMax and what is not on its way down already, by the kernel's
 * counters. 0 as long as these may still count what has just gone down.
 */
uint64_t share_excess_bytes(const struct snapshot *s, struct history *h, const struct targets *t,
			    size_t group);
/*
 * Memory that is all used alike gains nothing from having a part of it moved: a uniform group's
 * promotions are wanted only when all of them fit. Sets ret_drop[group] for those that don't.
 */
void share_drop_uniform(const struct snapshot *s, const struct targets *t, bool *ret_drop);

#endif
