/* bench/context_bench.c - what library contexts cost.  SPDX-License-Identifier: Apache-2.0
 *
 *   build/bench/context-bench [--rounds N] [NAME...]       a JSON line per measurement; without NAME all
 *
 * Each is repeated; the line has the median and the extremes per operation.  What begins with native- is the same without contexts.  The program is
 * linked with the stub of bench/context_lib/context_lib.c, and with a copy of that library under another name for comparison. */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <usf/context.h>

#include "context_lib.h"

static int rounds = 9;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, usf_context_error());
    exit(1);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static usf_context_t *a, *b;

static void direct_calls(long n) { while (n--) direct_nothing(); }
static void stub_calls(long n) { while (n--) stub_nothing(); }
static void switches(long n)
{
    while (n--) {
        usf_context_enter(a);
        usf_context_leave();
    }
}
/* Calls that go to another context each time: what the processor expects is wrong. */
static void alternating_calls(long n)
{
    while (n--) {
        usf_context_enter(n & 1 ? a : b);
        stub_nothing();
        usf_context_leave();
    }
}
static void native_getaffinity(long n)
{
    cpu_set_t set;
    while (n--) sched_getaffinity(0, sizeof set, &set);
}
static void native_cpuinfo(long n)
{
    while (n--) close(open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC));
}
static void native_null(long n)
{
    while (n--) close(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static usf_context_t *made[4096];
static void creates(long n)
{
    for (long i = 0; i < n; i++)
        if (!(made[i] = usf_context_create(0))) fail("usf_context_create");
}
static void after_creates(long n)
{
    while (n--) usf_context_destroy(made[n]);
}
static void opens(long n)
{
    for (long i = 0; i < n; i++)
        if (!(made[i] = usf_context_create(0)) || !usf_context_open(made[i], "libcontext-bench.so")) fail("usf_context_open");
}
static void first_calls(long n)
{
    for (long i = 0; i < n; i++) {
        usf_context_enter(made[i]);
        stub_nothing();
        usf_context_leave();
    }
}

static const struct bench { const char *name, *unit; void (*run)(long), (*before)(long), (*after)(long); long n; double scale; bool inside; } benches[] = {
    {"native-call", "ns", direct_calls, 0, 0, 20000000, 1, false},
    {"stub-call", "ns", stub_calls, 0, 0, 20000000, 1, false},
    {"stub-call-in-context", "ns", stub_calls, 0, 0, 20000000, 1, true},
    {"enter-leave", "ns", switches, 0, 0, 5000000, 1, false},
    {"enter-call-leave-alternating", "ns", alternating_calls, 0, 0, 2000000, 1, false},
    {"create", "us", creates, 0, after_creates, 1000, 1e-3, false},
    {"create-open", "us", opens, 0, after_creates, 20, 1e-3, false},
    {"first-stub-call", "us", first_calls, opens, after_creates, 20, 1e-3, false},
    {"native-sched_getaffinity", "ns", native_getaffinity, 0, 0, 1000000, 1, false},
    {"sched_getaffinity-in-context", "ns", stub_getaffinity, 0, 0, 1000000, 1, true},
    {"native-open-cpuinfo", "ns", native_cpuinfo, 0, 0, 100000, 1, false},
    {"open-cpuinfo-in-context", "ns", stub_open_cpuinfo, 0, 0, 20000, 1, true},
    {"native-open-null", "ns", native_null, 0, 0, 200000, 1, false},
    {"open-null-in-context", "ns", stub_open_null, 0, 0, 200000, 1, true},
    {0}};

static void measure(const struct bench *k)
{
    double v[64];
    if (k->inside) usf_context_enter(a);
    for (int i = -1; i < rounds; i++) {         /* the first one warms up */
        if (k->before) k->before(k->n);
        double from = now_ns();
        k->run(k->n);
        if (i >= 0) v[i] = k->scale * (now_ns() - from) / (double)k->n;
        if (k->after) k->after(k->n);
    }
    if (k->inside) usf_context_leave();
    qsort(v, (size_t)rounds, sizeof *v, by_value);
    printf("{\"name\": \"%s\", \"unit\": \"%s\", \"median\": %.4g, \"min\": %.4g, \"max\": %.4g}\n", k->name, k->unit, v[rounds / 2], v[0], v[rounds - 1]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--rounds") == 0) {
        rounds = atoi(argv[2]);
        first = 3;
    }
    if (rounds < 1 || rounds > 64) return fprintf(stderr, "--rounds: 1 to 64\n"), 1;
    a = usf_context_create(&(struct usf_context_options){.cpus = "0"});
    b = usf_context_create(0);
    if (!a || !b) fail("usf_context_create");
    for (const struct bench *k = benches; k->name; k++) {
        bool wanted = first == argc;
        for (int i = first; i < argc; i++) wanted |= strcmp(argv[i], k->name) == 0;
        if (wanted) measure(k);
    }
    return 0;
}
