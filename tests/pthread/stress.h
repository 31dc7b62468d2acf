/* tests/pthread/stress.h - what the programs here share.  SPDX-License-Identifier: Apache-2.0
 *
 * Plain programs that know nothing of usf:  PROGRAM [THREADS [ROUNDS]].  They check their own results, print their seed
 * (SEED sets it), kill themselves when stuck, and end with 0 or 1. */
#ifndef TESTS_PTHREAD_STRESS_H
#define TESTS_PTHREAD_STRESS_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

#define MAX_THREADS 64

static int threads = 8;
static long rounds;
static unsigned seed;

static inline void stress_start(int argc, char **argv, long default_rounds)
{
    const char *given = getenv("SEED");
    if (argc > 1)
        threads = atoi(argv[1]);
    rounds = argc > 2 ? atol(argv[2]) : default_rounds;
    if (threads < 1 || threads > MAX_THREADS || rounds < 1) {
        fprintf(stderr, "usage: %s [THREADS (1-%d) [ROUNDS]]\n", argv[0], MAX_THREADS);
        exit(2);
    }
    seed = given ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL) * 7919u ^ (unsigned)getpid();
    printf("seed %u, %d threads, %ld rounds\n", seed, threads, rounds);
    fflush(stdout);
    alarm(100);
}

/* Each thread its share, so that the total of work does not grow with their number. */
static inline long share(void) { return rounds / threads + 1; }

static inline unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

struct worker {
    pthread_t th;
    int index;
    unsigned random;
    void *arg;
};
static struct worker workers[MAX_THREADS];

/* Run body in n threads at once; each gets its struct worker. */
static inline void run_n(int n, void *(*body)(void *), void *arg)
{
    for (int i = 0; i < n; i++) {
        workers[i] = (struct worker){ .index = i, .random = seed + (unsigned)i * 77u, .arg = arg };
        CHECK_EQ(pthread_create(&workers[i].th, NULL, body, &workers[i]), 0);
    }
    for (int i = 0; i < n; i++)
        CHECK_EQ(pthread_join(workers[i].th, NULL), 0);
}

static inline void run(void *(*body)(void *), void *arg) { run_n(threads, body, arg); }

/* The same with processes, for what lies in shared memory. */
static inline void run_processes(int n, void *(*body)(void *), void *arg)
{
    pid_t pid[MAX_THREADS];
    fflush(NULL);
    for (int i = 0; i < n; i++) {
        pid[i] = fork();
        CHECK(pid[i] >= 0);
        if (pid[i] == 0) {
            struct worker w = { .index = i, .random = seed + (unsigned)i * 77u, .arg = arg };
            alarm(100);
            body(&w);
            _exit(0);
        }
    }
    for (int i = 0; i < n; i++) {
        int status;
        CHECK_EQ(waitpid(pid[i], &status, 0), pid[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static inline void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

static inline struct timespec after_us(clockid_t clock, long us)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += us / 1000000;
    t.tv_nsec += us % 1000000 * 1000;
    if (t.tv_nsec >= 1000000000L)
        t.tv_nsec -= 1000000000L, t.tv_sec++;
    return t;
}

static inline bool is_past(clockid_t clock, struct timespec t)
{
    struct timespec n;
    clock_gettime(clock, &n);
    return n.tv_sec > t.tv_sec || (n.tv_sec == t.tv_sec && n.tv_nsec >= t.tv_nsec);
}

static inline void sleep_us(long us)
{
    struct timespec t = { us / 1000000, us % 1000000 * 1000 };
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static inline void work(long n)
{
    for (volatile long i = 0; i < n; i++)
        ;
}

#endif
