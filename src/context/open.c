/* src/context/open.c - libraries are opened in contexts.  SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>

#include "context/context.h"
#include "context/guard.h"
#include "context/linker.h"
#include "context/share.h"
#include "context/shim.h"

struct opening {
    struct usf_context *context;
    struct library *asker;
    const char *library;
    bool global;
    struct plan plan;
    struct context_mark mark;
    void *handle;
    int result;
};

/* Under ld.so's lock.  The shim is the first library of the root's scope: the first load brings
 * it. */
static void load(void *arg)
{
    struct opening *o = arg;
    struct usf_context *c = o->context;
    const char *names[2] = {shim_path(), o->library};
    bool first = !c->libraries;
    int r = plan_make(&o->plan, c, o->asker, names, 2);
    if (!r && !(r = load_plan(c, &o->plan))) {
        pthread_mutex_lock(&contexts.lock);
        plan_keep(&o->plan, c);
        if (o->global) plan_make_global(&o->plan);
        pthread_mutex_unlock(&contexts.lock);
        if (first) r = shim_bind(c, o->plan.all[0]);
        o->handle = o->plan.target->handle;
    }
    o->result = r;
}

static void open_private(void *arg)
{
    struct opening *o = arg;
    int r = linker_call(load, o);
    if (!r) r = o->result;
    if (!r) r = construct_all(o->context, o->plan.all, o->plan.nr);
    o->result = r;
}

static void open_ends(void *arg)
{
    struct opening *o = arg;
    plan_drop(&o->plan);
    context_release(&o->mark);
}

/* The context is not destroyed meanwhile. */
static int hold(struct usf_context *c, struct context_mark *mark)
{
    pthread_mutex_lock(&contexts.lock);
    int r = c->destroyed ? EINVAL : context_hold(c, mark);
    pthread_mutex_unlock(&contexts.lock);
    return r;
}

void *open_library(struct usf_context *c, struct library *asker, const char *library, bool global)
{
    struct opening o = {.context = c, .asker = asker, .library = library, .global = global};
    if (!c || !library || c->destroyed) {
        context_fail(EINVAL, "no context, or no library's name");
        return 0;
    }
    if (share_is(library)) {
        if (!(o.handle = dlopen(library, RTLD_LAZY | RTLD_GLOBAL))) context_fail(ELIBACC, "%s", dlerror());
        return o.handle;
    }
    if ((o.result = hold(c, &o.mark))) {
        context_fail(o.result, "no context, or no memory");
        return 0;
    }
    guard_call(open_private, open_ends, &o);
    if (o.result) errno = o.result;
    return o.result ? 0 : o.handle;
}

CONTEXT_API void *usf_context_open(usf_context_t *c, const char *library) { return open_library(c, 0, library, false); }
CONTEXT_API void *usf_context_open_global(usf_context_t *c, const char *library) { return open_library(c, 0, library, true); }

CONTEXT_API void *usf_context_symbol(usf_context_t *c, const char *name)
{
    void *found = 0;
    if (!c || !name) {
        context_fail(EINVAL, "no context, or no name");
        return 0;
    }
    pthread_mutex_lock(&contexts.lock);
    struct library *first = c->libraries;       /* the list grows only */
    pthread_mutex_unlock(&contexts.lock);
    for (struct library *l = first ? first->next : 0; l && !found; l = l->next) found = dlsym(l->handle, name);
    if (!found) context_fail(ENOENT, "%s: no library of the context defines '%s'", c->label, name);
    return found;
}
