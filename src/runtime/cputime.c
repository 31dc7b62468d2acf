/* src/runtime/cputime.c - CPU time of a thread that floats.  SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's clocks of a thread are those of the kernel thread that executes it.  carrier.c has
 * what the thread has used itself.  libc asks the vDSO, which makes a system call for these clocks:
 * the gate patches that one too (gate_patch_vdso). */
#include <sys/resource.h>
#include <time.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"

/* The kernel's number of a thread's clock: its id and the kind; 2: the time that it has been
 * scheduled, the kind that libc uses. */
#define CLOCK_KIND_MASK 7
#define CLOCK_OF_THREAD 6

uint64_t rt_cpu_time(struct rt_thread *t)
{ return rt_floats(t) ? carrier_cpu_time(&rt.sched, &t->self) : os_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

static int32_t thread_of_clock(int32_t clock)
{ return clock < 0 && (clock & CLOCK_KIND_MASK) == CLOCK_OF_THREAD ? (int32_t)~(uint32_t)(clock >> 3) : -1; }

bool rt_is_own_cpu_clock(int32_t clock)
{
    int32_t tid = thread_of_clock(clock);
    return clock == CLOCK_THREAD_CPUTIME_ID || tid == 0 || tid == rt_self.tid;
}

bool rt_cpu_time_of(int32_t tid, uint64_t *ns)
{
    struct rt_thread *me = &rt_self;
    bool found = false;
    if (tid == me->tid) {
        *ns = rt_cpu_time(me);
        return true;
    }
    rt_list_lock();
    struct rt_thread *t = rt_thread_of(tid);
    if (t && t->self.home && t->self.task != USF_NONE) {
        *ns = carrier_cpu_time_of(&rt.sched, &t->self);
        found = true;
    }
    rt_list_unlock();
    return found;
}

/* The kernel writes its own time first, or says what is wrong with the call. */
long rt_call_clock_gettime(struct gate_frame *f)
{
    int32_t clock = (int32_t)f->arg[0], tid = thread_of_clock(clock);
    struct timespec *t = (void *)f->arg[1];
    uint64_t ns = 0;
    long r = rt_pass(f);
    if (r || !rt_floats(&rt_self)) return r;
    if (rt_is_own_cpu_clock(clock)) ns = rt_cpu_time(&rt_self);
    else if (tid <= 0 || !rt_cpu_time_of(tid, &ns)) return r;
    *t = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    return 0;
}

#define US 1000u
#define S  1000000u

static uint64_t us_of(const struct timeval *t) { return (uint64_t)t->tv_sec * S + (uint64_t)t->tv_usec; }
static void set_us(struct timeval *t, uint64_t us)
{
    t->tv_sec = (long)(us / S);
    t->tv_usec = (long)(us % S);
}

/* The kernel divides the time into that of the program and its own: what the thread has used is
 * divided as its carrier's is. */
long rt_call_getrusage(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    struct rusage *u = (void *)f->arg[1];
    long r = rt_pass(f);
    if (r || (int)f->arg[0] != RUSAGE_THREAD || !rt_floats(t)) return r;
    uint64_t user = us_of(&u->ru_utime), system = us_of(&u->ru_stime), all = rt_cpu_time(t) / US;
    uint64_t share = user + system ? 1000 * system / (user + system) : 0, part = all / 1000 * share + all % 1000 * share / 1000;
    if (part > t->system_us) t->system_us = part;       /* neither goes back */
    if (all > t->user_us + t->system_us) t->user_us = all - t->system_us;
    set_us(&u->ru_utime, t->user_us);
    set_us(&u->ru_stime, t->system_us);
    return 0;
}
