/* src/context/context.c - usf/context.h: contexts come and go. 
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context/context.h"
#include "context/env.h"
#include "context/exec.h"
#include "context/folders.h"
#include "context/linker.h"
#include "context/share.h"
#include "context/shim.h"
#include "context/stub.h"
#include "context/user.h"
#include "usf/usf.h"

#define WEIGHT_MAX 10000u        /* of a group */
#define MEMORY_LEAST (1ull << 20)

struct contexts contexts = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

static const pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void lock(void) { pthread_mutex_lock(&contexts.lock); }
static void unlock(void) { pthread_mutex_unlock(&contexts.lock); }

/* ---- forks ---------------------------------------------------------------------------------------- */

/* contexts.lock is recursive, since handlers of others may be called between these. */
static void before_fork(void)
{
    lock();
    linker_before_fork();
    stub_before_fork();
    env_before_fork();
    threads_before_fork();
    folders_before_fork();
    exec_before_fork();
}

static void in_parent(void)
{
    exec_after_fork();
    folders_after_fork();
    threads_after_fork();
    env_after_fork();
    stub_after_fork();
    unlock();
}

/* The child's thread has another id than the one that has locked. */
static void in_child(void)
{
    exec_after_fork();
    folders_after_fork();
    env_after_fork();
    stub_after_fork();
    contexts.lock = recursive;
    linker_in_child();
    for (struct usf_context *c = contexts.first; c; c = c->next) {
        atomic_store(&c->nr_threads, 0);
        atomic_store(&c->nr_inside, 0);
        c->constructing = recursive;
        c->group = USF_GROUP_FIRST;     /* the child is another process for the scheduler */
    }
    threads_in_child();
    context_recount();
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

/* The user's list, or else the program's.  The program's must be right in any case: it is a
 * program's mistake that is not to depend on the environment. */
static int init_cpus(struct usf_context *c, const char *list)
{
    char users[USF_CONTEXTS_MAX];
    const char *from;
    int r = list ? parse_cpus(list, &c->cpus) : 0;
    if (!r) r = user_cpus(c->label, users, &from);
    if (r) return r;
    if (from && (r = parse_cpus(users, &c->cpus))) {
        char why[CONTEXT_TEXT / 2];
        snprintf(why, sizeof why, "%s", usf_context_error());
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
    c->id = atomic_fetch_add(&contexts.last_id, 1) + 1;
    int r = init(c, options ? options : &none);
    if (r) {
        free_context(c);
        errno = r;
        return 0;
    }
    make_group(c);
    stub_context_begins(c);
    lock();
    c->next = contexts.first;
    contexts.first = c;
    unlock();
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

/* Thread-local objects of a library keep it loaded until their thread ends, and the shim with it,
 * which names the context. */
static int has_address(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    return base && info->dlpi_addr == (uintptr_t)base;
}
static bool is_loaded(void *base) { return dl_iterate_phdr(has_address, base); }

struct unloading { struct usf_context *context; bool gone; };

/* Under ld.so's lock.  Destructors are executed by dlclose, in the context.  Not gone: something
 * stays, and the context with it. */
static void unload(void *arg)
{
    struct unloading *u = arg;
    struct usf_context *c = u->context, *before = context_current;
    void *shim = c->libraries ? (void *)c->libraries->map->l_addr : 0;
    context_set(c);
    for (struct library *l = c->libraries; l; l = l->next) dlclose(l->handle);
    while (c->nr_roots) dlclose(c->roots[--c->nr_roots]);
    context_set(before);
    for (struct library *l = c->libraries, *next; l; l = next) {
        next = l->next;
        plan_free_library(l);
    }
    c->libraries = 0;
    u->gone = !is_loaded(shim);
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
    struct unloading u = {.context = c};
    if ((r = linker_call(unload, &u))) return r;
    if (c->group != USF_GROUP_FIRST) usf_group_end(c->group);
    stub_context_ends(c);
    if (u.gone) free_context(c);
    return 0;
}

/* ---- what it has ---------------------------------------------------------------------------------- */

CONTEXT_API unsigned usf_context_id(const usf_context_t *c) { return c ? c->id : 0; }
CONTEXT_API const char *usf_context_name(const usf_context_t *c) { return c ? c->label : ""; }

CONTEXT_API int usf_context_share(const char *pattern, const char *reason, int private_copies)
{
    if (!pattern || !*pattern) return context_fail(EINVAL, "no pattern");
    int r = share_add(pattern, reason ? reason : "the program says so", private_copies);
    return r ? context_fail(r, "out of memory") : 0;
}

CONTEXT_API const char *usf_context_shared(const char *library)
{
    const struct share_rule *r = library ? share_rule_of(library) : 0;
    return r ? r->reason : 0;
}
