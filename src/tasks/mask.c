/* src/tasks/mask.c - programs do not notice that threads which execute tasks are bound.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that executes tasks is bound to its slot's CPU, but the program sees, sets and passes on
 * the mask that the thread would have otherwise: libc's functions for masks are interposed, and a
 * thread that such a thread creates begins with that mask, as programs that it executes do
 * (mask_exec.c).  Under `usf run` the preloaded library does this for all threads, and nothing here
 * is called. */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "tasks/tasks.h"

/* Threads whose mask is not the kernel's. */
static struct { pthread_mutex_t lock; struct tk_exec *first; } bound = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The thread's mask is noted, and given back, under the lock: what others set meanwhile is not
 * lost.  By the thread, or while it sleeps. */
void tk_mask_add(struct tk_exec *e)
{
    pthread_mutex_lock(&bound.lock);
    if (e->is_worker) e->own_cpus = tk.cpus;
    else os_getaffinity(e == tk_self_exec ? 0 : e->tid, &e->own_cpus);
    e->masked = true;
    e->prev_bound = 0;
    e->next_bound = bound.first;
    if (bound.first) bound.first->prev_bound = e;
    bound.first = e;
    pthread_mutex_unlock(&bound.lock);
}

void tk_mask_remove(struct tk_exec *e, bool restore)
{
    pthread_mutex_lock(&bound.lock);
    if (restore && e->bound != TK_UNBOUND) os_setaffinity(0, &e->own_cpus);
    if (e->prev_bound) e->prev_bound->next_bound = e->next_bound;
    else bound.first = e->next_bound;
    if (e->next_bound) e->next_bound->prev_bound = e->prev_bound;
    pthread_mutex_unlock(&bound.lock);
}

/* In the child of a fork: its only thread takes its own mask back. */
void tk_mask_forget(void)
{
    bound.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    bound.first = 0;
    if (tk_self_exec && tk_self_exec->bound != TK_UNBOUND) os_setaffinity(0, &tk_self_exec->own_cpus);
}

/* holds the lock */
static struct tk_exec *find(int32_t tid)
{
    struct tk_exec *e = bound.first;
    while (e && e->tid != tid) e = e->next_bound;
    return e;
}

/* ---- libc's functions ---------------------------------------------------------------------------- */

void *tk_look_up(void *_Atomic *at, const char *name)
{
    void *real = atomic_load_explicit(at, memory_order_relaxed);
    if (!real) atomic_store_explicit(at, real = dlsym(RTLD_NEXT, name), memory_order_relaxed);
    return real;
}

static size_t at_most(size_t a, size_t b) { return a < b ? a : b; }

static void from_set(struct os_cpuset *out, size_t size, const cpu_set_t *mask)
{
    memset(out, 0, sizeof *out);
    memcpy(out, mask, at_most(size, sizeof *out));
}

static void to_set(const struct os_cpuset *from, size_t size, cpu_set_t *mask)
{
    memset(mask, 0, size);
    memcpy(mask, from, at_most(size, sizeof *from));
}

static bool fits(const struct os_cpuset *mask, size_t size)
{
    for (unsigned c = (unsigned)at_most(8 * size, 1024); c < 1024; c++)
        if (os_cpu_isset(mask, c)) return false;
    return size % sizeof(long) == 0;
}

/* holds the lock */
static struct tk_exec *find_thread(pthread_t thread)
{
    struct tk_exec *e = bound.first;
    while (e && !pthread_equal(e->thread, thread)) e = e->next_bound;
    return e;
}

static int get_mask(struct tk_exec *e, size_t size, cpu_set_t *mask)
{
    if (!fits(&e->own_cpus, size)) return EINVAL;
    to_set(&e->own_cpus, size, mask);
    return 0;
}

static int set_mask(struct tk_exec *e, size_t size, const cpu_set_t *mask)
{
    struct os_cpuset to, allowed;
    from_set(&to, size, mask);
    if (os_cpuset_allowed(&allowed) == 0) os_cpu_and(&to, &allowed);
    if (!os_cpu_count(&to)) return EINVAL;
    e->own_cpus = to;
    return 0;
}

static int failed(int err)
{
    if (err) errno = err;
    return err ? -1 : 0;
}

TK_API int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask)
{
    pthread_mutex_lock(&bound.lock);
    struct tk_exec *e = find(pid ? pid : os_gettid());
    int r = e ? failed(get_mask(e, size, mask)) : TK_REAL(sched_getaffinity)(pid, size, mask);
    pthread_mutex_unlock(&bound.lock);
    return r;
}

TK_API int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask)
{
    pthread_mutex_lock(&bound.lock);
    struct tk_exec *e = find(pid ? pid : os_gettid());
    int r = e ? failed(set_mask(e, size, mask)) : TK_REAL(sched_setaffinity)(pid, size, mask);
    pthread_mutex_unlock(&bound.lock);
    return r;
}

TK_API int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *mask)
{
    pthread_mutex_lock(&bound.lock);
    struct tk_exec *e = find_thread(thread);
    int r = e ? get_mask(e, size, mask) : TK_REAL(pthread_getaffinity_np)(thread, size, mask);
    pthread_mutex_unlock(&bound.lock);
    return r;
}

TK_API int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *mask)
{
    pthread_mutex_lock(&bound.lock);
    struct tk_exec *e = find_thread(thread);
    int r = e ? set_mask(e, size, mask) : TK_REAL(pthread_setaffinity_np)(thread, size, mask);
    pthread_mutex_unlock(&bound.lock);
    return r;
}

/* ---- new threads --------------------------------------------------------------------------------- */

struct start { void *(*routine)(void *); thrd_start_t c11; void *arg; struct os_cpuset cpus; };

static struct start take(void *arg)
{
    struct start s = *(struct start *)arg;
    free(arg);
    os_setaffinity(0, &s.cpus);
    return s;
}

static void *begin(void *arg)
{
    struct start s = take(arg);
    return s.routine(s.arg);
}

static int begin_c11(void *arg)
{
    struct start s = take(arg);
    return s.c11(s.arg);
}

/* Null: no memory. */
static struct start *new_start(struct tk_exec *me, struct start is)
{
    struct start *s = malloc(sizeof *s);
    if (!s) return 0;
    *s = is;
    tk_own_mask(me, &s->cpus);
    return s;
}

/* Also in a signal's handler, whose thread may have the lock: then another thread changes
 * nothing. */
void tk_own_mask(struct tk_exec *me, struct os_cpuset *out)
{
    bool locked = pthread_mutex_trylock(&bound.lock) == 0;
    *out = me->own_cpus;
    if (locked) pthread_mutex_unlock(&bound.lock);
}

static bool has_mask(const pthread_attr_t *attr)
{
    cpu_set_t all[8], none[8];
    memset(none, 0xff, sizeof none);
    return attr && pthread_attr_getaffinity_np(attr, sizeof all, all) == 0 && memcmp(all, none, sizeof all);
}

TK_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *arg)
{
    struct tk_exec *me = tk_me();
    if (!me || me->bound == TK_UNBOUND || has_mask(attr)) return TK_REAL(pthread_create)(thread, attr, routine, arg);
    struct start *s = new_start(me, (struct start){.routine = routine, .arg = arg});
    if (!s) return EAGAIN;
    int r = TK_REAL(pthread_create)(thread, attr, begin, s);
    if (r) free(s);
    return r;
}

TK_API int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
    struct tk_exec *me = tk_me();
    if (!me || me->bound == TK_UNBOUND) return TK_REAL(thrd_create)(thread, routine, arg);
    struct start *s = new_start(me, (struct start){.c11 = routine, .arg = arg});
    if (!s) return thrd_nomem;
    int r = TK_REAL(thrd_create)(thread, begin_c11, s);
    if (r != thrd_success) free(s);
    return r;
}
