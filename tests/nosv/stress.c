/* tests/nosv/stress.c - everything at once, at random.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: nosv-stress [-s SEED] [-r ROUNDS] [MODE...]
 *
 * Each mode runs on a thread of its own, all at the same time, ROUNDS times between nosv_init and nosv_shutdown. Each counts what must have
 * happened. A seed makes the choices the same, not the order in which threads run. A run that hangs is ended by a timer. */
#include <nosv/compat.h>
#include <semaphore.h>

#include "nosv_test.h"

static uint64_t seed = 1;
static int cpus;

/* ---- choices ------------------------------------------------------------------------------------ */

struct dice { uint64_t x; };
static struct dice dice_of(uint64_t what) { return (struct dice){(seed + what * 1000003) * 0x9e3779b97f4a7c15u}; }

static unsigned roll(struct dice *d, unsigned sides)
{
    uint64_t x = d->x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((x ^ x >> 31) % sides);
}

static void place_at_random(nosv_task_t t, struct dice *d)
{
    static const nosv_affinity_type_t types[] = {NOSV_AFFINITY_TYPE_STRICT, NOSV_AFFINITY_TYPE_PREFERRED};
    nosv_affinity_type_t type = types[roll(d, 2)];
    if (roll(d, 3) == 0) nosv_set_task_priority(t, (int)roll(d, 5) - 2);
    if (roll(d, 3)) return;
    int *all = nosv_get_available_cpus(), *nodes = nosv_get_available_numa_nodes();
    nosv_affinity_t a = nosv_affinity_get((uint32_t)all[roll(d, (unsigned)cpus)], NOSV_AFFINITY_LEVEL_CPU, type);
    switch (roll(d, 4)) {
    case 0: a = nosv_affinity_get((uint32_t)nodes[0], NOSV_AFFINITY_LEVEL_NUMA, type); break;
    case 1: a = nosv_affinity_get(0, NOSV_AFFINITY_LEVEL_USER_COMPLEX, type); break;
    default: break;
    }
    nosv_set_task_affinity(t, &a);
    free(all);
    free(nodes);
}

static void spin(unsigned n)
{
    for (volatile unsigned i = 0; i < n; i++) continue;
}

static void start_thread(pthread_t *t, void *(*what)(void *), void *arg) { CHECK_EQ(pthread_create(t, NULL, what, arg), 0); }
static void end_thread(pthread_t t) { CHECK_EQ(pthread_join(t, NULL), 0); }

static void destroy(nosv_task_t t) { OK(nosv_destroy(t, NOSV_DESTROY_NONE)); }

/* ---- submit: from threads in and outside of tasks, and from tasks --------------------------------- */

struct tree { int *begun, *ended; nosv_task_type_t type; unsigned depth; uint64_t dice; };

static void grow(struct tree from, struct dice *d, bool in_task)
{
    nosv_task_t t;
    OK(nosv_create(&t, from.type, sizeof from, NOSV_CREATE_NONE));
    from.dice = d->x;
    from.depth--;
    *(struct tree *)nosv_get_task_metadata(t) = from;
    place_at_random(t, d);
    add(from.begun, 1);
    OK(nosv_submit(t, in_task && roll(d, 4) == 0 ? NOSV_SUBMIT_IMMEDIATE : NOSV_SUBMIT_NONE));
}

static void tree_run(nosv_task_t t)
{
    struct tree me = *(struct tree *)nosv_get_task_metadata(t);
    struct dice d = {me.dice};
    if (roll(&d, 4) == 0) OK(nosv_set_submit_window_size(1 + roll(&d, 5)));
    for (unsigned n = me.depth ? 1 + roll(&d, 3) : 0; n; n--) grow(me, &d, true);
    if (roll(&d, 8) == 0) OK(nosv_yield(roll(&d, 2) ? NOSV_YIELD_NONE : NOSV_YIELD_NOFLUSH));
    if (roll(&d, 8) == 0) OK(nosv_flush_submit_window());
    spin(roll(&d, 2000));
}

static void tree_done(nosv_task_t t)
{
    struct tree me = *(struct tree *)nosv_get_task_metadata(t);
    destroy(t);
    add(me.ended, 1);
}

struct planter { struct tree seedling; uint64_t dice; bool attaches; };

static void *plant(void *arg)
{
    struct planter *p = arg;
    struct dice d = dice_of(p->dice);
    nosv_task_t self;
    if (p->attaches) OK(nosv_attach(&self, NULL, "planter", NOSV_ATTACH_NONE));
    for (int i = 0; i < 20; i++) grow(p->seedling, &d, p->attaches);
    if (p->attaches) OK(nosv_detach(NOSV_DETACH_NONE));
    return NULL;
}

static void submit(uint64_t round)
{
    struct planter p[4];
    pthread_t thread[4];
    int begun = 0, ended = 0;
    nosv_task_type_t type = type_of(tree_run, NULL, tree_done);
    for (unsigned i = 0; i < 4; i++) {
        p[i] = (struct planter){{&begun, &ended, type, 4, 0}, round * 10 + i, i % 2};
        start_thread(&thread[i], plant, &p[i]);
    }
    for (unsigned i = 0; i < 4; i++) end_thread(thread[i]);
    UNTIL(get(&ended) == get(&begun));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* ---- pause: submissions from tasks and threads, early and late ------------------------------------ */

#define PAUSES 200
struct pauser { int passed, done; uint64_t dice; };

static void pauser_run(nosv_task_t t)
{
    struct pauser *p = pointer_of(t);
    struct dice d = dice_of(p->dice);
    for (int i = 0; i < PAUSES; i++) {
        spin(roll(&d, 500));
        if (roll(&d, 3) == 0) place_at_random(t, &d);
        OK(nosv_pause(NOSV_PAUSE_NONE));
        add(&p->passed, 1);
    }
}

static void pauser_done(nosv_task_t t) { set(&((struct pauser *)pointer_of(t))->done, 1); }

/* Half of the submissions that its pauses need. */
static void resume_run(nosv_task_t t)
{
    nosv_task_t other = pointer_of(t);
    struct dice d = dice_of((uintptr_t)other);
    for (int i = 0; i < PAUSES / 2; i++) {
        OK(nosv_submit(other, roll(&d, 3) ? NOSV_SUBMIT_NONE : NOSV_SUBMIT_IMMEDIATE));
        if (roll(&d, 3) == 0) OK(nosv_yield(NOSV_YIELD_NONE));
    }
}

static void *resume_thread(void *other)
{
    struct dice d = dice_of((uintptr_t)other + 1);
    for (int i = 0; i < PAUSES / 2; i++) {
        OK(nosv_submit(other, NOSV_SUBMIT_NONE));
        spin(roll(&d, 2000));
    }
    return NULL;
}

static void pauses(uint64_t round)
{
    struct pauser p[3];
    nosv_task_t task[3];
    pthread_t thread[3];
    nosv_task_type_t type = type_of(pauser_run, NULL, pauser_done), resume = type_of(resume_run, NULL, destroy);
    for (unsigned i = 0; i < 3; i++) {
        p[i] = (struct pauser){.dice = round * 10 + i};
        OK(nosv_submit(task[i] = task_of(type, &p[i], NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        start_thread(&thread[i], resume_thread, task[i]);
        OK(nosv_submit(task_of(resume, task[i], NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    }
    for (unsigned i = 0; i < 3; i++) {
        end_thread(thread[i]);
        UNTIL(get(&p[i].done));
        CHECK_EQ(p[i].passed, PAUSES);
        destroy(task[i]);
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_type_destroy(resume, NOSV_TYPE_DESTROY_NONE));
}

/* ---- waitfor: each round is ended by one of two threads, which know of each other's wakes ----------- */

#define WAKES 100
struct sleeper { int rounds, done; nosv_task_t task; uint64_t dice; };

static void sleeper_run(nosv_task_t t)
{
    struct sleeper *s = pointer_of(t);
    struct dice d = dice_of(s->dice);
    uint64_t waited;
    for (int i = 0; i < WAKES; i++) {
        OK(nosv_waitfor(roll(&d, 20000), &waited));
        spin(roll(&d, 300));
        OK(nosv_waitfor(FOREVER, NULL));
        add(&s->rounds, 1);
    }
    set(&s->done, 1);
}

struct waker { struct sleeper *s; int turn; };

static void *wake_in_turn(void *arg)
{
    struct waker *w = arg;
    for (int i = w->turn; i < WAKES; i += 2)
        do {        /* one that comes too early ends the short sleep before */
            OK(nosv_submit(w->s->task, NOSV_SUBMIT_DEADLINE_WAKE));
            usleep(50);
        } while (get(&w->s->rounds) <= i);
    return NULL;
}

static void sleeps(uint64_t round)
{
    struct sleeper s[2];
    struct waker w[4];
    pthread_t thread[4];
    nosv_task_type_t type = type_of(sleeper_run, NULL, NULL);
    for (unsigned i = 0; i < 2; i++) {
        s[i] = (struct sleeper){.dice = round * 10 + i};
        s[i].task = task_of(type, &s[i], NOSV_CREATE_JOINABLE);
        OK(nosv_submit(s[i].task, NOSV_SUBMIT_NONE));
        for (unsigned k = 0; k < 2; k++) {
            w[2 * i + k] = (struct waker){&s[i], (int)k};
            start_thread(&thread[2 * i + k], wake_in_turn, &w[2 * i + k]);
        }
    }
    for (unsigned i = 0; i < 4; i++) end_thread(thread[i]);
    for (unsigned i = 0; i < 2; i++) {
        UNTIL(get(&s[i].done));
        destroy(s[i].task);     /* as soon as its body has said so */
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* ---- wakes: one for each waitfor, and none is lost or counts twice -------------------------------- */

struct exact { int seen, done; nosv_task_t task; };

static void exact_run(nosv_task_t t)
{
    struct exact *e = pointer_of(t);
    for (int i = 0; i < 4 * WAKES; i++) {
        OK(nosv_waitfor(FOREVER, NULL));
        add(&e->seen, 1);
    }
    set(&e->done, 1);
}

struct exact_waker { struct exact *e; int turn; };

static void *wake_exactly(void *arg)
{
    struct exact_waker *w = arg;
    for (int i = w->turn; i < 4 * WAKES; i += 2) {
        for (; get(&w->e->seen) != i; sched_yield()) CHECK(get(&w->e->seen) <= i);
        OK(nosv_submit(w->e->task, NOSV_SUBMIT_DEADLINE_WAKE));
    }
    return NULL;
}

static void wakes(uint64_t round)
{
    struct exact e = {0};
    struct exact_waker w[2] = {{&e, 0}, {&e, 1}};
    pthread_t thread[2];
    (void)round;
    nosv_task_type_t type = type_of(exact_run, NULL, NULL);
    OK(nosv_submit(e.task = task_of(type, &e, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    for (int i = 0; i < 2; i++) start_thread(&thread[i], wake_exactly, &w[i]);
    for (int i = 0; i < 2; i++) end_thread(thread[i]);
    UNTIL(get(&e.done));
    destroy(e.task);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* ---- events: decreased by threads outside of tasks, and by tasks ----------------------------------- */

#define EVENTS 4
struct work { sem_t there; nosv_task_t task; int ended, runs; bool suspends; };

static void events_run(nosv_task_t t)
{
    struct work *w = pointer_of(t);
    if (w->suspends && w->runs++) return;
    if (w->suspends) {
        OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_EVENT_SUBMIT, 0));
        OK(nosv_suspend());
    }
    OK(nosv_increase_event_counter(2 * EVENTS));
    for (int i = 0; i < EVENTS; i++) CHECK_EQ(sem_post(&w->there), 0);
    for (int i = 0; i < EVENTS; i++) OK(nosv_decrease_event_counter(t, 1));
}

static void events_done(nosv_task_t t)
{
    struct work *w = pointer_of(t);
    CHECK_EQ(nosv_task_had_events(t), 1);
    add(&w->ended, 1);
}

static void *decrease(void *arg)
{
    struct work *w = arg;
    for (int i = 0; i < EVENTS / 2; i++) {
        CHECK_EQ(sem_wait(&w->there), 0);
        OK(nosv_decrease_event_counter(w->task, 1));
    }
    return NULL;
}

static void events(uint64_t round)
{
    struct dice d = dice_of(round);
    nosv_task_type_t type = type_of(events_run, NULL, events_done);
    for (int i = 0; i < 20; i++) {
        struct work w = {.suspends = roll(&d, 2)};
        pthread_t thread[2];
        sem_init(&w.there, 0, 0);
        w.task = task_of(type, &w, NOSV_CREATE_NONE);
        place_at_random(w.task, &d);
        for (int k = 0; k < 2; k++) start_thread(&thread[k], decrease, &w);
        OK(nosv_submit(w.task, NOSV_SUBMIT_NONE));
        for (int k = 0; k < 2; k++) end_thread(thread[k]);
        UNTIL(get(&w.ended));
        CHECK_EQ(w.ended, 1);
        destroy(w.task);
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

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

static void joins(uint64_t round)
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

static void suspends(uint64_t round)
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

static void parallels(uint64_t round)
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

static void nests(uint64_t round)
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

/* ---- yields ------------------------------------------------------------------------------------------ */

static void yielder_run(nosv_task_t t)
{
    struct dice d = dice_of((uintptr_t)t);
    for (int i = 0; i < 100; i++) {
        if (roll(&d, 4)) OK(nosv_yield(NOSV_YIELD_NONE));
        else OK(nosv_schedpoint(NOSV_SCHEDPOINT_NONE));
        if (roll(&d, 20) == 0) OK(nosv_waitfor(roll(&d, 10000), NULL));
    }
}

static void yielder_done(nosv_task_t t)
{
    int *done = pointer_of(t);
    destroy(t);
    add(done, 1);
}

static void yields(uint64_t round)
{
    struct dice d = dice_of(round);
    int done = 0;
    nosv_task_type_t type = type_of(yielder_run, NULL, yielder_done);
    for (int i = 0; i < 12; i++) {
        nosv_task_t t = task_of(type, &done, NOSV_CREATE_NONE);
        place_at_random(t, &d);
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
    }
    UNTIL(get(&done) == 12);
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* ---- attach: threads come and go, one does not say so --------------------------------------------- */

static void *come_and_go(void *arg)
{
    struct dice d = dice_of((uintptr_t)arg);
    nosv_task_t self, child;
    nosv_task_type_t type = type_of(told_run, NULL, destroy);
    for (int i = 0; i < 20; i++) {
        int told = 0;
        OK(nosv_attach(&self, NULL, roll(&d, 2) ? "label" : NULL, NOSV_ATTACH_NONE));
        OK(nosv_submit(child = task_of(type, &told, NOSV_CREATE_NONE), roll(&d, 3) ? NOSV_SUBMIT_NONE : NOSV_SUBMIT_IMMEDIATE));
        while (roll(&d, 3)) OK(nosv_yield(NOSV_YIELD_NONE));
        OK(nosv_detach(NOSV_DETACH_NONE));
        while (!get(&told)) sched_yield();
    }
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    if (roll(&d, 2)) OK(nosv_attach(&self, NULL, NULL, NOSV_ATTACH_NONE));
    return NULL;
}

static void attaches(uint64_t round)
{
    pthread_t thread[4];
    for (unsigned i = 0; i < 4; i++) start_thread(&thread[i], come_and_go, (void *)(uintptr_t)(round * 10 + i));
    for (unsigned i = 0; i < 4; i++) end_thread(thread[i]);
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

static void locks(uint64_t round)
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

/* ---- begin and end -------------------------------------------------------------------------------------- */

/* A few tasks that are ready, or will be at a time, when the last shutdown comes; one that stays paused for ever. */
static void last_run(nosv_task_t t)
{
    struct suspended *s = pointer_of(t);
    if (s->bodies++ > 3) return;
    OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, 20000));
    OK(nosv_suspend());
}
static void late_run(nosv_task_t t)
{
    OK(nosv_waitfor(100000, NULL));
    add(pointer_of(t), 1);
}
static void stays_run(nosv_task_t t)
{
    set(pointer_of(t), 1);
    OK(nosv_pause(NOSV_PAUSE_NONE));
}

static void end_of_all(bool stays)
{
    struct suspended s[8];
    int late = 0, paused = 0;
    memset(s, 0, sizeof(s));
    OK(nosv_init());
    nosv_task_type_t type = type_of(last_run, NULL, suspended_done), late_type = type_of(late_run, NULL, NULL), stay_type = type_of(stays_run, NULL, NULL);
    for (int i = 0; i < 8; i++) OK(nosv_submit(task_of(type, &s[i], NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    for (int i = 0; i < 8; i++) OK(nosv_submit(task_of(late_type, &late, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
    if (stays) {
        OK(nosv_submit(task_of(stay_type, &paused, NOSV_CREATE_NONE), NOSV_SUBMIT_NONE));
        UNTIL(get(&paused));
    }
    OK(nosv_shutdown());
    for (int i = 0; i < 8; i++) CHECK(s[i].done);
    CHECK_EQ(late, 8);
    CHECK(!nosv_self());
}

/* ThreadSanitizer knows the parent's threads there, and takes a new one's id for theirs. */
#ifdef __SANITIZE_THREAD__
static void in_new_child(void) {}
#else
static void again_in_child(void) { end_of_all(false); }
static void in_new_child(void) { in_child(again_in_child); }
#endif

/* ---- all ------------------------------------------------------------------------------------------------- */

static const struct mode { const char *name; void (*run)(uint64_t round); } modes[] = {
    {"submit", submit}, {"pause", pauses}, {"sleep", sleeps}, {"wake", wakes}, {"event", events}, {"join", joins}, {"suspend", suspends},
    {"parallel", parallels}, {"nest", nests}, {"yield", yields}, {"attach", attaches}, {"lock", locks},
};
#define NR_MODES (sizeof(modes) / sizeof(*modes))
static uint64_t now_round;

static void *run_mode(void *mode)
{
    ((const struct mode *)mode)->run(now_round);
    return NULL;
}

static void run_modes(char **names, int n)
{
    pthread_t thread[NR_MODES];
    bool runs[NR_MODES];
    OK(nosv_init());
    cpus = nosv_get_num_cpus();
    for (unsigned i = 0; i < NR_MODES; i++) {
        runs[i] = !n;
        for (int k = 0; k < n; k++) runs[i] |= !strcmp(names[k], modes[i].name);
        if (runs[i]) start_thread(&thread[i], run_mode, (void *)&modes[i]);
    }
    if (now_round % 3 == 0) in_new_child();
    for (unsigned i = 0; i < NR_MODES; i++)
        if (runs[i]) end_thread(thread[i]);
    OK(nosv_shutdown());
}

int main(int argc, char **argv)
{
    uint64_t rounds = 3;
    begin();
    for (int c; (c = getopt(argc, argv, "s:r:")) != -1;)
        if (c == 's') seed = strtoull(optarg, NULL, 0);
        else if (c == 'r') rounds = strtoull(optarg, NULL, 0);
        else return 2;
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    for (now_round = 0; now_round < rounds; now_round++) {
        run_modes(argv + optind, argc - optind);
        end_of_all(now_round % 2);
        if (now_round % 3 == 1) in_new_child();
    }
    return 0;
}
