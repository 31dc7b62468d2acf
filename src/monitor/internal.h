/* src/monitor/internal.h - inside the monitor's process.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_MONITOR_INTERNAL_H
#define USF_MONITOR_INTERNAL_H

#include "monitor/monitor.h"
#include "sched/watch.h"
#include "sharing/sharing.h"
#include "shm/shm.h"
#include <pthread.h>
#include <sys/types.h>

/* A process whose death is waited for. */
struct watched {
    int32_t pid;                /* 0: none */
    uint64_t start_time;
    int fd;                     /* pidfd, or -1: looked up in /proc */
};

/* The owner of the scheduler lock, as it was when it was first found so. */
struct owner_look {
    uint32_t name;
    char state;                 /* of its thread */
    uint64_t ran;               /* its slices if it is traced, its CPU time if it is runnable */
    bool unbound;               /* ... which has not grown for so long that it was unbound */
    uint32_t helps;
    uint64_t since;             /* ... in that state */
    bool looked;                /* is it still the program that joined? */
    uint64_t first;             /* when it was first found to be the owner */
    uint64_t signs;             /* of life of the lock and of its namespace's monitor, */
    uint32_t looks;             /* ... and looks since they last changed */
    uint64_t moved, cpu;        /* when the lock was last seen to move, and its thread's CPU time then */
    int32_t tid;
};

/* The quotas that the last look has found. */
#define QUOTA_GROUPS 32u
struct quota_of_group {
    uint32_t key;               /* os_cgroup_key */
    uint32_t cores, group;
};
struct quota_look {
    uint64_t next;              /* ns: when all are looked at again */
    uint32_t nr;
    struct quota_of_group of[QUOTA_GROUPS];
};

struct monitor {
    const struct monitor_options *options;
    struct shm shm;
    struct sched sched;
    struct sched_watcher watcher;
    pthread_mutex_t lock;       /* one call of the scheduler at a time */
    int changed;                /* eventfd: processes may have come */
    int epoll;
    uint64_t started;
    uint64_t empty_since;       /* 0: a process takes part */
    _Atomic bool idle;          /* only processes of other pid namespaces take part */
    uint32_t nr_polled;         /* watched without a pidfd */
    pid_t supervisor;           /* 0: none yet, or it could not be started */
    struct sharing_watch sharing;
    struct owner_look owner;
    uint64_t check_at;          /* ns: when the records are looked at as a whole again */
    uint64_t recorder_at;       /* ns: when to look next whether a recording's recorder lives */
    uint32_t doubts;            /* looks in a row that found them damaged */
    struct quota_look quotas;
    struct watched watched[USF_MAX_PROCS];
};

static inline struct usf_namespace *own_namespace(const struct monitor *m) { return &m->shm.h->namespace[m->shm.namespace]; }
static inline uint32_t own_bit(const struct monitor *m) { return 1u << m->shm.namespace; }

/* A sign of life (hung.c). */
static inline void monitor_beats(struct monitor *m)
{ atomic_fetch_add_explicit(&own_namespace(m)->beat, 1, memory_order_relaxed); }

/* Start a small thread that no other thread waits for.  0 or -errno. */
int monitor_thread(void *(*run)(void *), void *arg);
/* The thread that waits on monitor_event.  Does not return. */
void *watch_loop(void *monitor);
/* The thread that waits on pidfds.  Returns when the instance has been retired. */
int deaths_prepare(struct monitor *m);
void deaths_loop(struct monitor *m);
/* Have the deaths thread look at all processes.  Any thread. */
void monitor_tell_deaths(struct monitor *m);
/* stall.c: all members leave at once, and the instance is removed, which ends the monitor
 * (deaths_loop). */
void monitor_condemn(struct monitor *m);
/* The owner of the lock is alive, and is waited for.  Called every few milliseconds meanwhile. */
void look_at_owner(struct monitor *m, uint32_t name, uint32_t proc);
/* ... the same for an owner in another pid namespace (proc: USF_NONE if it is a monitor), */
void look_at_owner_elsewhere(struct monitor *m, uint32_t name, uint32_t proc, uint32_t namespace);
/* ... and is over. */
void end_stall(struct monitor *m);
/* watch.c: the process of a task; 0: none. */
int32_t monitor_pid_of(const struct sched *s, uint32_t task);
/* Has the kernel thread that executes the task ended?  One that the task's thread has left before
 * that does not count. */
bool monitor_thread_ended(const struct sched *s, uint32_t task);
/* Tell a thread to look at itself.  Not where it blocks the signal: that would stay pending, and a
 * program that waits for such signals itself would find it. */
void monitor_preempt(const struct sched *s, uint32_t task);
/* quota.c: see that processes have as many cores as their quotas come to. */
void quota_look(struct monitor *m);
/* supervisor.c: see that this monitor has a supervisor. */
void supervisor_look(struct monitor *m);
/* Take the scheduler lock from an owner that died with it. */
void monitor_lock(struct monitor *m);
void monitor_unlock(struct monitor *m);
void monitor_recover_lock(struct monitor *m);
/* The policy in force cannot be used by the monitor: coop instead. */
void monitor_replace_policy(struct monitor *m, const char *why);

#endif
