/* src/sched/owner.h - who owns the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * The lock's word, and its queue, have a name for the owner and for every waiter, so that the monitor can tell whether it is dead.
 * src/sched/lock.h has the lock itself, which only the scheduler takes. */
#ifndef USF_SCHED_OWNER_H
#define USF_SCHED_OWNER_H

#include "shm/layout.h"

#define LOCK_SLEEPERS 0x80000000u
#define LOCK_NAME_END 0x10000000u       /* names are 1 .. LOCK_NAME_END-1 */
#define LOCK_NAME_PROC 0x01000000u      /* + process index: a thread without a task */
#define LOCK_NAME_MONITOR 0x02000000u   /* + index of its space: the monitor */
#define LOCK_NAME_NOBODY 0x03000000u    /* tools; also what 0 stands for.  Cannot be recovered. */

/* The name of a thread of process `proc`, of that space, that is `task`; task or both may be USF_NONE. */
static inline uint32_t lock_name(uint32_t task, uint32_t proc, uint32_t space)
{
    if (task != USF_NONE) return task + 1;
    return proc != USF_NONE ? LOCK_NAME_PROC + proc : LOCK_NAME_MONITOR + space;
}

/* Called by lock_acquire when it has waited for a long time (and again while it does), with the owner's
 * name; null at first.  For waking the monitor.  May call lock_recover.  True: give up, lock_acquire returns
 * false (it never does otherwise). */
extern bool (*usf_lock_on_stuck)(struct usf_lock *l, uint32_t owner);

#endif
