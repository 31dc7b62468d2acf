/* What a program sees of signals: masks, pending sets, dispositions, siginfo, interrupted calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include "../../asleep.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled, code, value;
static sem_t sem;
static int pipes[2];

static void on_signal(int s, siginfo_t *i, void *c)
{
    handled++;
    code = i->si_code;
    value = i->si_value.sival_int;
}

static void dispositions(const char *when)
{
    printf("%s:", when);
    for (int s = 1; s < 65; s++) {
        struct sigaction sa;
        if (sigaction(s, NULL, &sa)) printf(" %d:none", s);
        else if (sa.sa_handler != SIG_DFL) printf(" %d:%s", s, sa.sa_handler == SIG_IGN ? "ignored" : "handled");
    }
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    for (int s = 1; s < 65; s++)
        if (sigismember(&set, s)) printf(" %d:blocked", s);
    printf("\n");
}

/* Waiters are counted when they are queued anew where they are.  A semaphore's futex is its first word. */
static bool waits_in(long call)
{
    if (call == SYS_futex) return syscall(SYS_futex, &sem, FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, 0, INT_MAX, &sem, 0) == 1;
    return any_sleeps_in(call, call == SYS_read ? pipes[0] : -1);
}

struct call { const char *name; int (*fn)(void); long nr, nr2; };
static pthread_t first;
static void *kick(void *arg)
{
    const struct call *c = arg;
    while (!waits_in(c->nr) && !(c->nr2 && waits_in(c->nr2))) usleep(1000);
    pthread_kill(first, SIGUSR1);
    return NULL;
}

static int do_sem(void) { return sem_wait(&sem); }
static int do_sem_timed(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 100;
    return sem_timedwait(&sem, &t);
}
static int do_nanosleep(void) { return nanosleep(&(struct timespec){ 100, 0 }, NULL); }
static int do_clock(void)
{
    return errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 100, 0 }, NULL), errno ? -1 : 0;
}
static int do_poll(void) { return poll(NULL, 0, 100000); }
static int do_select(void) { return select(0, NULL, NULL, NULL, &(struct timeval){ 100, 0 }); }
static int do_read(void)
{
    char c;
    return (int)read(pipes[0], &c, 1);
}
static int do_pause(void) { return pause(); }
static int do_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    return sigsuspend(&none);
}
static int do_wait(void)
{
    pid_t c = fork();
    if (c == 0) {
        pause();
        _exit(0);
    }
    int r = waitpid(c, NULL, 0), e = errno;
    kill(c, SIGKILL);
    waitpid(c, NULL, 0);
    errno = e;
    return r;
}

/* A signal ends each of these with EINTR, with no SA_RESTART asked for. */
static void interrupted(void)
{
    static struct call calls[] = {
        { "sem_wait", do_sem, SYS_futex, 0 }, { "sem_timedwait", do_sem_timed, SYS_futex, 0 },
        { "nanosleep", do_nanosleep, SYS_nanosleep, SYS_clock_nanosleep }, { "clock_nanosleep", do_clock, SYS_clock_nanosleep, 0 },
        { "poll", do_poll, SYS_poll, 0 }, { "select", do_select, SYS_select, SYS_pselect6 }, { "read", do_read, SYS_read, 0 },
        { "pause", do_pause, SYS_pause, 0 }, { "sigsuspend", do_sigsuspend, SYS_rt_sigsuspend, 0 }, { "waitpid", do_wait, SYS_wait4, 0 },
    };
    pthread_t t;
    first = pthread_self();
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        handled = 0;
        pthread_create(&t, NULL, kick, &calls[i]);
        errno = 0;
        int r = calls[i].fn();
        int e = errno;
        pthread_join(t, NULL);
        printf("%s: %d %s, handled %d\n", calls[i].name, r, strerrorname_np(e), (int)handled);
        fflush(stdout);
    }
}

static void queued(void)
{
    sigset_t set, old, pending;
    struct timespec soon = { 0, 10000000 };
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 3);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    for (int i = 0; i < 3; i++) sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ .sival_int = 10 + i });
    for (int i = 0; i < 3; i++) raise(SIGUSR2);
    sigpending(&pending);
    printf("pending %d %d\n", sigismember(&pending, SIGRTMIN + 3), sigismember(&pending, SIGUSR2));
    while (sigtimedwait(&set, &info, &soon) > 0) printf("got %d code %d value %d\n", info.si_signo, info.si_code,
                                                        info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
    printf("then %s\n", strerrorname_np(errno));
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int main(void)
{
    dispositions("at start");
    struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    sigaction(SIGUSR1, &sa, NULL);
    sigaction(SIGALRM, &sa, NULL);
    sem_init(&sem, 0, 0);
    if (pipe(pipes)) return 1;
    interrupted();
    queued();
    sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 77 });
    printf("sigqueue: code %d value %d\n", (int)code, (int)value);
    setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 2000 }, { 0, 2000 } }, NULL);
    handled = 0;
    while (handled < 20) pause();
    setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
    printf("20 timer signals\n");
    for (int s = 1; s < 65; s++)
        if (s != SIGKILL && s != SIGSTOP && s != 32 && s != 33 && sigaction(s, &sa, NULL)) printf("no handler for %d\n", s);
    for (int s = 1; s < 65; s++) {
        if (s == SIGKILL || s == SIGSTOP || s == 32 || s == 33) continue;
        handled = 0;
        raise(s);
        if (handled != 1) printf("signal %d handled %d times\n", s, (int)handled);
    }
    dispositions("at end");
    return 0;
}
