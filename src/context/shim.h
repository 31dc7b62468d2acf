/* src/context/shim.h - what a context's libraries ask libc for, and get from their context.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_SHIM_H
#define USF_CONTEXT_SHIM_H

#include "context/context.h"

const char *shim_path(void);            /* of the shim library */
/* Under ld.so's lock: the context's copy of the shim is loaded.  0, or an errno value, said. */
int shim_bind(struct usf_context *c, struct library *shim);

/* threads.c: threads that the context's libraries have created */
int threads_create(struct usf_context *c, pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *), void *arg);
/* Around a fork; holds contexts.lock. */
void threads_before_fork(void);
void threads_after_fork(void);
void threads_in_child(void);            /* all nr_threads are 0 */
void shim_thread_names(struct usf_context *c, char *names, size_t size);

/* affinity.c */
int affinity_get(struct usf_context *c, int32_t tid, size_t size, void *mask);      /* bytes, or -errno */
/* Which CPUs of the mask are the context's; their number. */
uint32_t affinity_clip(const struct usf_context *c, size_t size, const void *mask, struct os_cpuset *out);
int affinity_set(struct usf_context *c, int32_t tid, size_t size, const void *mask);    /* 0, or -errno */

/* The calling thread has its mask again that it had before it set one in a context. */
extern __thread struct usf_context *affinity_set_in __attribute__((tls_model("initial-exec")));
void affinity_restore(void);

/* files.c: a descriptor of a file of /proc or /sys as the context has it; -1: it has none of its own. */
int files_open(struct usf_context *c, const char *path, int flags);
void files_drop(struct text *t);

#endif
