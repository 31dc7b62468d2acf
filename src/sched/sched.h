/* src/sched/sched.h - tasks, cores, dispatch.  SPDX-License-Identifier: Apache-2.0
 *
 * Everything here works on a mapped instance (struct sched) and is called by threads of
 * participating processes, by the monitor and by the simulator.  Kernel and clock only through
 * src/os, but for carrier.c; nothing above this room is called.  docs/design.md has the state
 * machines, docs/locking.md the order of locks.
 *
 * The rules that keep it right; S1 and S4 to S6 hold after each release of the scheduler lock:
 *   S1  a task is RUNNING iff exactly one core's word names it (policy `linux`: RUNNING without a
 *       core);
 *   S2  states of tasks change under the scheduler lock, but from and to FREE, or with a core's
 *       lease.  The owner of the lock has ended all leases, one that yields that of its own core
 *       (lease.c, E1 to E4).  A core's word leaves IDLE and RELEASED by compare-and-swap, but in
 *       core_drop.  A provisional release that may be taken ends by compare-and-swap; one that is
 *       TAKEN, under the lock;
 *   S3  a thread goes on in its program when its task is RUNNING, BY_KERNEL or GONE; one that runs
 *       when its core is taken, until its next scheduling point.  The park word says who executes
 *       it: the kernel thread that sleeps on the word, or the thread that has claimed it.  A late
 *       or doubled wake is harmless;
 *   S4  READY == in the policy's queues, or leased to a core; nr_ready counts them;
 *   S5  no core is IDLE while a task that may run on it is READY, but for a contended core
 *       (contend.c), for two looks of the monitor, and for a second if the policy names no task;
 *   S6  the instance is UNBOUND only while no task is READY: bind.c says what follows.
 */
#ifndef USF_SCHED_H
#define USF_SCHED_H

#include "base/base.h"
#include "os/os.h"
#include "sched/times.h"
#include "shm/layout.h"

enum sched_where {
    SCHED_USER = 0,    /* runs its program (or the gate's code on the way) */
    SCHED_PARKED,      /* waits in sched_block or for a core */
    SCHED_IN_CALL,     /* in a system call; its core is released, provisionally or not */
    SCHED_RETURNING,   /* back from the call, waits for a core: a handler that comes now gets one, and keeps it */
};

/* Is the thread kernel-scheduled (call.c)?  A burst is what it runs from one call to the next.  All
 * calls count while it is BY_KERNEL, else those that give the core up. */
struct sched_bursts {
    uint32_t in_row;            /* short ones in a row; 0 and BY_KERNEL: it queues at its return */
    uint32_t n;                 /* since its CPU time was last read */
    uint64_t began;             /* cycles: when it came back from the call before this one */
    uint64_t cpu_ns, read_ns;   /* its CPU time when that was last read, 0: never, and when that was, */
    const void *on;             /* ... and on which carrier */
    uint64_t checked;           /* cycles: when, BY_KERNEL, it last looked whether it had slept */
    uint64_t slept, slept_cpu_ns;       /* how often it had, and its CPU time when it found that first */
    uint64_t entered;           /* cycles: when, BY_KERNEL, it last entered the scheduler */
};

/* A thread's own scheduling state: process-private, one per thread. */
struct sched_self {
    uint32_t task;              /* id, or USF_NONE: not attached */
    uint32_t crit;              /* > 0: inside a critical section, signals are deferred */
    uint32_t where;             /* enum sched_where */
    uint32_t poll_core;         /* core it polls as the idle poller, + 1 */
    uint32_t interrupted;       /* its wait was ended by sched_interrupt */
    uint32_t has_looked;        /* it has polled in a probe for as long as it may: its core may sleep at once */
    uint32_t monitor_look;      /* its turn to call sched.look_for_monitor */
    uint32_t joining;           /* it joins the instance again for its process, while the others wait */
    uint32_t lock_name;         /* the name under which it owns the scheduler lock */
    struct sched_bursts bursts;
    uint32_t lost;              /* times that it came back from a system call and its core was taken */
    uint32_t unproductive;      /* yields in a row for which no other task had use */
    uint64_t yielded;           /* ns: its latest yield that the policy was asked about, or need not be */
    uint32_t maker;             /* the task that made the thread, if it was recorded, else USF_NONE, */
    uint64_t born;              /* ... and when, ns; 0: it was not */
    uint32_t arrivals;          /* turns that it has had */
    uint64_t spread;            /* cycles: when it last looked whether it polls on another's CPU */
    uint64_t called;            /* cycles: when it gave its core to a system call, if that is recorded, else 0 */
    uint64_t looked_if_due;     /* cycles: when it last looked whether it must give way (sched_look_if_due) */
    uint32_t entering;          /* a signal's handler waits for a core: no other handler begins meanwhile */
    /* carrier.h */
    struct carrier *home;       /* the kernel thread that it began as; null: it does not float */
    struct carrier *carrier;    /* the one that executes it, or is kept for it */
    bool floats;                /* it may float once it is attached */
    struct arch_context *context;   /* its registers while it waits; null: it has not left its carrier yet, or is an idle loop */
    uint32_t stays;             /* > 0: it does not leave its carrier now */
    uint32_t next;              /* task + 1 that its carrier executes when it parks */
    uint64_t mask;              /* its signal mask, outside of critical sections */
    void *signal_stack;         /* its carrier's alternate stack in the kernel */
    _Atomic uint64_t cpu_told;  /* ns: its CPU time as it was told last */
    _Atomic uint32_t keeps_home;    /* another thread has made a call that concerns its own kernel thread: it stays there once it is there */
    uint64_t cpu_ns;            /* its CPU time so far, without what it has not been charged yet (carrier_cpu_time) */
    uint64_t entered;           /* ns: when it last got the scheduler lock */
    uint32_t monitor_look_due;  /* it has waited for long: is there a monitor? */
    _Atomic uint32_t signalled; /* of an idle loop: a signal has come for its thread */
};

/* The edges of `where` are in docs/design.md, section 3.  Only the thread itself writes the word; a
 * thread that has to stop the others reads it.  from: what it may be now, as SCHED_AT() bits. */
#define SCHED_AT(where) (1u << (where))
#define SCHED_ANYWHERE (SCHED_AT(SCHED_RETURNING + 1) - 1)
static inline bool sched_is_at(const struct sched_self *me, uint32_t from)
{ return me->where <= SCHED_RETURNING && SCHED_AT(me->where) & from; }
static inline void sched_set_where(struct sched_self *me, uint32_t from, uint32_t to)
{
    usf_dassert(sched_is_at(me, from));
    __atomic_store_n(&me->where, to, __ATOMIC_RELAXED);
}

enum sched_leaving {            /* the process */
    SCHED_STAYS = 0,
    SCHED_LEAVING,              /* is being taken off; its other threads wait for what comes of it */
    SCHED_LEFT,                 /* lives on unscheduled */
};

/* What a thread busy-waits for, for the predicate probes of other threads of its process; null
 * regs: nothing, or nothing that can be probed. */
struct sched_spin {
    const void *_Atomic regs;
    uint32_t place;
    uint32_t turn;              /* so many times it has given way */
};
struct sched_spinner { uint32_t task, turn; };
#define SCHED_SPINNERS_MAX 64u

/* Of a task of this process whose thread floats. */
struct sched_floating {
    struct sched_self *_Atomic self;
    _Atomic uint32_t attention; /* something was sent to it that it has not looked at */
    _Atomic uint32_t homeward;  /* carrier + 1 that it waits for, its home; 0: it waits for a core */
    _Atomic uint64_t deadline;  /* ns: it waits until then at most; 0: no limit, or it does not wait */
};

struct trace_map;
struct carrier;
struct arch_context;
/* This process's view of an instance.  One per process (one per instance in tests and
 * simulator). */
struct sched {
    struct usf_header *h;
    struct trace_map *_Atomic trace;    /* where events go during a recording, else null (src/sched/ring.h) */
    struct usf_core *cores;
    struct usf_proc *procs;
    struct usf_group *groups;
    struct usf_thread *threads;
    struct usf_task *tasks;
    struct usf_run *runs;
    struct usf_policy_ops ops;  /* resolved: no null operation */
    struct usf_pol pol;         /* handed to the policy; written under the lock */
    _Atomic uint32_t proc;      /* our process, or USF_NONE (monitor, tools, a process that is being taken off) */
    uint32_t namespace;         /* our pid namespace: index in usf_header.namespace */
    uint32_t policy_gen;        /* the generation `ops` belongs to */
    const struct usf_policy_ops *object;    /* of policy_path, or null */
    bool policy_hung;           /* monitor: the lock's owner does not come back from an operation */
    _Atomic bool kernel;        /* policy `linux`: the kernel schedules */
    bool no_kernel_run, no_contention, no_leases; /* fast paths that are switched off */
    bool remote_pin;            /* other processes' threads can be bound by us, if they are of our pid namespace */
    _Atomic uint32_t leaving;   /* enum sched_leaving; other threads of a process that leaves wait on it */
    _Atomic uint32_t patching;  /* 1: code of this process is being rewritten; threads wait to go on */
    uint32_t weight, flags;     /* what the process's first group begins with (usf_pol_group); weight 0: the normal one */
    int32_t priority;
    const char *shm_dir;
    const char *instance;       /* its name; null: no recordings */
    void (*follow)(struct sched *);     /* usf_header.trace is not trace_gen any more; may be null */
    struct trace_map *trace_place;      /* once there was a recording: where it lies, or lay; by the thread that has set `following`: */
    bool trace_mapped;          /* ... and its file lies there still */
    uint32_t trace_gen;         /* the recording that this process goes by, or has not got */
    _Atomic uint32_t following;
    void (*after_crit)(struct sched_self *);  /* raise signals that were deferred; may be null */
    void (*hold)(struct sched_self *);        /* block signals, and clear `entering`; may be null */
    struct carrier *carriers;   /* of this process, by the number of their usf_thread; null: no thread floats */
    struct sched_floating *floating;    /* by task */
    _Atomic uint32_t handovers;         /* from thread to thread of this process, up to CARRIER_PAYS; an estimate: of two at once one may be lost */
    _Atomic uint32_t alarm_lock;
    _Atomic uint32_t alarm_by;  /* carrier + 1 that sleeps ... */
    _Atomic uint64_t alarm;     /* ... until then, ns, at most, for all that wait with a deadline; 0: none does.  Written under alarm_lock */
    _Atomic uint32_t user_calls;        /* so many calls have set the user of all threads (runtime/users.c) */
    uint64_t own_signals;               /* those that a carrier takes for itself, also if it has no owner */
    _Atomic uint32_t spare_lock;
    uint32_t spares;            /* carrier + 1: the first that has no owner */
    void (*switched)(struct sched_self *to, struct sched_self *from);   /* `to` is executed where `from` was; either may be an idle loop's */
    void (*poke)(int32_t tid);                  /* interrupt that kernel thread, so that its thread makes room (carrier_make_room) */
    bool (*map_idle)(struct carrier *k);        /* what is needed before its thread leaves it: stack, context; false: there is no memory */
    void (*make_idle)(struct carrier *k);       /* the idle loop in it: idle, at */
    void (*carrier_ends)(struct carrier *k);    /* its kernel thread is about to end */
    /* Is there a monitor?  Asked now and then, and when a thread has waited long for a core. */
    void (*look_for_monitor)(struct sched *);
    uint64_t monitor_looked;    /* ns: when it was last asked; under the lock */
    char tell[128];             /* a warning for the lock's owner to write once it has released the lock; "": none */
    /* Its tasks that are READY in a busy-wait, in the order in which they gave way (probe.c); under
     * the lock: */
    struct sched_spinner spinners[SCHED_SPINNERS_MAX];
    uint32_t nr_spinners;
    uint32_t next_spinner;      /* where the next look at them begins: the last found none, and did not see all */
    bool spinners_sure;         /* each of them is READY, and is there once */
    uint32_t spin_group;        /* their rank */
    int32_t spin_priority;
    uint64_t spin_deadline;
    struct sched_spin *spins;   /* the process's own, USF_MAX_TASKS of them; null: no predicate probes */
    bool (*probe)(uint32_t place, const void *regs);         /* is that wait over?  Fast; the answer holds for the moment only */
    struct sched_watcher *watch;        /* monitor: watch.h; else null */
    _Atomic uint32_t unfit;     /* monitor: 1: its container has no object of the policy in force, and no members: end */
    _Atomic uint32_t next_record;   /* hint: where to look for a free task */
};

/* Fields of a core's word. */
static inline uint64_t core_word(unsigned state, uint32_t task, uint64_t seq)
{ return state | (uint64_t)task << 8 | seq << 40; }
static inline unsigned core_state(uint64_t w) { return (unsigned)(w & 0xff); }
static inline uint32_t core_task(uint64_t w)  { return (uint32_t)(w >> 8); }
static inline uint64_t core_seq(uint64_t w)   { return w >> 40; }

/* Is each core's thread bound to the core's CPU?  (Else the kernel places them: bind.c.) */
static inline bool sched_is_bound(const struct sched *s)
{ return atomic_load_explicit(&s->h->binding, memory_order_relaxed) == USF_BOUND; }

/* Has the task released its core provisionally, for a system call? */
static inline bool sched_is_provisional(const struct usf_task *t)
{ return atomic_load_explicit(&((struct usf_task *)t)->release, memory_order_relaxed) & USF_RELEASE_PROVISIONAL; }

/* The thread that executes the task. */
static inline struct usf_thread *sched_thread_of(const struct sched *s, uint32_t task)
{ return &s->threads[atomic_load_explicit(&s->tasks[task].thread, memory_order_relaxed)]; }

/* The records of a thread whose process was taken off in the middle of something. */
extern struct usf_task sched_gone;
extern struct usf_thread sched_gone_thread;

/* The pid namespace of a process.  Without the lock: the process may join or leave at this moment.
 * (Bits 16 to 31 of `claim`.) */
static inline uint32_t sched_namespace_of(const struct usf_proc *p)
{ return (uint16_t)(atomic_load_explicit(&((struct usf_proc *)p)->claim, memory_order_relaxed) >> 16); }

/* This process's first group; null: it is off its instance.  Without the lock. */
static inline struct usf_group *sched_first_group(const struct sched *s)
{
    uint32_t proc = atomic_load_explicit(&((struct sched *)s)->proc, memory_order_relaxed);
    uint32_t group = proc < USF_MAX_PROCS ? __atomic_load_n(&s->procs[proc].group, __ATOMIC_RELAXED) : USF_NONE;
    return group < USF_MAX_GROUPS ? &s->groups[group] : 0;
}

/* Are the pid and thread ids of this task those of our pid namespace?  (Those of a task that has
 * just ended mean nothing.) */
static inline bool sched_is_ours(const struct sched *s, uint32_t task)
{
    uint32_t proc = atomic_load_explicit(&s->tasks[task].proc, memory_order_relaxed);
    return proc < USF_MAX_PROCS && sched_namespace_of(&s->procs[proc]) == s->namespace;
}

/* Bind a mapped segment.  Changes nothing in it. */
void sched_bind(struct sched *s, void *base);
/* Take the operations of the policy in force; `user` is the loaded object's table if the header
 * names a path, else null.  0, or -errno with a reason. */
int  sched_use_policy(struct sched *s, const struct usf_policy_ops *user, char *why, unsigned cap);

/* ask.c.  Ask the monitor for another policy (a built-in one, or the instance's object), or for
 * another weight or priority of a process. m was opened with its file kept.  0, or -errno with a
 * reason: -EPERM it is refused, -ETIMEDOUT no answer so far. */
#define SCHED_WEIGHT_MAX 10000
#define SCHED_PRIORITY_MAX 1000
struct shm;
struct sched_request {
    uint32_t kind;              /* enum usf_ask */
    const char *policy;
    int32_t pid;
    int64_t value;
};
int  sched_ask(const struct shm *m, const struct sched_request *r, uint64_t timeout_ns, char *why, unsigned cap);
/* Monitor: do what is asked for. */
void sched_answer(struct sched *s);

/* change.c.  The scheduling attributes of a task. */
struct sched_attributes {
    uint64_t deadline;
    int32_t priority;
    uint32_t affinity_id;
    uint8_t affinity, strict;
    uint64_t mask[USF_CORE_WORDS];      /* usf_pol_task.mask */
};
void sched_attributes_of(struct sched *s, uint32_t task, struct sched_attributes *w);
/* Of a task of this process.  A running task stays where it is until it is queued again. */
void sched_change_task(struct sched *s, struct sched_self *me, uint32_t task, const struct sched_attributes *w);
/* Has this process a core at the place of the attributes?  Where it has none, a strict affinity
 * counts as a preference (sched_change_task). */
bool sched_attributes_can_be(struct sched *s, const struct sched_attributes *w);
/* The calling thread goes to where it may run, if it runs elsewhere; to a core of its mask, if one
 * is idle. */
void sched_move(struct sched *s, struct sched_self *me);
/* A call is about to set or to read the mask that a kernel thread of this process has in the kernel,
 * whichever task it executes: it is not bound until sched_end_hold.  Then its mask is unknown, and
 * the next binder sets it.  thread: its number; USF_NONE: nothing is done. */
void sched_hold_place(struct sched *s, struct sched_self *me, uint32_t thread);
void sched_end_hold(struct sched *s, uint32_t thread);
/* Call after what the task's thread may run on has changed.  The thread belongs to this process. */
void sched_place_anew(struct sched *s, struct sched_self *me, uint32_t task);
/* The mask and affinity for a set of CPUs: one core, a whole cache or node, or the mask; none for
 * all of the instance's CPUs. */
void sched_affinity_of(struct sched *s, const struct os_cpuset *cpus, struct sched_attributes *w);
/* Before a fork or exec: note the process's weight and priority, with which it, or the child with
 * its copy of this memory, joins. */
void sched_keep_inherited(struct sched *s);
/* The process follows a new share by itself from now on. */
void sched_set_malleable(struct sched *s, struct sched_self *me);

/* Processes.  cpus: Linux numbers.  Returns the index or -errno (-EAGAIN: table full, -EXDEV: none
 * of the instance's cores is in cpus, -ESTALE: the instance has been retired, -EREMOTE: it is
 * another pid namespace's). */
int  sched_proc_join(struct sched *s, int32_t pid, uint64_t start_time, const char *comm,
                     const struct os_cpuset *cpus, uint32_t run);
/* Take the process and all its tasks off: it leaves or is about to exec (lives: its threads may
 * still look at their records, which are kept until it is dead), or it died. */
void sched_proc_remove(struct sched *s, uint32_t proc, bool lives);

/* The same for the own process, by a thread that may have a task; *proc is its number.  False:
 * another thread has just taken it off, and perhaps on again. */
bool sched_leave(struct sched *s, struct sched_self *me, uint32_t *proc);

/* After sched_leave, if the process (which was number proc) lives on: its other threads find that
 * they have no task any more.  for_good: it will not join again. */
void sched_left(struct sched *s, uint32_t proc, bool for_good);

/* For a monitor: wake all threads that sleep, except those of process number `but`, so that they
 * look at usf_header.stalled.  This writes their park words: an idle loop (carrier.c) looks at
 * nothing else.  A thread that is just going to sleep may miss it.  Another thread of its process
 * then wakes it (sched_desert). */
void sched_rouse(struct sched *s, uint32_t but);

/* The own process leaves for good, without the lock, whose owner does not run.  Any number of its
 * threads may call this. */
void sched_desert(struct sched *s, const struct os_cpuset *cpus);

/* Is the thread kernel-scheduled (sched_leave_core)? */
static inline bool sched_is_by_kernel(const struct sched *s, const struct sched_self *me)
{ return me->task != USF_NONE && atomic_load_explicit(&s->tasks[me->task].state, memory_order_relaxed) == USF_TASK_BY_KERNEL; }

/* Has the thread lost its record that way?  It has none from then on. */
static inline bool sched_has_lost(struct sched *s, struct sched_self *me)
{
    if (me->task != USF_NONE && atomic_load(&s->tasks[me->task].state) != USF_TASK_GONE) return false;
    me->task = USF_NONE;
    me->poll_core = 0;
    return true;
}

/* Has what the process may use changed (its cpuset, a CPU that went offline)?  choose: narrow what
 * is allowed down to what the process wants.  The process's cores are then those.  False: there are
 * none; it keeps those that it had. */
bool sched_follow_cpus(struct sched *s, struct sched_self *me, void (*choose)(struct os_cpuset *cpus));
/* Monitor: the process gets so many cores (USF_NONE: all that it may use), the same as the others
 * of its group. */
void sched_set_quota(struct sched *s, uint32_t proc, int32_t pid, uint32_t quota, uint32_t group);

/* group.c.  Further groups of this process.  All take the lock, and say -ESTALE when the process is
 * off its instance. make: of that name (as much as fits in 31 bytes), weight (1 to
 * SCHED_WEIGHT_MAX), priority (within SCHED_PRIORITY_MAX) and cores: those of `wants` that the
 * process may use, or all of these where there are none; null: whatever the process may use.  kind:
 * enum usf_group_kind.  The group's index, which stands until it ends or the process leaves the
 * instance; -EINVAL, -EAGAIN: there are too many, -ENOSPC: /dev/shm is full. adjust: a further
 * group has these from now on.  Its ready tasks are queued anew.  A thread that runs where its
 * group may not any more gives the core up at its next scheduling point, or when another task waits
 * for that core; the calling thread at once.  -EINVAL, -ESRCH. end: its threads go back to the
 * process's first group, which cannot end (-EINVAL).  -ESRCH: no such group of this process.
 * change: a task of this process, whatever it does, belongs to that group.  A ready task is queued
 * anew, and has waited for as long as before.  The calling thread moves at once to a core of its
 * new group; another that runs stays where it is until it gives its core up. -ESRCH: no such task,
 * or group, of this process. */
int  sched_group_make(struct sched *s, struct sched_self *me, const char *name, uint32_t weight, int32_t priority,
                      const uint64_t wants[USF_CORE_WORDS], uint32_t kind);
int  sched_group_adjust(struct sched *s, struct sched_self *me, uint32_t group, uint32_t weight, int32_t priority,
                        const uint64_t wants[USF_CORE_WORDS], uint32_t kind);
int  sched_group_end(struct sched *s, struct sched_self *me, uint32_t group);
int  sched_change_group(struct sched *s, struct sched_self *me, uint32_t task, uint32_t group);

/* Threads.  attach takes a record and returns with a core.  0 or -errno: -EAGAIN, there is no
 * room; -ESTALE, the process is being taken off. */
int  sched_attach(struct sched *s, struct sched_self *me, int32_t tid, const char *name);
/* ends: the thread executes nothing of the program any more, handlers included.  Then its successor
 * on the core is woken only when it has ended, and so does not delay its end. */
void sched_detach(struct sched *s, struct sched_self *me, bool ends);

/* Block until woken.  A pending wake-up ends the wait at once.  deadline: absolute ns on
 * CLOCK_MONOTONIC, 0 = none.  0 woken (or spurious: callers loop on their own condition),
 * -ETIMEDOUT, -EINTR (sched_interrupt, or the process is taken off).  On return the caller has a
 * core, if it has a task.  Does not block, and returns 0, once *word is not `is` any more.  A
 * waker, or a handler on this thread, writes there first: either this call sees that, or the writer
 * finds the thread blocked.  The pending wake-up alone does not suffice: a handler that blocks
 * takes it. */
int  sched_block_while(struct sched *s, struct sched_self *me, uint64_t deadline, const _Atomic uint32_t *word, uint32_t is);
static inline int sched_block(struct sched *s, struct sched_self *me, uint64_t deadline) { return sched_block_while(s, me, deadline, 0, 0); }
/* For `usf ps`: what the thread is about to wait for (a futex's address, usf_wait_call). */
static inline void sched_waits_for(struct sched *s, struct sched_self *me, uint32_t kind, uint64_t what)
{
    if (USF_UNLIKELY(me->task == USF_NONE)) return;     /* just taken off */
    struct usf_task *t = &s->tasks[me->task];
    atomic_store_explicit(&t->wait_kind, (uint16_t)kind, memory_order_relaxed);
    atomic_store_explicit(&t->wait_addr, what, memory_order_relaxed);
}
/* Does a task wait for a core? */
static inline bool sched_core_is_wanted(struct sched *s)
{ return atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed) != 0; }
/* All tasks that wait for a core are of the thread's own group. */
static inline bool sched_only_own_wait(const struct sched *s, const struct sched_self *me)
{
    return me->task != USF_NONE
           && __atomic_load_n(&s->groups[s->tasks[me->task].pol.group].pol.nr_ready, __ATOMIC_RELAXED) == atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed);
}
/* Look before blocking?  For how many ns at most (0: another task wants the core, or it does not
 * pay), and what came of it: how long it took, or UINT64_MAX. */
uint64_t sched_look_budget(struct sched *s, struct sched_self *me);
void sched_looked(struct sched *s, struct sched_self *me, uint64_t took);
/* Make blocked tasks ready, SCHED_WAKE_BATCH of them for each time that it takes the lock.  A task
 * that is not blocked gets a pending wake-up. */
#define SCHED_WAKE_BATCH 16u
void sched_wake(struct sched *s, struct sched_self *me, const uint32_t *tasks, unsigned n);
/* Let others run, if any wait.  spin: a round of a busy-wait loop.  Returns true if another task
 * ran. */
bool sched_yield_core(struct sched *s, struct sched_self *me, bool spin);
/* Another thread waits for the kernel thread that executes the calling one: leave it.  A thread
 * that waits in a loop, and is never switched since no task waits for its core, has to ask: what it
 * waits for may be that thread. */
void sched_make_room(struct sched *s, struct sched_self *me);
/* The thread yields: does it keep its core without a question to the policy, which has said so
 * before (usf_keep)? */
bool sched_keeps_core(struct sched *s, struct sched_self *me);
/* A round of a busy-wait loop that other threads can probe.  core_pick passes the task over while
 * the probe says that the wait goes on, as long as another task is ready. */
bool sched_spin(struct sched *s, struct sched_self *me, uint32_t place, const void *regs);
/* A handler is about to run on top of the wait.  Its thread has use for a core from now on, and may
 * never return to the wait. */
static inline void sched_stop_probes(struct sched *s, struct sched_self *me)
{
    if (s->spins && me->task != USF_NONE) atomic_store_explicit(&s->spins[me->task].regs, 0, memory_order_relaxed);
}
/* Around a system call.  certain: it will block, so the core is RELEASED at once; otherwise it is
 * released provisionally, and others may take it after `lend`.
 *
 * A thread that blocks in the kernel again and again and computes for microseconds in between is
 * better off without a core.  It becomes kernel-scheduled (BY_KERNEL): it is bound to no CPU, and
 * the kernel runs its bursts beside the owners of cores.  That ends when it computes for longer
 * (then it queues for a core at its next call, or when the monitor finds it), blocks in the
 * scheduler, or yields. */
void sched_leave_core(struct sched *s, struct sched_self *me, bool certain);
/* The thread's calls release its core only provisionally, but have blocked often: its next call
 * with a certain release makes it kernel-scheduled. */
void sched_expect_kernel_run(struct sched_self *me);
void sched_return_core(struct sched *s, struct sched_self *me);
/* The same for a call that seldom blocks, as short as it can be.  A provisional release is one
 * store. It needs no order with later accesses: a taker that does not see it yet takes the core
 * later.  what: usf_wait_call of the call.  sched_end_release returns false if something has
 * changed; then sched_return_core finds out what. */
static inline void sched_begin_release(struct sched *s, struct sched_self *me, uint64_t what)
{
    struct usf_task *t = USF_LIKELY(me->task != USF_NONE) ? &s->tasks[me->task] : &sched_gone;
    uint64_t release = atomic_load_explicit(&t->release, memory_order_relaxed);
    atomic_store_explicit(&t->wait_kind, USF_WAIT_SYSCALL, memory_order_relaxed);
    atomic_store_explicit(&t->wait_addr, what, memory_order_relaxed);
    sched_set_where(me, SCHED_AT(SCHED_USER) | SCHED_AT(SCHED_IN_CALL), SCHED_IN_CALL);     /* IN_CALL: call.c */
    if (USF_UNLIKELY(s->trace != 0)) me->called = os_cycles();
    atomic_store_explicit(&t->release, (release | USF_RELEASE_BITS) + 2, memory_order_release);
    USF_POINT("sched.release");
}
static inline bool sched_end_release(struct sched *s, struct sched_self *me)
{
    if (USF_UNLIKELY(me->task == USF_NONE || me->called)) return false;
    struct usf_task *t = &s->tasks[me->task];
    uint64_t release = atomic_load_explicit(&t->release, memory_order_relaxed);
    if (USF_UNLIKELY((release & USF_RELEASE_BITS) != USF_RELEASE_PROVISIONAL)
        || USF_UNLIKELY(!atomic_compare_exchange_strong(&t->release, &release, release & ~(uint64_t)USF_RELEASE_BITS)))
        return false;
    USF_POINT("sched.back");
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (USF_UNLIKELY(core >= s->h->nr_cores)) return false;
    uint64_t w = atomic_load_explicit(&s->cores[core].word, memory_order_relaxed);
    if (USF_UNLIKELY(core_state(w) != USF_CORE_RUNNING || core_task(w) != me->task)) return false;      /* BY_KERNEL, or taken unseen */
    if (USF_UNLIKELY(sched_is_provisional(t))) return false; /* another core, by a handler since the swap */
    /* After the swap: either a patcher sees the release ended, and stops this thread, or this
     * thread sees `patching`. */
    if (USF_UNLIKELY(atomic_load_explicit(&s->patching, memory_order_relaxed))) return false;
    sched_set_where(me, SCHED_AT(SCHED_IN_CALL), SCHED_USER);
    return true;
}
/* Wait while code of this process is being rewritten. */
void sched_await_patch(struct sched *s);
/* A signal handler is about to run on top of such a call: get a core.  True: release it again after
 * the handler.  False: keep it, since the thread was about to release its core, or has just come
 * back. */
bool sched_interrupt_call(struct sched *s, struct sched_self *me);
/* Must a running thread give way?  The progress guarantee says so, or its policy (give_way_at). */
bool sched_is_due(struct sched *s, struct sched_self *me);
/* ... do so, from the signal handler. */
void sched_preempt(struct sched *s, struct sched_self *me);
/* The thread is back from a call, and tasks wait for a core: it gives way if it must.  Each call that
 * releases the core, for however short, is a scheduling point for the monitor, so a thread that makes
 * one after the other gets no signal. */
void sched_look_if_due(struct sched *s, struct sched_self *me);
/* A signal handler is about to run on top of a park: end the wait, get a core. */
void sched_interrupt(struct sched *s, struct sched_self *me);

/* Critical sections: signals are deferred inside. */
static inline void sched_crit_enter(struct sched_self *me)
{ me->crit++; __asm__ volatile("" ::: "memory"); }
static inline void sched_crit_leave(struct sched *s, struct sched_self *me)
{
    __asm__ volatile("" ::: "memory");
    if (--me->crit == 0 && s->after_crit) s->after_crit(me);
}

/* Is it time to see whether there is a monitor?  True: the caller looks. */
bool sched_look_is_due(struct sched *s);
/* Wake the monitor, to look at processes and at the lock. */
static inline void sched_tell_monitor(struct usf_header *h)
{
    atomic_fetch_add(&h->monitor_event, 1);
    os_futex_wake(&h->monitor_event, INT32_MAX);    /* there may be one for each pid namespace */
}

/* The calling thread has a core: it binds itself to that, or takes its own mask back. */
void sched_place_self(struct sched *s, struct sched_self *me);

/* Monitor: the thread that the core's word names seems to have ended, and its process lives on.
 * state: as sched_watch has it; it is asked again, under the lock. */
void sched_lose_task(struct sched *s, uint32_t core, uint64_t word, char (*state)(void *arg, uint32_t task), void *arg);

/* Monitor, with the lock or without: the task's thread runs without a core, or does not get the CPU
 * that it is bound to.  It may run on all CPUs of its own mask until it is bound again. */
void sched_unbind(struct sched *s, uint32_t task);

/* Monitor: processes died.  If one of them held the scheduler lock: take it and put right what it
 * left half done.  is_dead: is the holder of this lock name (owner.h) dead? */
void sched_recover(struct sched *s, bool (*is_dead)(void *arg, uint32_t name), void *arg);
/* Monitor: the same, and coop replaces the policy in force. */
#define SCHED_POLICY_HUNG "an operation of it did not return"
void sched_replace_policy(struct sched *s, const char *why, bool (*is_dead)(void *arg, uint32_t name), void *arg);

/* Whole-object check, for the expensive asserts, the monitor, `usf doctor` and `usf dump`: true, or
 * false with a reason.  Takes no lock, and is exact only if the caller owns it.  Without the lock,
 * or on a copy, a fault counts only if it is found again and again. */
bool sched_is_valid(struct sched *s, char *why, unsigned cap);
/* Monitor: the same, under the lock. */
bool sched_check(struct sched *s, char *why, unsigned cap);

#endif
