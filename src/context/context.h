/* src/context/context.h - contexts, inside.  SPDX-License-Identifier: Apache-2.0
 *
 * A context has private copies of libraries, in the program's own namespace of the dynamic linker.  One load:
 *
 *   plan ─► copies ─► dlopen of a root ─► the originals' pages replace the copies' ─► names ─► constructors
 *
 *   plan.c   which libraries are needed; which of them the context has already, which are shared
 *   load.c   each new one becomes a file in memory (memfd) with the pages that the dynamic linker reads; the root, a library
 *            without code that needs all of them, gives them one scope: the context's libraries come first in it, the shim
 *            before all others, then the program's.  Where nothing was changed the original file's pages are mapped
 *            afterwards, so that all copies share them.
 *   shim     a library of ours (src/context/shim), copied for each context as the others are.  It stands in for libc where
 *            libc tells of the machine and the environment, and tells us which context calls.
 *
 * Rules:
 *   C1  `contexts.lock` guards all that is said here to be under it.  It is not held while code of libraries is executed.
 *   C2  A context is freed when it was destroyed and no thread is in it; its libraries stay loaded if a thread that they have made lives. */
#ifndef USF_CONTEXT_CONTEXT_H
#define USF_CONTEXT_CONTEXT_H

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "context/image.h"
#include "context/search.h"
#include "os/os.h"
#include "usf/context.h"

#define CONTEXT_API __attribute__((visibility("default")))
#define CONTEXT_TEXT 1024u
#define CONTEXT_STUBS 512u           /* stub libraries in a process; number 0 stays free */
#define SHIM_NAME "libusf-context-shim.so"

struct text;            /* view.h */

/* A private copy of a library. */
struct library {
    struct library *next;           /* in the context, in the order of their loading */
    struct library *loader;         /* the library that needed it first, or null */
    struct image *image;
    char *path;                     /* of the original */
    char *found;                    /* where it was found: a link, perhaps, whose folder is $ORIGIN */
    char name[128];                 /* by which the dynamic linker has loaded it: LIBRARY_NAME */
    struct library **deps;          /* private ones that it needs, null at the end */
    void *handle;                   /* of dlopen; null: not loaded yet */
    struct link_map *map;
    bool constructed, visited;
    bool global;                    /* libraries that are loaded later find its symbols */
};

struct usf_context {
    struct usf_context *next;       /* contexts.first; under the lock */
    uint32_t id;                    /* from 1; the tag of its libraries' names */
    char *label;
    struct library *libraries, **end;       /* under the lock */
    void **roots;                   /* handles of dlopen; under the lock */
    unsigned nr_roots;
    _Atomic(char **) environment;   /* what its libraries have as `environ`; env.c */
    char ***shim_environment;       /* ... in the shim, once that is loaded */
    void *environment_lists;        /* ... and all that this has been: readers may still use them */
    struct os_cpuset cpus;          /* what its libraries see, if nr_cpus is not 0 */
    uint32_t nr_cpus;               /* 0: it has the program's */
    bool users_cpus;                /* the user gives them (user.h), and not the program: they stay */
    uint64_t memory;                /* what its libraries see, in bytes; 0: the machine's */
    struct text *_Atomic cpuinfo;   /* files.c; made for these CPUs */
    _Atomic uint32_t nr_threads;    /* created by its libraries, and not ended */
    _Atomic uint32_t nr_inside;     /* how often threads are in it */
    struct { void *modules, *builtins, *state; bool closed; } python;     /* python.c; null: the program has no such package */
    bool destroyed;
    uint32_t group;                 /* under `usf run`: its group for the scheduler; else USF_GROUP_FIRST */
    uint32_t weight;                /* ... and what that is to have */
    int32_t priority;
    bool strict;
    pthread_mutex_t constructing;   /* recursive; held while constructors are executed */
    struct usf_context *next_stubbed;       /* stub.c, under its lock */
    void **tables[CONTEXT_STUBS];   /* of each stub library, the addresses of functions; stub.c */
};

/* Both are recursive: constructors of shared libraries, which a load executes under the lock, may fork.  `unloading` is held while libraries are unloaded, so that no child of fork gets half of it; it is taken before `lock`, and by a destructor
 * that forks once more. */
extern struct contexts { pthread_mutex_t unloading, lock; struct usf_context *first; uint32_t last_id; } contexts;

/* What the thread is in: the innermost first. */
extern __thread struct usf_context *context_current __attribute__((tls_model("initial-exec")));

/* What its stubs use (stub.h): `tables` of its context, or stub_base when it is in none. */
extern __thread void ***usf_context_stub_tables __attribute__((tls_model("initial-exec"), visibility("default")));
extern void **stub_base[CONTEXT_STUBS];

static inline void context_set(struct usf_context *c)
{
    context_current = c;
    usf_context_stub_tables = c ? c->tables : stub_base;
}

/* Says what went wrong to usf_context_error in this thread; returns the errno value. */
int context_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* plan.c.  holds contexts.lock */
struct plan {
    struct library **all;           /* what the root needs, in the order of a search for symbols; the first is the shim */
    unsigned nr, room;
    struct library *target;         /* the last of `names` */
    struct image **shared;
    unsigned nr_shared;
};
/* The libraries of these names or paths, and all that they need.  0, or an errno value, said.  New ones are in the context's list only
 * when plan_keep is called. */
int plan_make(struct plan *p, struct usf_context *c, const char *const *names, unsigned n);
void plan_make_global(struct plan *p);      /* after plan_keep */
void plan_keep(struct plan *p, struct usf_context *c);
void plan_drop(struct plan *p);     /* frees new libraries that were not kept */
void plan_free_library(struct library *l);

/* context.c.  holds contexts.lock: the CPUs that its libraries see. */
void context_cpus(const struct usf_context *c, struct os_cpuset *out);

/* load.c.  holds contexts.lock; constructors are called by load_construct, without it. */
int load_plan(struct usf_context *c, struct plan *p);
void load_construct(struct usf_context *c, struct plan *p);
/* Another thread may have loaded the library a moment ago: its constructors have been executed then. */
void load_finish(struct usf_context *c, struct library *l);

#endif
