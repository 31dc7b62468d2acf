/* src/context/shim.h - what a context's libraries ask libc for, and get from their context.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_SHIM_H
#define USF_CONTEXT_SHIM_H

#include "context/context.h"
#include "context/view.h"

const char *shim_path(void);            /* of the shim library */
/* Under ld.so's lock: the context's copy of the shim is loaded.  0, or an errno value, said. */
int shim_bind(struct usf_context *c, struct library *shim);

/* threads.c: threads that the context's libraries have created */
int threads_create(struct usf_context *c, pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *arg);
/* Around a fork; holds contexts.lock. */
void threads_before_fork(void);
void threads_after_fork(void);
void threads_in_child(void);            /* all nr_threads are 0 */
/* The context has these CPUs from now on; none: the program's.  Its threads are bound to them;
 * those with a mask of their own to the part of it that lies in them, if there is any. */
void threads_move(struct usf_context *c, const struct os_cpuset *cpus);
/* Was the calling thread created by the context's libraries, without a mask of its own? */
bool threads_is_bound(const struct usf_context *c);
void shim_thread_names(struct usf_context *c, char *names, size_t size);

/* affinity.c */
int affinity_get(struct usf_context *c, int32_t tid, size_t size, void *mask);      /* bytes, or -errno */
/* Which CPUs of the mask are the context's; their number. */
uint32_t affinity_clip(const struct usf_context *c, size_t size, const void *mask, struct os_cpuset *out);
int affinity_set(struct usf_context *c, int32_t tid, size_t size, const void *mask);    /* 0, or -errno */

/* The calling thread has its mask again that it had before it set one in a context. */
extern __thread struct usf_context *affinity_set_in __attribute__((tls_model("initial-exec")));
void affinity_restore(void);
/* The calling thread has the context's CPUs for a while, so that a program which it starts has
 * them; false: there is nothing to restore.  May be called in a child of vfork. */
bool affinity_enter(struct usf_context *c, struct os_cpuset *before);

/* files.c: a descriptor of a file of /proc or /sys as the context has it; -1: it has none of its
 * own. */
int files_open(struct usf_context *c, const char *path, int flags);
/* What it says there if `real` is what it says for the program; false: the same. */
bool files_text(const struct view *v, const char *path, const char *real, struct text *out);
void files_drop(struct text *t);

#endif
