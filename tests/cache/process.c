/* tests/cache/process.c - kept threads and the life of the process: fork, exit, the end of main.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "check.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void *nothing(void *arg) { return arg; }

static void *napper(void *arg)
{
    sleep_ms((long)arg);
    return arg;
}

static void keep_some(int n)
{
    pthread_t th[32];
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_create(&th[i], NULL, napper, (void *)2), 0);
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_join(th[i], NULL), 0);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Run f in a child; it must end by itself, soon, with `status`. */
static void in_child(void (*f)(void), int status)
{
    double start = now();
    fflush(NULL);
    pid_t pid = fork();
    int got;
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(20);
        f();
        _exit(99);
    }
    CHECK_EQ(waitpid(pid, &got, 0), pid);
    CHECK(WIFEXITED(got));
    CHECK_EQ(WEXITSTATUS(got), status);
    CHECK(now() - start < 4);                        /* kept threads live for 5 s */
}

static void fifty_threads(void)
{
    CHECK_EQ(parked(), 0);
    for (long i = 0; i < 50; i++)
        CHECK_EQ(run_thread(nothing, (void *)i), i);
}

static void use_threads(void)
{
    unsigned long of_parent = reused();
    fifty_threads();
    if (cached())
        CHECK(reused() - of_parent >= 40);
    exit(3);
}

/* Where another thread may be walking the loaded objects at the fork: the child of such a moment keeps no threads. */
static void use_threads_kept_or_not(void)
{
    fifty_threads();
    exit(3);
}

static void *forking(void *arg)
{
    run_thread(nothing, NULL);
    in_child(use_threads, 3);
    return NULL;
}

/* A child forked by a thread ends when that thread returns ... */
static void *forks_and_returns(void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        run_thread(nothing, NULL);
        return NULL;
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    return NULL;
}

static void *forks_and_exits(void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        run_thread(nothing, NULL);
        pthread_exit(NULL);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    return NULL;
}

static void forks(void)
{
    keep_some(8);
    in_child(use_threads, 3);
    run_thread(forking, NULL);
    double start = now();
    run_thread(forks_and_returns, NULL);
    run_thread(forks_and_exits, NULL);
    CHECK(now() - start < 4);
    /* Fork while other threads are being made. */
    for (int i = 0; i < 30; i++) {
        pthread_t th[4];
        for (int j = 0; j < 4; j++)
            CHECK_EQ(pthread_create(&th[j], NULL, napper, (void *)(long)(j & 1)), 0);
        if (i % 10 == 0)
            in_child(use_threads_kept_or_not, 3);
        for (int j = 0; j < 4; j++)
            CHECK_EQ(pthread_join(th[j], NULL), 0);
    }
}

/* ---- ends ---------------------------------------------------------------------------------------------- */
static void main_exits(void)
{
    keep_some(8);
    pthread_exit(NULL);                              /* no thread is left: exit(0) */
}

static void at_exit_status(void)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    _exit(sigismember(&now, SIGUSR1) ? 11 : 7);
}

static void main_exits_handlers(void)
{
    atexit(at_exit_status);
    keep_some(8);
    pthread_exit(NULL);
}

static void until_main_has_ended(void)
{
    while (state_of(getpid()) != 'Z')
        sleep_ms(1);
}

static void *outlives(void *arg)
{
    until_main_has_ended();
    for (long i = 0; i < 5; i++)
        CHECK_EQ(run_thread(nothing, (void *)i), i);
    return NULL;
}

static void main_exits_first(void)
{
    pthread_t th;
    atexit(at_exit_status);
    keep_some(8);
    CHECK_EQ(pthread_create(&th, NULL, outlives, NULL), 0);
    pthread_exit(NULL);                              /* the other goes on, and ends the process */
}

static void *exits_7(void *arg)
{
    until_main_has_ended();
    exit(7);
}

static void main_exits_other_decides(void)
{
    pthread_t th;
    CHECK_EQ(pthread_create(&th, NULL, exits_7, NULL), 0);
    keep_some(4);
    pthread_exit(NULL);
}

static pthread_t main_thread;
static void *cancels_main(void *arg)
{
    run_thread(nothing, NULL);
    CHECK_EQ(pthread_cancel(main_thread), 0);
    return NULL;
}

static void main_cancelled(void)
{
    pthread_t th;
    main_thread = pthread_self();
    keep_some(4);
    CHECK_EQ(pthread_create(&th, NULL, cancels_main, NULL), 0);
    for (;;)
        sleep_ms(1000);
}

/* main ends while a thread has ended but is not joined: somebody may still join it. */
static pthread_t unjoined;
static _Atomic pid_t unjoined_tid;
static void *tells_its_id(void *arg)
{
    unjoined_tid = (pid_t)syscall(SYS_gettid);
    return arg;
}

static void *joins_unjoined(void *arg)
{
    void *result;
    until_main_has_ended();
    CHECK_EQ(pthread_join(unjoined, &result), 0);
    CHECK_EQ(result, 21);
    _exit(21);
}

static void main_exits_unjoined(void)
{
    pthread_t th;
    CHECK_EQ(pthread_create(&unjoined, NULL, tells_its_id, (void *)21), 0);
    CHECK_EQ(pthread_create(&th, NULL, joins_unjoined, NULL), 0);
    while (!unjoined_tid || (state_of(unjoined_tid) && !sleeps_in(unjoined_tid, SYS_futex)))     /* gone, or kept */
        sleep_ms(1);
    pthread_exit(NULL);
}

static void thread_at_exit(void)
{
    CHECK_EQ(run_thread(nothing, (void *)4), 4);
    CHECK_EQ(run_thread(nothing, (void *)5), 5);
    _exit(17);
}

static void exit_with_kept(void)
{
    atexit(thread_at_exit);
    keep_some(8);
    exit(0);
}

static void *exit_from_thread(void *arg) { exit(0); }

static void thread_exits(void)
{
    atexit(thread_at_exit);
    keep_some(3);
    run_thread(exit_from_thread, NULL);
}

static void return_code(void)
{
    keep_some(8);
    exit(0);
}

int main(void)
{
    test_start(100);
    in_child(use_threads, 3);
    forks();
    in_child(main_exits, 0);
    in_child(main_exits_handlers, 7);
    in_child(main_exits_first, 7);
    in_child(main_exits_other_decides, 7);
    in_child(main_cancelled, 0);
    in_child(main_exits_unjoined, 21);
    in_child(exit_with_kept, 17);
    in_child(thread_exits, 17);
    in_child(return_code, 0);
    return 0;
}
