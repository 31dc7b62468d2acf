/* src/threads/create.c - pthread_create and thrd_create.  SPDX-License-Identifier: Apache-2.0 */
#include "threads/real.h"
#include "threads/record.h"
#include "threads/threads.h"

#include <errno.h>

static bool may_cache(void)
{
    const struct threads_watcher *w = threads_watcher;
    if (w)
        w->thread();
    return cache_usable() &&
           (atomic_load_explicit(&threads_flags.ready, memory_order_acquire) == THREADS_READY || threads_prepare());
}

static int make_worker(pthread_t *th, const pthread_attr_t *attr, struct thread_rec *r)
{
    pthread_t mine;                          /* *th belongs to the user, who may already be joining and freeing it */
    int err = REAL(pthread_create)(&mine, attr, worker_main, r);
    if (err == 0)
        *th = mine;
    rec_created(r, mine, err);
    return err;
}

/* Workers are joinable for libc: whether the user's thread is detached is the record's matter. */
static int make_plain_worker(pthread_t *th, const pthread_attr_t *attr, const struct plan *plan, struct thread_rec *r)
{
    if (!attr)
        return make_worker(th, NULL, r);
    pthread_attr_t own;
    int err = pthread_attr_init(&own);
    if (err) {
        rec_created(r, 0, err);
        return err;
    }
    pthread_attr_setstacksize(&own, plan->stack);
    pthread_attr_setguardsize(&own, plan->guard);
#ifdef PTHREAD_ATTR_NO_SIGMASK_NP
    if (plan->has_mask)
        pthread_attr_setsigmask_np(&own, &plan->mask);
#endif
    err = make_worker(th, &own, r);
    pthread_attr_destroy(&own);
    return err;
}

static int create_new(pthread_t *th, const pthread_attr_t *attr, const struct plan *plan, const struct job *job)
{
    struct thread_rec *r = rec_new();
    if (!r)
        return EAGAIN;
    r->stack = plan->stack;
    r->guard = plan->guard;
    r->job = *job;
    r->detached = plan->detached;
    atomic_store(&r->spent, !plan->plain);
    r->odd = !plan->plain || self_is_odd();
    if (plan->plain)
        return make_plain_worker(th, attr, plan, r);
    r->really_detached = plan->detached;
    return make_worker(th, attr, r);
}

static bool create_cached(pthread_t *th, const struct plan *plan, const struct job *job)
{
    struct inherited from;
    if (!plan->plain || self_is_odd() || !cache_has_parked())
        return false;
    threads_after_fork();                    /* a process made by clone may not know yet that these are its parent's */
    if (!cache_has_parked())
        return false;
    fresh_capture(&from);
    if (plan->has_mask)
        from.mask = plan->mask;
    return cache_take(plan->stack, plan->guard, job, &from, plan->detached, th);
}

static int create(pthread_t *th, const pthread_attr_t *attr, const struct job *job)
{
    struct plan plan;
    attr_read(attr, &plan);
    if (create_cached(th, &plan, job))
        return 0;
    int err = create_new(th, attr, &plan, job);
    /* A limit on threads counts the kept ones, which the user does not know of. */
    if (err == EAGAIN && threads_flush())
        err = create_new(th, attr, &plan, job);
    if (err == EAGAIN)                       /* and neither may they be in the way of what the user does instead, such as to fork */
        cache_close();
    return err;
}

/* A program that tries again until there is room waits for threads to end, and these may wait for
 * its core. */
static int after_failure(int err)
{
    sched_yield();
    return err;
}

THREADS_EXPORT int pthread_create(pthread_t *th, const pthread_attr_t *attr, start_routine start, void *arg)
{
    int err = may_cache() ? create(th, attr, &(struct job){ start, arg, false }) : REAL(pthread_create)(th, attr, start, arg);
    return err ? after_failure(err) : 0;
}

THREADS_EXPORT int thrd_create(thrd_t *th, thrd_start_t start, void *arg)
{
    if (!may_cache()) {
        int result = REAL(thrd_create)(th, start, arg);
        return result == thrd_success ? result : after_failure(result);
    }
    switch (create(th, NULL, &(struct job){ (start_routine)(void *)start, arg, true })) {
    case 0:
        return thrd_success;
    case ENOMEM:
        return after_failure(thrd_nomem);
    default:
        return after_failure(thrd_error);
    }
}
