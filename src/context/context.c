/* src/context/context.c - usf/context.h: contexts come and go, threads enter and leave them.  SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "context/context.h"
#include "context/env.h"
#include "context/exec.h"
#include "context/folders.h"
#include "context/share.h"
#include "context/shim.h"
#include "context/stub.h"
#include "context/user.h"
#include "usf/usf.h"

#define WEIGHT_MAX 10000u        /* of a group */
#define MEMORY_LEAST (1ull << 20)

struct contexts contexts = {.unloading = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};
__thread struct usf_context *context_current;

/* What the thread was in before; as deep as it has entered. */
static __thread struct { struct usf_context **at; unsigned n, room; struct usf_context *few[8]; } outer;
static const pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Allocated at the first failure of the thread: all thread-local variables here are in static TLS, of which a program that loads this library
 * late (Python) has 1.6 KB for all its libraries, libgomp's copies among them. */
static __thread char *error_text;
static pthread_key_t error_key;
static void free_error(void *text)
{
    error_text = 0;
    free(text);
}
__attribute__((constructor)) static void make_error_key(void) { pthread_key_create(&error_key, free_error); }

int context_fail(int error, const char *format, ...)
{
    va_list args;
    if (!error_text && (error_text = malloc(CONTEXT_TEXT))) pthread_setspecific(error_key, error_text);
    va_start(args, format);
    if (error_text) vsnprintf(error_text, CONTEXT_TEXT, format, args);
    va_end(args);
    errno = error;
    return error;
}

CONTEXT_API const char *usf_context_error(void) { return error_text ? error_text : ""; }

static void lock(void) { pthread_mutex_lock(&contexts.lock); }
static void unlock(void) { pthread_mutex_unlock(&contexts.lock); }

/* No load is under way while the process forks, so that the child can load.  A thread that forks in a constructor has the dynamic linker's lock,
 * which a load in another thread may wait for: so it does not wait for ever for that load, and its child may then be unable to load, as the
 * child of a fork beside dlopen is in any program. */
static struct { bool unloading, lock; } forking;

static bool lock_for_a_while(pthread_mutex_t *m)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += 300000000;
    at.tv_sec += at.tv_nsec / 1000000000, at.tv_nsec %= 1000000000;
    return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at) == 0;
}

static void before_fork(void)
{
    bool unloading = lock_for_a_while(&contexts.unloading), locked = lock_for_a_while(&contexts.lock);
    forking.unloading = unloading;
    forking.lock = locked;
    stub_before_fork();
    env_before_fork();
    threads_before_fork();
    folders_before_fork();
    exec_before_fork();
}

static void in_parent(void)
{
    bool unloading = forking.unloading, locked = forking.lock;
    exec_after_fork();
    folders_after_fork();
    threads_after_fork();
    env_after_fork();
    stub_after_fork();
    if (locked) unlock();
    if (unloading) pthread_mutex_unlock(&contexts.unloading);
}

/* The child's thread has another id than the one that has locked. */
static void in_child(void)
{
    exec_after_fork();
    folders_after_fork();
    threads_in_child();
    env_after_fork();
    stub_after_fork();
    contexts.lock = recursive;
    contexts.unloading = recursive;
    for (struct usf_context *c = contexts.first; c; c = c->next) {
        atomic_store(&c->nr_threads, 0);
        atomic_store(&c->nr_inside, 0);
        c->constructing = recursive;
        c->group = USF_GROUP_FIRST;     /* the child is another process for the scheduler */
    }
    for (unsigned i = 0; i < outer.n; i++)
        if (outer.at[i]) atomic_fetch_add(&outer.at[i]->nr_inside, 1);
    if (context_current) atomic_fetch_add(&context_current->nr_inside, 1);
}
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(before_fork, in_parent, in_child); }

/* ---- CPUs ----------------------------------------------------------------------------------------- */

static int parse_cpus(const char *list, struct os_cpuset *out)
{
    struct os_cpuset allowed, wanted;
    size_t bad;
    if (os_cpulist_parse(list, out, &bad)) return context_fail(EINVAL, "'%s' is no list of CPUs: it should be as in 0-3,8", list);
    if (!os_cpu_count(out)) return context_fail(EINVAL, "the list of CPUs is empty: give at least one");
    wanted = *out;
    if (os_cpuset_allowed(&allowed)) return 0;
    os_cpu_and(out, &allowed);
    if (os_cpu_count(out) == os_cpu_count(&wanted)) return 0;
    char text[256];
    os_cpulist_format(&allowed, text, sizeof text);
    return context_fail(EINVAL, "CPUs '%s': this process may use %s alone", list, text);
}

void context_cpus(const struct usf_context *c, struct os_cpuset *out)
{
    *out = c->cpus;
    if (!c->nr_cpus) os_getaffinity(0, out);
}

CONTEXT_API int usf_context_get_cpus(usf_context_t *c, char *list, size_t size)
{
    struct os_cpuset cpus;
    if (!c) return -context_fail(EINVAL, "no context");
    lock();
    context_cpus(c, &cpus);
    unlock();
    return os_cpulist_format(&cpus, list, size);
}

/* holds contexts.lock.  What the scheduler is told of it. */
static struct usf_group_options group_of(const struct usf_context *c)
{
    struct usf_group_options o = {.name = c->label, .weight = c->weight, .priority = c->priority, .group = c->group};
    if (!c->nr_cpus) return o;
    memcpy(o.cpus, &c->cpus, sizeof o.cpus);
    o.kind = c->strict ? USF_CPUS_EXCLUSIVE : USF_CPUS_OWN;
    return o;
}

/* Under `usf run` the context is a group. */
static void make_group(struct usf_context *c)
{
    struct usf_group_options o = group_of(c);
    c->group = USF_GROUP_FIRST;
    if (usf_task_is_scheduled()) return;
    if (usf_group_make(&o) == 0) c->group = o.group;
    else usf_warn_once("no more groups in this instance: threads of further contexts count as the program's");
}

static void adjust_group(const struct usf_context *c)
{
    struct usf_group_options o = group_of(c);
    if (c->group != USF_GROUP_FIRST) usf_group_adjust(&o);
}

CONTEXT_API int usf_context_set_cpus(usf_context_t *c, const char *list)
{
    struct os_cpuset cpus = {0};
    if (!c) return context_fail(EINVAL, "no context");
    int r = list ? parse_cpus(list, &cpus) : 0;
    if (r) return r;
    if (c->users_cpus) return 0;
    lock();
    threads_move(c, &cpus);
    atomic_store(&c->cpuinfo, 0);       /* (the old text may be in use: it is not freed) */
    adjust_group(c);
    unlock();
    return 0;
}

/* ---- making --------------------------------------------------------------------------------------- */

static void free_context(struct usf_context *c)
{
    env_free(c);
    files_drop(atomic_load(&c->cpuinfo));
    free(c->roots);
    free(c->label);
    free(c);
}

/* The user's list, or else the program's.  The program's must be right in any case: it is a program's mistake that is not to depend on
 * the environment. */
static int init_cpus(struct usf_context *c, const char *list)
{
    char users[USF_CONTEXTS_MAX];
    const char *from;
    int r = list ? parse_cpus(list, &c->cpus) : 0;
    if (!r) r = user_cpus(c->label, users, &from);
    if (r) return r;
    if (from && (r = parse_cpus(users, &c->cpus))) {
        char why[CONTEXT_TEXT / 2];
        snprintf(why, sizeof why, "%s", error_text ? error_text : "");
        return context_fail(r, "%s: %s: %s", from, c->label, why);
    }
    c->users_cpus = from;
    c->nr_cpus = list || from ? os_cpu_count(&c->cpus) : 0;
    struct os_cpuset cpus;
    context_cpus(c, &cpus);
    os_cpulist_format(&cpus, users, sizeof users);
    user_say(c->label, users, from);
    return 0;
}

static int init(struct usf_context *c, const struct usf_context_options *o)
{
    int r = o->flags & ~USF_CONTEXT_STRICT ? context_fail(EINVAL, "flags 0x%x: unknown", o->flags) : 0;
    c->strict = o->flags & USF_CONTEXT_STRICT;
    c->weight = o->weight ? o->weight : 100;
    c->priority = o->priority;
    if (!r && c->weight > WEIGHT_MAX) r = context_fail(EINVAL, "weight %u: it should be from 1 to %u", c->weight, WEIGHT_MAX);
    if (!r && (c->priority < -USF_PRIORITY_MAX || c->priority > USF_PRIORITY_MAX))
        r = context_fail(EINVAL, "priority %d: it should be from -%d to %d", c->priority, USF_PRIORITY_MAX, USF_PRIORITY_MAX);
    c->memory = o->memory;
    if (!r && o->memory && o->memory < MEMORY_LEAST) r = context_fail(EINVAL, "memory of %llu bytes: it should be 1 MiB at least", (unsigned long long)o->memory);
    if (!r && !(c->label = o->name ? strdup(o->name) : 0) && (o->name || asprintf(&c->label, "context %u", c->id) < 0)) r = context_fail(ENOMEM, "out of memory");
    if (!r) r = init_cpus(c, o->cpus);
    if (!r) r = env_make(c, o->env);
    if (!r && access("/proc/self/fd", X_OK)) r = context_fail(ENOSYS, "contexts need /proc, which is not mounted");
    return r;
}

CONTEXT_API usf_context_t *usf_context_create(const struct usf_context_options *options)
{
    static const struct usf_context_options none;
    struct usf_context *c = calloc(1, sizeof *c);
    if (!c) {
        context_fail(ENOMEM, "out of memory");
        return 0;
    }
    c->end = &c->libraries;
    c->constructing = recursive;
    lock();
    c->id = ++contexts.last_id;
    int r = init(c, options ? options : &none);
    if (!r) {
        make_group(c);
        c->next = contexts.first;
        contexts.first = c;
    }
    unlock();
    if (r) {
        free_context(c);
        errno = r;
        return 0;
    }
    stub_context_begins(c);
    return c;
}

/* ---- ending --------------------------------------------------------------------------------------- */

static int refuse_threads(struct usf_context *c)
{
    char names[CONTEXT_TEXT / 2];
    shim_thread_names(c, names, sizeof names);
    return context_fail(EBUSY, "%s: %u threads of its libraries live (%s): end them first, or keep the context", c->label, atomic_load(&c->nr_threads), names);
}

static bool is_listed(const struct usf_context *c)
{
    const struct usf_context *k = contexts.first;
    while (k && k != c) k = k->next;
    return k;
}

static void take_out(struct usf_context *c)
{
    struct usf_context **at = &contexts.first;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
}

/* Thread-local objects of a library keep it loaded until their thread ends, and the shim with it, which names the context. */
static int has_address(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    return base && info->dlpi_addr == (uintptr_t)base;
}
static bool is_loaded(void *base) { return dl_iterate_phdr(has_address, base); }

/* Destructors are executed by dlclose, in the context and without the lock.  False: something stays, and the context with it. */
static bool unload(struct usf_context *c)
{
    void *shim = c->libraries ? (void *)c->libraries->map->l_addr : 0;
    struct usf_context *before = context_current;
    context_set(c);
    pthread_mutex_lock(&contexts.unloading);
    for (struct library *l = c->libraries; l; l = l->next) dlclose(l->handle);
    while (c->nr_roots) dlclose(c->roots[--c->nr_roots]);
    pthread_mutex_unlock(&contexts.unloading);
    context_set(before);
    for (struct library *l = c->libraries, *next; l; l = next) {
        next = l->next;
        plan_free_library(l);
    }
    c->libraries = 0;
    return !is_loaded(shim);
}

CONTEXT_API int usf_context_destroy(usf_context_t *c)
{
    int r = 0;
    lock();
    if (!c || !is_listed(c)) r = context_fail(EINVAL, "no context, or one that was destroyed");
    else if (atomic_load(&c->nr_inside)) r = context_fail(EBUSY, "%s: a thread is in it: leave it first", c->label);
    else if (atomic_load(&c->nr_threads)) r = refuse_threads(c);
    else take_out(c), c->destroyed = true;
    unlock();
    if (r) return r;
    bool gone = unload(c);
    if (c->group != USF_GROUP_FIRST) usf_group_end(c->group);
    stub_context_ends(c);
    if (gone) free_context(c);
    return 0;
}

/* ---- entering ------------------------------------------------------------------------------------- */

static bool make_room(void)
{
    unsigned room = outer.room ? 2 * outer.room : 8;
    struct usf_context **at = outer.room ? malloc(room * sizeof *at) : outer.few;
    if (!at) return false;
    if (outer.room) memcpy(at, outer.at, outer.n * sizeof *at);
    if (outer.room > 8) free(outer.at);
    outer.at = at;
    outer.room = room;
    return true;
}

CONTEXT_API int usf_context_enter(usf_context_t *c)
{
    if (USF_UNLIKELY(!c || c->destroyed)) return context_fail(EINVAL, "no context, or one that was destroyed");
    if (USF_UNLIKELY(outer.n == outer.room) && !make_room()) return context_fail(ENOMEM, "out of memory");
    outer.at[outer.n++] = context_current;
    atomic_fetch_add_explicit(&c->nr_inside, 1, memory_order_relaxed);
    context_set(c);
    return 0;
}

CONTEXT_API int usf_context_leave(void)
{
    if (USF_UNLIKELY(!outer.n)) return context_fail(EPERM, "this thread is in no context");
    atomic_fetch_sub_explicit(&context_current->nr_inside, 1, memory_order_release);
    if (USF_UNLIKELY(affinity_set_in != 0)) affinity_restore();
    context_set(outer.at[--outer.n]);
    return 0;
}

CONTEXT_API usf_context_t *usf_context_current(void) { return context_current; }

/* ---- libraries ------------------------------------------------------------------------------------ */

/* The shim is the first library of the root's scope: the first load brings it. */
static int load(struct usf_context *c, const char *library, bool global, void **handle)
{
    const char *names[2] = {shim_path(), library};
    struct plan p;
    bool first = !c->libraries;
    lock();
    int r = plan_make(&p, c, names, 2);
    if (!r && !(r = load_plan(c, &p))) {
        plan_keep(&p, c);
        if (global) plan_make_global(&p);
        if (first) r = shim_bind(c, p.all[0]);
        *handle = p.target->handle;
    }
    unlock();
    if (!r) load_construct(c, &p);
    int error = errno;
    plan_drop(&p);
    errno = error;
    return r;
}

static void *open_library(usf_context_t *c, const char *library, bool global)
{
    void *handle = 0;
    if (!c || !library || c->destroyed) {
        context_fail(EINVAL, "no context, or no library's name");
        return 0;
    }
    if (share_is(library)) {
        if (!(handle = dlopen(library, RTLD_LAZY | RTLD_GLOBAL))) context_fail(ELIBACC, "%s", dlerror());
        return handle;
    }
    return load(c, library, global, &handle) ? 0 : handle;
}

CONTEXT_API void *usf_context_open(usf_context_t *c, const char *library) { return open_library(c, library, false); }
CONTEXT_API void *usf_context_open_global(usf_context_t *c, const char *library) { return open_library(c, library, true); }

CONTEXT_API void *usf_context_symbol(usf_context_t *c, const char *name)
{
    void *found = 0;
    if (!c || !name) {
        context_fail(EINVAL, "no context, or no name");
        return 0;
    }
    lock();
    struct library *first = c->libraries;       /* the list grows only */
    unlock();
    for (struct library *l = first ? first->next : 0; l && !found; l = l->next) found = dlsym(l->handle, name);
    if (!found) context_fail(ENOENT, "%s: no library of the context defines '%s'", c->label, name);
    return found;
}

/* ---- what it has ---------------------------------------------------------------------------------- */

CONTEXT_API unsigned usf_context_id(const usf_context_t *c) { return c ? c->id : 0; }
CONTEXT_API const char *usf_context_name(const usf_context_t *c) { return c ? c->label : ""; }

CONTEXT_API int usf_context_share(const char *pattern, const char *reason, int private_copies)
{
    if (!pattern || !*pattern) return context_fail(EINVAL, "no pattern");
    lock();
    int r = share_add(pattern, reason ? reason : "the program says so", private_copies);
    unlock();
    return r ? context_fail(r, "out of memory") : 0;
}

CONTEXT_API const char *usf_context_shared(const char *library)
{
    lock();
    const struct share_rule *r = library ? share_rule_of(library) : 0;
    unlock();
    return r ? r->reason : 0;
}
