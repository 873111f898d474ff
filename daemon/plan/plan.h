/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

/*
 * Pure: wishes in, batches out. Cuts to budgets and room, puts the demotions that make room before
 * the promotions that need it, merges neighbours, one target node per batch.
 */

#include "model/history.h"
#include "model/plan.h"
#include "model/snapshot.h"
#include "model/target.h"

int plan_make(const struct snapshot *s, const struct targets *t, struct history *h,
	      struct plan **ret);

/*
 * An administrator's rebalance: everything of one group that is resident and not on tier @rank goes
 * there (rank 0 = fastest), as far as room and headroom allow; ignores heat, FastMax and the byte
 * budgets, honours pins, policies of mappings and folio rules as every move does. With
 * @rank < 0: what decide would want if budgets were unlimited (hot up, cold down).
 * Who asks by hand has looked: Mode=observe and pauses do not hold it back. Whoever carries the
 * plan out marks it with history_mark_flights(), so that no tick plans the same at the same time.
 * -ENOENT when the snapshot has no such group, -EINVAL when the machine has no tier @rank.
 */
int plan_rebalance(const struct snapshot *s, const struct targets *t, uint64_t cgroup_id, int rank,
		   struct plan **ret);

#endif
