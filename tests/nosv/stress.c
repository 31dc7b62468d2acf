/* tests/nosv/stress.c - everything at once, at random.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: nosv-stress [-s SEED] [-r ROUNDS] [MODE...]
 *
 * Each mode runs on a thread of its own, all at the same time, ROUNDS times between nosv_init and nosv_shutdown. Each counts what must have
 * happened. A seed makes the choices the same, not the order in which threads run. A run that hangs is ended by a timer. */
#include <semaphore.h>

#include "stress.h"

uint64_t seed = 1;
int cpus;

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

static void told_run(nosv_task_t t) { set(pointer_of(t), 1); }

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

/* ---- begin and end -------------------------------------------------------------------------------------- */

/* A few tasks that are ready, or will be at a time, when the last shutdown comes; one that stays paused for ever. */
struct last { int bodies, done; };
static void last_run(nosv_task_t t)
{
    struct last *s = pointer_of(t);
    if (s->bodies++ > 3) return;
    OK(nosv_set_suspend_mode(NOSV_SUSPEND_MODE_TIMEOUT_SUBMIT, 20000));
    OK(nosv_suspend());
}
static void last_done(nosv_task_t t) { set(&((struct last *)pointer_of(t))->done, 1); }
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
    struct last s[8];
    int late = 0, paused = 0;
    memset(s, 0, sizeof(s));
    OK(nosv_init());
    nosv_task_type_t type = type_of(last_run, NULL, last_done), late_type = type_of(late_run, NULL, NULL), stay_type = type_of(stays_run, NULL, NULL);
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
