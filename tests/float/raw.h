/* tests/float/raw.h - system calls that usf does not see.  SPDX-License-Identifier: Apache-2.0
 *
 * usf intercepts the system calls of files that are loaded.  Those of code that a program writes into memory go to the kernel as they
 * are: they tell about the kernel thread that executes the calling thread, be it the thread's own or another's. */
#ifndef FLOAT_RAW_H
#define FLOAT_RAW_H

#include <cpuid.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"

typedef long raw_call(long nr, long a, long b, long c, long d, long e, long f);
static raw_call *raw_code;

__attribute__((constructor)) static void raw_begin(void)
{
    static const unsigned char code[] = {
        0x48, 0x89, 0xf8,               /* mov rax, rdi */
        0x48, 0x89, 0xf7,               /* mov rdi, rsi */
        0x48, 0x89, 0xd6,               /* mov rsi, rdx */
        0x48, 0x89, 0xca,               /* mov rdx, rcx */
        0x4d, 0x89, 0xc2,               /* mov r10, r8 */
        0x4d, 0x89, 0xc8,               /* mov r8, r9 */
        0x4c, 0x8b, 0x4c, 0x24, 0x08,   /* mov r9, [rsp + 8] */
        0x0f, 0x05,                     /* syscall */
        0xc3,                           /* ret */
    };
    void *p = mmap(0, sizeof code, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    memcpy(p, code, sizeof code);
    CHECK(!mprotect(p, sizeof code, PROT_READ | PROT_EXEC));
    raw_code = (raw_call *)p;
}

/* As the kernel returns it: -errno on error. */
static inline long raw(long nr, long a, long b, long c) { return raw_code(nr, a, b, c, 0, 0, 0); }

/* The id of the kernel thread that executes the calling thread.  The thread's own id is what gettid returns. */
static inline pid_t carrier_tid(void) { return (pid_t)raw(SYS_gettid, 0, 0, 0); }
static inline bool is_away(void) { return carrier_tid() != (pid_t)syscall(SYS_gettid); }

/* The test runs under usf (FLOATS is in its environment), on a machine where threads float: a thread that waits often enough is away
 * from its own kernel thread sooner or later. */
static inline bool floats(void)
{
    unsigned a, b, c, d;
    return getenv("FLOATS") && getauxval(AT_HWCAP2) & 2 /* FSGSBASE */ && __get_cpuid(1, &a, &b, &c, &d) && c & bit_AVX
           && __get_cpuid_count(13, 1, &a, &b, &c, &d) && a & 4 /* XINUSE */;
}

#endif
