/* src/sched/watch.h - the monitor's looks at an instance, and those of per-user helpers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SCHED_WATCH_H
#define USF_SCHED_WATCH_H

#include "sched/sched.h"

/* A task that was left IN_KERNEL without its thread's doing: the monitor took its core while the
 * thread slept in the kernel unseen or did not answer, or the process lost the core.  The list has
 * those that were taken last, in this order. */
struct sched_unseen {
    uint32_t task;
    bool awake;                 /* at the last look */
    uint64_t lost_in_calls;     /* usf_counters.lost_in_calls then: if it is the same now, the task has had no core since */
};
#define SCHED_UNSEEN_MAX 64u

/* A thread that runs without a scheduling point and has the wrong binding, as the last look at its
 * core found it. */
struct sched_astray {
    uint64_t word;              /* the core's; 0: no such thread */
    uint32_t to;                /* the core to bind it to; USF_NONE: its own mask holds */
    uint64_t again, pause;      /* ns: time of the next attempt to place it, and from that one to the next */
};
/* There is such a thread, and few attempts were made: look again soon. */
static inline bool sched_is_newly_astray(const struct sched_astray *a) { return a->word && a->pause <= 8 * ASTRAY_NS; }

/* The task that runs on a core, as the last look found it. */
struct sched_seen {
    uint64_t word, progress, release;       /* usf_core's, and the task's */
    uint64_t since;             /* ns: the first look that found the same */
    uint64_t signalled;         /* the thread's age at its last preemption signal; 0: it has had none */
};

struct sched_watcher {          /* what the monitor remembers between two looks */
    struct sched_seen seen[USF_MAX_CORES];
    uint64_t given[USF_MAX_CORES], given_word[USF_MAX_CORES];   /* last preemption signal because of give_way_at: when, ns; the core's word then */
    uint32_t due[USF_MAX_CORES], nr_due;    /* tasks whose threads the look under way signals for that */
    uint64_t starving_since[USF_MAX_CORES]; /* ns: since when the policy leaves a core free although a task may run there, */
    uint32_t starving[USF_MAX_CORES];       /* ... and in how many looks */
    uint64_t unresponsive_since[USF_MAX_CORES]; /* ns: first preemption signal after P that the thread has not answered, */
    uint32_t unresponsive[USF_MAX_CORES];   /* ... and their number */
    uint32_t asleep[USF_MAX_CORES];
    uint64_t looked[USF_MAX_CORES];         /* ns: when its thread's state was last asked for */
    uint32_t quiet;             /* looks in a row without anything waiting */
    uint32_t next_sample;       /* task (policy `linux`) or core to look at */
    uint64_t sampled;           /* ns: when a core was last looked at without cause */
    uint64_t sample_pause;      /* ... and how long until the next time */
    uint64_t sites;             /* spin loops that its process had then */
    struct sched_astray astray[USF_MAX_CORES];
    uint32_t next_by_kernel;    /* task: the first that look_at_kernel_run asks */
    bool any_astray;            /* what sched_watch_binding has answered last */
    struct sched_unseen unseen[SCHED_UNSEEN_MAX];
    uint32_t nr_unseen;
};

/* Before the first look. */
void sched_watch_begin(struct sched *s);
/* One look at everything.  preempt: send this task's thread the preemption signal.  state: the
 * kernel's 'R', 'S', ... of its thread; 'X': it has ended; SCHED_ELSEWHERE: the monitor of another
 * pid namespace looks after it. Returns ns until it wants the next look, UINT64_MAX: not before
 * monitor_event changes. */
#define SCHED_ELSEWHERE '?'
uint64_t sched_watch(struct sched *s, void (*preempt)(void *arg, uint32_t task),
                     char (*state)(void *arg, uint32_t task), void *arg);
/* Nothing waits and no core is in use: the monitor may sleep. */
bool sched_is_quiet(struct sched *s);
/* Place the threads that run without a scheduling point.  astray: what the last call saw, of each
 * core.  True: some thread has the wrong binding; a helper may have to tell it. */
bool sched_watch_binding(struct sched *s, struct sched_astray astray[USF_MAX_CORES]);

/* For helpers, too: must the core's thread be placed now?  a: what the last call found there. */
bool sched_is_astray(struct sched *s, uint32_t core, struct sched_astray *a, uint64_t now);
/* Has the thread on the core, whose word is w, not come to a scheduling point since the last look?
 * If it has, or there is none, its time begins anew. */
bool sched_runs_on(const struct sched *s, uint32_t core, uint64_t w, uint64_t now, struct sched_seen *seen);
/* May any group with tasks in the queues use the core?  Without the lock: as of some moment. */
bool sched_is_waited_for(struct sched *s, uint32_t core);
/* Should the caller send a preemption signal to a running thread now?
 *   age        ns since the thread's last scheduling point
 *   signalled  sched_seen.signalled
 * The first signal is due at once, each further one when the age is 8 times that at the last
 * signal.  From the time of the progress guarantee on a signal is due at every call. */
static inline bool sched_signal_is_due(const struct sched *s, uint64_t age, uint64_t signalled)
{ return age >= PREEMPT_AGAIN * signalled || age >= s->h->progress_ns; }

#endif
