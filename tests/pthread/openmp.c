/* tests/pthread/openmp.c - OpenMP: regions, nesting, tasks, barriers, locks.  SPDX-License-Identifier: Apache-2.0
 *
 * Built by gcc (libgomp) and by clang (libomp); run with every OMP_WAIT_POLICY. */
#include "stress.h"

#include <omp.h>

static void loops(void)
{
    enum { N = 20000 };
    static int a[N];
    for (long r = 0; r < rounds / 40 + 1; r++) {
        long sum = 0;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++)
            a[i] = i;
/* Monotonic: libomp steals otherwise, and its thieves fail an assertion now and then, bare too (LLVM's issue 86995). */
#pragma omp parallel for schedule(monotonic : dynamic, 500) reduction(+ : sum)
        for (int i = 0; i < N; i++)
            sum += a[i];
        CHECK_EQ(sum, (long)N * (N - 1) / 2);
        sum = 0;
#pragma omp parallel for schedule(guided) reduction(+ : sum)
        for (int i = 0; i < N; i++)
            sum += a[i] & 1;
        CHECK_EQ(sum, N / 2);
    }
}

static void barriers(void)
{
    static long slot[MAX_THREADS];
    long cycles = share();
    memset(slot, 0, sizeof slot);
#pragma omp parallel num_threads(threads)
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        for (long c = 1; c <= cycles; c++) {
            slot[me] = c;
#pragma omp barrier
            for (int i = 0; i < n; i++)
                CHECK_EQ(slot[i], c);
#pragma omp barrier
        }
    }
}

static void locks(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    long a = 0, b = 0, c = 0, d = 0;
    int n = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(threads)
    {
#pragma omp single
        n = omp_get_num_threads();
        for (long i = 0; i < share(); i++) {
            if (i % 4 || !omp_test_lock(&lock))
                omp_set_lock(&lock);
            a++;
            omp_unset_lock(&lock);
            omp_set_nest_lock(&nest);
            omp_set_nest_lock(&nest);
            b++;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
#pragma omp critical
            c++;
#pragma omp atomic
            d++;
        }
    }
    CHECK_EQ(a, n * share());
    CHECK_EQ(b, a);
    CHECK_EQ(c, a);
    CHECK_EQ(d, a);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
}

static long fib(int n)
{
    long x, y;
    if (n < 2)
        return n;
#pragma omp task shared(x) if (n > 6)
    x = fib(n - 1);
#pragma omp task shared(y) if (n > 6)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

static void tasks(void)
{
    long f = 0, order = 0, sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        f = fib(14);
        for (int i = 0; i < 100; i++)
#pragma omp task depend(inout : order) firstprivate(i)
        {
            CHECK_EQ(order, i);
            order++;
        }
#pragma omp taskgroup
        for (int i = 0; i < 200; i++)
#pragma omp task
        {
#pragma omp atomic
            sum += 1;
        }
        CHECK_EQ(sum, 200);
    }
    CHECK_EQ(f, 377);
    CHECK_EQ(order, 100);
}

static void sections_and_ordered(void)
{
    int seen[3] = { 0 }, last = -1;
#pragma omp parallel sections num_threads(threads)
    {
#pragma omp section
        seen[0]++;
#pragma omp section
        seen[1]++;
#pragma omp section
        seen[2]++;
    }
    CHECK(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
#pragma omp parallel for ordered schedule(dynamic) num_threads(threads)
    for (int i = 0; i < 100; i++) {
#pragma omp ordered
        {
            CHECK_EQ(last, i - 1);
            last = i;
        }
    }
    CHECK_EQ(last, 99);
}

static void nested(void)
{
    int outer = threads < 4 ? threads : 4, inner = threads / outer < 8 ? threads / outer : 8;
    omp_set_max_active_levels(3);
    for (long r = 0; r < rounds / 400 + 1; r++) {
        long count = 0, expected = 0;
#pragma omp parallel num_threads(outer) reduction(+ : expected)
        {
#pragma omp parallel num_threads(inner) reduction(+ : expected)
            {
                expected += 1;
#pragma omp atomic
                count++;
#pragma omp barrier
#pragma omp atomic
                count++;
            }
        }
        CHECK_EQ(count, 2 * expected);
        CHECK(expected >= 1 && expected <= outer * inner);
    }
    omp_set_max_active_levels(1);
}

/* Threads of the user's own, each with its team. */
static void *team(void *arg)
{
    long sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i;
    CHECK_EQ(sum, 499500);
    return NULL;
}

int main(int argc, char **argv)
{
    stress_start(argc, argv, 2000);
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
    loops();
    barriers();
    locks();
    tasks();
    sections_and_ordered();
    nested();
    for (int i = 0; i < 4; i++)
        run_n(threads < 8 ? threads : 8, team, NULL);
    return 0;
}
