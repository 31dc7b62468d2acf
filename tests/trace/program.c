/* tests/trace/program.c - programs to be recorded.  SPDX-License-Identifier: Apache-2.0
 *
 *   pingpong N      3 threads hand a turn round, N times, by a condition variable
 *   barrier N       4 threads meet N times
 *   sleeps          one reads from a pipe, one sleeps while it does and writes there
 *   fork            a child process with a thread of its own
 *   vfork           a child of posix_spawn
 *   threads N       N threads, one after another; crowd N: all at once
 *   long S          meets for S seconds, and tells by a line each time; locked S: with mlockall; stranger S: SIGUSR1 makes it another
 *                   user; visitor S: for the moment, and SIGUSR2 the first again
 *   exit CODE, kill
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../asleep.h"

extern char **environ;
static int rounds;

static void burn(long us)
{
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000L + (b.tv_nsec - a.tv_nsec) / 1000 < us);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *player(void *arg)
{
    int me = (int)(long)arg;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        while (turn % 3 != me) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        burn(200);
        pthread_mutex_lock(&lock);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static pthread_barrier_t meeting;
static void *member(void *arg)
{
    for (int i = 0; i < rounds; i++) {
        burn(100 + 100 * (long)arg);
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}

static int fds[2];
static _Atomic pid_t reads;

static void *sleeper(void *arg)
{
    while (!reads || !sleeps_in(reads, SYS_read)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    if (write(fds[1], "x", 1) != 1) abort();
    return arg;
}
static void *reader(void *arg)
{
    char c;
    reads = gettid();
    if (read(fds[0], &c, 1) != 1) abort();
    burn(1000);
    return arg;
}
static void *burner(void *arg) { burn(300); return arg; }

static void all(int n, void *(*f)(void *), void *(*last)(void *))
{
    pthread_t t[16];
    for (long i = 0; i < n; i++)
        if (pthread_create(&t[i], NULL, i == n - 1 ? last : f, (void *)i)) abort();
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
}

static void *waits_for_all(void *arg)
{
    pthread_barrier_wait(&meeting);
    burn(100);
    pthread_barrier_wait(&meeting);
    return arg;
}

static void crowd(void)
{
    pthread_t t[512];
    pthread_barrier_init(&meeting, NULL, (unsigned)rounds);
    for (int i = 0; i < rounds; i++)
        if (pthread_create(&t[i], NULL, waits_for_all, NULL)) abort();
    for (int i = 0; i < rounds; i++) pthread_join(t[i], NULL);
}

static volatile sig_atomic_t told;
static void tell(int sig) { told = sig; }

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    alarm(60);
    rounds = argc > 2 ? atoi(argv[2]) : 1;
    if (!strcmp(what, "pingpong")) all(3, player, player);
    if (!strcmp(what, "barrier")) {
        pthread_barrier_init(&meeting, NULL, 4);
        all(4, member, member);
    }
    if (!strcmp(what, "sleeps") && !pipe(fds)) all(2, sleeper, reader);
    if (!strcmp(what, "fork")) {
        pid_t p = fork();
        if (!p) {
            all(1, burner, burner);
            return 0;
        }
        burn(500);
        waitpid(p, NULL, 0);
    }
    if (!strcmp(what, "vfork")) {
        pid_t p;
        char *args[] = {argv[0], "threads", "2", NULL};
        if (posix_spawn(&p, argv[0], NULL, NULL, args, environ)) abort();
        burn(500);
        waitpid(p, NULL, 0);
    }
    if (!strcmp(what, "threads"))
        for (int i = 0; i < rounds; i++) all(1, burner, burner);
    if (!strcmp(what, "crowd")) crowd();
    if (!strcmp(what, "locked") && mlockall(MCL_FUTURE)) return 77;
    bool stranger = !strcmp(what, "stranger"), visitor = !strcmp(what, "visitor");
    if (stranger || visitor) signal(SIGUSR1, tell), signal(SIGUSR2, tell);
    if (stranger || visitor || !strcmp(what, "long") || !strcmp(what, "locked")) {
        struct timespec t0, t1;
        clock_gettime(CLOCK_MONOTONIC, &t0);
        do {
            if (told && visitor && seteuid(told == SIGUSR1 ? 65534 : 0)) abort();
            if (told && stranger && setuid(65534)) abort();
            told = 0;
            rounds = 20;
            pthread_barrier_init(&meeting, NULL, 4);
            all(4, member, member);
            if (write(1, ".\n", 2) != 2) abort();
            clock_gettime(CLOCK_MONOTONIC, &t1);
        } while (t1.tv_sec - t0.tv_sec < atoi(argv[2]));
    }
    if (!strcmp(what, "kill")) raise(SIGTERM);
    return !strcmp(what, "exit") ? rounds : 0;
}
