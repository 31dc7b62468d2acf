/* src/os/futex.c - waiting.  SPDX-License-Identifier: Apache-2.0
 *
 * The words lie in memory that several processes map: never FUTEX_PRIVATE_FLAG. */
#include "os/os.h"
#include "os/syscall.h"
#include <linux/futex.h>
#include <linux/time_types.h>

int os_futex_wait(const void *word, uint32_t val, uint64_t deadline)
{
    struct __kernel_timespec ts, *until = NULL;
    if (deadline) {
        ts.tv_sec = (long long)(deadline / 1000000000u);
        ts.tv_nsec = (long long)(deadline % 1000000000u);
        until = &ts;
    }
    /* the bitset form, because its timeout is absolute */
    return (int)usf_syscall(__NR_futex, word, FUTEX_WAIT_BITSET, val, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

int os_futex_wake(const void *word, int n) { return (int)usf_syscall(__NR_futex, word, FUTEX_WAKE, n); }

void os_sched_yield(void) { usf_syscall(__NR_sched_yield); }

void os_sleep(uint64_t ns)
{
    struct __kernel_timespec ts = {.tv_sec = (long long)(ns / 1000000000u), .tv_nsec = (long long)(ns % 1000000000u)};
    usf_syscall(__NR_nanosleep, &ts, NULL);
}
