/* tests/signals/storm.h - timers at 10 kHz, for the storms.  SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SIGNALS_STORM_H
#define TESTS_SIGNALS_STORM_H

#include "../pthread/stress.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>

#define STORM_NS 100000
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

enum storm_timer { TIMER_PROCESS, TIMER_THREAD, TIMER_INTERVAL, NR_STORM_TIMERS };
static const int storm_signal[NR_STORM_TIMERS] = { SIGUSR1, SIGUSR2, SIGALRM };

static inline timer_t storm_start(enum storm_timer kind)
{
    struct sigevent e;
    struct itimerspec every = { { 0, STORM_NS }, { 0, STORM_NS } };
    struct itimerval it = { { 0, STORM_NS / 1000 }, { 0, STORM_NS / 1000 } };
    timer_t timer = NULL;
    if (kind == TIMER_INTERVAL) {
        CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
        return timer;
    }
    memset(&e, 0, sizeof e);
    e.sigev_notify = kind == TIMER_THREAD ? SIGEV_THREAD_ID : SIGEV_SIGNAL;
    e.sigev_signo = storm_signal[kind];
    if (kind == TIMER_THREAD)
        e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &e, &timer), 0);
    CHECK_EQ(timer_settime(timer, 0, &every, NULL), 0);
    return timer;
}

static inline void storm_end(enum storm_timer kind, timer_t timer)
{
    struct itimerval off;
    memset(&off, 0, sizeof off);
    if (kind == TIMER_INTERVAL)
        CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
    else
        CHECK_EQ(timer_delete(timer), 0);
}

/* The alarm clock belongs to the storm. */
static inline void storm_watchdog(long seconds)
{
    struct sigevent e;
    struct itimerspec in = { { 0, 0 }, { seconds, 0 } };
    timer_t timer;
    memset(&e, 0, sizeof e);
    e.sigev_notify = SIGEV_SIGNAL;
    e.sigev_signo = SIGKILL;
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &e, &timer), 0);
    CHECK_EQ(timer_settime(timer, 0, &in, NULL), 0);
}

static inline void storm_handler(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_sigaction = fn;
    sa.sa_flags = flags | SA_SIGINFO;
    sigemptyset(&sa.sa_mask);
    CHECK_EQ(sigaction(sig, &sa, NULL), 0);
}

static inline void storm_mask(int how, int sig)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    CHECK_EQ(pthread_sigmask(how, &set, NULL), 0);
}

/* A stack for handlers of so many whole pages, below it a page that nobody may touch. */
static inline void *storm_stack_of(size_t size)
{
    char *p = (char *)mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t st;
    CHECK(p != MAP_FAILED);
    CHECK_EQ(mprotect(p, 4096, PROT_NONE), 0);
    memset(&st, 0, sizeof st);
    st.ss_sp = p + 4096;
    st.ss_size = size;
    CHECK_EQ(sigaltstack(&st, NULL), 0);
    return p;
}

/* ... as small as the kernel's frame and a small handler allow. */
static inline void *storm_stack(size_t room)
{
    size_t frame = getauxval(AT_MINSIGSTKSZ);
    return storm_stack_of(((frame ? frame : MINSIGSTKSZ) + room + 4095) & ~(size_t)4095);
}

static inline void storm_no_stack(void *p)
{
    stack_t st, old;
    memset(&st, 0, sizeof st);
    st.ss_flags = SS_DISABLE;
    CHECK_EQ(sigaltstack(&st, &old), 0);
    CHECK_EQ(munmap(p, old.ss_size + 4096), 0);
}

#endif
