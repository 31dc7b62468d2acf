/* tests/nosv/stress_modes.c - modes of stress.c: tasks that wait for each other.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/compat.h>

#include "stress.h"

/* ---- join: with and without time limits, before and after the submission --------------------------- */

#define JOINED 6
static void joined_run(nosv_task_t t)
{
    struct dice d = dice_of((uintptr_t)pointer_of(t));
    spin(roll(&d, 3000));
    if (roll(&d, 3) == 0) OK(nosv_waitfor(roll(&d, 30000), NULL));
    OK(nosv_set_result(pointer_of(t)));
}

static void submit_all(void *arg)
{
    nosv_task_t *t = arg;
    for (int i = 0; i < JOINED; i++) OK(nosv_submit(t[i], NOSV_SUBMIT_NONE));
}
static void *submit_all_thread(void *arg)
{
    submit_all(arg);
    return NULL;
}

static void join_once(nosv_task_type_t type, uint64_t number)
{
    struct dice d = dice_of(number);
    nosv_task_t t[JOINED];
    pthread_t thread;
    void *result[JOINED];
    int r;
    for (unsigned i = 0; i < JOINED; i++) t[i] = task_of(type, (void *)(uintptr_t)(number * 100 + i), NOSV_CREATE_JOINABLE);
    bool again = roll(&d, 2);
    for (int times = 0; times <= again; times++) {
        start_thread(&thread, submit_all_thread, t);
        unsigned n = roll(&d, JOINED + 1);
        for (unsigned i = 0; i < n; i++)
            do CHECK((r = nosv_wait(t[i], roll(&d, 40000))) == NOSV_SUCCESS || r == NOSV_ERR_TIMEOUT);
            while (roll(&d, 2));
        do CHECK((r = nosv_wait_all(t, JOINED, roll(&d, 4) ? roll(&d, 100000) : FOREVER)) == NOSV_SUCCESS || r == NOSV_ERR_TIMEOUT);
        while (r);
        while (pthread_tryjoin_np(thread, NULL)) rest();
    }
    OK(nosv_join_all(t, result, JOINED, FOREVER));
    for (unsigned i = 0; i < JOINED; i++) CHECK_EQ((uintptr_t)result[i], number * 100 + i);
}

/* One that is destroyed as soon as it has told of its end. */
static void told_run(nosv_task_t t) { set(pointer_of(t), 1); }

void joins(uint64_t round)
{
    nosv_task_type_t type = type_of(joined_run, NULL, NULL), told = type_of(told_run, NULL, NULL);
    attach();
    for (unsigned i = 0; i < 20; i++) {
        int word = 0;
        join_once(type, round * 100 + i);
        nosv_task_t t = task_of(told, &word, NOSV_CREATE_JOINABLE);
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
        while (!get(&word)) OK(nosv_yield(NOSV_YIELD_NONE));
        destroy(t);
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(told, NOSV_TYPE_DESTROY_NONE));
}

/* ---- suspend: in each mode -------------------------------------------------------------------------- */

#define BODIES 30
struct suspended { int bodies, done, submits; uint64_t dice; };

static void suspended_run(nosv_task_t t)
{
    struct suspended *s = pointer_of(t);
    struct dice d = dice_of(s->dice + (uint64_t)get(&s->bodies) * 7919);
    if (add(&s->bodies, 1) > BODIES) return;
    switch (roll(&d, 4)) {
    case 0:
        OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_NONE, 0));
        add(&s->submits, 1);
        break;
    case 1: OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_SUBMIT, roll(&d, 2))); break;
    case 2: OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, roll(&d, 100000))); break;
    default: OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_EVENT_SUBMIT, 0));
    }
    OK(nosv_suspend());
}

static void suspended_done(nosv_task_t t) { set(&((struct suspended *)pointer_of(t))->done, 1); }

static void aside_run(nosv_task_t t)
{
    add(pointer_of(t), 1);
    OK(nosv_suspend());
}

/* One that is destroyed while it suspends itself, and one that is submitted meanwhile, then destroyed. */
static void destroy_suspended(nosv_task_type_t type, struct dice *d)
{
    int bodies = 0, wanted = 1 + (int)roll(d, 3);
    nosv_task_t t = task_of(type, &bodies, NOSV_CREATE_NONE);
    for (int i = 1; i <= wanted; i++) {
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
        while (get(&bodies) < i) sched_yield();
    }
    destroy(t);
}

void suspends(uint64_t round)
{
    struct dice d = dice_of(round);
    struct suspended s[3];
    nosv_task_t t[3];
    nosv_task_type_t type = type_of(suspended_run, NULL, suspended_done), aside = type_of(aside_run, NULL, NULL);
    for (unsigned i = 0; i < 3; i++) {
        s[i] = (struct suspended){.dice = round * 10 + i};
        t[i] = task_of(type, &s[i], NOSV_CREATE_NONE);
        place_at_random(t[i], &d);
        OK(nosv_submit(t[i], NOSV_SUBMIT_NONE));
    }
    for (int done = 0; done < 3;) {
        done = 0;
        destroy_suspended(aside, &d);
        for (int i = 0; i < 3; i++) {
            for (; get(&s[i].submits); add(&s[i].submits, -1)) OK(nosv_submit(t[i], NOSV_SUBMIT_NONE));
            done += get(&s[i].done);
        }
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(s[i].bodies, BODIES + 1);
        destroy(t[i]);
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(aside, NOSV_TYPE_DESTROY_NONE));
}

/* ---- parallel tasks --------------------------------------------------------------------------------- */

struct team { int bodies, ends, completed, cancels; uint32_t cancel_at; };

static void team_run(nosv_task_t t)
{
    struct team *m = pointer_of(t);
    add(&m->bodies, 1);
    OK(nosv_increase_event_counter(1));
    spin(500);
    if (nosv_get_execution_id() == m->cancel_at && nosv_cancel(NOSV_CANCEL_NONE) == NOSV_SUCCESS) add(&m->cancels, 1);
    OK(nosv_decrease_event_counter(t, 1));
}

static void team_end(nosv_task_t t) { add(&((struct team *)pointer_of(t))->ends, 1); }
static void team_done(nosv_task_t t) { add(&((struct team *)pointer_of(t))->completed, 1); }

void parallels(uint64_t round)
{
    struct dice d = dice_of(round);
    nosv_task_type_t type = type_of(team_run, team_end, team_done);
    attach();
    for (int i = 0; i < 30; i++) {
        int degree = 1 + (int)roll(&d, 20);
        struct team m = {.cancel_at = roll(&d, 2) ? roll(&d, (unsigned)degree) : UINT32_MAX};
        nosv_task_t t = task_of(type, &m, NOSV_CREATE_PARALLEL | NOSV_CREATE_JOINABLE);
        nosv_set_task_degree(t, degree);
        place_at_random(t, &d);
        for (int times = 1; times <= 3; times++) {
            bool blocks = roll(&d, 2);
            OK(nosv_submit(t, blocks ? NOSV_SUBMIT_BLOCKING : NOSV_SUBMIT_NONE));
            if (!blocks) OK(nosv_wait(t, FOREVER));
            CHECK_EQ(get(&m.completed), times);
            CHECK(m.bodies == m.ends && m.bodies <= times * degree && m.cancels <= times);
            if (m.cancel_at == UINT32_MAX) CHECK_EQ(m.bodies, times * degree);
        }
        OK(nosv_wait(t, FOREVER));
        destroy(t);
    }
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* ---- nests: submissions that wait, run here, or run next ------------------------------------------- */

struct sum { unsigned n, is; uint64_t dice; nosv_task_type_t type; };

static void sum_run(nosv_task_t t)
{
    static const nosv_flags_t ways[] = {NOSV_SUBMIT_BLOCKING, NOSV_SUBMIT_INLINE, NOSV_SUBMIT_IMMEDIATE, NOSV_SUBMIT_NONE};
    struct sum *s = pointer_of(t);
    struct dice d = dice_of(s->dice);
    s->is = s->n;
    if (s->n < 2) return;
    for (unsigned i = 1; i <= 2; i++) {
        struct sum part = {.n = s->n - i, .dice = roll(&d, 1u << 30), .type = s->type};
        nosv_task_t k = task_of(s->type, &part, NOSV_CREATE_JOINABLE);
        nosv_flags_t way = ways[roll(&d, 4)];
        OK(nosv_submit(k, way));
        OK(roll(&d, 2) ? nosv_wait(k, FOREVER) : nosv_wait_all(&k, 1, FOREVER));
        OK(nosv_join(k, NULL, FOREVER));
        s->is = i == 1 ? part.is : s->is + part.is;
    }
}

void nests(uint64_t round)
{
    struct sum s = {.n = 11, .dice = round};
    nosv_task_type_t type = s.type = type_of(sum_run, NULL, NULL);
    nosv_task_t t = task_of(type, &s, NOSV_CREATE_NONE);
    attach();
    OK(nosv_submit(t, NOSV_SUBMIT_BLOCKING));
    CHECK_EQ(s.is, 89);
    destroy(t);
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* ---- locks -------------------------------------------------------------------------------------------- */

#define LOCKERS 6
struct locks {
    nosv_mutex_t mutex;
    nosv_cond_t cond;
    nosv_barrier_t barrier;
    nosv_rwlock_t rwlock;
    int count, tokens, written, read, serials, ended;
};

static void locker_turn(struct locks *l, struct dice *d, int i)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += roll(d, 50000);
    CHECK_EQ(nosv_mutex_lock(&l->mutex), 0);
    l->count++;
    if (i % 2) {
        l->tokens++;
        CHECK_EQ(roll(d, 3) ? nosv_cond_signal(&l->cond) : nosv_cond_broadcast(&l->cond), 0);
    } else {
        for (int r = 0; !l->tokens && r != ETIMEDOUT;)
            CHECK((r = nosv_cond_timedwait(&l->cond, &l->mutex, &at)) == 0 || r == ETIMEDOUT);
        if (l->tokens) l->tokens--;
    }
    if (roll(d, 4) == 0) OK(nosv_yield(NOSV_YIELD_NONE));
    CHECK_EQ(nosv_mutex_unlock(&l->mutex), 0);
    bool writes = roll(d, 3) == 0;
    CHECK_EQ(writes ? nosv_rwlock_wrlock(&l->rwlock) : nosv_rwlock_rdlock(&l->rwlock), 0);
    if (writes) l->written++;
    else add(&l->read, l->written >= 0);
    CHECK_EQ(nosv_rwlock_unlock(&l->rwlock), 0);
}

static void locker_run(nosv_task_t t)
{
    struct locks *l = pointer_of(t);
    struct dice d = dice_of((uintptr_t)t);
    for (int i = 0; i < 20; i++) {
        locker_turn(l, &d, i);
        int r = nosv_barrier_wait(&l->barrier);
        CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
        if (r) add(&l->serials, 1);
    }
}

static void locker_done(nosv_task_t t)
{
    struct locks *l = pointer_of(t);
    destroy(t);
    add(&l->ended, 1);
}

void locks(uint64_t round)
{
    struct dice d = dice_of(round);
    struct locks l;
    memset(&l, 0, sizeof(l));
    nosv_task_type_t type = type_of(locker_run, NULL, locker_done);
    CHECK_EQ(nosv_barrier_init(&l.barrier, NULL, LOCKERS), 0);
    for (int i = 0; i < LOCKERS; i++) {
        nosv_task_t t = task_of(type, &l, NOSV_CREATE_NONE);
        place_at_random(t, &d);
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&l.ended) == LOCKERS);
    CHECK_EQ(l.count, LOCKERS * 20);
    CHECK_EQ(l.serials, 20);
    CHECK_EQ(l.written + l.read, LOCKERS * 20);
    CHECK(nosv_mutex_destroy(&l.mutex) == 0 && nosv_cond_destroy(&l.cond) == 0 && nosv_barrier_destroy(&l.barrier) == 0);
    CHECK_EQ(nosv_rwlock_destroy(&l.rwlock), 0);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}
