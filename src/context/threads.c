/* src/context/threads.c - threads that a context's libraries create.
 * SPDX-License-Identifier: Apache-2.0
 *
 * They belong to the context: their calls to stubs go there, they run on its CPUs, and it is not
 * unloaded while one of them lives. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context/shim.h"
#include "usf/usf.h"

struct thread {
    struct thread *next, *prev;
    struct usf_context *context;
    void *(*routine)(void *);
    void *arg;
    bool has_mask;              /* its creator has asked for one */
    unsigned rounds;            /* of the destructors of its keys */
    _Atomic int32_t tid;        /* 0: it has not begun yet */
};

static struct { pthread_mutex_t lock; struct thread *first; pthread_key_t key; pthread_once_t once; bool prepared; } threads = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void list(struct thread *t)
{
    pthread_mutex_lock(&threads.lock);
    t->next = threads.first;
    if (threads.first) threads.first->prev = t;
    threads.first = t;
    pthread_mutex_unlock(&threads.lock);
}

static void take_out(struct thread *t)
{
    pthread_mutex_lock(&threads.lock);
    if (t->prev) t->prev->next = t->next;
    else threads.first = t->next;
    if (t->next) t->next->prev = t->prev;
    pthread_mutex_unlock(&threads.lock);
    atomic_fetch_sub(&t->context->nr_threads, 1);
    free(t);
}

/* However it ends.  Destructors of the library's own keys may come after this one: in the last of
 * the rounds that libc makes, all have had their turn. */
static void ends(void *p)
{
    struct thread *t = p;
    if (++t->rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(threads.key, t) == 0) return;
    take_out(t);
}

void threads_before_fork(void) { pthread_mutex_lock(&threads.lock); }
void threads_after_fork(void) { pthread_mutex_unlock(&threads.lock); }
void threads_in_child(void)
{
    struct thread *own = threads.prepared ? pthread_getspecific(threads.key) : 0;
    pthread_mutex_init(&threads.lock, 0);
    for (struct thread *t = threads.first, *next; t; t = next) {
        next = t->next;
        if (t != own) free(t);
    }
    if ((threads.first = own)) {
        own->next = own->prev = 0;
        atomic_store(&own->tid, os_gettid());
        atomic_fetch_add(&own->context->nr_threads, 1);
    }
}

static void prepare(void)
{
    if (pthread_key_create(&threads.key, ends)) abort();
    threads.prepared = true;
}

static bool same(const struct os_cpuset *a, const struct os_cpuset *b) { return memcmp(a, b, sizeof *a) == 0; }

/* ---- their CPUs -------------------------------------------------------------------------------------- */

/* The context's group may borrow CPUs outside of this mask.  So the mask is no limit, unlike one
 * that the program sets itself. */
static void set_own_mask(const struct usf_context *c, const struct os_cpuset *cpus)
{
    os_setaffinity(0, cpus);
    if (c->group != USF_GROUP_FIRST) usf_task_set_affinity(USF_PLACE_ANY, 0, 0);
}

/* The lock is not held while a thread is bound, which may wait for a turn on its new CPU. */
static void bind_self(struct thread *t)
{
    struct usf_context *c = t->context;
    struct os_cpuset cpus, none = {0}, bound = none;
    for (;;) {
        pthread_mutex_lock(&threads.lock);
        cpus = c->nr_cpus ? c->cpus : none;
        atomic_store(&t->tid, os_gettid());     /* from here on threads_move binds it */
        pthread_mutex_unlock(&threads.lock);
        if (same(&cpus, &bound) || t->has_mask) return;
        set_own_mask(c, &cpus);
        bound = cpus;
    }
}

static void move(int32_t tid, const struct os_cpuset *from, const struct os_cpuset *to)
{
    struct os_cpuset mask;
    if (os_getaffinity(tid, &mask) < 0) return;
    if (same(&mask, from)) mask = *to;
    os_cpu_and(&mask, to);
    os_setaffinity(tid, os_cpu_count(&mask) ? &mask : to);
}

void threads_move(struct usf_context *c, const struct os_cpuset *cpus)
{
    struct os_cpuset all, from, to = *cpus;
    int32_t self = 0;
    bool good = os_cpuset_allowed(&all) == 0;
    pthread_mutex_lock(&threads.lock);
    from = c->nr_cpus ? c->cpus : all;
    c->nr_cpus = 0;
    c->cpus = *cpus;
    c->nr_cpus = os_cpu_count(cpus);
    if (!c->nr_cpus) to = all;
    for (struct thread *t = threads.first; t && good; t = t->next) {
        int32_t tid = t->context == c ? atomic_load(&t->tid) : 0;
        if (tid == os_gettid()) self = tid;
        else if (tid) move(tid, &from, &to);
    }
    pthread_mutex_unlock(&threads.lock);
    if (self) move(0, &from, &to);
}

bool threads_is_bound(const struct usf_context *c)
{
    pthread_once(&threads.once, prepare);
    const struct thread *t = pthread_getspecific(threads.key);
    return t && t->context == c && !t->has_mask;
}

/* ---- their life -------------------------------------------------------------------------------------- */

static void *begin(void *p)
{
    struct thread *t = p;
    struct usf_context *c = t->context;
    pthread_setspecific(threads.key, t);
    context_set(c);
    if (c->group != USF_GROUP_FIRST) usf_group_enter(c->group);
    bind_self(t);
    return t->routine(t->arg);
}

static bool has_mask(const pthread_attr_t *attr)
{
    cpu_set_t all[8], none[8];
    memset(none, 0xff, sizeof none);
    return attr && pthread_attr_getaffinity_np(attr, sizeof all, all) == 0 && memcmp(all, none, sizeof all);
}

int threads_create(struct usf_context *c, pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *arg)
{
    struct thread *t = calloc(1, sizeof *t);
    if (!t) return EAGAIN;
    pthread_once(&threads.once, prepare);
    *t = (struct thread){.context = c, .routine = routine, .arg = arg, .has_mask = has_mask(attr)};
    atomic_fetch_add(&c->nr_threads, 1);
    list(t);
    int r = pthread_create(thread, attr, begin, t);
    if (r) take_out(t);
    return r;
}

void shim_thread_names(struct usf_context *c, char *names, size_t size)
{
    size_t n = 0;
    *names = 0;
    pthread_mutex_lock(&threads.lock);
    for (struct thread *t = threads.first; t && n + 40 < size; t = t->next) {
        char path[64], name[32] = "";
        if (t->context != c) continue;
        snprintf(path, sizeof path, "/proc/self/task/%d/comm", t->tid);
        long len = os_read_file(path, name, sizeof name);
        if (len > 0 && name[len - 1] == '\n') name[len - 1] = 0;
        n += (size_t)snprintf(names + n, size - n, "%s%d %s", n ? ", " : "", t->tid, name);
    }
    pthread_mutex_unlock(&threads.lock);
}
