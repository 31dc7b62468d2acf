/* src/tasks/lock.h - a lock for a few instructions, and waiting on a word.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread that finds the lock held spins for a moment, then sleeps: its owner may have lost the
 * CPU. Nothing that may wait is called while it is held. */
#ifndef USF_TASKS_LOCK_H
#define USF_TASKS_LOCK_H

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/os.h"
#include "os/syscall.h"

/* Futexes of this process: under `usf run` the wait gives the core up. */
static inline long tk_futex_wait(const void *word, uint32_t is, uint64_t deadline)
{
    struct { int64_t s, ns; } at = {(int64_t)(deadline / 1000000000u), (int64_t)(deadline % 1000000000u)};
    return usf_syscall(__NR_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, is, deadline ? &at : 0, 0, FUTEX_BITSET_MATCH_ANY);
}
static inline void tk_futex_wake(const void *word, int n)
{ usf_syscall(__NR_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n); }

/* 0: free, 1: held, 2: held, and waited for. */
struct tk_lock { _Atomic uint32_t word; };

static inline bool tk_trylock(struct tk_lock *l)
{
    uint32_t free = 0;
    return atomic_load_explicit(&l->word, memory_order_relaxed) == 0
        && atomic_compare_exchange_strong_explicit(&l->word, &free, 1, memory_order_acquire, memory_order_relaxed);
}
static inline void tk_lock(struct tk_lock *l)
{
    for (int i = 0; i < 100; i++) {
        if (tk_trylock(l)) return;
        os_pause();
    }
    while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire)) tk_futex_wait(&l->word, 2, 0);
}
static inline void tk_unlock(struct tk_lock *l)
{ if (atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2) tk_futex_wake(&l->word, 1); }

#endif
