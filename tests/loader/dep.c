/* tests/loader/dep.c - what state.c needs; its symbols have a version.  SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/state.h"

static int count, constructed;
__attribute__((constructor)) static void construct(void) { constructed = 1; }
int dep_count(void) { return ++count; }
int dep_constructed(void) { return constructed; }

/* Takes time in proportion to n, which it returns. */
int dep_spin(int n)
{
    volatile int i = 0;
    while (i < n) i = i + 1;
    return i;
}
