/* tests/signals/nest.c - a thread that waits for a core is not interrupted again and again.  SPDX-License-Identifier: Apache-2.0
 *
 * Usage: nest [THREADS].  So many threads compute all the time, on every core; each kind of victim gets a signal that does not block itself at
 * 10 kHz.  Its handler is short, so it hardly ever runs on top of itself, unless each one waits for a core on top of the one before.  A signal
 * that had a handler once, and is to end the program again, is never blocked meanwhile. */
#include "storm.h"

#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdatomic.h>

#define RUN_MS 700
#define DEPTH 32                /* signal frames: bare, where the machine is slow, there may be some */

static _Atomic bool stop;
static _Atomic long handled;
static sem_t never;
static int fd[2];
static _Atomic pid_t tids[8];
static __thread char *base;
static __thread size_t depth;
static __thread jmp_buf out;
static __thread volatile sig_atomic_t armed;

static void on_signal(int s, siginfo_t *info, void *uc)
{
    char here;
    (void)s, (void)info, (void)uc;
    handled++;
    if (base && (size_t)(base - &here) > depth)
        depth = (size_t)(base - &here);
    if (armed) {
        armed = 0;
        _longjmp(out, 1);
    }
}

static void in_sem(void)
{
    struct timespec t = after_us(CLOCK_REALTIME, 2000);
    CHECK(sem_timedwait(&never, &t) == -1);
}
static void in_nap(void) { sleep_us(1000); }
static void in_write(void)
{
    char c = 0;
    CHECK(write(fd[1], &c, 1) == 1 || errno == EINTR);
    CHECK(read(fd[0], &c, 1) == 1 || errno == EINTR || errno == EAGAIN);
}
static void in_nothing(void) { work(1000); }
/* Out of a wait, and of the handler, without a word on the mask: it is as it was. */
static void in_jump(void)
{
    if (_setjmp(out) == 0) {
        armed = 1;
        sleep_us(1000);
        armed = 0;
    }
}
static void (*const victims[])(void) = { in_sem, in_nap, in_write, in_nothing, in_jump };

static void *victim(void *arg)
{
    char here;
    sigset_t mask;
    void (*fn)(void) = victims[(long)arg];
    unsigned long frame = getauxval(AT_MINSIGSTKSZ);
    tids[(long)arg] = (pid_t)syscall(SYS_gettid);
    storm_mask(SIG_BLOCK, SIGUSR2);
    timer_t timer = storm_start(TIMER_THREAD);
    base = &here;
    storm_mask(SIG_UNBLOCK, SIGUSR2);
    while (!stop)
        fn();
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    for (int s = 1; s < SIGRTMAX; s++)
        CHECK(sigismember(&mask, s) != 1);
    storm_mask(SIG_BLOCK, SIGUSR2);
    storm_end(TIMER_THREAD, timer);
    fprintf(stderr, "victim %ld: %zu bytes deep\n", (long)arg, depth);
    CHECK(depth < DEPTH * ((frame ? frame : MINSIGSTKSZ) + 1024));
    return NULL;
}

static void *hog(void *arg)
{
    while (!stop)
        work(100000);
    return arg;
}

static unsigned long blocked(pid_t tid)
{
    char path[64], line[256];
    unsigned long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "SigBlk: %lx", &mask) == 1)
            break;
    if (f)
        fclose(f);
    return mask;
}

/* Code that is not to be interrupted blocks all signals for a moment. */
static bool is_held(unsigned long mask)
{ return mask & (1ul << (SIGPROF - 1) | 1ul << (SIGVTALRM - 1)) && !(mask >> (SIGTERM - 1) & 1); }

static void watch(void)
{
    struct timespec end = after_us(CLOCK_MONOTONIC, RUN_MS * 1000), now;
    do {
        for (size_t i = 0; i < sizeof victims / sizeof *victims; i++)
            CHECK(!tids[i] || !is_held(blocked(tids[i])));
        sleep_us(1000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

/* Taken back, and used up. */
static void handle_no_more(void)
{
    storm_handler(SIGPROF, on_signal, 0);
    CHECK(signal(SIGPROF, SIG_DFL) != SIG_ERR);
    storm_handler(SIGVTALRM, on_signal, (int)SA_RESETHAND);
    CHECK_EQ(raise(SIGVTALRM), 0);
}

int main(int argc, char **argv)
{
    pthread_t th[MAX_THREADS], v[sizeof victims / sizeof *victims];
    stress_start(argc, argv, 1);
    if (argc <= 1)
        threads = 16;
    storm_watchdog(60);
    storm_handler(SIGUSR2, on_signal, (int)SA_NODEFER | SA_RESTART);
    handle_no_more();
    CHECK_EQ(sem_init(&never, 0, 0) | pipe(fd), 0);
    CHECK_EQ(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_create(&th[i], NULL, hog, NULL), 0);
    for (size_t i = 0; i < sizeof victims / sizeof *victims; i++)
        CHECK_EQ(pthread_create(&v[i], NULL, victim, (void *)i), 0);
    watch();
    stop = true;
    for (size_t i = 0; i < sizeof victims / sizeof *victims; i++)
        CHECK_EQ(pthread_join(v[i], NULL), 0);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_join(th[i], NULL), 0);
    CHECK(handled > 0);
    return 0;
}
