/* tests/teams/module.c - a library with parallel regions, for one OpenMP runtime or the other.  SPDX-License-Identifier: Apache-2.0
 *
 * Each function answers with the size of a team. */
#include <omp.h>

int m_plain(void), m_asked(int), m_nested(void), m_serial(int), m_league(void), m_task(void), m_tail(void), m_inactive(void);
void m_dynamic(int);

int m_plain(void)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    n = omp_get_num_threads();
    return n;
}

int m_asked(int want)
{
    int n = 0;
#pragma omp parallel num_threads(want)
#pragma omp single
    n = omp_get_num_threads();
    return n;
}

/* Of an inner default team. */
int m_nested(void)
{
    int n = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp single
    n = m_plain();
    return n;
}

/* Inside a region of one thread, which is one nevertheless. */
int m_inactive(void)
{
    int n = 0;
#pragma omp parallel if (0)
    n = m_plain();
    return n;
}

/* A size that is said for a region that is none: the next one has not said any. */
int m_serial(int want)
{
    int n = 0;
#pragma omp parallel num_threads(want) if (want < 0)
    n = omp_get_num_threads();
    return n == 1 ? m_plain() : -1;
}

/* Two teams, each with a default region in it: the sum of their sizes. */
int m_league(void)
{
    int sum = 0;
#pragma omp teams num_teams(2) reduction(+ : sum)
    {
        int n = 0;
#pragma omp parallel
#pragma omp single
        n = omp_get_num_threads();
        sum += omp_get_num_teams() == 2 ? n : -100;
    }
    return sum;
}

/* In a task of a region. */
int m_task(void)
{
    int n = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task shared(n)
    n = m_plain();
    return n;
}

void m_dynamic(int is) { omp_set_dynamic(is); }

/* The runtime's entry is reached by a jump, so the return address is that of the caller's caller. */
#ifdef __clang__
int m_tail(void) { return m_plain(); }
#else
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
static void count(void *n) { if (omp_get_thread_num() == 0) *(int *)n = omp_get_num_threads(); }
static int size;
__attribute__((noinline, optimize("O2"))) void m_jump(void) { GOMP_parallel(count, &size, 0, 0); }
int m_tail(void) { m_jump(); return size; }
#endif
