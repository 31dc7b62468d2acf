/* src/threads/record.h - inside the room: what is known of one thread.  SPDX-License-Identifier: Apache-2.0
 *
 * A record belongs to a kernel thread (a worker), not to a user's thread: a worker runs one user
 * thread after the other.  Its memory is never returned, so that a stale pointer reads a record, if
 * not its own.
 *
 *   RUNNING  a user's start routine runs, or is about to
 *   EXITING  it has returned and its destructors have run; all signals are blocked
 *   ENDED    published; waits for pthread_join or pthread_detach             (in list `unjoined`)
 *   PARKED   joined or detached; waits for a pthread_create                  (in list `parked`)
 *   QUIT     told to leave (from ENDED or PARKED)
 *   LEFT     really ends; pthread_join and all others go to libc
 *   FREE     in the pool
 *
 *   FREE -> RUNNING -> EXITING -> ENDED -> PARKED -> RUNNING ...
 *           RUNNING -> LEFT (unwound)    EXITING -> LEFT (not reusable)    EXITING -> PARKED (detached)
 *           ENDED, PARKED -> QUIT -> LEFT    LEFT -> FREE
 *
 * Every change but RUNNING -> EXITING is made with cache.lock held.
 */
#ifndef USF_THREADS_RECORD_H
#define USF_THREADS_RECORD_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/control.h"

#define BARE __attribute__((target("general-regs-only")))      /* the gate calls it */
#define THREADS_EXPORT __attribute__((visibility("default")))

extern const struct threads_watcher *threads_watcher;          /* null: calls are not watched */

/* What a new thread takes over from its creator. */
struct inherited {
    sigset_t mask;
    struct arch_control control;
    bool named, placed;              /* the two below are filled in; only where the program uses such calls */
    char name[16];
    unsigned long cpus[128];         /* 8192 CPUs */
};

typedef void *(*start_routine)(void *);

struct job {
    start_routine start;
    void *arg;
    bool c11;                        /* start is int (*)(void *) */
};

enum rec_state { REC_FREE, REC_RUNNING, REC_EXITING, REC_ENDED, REC_PARKED, REC_QUIT, REC_LEFT };

struct thread_rec {
    struct thread_rec *next, *prev;  /* list, by state.  cache.lock */
    _Atomic pthread_t th;            /* 0 until born.  cache.lock to write */
    _Atomic int state;
    _Atomic int kills;               /* pthread_kill and the like in flight: see signals.c */
    _Atomic bool unwanted;           /* let go: it is to leave instead of waiting for a job */
    _Atomic bool spent;              /* must really end after this job */
    bool creating;                   /* its pthread_create has not returned: not to be freed.  cache.lock */
    bool detached;                   /* the user's view.  cache.lock */
    bool really_detached;            /* libc's view */
    bool odd;                        /* born with attributes that make it threads_self.odd */
    pthread_t joiner;                /* who waits in pthread_join, 0 = none.  cache.lock */
    pid_t tid;
    size_t stack, guard;
    sem_t wake;                      /* a job, or QUIT */
    sem_t ended;                     /* for the joiner; may carry stale posts, so the joiner looks again */
    void *result;
    struct job job;
    struct inherited from;
    const void *const *robust;       /* head of libc's list of robust mutexes held by this thread */
    sigset_t last_mask;              /* the signal mask of the last job's end */
};

/* One per thread, found from a pthread_t at a fixed distance (thread-local, initial-exec).  `rec`
 * is null for threads that the cache does not know: main, libc's own, those made while the cache
 * was off. */
struct threads_self {
    struct thread_rec *rec;          /* cache.lock to write */
    bool odd;                        /* has attributes that its children inherit and that cannot be given to others */
    bool policy;                     /* has a NUMA memory policy; inherited as well, but libnuma's probing ends by resetting it */
    bool spent;                      /* as thread_rec.spent, by calls of the thread itself */
    bool altstack;                   /* has called sigaltstack */
};
extern __thread struct threads_self threads_self;

/* Set once, never cleared. */
struct threads_flags {
    _Atomic bool on;                 /* the program may use the cache */
    _Atomic int ready;               /* enum threads_ready: threads_prepare found all that it needs */
    _Atomic bool closed;             /* no more reuse: threads end as they would without the cache */
    _Atomic bool names;              /* some thread has set a name ... */
    _Atomic bool places;             /* ... or an affinity: creators' must be looked up */
};
extern struct threads_flags threads_flags;
enum threads_ready { THREADS_UNTRIED, THREADS_TRYING, THREADS_READY };

static inline struct threads_self *self_of(pthread_t th)
{
    ptrdiff_t distance = (char *)&threads_self - (char *)pthread_self();
    return (struct threads_self *)((char *)th + distance);
}

static inline bool self_is_odd(void) { return threads_self.odd || threads_self.policy; }

static inline bool cache_usable(void)
{
    return atomic_load_explicit(&threads_flags.on, memory_order_relaxed) &&
           !atomic_load_explicit(&threads_flags.closed, memory_order_relaxed);
}

/* ---- init.c ------------------------------------------------------------------------------------------ */
bool threads_prepare(void);                                       /* at the first pthread_create; false: not from the cache */

/* ---- cache.c: records and their lists ------------------------------------------------------------ */
void cache_lock(void);
void cache_unlock(void);
struct thread_rec *cache_find(pthread_t th);                      /* holds cache.lock */
struct thread_rec *rec_new(void);                                 /* null: out of memory */
void rec_created(struct thread_rec *r, pthread_t th, int err);    /* libc's pthread_create has returned */
void rec_born(struct thread_rec *r);                              /* first act of the worker */
struct thread_rec *cache_take(size_t stack, size_t guard, const struct job *job, const struct inherited *from,
                              bool detached, pthread_t *th);
void cache_recycle(struct thread_rec *r);                         /* holds cache.lock; r is ENDED and spoken for */
bool cache_publish(struct thread_rec *r);                         /* EXITING -> ENDED or PARKED; false: must leave */
void cache_leave(struct thread_rec *r);                           /* -> LEFT; r must not be used after it */
void rec_release(struct thread_rec *r);                           /* LEFT -> FREE.  holds cache.lock */
bool cache_next_job(struct thread_rec *r);                        /* waits; false: leave */
void cache_close(void);                                           /* no more reuse, kept threads end now */
bool cache_has_parked(void);
void cache_adopt_process(void);                                   /* the calling thread is its main thread */
bool cache_is_main(pthread_t th);

/* ---- note.c ------------------------------------------------------------------------------------------ */
#define THREADS_CALLS 512                                         /* call numbers above it are not looked at */
extern const unsigned char threads_matters[THREADS_CALLS];

/* ---- worker.c -------------------------------------------------------------------------------------- */
void *worker_main(void *rec);

/* ---- fresh.c: making a used thread like a new one ----------------------------------------------------- */
const char *fresh_init(void);                                     /* null, or why it cannot be done */
void fresh_capture(struct inherited *from);                       /* in the creator */
void fresh_born(struct thread_rec *r);                            /* in a new worker */
void fresh_call_tls_dtors(void);
bool fresh_possible(const struct thread_rec *r);                  /* all signals blocked */
void fresh_reset(void);
bool fresh_is_impossible(void);                                   /* in a forked child: fresh_reset would wait for ever */
void fresh_apply(const struct inherited *from);                   /* ... but for the signal mask */

/* ---- keys.c ------------------------------------------------------------------------------------------ */
void keys_run_destructors(void);

/* ---- attr.c ------------------------------------------------------------------------------------------ */
struct plan {
    size_t stack, guard;
    bool detached;
    bool plain;                      /* nothing but sizes, detach state and signal mask */
    bool has_mask;
    sigset_t mask;
};
void attr_init(void);
void attr_read(const pthread_attr_t *attr, struct plan *plan);

#endif
