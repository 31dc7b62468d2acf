/* src/sched/thread.h - a thread and its core: what park.c, soft.c, wait.c and away.c share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SCHED_THREAD_H
#define USF_SCHED_THREAD_H

#include "sched/core.h"
#include "shm/shm.h"

static inline struct usf_task *own(struct sched *s, struct sched_self *me)
{ return USF_LIKELY(me->task != USF_NONE) ? &s->tasks[me->task] : &sched_gone; }

static inline struct usf_thread *own_thread(struct sched *s, struct sched_self *me)
{ return USF_LIKELY(me->task != USF_NONE) ? sched_thread_of(s, me->task) : &sched_gone_thread; }

static inline unsigned state_of(struct usf_task *t) { return atomic_load(&t->state); }

/* The core was given to us, or given and taken again, or we are off: in any case it is our turn to look. */
static inline bool has_turn(struct usf_task *t)
{ return ST(state_of(t)) & (ST(USF_TASK_RUNNING) | ST(USF_TASK_IN_KERNEL) | ST(USF_TASK_GONE)); }

/* How long after `since` its latest turn came. */
static inline uint64_t turn_came_after(const struct usf_task *t, uint64_t since) { return t->start_ns > since ? t->start_ns - since : 0; }

/* Estimates: read and written by many without order; a lost update does no harm. */
static inline uint64_t estimate(_Atomic uint64_t *v) { return atomic_load_explicit(v, memory_order_relaxed); }
static inline void set_estimate(_Atomic uint64_t *v, uint64_t to) { atomic_store_explicit(v, to, memory_order_relaxed); }

/* A thread that waits for a core on behalf of a handler takes no other signal meanwhile, as one that the kernel does not run: else
 * each that comes would begin to wait on top of the one before. */
static inline void hold_signals(struct sched *s, struct sched_self *me)
{ if (USF_UNLIKELY(me->entering) && s->hold) s->hold(me); }

/* park.c.  Watch the core that it left idle, until its turn comes, another is left in the mailbox, or it takes too long.  True: another
 * runs there now. */
bool park_poll(struct sched *s, struct sched_self *me, uint64_t deadline);
/* Stop polling: true: somebody had been left in the mailbox, and is woken. */
bool park_leave_poll(struct sched *s, struct sched_self *me);
/* On in the program, once nobody rewrites its code. */
void park_go_on(struct sched *s, struct sched_self *me);
/* Everybody is to leave whose lock does not move: trying to take it is what finds out.  So everybody is if the records are damaged. */
static inline void look_if_stalled(struct sched *s, struct sched_self *me)
{
    if (s->look && shm_is_condemned(s->h)) s->look(s);
    else if (core_enter(s, me)) core_leave(s, me, &(struct kicks){0});
}

/* A thread that waits for a core looks after the monitor, which may have been killed together with the thread that had the core: then no
 * other thread may be there to notice.  Few threads wait for so long while all is well, so the first look costs little.  Later looks come
 * less and less often. */
#define FIRST_LOOK_NS 40000000ull
#define LAST_LOOK_NS  1000000000ull

/* soft.c.  Waits that lasted no longer lately are waited for softly. */
#define SOFT_NS 500000u
/* The kernel runs this thread, which is ready: take the turn of one that was given the core and has not been run yet. */
void soft_take(struct sched *s, struct sched_self *me);
/* Wait softly for a while. */
void soft_park(struct sched *s, struct sched_self *me, uint64_t now);
/* Leave the soft wait.  True: it is our turn, and nobody else's any more. */
bool soft_leave(struct sched *s, struct sched_self *me);
/* A turn that was given at a time comes now: strangers had the CPU if that took long. */
void soft_judge(struct usf_core *c, uint64_t given, uint64_t now);
#define SOFT_LATE_NS 500000u
static inline void waited(struct sched_self *me, uint64_t ns)
{ me->wait_avg = (3 * me->wait_avg + (ns < 4 * SOFT_NS ? ns : 4 * SOFT_NS)) / 4; }

/* away.c: it has a core again, or is to queue for one. */
void away_no_guest(struct sched *s, struct sched_self *me);

#endif
