/* tests/signals/lost.c - a handler for SIGURG where signals come without their values.  SPDX-License-Identifier: Apache-2.0
 *
 * Usage: lost [THREADS].  The limit of pending signals is used up, so that the program's handler also runs for what was sent to the
 * runtime.  It runs with its own mask, whatever the thread has waited for before. */
#include "storm.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define RUN_MS 1000

static _Atomic bool stop;
static _Atomic long handled;

static void on_other(int s, siginfo_t *info, void *uc) { (void)s, (void)info, (void)uc; }

static void on_urgent(int s, siginfo_t *info, void *uc)
{
    sigset_t now;
    (void)info, (void)uc;
    CHECK_EQ(sigprocmask(SIG_SETMASK, NULL, &now), 0);
    CHECK(sigismember(&now, s) == 1);
    CHECK(sigismember(&now, SIGUSR1) == 0);
    handled++;
}

static void *hog(void *arg)
{
    while (!stop)
        work(100000);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t th[MAX_THREADS];
    const struct rlimit none = { 0, 0 };
    stress_start(argc, argv, 1);
    storm_handler(SIGUSR1, on_other, 0);
    storm_handler(SIGURG, on_urgent, SA_RESTART);
    CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_create(&th[i], NULL, hog, NULL), 0);
    CHECK_EQ(raise(SIGURG), 0);
    sleep_us(RUN_MS * 1000);        /* the rest comes from the runtime, if from anywhere */
    stop = true;
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_join(th[i], NULL), 0);
    CHECK(handled > 0);
    return 0;
}
