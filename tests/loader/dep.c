/* tests/loader/dep.c - what state.c needs; its symbols have a version.  SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/state.h"

static int count, constructed;
__attribute__((constructor)) static void construct(void) { constructed = 1; }
int dep_count(void) { return ++count; }
int dep_constructed(void) { return constructed; }
