/* src/os/syscall.h - system calls without libc.  SPDX-License-Identifier: Apache-2.0
 * Result as the kernel's: -errno on error.  Never goes through the gate, never sets errno. */
#ifndef USF_OS_SYSCALL_H
#define USF_OS_SYSCALL_H

#include <asm/unistd.h>

#include "arch/arch.h"

static inline __attribute__((always_inline)) long usf_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{ return arch_syscall(nr, a, b, c, d, e, f); }
#define USF_SC_X(nr, a, b, c, d, e, f, ...) \
    usf_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* usf_syscall(nr, up to six arguments) */
#define usf_syscall(...) USF_SC_X(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#endif
