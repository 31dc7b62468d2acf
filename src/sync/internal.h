/* src/sync/internal.h - what the files of this room share.  SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_SYNC_INTERNAL_H
#define USF_SYNC_INTERNAL_H

#include "sync/sync.h"

/* How often the task's thread has begun to wait. */
static inline uint16_t sync_waits(const struct sync *y, uint32_t task) { return atomic_load_explicit(&y->sched->tasks[task].waits, memory_order_relaxed); }
/* Changes with each call of the task's thread that releases its core provisionally. */
static inline uint64_t sync_calls(const struct sync *y, uint32_t task)
{ return atomic_load_explicit(&y->sched->tasks[task].release, memory_order_relaxed) & ~(uint64_t)USF_RELEASE_BITS; }

/* delay.c.  A wait at addr that began at `began` (cycles) is over.  The thread goes on when this
 * returns. */
#define SYNC_LOCK_WAITED_FOR 2u
/* It was woken, and had waited for the word not to be SYNC_LOCK_WAITED_FOR any more. */
void sync_delay_at_lock(struct sync *y, struct sync_self *me, const uint32_t *addr, uint64_t began);
/* Any other wait; w: its entry, if it was woken, else null. */
void sync_delay_after(struct sync *y, struct sync_self *me, const uint32_t *addr, uint64_t began, const struct sync_waiter *w);

#endif
