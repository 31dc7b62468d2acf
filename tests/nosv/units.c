/* tests/nosv/units.c - a runtime with a processing unit per CPU, as programs build one on tasks.  SPDX-License-Identifier: Apache-2.0
 *
 * Each unit is a task that is strict to its CPU, and executes states (tasks as well) in line from a queue of the program's own until none is
 * left; it yields while the queue is empty.  Units and main begin together at a barrier.  The completed callback wakes who waits for a state.
 * All of it again after a shutdown. */
#include <nosv/compat.h>

#include "nosv_test.h"

#define STATES 200

struct state {
    nosv_task_t task, waiter;   /* waiter: paused until this one has ended */
    void (*body)(struct state *);
    int number, ended;
};

static nosv_task_type_t type;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct state *queue[STATES];
static int queued, sum, left, step;
static nosv_barrier_t together;

static void run(nosv_task_t task)
{
    struct state *s = pointer_of(task);
    s->body(s);
}

static void completed(nosv_task_t task)
{
    struct state *s = pointer_of(task);
    nosv_task_t waiter = s->waiter;
    set(&s->ended, 1);
    if (waiter) OK(nosv_submit(waiter, NOSV_SUBMIT_UNLOCKED));
}

static struct state *new_state(void (*body)(struct state *), int number)
{
    struct state *s = calloc(1, sizeof(*s));
    CHECK(s);
    s->body = body;
    s->number = number;
    s->task = task_of(type, s, NOSV_CREATE_NONE);
    return s;
}

static void free_state(struct state *s)
{
    OK(nosv_destroy(s->task, NOSV_DESTROY_NONE));
    free(s);
}

static void push(struct state *s)
{
    pthread_mutex_lock(&lock);
    queue[queued++] = s;
    pthread_mutex_unlock(&lock);
}

static struct state *pop(void)
{
    pthread_mutex_lock(&lock);
    struct state *s = queued ? queue[--queued] : NULL;
    pthread_mutex_unlock(&lock);
    return s;
}

/* Every third one lets others run, every fifth one makes another. */
static void work(struct state *s)
{
    add(&sum, s->number);
    if (s->number % 3 == 0) OK(nosv_yield(NOSV_YIELD_NONE));
    if (s->number % 5 == 0) push(new_state(work, 1));
    else add(&left, -1);
}

static void unit(struct state *me)
{
    int barrier = nosv_barrier_wait(&together);
    CHECK(barrier == 0 || barrier == PTHREAD_BARRIER_SERIAL_THREAD);
    CHECK_EQ(nosv_get_current_logical_cpu(), me->number);
    while (get(&left)) {
        struct state *s = pop();
        if (!s) {
            OK(nosv_yield(NOSV_YIELD_NONE));
            continue;
        }
        OK(nosv_submit(s->task, NOSV_SUBMIT_INLINE));
        CHECK(get(&s->ended));
        free_state(s);
        CHECK_EQ(nosv_get_current_logical_cpu(), me->number);
    }
}

static void in_steps(struct state *s)
{
    (void)s;
    for (int i = 1; i < 4; i++) {
        set(&step, i);
        OK(nosv_pause(NOSV_PAUSE_NONE));
    }
}

static void run_units(void)
{
    int n = nosv_get_num_cpus();
    struct state **units = calloc((size_t)n, sizeof(*units));
    CHECK(units);
    sum = 0;
    left = STATES / 2;
    for (int i = 0; i < STATES / 2; i++) push(new_state(work, i));
    OK(nosv_barrier_init(&together, NULL, (unsigned)n + 1));
    for (int i = 0; i < n; i++) {
        units[i] = new_state(unit, i);
        placed(units[i]->task, i);
        OK(nosv_submit(units[i]->task, NOSV_SUBMIT_NONE));
    }
    nosv_barrier_wait(&together);
    for (int i = 0; i < n; i++) {
        UNTIL(get(&units[i]->ended));
        free_state(units[i]);
    }
    OK(nosv_barrier_destroy(&together));
    free(units);
    CHECK_EQ(queued, 0);
    CHECK_EQ(sum, STATES / 2 * (STATES / 2 - 1) / 2 + STATES / 2 / 5);
}

static void run_steps(nosv_task_t self)
{
    struct state *s = new_state(in_steps, 0);
    set(&step, 0);
    s->waiter = self;
    OK(nosv_submit(s->task, NOSV_SUBMIT_NONE));
    for (int i = 1; i < 4; i++) {
        UNTIL(get(&step) == i);
        OK(nosv_submit(s->task, NOSV_SUBMIT_UNLOCKED));
    }
    OK(nosv_pause(NOSV_PAUSE_NONE));
    CHECK(get(&s->ended));
    free_state(s);
}

int main(void)
{
    begin();
    for (int i = 0; i < 10; i++) {
        OK(nosv_init());
        type = NULL;
        OK(nosv_type_init(&type, run, NULL, completed, "state", NULL, NULL, NOSV_TYPE_INIT_NONE));
        nosv_task_t self = attach();
        run_units();
        run_steps(self);
        OK(nosv_detach(NOSV_DETACH_NONE));
        OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
        OK(nosv_shutdown());
    }
    return 0;
}
