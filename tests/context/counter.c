/* tests/context/counter.c - a small library with state, versions and every way to pass arguments.  SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "counter.h"

int counter_variable = 17;
static int count;
static __thread int per_thread;
static int constructed;
__attribute__((constructor)) static void construct(void) { constructed++; }

int counter_next(void) { return ++count; }
int counter_constructed(void) { return constructed; }
int counter_per_thread(void) { return ++per_thread; }
void *counter_address(void) { return &count; }
int counter_errno(void) { return errno; }
const char *counter_env(const char *name) { return getenv(name); }

int counter_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? -1 : CPU_COUNT(&set);
}

double counter_doubles(double a, double b, double c, double d, double e, double f, double g, double h)
{ return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h; }

long counter_ints(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{ return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j; }

double counter_sum(int n, ...)
{
    va_list args;
    double sum = 0;
    va_start(args, n);
    for (int i = 0; i < n; i++) sum += i % 2 ? va_arg(args, int) : va_arg(args, double);
    va_end(args);
    return sum;
}

struct counter_result counter_big(int a, double b)
{
    struct counter_result r = {a, b, {0}, count};
    for (int i = 0; i < 20; i++) r.more[i] = a + i;
    return r;
}

struct counter_two counter_pair(double a, long b) { return (struct counter_two){a, b}; }
long double counter_long(long double a) { return a * 2; }
__attribute__((target("avx"))) counter_wide counter_add_wide(counter_wide a, counter_wide b) { return a + b; }

static int plain(void) { return 1000 + count; }
static int (*choose(void))(void) { return plain; }
int counter_ifunc(void) __attribute__((ifunc("choose")));

int counter_call(int (*f)(int), int x) { return f(x) + count; }

static void *body(void *p)
{
    int (*f)(void) = (int (*)(void))p;
    return (void *)(long)f();
}

/* What f returns in a thread of the library's own. */
int counter_in_thread(int (*f)(void))
{
    pthread_t t;
    void *r;
    if (pthread_create(&t, 0, body, (void *)f) || pthread_join(t, &r)) return -1;
    return (int)(long)r;
}

int version_1(void) { return 1; }
int version_2(void) { return 2; }
__asm__(".symver version_1, counter_version@COUNTER_1");
__asm__(".symver version_2, counter_version@@COUNTER_2");
