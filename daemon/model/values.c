// SPDX-License-Identifier: GPL-2.0-or-later
/* Stable names of the model's enums, for JSON, metrics and people; release of its plain values. */
#include "model/history.h"
#include "model/target.h"
#include "util.h"

const char *policy_mode_name(enum policy_mode mode)
{
	switch (mode) {
	case MODE_AUTO:
		return "auto";
	case MODE_OBSERVE:
		return "observe";
	case MODE_PIN_FAST:
		return "pin-fast";
	case MODE_PIN_SLOW:
		return "pin-slow";
	case MODE_OFF:
		return "off";
	}
	return "unknown";
}

const char *reason_name(enum reason r)
{
	static const char *const names[REASONS] = {
		[REASON_HOT] = "hot",
		[REASON_COLD] = "cold",
		[REASON_OVER_MAX] = "over-max",
		[REASON_PIN_FAST] = "pin-fast",
		[REASON_PIN_SLOW] = "pin-slow",
		[REASON_MANUAL] = "manual",
	};

	return r < REASONS ? names[r] : "unknown";
}

const char *held_back_name(enum held_back h)
{
	static const char *const names[HELD_BACKS] = {
		[HELD_BUDGET] = "budget",
		[HELD_NO_ROOM] = "no-room",
		[HELD_FAST_MAX] = "fast-max",
		[HELD_COOL_DOWN] = "cool-down",
		[HELD_OBSERVE] = "observe",
		[HELD_BACKLOG] = "backlog",
		[HELD_EXCLUDED] = "excluded",
		[HELD_PINNED] = "pinned",
	};

	return h < HELD_BACKS ? names[h] : "unknown";
}

struct targets *targets_free(struct targets *t)
{
	if (!t)
		return NULL;
	free(t->groups);
	free(t->promotions);
	free(t->demotions);
	free(t);
	return NULL;
}

struct plan *plan_free(struct plan *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < p->n_batches; i++)
		free(p->batches[i].ranges);
	free(p->batches);
	free(p);
	return NULL;
}

struct outcomes *outcomes_free(struct outcomes *o)
{
	if (!o)
		return NULL;
	for (size_t i = 0; i < o->n_outcomes; i++)
		free(o->outcomes[i].batch.ranges);
	free(o->outcomes);
	free(o);
	return NULL;
}
