/* tests/cache/preload.c - the thread cache alone, without the scheduler.  SPDX-License-Identifier: Apache-2.0 */
#include "threads/threads.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static bool on;

static void is_off(const char *why)
{
    on = false;
    fprintf(stderr, "thread cache: off: %s\n", why);
}

__attribute__((constructor)) static void start(void)
{
    const char *max = getenv("CACHE_TEST_MAX"), *idle = getenv("CACHE_TEST_IDLE_MS");
    threads_set_limits(max ? (unsigned)atoi(max) : 256, idle ? (unsigned)atoi(idle) : 5000);
    threads_is_off = is_off;
    const char *why = threads_init(true);
    on = !why;
    if (why)
        is_off(why);
}

static struct threads_stats stats(void)
{
    struct threads_stats s;
    threads_get_stats(&s);
    return s;
}

unsigned long cache_test_on(void), cache_test_reused(void), cache_test_parked(void), cache_test_left(void);
EXPORT unsigned long cache_test_on(void) { return on; }
EXPORT unsigned long cache_test_reused(void) { return stats().reused; }
EXPORT unsigned long cache_test_parked(void) { return stats().parked; }
EXPORT unsigned long cache_test_left(void) { return stats().left; }

__attribute__((destructor)) static void end(void)
{
    struct threads_stats s = stats();
    if (getenv("CACHE_TEST_VERBOSE"))
        fprintf(stderr, "thread cache: %lu created, %lu reused, %lu left, %u parked\n", s.created, s.reused, s.left,
                s.parked);
}
