/* src/sched/lock.h - the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * One lock per instance, in the segment.  Threads of several processes take it, and each of them
 * may be killed or descheduled between any two instructions.
 *
 * The lock is one word.  It is 0 while the lock is free, and else the owner's name, with bit 31
 * (LOCK_SLEEPERS) while a waiter may sleep on the word.
 *
 *   O1  The lock has at most one owner.  The word leaves 0 by compare-and-swap only.  A name is
 *       replaced by another one only in lock_recover, by compare-and-swap, once its owner is dead.
 *   O2  A sleeper is not forgotten.  A waiter sets the bit before it sleeps, and sleeps only while
 *       the word has the value that it saw.  The release that clears the bit wakes one sleeper.  A
 *       thread that has slept acquires the lock with the bit set, since others may still sleep.  So
 *       does recovery, since the dead thread may have been woken.
 *
 * models/lock.pml proves both.  Waiters have no order: in a queue, a waiter that the kernel has
 * descheduled would delay all behind it.
 *
 * The lock is async-signal-safe only inside a critical section (sched_crit_enter): a handler on top
 * of the owner would wait for itself.
 */
#ifndef USF_SCHED_LOCK_H
#define USF_SCHED_LOCK_H

#include "base/base.h"
#include "os/os.h"
#include "sched/owner.h"
#include "shm/layout.h"

bool lock_acquire_slow(struct usf_lock *l, uint32_t owner);
void lock_release_slow(struct usf_lock *l, uint32_t owner);

static inline bool lock_acquire(struct usf_lock *l, uint32_t owner)
{
    uint32_t free = 0;
    usf_lock_wanted(USF_RANK_SCHED);
    /* acquire: this thread sees what the last owner wrote */
    if (USF_UNLIKELY(!__atomic_compare_exchange_n((uint32_t *)&l->word, &free, owner, 0, __ATOMIC_ACQUIRE,
                                                  __ATOMIC_RELAXED)))
        if (!lock_acquire_slow(l, owner)) return false;
    usf_lock_taken(USF_RANK_SCHED);
    USF_POINT("lock.owned");
    return true;
}

static inline void lock_release(struct usf_lock *l, uint32_t owner)
{
    uint32_t word = owner;
    usf_lock_released(USF_RANK_SCHED);
    USF_POINT("lock.release");
    /* release: the next owner sees what we wrote.  The swap fails while the sleepers' bit is
     * set. */
    if (USF_UNLIKELY(!__atomic_compare_exchange_n((uint32_t *)&l->word, &word, 0, 0, __ATOMIC_RELEASE,
                                                  __ATOMIC_RELAXED)))
        lock_release_slow(l, owner);
}

/* Take the lock after processes have died, from its owner if that one is dead.  Returns with the
 * lock owned by `me`.  True: it was seized, and what it protects may be half changed; the caller
 * rebuilds that before lock_release.  The records that the names of dead owners refer to must
 * not be reused before.  is_dead looks afresh at each call, since the owner may die while this
 * thread waits. */
bool lock_recover(struct usf_lock *l, uint32_t me, bool (*is_dead)(void *arg, uint32_t name), void *arg);

#endif
