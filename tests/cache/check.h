/* tests/cache/check.h - what the thread cache's tests share.  SPDX-License-Identifier: Apache-2.0
 *
 * Every program runs bare and with the cache: what it checks is what libc does without it.  `cached()` tells which, so
 * that a test can also insist that the thread it looks at really was a reused one. */
#ifndef TESTS_CACHE_CHECK_H
#define TESTS_CACHE_CHECK_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From tests/cache/preload.c, where it is loaded. */
typedef unsigned long (*counter_fn)(void);
static inline unsigned long cache_counter(const char *name)
{
    counter_fn f = (counter_fn)dlsym(RTLD_DEFAULT, name);
    return f ? f() : 0;
}
static inline bool cached(void) { return dlsym(RTLD_DEFAULT, "cache_test_on") && cache_counter("cache_test_on"); }
static inline unsigned long reused(void) { return cache_counter("cache_test_reused"); }
static inline unsigned long parked(void) { return cache_counter("cache_test_parked"); }
static inline unsigned long left(void) { return cache_counter("cache_test_left"); }

static inline unsigned test_start(unsigned seconds)
{
    const char *given = getenv("SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL) ^ (unsigned)getpid();
    printf("seed %u%s\n", seed, cached() ? ", cached" : "");
    fflush(stdout);
    alarm(seconds);
    return seed;
}

static inline void sleep_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static inline struct timespec after_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000L)
        t.tv_nsec -= 1000000000L, t.tv_sec++;
    return t;
}

/* Run f in a thread and join it. */
static inline void *run_thread(void *(*f)(void *), void *arg)
{
    pthread_t th;
    void *result;
    CHECK_EQ(pthread_create(&th, NULL, f, arg), 0);
    CHECK_EQ(pthread_join(th, &result), 0);
    return result;
}

/* ... which must be a reused one: spoil a thread first, look at its successor then. */
static inline void *run_reused(void *(*f)(void *), void *arg)
{
    unsigned long before = reused();
    void *result = run_thread(f, arg);
    if (cached())
        CHECK(reused() > before);
    return result;
}

#ifdef __cplusplus
}
#endif
#endif
