/* tests/futex/main.c - differential futex test: print what futex calls return.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: futex_diff SCENARIO [SEED].  The log on stdout must be the same bare and under usf; diff.sh
 * compares.  Exit status 0, 1 when something hangs, 77 when the kernel or the user lacks what is needed.
 */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct { const char *name; void (*fn)(uint64_t); } scenarios[] = {
    { "errors", scenario_errors },     { "random", scenario_random },
    { "random-shared", scenario_random_shared }, { "signals", scenario_signals },
    { "timeouts", scenario_timeouts }, { "shared", scenario_shared },
    { "pi", scenario_pi },             { "robust", scenario_robust },
    { "waitv", scenario_waitv },       { "futex2", scenario_futex2 },
    { "futex2-apart", scenario_futex2_apart },
};

int main(int argc, char **argv)
{
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++)
        if (!strcmp(argv[1], scenarios[i].name)) {
            alarm(120);
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
            scenarios[i].fn(seed);
            return 0;
        }
    fprintf(stderr, "usage: %s SCENARIO [SEED]; scenarios:", argv[0]);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) fprintf(stderr, " %s", scenarios[i].name);
    fputc('\n', stderr);
    return 2;
}
