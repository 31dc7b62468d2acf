/* tests/sched/race/race.h - scheduler and futexes under ThreadSanitizer and under perturbation.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: race [SEED [SECONDS]]
 * Several participants ("views": one struct sched each, as a process has it) of one instance live in this one process, so
 * that ThreadSanitizer sees what they do to the segment.  Each episode has an instance of its own, with another lock,
 * policy, number of cores and monitor.  Threads work in pairs: an exchange is one wake posted and one awaited, without
 * timeouts, so a wake-up that is lost is never made up for by another: the pair hangs and the test says so.  Between
 * two exchanges come random operations.  Signals are simulated where a real one could arrive: at perturbation points and
 * at the ends of critical sections, as the runtime enters handlers there.
 *
 * What is checked: the user's data (plain fields in sections of a futex mutex, plain fields of the core that a thread has),
 * every wake-up consumed, results of calls, the whole instance under its lock, an empty instance at the end.
 *
 * race.c has the episodes, actors.c what the threads do, signals.c what interrupts them, leavers.c a process that leaves and joins again,
 * watchers.c monitor and recorder, liars.c policies that work for a while. */
#ifndef USF_TEST_RACE_H
#define USF_TEST_RACE_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../check.h"
#include "policy/policy.h"
#include "sched/core.h"
#include "shm/shm.h"
#include "sync/sync.h"
#include "sched/ring.h"

enum { VIEWS = 2, THREADS = 8, LEAVERS = 3, GROUPS = 2, STALL_S = 12 };

struct view {
    struct sched s;
    struct sync y;
    _Atomic uint32_t mutex, cond, box;  /* futex words */
    uint64_t sections, sum;             /* under mutex */
    _Atomic uint32_t ops;               /* FUTEX_WAKE_OPs */
    _Atomic uint32_t group[GROUPS];     /* further groups, + 1; 0: none */
};
struct thread {
    struct sched_self self;
    struct sync_self sync;
    struct view *v;
    struct thread *partner;
    uint64_t rng;
    _Atomic uint32_t id, credit;        /* its task; wakes owed to it */
    _Atomic uint32_t inbox;             /* the same for exchanges by futex */
    uint64_t mail[2];                   /* written by the partner, who is one exchange ahead at most */
    _Atomic uint64_t done;              /* exchanges */
    _Atomic bool signalled;
    bool attached, inside, certain, checked;
    unsigned depth;                     /* of handlers */
    uint32_t core;
    pthread_t pthread;
};

struct episode {
    uint64_t seed;
    uint32_t cores;
    const struct usf_policy_ops *policy;    /* one that works for a while; null: `builtin` */
    const char *builtin;
    bool unseen;                        /* the monitor believes at times that running threads sleep, and takes their cores */
    bool strays;                        /* wakes that nobody has asked for */
    bool lonely;                        /* the monitor only checks: nobody makes up for a lost wake-up */
    bool traced;                        /* somebody records it */
    bool departures;                    /* one more process, which leaves and joins again while its threads go on */
    unsigned exchanges, handlers;       /* a signal in so many places, 0 = none */
};

/* race.c */
extern struct episode e;
extern struct view views[VIEWS + 1];    /* the last: of the leavers */
extern struct thread threads[THREADS], leavers[LEAVERS];
extern struct os_cpuset cpus;
extern struct usf_header *header;
extern _Atomic bool stop;
extern _Atomic uint32_t finished;
extern _Thread_local struct thread *self;
extern _Thread_local uint64_t point_rng;

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9ull, x ^= x >> 27, x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
static inline uint64_t next(uint64_t *rng) { return mix(*rng += 0x9e3779b97f4a7c15ull); }
static inline unsigned below(struct thread *t, unsigned n) { return (unsigned)(next(&t->rng) % n); }

/* actors.c */
void forget_users(void);                /* of the cores, before an episode */
void enter_core(struct thread *t);      /* a thread has the core it runs on, ... */
void exit_core(struct thread *t);       /* ... and has it no more */
void *run_actor(void *thread);
/* signals.c */
void spin(struct thread *t);            /* a round of a busy-wait */
bool probe(uint32_t place, const void *regs);
void after_crit(struct sched_self *me);
/* leavers.c */
bool is_in(struct thread *t);
void *run_leaver(void *thread);
/* watchers.c */
void *run_monitor(void *sched);
void begin_recording(pthread_t *t);
void end_recording(pthread_t t);
extern struct trace_map *rings;
/* liars.c */
extern const struct usf_policy_ops *const liars[3];

#endif
