/* src/context/construct.c - constructors of private copies.  SPDX-License-Identifier: Apache-2.0
 *
 * They are executed without ld.so's lock, so that they may wait for threads that load. */
#include <errno.h>

#include "context/context.h"
#include "context/guard.h"
#include "context/linker.h"

static int main_argc;
static char **main_argv;
__attribute__((constructor)) static void note_arguments(int argc, char **argv, char **envp)
{
    (void)envp;
    main_argc = argc;
    main_argv = argv;
}

struct construction {
    struct usf_context *context;
    struct library **all, *current;     /* current: the one whose constructors are being executed, or null */
    unsigned n;
    struct context_mark mark;
};

static void construct(struct construction *k, struct library *l)
{
    typedef void constructor(int, char **, char **);
    if (l->constructed || l->visited) return;
    l->visited = k;
    for (struct library **d = l->deps; d && *d; d++) construct(k, *d);
    struct usf_context *c = k->context;
    uintptr_t base = l->map->l_addr;
    k->current = l;
    if (l->image->init) ((constructor *)(base + l->image->init))(main_argc, main_argv, atomic_load(&c->environment));
    constructor **each = (constructor **)(base + l->image->init_array);
    for (uint64_t i = 0; i < l->image->nr_init; i++)
        if (each[i] && each[i] != (constructor *)-1) each[i](main_argc, main_argv, atomic_load(&c->environment));
    k->current = 0;
    l->constructed = true;
}

static void construct_each(void *arg)
{
    struct construction *k = arg;
    context_set(k->context);
    for (unsigned i = 0; i < k->n; i++) construct(k, k->all[i]);
}

/* After an exception: the library whose constructor has thrown it is not tried again.  Those that
 * need it have not begun, and their turn comes when they are opened again. */
static void construct_ends(void *arg)
{
    struct construction *k = arg;
    if (k->current) k->current->constructed = true;
    pthread_mutex_lock(&contexts.lock);
    for (struct library *l = k->context->libraries; l; l = l->next)
        if (l->visited == k) l->visited = 0;
    pthread_mutex_unlock(&contexts.lock);
    context_release(&k->mark);
    pthread_mutex_unlock(&k->context->constructing);
}

static bool are_constructed(struct library **all, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!all[i]->constructed) return false;
    return true;
}

/* The lock is recursive: constructors may load more. */
int construct_all(struct usf_context *c, struct library **all, unsigned n)
{
    struct construction k = {.context = c, .all = all, .n = n};
    if (are_constructed(all, n)) return 0;
    if (pthread_mutex_trylock(&c->constructing)) {
        if (linker_is_held())
            return context_fail(EDEADLK, "%s: another thread is executing constructors of its libraries. This thread is executing a constructor for dlopen, and must not wait",
                                c->label);
        pthread_mutex_lock(&c->constructing);
    }
    int r = context_hold(c, &k.mark);
    if (!r) guard_call(construct_each, construct_ends, &k);
    else pthread_mutex_unlock(&c->constructing);
    return r;
}
