/* bench/nosv-omp/inner_hand.c - teams of attached threads that wait by nosv.h alone.  SPDX-License-Identifier: Apache-2.0
 *
 * What a runtime does that has been changed for nosv.h: each thread that calls inner_multiply has a team,
 * whose other threads are tasks. They pause between regions. A region submits them; the last one to leave
 * it submits the caller, which has paused. The team's barrier is nosv_barrier. */
#include <nosv.h>
#include <nosv/compat.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "../workloads/workload.h"
#include "inner.h"

const char inner_name[] = "hand";

struct member { struct team *team; int me; pthread_t thread; nosv_task_t task; };
struct team {
    struct team *next;              /* in `teams` */
    const struct product *product;  /* null: the threads end */
    nosv_task_t caller;
    _Atomic int inside;             /* threads that have not left the region */
    nosv_barrier_t barrier;
    struct member members[];        /* size - 1 */
};

static int size;
static const char *library;
static _Atomic(struct team *) teams;
static _Thread_local struct team *mine;

static void must(int result)
{
    if (result != NOSV_SUCCESS) die(nosv_get_error_string(result));
}

static void meet(void) { nosv_barrier_wait(&mine->barrier); }

/* The library computes as many rows for each thread. */
static void part(const struct product *p, int me)
{
    long from = p->n * me / size, to = p->n * (me + 1) / size;
    if (library) blas_multiply(to - from, p->n, p->c + from * p->n, p->a + from * p->n, p->b);
    else product_part(p, me, size, meet);
}

static bool leave(struct team *t) { return atomic_fetch_sub(&t->inside, 1) == 1; }

static void *run_member(void *arg)
{
    struct member *m = arg;
    mine = m->team;
    must(nosv_attach(&m->task, NULL, "member", NOSV_ATTACH_NONE));
    do {
        if (mine->product) part(mine->product, m->me);
        if (leave(mine)) must(nosv_submit(mine->caller, NOSV_SUBMIT_NONE));
        must(nosv_pause(NOSV_PAUSE_NONE));
    } while (mine->product);
    must(nosv_detach(NOSV_DETACH_NONE));
    return NULL;
}

/* A region without work, at whose end all threads have attached. */
static struct team *new_team(void)
{
    struct team *t = calloc(1, sizeof *t + (size_t)size * sizeof t->members[0]);
    if (!t || nosv_barrier_init(&t->barrier, NULL, (unsigned)size)) die("no memory for a team");
    t->caller = nosv_self();
    t->inside = size;
    for (int i = 0; i + 1 < size; i++) {
        t->members[i] = (struct member){.team = t, .me = i + 1};
        if (pthread_create(&t->members[i].thread, NULL, run_member, &t->members[i])) die("pthread_create failed");
    }
    if (!leave(t)) must(nosv_pause(NOSV_PAUSE_NONE));
    t->next = atomic_load(&teams);
    while (!atomic_compare_exchange_weak(&teams, &t->next, t)) continue;
    return t;
}

void inner_start(int n, const char *blas)
{
    size = n;
    library = blas;
    if (blas) blas_load(blas, 1);
}

void inner_multiply(const struct product *p)
{
    if (size == 1) {
        part(p, 0);
        return;
    }
    if (!mine) mine = new_team();
    mine->product = p;
    mine->caller = nosv_self();
    atomic_store(&mine->inside, size);
    for (int i = 0; i + 1 < size; i++) must(nosv_submit(mine->members[i].task, NOSV_SUBMIT_NONE));
    part(p, 0);
    if (!leave(mine)) must(nosv_pause(NOSV_PAUSE_NONE));
}

void inner_stop(void)
{
    must(nosv_detach(NOSV_DETACH_NONE));        /* the threads need its CPU to end */
    for (struct team *t = teams, *next; t; t = next) {
        next = t->next;
        t->product = NULL;
        for (int i = 0; i + 1 < size; i++) must(nosv_submit(t->members[i].task, NOSV_SUBMIT_NONE));
        for (int i = 0; i + 1 < size; i++) pthread_join(t->members[i].thread, NULL);
        nosv_barrier_destroy(&t->barrier);
        free(t);
    }
    nosv_task_t task;
    must(nosv_attach(&task, NULL, "nosv-omp", NOSV_ATTACH_NONE));   /* flow_end detaches it */
}
