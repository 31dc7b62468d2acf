/* tests/nosv/omp.c - OpenMP and BLAS in tasks, and tasks in parallel regions; each result is checked.  SPDX-License-Identifier: Apache-2.0
 *
 * The threads of OpenMP are no tasks. A task that waits for them keeps its CPU from other tasks, so no test lets them wait for
 * tasks that have not begun, unless the region is outside of tasks. */
#include <dlfcn.h>
#include <omp.h>
#include <semaphore.h>

#include "nosv_test.h"

#define TASKS 40
#define THREADS 4

static int completions;
static void counts(nosv_task_t task) { (void)task; add(&completions, 1); }

/* So many tasks at once, and the sum of what they add. */
static int many(nosv_task_run_callback_t run)
{
    int sum = 0;
    nosv_task_type_t type = type_of(run, NULL, counts);
    nosv_task_t tasks[TASKS];
    for (int i = 0; i < TASKS; i++) OK(nosv_submit(tasks[i] = task_of(type, &sum, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    UNTIL(get(&completions) == TASKS);
    for (int i = 0; i < TASKS; i++) OK(nosv_destroy(tasks[i], NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    return get(&sum);
}

/* ---- regions in tasks ------------------------------------------------------------------------------ */

/* A team's sum of 0 to 99, 10 times; the barriers see to it that each round is over before the next. */
static int region(int threads)
{
    int sum = 0, round = 0, wrong = 0;
    #pragma omp parallel num_threads(threads)
    for (int i = 0; i < 10; i++) {
        int had = get(&round);
        #pragma omp for reduction(+ : sum)
        for (int j = 0; j < 100; j++) sum += j;
        if (had != i) add(&wrong, 1);
        #pragma omp single
        add(&round, 1);
        #pragma omp critical
        sum++;
        #pragma omp barrier
    }
    CHECK_EQ(wrong, 0);
    return sum;
}
#define REGION (10 * (4950 + THREADS))

static void opens_region(nosv_task_t task) { add(pointer_of(task), region(THREADS)); }
static void region_in_task(void) { CHECK_EQ(many(opens_region), TASKS * REGION); }

static void opens_two(nosv_task_t task)
{
    omp_set_max_active_levels(2);       /* of this thread's regions */
    #pragma omp parallel num_threads(2)
    add(pointer_of(task), region(THREADS));
}
static void regions_nested(void) { CHECK_EQ(many(opens_two), TASKS * 2 * REGION); }

/* Between its regions a task lets others execute; it goes on as the same thread. */
static void opens_and_yields(nosv_task_t task)
{
    for (int i = 0; i < 3; i++) {
        pid_t thread = thread_id();
        add(pointer_of(task), region(THREADS));
        OK(i == 1 ? nosv_waitfor(100000, NULL) : nosv_yield(NOSV_YIELD_NONE));
        CHECK_EQ(thread_id(), thread);
    }
}
static void region_and_yield(void) { CHECK_EQ(many(opens_and_yields), TASKS * 3 * REGION); }

static int fibonacci(int n)
{
    int a, b;
    if (n < 2) return n;
    #pragma omp task shared(a)
    a = fibonacci(n - 1);
    b = fibonacci(n - 2);
    #pragma omp taskwait
    return a + b;
}

static void has_omp_tasks(nosv_task_t task)
{
    #pragma omp parallel num_threads(THREADS)
    #pragma omp single
    add(pointer_of(task), fibonacci(10));
}
static void omp_tasks_in_task(void) { CHECK_EQ(many(has_omp_tasks), TASKS * 55); }

/* A thread of the region pauses the task that has opened it; another one submits that. */
static void pauses_inside(nosv_task_t task)
{
    #pragma omp parallel num_threads(THREADS)
    {
        if (omp_get_thread_num() == 0) {
            CHECK(nosv_self() == task);
            OK(nosv_pause(NOSV_PAUSE_NONE));
        } else {
            CHECK(!nosv_self());
            if (omp_get_thread_num() == 1) OK(nosv_submit(task, NOSV_SUBMIT_NONE));
        }
        add(pointer_of(task), 1);
    }
}
static void pause_in_region(void) { CHECK_EQ(many(pauses_inside), TASKS * THREADS); }

/* ---- tasks in regions ------------------------------------------------------------------------------ */

struct group { sem_t ended; int left, sum; nosv_task_t waiter; };

static void adds(nosv_task_t task) { struct group *g = pointer_of(task); add(&g->sum, region(2)); }
static void leaves(nosv_task_t task)
{
    struct group *g = pointer_of(task);
    OK(nosv_destroy(task, NOSV_DESTROY_NONE));
    if (add(&g->left, -1)) return;
    if (g->waiter) OK(nosv_submit(g->waiter, NOSV_SUBMIT_NONE));
    else CHECK_EQ(sem_post(&g->ended), 0);
}

/* Each thread has tasks of its own, which open regions in their turn; between two rounds the threads meet. */
static void tasks_in(bool attached)
{
    nosv_task_type_t type = type_of(adds, NULL, leaves);
    int sum = 0, teams = 0;
    #pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    for (int i = 0; i < 5; i++) {
        struct group g = {.left = 10};
        CHECK_EQ(sem_init(&g.ended, 0, 0), 0);
        if (attached) g.waiter = attach();
        for (int j = 0; j < 10; j++) OK(nosv_submit(task_of(type, &g, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        if (attached) OK(nosv_pause(NOSV_PAUSE_NONE));
        else while (sem_wait(&g.ended)) continue;
        if (attached) OK(nosv_detach(NOSV_DETACH_NONE));        /* a thread at OpenMP's barrier must hold no CPU */
        sum += g.sum;
        #pragma omp barrier
        #pragma omp single
        teams += omp_get_num_threads();
    }
    CHECK_EQ(teams, 5 * THREADS);
    CHECK_EQ(sum, 5 * THREADS * 10 * 10 * (4950 + 2));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}
static void tasks_in_region(void) { tasks_in(false); }
static void tasks_in_region_attached(void) { tasks_in(true); }

/* ---- a BLAS below ---------------------------------------------------------------------------------- */

#define N 160
static void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
static double left[N * N], right[N * N], expected[N * N];

static void multiplies(nosv_task_t task)
{
    double *product = calloc(N * N, sizeof *product);
    CHECK(product);
    dgemm(101, 111, 111, N, N, N, 1.0, left, N, right, N, 0.0, product, N);
    if (!memcmp(product, expected, sizeof expected)) add(pointer_of(task), 1);
    free(product);
}

/* Of small integers, so that any order of summation has the same result. */
static void blas(void)
{
    const char *path = getenv("BLAS");
    if (!path) return;
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    CHECK(lib);
    void (*set_threads)(int);
    *(void **)&dgemm = dlsym(lib, "cblas_dgemm");
    *(void **)&set_threads = dlsym(lib, "openblas_set_num_threads");
    CHECK(dgemm && set_threads);
    set_threads(THREADS);
    for (int i = 0; i < N * N; i++) {
        left[i] = i * 7 % 11 - 5;
        right[i] = i * 3 % 13 - 6;
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) expected[i * N + j] += left[i * N + k] * right[k * N + j];
    CHECK_EQ(many(multiplies), TASKS);
}

static const struct test_case cases[] = {
    {"region-in-task", region_in_task}, {"regions-nested", regions_nested}, {"region-and-yield", region_and_yield},
    {"omp-tasks-in-task", omp_tasks_in_task}, {"pause-in-region", pause_in_region}, {"tasks-in-region", tasks_in_region},
    {"tasks-in-region-attached", tasks_in_region_attached}, {"blas", blas},
};

int main(int argc, char **argv) { return run_cases(cases, sizeof(cases) / sizeof(*cases), true, argc, argv); }
