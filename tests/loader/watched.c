/* tests/loader/watched.c - a library that AddressSanitizer watches.  SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tests/loader/state.h"

static int table[4] = {1, 2, 3, 4};

int watched_table(int i) { return table[i]; }
char *watched_copy(const char *text) { return strdup(text); }
int watched_read(const char *at) { return *(const volatile char *)at; }
