/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONFIG_INI_H
#define CONFIG_INI_H

/*
 * The form of a configuration file: lines to sections, keys and values. Splitting is libinih's
 * work; refusing whatever libinih would cut, join or skip in silence is ours.
 */

#include <stddef.h>

/*
 * Longest line, without its end. libinih as commonly packaged reads into 200 bytes, of which three
 * are for the line's end; a round figure below that.
 */
#define INI_LINE_BYTES_MAX 190
/* Longest section name: libinih keeps 49 characters and drops the rest. */
#define INI_SECTION_BYTES_MAX 49

struct ini_events {
	/* A section header. */
	void (*section)(void *userdata, unsigned int line, const char *section);
	/* KEY=VALUE without the blanks around both; @section is "" before the first header. */
	void (*assign)(void *userdata, unsigned int line, const char *section, const char *key,
		       const char *value);
	/* A line that cannot be accepted; reading goes on behind it. */
	void (*fault)(void *userdata, unsigned int line, const char *message);
};

/* Reads @text to its end, whatever is in it. 0, or -ENOMEM. */
int ini_read(const char *text, size_t n, const struct ini_events *events, void *userdata);

#endif
