/* src/threads/real.c - look up what we interpose.  SPDX-License-Identifier: Apache-2.0 */
#include "threads/real.h"

#include "os/syscall.h"

#include <dlfcn.h>
#include <stdint.h>

struct real real;
void *threads_real_syscall;                  /* for syscall.S: real.syscall */

/* A handler in the middle of this that calls one of these functions would look them up, too, and
 * wait for the dynamic linker's lock, which its own thread holds.  Two threads may do it at once;
 * both store the same values. */
void real_init(void)
{
    const uint64_t all = ~0ull;
    uint64_t mask;
    usf_syscall(__NR_rt_sigprocmask, SIG_BLOCK, &all, &mask, 8);
#define X(f) real.f = (__typeof__(&f))dlsym(RTLD_NEXT, #f);
    REAL_FUNCTIONS(X)
#undef X
    threads_real_syscall = (void *)real.syscall;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}
