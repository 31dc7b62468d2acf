/* tests/loader/caller.c - a library that opens others.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>

#include "tests/loader/state.h"

void *caller_opens(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW);
    return handle;      /* no tail call: dlopen looks at who calls it */
}
