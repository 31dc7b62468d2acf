/* tests/share/regions.c - an OpenMP program that says how large its teams are.  SPDX-License-Identifier: Apache-2.0
 *
 * Each line on its standard input begins a round of regions; the answer is one line of NAME=NUMBER.
 * usage: regions [set N]    set: by omp_set_num_threads first */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int plain(void)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    n = omp_get_num_threads();
    return n;
}

static int asked(int want)
{
    int n = 0;
#pragma omp parallel num_threads(want)
#pragma omp single
    n = omp_get_num_threads();
    return n;
}

static int loop(int how)
{
    int n = 0;
    long sum = 0;
    switch (how) {
    case 0:
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (int i = 0; i < 1000; i++) { sum += i; if (!i) n = omp_get_num_threads(); }
        break;
    case 1:
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 10)
        for (int i = 0; i < 1000; i++) { sum += i; if (!i) n = omp_get_num_threads(); }
        break;
    case 2:
#pragma omp parallel for reduction(+ : sum) schedule(guided)
        for (int i = 0; i < 1000; i++) { sum += i; if (!i) n = omp_get_num_threads(); }
        break;
    default:
#pragma omp parallel for reduction(+ : sum) schedule(runtime)
        for (int i = 0; i < 1000; i++) { sum += i; if (!i) n = omp_get_num_threads(); }
    }
    return sum == 499500 ? n : -1;
}

static int sections(void)
{
    int n = 0, m = 0;
#pragma omp parallel sections
    {
#pragma omp section
        n = omp_get_num_threads();
#pragma omp section
        m = 1;
    }
    return m ? n : -1;
}

/* The size of the inner default teams, the outer one having two threads. */
static int inner(void)
{
    int n = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
#pragma omp parallel
#pragma omp single
            n = omp_get_num_threads();
        }
    }
    return n;
}

static int cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? -1 : CPU_COUNT(&set);
}

int main(int argc, char **argv)
{
    char line[64];
    if (argc > 2 && !strcmp(argv[1], "set")) omp_set_num_threads(atoi(argv[2]));
    while (fgets(line, sizeof line, stdin)) {
        printf("max=%d procs=%d online=%ld cpus=%d plain=%d asked=%d static=%d dynamic=%d guided=%d runtime=%d sections=%d inner=%d after=%d\n",
               omp_get_max_threads(), omp_get_num_procs(), sysconf(_SC_NPROCESSORS_ONLN), cpus(), plain(), asked(2), loop(0), loop(1),
               loop(2), loop(3), sections(), inner(), plain());
        fflush(stdout);
    }
    return 0;
}
