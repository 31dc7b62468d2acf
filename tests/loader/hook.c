/* tests/loader/hook.c - a library whose constructor does what the program says.  SPDX-License-Identifier: Apache-2.0 */
#include "tests/loader/state.h"

static int constructed;

__attribute__((constructor)) static void construct(void)
{
    constructed++;
    hook_constructed();
}

int hook_count(void) { return constructed; }
