/* tests/loader/hooked.c - a library that needs hook.c and dep.c.  SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/state.h"

static int constructed;

__attribute__((constructor)) static void construct(void) { constructed++; }

int hooked_count(void) { return constructed * 100 + hook_count(); }
int hooked_count_dep(void) { return dep_count(); }
