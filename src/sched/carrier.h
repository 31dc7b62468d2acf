/* src/sched/carrier.h - threads that float between kernel threads.  SPDX-License-Identifier: Apache-2.0
 *
 * A thread is a user context, which a kernel thread executes: its carrier.  A thread that waits
 * leaves its carrier, which executes another thread of the process or sleeps.  Any carrier of the
 * process can execute any floating thread.  A switch between two threads takes some 100 ns; a
 * futex's wake and wait take 2 us and more.
 *
 * There are at least as many carriers as threads.  So each thread that waits has a carrier that is
 * kept for it, which `usf_task.thread` names and which sleeps.  A waker, in this process or
 * another, wakes that carrier as if the thread slept there (core_wake).  A thread of the same
 * process that gives its core to the sleeping thread needs no wake-up: it claims that carrier, and
 * switches.
 *
 * The park word of a carrier (usf_thread.park):
 *
 *      NONE ──its thread has left; `owner` is kept here (publish)─► IDLE
 *      IDLE ──a waker (core_wake): the carrier executes the owner──► PINNING, GO ──► NONE
 *      IDLE ──a signal has come that the owner is to take──────────► NONE
 *      IDLE ──a thread executes the owner on its own carrier───────► CLAIMED ──► IDLE, for that thread
 *      IDLE ──it must look again how long it may sleep (C5)────────► LOOK ──► IDLE; LOOK counts as IDLE
 *
 *   C1  A thread is published (IDLE) when its registers are saved: by what executes next on the
 *       carrier that it has left.  A claimer that does not execute the thread publishes it again.
 *   C2  The thread that makes the word CLAIMED may execute the thread that `owner` names on another
 *       carrier.  It may also make the word GO.  From PINNING, GO and NONE only the carrier itself
 *       executes it.
 *   C3  `usf_task.thread` is written before the word becomes IDLE, and the publisher looks at the
 *       task's state after that.  A waker writes the state before it reads `thread`.  So either the
 *       waker finds the right carrier, or the publisher finds the wake-up.
 *   C4  A thread is in a critical section while it switches.  A signal that comes then is kept
 *       (rt_signal), and goes to what the carrier executes next: `switched` passes it on.
 *
 *   C5  Of all idle carriers of a process one sleeps until the earliest deadline of the threads
 *       that wait (alarm.h).
 *
 * A thread that waits for its home (the kernel thread that it began as) says so in `wanted`. The
 * thread that makes that carrier IDLE wakes it. */
#ifndef USF_SCHED_CARRIER_H
#define USF_SCHED_CARRIER_H

#include "arch/context.h"
#include "sched/sched.h"
#include "sched/times.h"

/* A kernel thread of this process.  Process-private; its number is that of its usf_thread. */
struct carrier {
    struct sched *s;
    int32_t tid;
    _Atomic bool sets_user;         /* libc's handler for setuid runs here, with the storage of the thread that began here */
    _Atomic bool set_user_later;    /* ... is to run here */
    _Atomic uint32_t set_user_now;  /* it is to make that call by itself, since libc does not know it */
    uint32_t user_calls;            /* so many of those calls were made here, or before it began */
    bool orphan;                    /* the thread that began here has ended elsewhere */
    void *signal_stack;             /* its alternate stack in the kernel; null: none of ours */
    uint64_t mask;                  /* its signal mask in the kernel, outside of critical sections */
    _Atomic uint32_t wanted;        /* task + 1 of the thread that waits until it can come home; 0: it does not */
    /* Its CPU time (carrier_cpu_time): */
    uint64_t read_ns;               /* its clock in the kernel when it was read last; */
    uint64_t charged;               /* ns that its threads have been charged since then; */
    uint64_t began;                 /* ns: when what executes here began to */
    /* What the next to execute here does for the one that has left: */
    struct sched_self *before;      /* what executed here; */
    uint32_t publish;               /* carrier + 1: the registers of its owner are saved by now; */
    uint32_t send;                  /* carrier + 1, which is claimed and is to wake up for its owner; */
    bool left;                      /* no thread is kept here from now on: the one that was has ended, or has gone to a home that had none; */
    uint32_t *ended;                /* if it has ended, the word that says so, */
    struct carrier *ended_home;     /* ... and the kernel thread that it began as */
    bool look;                      /* it was claimed while it was LOOK, and looks when it is kept for the next thread */
    /* The idle loop. */
    struct arch_context *context;   /* registers of the thread that began here, while it waits; lies with the stack below */
    void *stack;                    /* kept for the next carrier of this number */
    size_t stack_size;              /* of all that was mapped for it */
    struct sched_self *idle;        /* null: it has not been idle yet */
    struct arch_context *at;
    uint32_t next_spare;            /* carrier + 1 */
};

/* A lock of carriers' records: the process's threads hold it for some hundred ns. */
static inline void carrier_lock(_Atomic uint32_t *l, enum usf_rank rank)
{
    usf_lock_wanted(rank);
    for (uint32_t free = 0; !atomic_compare_exchange_weak(l, &free, 1); free = 0) os_sched_yield();
    usf_lock_taken(rank);
}
static inline void carrier_unlock(_Atomic uint32_t *l, enum usf_rank rank)
{
    usf_lock_released(rank);
    atomic_store(l, 0);
}

/* The thread has not left its carrier yet: what that needs is set up.  False: it stays, since there
 * is no memory. */
bool carrier_prepare(struct sched *s, struct sched_self *me);

/* May the thread leave its carrier now? */
static inline bool carrier_may_leave(struct sched *s, struct sched_self *me)
{
    return me->home && !me->stays && me->task != USF_NONE && !arch_context_has_more()
           && !(USF_UNLIKELY(atomic_load_explicit(&me->keeps_home, memory_order_relaxed)) && me->carrier == me->home)
           && (USF_LIKELY(me->context != 0) || (atomic_load_explicit(&s->handovers, memory_order_relaxed) >= CARRIER_PAYS && carrier_prepare(s, me)));
}

/* The calling thread, which is attached, is executed by its own kernel thread. */
void carrier_begin(struct sched *s, struct sched_self *me);
/* Its kernel thread is used for a new thread of the program. */
void carrier_fresh(struct sched *s, struct sched_self *me);
/* From now on it is to stay there, on its own kernel thread.  why: enum usf_stays. */
void carrier_stay(struct sched *s, struct sched_self *me, uint32_t why);
/* Its task ends. */
void carrier_forget(struct sched *s, uint32_t task);
/* In the child of a fork, which has one thread: what was kept of the others is forgotten. */
void carrier_after_fork(struct sched *s);
/* At a release of the lock, or of a lease: the task has been put on the core that this thread has
 * given up.  True: this thread switches to it when it parks. */
bool carrier_claims(struct sched *s, struct sched_self *me, uint32_t task);
/* It does not: it goes on itself, or parks in the kernel. */
void carrier_flush(struct sched *s, struct sched_self *me);
/* Leave the carrier until it is this thread's turn, the time (ns; 0: none) is over, or another
 * thread wakes it. */
void carrier_leave(struct sched *s, struct sched_self *me, uint64_t deadline);

/* Is the thread executed by its own kernel thread? */
static inline bool carrier_is_home(const struct sched_self *me) { return me->carrier == me->home; }
/* Another thread has asked for it to be there from now on. */
static inline bool carrier_is_asked_home(struct sched_self *me)
{ return USF_UNLIKELY(atomic_load_explicit(&me->keeps_home, memory_order_relaxed)) && me->carrier != me->home; }
/* The number of that one; the thread has this task. */
static inline uint32_t carrier_number_of_home(const struct sched *s, const struct sched_self *self, uint32_t task)
{ return self->home ? (uint32_t)(self->home - s->carriers) : atomic_load(&s->tasks[task].thread); }
/* Go there.  False: another thread is executed there. */
bool carrier_try_home(struct sched *s, struct sched_self *me);
/* The same, and wait for it, until the time (ns; 0: for as long as it takes).  The thread has given
 * its core up, or has none. */
void carrier_await_home(struct sched *s, struct sched_self *me, uint64_t until);
static inline bool carrier_is_wanted(const struct sched_self *me)
{ return USF_UNLIKELY(me->carrier && atomic_load_explicit(&me->carrier->wanted, memory_order_relaxed)); }
/* If another thread waits for this carrier: leave it, if that can be done now. */
void carrier_make_room(struct sched *s, struct sched_self *me);

/* CPU time of the calling thread, ns; it never goes back.  carrier_cpu_time_of: the same of another
 * thread that floats. */
uint64_t carrier_cpu_time(struct sched *s, struct sched_self *me);
uint64_t carrier_cpu_time_of(struct sched *s, struct sched_self *self);

/* The thread has ended on another's kernel thread: *ended = 0 and a wake-up tell the program.  Its
 * task is gone. */
_Noreturn void carrier_end(struct sched *s, struct sched_self *me, uint32_t *ended);
/* The thread is to look at its `attention`.  0: it will; else the kernel thread that executes it,
 * which is to be interrupted. */
int32_t carrier_alert(struct sched *s, uint32_t task);
/* What sched.make_idle has a new idle loop begin with; arg: the carrier. */
void carrier_idle(void *carrier);

#endif
