/* src/context/linker.c - see linker.h.  SPDX-License-Identifier: Apache-2.0
 *
 * A constructor that dlopen executes has ld.so's lock and may load into a context.  So a lock that
 * is taken before ld.so's must not be held by a load: the constructor's thread would wait for it,
 * and its owner for ld.so's.  Loads need one lock, and ld.so's own serves: it is recursive, and no
 * other can come before it.  No function takes it by name.  But dlsym calls the resolver of an
 * indirect function (IFUNC) under it. */
#include "context/linker.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <time.h>

#include "context/context.h"

#define FORK_WAITS_S 10

struct call { void (*f)(void *); void *arg; };

static __thread struct call *wanted __attribute__((tls_model("initial-exec")));

/* The thread that is in linker_call, and how often; under contexts.lock.  No other thread can be in
 * it: each has ld.so's lock. */
static struct { pthread_cond_t idle; pthread_t owner; unsigned depth; } busy = {.idle = PTHREAD_COND_INITIALIZER};

static pthread_mutex_t *_Atomic ld_lock;        /* ld.so's; null: not known */

/* ld.so's data has one recursive lock that this thread owns at this moment. */
static pthread_mutex_t *find_lock(void)
{
    const ElfW(Sym) *symbol = 0;
    Dl_info info;
    char *at = dlsym(RTLD_DEFAULT, "_rtld_global");
    if (!at || !dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return 0;
    for (size_t i = 0; i + sizeof(pthread_mutex_t) <= symbol->st_size; i += _Alignof(pthread_mutex_t)) {
        pthread_mutex_t *m = (pthread_mutex_t *)(void *)(at + i);
        if (m->__data.__owner == os_gettid() && m->__data.__count && m->__data.__lock && m->__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP) return m;
    }
    return 0;
}

bool linker_is_held(void)
{
    pthread_mutex_t *m = atomic_load_explicit(&ld_lock, memory_order_relaxed);
    return m && __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED) == os_gettid();
}

static void begins(void)
{
    pthread_mutex_lock(&contexts.lock);
    busy.owner = pthread_self();
    busy.depth++;
    pthread_mutex_unlock(&contexts.lock);
}

static void ends(void)
{
    pthread_mutex_lock(&contexts.lock);
    if (!--busy.depth) pthread_cond_broadcast(&busy.idle);
    pthread_mutex_unlock(&contexts.lock);
}

static __attribute__((used)) void (*resolve(void))(void)
{
    struct call *call = wanted;
    wanted = 0;
    if (call) {
        if (!atomic_load_explicit(&ld_lock, memory_order_relaxed)) atomic_store_explicit(&ld_lock, find_lock(), memory_order_relaxed);
        begins();
        call->f(call->arg);
        ends();
    }
    return (void (*)(void))(void *)resolve;
}

/* For dlsym; nothing calls it. */
CONTEXT_API void usf_context_under_linker(void) __attribute__((ifunc("resolve")));

/* dlsym needs a handle that dlopen has returned: a library that was loaded with the program has no
 * scope of its own before. */
static void *own_handle(void)
{
    static void *_Atomic known;
    Dl_info info;
    void *handle = atomic_load(&known);
    if (handle || !dladdr((const void *)linker_call, &info)) return handle;
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    atomic_store(&known, handle);
    return handle;
}

/* <dlfcn.h> tells the compiler that dlsym does not call us. */
static void *(*volatile look_up)(void *, const char *) = dlsym;

int linker_call(void (*f)(void *), void *arg)
{
    struct call call = {f, arg};
    void *own = own_handle();
    wanted = &call;
    if (own) look_up(own, "usf_context_under_linker");
    if (!wanted) return 0;
    wanted = 0;
    return context_fail(ENOSYS, "this libc's dlsym does not call indirect functions, which contexts need");
}

/* The child can load then.  A thread that forks in a constructor has ld.so's lock, so that no other
 * thread is in linker_call.  But a constructor of a shared library, which linker_call executes, may
 * wait for the thread that forks: so the fork goes on in the end, and its child may be unable to
 * load, as the child of a fork beside dlopen in any program. */
void linker_before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += FORK_WAITS_S;
    while (busy.depth && !pthread_equal(busy.owner, pthread_self()) && pthread_cond_clockwait(&busy.idle, &contexts.lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT) {}
}

void linker_in_child(void)
{
    pthread_cond_init(&busy.idle, 0);
    if (!pthread_equal(busy.owner, pthread_self())) busy.depth = 0;
}
