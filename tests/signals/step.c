/* tests/signals/step.c - a thread is cancelled at each instruction of a system call's way.  SPDX-License-Identifier: Apache-2.0
 *
 * It traces itself: at its n-th instruction from the call on, wherever that is, the trap's handler leaves it signals that it finds when
 * the handler returns, all at once, the cancellation among them.  What it has to clean up must be cleaned up. */
#include "storm.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <ucontext.h>

#define TRACE  0x100            /* the processor's flag: a trap after each instruction */

static int steps, limit;        /* instructions executed, and after which the signals come */
static int others;              /* signals beside the cancellation */
static _Atomic int cleaned;
static _Atomic bool wanted;

static void on_other(int s, siginfo_t *info, void *uc) { (void)s, (void)info, (void)uc; }

static void on_trap(int s, siginfo_t *info, void *ctx)
{
    greg_t *flags = &((ucontext_t *)ctx)->uc_mcontext.gregs[REG_EFL];
    (void)s, (void)info;
    if (steps++ < limit)
        return;
    *flags &= ~(greg_t)TRACE;
    if (others > 0)
        pthread_kill(pthread_self(), SIGUSR1);
    if (others > 1)
        pthread_kill(pthread_self(), SIGUSR2);
    wanted = true;              /* by another: who cancels itself needs no signal */
    while (wanted)
        sched_yield();
}

/* With the C library's own signals blocked as well, which its sigaction leaves out. */
static void handle_traps(void)
{
    struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; } k;
    storm_handler(SIGTRAP, on_trap, 0);
    CHECK_EQ(syscall(SYS_rt_sigaction, SIGTRAP, NULL, &k, 8), 0);
    k.mask = ~0ull;
    CHECK_EQ(syscall(SYS_rt_sigaction, SIGTRAP, &k, NULL, 8), 0);
}

static void clean(const int *what) { cleaned += *what; }

static void trace(void) { __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "cc", "memory"); }
static void trace_no_more(void) { __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "cc", "memory"); }

__attribute__((noinline)) static long make(void)
{
    char *below = __builtin_alloca(16);         /* the frame is known by another register than the stack pointer, which trace() moves */
    long r;
    __asm__ volatile("" : : "r"(below) : "memory");
    trace();
    __asm__ volatile("syscall" : "=a"(r) : "a"(SYS_prctl), "D"(PR_GET_DUMPABLE), "S"(0), "d"(0) : "rcx", "r11", "memory");
    trace_no_more();
    return r;
}

/* Who cleans up calls who is cancelled: code is prepared for that to happen in calls only. */
__attribute__((noinline)) static void call(void)
{
    __attribute__((cleanup(clean))) int once = 1;
    __asm__ volatile("" : "+m"(once));
    long (*volatile fn)(void) = make;
    CHECK(fn() >= 0);
    pthread_testcancel();
}

static void *body(void *arg)
{
    CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
    call();
    return arg;
}

/* Was there an n-th instruction? */
static bool cancel_after(int n)
{
    pthread_t th;
    bool asked = false;
    void *r;
    steps = 0;
    cleaned = 0;
    limit = n;
    CHECK_EQ(pthread_create(&th, NULL, body, NULL), 0);
    while (pthread_tryjoin_np(th, &r) == EBUSY) {
        if (wanted) {
            CHECK_EQ(pthread_cancel(th), 0);
            asked = true;
            wanted = false;
        }
        sched_yield();
    }
    if (cleaned != 1 || (r == PTHREAD_CANCELED) != asked) {        /* where nothing else ends it, pthread_testcancel does */
        printf("%scancelled at instruction %d, %d other signals: %s, cleaned up %d times\n", asked ? "" : "not ", n, others,
               r == PTHREAD_CANCELED ? "ended" : "not ended", cleaned);
        exit(1);
    }
    return asked;
}

/* The instructions in the middle are a library's, which says how to unwind it: what is near the call itself was put there. */
#define NEAR 40

int main(int argc, char **argv)
{
    stress_start(argc, argv, 1);
    handle_traps();
    storm_handler(SIGUSR1, on_other, 0);
    storm_handler(SIGUSR2, on_other, 0);
    CHECK(!cancel_after(INT_MAX));
    int all = steps;
    CHECK(all > 4);
    for (others = 0; others < 3; others++) {
        CHECK(cancel_after(0));
        for (int n = 1; n < NEAR; n++)
            cancel_after(n);
        for (int n = all > NEAR ? all - NEAR : 0; n < all; n++)
            cancel_after(n);
    }
    return 0;
}
