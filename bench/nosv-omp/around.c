/* bench/nosv-omp/around.c - tasks inside a parallel region.  SPDX-License-Identifier: Apache-2.0
 *
 * Each of --threads threads submits --tasks tasks in each round, each of which multiplies two blocks alone,
 * and waits for them; then the threads meet at a barrier. --wait says how a thread waits: task: it is
 * attached and pauses; thread: by a semaphore. */
#include <nosv.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "../workloads/workload.h"
#include "around.h"
#include "product.h"

#define INPUTS 4

static long n, tasks;
static double *inputs[2][INPUTS];
static _Thread_local double *panels;

/* Of one thread. A task's number is its place in the list. */
static struct batch { nosv_task_t self, *list; double **results; sem_t ended; _Atomic long left; bool attached; long k; } *batches;
struct place { struct batch *batch; long i; };

static void must(int result)
{
    if (result != NOSV_SUCCESS) die(nosv_get_error_string(result));
}

static void multiply(nosv_task_t task)
{
    const struct place *at = nosv_get_task_metadata(task);
    struct batch *b = at->batch;
    if (!panels && !(panels = aligned_alloc(64, product_panels(n)))) die("out of memory");
    struct product p = {n, b->results[at->i], inputs[0][b->k % INPUTS], inputs[1][(at->i + b->k) % INPUTS], panels};
    product_part(&p, 0, 1, NULL);
}

/* From here on the task may be submitted again. */
static void completed(nosv_task_t task)
{
    struct batch *b = ((const struct place *)nosv_get_task_metadata(task))->batch;
    if (atomic_fetch_sub(&b->left, 1) != 1) return;
    if (b->attached) must(nosv_submit(b->self, NOSV_SUBMIT_NONE));
    else sem_post(&b->ended);
}

static void submit_and_wait(int me)
{
    struct batch *b = &batches[me];
    b->self = nosv_self();
    b->k++;
    atomic_store(&b->left, tasks);
    for (long i = 0; i < tasks; i++) must(nosv_submit(b->list[i], NOSV_SUBMIT_NONE));
    if (b->attached) must(nosv_pause(NOSV_PAUSE_NONE));
    else while (sem_wait(&b->ended)) continue;
}

static void prepare(nosv_task_type_t type, long threads, bool attached)
{
    batches = calloc((size_t)threads, sizeof *batches);
    if (!batches) die("out of memory");
    for (struct batch *b = batches; b < batches + threads; b++) {
        b->list = calloc((size_t)tasks, sizeof(nosv_task_t));
        b->results = calloc((size_t)tasks, sizeof(double *));
        if (!b->list || !b->results || sem_init(&b->ended, 0, 0)) die("out of memory");
        b->attached = attached;
        for (long i = 0; i < tasks; i++) {
            must(nosv_create(&b->list[i], type, sizeof(struct place), NOSV_CREATE_NONE));
            *(struct place *)nosv_get_task_metadata(b->list[i]) = (struct place){b, i};
            b->results[i] = product_block(n, 0);
        }
    }
}

static double finish(long threads)
{
    double sum = 0;
    for (struct batch *b = batches; b < batches + threads; b++)
        for (long i = 0; i < tasks; i++) {
            must(nosv_destroy(b->list[i], NOSV_DESTROY_NONE));
            sum += product_sum(n, b->results[i]);
        }
    return sum;
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--tasks --threads --block --gflop --wait");
    tasks = opt_long(argc, argv, "--tasks", 2);
    long threads = opt_long(argc, argv, "--threads", 2);
    double gflop = opt_num(argc, argv, "--gflop", 2);
    n = opt_long(argc, argv, "--block", 128);
    const char *wait = opt_str(argc, argv, "--wait", "task");
    bool attached = !strcmp(wait, "task");
    if (!attached && strcmp(wait, "thread")) die("--wait: task or thread");
    if (tasks < 1 || threads < 1 || n < PANEL || n % PANEL) die("--block must be a multiple of 64, --tasks and --threads positive");
    double each = 2e-9 * (double)n * (double)n * (double)n * (double)(tasks * threads);
    long rounds = gflop > each ? (long)(gflop / each + 0.5) : 1;
    for (long i = 0; i < INPUTS; i++) {
        inputs[0][i] = product_block(n, i + 1);
        inputs[1][i] = product_block(n, i + 1 + INPUTS);
    }
    nosv_task_type_t type;
    must(nosv_init());
    must(nosv_type_init(&type, multiply, NULL, completed, "nosv-omp", NULL, NULL, NOSV_TYPE_INIT_NONE));
    prepare(type, threads, attached);
    around_run((int)threads, 2, attached, submit_and_wait);     /* makes the team */
    begin_line("around", each * (double)rounds, "GFLOP");
    double t0 = now_s();
    around_run((int)threads, rounds, attached, submit_and_wait);
    double seconds = now_s() - t0, sum = finish(threads);
    must(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    must(nosv_shutdown());
    char more[120];
    snprintf(more, sizeof more, "outer=%s checksum=%.17g", around_name, sum);
    return result_line("around", each * (double)rounds, seconds, "GFLOP", 1, more);
}
