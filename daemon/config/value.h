/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

/*
 * The values of configuration files: text to numbers and back. Pure; knows no key, no file and no
 * limit but that of the type. Parsers take the text without surrounding blanks.
 *
 *   -EINVAL  the text is no such value
 *   -ERANGE  it is one, but beyond what the type holds, or finer than it can tell apart
 *
 * Outputs are untouched on failure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/policy.h"

/* Highest node id that may be written, one below the kernel's largest MAX_NUMNODES. */
#define VALUE_NODE_ID_MAX 1023
/* As many tiers as the library takes nodes (TIER_NODES_MAX, which is not for this header). */
#define VALUE_TIERS_MAX 32
/* Room for every text that value_format_* makes, with its NUL. */
#define VALUE_TEXT_MAX 96

/* "64", "512B", "8K", "8M", "8MB", "8MiB", …: K, M, G, T to the base of 1024. */
int value_parse_size(const char *s, size_t n, uint64_t *ret_bytes);
/* "4%", "12.5%", "0.25%", at most 100%, in steps of 0.01%. */
int value_parse_share(const char *s, size_t n, uint32_t *ret_bp);
/* A size, a share, or "infinity". */
int value_parse_amount(const char *s, size_t n, struct amount *ret);
/* "500us", "20ms", "1s", "2min", "2m", "1h", "1d", sums of them ("1min 30s"), "5" for seconds. */
int value_parse_time(const char *s, size_t n, uint64_t *ret_us);
/* 1, yes, y, true, t, on; 0, no, n, false, f, off; in any case. */
int value_parse_boolean(const char *s, size_t n, bool *ret);
/* auto, observe, pin-fast, pin-slow, off. */
int value_parse_mode(const char *s, size_t n, enum policy_mode *ret);
/* "0,2-3 > 1 > 4": node ids, fastest first, no id twice; "" for the machine's own order. */
int value_check_tier_order(const char *s, size_t n);

void value_format_size(uint64_t bytes, char *ret, size_t n);
void value_format_share(uint64_t bp, char *ret, size_t n);
void value_format_amount(struct amount amount, char *ret, size_t n);
void value_format_time(uint64_t us, char *ret, size_t n);

#endif
