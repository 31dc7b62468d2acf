/* src/threads/threads.h - the thread cache: ended threads serve later pthread_create calls.
 * SPDX-License-Identifier: Apache-2.0
 *
 * This room interposes pthread_create and its relatives.  A thread whose start routine returns is
 * kept, waiting in a futex, and runs the start routine of a later pthread_create as if it were new:
 * pthread_t, thread id, stack and CPU-time clock are the old ones, everything else is a fresh
 * thread's.  A thread that ends in any other way (pthread_exit, cancellation), or that did
 * something to itself which cannot be undone, really ends.  When in doubt, threads really end: that
 * is always right.
 *
 * These files use libc and vector registers: they run in the place of libc calls, never in the
 * gate.  The exceptions are those that are marked below as for the gate, and threads_after_fork.
 */
#ifndef USF_THREADS_H
#define USF_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Called once, from the library's constructor.  Returns null when the cache is on, else why it is
 * off.  What takes time is looked up when the first thread is made: most processes make none. */
const char *threads_init(bool enabled);
/* ... and then it may turn out to be off after all: why is told here. */
extern void (*threads_is_off)(const char *why);
/* A kept thread is about to become another: what the runtime remembers of it goes.  Null:
 * nothing. */
extern void (*threads_is_fresh)(void);

/* What the program is about to do, while its system calls are not intercepted. */
struct threads_watcher {
    void (*thread)(void);                       /* pthread_create or thrd_create, at which the calling thread may wait */
    void (*call)(long nr, long a0, long a1);    /* ... what it calls by a function that this room interposes */
    void (*in_child)(void);                     /* after fork, in the child */
};
/* Call these functions from now on; null: none.  Async-signal-safe. */
void threads_watch(const struct threads_watcher *w);
/* Have in_child called after each fork.  Once, at the start of the process.  False: no memory. */
bool threads_watch_forks(void);

/* At most `parked` threads are kept, each for at most idle_ms without work.  Defaults: 256,
 * 5000. */
void threads_set_limits(unsigned parked, unsigned idle_ms);

/* In the child after fork, before user code (idempotent; also registered with pthread_atfork, which
 * _Fork and raw clone calls do not run).  Async-signal-safe. */
void threads_after_fork(void);

/* Tell the cache of a system call that the calling thread is about to make or has made.  Only calls
 * for which threads_call_matters(nr) holds need to be told; telling twice is harmless.
 * Async-signal-safe, makes no libc call, touches no vector register. */
void threads_note_call(long nr, long a0, long a1);
bool threads_call_matters(long nr);

/* The calling thread is about to make the system call `exit`, perhaps by itself, behind libc's
 * back: joining it then is libc's business, and if it is the process's first, kept threads must not
 * be those that the process waits for.  For the gate; uses libc, but only where the thread was not
 * libc's to end. */
void threads_before_exit(void);

/* A fork has failed for want of room, which kept threads take, too: no more are kept, and those
 * that wait leave when their time is up.  For the gate; async-signal-safe, makes no libc call. */
void threads_no_room(void);

/* May there be threads that the kernel lists although they have ended, kept or still to be joined?
 * As the next two, for the gate. */
bool threads_may_be_kept(void);
/* Ask all kept threads to end; store up to max thread ids and return their number.
 * Async-signal-safe, takes no lock. */
unsigned threads_let_go(int32_t *tids, unsigned max);
/* The program follows its threads by their ids: from now on all of them really end. */
void threads_are_watched(void);

/* End all kept threads and wait until the kernel has forgotten them (bounded: 1 s).  True if there
 * were any. */
bool threads_flush(void);

/* What the runtime knows of the process's share of the cores, for CPU counts.  Null: there is no
 * runtime. */
struct threads_share {
    bool (*is_told)(void);              /* has the policy ever said anything?  Some loads */
    uint32_t (*cpus)(void);             /* the share's, or 0: the policy says nothing */
    bool (*sizes_teams)(uintptr_t pc);  /* is it an OpenMP runtime's code? */
};
extern const struct threads_share *_Atomic usf_threads_share;

struct threads_stats {
    uint64_t created;   /* kernel threads made */
    uint64_t reused;    /* pthread_create calls served by a kept thread */
    uint64_t left;      /* kept threads that ended unused */
    uint32_t parked;    /* kept now, ready for use */
};
void threads_get_stats(struct threads_stats *out);

#endif
