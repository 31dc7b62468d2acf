/* src/os/syscall.h - system calls without libc.  SPDX-License-Identifier: Apache-2.0
 * Result as the kernel's: -errno on error.  Never goes through the gate, never sets errno. */
#ifndef USF_OS_SYSCALL_H
#define USF_OS_SYSCALL_H

#include <asm/unistd.h>

static inline __attribute__((always_inline)) long
usf_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
#define USF_SC_X(nr, a, b, c, d, e, f, ...) \
    usf_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* usf_syscall(nr, up to six arguments) */
#define usf_syscall(...) USF_SC_X(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#endif
