/* src/context/context.h - contexts, inside.  SPDX-License-Identifier: Apache-2.0
 *
 * A context has private copies of libraries, in the program's own namespace of the dynamic linker.
 * One load:
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
 * Locks, in their order.  A thread that has one takes later ones only.
 *   1  usf_context.constructing: constructors of the context's libraries are being executed.  Only a thread without ld.so's lock waits for it.
 *   2  ld.so's own: a load or an unload is under way (linker_call).  It guards what is said here to be under it.
 *   3  contexts.lock: the list of contexts, their lists of libraries.  These lists change under both 2 and 3, so that one of them suffices to read.
 *   4  stubs.lock, threads.lock, those of exec.c and folders.c, and that of changes to environments; none of these is held while another one is taken, but
 *      for a fork.
 * No code of libraries is executed, and no function of ld.so called, while 3 or 4 is held: such
 * code may be a constructor that has lock 2 already.
 *
 * A context is freed when it was destroyed and no thread is in it; its libraries stay loaded if a
 * thread that they have made lives. */
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

/* A private copy of a library.  Under ld.so's lock, unless said otherwise; what a thread has found
 * under contexts.lock does not change any more. */
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
    struct construction *visited;   /* which executes its constructors, or those of its needs first; under `constructing` */
    _Atomic bool constructed;       /* its constructors have been executed */
    bool global;                    /* libraries that are loaded later find its symbols */
};

struct usf_context {
    struct usf_context *next;       /* contexts.first; under contexts.lock */
    uint32_t id;                    /* from 1; the tag of its libraries' names */
    char *label;
    struct library *libraries, **end;
    void **roots;                   /* handles of dlopen; under ld.so's lock */
    unsigned nr_roots;
    _Atomic(char **) environment;   /* what its libraries have as `environ`; env.c */
    char ***_Atomic shim_environment;       /* ... in the shim, once that is loaded: libraries may set it */
    void *environment_lists;        /* ... and all that this has been: readers may still use them */
    struct os_cpuset cpus;          /* what its libraries see, if nr_cpus is not 0 */
    uint32_t nr_cpus;               /* 0: it has the program's */
    bool users_cpus;                /* the user gives them (user.h), and not the program: they stay */
    uint64_t memory;                /* what its libraries see, in bytes; 0: the machine's */
    struct text *_Atomic cpuinfo;   /* files.c; made for these CPUs */
    _Atomic uint32_t nr_threads;    /* created by its libraries, and not ended */
    _Atomic uint32_t nr_inside;     /* how often threads are in it, or open a library */
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

extern struct contexts {
    pthread_mutex_t lock;
    struct usf_context *first;
    _Atomic uint32_t last_id;
    uint64_t loads;                 /* that have changed a context; under ld.so's lock */
} contexts;

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

/* enter.c: this thread is in the context until context_release, and leaves what it enters
 * meanwhile.  Is used where a call may not return. 0, or ENOMEM, said. */
struct context_mark { unsigned n, floor; };
int context_hold(struct usf_context *c, struct context_mark *mark);
void context_release(const struct context_mark *mark);
/* In a child of fork: counts this thread's part of all nr_inside, which are 0. */
void context_recount(void);

/* find.c.  holds contexts.lock */
struct library *find_address(const struct usf_context *c, const void *address);

/* plan.c.  Under ld.so's lock. */
struct plan {
    struct library **all;           /* what the root needs, in the order of a search for symbols; the first is the shim */
    unsigned nr, room;
    struct library *target;         /* the last of `names` */
    struct image **shared;
    unsigned nr_shared;
    struct library *asker;          /* a library of the context whose dlopen this is; null: the program */
};
/* The libraries of these names or paths, and all that they need.  0, or an errno value, said.  New
 * ones are in the context's list only when plan_keep is called. */
int plan_make(struct plan *p, struct usf_context *c, struct library *asker, const char *const *names, unsigned n);
void plan_make_global(struct plan *p);      /* after plan_keep; holds contexts.lock */
void plan_keep(struct plan *p, struct usf_context *c);      /* holds contexts.lock */
/* Opens a library as ld.so would for `by`, a library of a context (null: for the program); a
 * descriptor and its path, or -1. */
int plan_open_for(const struct library *by, const char *name, char path[PATH_MAX]);
void plan_drop(struct plan *p);     /* frees new libraries that were not kept */
void plan_free_library(struct library *l);

/* context.c.  holds contexts.lock: the CPUs that its libraries see. */
void context_cpus(const struct usf_context *c, struct os_cpuset *out);

/* load.c.  Under ld.so's lock.  0, or an errno value, said. */
int load_plan(struct usf_context *c, struct plan *p);

/* construct.c: executes the constructors of those libraries that have not been constructed.  0; or
 * EDEADLK, said: another thread is doing that, and this one has ld.so's lock, for which the other
 * one may wait. */
int construct_all(struct usf_context *c, struct library **all, unsigned n);

/* open.c: usf_context_open for a library of the context that calls dlopen. */
void *open_library(struct usf_context *c, struct library *asker, const char *library, bool global);

#endif
