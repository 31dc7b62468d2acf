/* src/sched/thread.h - a thread and its core: what those files share that wait and go on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SCHED_THREAD_H
#define USF_SCHED_THREAD_H

#include "sched/core.h"

static inline struct usf_task *own(struct sched *s, struct sched_self *me)
{ return USF_LIKELY(me->task != USF_NONE) ? &s->tasks[me->task] : &sched_gone; }

static inline unsigned state_of(struct usf_task *t) { return atomic_load(&t->state); }

/* The thread was given a core, or lost it again, or is off: in each case it must look. */
static inline bool has_turn(struct usf_task *t)
{ return ST(state_of(t)) & (ST(USF_TASK_RUNNING) | WITHOUT_CORE | ST(USF_TASK_GONE)); }

/* Estimates: read and written by many without order; a lost update does no harm. */
static inline uint64_t estimate(_Atomic uint64_t *v) { return atomic_load_explicit(v, memory_order_relaxed); }
static inline void set_estimate(_Atomic uint64_t *v, uint64_t to) { atomic_store_explicit(v, to, memory_order_relaxed); }

/* park.c.  Poll the core that the thread left idle, until it gets a core, another task is left in
 * the mailbox, or its time is over.  True: another task runs there now. */
bool park_poll(struct sched *s, struct sched_self *me, uint64_t deadline);
/* Stop polling.  True: a task had been left in the mailbox, and is woken. */
bool park_leave_poll(struct sched *s, struct sched_self *me);
/* Go on in the program, once no thread rewrites its code. */
void park_go_on(struct sched *s, struct sched_self *me);

#endif
