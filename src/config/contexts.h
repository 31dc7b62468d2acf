/* src/config/contexts.h - CPUs of library contexts by name, as a user gives them from outside.  SPDX-License-Identifier: Apache-2.0
 *
 *   NAME=CPUS; NAME=CPUS          small=0-5; large=6-23
 *
 * Blanks around names and lists do not count; a semicolon may follow the last entry.  A name is 1
 * to 63 characters without '=' and ';', and comes once.  CPUS is a list as of `usf run --cpus`,
 * with at least one CPU.  No libc: the tool and libusf-context.so both read it. */
#ifndef USF_CONFIG_CONTEXTS_H
#define USF_CONFIG_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>

#define USF_CONTEXTS_MAX 2048u      /* bytes of the text, with NUL: as long as a string in a profile may be */

/* 0, or -1 with why, starting with the value ("'abc' is ..."), to be put behind the name of its
 * origin. */
int contexts_check(const char *text, char *why, size_t cap);
/* Copies the list of that name; text has passed contexts_check.  False: it has no such name. */
bool contexts_find(const char *text, const char *name, char list[USF_CONTEXTS_MAX]);

#endif
