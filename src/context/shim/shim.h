/* src/context/shim/shim.h - the shim's parts.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_SHIM_SHIM_H
#define USF_CONTEXT_SHIM_SHIM_H

#include "context/shim/table.h"

#define SHIM __attribute__((visibility("default")))
#define CALL(name, ...) usf_shim_calls->name(usf_shim_context, __VA_ARGS__)

/* Set once by libusf-context, before any code of the context's libraries runs. */
extern SHIM struct usf_context *usf_shim_context;
extern SHIM const struct shim_calls *usf_shim_calls;
/* The context's environment; libraries may set it, as they may libc's. */
extern SHIM char **environ;

/* Most paths are not those of the machine's files: a look at two letters tells, and libc is called
 * at once.  libc's headers tell the compiler that paths are not null, and libc answers EFAULT if
 * one is: so the compiler must not know here where the path comes from. */
static inline int may_be_special(const char *path)
{
    __asm__("" : "+r"(path));
    return path && path[0] == '/' && (path[1] == 'p' || path[1] == 's');
}

#endif
