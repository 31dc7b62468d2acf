/* tests/pthread/cond.c - condition variables.  SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

/* ---- a bounded queue: every item arrives once ---------------------------------------------------------- */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    clockid_t clock;
    int capacity, used, head;
    long items[64];
    long made, sum_in, sum_out, taken, to_make;
    bool broadcast;
};

static void queue_make(struct queue *q, clockid_t clock, int capacity, bool shared)
{
    pthread_condattr_t c;
    pthread_mutexattr_t m;
    memset(q, 0, sizeof *q);
    pthread_condattr_init(&c);
    pthread_mutexattr_init(&m);
    CHECK_EQ(pthread_condattr_setclock(&c, clock), 0);
    CHECK_EQ(pthread_condattr_setpshared(&c, shared), 0);
    CHECK_EQ(pthread_mutexattr_setpshared(&m, shared), 0);
    CHECK_EQ(pthread_mutex_init(&q->lock, &m), 0);
    CHECK_EQ(pthread_cond_init(&q->not_full, &c), 0);
    CHECK_EQ(pthread_cond_init(&q->not_empty, &c), 0);
    q->clock = clock;
    q->capacity = capacity;
    q->to_make = rounds;
}

static void queue_destroy(struct queue *q)
{
    CHECK_EQ(pthread_cond_destroy(&q->not_full), 0);
    CHECK_EQ(pthread_cond_destroy(&q->not_empty), 0);
    CHECK_EQ(pthread_mutex_destroy(&q->lock), 0);
}

/* Wait a little or for ever; both must leave the mutex locked. */
static void await(struct queue *q, pthread_cond_t *c, unsigned how)
{
    if (how % 3 == 0) {
        struct timespec t = after_us(q->clock, how % 2000);
        int err = pthread_cond_timedwait(c, &q->lock, &t);
        CHECK(err == 0 || (err == ETIMEDOUT && is_past(q->clock, t)));
    } else if (how % 3 == 1) {
        clockid_t other = how % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        struct timespec t = after_us(other, how % 2000);
        int err = pthread_cond_clockwait(c, &q->lock, other, &t);
        CHECK(err == 0 || (err == ETIMEDOUT && is_past(other, t)));
    } else {
        CHECK_EQ(pthread_cond_wait(c, &q->lock), 0);
    }
}

static void tell(struct queue *q, pthread_cond_t *c)
{
    CHECK_EQ(q->broadcast ? pthread_cond_broadcast(c) : pthread_cond_signal(c), 0);
}

static void produce(struct queue *q, unsigned *random)
{
    CHECK_EQ(pthread_mutex_lock(&q->lock), 0);
    while (q->made < q->to_make) {
        while (q->used == q->capacity && q->made < q->to_make)
            await(q, &q->not_full, next_random(random));
        if (q->made == q->to_make)
            break;
        q->items[(q->head + q->used++) % q->capacity] = ++q->made;
        q->sum_in += q->made;
        tell(q, &q->not_empty);
        if (next_random(random) % 8 == 0) {
            CHECK_EQ(pthread_mutex_unlock(&q->lock), 0);
            work(next_random(random) % 500);
            CHECK_EQ(pthread_mutex_lock(&q->lock), 0);
        }
    }
    pthread_cond_broadcast(&q->not_full);
    CHECK_EQ(pthread_mutex_unlock(&q->lock), 0);
}

static void consume(struct queue *q, unsigned *random)
{
    CHECK_EQ(pthread_mutex_lock(&q->lock), 0);
    while (q->taken < q->to_make) {
        while (q->used == 0 && q->taken < q->to_make)
            await(q, &q->not_empty, next_random(random));
        if (q->taken == q->to_make)
            break;
        q->sum_out += q->items[q->head];
        q->head = (q->head + 1) % q->capacity;
        q->used--;
        q->taken++;
        tell(q, &q->not_full);
    }
    pthread_cond_broadcast(&q->not_empty);
    CHECK_EQ(pthread_mutex_unlock(&q->lock), 0);
}

static void *either(void *arg)
{
    struct worker *w = arg;
    if (w->index % 2)
        consume(w->arg, &w->random);
    else
        produce(w->arg, &w->random);
    return NULL;
}

static void check_queue(struct queue *q)
{
    CHECK_EQ(q->taken, rounds);
    CHECK_EQ(q->sum_in, rounds * (rounds + 1) / 2);
    CHECK_EQ(q->sum_in, q->sum_out);
    queue_destroy(q);
}

static void queues(void)
{
    struct queue q;
    int n = threads < 2 ? 2 : threads;
    for (int clock = 0; clock < 2; clock++)
        for (int broadcast = 0; broadcast < 2; broadcast++) {
            queue_make(&q, clock ? CLOCK_MONOTONIC : CLOCK_REALTIME, 1 + (int)(seed % 20), false);
            q.broadcast = broadcast;
            run_n(n, either, &q);
            check_queue(&q);
        }
    struct queue *shared = shared_memory(sizeof *shared);
    queue_make(shared, CLOCK_MONOTONIC, 4, true);
    run_processes(n < 4 ? 2 : 4, either, shared);
    check_queue(shared);
    munmap(shared, sizeof *shared);
}

/* ---- signals without a waiter are lost; a broadcast wakes everyone who waits ------------------------------- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t start = PTHREAD_COND_INITIALIZER, arrived = PTHREAD_COND_INITIALIZER;
static long generation, waiting;

static void *follow(void *arg)
{
    long cycles = rounds / 20 / threads + 5;
    for (long g = 1; g <= cycles; g++) {
        pthread_mutex_lock(&lock);
        if (++waiting == threads)
            pthread_cond_signal(&arrived);
        while (generation < g)
            pthread_cond_wait(&start, &lock);
        CHECK_EQ(generation, g);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *lead(void *arg)
{
    long cycles = rounds / 20 / threads + 5;
    for (long g = 1; g <= cycles; g++) {
        pthread_mutex_lock(&lock);
        while (waiting < threads)
            pthread_cond_wait(&arrived, &lock);
        waiting = 0;
        generation = g;
        pthread_cond_broadcast(&start);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* ---- a storm of signals onto few waiters, without the mutex -------------------------------------------------- */
static pthread_cond_t storm = PTHREAD_COND_INITIALIZER;
static bool storm_over;
static int storm_waiters;

static void *weather(void *arg)
{
    struct worker *w = arg;
    if (w->index % 4 == 0) {
        pthread_mutex_lock(&lock);
        storm_waiters++;
        while (!storm_over) {
            struct timespec t = after_us(CLOCK_REALTIME, 5000);
            pthread_cond_timedwait(&storm, &lock, &t);
        }
        pthread_mutex_unlock(&lock);
        return NULL;
    }
    for (long i = 0; i < share(); i++)
        pthread_cond_signal(&storm);
    if (w->index == 1 || threads == 1) {
        pthread_mutex_lock(&lock);
        storm_over = true;
        pthread_cond_broadcast(&storm);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    stress_start(argc, argv, 4000);
    queues();
    pthread_t leader;
    CHECK_EQ(pthread_create(&leader, NULL, lead, NULL), 0);
    run(follow, NULL);
    CHECK_EQ(pthread_join(leader, NULL), 0);
    if (threads > 1)
        run(weather, NULL);
    CHECK_EQ(pthread_cond_destroy(&start), 0);
    CHECK_EQ(pthread_cond_destroy(&storm), 0);
    return 0;
}
