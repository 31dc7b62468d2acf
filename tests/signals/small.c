/* tests/signals/small.c - handlers that use half of a stack of the customary size, and take their time.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Usage: small [THREADS [ROUNDS]].  The stack is 8 KiB, as SIGSTKSZ has always been; below it lies a page that nobody may touch. */
#include "storm.h"

#include <signal.h>
#include <stdatomic.h>

#define STACK 8192
#define USED  4096
#define LONG_NS 4000000u        /* so long a handler runs: longer than usf waits before it looks at a thread */

static _Atomic long handled, done;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_signal(int s, siginfo_t *info, void *uc)
{
    volatile char used[USED];
    sigset_t now;
    (void)info, (void)uc;
    for (size_t i = 0; i < sizeof used; i++)
        used[i] = (char)s;
    for (uint64_t end = now_ns() + LONG_NS; now_ns() < end;)
        ;
    CHECK_EQ(sigprocmask(SIG_SETMASK, NULL, &now), 0);
    CHECK(sigismember(&now, SIGTERM) == 0);
    CHECK(!s || sigismember(&now, s) == 1);
    CHECK(used[0] == (char)s);
    handled++;
}

static void *body(void *arg)
{
    sigset_t now;
    void *p = storm_stack_of(STACK);
    for (long r = 0; r < rounds; r++) {
        CHECK_EQ(pthread_kill(pthread_self(), SIGUSR2), 0);
        sleep_us(100);
        CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);     /* a lower number than the runtime's own signal, and a higher one */
        CHECK_EQ(pthread_kill(pthread_self(), SIGRTMIN), 0);
        work(100000);
    }
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    CHECK(sigismember(&now, SIGURG) == 0);
    done++;
    while (done < threads)                                      /* the handlers of the others have company until the end */
        work(1000);
    storm_no_stack(p);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t th[MAX_THREADS];
    int signals[] = { SIGUSR1, SIGUSR2, SIGRTMIN };
    stress_start(argc, argv, 6);
    storm_watchdog(60);
    if (getauxval(AT_MINSIGSTKSZ) + USED + 512 > STACK)
        return 77;
    on_signal(0, NULL, NULL);                                   /* bind what it calls: the dynamic linker needs room, too */
    handled = 0;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        storm_handler(signals[i], on_signal, SA_ONSTACK | SA_RESTART);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_create(&th[i], NULL, body, NULL), 0);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_join(th[i], NULL), 0);
    CHECK_EQ(handled, 3 * threads * rounds);
    return 0;
}
