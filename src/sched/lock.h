/* src/sched/lock.h - the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * One lock per instance, in the segment, between processes that may be killed at any instant and whose
 * threads the kernel may deschedule at any instant.  Two kinds, chosen when the instance is made:
 *
 *   plain    a word that names the owner; waiters spin a little, then sleep on the word.
 *   dtlock   the same word, and a queue of waiters in front of it (a delegation ticket lock): each spins
 *            on a line of its own, and a waiter may leave a request that the owner serves for it, so
 *            that the data stays in the owner's cache and a waiter that the kernel has descheduled
 *            is served all the same.
 *
 * Mutual exclusion rests on the word alone, for both kinds; the queue only says in which order waiters
 * try.  So a waiter may leave the queue whenever it has waited for too long, a thread that finds the
 * word free may take it past the queue, and a damaged queue costs order and speed but never safety.
 * That is what keeps a ticket order from collapsing when the next in line is not running.
 *
 * Async-signal-safe only inside a critical section (sched_crit_enter): a handler that ran on top of an
 * owner would wait for itself.
 */
#ifndef USF_SCHED_LOCK_H
#define USF_SCHED_LOCK_H

#include "base/base.h"
#include "os/os.h"
#include "sched/owner.h"
#include "shm/layout.h"

enum lock_kind { LOCK_PLAIN = 0, LOCK_DT = 1 };

/* `l` is zeroed and nobody else knows it yet. */
void lock_init(struct usf_lock *l, enum lock_kind kind);

bool lock_acquire_slow(struct usf_lock *l, uint32_t owner);
void lock_release_slow(struct usf_lock *l, uint32_t owner);

static inline bool lock_acquire(struct usf_lock *l, uint32_t owner)
{
    uint32_t free = 0;
    if (!owner) owner = LOCK_NAME_NOBODY;
    /* acquire: what the last owner wrote is seen from here on */
    if (USF_UNLIKELY(!__atomic_compare_exchange_n((uint32_t *)&l->word, &free, owner, 0, __ATOMIC_ACQUIRE,
                                                  __ATOMIC_RELAXED)))
        if (!lock_acquire_slow(l, owner)) return false;
    USF_POINT("lock.owned");
    return true;
}

static inline void lock_release(struct usf_lock *l, uint32_t owner)
{
    uint32_t word = owner ? owner : LOCK_NAME_NOBODY;
    USF_POINT("lock.release");
    if (l->kind == LOCK_PLAIN || __atomic_load_n((uint64_t *)&l->next, __ATOMIC_RELAXED)
                                     == __atomic_load_n((uint64_t *)&l->serving, __ATOMIC_RELAXED)) {
        /* release: what we wrote is seen by the next owner.  Fails if somebody sleeps. */
        if (USF_LIKELY(__atomic_compare_exchange_n((uint32_t *)&l->word, &word, 0, 0, __ATOMIC_RELEASE,
                                                   __ATOMIC_RELAXED)))
            return;
    }
    lock_release_slow(l, owner);
}

/* ---- delegation (kind dtlock; with a plain lock it is lock_acquire) ---------------------------- */
/* Not used by the scheduler so far; bench/lock_bench.c compares it with both ways of acquiring. */
/* Acquire the lock, or have `request` served by its owner.  True: acquired.  False: served, *reply is
 * what the owner answered.  After a recovery true may be returned although a dead owner had begun to
 * serve the request: look at the records again before acting. */
bool lock_acquire_or_delegate(struct usf_lock *l, uint32_t owner, uint64_t request, uint64_t *reply);
/* The owner, before it releases: the next waiter's request, if that is what stands first in the queue.
 * True: it must be served and answered with lock_reply at once. */
bool lock_next_request(struct usf_lock *l, uint64_t *request);
void lock_reply(struct usf_lock *l, uint64_t reply);

/* ---- recovery ---------------------------------------------------------------------------------- */
/* After processes died: take the lock, from its owner if that is dead, and clear the queue of dead
 * waiters.  Returns with the lock owned by `me`.  True: it was seized, and what it protects may be half
 * changed: rebuild it before lock_release.  Records that names refer to must not be reused before.
 * is_dead looks afresh each time it is called: the owner may die while we wait for it. */
bool lock_recover(struct usf_lock *l, uint32_t me, bool (*is_dead)(void *arg, uint32_t name), void *arg);

#endif
