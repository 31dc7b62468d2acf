/* bench/nosv-omp/inside.c - a parallel region in each task: chains of products of blocks.  SPDX-License-Identifier: Apache-2.0
 *
 * --tasks chains of tasks, whose tasks multiply two blocks and add the product to the chain's own; so as
 * many tasks are ready at once. A team of --threads threads computes each product. */
#include "../coexec/flow.h"
#include "../workloads/workload.h"
#include "inner.h"

#define INPUTS 4

static long n, length;
static double *inputs[2][INPUTS], **results;
static _Thread_local double *panels;

struct step { long chain, k; };

static void multiply(void *arg)
{
    const struct step *s = arg;
    if (!panels && !(panels = aligned_alloc(64, product_panels(n)))) die("out of memory");
    struct product p = {n, results[s->chain], inputs[0][s->k % INPUTS], inputs[1][(s->chain + s->k) % INPUTS], panels};
    inner_multiply(&p);
}

static void run(long chains, long steps)
{
    for (long k = 0; k < steps; k++)
        for (long c = 0; c < chains; c++) {
            struct step s = {c, k};
            FLOW_TASK(multiply, s, {results[c], FLOW_OUT});
        }
    flow_wait();
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--tasks --threads --block --gflop --blas");
    long chains = opt_long(argc, argv, "--tasks", 2), threads = opt_long(argc, argv, "--threads", 2);
    double gflop = opt_num(argc, argv, "--gflop", 2);
    n = opt_long(argc, argv, "--block", 128);
    if (chains < 1 || threads < 1 || n < PANEL || n % PANEL) die("--block must be a multiple of 64, --tasks and --threads positive");
    double each = 2e-9 * (double)n * (double)n * (double)n * (double)chains;
    length = gflop > each ? (long)(gflop / each + 0.5) : 1;
    results = calloc((size_t)chains, sizeof *results);
    if (!results) die("out of memory");
    for (long c = 0; c < chains; c++) results[c] = product_block(n, 0);
    for (long i = 0; i < INPUTS; i++) {
        inputs[0][i] = product_block(n, i + 1);
        inputs[1][i] = product_block(n, i + 1 + INPUTS);
    }
    flow_begin("nosv-omp");
    inner_start((int)threads, opt_str(argc, argv, "--blas", NULL));
    run(chains, 2);                 /* makes the teams */
    begin_line("inside", each * (double)length, "GFLOP");
    double t0 = now_s();
    run(chains, length);
    double seconds = now_s() - t0, sum = 0;
    inner_stop();
    flow_end();
    for (long c = 0; c < chains; c++) sum += product_sum(n, results[c]);
    char more[120];
    snprintf(more, sizeof more, "inner=%s checksum=%.17g", inner_name, sum);
    return result_line("inside", each * (double)length, seconds, "GFLOP", 1, more);
}
