/* src/context/stub.c - calls of stub libraries find their functions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stub library registers itself in its constructor, under ld.so's lock. */
#include "context/stub.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/control.h"
#include "context/share.h"

void **stub_base[CONTEXT_STUBS];
CONTEXT_API __thread void ***usf_context_stub_tables = stub_base;       /* new threads are in no context */

struct stub {
    const struct stub_header *h;
    void **unresolved;          /* the table of each context in which none of its functions was called yet */
    void *_Atomic original;     /* of dlopen: the program's own copy; null: not used yet */
};

static struct {
    pthread_mutex_t lock;
    unsigned nr;                /* the last number */
    struct stub at[CONTEXT_STUBS];
    struct usf_context *contexts;
} stubs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *at(const struct stub_header *h, int64_t offset) { return (const char *)h + offset; }
static uint64_t *index_of(const struct stub_header *h) { return (uint64_t *)(uintptr_t)at(h, h->index); }
static const char *string(const struct stub_header *h, uint32_t offset) { return at(h, h->strings) + offset; }

void stub_before_fork(void) { pthread_mutex_lock(&stubs.lock); }
void stub_after_fork(void) { pthread_mutex_unlock(&stubs.lock); }       /* the child's only thread holds it, too */

/* ---- tables --------------------------------------------------------------------------------------- */

void stub_context_begins(struct usf_context *c)
{
    pthread_mutex_lock(&stubs.lock);
    for (unsigned i = 1; i <= stubs.nr; i++) c->tables[i] = stubs.at[i].unresolved;
    c->next_stubbed = stubs.contexts;
    stubs.contexts = c;
    pthread_mutex_unlock(&stubs.lock);
}

void stub_context_ends(struct usf_context *c)
{
    pthread_mutex_lock(&stubs.lock);
    struct usf_context **place = &stubs.contexts;
    while (*place != c) place = &(*place)->next_stubbed;
    *place = c->next_stubbed;
    for (unsigned i = 1; i <= stubs.nr; i++)
        if (c->tables[i] != stubs.at[i].unresolved) free(c->tables[i]);
    pthread_mutex_unlock(&stubs.lock);
}

/* The program cannot go on: a function has no address.  As the dynamic linker does when it finds
 * none. */
__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
    char text[2 * CONTEXT_TEXT];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text - 1, format, args);
    va_end(args);
    n = n < (int)sizeof text - 1 ? n : (int)sizeof text - 2;
    text[n++] = '\n';
    if (write(2, text, (size_t)n) < 0) n = 0;
    _exit(127);
}

bool stub_saves_all;

/* Called by the stub library's constructor. */
CONTEXT_API void usf_context_stub_add(const struct stub_header *h)
{
    const char *own = string(h, h->soname);
    if (h->magic != STUB_MAGIC) give_up("usf: a stub library was made by another release of usf: make it again by 'usf shim'");
    void **table = malloc((h->nr + 1) * sizeof *table);
    if (!table) give_up("usf: stub of %s: out of memory", own);
    for (uint32_t k = 0; k < h->nr; k++) table[k] = (void *)(uintptr_t)(at(h, h->resolvers) + k * STUB_RESOLVER_SIZE);
    pthread_mutex_lock(&stubs.lock);
    stub_saves_all = arch_saves_all_vectors();
    if (stubs.nr + 1 == CONTEXT_STUBS) give_up("usf: stub of %s: a process cannot have more than %u stub libraries", own, CONTEXT_STUBS - 1);
    unsigned i = ++stubs.nr;
    stubs.at[i] = (struct stub){h, table, NULL};
    stub_base[i] = table;
    for (struct usf_context *k = stubs.contexts; k; k = k->next_stubbed) k->tables[i] = table;
    *index_of(h) = i * sizeof table;
    pthread_mutex_unlock(&stubs.lock);
}

/* The table of this context (null: of the program) that may be changed; null: no memory, and the
 * next call will try again. */
static void **own_table(struct usf_context *c, unsigned i)
{
    struct stub *s = &stubs.at[i];
    size_t size = (s->h->nr + 1) * sizeof(void *);
    pthread_mutex_lock(&stubs.lock);
    void ***place = c ? &c->tables[i] : &stub_base[i];
    if (*place == s->unresolved) {
        void **table = malloc(size);
        if (table) __atomic_store_n(place, memcpy(table, s->unresolved, size), __ATOMIC_RELEASE);
    }
    void **own = *place == s->unresolved ? 0 : *place;
    pthread_mutex_unlock(&stubs.lock);
    return own;
}

/* ---- functions ------------------------------------------------------------------------------------ */

static void *open_original(struct stub *s)
{
    const struct stub_header *h = s->h;
    void *handle = atomic_load(&s->original);
    if (handle) return handle;
    handle = dlopen(string(h, h->original), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) give_up("usf: the stub of %s cannot load its original: %s", string(h, h->soname), dlerror());
    atomic_store(&s->original, handle);
    return handle;
}

static bool is_library(const struct library *l, const struct stub_header *h)
{ return l->handle && (strcmp(l->image->soname, string(h, h->soname)) == 0 || strcmp(l->path, string(h, h->original)) == 0); }

/* The context's copy: the one that it has, which the program may have loaded from elsewhere, or a
 * new one of the original. */
static void *open_copy(struct usf_context *c, struct stub *s)
{
    pthread_mutex_lock(&contexts.lock);
    struct library *l = c->libraries;
    while (l && !is_library(l, s->h)) l = l->next;
    pthread_mutex_unlock(&contexts.lock);
    void *handle = l ? (construct_all(c, &l, 1) ? 0 : l->handle) : usf_context_open(c, string(s->h, s->h->original));
    if (!handle) give_up("usf: %s: %s", usf_context_name(c), usf_context_error());
    return handle;
}

static void *look_up(void *handle, const struct stub_header *h, uint64_t k)
{
    const struct stub_function *f = (const struct stub_function *)(const void *)at(h, h->functions) + k;
    return f->version ? dlvsym(handle, string(h, f->name), string(h, f->version)) : dlsym(handle, string(h, f->name));
}

/* A copy has no symbols that shared libraries define as well, such as parts of libstdc++: they are
 * the program's. */
void *stub_resolve(const struct stub_header *h, uint64_t k)
{
    int error = errno;
    unsigned i = (unsigned)(*index_of(h) / sizeof(void **));
    struct usf_context *c = context_current;
    struct stub *s = &stubs.at[i];
    void *function = c ? look_up(open_copy(c, s), h, k) : 0;
    if (!function) function = look_up(open_original(s), h, k);
    if (!function) give_up("usf: the stub of %s cannot call its original: %s", string(h, h->soname), dlerror());
    void **table = own_table(c, i);
    if (table) __atomic_store_n(&table[k], function, __ATOMIC_RELEASE);
    errno = error;
    return function;
}

CONTEXT_API int usf_context_has_stub(usf_context_t *c, void *library)
{
    int found = 0;
    pthread_mutex_lock(&contexts.lock);
    struct library *l = c ? c->libraries : 0;
    while (l && l->handle != library) l = l->next;
    pthread_mutex_lock(&stubs.lock);
    for (unsigned i = 1; l && i <= stubs.nr && !found; i++) found = is_library(l, stubs.at[i].h);
    pthread_mutex_unlock(&stubs.lock);
    pthread_mutex_unlock(&contexts.lock);
    return found;
}
