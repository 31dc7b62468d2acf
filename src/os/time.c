/* src/os/time.c - the clock.  SPDX-License-Identifier: Apache-2.0
 *
 * CLOCK_MONOTONIC through the vDSO: the kernel's own conversion of the time stamp counter, ~25 ns,
 * with no calibration of ours that could drift from the deadlines that futexes compare.  Where the
 * clock source has no user-space reader the vDSO makes the system call itself.
 *
 * The vDSO is not our code, and the gate does not save vector registers.  The kernel builds it with
 * its own flags (-mno-sse and relatives), and its clock_gettime was disassembled (6.18) and touches
 * general registers only; tests/os checks that on the machine it runs on. */
#include "os/os.h"
#include "os/syscall.h"
#include "vdso.h"
#include <linux/time.h>
#include <linux/time_types.h>

typedef int gettime_fn(int clock, struct __kernel_timespec *ts);

static int gettime_by_syscall(int clock, struct __kernel_timespec *ts)
{
    return (int)usf_syscall(__NR_clock_gettime, clock, ts);
}

static gettime_fn *gettime;      /* null until the first use; every writer stores the same value */

void os_init_time(void)
{
    gettime_fn *fn = (gettime_fn *)vdso_find("__vdso_clock_gettime");
    __atomic_store_n(&gettime, fn ? fn : gettime_by_syscall, __ATOMIC_RELAXED);
}

uint64_t os_clock_ns(int clock)
{
    struct __kernel_timespec ts;
    if (usf_syscall(__NR_clock_gettime, clock, &ts)) return 0;
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The kernel's number of a process's clock: ~pid, and 2 for the time that it has been scheduled; 4
 * more: a thread's. */
uint64_t os_process_cpu_ns(int32_t pid) { return pid > 0 ? os_clock_ns((int32_t)(~(uint32_t)pid << 3 | 2)) : 0; }
uint64_t os_thread_clock_ns(int32_t tid) { return tid > 0 ? os_clock_ns((int32_t)(~(uint32_t)tid << 3 | 6)) : 0; }

uint64_t os_now(void)
{
    struct __kernel_timespec ts;
    gettime_fn *fn = __atomic_load_n(&gettime, __ATOMIC_RELAXED);
    if (!fn) {
        os_init_time();
        fn = __atomic_load_n(&gettime, __ATOMIC_RELAXED);
    }
    fn(CLOCK_MONOTONIC, &ts);    /* cannot fail: the clock exists and ts is ours */
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
