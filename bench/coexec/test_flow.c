/* bench/coexec/test_flow.c - the flow layer keeps the order that dependencies ask for.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "../../tests/check.h"
#include "flow.h"

#define TASKS 10000

/* ---- tasks -------------------------------------------------------------------------------------- */

static int cell, order[TASKS];
static _Atomic int ended, readers_ended, wrong;

struct arg { int number; };

/* Writers of one cell run one after the other, in the order of creation. */
static void write_next(void *p)
{
    const struct arg *a = p;
    if (cell != a->number) atomic_fetch_add(&wrong, 1);
    cell = a->number + 1;
    atomic_fetch_add(&ended, 1);
}

static void test_chain(void)
{
    cell = 0;
    atomic_store(&ended, 0);
    for (int i = 0; i < TASKS; i++) {
        struct arg a = {i};
        FLOW_TASK(write_next, a, {&cell, FLOW_OUT});
    }
    flow_wait();
    CHECK_EQ(atomic_load(&ended), TASKS);
    CHECK_EQ(cell, TASKS);
    CHECK_EQ(atomic_load(&wrong), 0);
}

/* Readers run between the writers before and after them. */
static void read_cell(void *p)
{
    const struct arg *a = p;
    if (cell != a->number) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&readers_ended, 1);
}

static void write_after_readers(void *p)
{
    const struct arg *a = p;
    if (atomic_load(&readers_ended) != 7 * a->number) atomic_fetch_add(&wrong, 1);
    cell = a->number + 1;
}

static void test_readers(void)
{
    cell = 0;
    atomic_store(&readers_ended, 0);
    for (int i = 0; i < TASKS / 8; i++) {
        struct arg w = {i}, r = {i + 1};
        FLOW_TASK(write_after_readers, w, {&cell, FLOW_OUT});
        for (int k = 0; k < 7; k++) FLOW_TASK(read_cell, r, {&cell, FLOW_IN});
    }
    flow_wait();
    CHECK_EQ(atomic_load(&readers_ended), TASKS / 8 * 7);
    CHECK_EQ(atomic_load(&wrong), 0);
}

/* A grid: a cell is 1 + the larger one of its upper and left neighbours. */
#define SIDE 100
static int grid[SIDE][SIDE];

struct at { int i, j; };

static void fill(void *p)
{
    const struct at *a = p;
    int up = a->i ? grid[a->i - 1][a->j] : 0, left = a->j ? grid[a->i][a->j - 1] : 0;
    grid[a->i][a->j] = 1 + (up > left ? up : left);
}

static void test_wavefront(void)
{
    memset(grid, 0, sizeof grid);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            struct at a = {i, j};
            struct flow_access all[3] = {{&grid[i][j], FLOW_OUT}};
            size_t n = 1;
            if (i) all[n++] = (struct flow_access){&grid[i - 1][j], FLOW_IN};
            if (j) all[n++] = (struct flow_access){&grid[i][j - 1], FLOW_IN};
            flow_task(fill, &a, sizeof a, all, n);
        }
    flow_wait();
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) CHECK_EQ(grid[i][j], i + j + 1);
}

/* One address twice in a task, tasks without addresses, and a wait without tasks. */
static void count(void *p)
{
    const struct arg *a = p;
    order[a->number]++;
}

static void test_odd(void)
{
    flow_wait();
    for (int i = 0; i < TASKS; i++) {
        struct arg a = {i};
        if (i % 2) FLOW_TASK(count, a, {&cell, FLOW_IN}, {&cell, FLOW_OUT}, {&cell, FLOW_IN});
        else flow_task(count, &a, sizeof a, NULL, 0);
    }
    flow_wait();
    flow_wait();
    for (int i = 0; i < TASKS; i++) CHECK_EQ(order[i], 1);
}

/* ---- loops -------------------------------------------------------------------------------------- */

static int visits[TASKS];

static void visit(void *arg, long from, long to)
{
    CHECK_EQ(*(int *)arg, 42);
    for (long i = from; i < to; i++) visits[i]++;
}

static double part(void *arg, long from, long to)
{
    double sum = 0;
    for (long i = from; i < to; i++) sum += 1.0 / (double)(i + 1);
    return sum;
}

static double least(void *arg, long from, long to) { return (double)(from < 70 && to > 70 ? -70 : from); }

static void test_loops(void)
{
    int arg = 42;
    flow_for(0, 7, visit, &arg);
    flow_for(1, 7, visit, &arg);
    flow_for(TASKS, 7, visit, &arg);
    flow_for(TASKS, TASKS, visit, &arg);
    flow_for(TASKS, 2 * TASKS, visit, &arg);
    for (int i = 0; i < TASKS; i++) CHECK_EQ(visits[i], 3 + !i);
    double sum = 0;
    for (long i = 0; i < TASKS; i += 7) sum += part(NULL, i, i + 7 < TASKS ? i + 7 : TASKS);
    for (int i = 0; i < 20; i++) CHECK(flow_sum(TASKS, 7, part, NULL) == sum);
    CHECK(flow_sum(0, 7, part, NULL) == 0);
    CHECK(flow_min(TASKS, 9, least, NULL) == -70);
}

int main(void)
{
    alarm(60);
    for (int i = 0; i < 2; i++) {
        flow_begin("test");
        test_chain();
        test_readers();
        test_wavefront();
        memset(order, 0, sizeof order);
        test_odd();
        memset(visits, 0, sizeof visits);
        test_loops();
        flow_end();
    }
    return 0;
}
