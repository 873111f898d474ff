/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MODEL_MOVES_H
#define MODEL_MOVES_H

/* Between history.c and moves.c only. */

#include "model/history.h"

/* Drops what no longer matters of one space's moves. */
void moves_forget(struct heat_space *space, uint32_t now_s);

#endif
