/* src/sched/owner.h - the owner of the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * The lock's word has a name for the owner, so that the monitor can tell whether it is dead.
 * src/sched/lock.h has the lock itself, which only the scheduler takes. */
#ifndef USF_SCHED_OWNER_H
#define USF_SCHED_OWNER_H

#include "shm/layout.h"

#define LOCK_SLEEPERS 0x80000000u        /* in the word: a waiter may sleep on it */
#define LOCK_NAME_PROC 0x01000000u      /* + process index: a thread without a task */
#define LOCK_NAME_MONITOR 0x02000000u   /* + index of a pid namespace: its monitor */

/* The name, never 0, of a thread that executes `task`, in process `proc` of this pid namespace;
 * task or both may be USF_NONE. */
static inline uint32_t lock_name(uint32_t task, uint32_t proc, uint32_t namespace)
{
    if (task != USF_NONE) return task + 1;
    return proc != USF_NONE ? LOCK_NAME_PROC + proc : LOCK_NAME_MONITOR + namespace;
}

/* The name of the lock's owner; 0: it is free. */
static inline uint32_t lock_owner(const struct usf_lock *l)
{ return atomic_load(&l->word) & ~LOCK_SLEEPERS; }

/* lock_acquire calls this, with the owner's name, when it has waited for long, and then
 * periodically.  Initially null.  It wakes the monitor, and may call lock_recover.  True:
 * lock_acquire gives up and returns false, which it does in no other case. */
extern bool (*usf_lock_on_stuck)(uint32_t owner);

#endif
