/* src/context/guard.c - see guard.h.  SPDX-License-Identifier: Apache-2.0
 *
 * The compiler's own means (-fexceptions) would need libgcc_s, which this library must not.  An
 * unwinder that passes through guard_run calls the personality routine that its unwinding table
 * names.  Ours cleans up at once, and lets the unwinder go on: it needs no landing pad and no
 * function of the unwinder's. */
#include "context/guard.h"

#include <stdint.h>

/* Of the Itanium C++ ABI, level I. */
#define UA_CLEANUP_PHASE 2
#define URC_CONTINUE_UNWIND 8

struct guard { struct guard *outer; void (*cleanup)(void *); void *arg; };

static __thread struct guard *innermost;

void guard_run(void (*body)(void *), void *arg);      /* of the architecture (src/arch) */

static void leave(void)
{
    struct guard *g = innermost;
    innermost = g->outer;
    g->cleanup(g->arg);
}

/* Frames are unwound from the innermost on: this one is the innermost guard's. */
int guard_unwinds(int version, int actions, uint64_t class, void *exception, void *context) __attribute__((visibility("hidden")));
int guard_unwinds(int version, int actions, uint64_t class, void *exception, void *context)
{
    (void)version, (void)class, (void)exception, (void)context;
    if (actions & UA_CLEANUP_PHASE) leave();
    return URC_CONTINUE_UNWIND;
}

void guard_call(void (*body)(void *), void (*cleanup)(void *), void *arg)
{
    struct guard g = {innermost, cleanup, arg};
    innermost = &g;
    guard_run(body, arg);
    leave();
}
