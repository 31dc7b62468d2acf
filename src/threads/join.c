/* src/threads/join.c - pthread_join and its kin, pthread_detach, pthread_exit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "threads/real.h"
#include "threads/record.h"

#include <errno.h>

struct wait {
    bool try;
    clockid_t clock;
    const struct timespec *until;            /* null: for ever */
};

static int join_libc(pthread_t th, void **result, const struct wait *w)
{
    if (w->try)
        return REAL(pthread_tryjoin_np)(th, result);
    if (!w->until)
        return REAL(pthread_join)(th, result);
    if (w->clock == CLOCK_REALTIME)
        return REAL(pthread_timedjoin_np)(th, result, w->until);
    return REAL(pthread_clockjoin_np)(th, result, w->clock, w->until);
}

/* The caller will not join r after all: cancelled, timed out, or r went to libc. */
static void stop_joining(void *rec)
{
    struct thread_rec *r = rec;
    cache_lock();
    r->joiner = 0;
    if (atomic_load(&r->state) == REC_LEFT)
        rec_release(r);
    cache_unlock();
}

static int wait_once(struct thread_rec *r, const struct wait *w)
{
    int err = w->until ? sem_clockwait(&r->ended, w->clock, w->until) : sem_wait(&r->ended);
    return err && errno != EINTR ? errno : 0;
}

/* The caller is r's joiner.  0: *result is set.  -1: r's thread is libc's to join. */
static int wait_for_end(struct thread_rec *r, void **result, const struct wait *w)
{
    int err = 0, state;
    pthread_cleanup_push(stop_joining, r);
    do
        err = wait_once(r, w);               /* a cancellation point */
    while (err == 0 && (state = atomic_load(&r->state)) != REC_ENDED && state != REC_LEFT);
    pthread_cleanup_pop(0);
    if (err) {
        stop_joining(r);
        return err;
    }
    cache_lock();
    if (atomic_load(&r->state) == REC_ENDED) {
        *result = r->result;
        cache_recycle(r);
        cache_unlock();
        return 0;
    }
    cache_unlock();
    /* It left, or was told to: wait until it has. */
    while (atomic_load(&r->state) != REC_LEFT)
        wait_once(r, &(struct wait){ 0 });
    stop_joining(r);
    return -1;
}

/* Who joins the caller?  Two threads that join each other would wait for ever. */
static bool joins_me(pthread_t th)
{
    struct thread_rec *me = threads_self.rec;
    return me && me->joiner && pthread_equal(me->joiner, th);
}

/* holds cache.lock.  0: joined at once.  EINPROGRESS: the caller is the joiner and must wait. */
static int start_joining(struct thread_rec *r, pthread_t th, void **result, const struct wait *w)
{
    if (atomic_load(&r->state) == REC_PARKED)
        return ESRCH;
    if (r->detached)
        return EINVAL;
    if (pthread_equal(th, pthread_self()) || joins_me(th))
        return EDEADLK;
    if (r->joiner)
        return EINVAL;
    if (atomic_load(&r->state) == REC_ENDED) {
        *result = r->result;
        cache_recycle(r);
        return 0;
    }
    if (w->try)
        return EBUSY;
    r->joiner = pthread_self();
    return EINPROGRESS;
}

static int join(pthread_t th, void **result, const struct wait *w)
{
    void *value = NULL;
    int err = -1;
    if (atomic_load_explicit(&threads_flags.on, memory_order_relaxed)) {
        cache_lock();
        struct thread_rec *r = cache_find(th);
        if (r)
            err = start_joining(r, th, &value, w);
        else if (joins_me(th))
            err = EDEADLK;
        cache_unlock();
        if (err == EINPROGRESS)
            err = wait_for_end(r, &value, w);
    }
    if (err == -1)
        return join_libc(th, result, w);
    if (err == 0 && result)
        *result = value;
    return err;
}

THREADS_EXPORT int pthread_join(pthread_t th, void **result) { return join(th, result, &(struct wait){ 0 }); }

THREADS_EXPORT int pthread_tryjoin_np(pthread_t th, void **result)
{
    return join(th, result, &(struct wait){ .try = true });
}

THREADS_EXPORT int pthread_timedjoin_np(pthread_t th, void **result, const struct timespec *until)
{
    return join(th, result, &(struct wait){ .clock = CLOCK_REALTIME, .until = until });
}

THREADS_EXPORT int pthread_clockjoin_np(pthread_t th, void **result, clockid_t clock, const struct timespec *until)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return EINVAL;
    return join(th, result, &(struct wait){ .clock = clock, .until = until });
}

static int thrd_result(int err)
{
    switch (err) {
    case 0:
        return thrd_success;
    case ENOMEM:
        return thrd_nomem;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    default:
        return thrd_error;
    }
}

THREADS_EXPORT int thrd_join(thrd_t th, int *result)
{
    void *value = NULL;
    int err = pthread_join(th, &value);
    if (err == 0 && result)
        *result = (int)(intptr_t)value;
    return thrd_result(err);
}

/* holds cache.lock */
static int detach(struct thread_rec *r)
{
    if (atomic_load(&r->state) == REC_PARKED)
        return ESRCH;
    if (r->detached)
        return EINVAL;
    if (r->joiner)
        return 0;                            /* libc takes no notice either */
    r->detached = true;
    if (atomic_load(&r->state) == REC_ENDED)
        cache_recycle(r);
    return 0;
}

THREADS_EXPORT int pthread_detach(pthread_t th)
{
    int err = -1;
    if (atomic_load_explicit(&threads_flags.on, memory_order_relaxed)) {
        cache_lock();
        struct thread_rec *r = cache_find(th);
        if (r)
            err = detach(r);
        cache_unlock();
    }
    return err == -1 ? REAL(pthread_detach)(th) : err;
}

THREADS_EXPORT int thrd_detach(thrd_t th) { return thrd_result(pthread_detach(th)); }

/* When main ends the process lives until its last thread does, and kept threads must not be that
 * one. */
static void main_may_end(void)
{
    if (atomic_load(&threads_flags.on) && cache_is_main(pthread_self()))
        cache_close();
}

THREADS_EXPORT void pthread_exit(void *result)
{
    main_may_end();
    REAL(pthread_exit)(result);
    __builtin_unreachable();
}

THREADS_EXPORT void thrd_exit(int result)
{
    main_may_end();
    REAL(thrd_exit)(result);
    __builtin_unreachable();
}
