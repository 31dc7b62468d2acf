/* src/threads/real.c - look up what we interpose.  SPDX-License-Identifier: Apache-2.0 */
#include "threads/real.h"

#include <dlfcn.h>

struct real real;
void *threads_real_syscall;                  /* for syscall.S: real.syscall */

void real_init(void)
{
    /* Two threads may do this at once; both store the same values. */
#define X(f) real.f = (__typeof__(&f))dlsym(RTLD_NEXT, #f);
    REAL_FUNCTIONS(X)
#undef X
    threads_real_syscall = (void *)real.syscall;
}
