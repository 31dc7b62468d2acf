/* src/sched/sched.h - tasks, cores, dispatch.  SPDX-License-Identifier: Apache-2.0
 *
 * Everything here works on an instance that is mapped (struct sched) and is called by threads of
 * participating processes, by the monitor and by the simulator.  Kernel and clock only through
 * src/os.  Nothing above this room is called.
 */
#ifndef USF_SCHED_H
#define USF_SCHED_H

#include "shm/layout.h"

/* This process's view of an instance.  One per process (one per instance in tests and simulator). */
struct sched {
    struct usf_header *h;
    struct usf_core *cores;
    struct usf_proc *procs;
    struct usf_task *tasks;
    struct usf_run *runs;
    const struct usf_policy_ops *ops;
    struct usf_pol pol;         /* handed to the policy; written under the lock */
    uint32_t proc;              /* our process, or USF_NONE (monitor, tools) */
    uint32_t policy_gen;        /* the generation `ops` belongs to */
    bool remote_pin;            /* we may set the affinity of other processes' threads (same pid ns) */
};

/* A thread's own scheduling state, process-private, one per attached thread. */
struct sched_self {
    uint32_t task;              /* USF_NONE: not attached */
    uint32_t crit;              /* > 0: inside a critical section: signals are deferred */
    uint32_t polling;           /* core id + 1 while it polls an idle core */
    uint32_t soft_rounds;
};

/* Bind a mapped segment.  Loads nothing, changes nothing. */
void sched_bind(struct sched *s, void *base);
/* Choose ops for the policy in force (name in the header; policy_path through `load`). */
typedef const struct usf_policy_ops *(*sched_policy_loader)(const char *path, char *why, unsigned why_len);
int  sched_use_policy(struct sched *s, sched_policy_loader load);

/* Processes. */
int  sched_proc_join(struct sched *s, int32_t pid, uint64_t start_time, const char *comm,
                     const uint64_t cpus[16], uint32_t run);       /* -> index or -errno */
void sched_proc_leave(struct sched *s, uint32_t proc);             /* own tasks must be gone */
void sched_proc_reap(struct sched *s, uint32_t proc);              /* monitor: it died */

/* Threads.  attach: takes a record, becomes ready and returns when it has a core. */
int  sched_attach(struct sched *s, struct sched_self *me, int32_t tid, const char *name);
void sched_detach(struct sched *s, struct sched_self *me);         /* gives its core on, frees the record */

/* Block until woken (a token left by an earlier wake returns at once).  deadline: absolute ns on
 * CLOCK_MONOTONIC, or 0.  Returns 0 woken, -ETIMEDOUT, -EINTR (a signal handler ran).  On return the
 * caller has a core in every case. */
int  sched_block(struct sched *s, struct sched_self *me, uint64_t deadline);
/* Make a blocked task ready; if it is not blocked, leave it a token. */
void sched_wake(struct sched *s, struct sched_self *me, uint32_t task);
void sched_yield_core(struct sched *s, struct sched_self *me);
/* Around a system call that certainly blocks. */
void sched_release(struct sched *s, struct sched_self *me);
void sched_acquire(struct sched *s, struct sched_self *me);
/* Around a system call that may block: lend/unlend. */
void sched_lend(struct sched *s, struct sched_self *me);
void sched_unlend(struct sched *s, struct sched_self *me);
/* Progress guarantee, in the signal handler: let others run if any wait. */
void sched_preempt(struct sched *s, struct sched_self *me);

/* Monitor: one look at everything.  Returns ns until it wants the next. */
uint64_t sched_watch(struct sched *s, void (*nudge)(void *arg, uint32_t task), void *arg);
#endif
