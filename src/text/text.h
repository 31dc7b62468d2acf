/* src/text/text.h - strings that tools print.  SPDX-License-Identifier: Apache-2.0
 *
 * For tools: uses libc. */
#ifndef USF_TEXT_TEXT_H
#define USF_TEXT_TEXT_H

#include <stddef.h>

/* Length of the UTF-8 sequence at s, or 0: there is none. */
unsigned utf8_length(const unsigned char *s);
/* Bytes from elsewhere (thread names, paths of others), safe to print: control characters, and what
 * is no UTF-8, become '?'. */
const char *text_clean(const char *s, char *buf, size_t cap);
/* When out of memory it says so and exits, with TEXT_NO_MEMORY. */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define TEXT_NO_MEMORY 125      /* as `usf run` and other tools that execute programs end for reasons of their own */

#endif
