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

/* What the kernel does for a thread that ends while it unlocks a robust mutex: it looks at the
 * word, and if that names the thread, wakes a waiter.  No word has a small number as a value by
 * chance that threads have, too. */
struct robust_head { void *next; long offset; char *pending; };
#define LEAST_TID 16
#define TCB_SIZE  4096u     /* libc's is in there, and will be there at the end; a program's own might not */

bool os_futex_wake_at_end(void *word, uint32_t from)
{
    struct robust_head *head = NULL;
    size_t size = 0;
    int32_t tid = os_gettid();
    if (tid < LEAST_TID || usf_syscall(__NR_get_robust_list, 0, &head, &size) < 0 || size != sizeof *head
        || (uintptr_t)head - (uintptr_t)__builtin_thread_pointer() >= TCB_SIZE || head->pending)
        return false;
    head->pending = (char *)word - head->offset;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);    /* ended in between, it wakes no thread: as if it had been before its wake-up */
    if (__atomic_compare_exchange_n((uint32_t *)word, &from, OS_FUTEX_AT_END | (uint32_t)tid, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return true;
    head->pending = NULL;
    return false;
}

void os_sched_yield(void) { usf_syscall(__NR_sched_yield); }

void os_sleep(uint64_t ns)
{
    struct __kernel_timespec ts = {.tv_sec = (long long)(ns / 1000000000u), .tv_nsec = (long long)(ns % 1000000000u)};
    usf_syscall(__NR_nanosleep, &ts, NULL);
}
