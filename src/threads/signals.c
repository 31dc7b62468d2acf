/* src/threads/signals.c - what one thread does to another.  SPDX-License-Identifier: Apache-2.0
 *
 * pthread_kill is async-signal-safe and so takes no lock.  The caller counts itself in (kills),
 * looks at the state, acts if it is RUNNING, counts itself out; the worker stores EXITING, then
 * looks at the count and, if it is not zero, really ends: libc knows how to end a thread that
 * others are sending signals to.  A caller that never comes back (its own signal handler jumped
 * away) costs one worker. */
#include "threads/real.h"
#include "threads/record.h"

#include <errno.h>

enum target { NOT_OURS, ALIVE, ENDED, UNKNOWN };

/* ALIVE: the caller must call target_done. */
static enum target target_begin(pthread_t th, struct thread_rec **rec)
{
    struct thread_rec *r = *rec = cache_find(th);
    if (!r || !atomic_load(&threads_flags.on))
        return NOT_OURS;
    atomic_fetch_add(&r->kills, 1);
    bool mine = pthread_equal(atomic_load(&r->th), th);
    int state = atomic_load(&r->state);
    if (mine && state == REC_RUNNING)
        return ALIVE;
    atomic_fetch_sub(&r->kills, 1);
    if (!mine || state == REC_LEFT || state == REC_FREE)
        return NOT_OURS;
    return state == REC_PARKED ? UNKNOWN : ENDED;
}

static void target_done(struct thread_rec *r) { atomic_fetch_sub(&r->kills, 1); }

/* As libc answers for a thread that has ended: it does not get to look at the signal, but for its
 * own two. */
static int answer_for_ended(int sig) { return sig >= 32 && sig < SIGRTMIN ? EINVAL : 0; }

THREADS_EXPORT int pthread_kill(pthread_t th, int sig)
{
    struct thread_rec *r;
    enum target target = target_begin(th, &r);
    if (target == UNKNOWN)
        return ESRCH;
    if (target == ENDED)
        return answer_for_ended(sig);
    int err = REAL(pthread_kill)(th, sig);
    if (target == ALIVE)
        target_done(r);
    return err;
}

THREADS_EXPORT int pthread_sigqueue(pthread_t th, int sig, const union sigval value)
{
    struct thread_rec *r;
    enum target target = target_begin(th, &r);
    if (target == UNKNOWN || target == ENDED)
        return ESRCH;
    int err = REAL(pthread_sigqueue)(th, sig, value);
    if (target == ALIVE)
        target_done(r);
    return err;
}

/* A cancelled thread is not reused, whether or not it acts upon the request. */
THREADS_EXPORT int pthread_cancel(pthread_t th)
{
    struct thread_rec *r;
    if (atomic_load(&threads_flags.on) && cache_is_main(th))
        cache_close();
    enum target target = target_begin(th, &r);
    if (target == UNKNOWN)
        return ESRCH;
    if (target == ENDED)
        return 0;
    if (target == ALIVE)
        atomic_store(&r->spent, true);
    int err = REAL(pthread_cancel)(th);
    if (target == ALIVE)
        target_done(r);
    return err;
}

/* Of a thread that has ended there is nothing to ask or change. */
static bool is_over(pthread_t th)
{
    struct thread_rec *r;
    enum target target = target_begin(th, &r);
    if (target == ALIVE)
        target_done(r);
    return target == ENDED || target == UNKNOWN;
}

/* Scheduling attributes are inherited by the children of th as well. */
static void make_odd(pthread_t th)
{
    if (atomic_load(&threads_flags.on))
        self_of(th)->odd = true;
}

THREADS_EXPORT int pthread_setschedparam(pthread_t th, int policy, const struct sched_param *param)
{
    if (is_over(th))
        return ESRCH;
    make_odd(th);
    return REAL(pthread_setschedparam)(th, policy, param);
}

THREADS_EXPORT int pthread_setschedprio(pthread_t th, int priority)
{
    if (is_over(th))
        return ESRCH;
    make_odd(th);
    return REAL(pthread_setschedprio)(th, priority);
}

THREADS_EXPORT int pthread_getschedparam(pthread_t th, int *policy, struct sched_param *param)
{
    return is_over(th) ? ESRCH : REAL(pthread_getschedparam)(th, policy, param);
}

THREADS_EXPORT int pthread_getcpuclockid(pthread_t th, clockid_t *clock)
{
    return is_over(th) ? ESRCH : REAL(pthread_getcpuclockid)(th, clock);
}
