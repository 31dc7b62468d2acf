/* bench/context_serial.c - is a serial computation slower in a context?  SPDX-License-Identifier: Apache-2.0
 *
 *   build/bench/context-serial [ROUNDS]        default 401
 *
 * The program's copy of a library and a context's compute the same in turns; which of the two is first changes with each round.  A JSON line has the median times and
 * their ratio: 1.003 is a slowdown of 0.3 %.  `same` is the ratio of the program's copy to itself, measured in the same way: what differs by less is noise. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <usf/context.h>

typedef double round_type(unsigned seed);

enum { KINDS = 3 };     /* the program's, the program's once more, the context's */

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
    usf_context_t *c = usf_context_create(0);
    if (!c) fail("usf_context_create");
    round_type *base = look_up(dlopen(CONTEXT_SERIAL_LIB, RTLD_NOW)), *copy = look_up(usf_context_open(c, CONTEXT_SERIAL_LIB)), *each[KINDS] = {base, base, copy};
    if (copy == base) return fprintf(stderr, "the context has no copy\n"), 1;
    for (int k = 0; k < KINDS; k++)
        if (!(times[k] = calloc((size_t)rounds, sizeof *times[k]))) return perror("calloc"), 1;
    usf_context_enter(c);
    for (int i = -1; i < rounds; i++) {         /* the first one warms up */
        for (int n = 0; n < KINDS; n++) {
            int k = (n + i + KINDS) % KINDS;
            double t = time_us(each[k], (unsigned)i, &results[k]);
            if (i >= 0) times[k][i] = t;
        }
        if (results[0] != results[2]) return fprintf(stderr, "round %d: other results in the context\n", i), 1;
    }
    usf_context_leave();
    for (int k = 0; k < KINDS; k++) qsort(times[k], (size_t)rounds, sizeof *times[k], by_value);
    double median[KINDS];
    for (int k = 0; k < KINDS; k++) median[k] = times[k][rounds / 2];
    printf("{\"name\": \"serial\", \"unit\": \"us\", \"program\": %.4g, \"context\": %.4g, \"ratio\": %.5f, \"same\": %.5f}\n", median[0], median[2], median[2] / median[0],
           median[1] / median[0]);
    return 0;
}
