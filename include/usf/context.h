/* usf/context.h - library contexts.  SPDX-License-Identifier: Apache-2.0
 *
 * A context has private copies of libraries: functions, variables, thread pools, environment and
 * CPUs of their own, in one process. Two contexts use the same parallel library at once, each with
 * its own number of threads, or a library that is not thread-safe. ("Virtual Library Contexts", Yan
 * et al., SoCC '25.)  Link with -lusf-context (pkg-config usf-context).
 *
 *     usf_context_t *a = usf_context_create(&(struct usf_context_options){.cpus = "0-3"});
 *     void *blas = usf_context_open(a, "libopenblas.so.0");
 *     void (*dgemm)() = dlsym(blas, "dgemm_");           // a's copy
 *     usf_context_enter(a);
 *     dgemm(...);                                        // on CPUs 0 to 3
 *     usf_context_leave();
 *
 * What a context's libraries see of the machine is the context's: CPUs (sched_getaffinity and its
 * relatives, sysconf, get_nprocs, files and listings below /proc and /sys, quotas), memory as far
 * as it is limited, and the environment.  Programs that they start have its environment, and its
 * CPUs as their mask.  Threads that they create are bound to its CPUs, and belong to it.  CPU
 * numbers are the machine's own.  Libraries that must exist once in a process (libc, the CUDA
 * driver, MPI, ...) are shared: usf_context_shared tells which, and why.
 *
 * Calls that the program itself makes to libc concern no context, also while the thread is in one.
 *
 * Functions that return int return 0 or an errno value; those that return a pointer return NULL and
 * set errno.  usf_context_error tells in words.  All are thread-safe, none is async-signal-safe.
 * Constructors and destructors of any library may call them.  A child of fork has its parent's
 * contexts, without their threads. */
#ifndef USF_CONTEXT_H
#define USF_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct usf_context usf_context_t;

struct usf_context_options {
    const char *name;           /* for messages and `usf ps`; NULL: "context N" */
    const char *cpus;           /* a list ("0-3,8") of CPUs that the process may use; NULL: all of these */
    const char *const *env;     /* "NAME=VALUE": set; "NAME": unset; NULL at the end; NULL: the program's environment as it is now */
    unsigned flags;             /* USF_CONTEXT_* */
    unsigned weight;            /* under `usf run`: its share of the CPUs that it has in common with others; 1 to 10,000, 100 is normal; 0: 100 */
    int priority;               /* under `usf run`: -1,000 to 1,000; policies that follow priorities serve the highest first */
    uint64_t memory;            /* bytes that libraries see as the machine's memory, 1 MiB or more; 0: what there is.  A view: nothing keeps them from
                                   taking more, and a value larger than the machine's memory changes nothing */
};

/* Users may give CPUs to contexts by their names, in place of what the program says:
 *     USF_CONTEXTS="small=0-5; large=6-23"       or `usf run --contexts`, or [run] contexts of a profile (`usf run --profile`)
 *     USF_PROFILE=FILE                           without `usf run`: [run] contexts of this profile alone
 * Both are read when a context is created.  Names that no context has are without effect. */

/* Under `usf run`: the context borrows no CPUs, and no other context borrows its own.  Its threads
 * run on its own alone, and threads of the process that are in no context, or in another one that
 * has not been given these CPUs as well, do not use them, also while they are idle.  (A process or
 * context that would have none left uses them.)  Without `usf run` there is no difference. */
#define USF_CONTEXT_STRICT 1u

/* NULL, with errno:
 *     EINVAL   a wrong list of CPUs, one without any, or with CPUs that the process may not use; a wrong flag, weight or priority; less
 *              than 1 MiB of memory; the same for what the environment gives it
 *     ENOMEM   no memory
 *     ENOSYS   /proc is not mounted, or the kernel refuses memfd_create */
usf_context_t *usf_context_create(const struct usf_context_options *options);

/* Frees the context.  Its libraries are unloaded, after their destructors, if no thread that they have created lives.  Else:
 *     EBUSY    a thread is in it, or threads of its libraries live (usf_context_error names them); nothing has changed */
int usf_context_destroy(usf_context_t *context);

/* The calling thread is in the context from now on, until it leaves it: stubs of `usf shim` call the context's copies, and new threads of
 * its libraries belong to it.  May be nested; 12 ns.
 *     EINVAL   NULL, or a context that is being destroyed */
int usf_context_enter(usf_context_t *context);
/* Back to what it was before the last usf_context_enter.  A thread that ends leaves all contexts.
 *     EPERM    the thread is in no context; or a constructor has not entered the one that it leaves */
int usf_context_leave(void);
/* Of the calling thread; NULL: it is in none. */
usf_context_t *usf_context_current(void);

/* The context's copy of a library, with all that it needs, loaded if it was not yet: a handle for dlsym, dladdr and dlinfo, which stays valid
 * until the context is destroyed.  library: a path, or a name that is looked for as dlopen does.
 * Constructors are executed in the context.
 *     ENOENT     it, or a library that it needs, was not found
 *     ELIBBAD    it is no shared library for x86-64, or damaged
 *     ELIBACC    the dynamic linker refuses it: usf_context_error says why (undefined symbols, no room for thread-local storage, ...)
 *     EDEADLK    the thread executes a constructor for dlopen, and another thread executes constructors of this context, for which it must not wait
 * An exception may leave a constructor: the thread is in no other context than before then, and the
 * library counts as constructed. */
void *usf_context_open(usf_context_t *context, const char *library);
/* The same, and libraries of the context that are loaded later find its symbols, and those of what
 * it needs, after their own (as with RTLD_GLOBAL): for libraries that are not linked with all that
 * they use. */
void *usf_context_open_global(usf_context_t *context, const char *library);
/* The first of the context's libraries that defines it, in the order of their loading.
 *     ENOENT   none does */
void *usf_context_symbol(usf_context_t *context, const char *name);

/* 1: the program has loaded a stub (`usf shim`) of this library, a handle of usf_context_open; 0:
 * it has not. */
int usf_context_has_stub(usf_context_t *context, void *library);

/* The CPUs that its libraries see, as a list; the number of bytes that the text needs, as
 * snprintf. */
int usf_context_get_cpus(usf_context_t *context, char *list, size_t size);
/* list: NULL: the program's.  Libraries look at them when they are loaded, or first used: set them before.  Threads of the context that live
 * are bound to the new ones at once; those with a mask of their own to the part of it that lies in
 * them, or to all if there is none.  Under `usf run` they are the context's own from now on.  0 and
 * no change if the user has given this context its CPUs (USF_CONTEXTS).
 *     EINVAL   as in usf_context_create */
int usf_context_set_cpus(usf_context_t *context, const char *list);

/* Its environment.  What they return or put there stays valid until the context is destroyed. */
const char *usf_context_getenv(usf_context_t *context, const char *name);
int usf_context_setenv(usf_context_t *context, const char *name, const char *value, int overwrite);
int usf_context_unsetenv(usf_context_t *context, const char *name);

/* 1, 2, ...; its name. */
unsigned usf_context_id(const usf_context_t *context);
const char *usf_context_name(const usf_context_t *context);

/* As usf_context_open, of a library that the context has loaded already.
 *     ENOENT   it has not */
void *usf_context_find(usf_context_t *context, const char *library);
/* The context whose libraries have this address of code or data; NULL: none. */
usf_context_t *usf_context_of(const void *address);

/* Libraries whose file name matches (as for fnmatch) are shared among all contexts and the program,
 * from the next one that is loaded on; private_copies: they are not, whatever the list says.
 * reason: for messages. */
int usf_context_share(const char *pattern, const char *reason, int private_copies);
/* Why this library (a name or path) is shared; NULL: it is not. */
const char *usf_context_shared(const char *library);

/* What went wrong in the last call of this thread that failed; "" before the first one. */
const char *usf_context_error(void);

#ifdef __cplusplus
}
#endif
#endif
