/* bench/context_serial.c - is a serial computation slower in a context?  SPDX-License-Identifier: Apache-2.0
 *
 *   build/bench/context-serial [ROUNDS]        default 401
 *
 * The program's copy of a library and those of two contexts compute the same in turns, in random order.  A JSON line has the median times, and the ratio of the
 * contexts' to the program's: 1.003 is a slowdown of 0.3 %.  `same` is the ratio of the two contexts: what differs by less is noise. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <usf/context.h>

typedef double round_type(unsigned seed);

enum { KINDS = 3 };     /* the program's, those of two contexts */

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, usf_context_error());
    exit(1);
}

static double time_us(round_type *f, unsigned seed, double *result)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    *result = f(seed);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return 1e6 * (double)(to.tv_sec - from.tv_sec) + 1e-3 * (double)(to.tv_nsec - from.tv_nsec);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static round_type *look_up(void *handle)
{
    round_type *f = 0;
    if (handle) *(void **)&f = dlsym(handle, "serial_round");
    if (!f) fail("libcontext-serial.so");
    return f;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 401;
    double *times[KINDS], results[KINDS];
    if (argc > 2 || rounds < 3 || rounds > 1000000) return fprintf(stderr, "usage: context-serial [ROUNDS], 3 to 1000000\n"), 1;
    usf_context_t *c[2] = {usf_context_create(0), usf_context_create(0)};
    if (!c[0] || !c[1]) fail("usf_context_create");
    round_type *each[KINDS] = {look_up(dlopen(CONTEXT_SERIAL_LIB, RTLD_NOW)), look_up(usf_context_open(c[0], CONTEXT_SERIAL_LIB)),
                               look_up(usf_context_open(c[1], CONTEXT_SERIAL_LIB))};
    if (each[0] == each[1] || each[1] == each[2]) return fprintf(stderr, "a context has no copy\n"), 1;
    for (int k = 0; k < KINDS; k++)
        if (!(times[k] = calloc((size_t)rounds, sizeof *times[k]))) return perror("calloc"), 1;
    for (int i = -1; i < rounds; i++) {         /* the first one warms up */
        int order = rand() % KINDS, step = 1 + rand() % (KINDS - 1);
        for (int n = 0; n < KINDS; n++) {
            int k = (order + n * step) % KINDS;
            if (k) usf_context_enter(c[k - 1]);
            double t = time_us(each[k], (unsigned)i, &results[k]);
            if (k) usf_context_leave();
            if (i >= 0) times[k][i] = t;
        }
        if (results[0] != results[1] || results[0] != results[2]) return fprintf(stderr, "round %d: other results in the context\n", i), 1;
    }
    for (int k = 0; k < KINDS; k++) qsort(times[k], (size_t)rounds, sizeof *times[k], by_value);
    double median[KINDS];
    for (int k = 0; k < KINDS; k++) median[k] = times[k][rounds / 2];
    double contexts = (median[1] + median[2]) / 2;
    printf("{\"name\": \"serial\", \"unit\": \"us\", \"program\": %.4g, \"context\": %.4g, \"ratio\": %.5f, \"same\": %.5f}\n", median[0], contexts,
           contexts / median[0], median[2] / median[1]);
    return 0;
}
