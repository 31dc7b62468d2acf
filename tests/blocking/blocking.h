/* tests/blocking/blocking.h - calls that block, one case each.  SPDX-License-Identifier: Apache-2.0
 *
 * A thread blocks in the call while the main thread finds the core free; the main thread then ends it, in one
 * of several ways (main.c).  What came of it is printed, and must be the same bare and under usf. */
#ifndef BLOCKING_H
#define BLOCKING_H
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    POINT = 1,          /* the call is a cancellation point */
    BY_ITSELF = 2,      /* it ends by itself: nothing ends it, and no signal is sent */
    UNINTERRUPTED = 4,  /* signals do not end it: only the plain way is tried */
    IN_PART = 8,        /* a signal with a handler ends it with a part of its work done, how much is chance: not tried */
    NOT_OURS = 16,      /* usf's signal changes it as well */
};

/* What a case works on; made anew for each run. */
struct work {
    int fd[4];
    int id;
    pid_t child, tid;       /* tid: the thread that blocks */
    void *page;
    char *path;
    void (*remove)(void);   /* gives back what is not a descriptor */
    long seen;              /* what else the call is to have returned: part of the result */
    const char *skip;       /* why it cannot be tried here */
};
extern struct work w;
extern volatile sig_atomic_t finished;      /* the thread that blocks has ended */

struct blocking {
    const char *name;
    int nr, nr2;            /* the calls that it may be seen in; -1: a page fault */
    void (*prepare)(void);
    long (*block)(void);    /* -1 and errno on error */
    void (*end)(void);      /* what ends it, without blocking */
    unsigned flags;
};
extern const struct blocking pipe_cases[], socket_cases[], file_cases[], ipc_cases[], wait_cases[], memory_cases[];

/* Ends the run, which is a failure. */
_Noreturn void fatal(const char *what);
#define MUST(x) do { if ((x) < 0) fatal(#x); } while (0)
void skip(const char *why);

/* Shared by several. */
void make_pipe(void);
void fill(int fd);          /* until it would block */
void drain(int fd);         /* until it is empty, waiting a little for more */
void drain_until_done(int fd);
void put(int fd);           /* one byte */
void interrupt_it(void);    /* a signal with a handler, to the thread that blocks */
#endif
