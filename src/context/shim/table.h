/* src/context/shim/table.h - what the shim calls.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_CONTEXT_SHIM_TABLE_H
#define USF_CONTEXT_SHIM_TABLE_H

#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

struct usf_context;

/* Functions of libusf-context.  Each has the context of the calling library first; the rest, results and errno are as in libc. */
struct shim_calls {
    char *(*getenv)(struct usf_context *, const char *);
    int (*setenv)(struct usf_context *, const char *, const char *, int);
    int (*unsetenv)(struct usf_context *, const char *);
    int (*putenv)(struct usf_context *, char *);
    int (*clearenv)(struct usf_context *);
    int (*sched_getaffinity)(struct usf_context *, pid_t, size_t, void *);
    int (*sched_setaffinity)(struct usf_context *, pid_t, size_t, const void *);
    int (*pthread_getaffinity_np)(struct usf_context *, pthread_t, size_t, void *);
    int (*pthread_setaffinity_np)(struct usf_context *, pthread_t, size_t, const void *);
    int (*pthread_attr_setaffinity_np)(struct usf_context *, pthread_attr_t *, size_t, const void *);
    long (*sysconf)(struct usf_context *, int);
    int (*nprocs)(struct usf_context *);
    int (*nprocs_conf)(struct usf_context *);
    long (*syscall)(struct usf_context *, long, long, long, long, long, long, long);
    int (*openat)(struct usf_context *, int, const char *, int, mode_t);
    FILE *(*fopen)(struct usf_context *, const char *, const char *);
    int (*pthread_create)(struct usf_context *, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*thrd_create)(struct usf_context *, void *, int (*)(void *), void *);
    void (*thread_failed)(int);
    void *(*dlopen)(struct usf_context *, const char *, int, const void *caller);
    int (*shm_open)(struct usf_context *, const char *, int, mode_t);
    int (*shm_unlink)(struct usf_context *, const char *);
};

#endif
