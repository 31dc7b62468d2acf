/* src/tasks/timer.c - tasks that become ready at a time: those that have suspended themselves until
 * then.  SPDX-License-Identifier: Apache-2.0
 *
 * A thread sleeps until the earliest of these times.  (A task in waitfor keeps its own thread,
 * which waits by itself.)  It exists from the first init on, so that it is there when no more
 * threads are to be had: then it tries again to find threads for ready tasks. */
#include <signal.h>
#include <stdlib.h>

#include "tasks/tasks.h"

#define AGAIN_NS 10000000u

struct entry { uint64_t at; struct nosv_task *task; };
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct entry *heap;         /* binary, the earliest first */
    size_t n, room;
    uint64_t again;             /* when it looks for threads; 0: no task lacks one */
    bool runs, ends, queues;    /* the thread has taken a task that is not queued yet */
} timer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void swap(size_t a, size_t b)
{
    struct entry e = timer.heap[a];
    timer.heap[a] = timer.heap[b];
    timer.heap[b] = e;
}

static void add(uint64_t at, struct nosv_task *t)
{
    size_t i = timer.n++;
    timer.heap[i] = (struct entry){at, t};
    for (; i && timer.heap[(i - 1) / 2].at > timer.heap[i].at; i = (i - 1) / 2) swap(i, (i - 1) / 2);
}

static struct nosv_task *remove_first(void)
{
    struct nosv_task *t = timer.heap[0].task;
    timer.heap[0] = timer.heap[--timer.n];
    for (size_t i = 0, c; (c = 2 * i + 1) < timer.n; i = c) {
        if (c + 1 < timer.n && timer.heap[c + 1].at < timer.heap[c].at) c++;
        if (timer.heap[i].at <= timer.heap[c].at) break;
        swap(i, c);
    }
    return t;
}

/* holds the lock, and gives it up meanwhile: what is due is done. */
static void act(uint64_t now)
{
    struct nosv_task *t = timer.n && timer.heap[0].at <= now ? remove_first() : 0;
    if (!t) timer.again = 0;
    timer.queues = true;
    pthread_mutex_unlock(&timer.lock);
    USF_POINT("tasks.timed");
    if (t) tk_queue(0, t);
    else tk_wake_all();
    pthread_mutex_lock(&timer.lock);
    timer.queues = false;
}

static void *run(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&timer.lock);
    while (!timer.ends) {
        uint64_t at = timer.n ? timer.heap[0].at : UINT64_MAX, now = os_now();
        if (timer.again && timer.again < at) at = timer.again;
        struct timespec until = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
        if (at <= now) act(now);
        else if (at == UINT64_MAX) pthread_cond_wait(&timer.changed, &timer.lock);
        else pthread_cond_timedwait(&timer.changed, &timer.lock, &until);
    }
    pthread_mutex_unlock(&timer.lock);
    return 0;
}

bool tk_start_timer(void)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&timer.changed, &attr);
    pthread_condattr_destroy(&attr);
    timer.ends = false;
    timer.again = 0;
    /* The program's handlers run in threads that it knows of. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    timer.runs = pthread_create(&timer.thread, 0, run, 0) == 0;
    pthread_sigmask(SIG_SETMASK, &before, 0);
    return timer.runs;
}

static bool make_room(void)
{
    size_t room = timer.room ? 2 * timer.room : 64;
    if (timer.n < timer.room) return true;
    struct entry *more = realloc(timer.heap, room * sizeof *more);
    if (!more) return false;
    timer.heap = more;
    timer.room = room;
    return true;
}

bool tk_queue_at(struct nosv_task *t, uint64_t ns)
{
    pthread_mutex_lock(&timer.lock);
    bool may = make_room();
    if (may) {
        add(ns, t);
        if (timer.heap[0].task == t) pthread_cond_signal(&timer.changed);
    }
    pthread_mutex_unlock(&timer.lock);
    return may;
}

void tk_look_again(void)
{
    pthread_mutex_lock(&timer.lock);
    if (!timer.again) {
        timer.again = os_now() + AGAIN_NS;
        pthread_cond_signal(&timer.changed);
    }
    pthread_mutex_unlock(&timer.lock);
}

size_t tk_timed(void)
{
    pthread_mutex_lock(&timer.lock);
    size_t n = timer.n + timer.queues;
    pthread_mutex_unlock(&timer.lock);
    return n;
}

void tk_stop_timer(void)
{
    pthread_mutex_lock(&timer.lock);
    bool runs = timer.runs;
    timer.ends = true;
    timer.runs = false;
    if (runs) pthread_cond_signal(&timer.changed);
    pthread_mutex_unlock(&timer.lock);
    if (runs) pthread_join(timer.thread, 0);
    free(timer.heap);
    timer.heap = 0;
    timer.n = timer.room = 0;
}

/* In the child of a fork: the thread is not there. */
void tk_forget_timer(void)
{
    timer.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    timer.runs = timer.ends = timer.queues = false;
    timer.n = 0;
    timer.again = 0;
}
