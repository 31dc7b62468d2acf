/* bench/workloads/workload.h - what the workload programs share.  SPDX-License-Identifier: Apache-2.0
 *
 * A workload is an ordinary program: it knows nothing of usf, takes `--name value` options, and
 * prints two lines that bench/run.py reads:
 *
 *   begin  bench=NAME work=W unit=U ...     before the measured part; W = its smallest result in U
 *   result bench=NAME rate=R unit=U/s seconds=S ok=1 ...
 *
 * The first one lets the runner state an upper bound (W / timeout) for a run that it had to cut.
 * The exit status is 1 if the program's own check of its result failed.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(2);
}

static inline const char *opt_str(int argc, char **argv, const char *name, const char *def)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name)) return argv[i + 1];
    return def;
}

static inline double opt_num(int argc, char **argv, const char *name, double def)
{
    const char *s = opt_str(argc, argv, name, NULL);
    if (!s) return def;
    char *end;
    double v = strtod(s, &end);
    if (end == s || *end) {
        fprintf(stderr, "%s: not a number: %s\n", name, s);
        exit(2);
    }
    return v;
}

static inline long opt_long(int argc, char **argv, const char *name, long def)
{ return (long)opt_num(argc, argv, name, (double)def); }

/* A misspelt option must not measure something else in silence: every word that starts with `--`
 * has to be in the list (separated by blanks) and has to have a value. */
static inline void opt_check(int argc, char **argv, const char *known)
{
    for (int i = 1; i < argc; i += 2) {
        size_t len = strlen(argv[i]);
        const char *hit = strstr(known, argv[i]);
        while (hit && ((hit != known && hit[-1] != ' ') || (hit[len] != ' ' && hit[len]))) hit = strstr(hit + 1, argv[i]);
        if (len < 3 || !hit || i + 1 >= argc) {
            fprintf(stderr, "%s: bad option or missing value: %s\nusage: %s [--option value]... with: %s\n", argv[0],
                    argv[i], argv[0], known);
            exit(2);
        }
    }
}

/* ---- A known amount of computing, in iterations of a dependent chain (no memory, no calls). ---- */
static inline uint64_t work_chain(uint64_t x, uint64_t loops)
{
    for (uint64_t i = 0; i < loops; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* Loops per microsecond: the best of many short runs, so that interruptions do not count. */
static inline double work_calibrate(void)
{
    double best = 0;
    for (int i = 0; i < 100; i++) {
        double t0 = now_s();
        (void)work_chain((uint64_t)i, 20000);
        double r = 20000 / ((now_s() - t0) * 1e6);
        if (r > best) best = r;
    }
    return best;
}

/* Option --loops-per-us fixes it, so that all runs of a comparison do the same work. */
static inline double work_speed(int argc, char **argv)
{
    double v = opt_num(argc, argv, "--loops-per-us", 0);
    return v > 0 ? v : work_calibrate();
}

static inline void begin_line(const char *bench, double work, const char *unit)
{
    printf("begin bench=%s work=%.6g unit=%s\n", bench, work, unit);
    fflush(stdout);
}

/* Prints the result line up to `ok`; the caller may add `key=value` pairs first. */
static inline int result_line(const char *bench, double amount, double seconds, const char *unit, int ok,
                              const char *more)
{
    printf("result bench=%s rate=%.6g unit=%s/s seconds=%.6f ok=%d %s\n", bench, amount / seconds, unit, seconds, ok,
           more);
    fflush(stdout);
    return ok ? 0 : 1;
}

#endif
