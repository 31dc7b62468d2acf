/* src/tasks/compat.c - locks whose waiters are tasks.  SPDX-License-Identifier: Apache-2.0
 *
 * Waiters lie on their tasks' stacks, in a list under the object's inner lock, in the order in
 * which they came.  Who wakes one takes it off the list and ends its sleep under that lock, and
 * queues its task after it: the record may be gone from then on.  An object that is all zero is
 * unlocked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nosv/compat.h"
#include "tasks/tasks.h"

/* task: the record that sleeps; as: the task that gets the lock.  They differ in a completed
 * callback. */
struct waiter { struct waiter *next; struct nosv_task *task, *as; bool writes, listed; };
struct waiters { struct waiter *head, *tail; };

static void append(struct waiters *q, struct waiter *w)
{
    w->next = 0;
    w->listed = true;
    if (q->tail) q->tail->next = w;
    else q->head = w;
    q->tail = w;
}

static void take_out(struct waiters *q, struct waiter *w)
{
    struct waiter *before = 0;
    for (struct waiter *i = q->head; i != w; i = i->next) before = i;
    if (before) before->next = w->next;
    else q->head = w->next;
    if (q->tail == w) q->tail = before;
    w->listed = false;
}

/* Tasks whose sleep has been ended, linked by next: to be queued. */
struct woken { struct nosv_task *head, **tail; };

/* holds the inner lock.  False: its time is over; it sees by itself that it is off the list. */
static bool wake(struct waiters *q, struct waiter *w, struct woken *to)
{
    struct nosv_task *t = w->task;
    take_out(q, w);
    if (!tk_end_sleep(t, TK_FOR_OTHERS)) return false;
    t->next = 0;
    *to->tail = t;
    to->tail = &t->next;
    return true;
}

static void queue(struct woken *w)
{
    for (struct nosv_task *t = w->head, *next; t; t = next) {
        next = t->next;
        tk_queue(tk_me(), t);
    }
}

/* May the caller wait? */
static int caller(struct tk_exec **me)
{
    *me = tk_me();
    if (!*me || !(*me)->task) return ESRCH;
    return (*me)->parallel ? EINVAL : 0;
}

/* holds the inner lock */
static void begin_wait(struct tk_exec *me, struct waiters *q, struct waiter *w)
{
    w->as = me->task;
    tk_begin_sleep(me, TK_FOR_OTHERS);
    w->task = me->task;
    append(q, w);
}

/* holds the inner lock, and gives it back: sleep in the list until woken. */
static bool sleep_in(struct tk_exec *me, struct tk_lock *inner, struct waiters *q, struct waiter *w, uint64_t deadline)
{
    begin_wait(me, q, w);
    tk_unlock(inner);
    return tk_sleep(me, deadline);
}

/* ---- mutexes --------------------------------------------------------------------------------- */

struct mutex {
    struct tk_lock inner;
    _Atomic uint32_t state;     /* 0: unlocked, 1: locked, 2: locked, and some may wait */
    struct waiters q;
    struct nosv_task *_Atomic owner;
};
_Static_assert(sizeof(struct mutex) <= sizeof(nosv_mutex_t), "room for a mutex");

static bool try_mutex(struct tk_exec *me, struct mutex *m)
{
    uint32_t unlocked = 0;
    if (!atomic_compare_exchange_strong(&m->state, &unlocked, 1)) return false;
    atomic_store_explicit(&m->owner, me->task, memory_order_relaxed);
    return true;
}

/* Only the owner's own answer is certain. */
static bool is_owner(struct mutex *m) { return atomic_load_explicit(&m->owner, memory_order_relaxed) == tk_my_task(); }

static void lock_mutex(struct tk_exec *me, struct mutex *m)
{
    struct waiter w;
    if (try_mutex(me, m)) return;
    tk_flush_if_any(me);
    tk_lock(&m->inner);
    if (atomic_exchange(&m->state, 2)) {
        sleep_in(me, &m->inner, &m->q, &w, 0);      /* who wakes us has given us the lock */
    } else {
        if (!m->q.head) atomic_store(&m->state, 1);
        tk_unlock(&m->inner);
    }
    atomic_store_explicit(&m->owner, me->task, memory_order_relaxed);
}

/* Is the owner's. */
static void release_mutex(struct mutex *m)
{
    struct woken woken = {.tail = &woken.head};
    uint32_t locked = 1;
    atomic_store_explicit(&m->owner, 0, memory_order_relaxed);
    if (atomic_compare_exchange_strong(&m->state, &locked, 0)) return;
    tk_lock(&m->inner);
    if (m->q.head) wake(&m->q, m->q.head, &woken);
    if (!m->q.head) atomic_store(&m->state, woken.head ? 1 : 0);
    tk_unlock(&m->inner);
    queue(&woken);
}

TK_API int nosv_mutex_init(nosv_mutex_t *mutex, const nosv_mutexattr_t *attr)
{
    (void)attr;
    if (!mutex) return EINVAL;
    memset(mutex, 0, sizeof *mutex);
    return 0;
}

TK_API int nosv_mutex_destroy(nosv_mutex_t *mutex)
{
    if (!mutex) return EINVAL;
    return atomic_load(&((struct mutex *)mutex)->state) ? EBUSY : 0;
}

TK_API int nosv_mutex_lock(nosv_mutex_t *mutex)
{
    struct tk_exec *me;
    int r = mutex ? caller(&me) : EINVAL;
    if (r) return r;
    if (is_owner((struct mutex *)mutex)) return EDEADLK;
    lock_mutex(me, (struct mutex *)mutex);
    return 0;
}

TK_API int nosv_mutex_trylock(nosv_mutex_t *mutex)
{
    struct tk_exec *me;
    int r = mutex ? caller(&me) : EINVAL;
    if (r) return r;
    return try_mutex(me, (struct mutex *)mutex) ? 0 : EBUSY;
}

TK_API int nosv_mutex_unlock(nosv_mutex_t *mutex)
{
    if (!mutex) return EINVAL;
    if (!tk_my_task()) return ESRCH;
    if (!is_owner((struct mutex *)mutex)) return EPERM;
    release_mutex((struct mutex *)mutex);
    return 0;
}

/* ---- condition variables --------------------------------------------------------------------- */

struct cond { struct tk_lock inner; struct waiters q; };
_Static_assert(sizeof(struct cond) <= sizeof(nosv_cond_t), "room for a condition variable");

TK_API int nosv_cond_init(nosv_cond_t *cond, const nosv_condattr_t *attr)
{
    (void)attr;
    if (!cond) return EINVAL;
    memset(cond, 0, sizeof *cond);
    return 0;
}

TK_API int nosv_cond_destroy(nosv_cond_t *cond)
{
    struct cond *c = (struct cond *)cond;
    if (!c) return EINVAL;
    tk_lock(&c->inner);
    bool busy = c->q.head;
    tk_unlock(&c->inner);
    return busy ? EBUSY : 0;
}

static int signal_cond(struct cond *c, bool all)
{
    struct woken woken = {.tail = &woken.head};
    if (!c) return EINVAL;
    uint32_t visit = tk_me() ? 0 : tk_visit();      /* 0 without a runtime: then no thread waits */
    tk_lock(&c->inner);
    while (c->q.head && (all || !woken.head)) wake(&c->q, c->q.head, &woken);
    tk_unlock(&c->inner);
    queue(&woken);
    if (visit) tk_end_visit(visit);
    return 0;
}

TK_API int nosv_cond_signal(nosv_cond_t *cond) { return signal_cond((struct cond *)cond, false); }
TK_API int nosv_cond_broadcast(nosv_cond_t *cond) { return signal_cond((struct cond *)cond, true); }

/* ns on CLOCK_MONOTONIC; tv_nsec may be anything.  At least 1: 0 is no time. */
static uint64_t time_of(const struct timespec *at)
{
    __int128 ns = (__int128)at->tv_sec * 1000000000 + at->tv_nsec;
    return ns < 1 ? 1 : ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

struct unlocker { struct mutex *mutex; pthread_mutex_t *pthread; };

static int wait_cond(struct cond *c, struct unlocker l, const struct timespec *at)
{
    struct tk_exec *me;
    struct waiter w;
    int r = c && (l.mutex || l.pthread) ? caller(&me) : EINVAL;
    if (r) return r;
    if (l.mutex && !is_owner(l.mutex)) return EPERM;
    tk_flush_if_any(me);
    tk_lock(&c->inner);
    if (l.pthread && (r = pthread_mutex_unlock(l.pthread))) {
        tk_unlock(&c->inner);
        return r;
    }
    begin_wait(me, &c->q, &w);
    tk_unlock(&c->inner);
    if (l.mutex) release_mutex(l.mutex);     /* a thread in a completed callback is its stand-in by now, and would not be the owner */
    bool woken = tk_sleep(me, at ? time_of(at) : 0);
    if (!woken) {
        tk_lock(&c->inner);
        if (w.listed) take_out(&c->q, &w);
        tk_unlock(&c->inner);
    }
    if (l.mutex) lock_mutex(me, l.mutex);
    else r = pthread_mutex_lock(l.pthread);
    return r ? r : woken ? 0 : ETIMEDOUT;
}

TK_API int nosv_cond_wait(nosv_cond_t *cond, nosv_mutex_t *mutex)
{ return wait_cond((struct cond *)cond, (struct unlocker){(struct mutex *)mutex, 0}, 0); }
TK_API int nosv_cond_timedwait(nosv_cond_t *cond, nosv_mutex_t *mutex, const struct timespec *abstime)
{ return wait_cond((struct cond *)cond, (struct unlocker){(struct mutex *)mutex, 0}, abstime); }
TK_API int nosv_cond_wait_pthread(nosv_cond_t *cond, pthread_mutex_t *mutex)
{ return wait_cond((struct cond *)cond, (struct unlocker){0, mutex}, 0); }
TK_API int nosv_cond_timedwait_pthread(nosv_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *abstime)
{ return wait_cond((struct cond *)cond, (struct unlocker){0, mutex}, abstime); }

/* ---- barriers -------------------------------------------------------------------------------- */

struct barrier { struct tk_lock inner; uint32_t count, arrived; struct waiters q; };
_Static_assert(sizeof(struct barrier) <= sizeof(nosv_barrier_t), "room for a barrier");

TK_API int nosv_barrier_init(nosv_barrier_t *barrier, const nosv_barrierattr_t *attr, unsigned count)
{
    (void)attr;
    if (!barrier || !count) return EINVAL;
    memset(barrier, 0, sizeof *barrier);
    ((struct barrier *)barrier)->count = count;
    return 0;
}

TK_API int nosv_barrier_destroy(nosv_barrier_t *barrier)
{
    struct barrier *b = (struct barrier *)barrier;
    if (!b) return EINVAL;
    tk_lock(&b->inner);
    bool busy = b->arrived;
    if (!busy) b->count = 0;
    tk_unlock(&b->inner);
    return busy ? EBUSY : 0;
}

TK_API int nosv_barrier_wait(nosv_barrier_t *barrier)
{
    struct barrier *b = (struct barrier *)barrier;
    struct woken woken = {.tail = &woken.head};
    struct tk_exec *me;
    struct waiter w;
    int r = b ? caller(&me) : EINVAL;
    if (r) return r;
    tk_flush_if_any(me);
    tk_lock(&b->inner);
    if (!b->count) {
        tk_unlock(&b->inner);
        return EINVAL;
    }
    if (++b->arrived < b->count) {
        sleep_in(me, &b->inner, &b->q, &w, 0);
        return 0;
    }
    b->arrived = 0;
    while (b->q.head) wake(&b->q, b->q.head, &woken);
    tk_unlock(&b->inner);
    queue(&woken);
    return PTHREAD_BARRIER_SERIAL_THREAD;
}

/* ---- read-write locks: writers first --------------------------------------------------------- */

struct rwlock { struct tk_lock inner; uint32_t readers, waiting_writers; struct nosv_task *writer; struct waiters q; };
_Static_assert(sizeof(struct rwlock) <= sizeof(nosv_rwlock_t), "room for a read-write lock");

TK_API int nosv_rwlock_init(nosv_rwlock_t *rwlock, const nosv_rwlockattr_t *attr)
{
    (void)attr;
    if (!rwlock) return EINVAL;
    memset(rwlock, 0, sizeof *rwlock);
    return 0;
}

TK_API int nosv_rwlock_destroy(nosv_rwlock_t *rwlock)
{
    struct rwlock *l = (struct rwlock *)rwlock;
    if (!l) return EINVAL;
    tk_lock(&l->inner);
    bool busy = l->readers || l->writer || l->q.head;
    tk_unlock(&l->inner);
    return busy ? EBUSY : 0;
}

/* holds the inner lock */
static bool take(struct rwlock *l, struct nosv_task *t, bool writes)
{
    if (l->writer || (writes ? l->readers : l->waiting_writers)) return false;
    if (writes) l->writer = t;
    else l->readers++;
    return true;
}

static int lock_rw(struct rwlock *l, bool writes, bool waits)
{
    struct tk_exec *me;
    struct waiter w = {.writes = writes};
    int r = l ? caller(&me) : EINVAL;
    if (r) return r;
    if (waits) tk_flush_if_any(me);
    tk_lock(&l->inner);
    bool own = l->writer == me->task, taken = !own && take(l, me->task, writes);
    if (taken || !waits || own) {
        tk_unlock(&l->inner);
        return taken ? 0 : waits ? EDEADLK : EBUSY;
    }
    if (writes) l->waiting_writers++;
    sleep_in(me, &l->inner, &l->q, &w, 0);      /* who wakes us has given us the lock */
    return 0;
}

/* holds the inner lock; the read-write lock itself is free.  The first writer gets it, or else all
 * readers. */
static void pass(struct rwlock *l, struct woken *woken)
{
    for (struct waiter *w = l->q.head; w; w = w->next) {
        if (!w->writes) continue;
        l->writer = w->as;
        l->waiting_writers--;
        wake(&l->q, w, woken);
        return;
    }
    for (; l->q.head; l->readers++) wake(&l->q, l->q.head, woken);
}

TK_API int nosv_rwlock_unlock(nosv_rwlock_t *rwlock)
{
    struct rwlock *l = (struct rwlock *)rwlock;
    struct woken woken = {.tail = &woken.head};
    if (!l) return EINVAL;
    if (!tk_my_task()) return ESRCH;
    tk_lock(&l->inner);
    bool held = l->writer ? l->writer == tk_my_task() : l->readers != 0;
    if (held && l->writer) l->writer = 0;
    else if (held) l->readers--;
    if (held && !l->readers) pass(l, &woken);
    tk_unlock(&l->inner);
    queue(&woken);
    return held ? 0 : EPERM;
}

TK_API int nosv_rwlock_rdlock(nosv_rwlock_t *rwlock) { return lock_rw((struct rwlock *)rwlock, false, true); }
TK_API int nosv_rwlock_wrlock(nosv_rwlock_t *rwlock) { return lock_rw((struct rwlock *)rwlock, true, true); }
TK_API int nosv_rwlock_tryrdlock(nosv_rwlock_t *rwlock) { return lock_rw((struct rwlock *)rwlock, false, false); }
TK_API int nosv_rwlock_trywrlock(nosv_rwlock_t *rwlock) { return lock_rw((struct rwlock *)rwlock, true, false); }

/* ---- attributes: there is nothing to set ----------------------------------------------------- */

#define ATTR(name) \
    TK_API int nosv_##name##attr_init(nosv_##name##attr_t *attr) { return attr ? 0 : EINVAL; } \
    TK_API int nosv_##name##attr_destroy(nosv_##name##attr_t *attr) { return attr ? 0 : EINVAL; }
ATTR(mutex)
ATTR(cond)
ATTR(barrier)
ATTR(rwlock)

/* ---- threads --------------------------------------------------------------------------------- */

struct start { void *(*routine)(void *); void *arg; };

/* A thread that ends by pthread_exit is detached by its key (attach.c). */
static void *attached(void *arg)
{
    struct start s = *(struct start *)arg;
    nosv_task_t task;
    free(arg);
    bool in = nosv_attach(&task, 0, 0, NOSV_ATTACH_NONE) == NOSV_SUCCESS;
    void *result = s.routine(s.arg);
    if (in) nosv_detach(NOSV_DETACH_NONE);
    return result;
}

TK_API int nosv_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *arg)
{
    if (!tk_is_on() || !thread || !routine) return EINVAL;
    struct start *s = malloc(sizeof *s);
    if (!s) return EAGAIN;
    *s = (struct start){routine, arg};
    int r = pthread_create(thread, attr, attached, s);
    if (r) free(s);
    return r;
}
