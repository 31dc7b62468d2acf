/* bench/coexec/common.c - options, time and output of a benchmark.  SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <errno.h>
#include <getopt.h>
#include <nosv.h>
#include <nosv/hwinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flow.h"

void *bench_memory(size_t count, size_t size)
{
    size_t bytes = (count * size + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, bytes ? bytes : 64);
    if (!p) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memset(p, 0, bytes);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void usage(const struct bench *b, FILE *to)
{
    fprintf(to,
        "usage: coexec-%s [--size N] [--iterations N] [--check]\n"
        "  --size N        %s, default %ld\n"
        "  --iterations N  default %ld\n"
        "  --check         compare the result with a serial computation; exit with 1 if it is wrong\n",
        b->name, b->size_is, b->size, b->iterations);
}

static long number(const struct bench *b, const char *text)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (!errno && end != text && !*end && n > 0 && n < 1L << 40) return n;
    fprintf(stderr, "coexec-%s: '%s' is no number above 0\n", b->name, text);
    exit(2);
}

int bench_main(const struct bench *b, int argc, char **argv)
{
    static const struct option options[] = {{"size", required_argument, NULL, 's'}, {"iterations", required_argument, NULL, 'i'},
        {"check", no_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {0}};
    long size = b->size, iterations = b->iterations;
    bool check = false;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (o) {
        case 's': size = number(b, optarg); break;
        case 'i': iterations = number(b, optarg); break;
        case 'c': check = true; break;
        case 'h': usage(b, stdout); return 0;
        default: usage(b, stderr); return 2;
        }
    if (optind != argc) {
        usage(b, stderr);
        return 2;
    }
    if (b->multiple > 1) size = (size + b->multiple - 1) / b->multiple * b->multiple;
    flow_begin(b->name);
    int cpus = nosv_get_num_cpus();
    double t0 = now();
    b->setup(size);
    double t1 = now();
    b->run(iterations);
    double t2 = now();
    flow_end();
    printf("{\"bench\": \"%s\", \"size\": %ld, \"iterations\": %ld, \"cpus\": %d, ", b->name, size, iterations, cpus);
    printf("\"setup_seconds\": %.6f, \"seconds\": %.6f, \"checksum\": \"%.17g\"", t1 - t0, t2 - t1, b->checksum());
    double deviation = check ? b->deviation(iterations) : 0;
    bool ok = deviation <= b->tolerance;    /* false for NaN */
    if (check) printf(", \"check\": \"%s\"", ok ? "ok" : "wrong");
    puts("}");
    if (!ok) fprintf(stderr, "coexec-%s: the result deviates by %g; %g is allowed\n", b->name, deviation, b->tolerance);
    return ok && !fflush(stdout) ? 0 : 1;
}
