/* src/context/enter.c - threads enter and leave contexts.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "context/shim.h"

__thread struct usf_context *context_current;

/* One for each time that the thread is in a context.  All thread-local variables here are in static
 * TLS, of which a program that loads this library late (Python) has 1.6 KB for all its libraries,
 * libgomp's copies among them. */
struct frame { struct usf_context *entered, *before; };
static __thread struct {
    struct frame *at;
    unsigned n, room;
    unsigned floor;             /* frames below are ours: usf_context_leave does not leave them */
    unsigned rounds;            /* of the destructors of the thread's keys */
    struct frame few[4];
} inside;

static __thread char *error_text;       /* allocated at the first failure of the thread */

/* ---- the thread's end ----------------------------------------------------------------------------- */

static pthread_key_t key;

static void pop(void)
{
    struct frame f = inside.at[--inside.n];
    atomic_fetch_sub_explicit(&f.entered->nr_inside, 1, memory_order_release);
    if (USF_UNLIKELY(affinity_set_in && affinity_set_in != f.before)) affinity_restore();
    context_set(f.before);
}

/* A destructor of another key may come later, and be in the context: in the last of the rounds that
 * libc makes, all have had their turn. */
static void thread_ends(void *any)
{
    if (++inside.rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(key, any) == 0) return;
    while (inside.n) pop();
    if (inside.at != inside.few) free(inside.at);
    inside.at = 0;
    inside.room = 0;
    free(error_text);
    error_text = 0;
}
__attribute__((constructor)) static void make_key(void) { pthread_key_create(&key, thread_ends); }

/* ---- errors --------------------------------------------------------------------------------------- */

int context_fail(int error, const char *format, ...)
{
    va_list args;
    if (!error_text && (error_text = malloc(CONTEXT_TEXT))) pthread_setspecific(key, &inside);
    va_start(args, format);
    if (error_text) vsnprintf(error_text, CONTEXT_TEXT, format, args);
    va_end(args);
    errno = error;
    return error;
}

CONTEXT_API const char *usf_context_error(void) { return error_text ? error_text : ""; }

/* ---- frames --------------------------------------------------------------------------------------- */

static bool make_room(void)
{
    unsigned few = sizeof inside.few / sizeof *inside.few, room = inside.room ? 2 * inside.room : few;
    struct frame *at = inside.room ? malloc(room * sizeof *at) : inside.few;
    if (!at || (!inside.room && pthread_setspecific(key, &inside))) return false;
    if (inside.room) memcpy(at, inside.at, inside.n * sizeof *at);
    if (inside.room > few) free(inside.at);
    inside.at = at;
    inside.room = room;
    return true;
}

static int push(struct usf_context *c)
{
    if (USF_UNLIKELY(inside.n == inside.room) && !make_room()) return context_fail(ENOMEM, "out of memory");
    inside.at[inside.n++] = (struct frame){c, context_current};
    atomic_fetch_add_explicit(&c->nr_inside, 1, memory_order_relaxed);
    return 0;
}

int context_hold(struct usf_context *c, struct context_mark *mark)
{
    *mark = (struct context_mark){inside.n, inside.floor};
    int r = push(c);
    if (!r) inside.floor = inside.n;
    return r;
}

void context_release(const struct context_mark *mark)
{
    while (inside.n > mark->n) pop();
    inside.floor = mark->floor;
}

void context_recount(void)
{
    for (unsigned i = 0; i < inside.n; i++) atomic_fetch_add(&inside.at[i].entered->nr_inside, 1);
}

CONTEXT_API int usf_context_enter(usf_context_t *c)
{
    if (USF_UNLIKELY(!c || c->destroyed)) return context_fail(EINVAL, "no context, or one that was destroyed");
    int r = push(c);
    if (!r) context_set(c);
    return r;
}

CONTEXT_API int usf_context_leave(void)
{
    if (USF_UNLIKELY(inside.n == inside.floor)) return context_fail(EPERM, "this thread is in no context");
    pop();
    return 0;
}

CONTEXT_API usf_context_t *usf_context_current(void) { return context_current; }
