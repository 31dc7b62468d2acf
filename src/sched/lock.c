/* src/sched/lock.c - the scheduler lock: waiting, waking, recovery.
 * SPDX-License-Identifier: Apache-2.0
 *
 * O2 costs at most one needless wake: the last thread that has slept owns the lock with the bit
 * set, although no thread sleeps any more.  If a woken thread dies before it acquires the lock,
 * recovery wakes another one; no thread sleeps for longer than LOCK_SLEEP_NS in any case. */
#include "sched/lock.h"
#include "os/os.h"
#include "sched/times.h"

bool (*usf_lock_on_stuck)(uint32_t owner);

static bool try_word(struct usf_lock *l, uint32_t as)
{
    uint32_t free = 0;
    return atomic_load_explicit(&l->word, memory_order_relaxed) == 0
           && atomic_compare_exchange_strong_explicit(&l->word, &free, as, memory_order_acquire, memory_order_relaxed);
}

static void sleep_on_word(struct usf_lock *l)
{
    uint32_t w = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (!w) return;
    if (!(w & LOCK_SLEEPERS)
        && !atomic_compare_exchange_strong_explicit(&l->word, &w, w | LOCK_SLEEPERS, memory_order_relaxed,
                                                    memory_order_relaxed)) return;
    USF_POINT("lock.sleep");
    os_futex_wait(&l->word, w | LOCK_SLEEPERS, os_now() + LOCK_SLEEP_NS);
}

static bool gives_up(struct usf_lock *l)
{
    uint32_t owner = lock_owner(l);
    return owner && usf_lock_on_stuck && usf_lock_on_stuck(owner);
}

bool lock_acquire_slow(struct usf_lock *l, uint32_t owner)
{
    for (unsigned i = 0; i < LOCK_SPINS; i++) {
        if (try_word(l, owner)) return true;
        os_pause();
    }
    uint64_t stuck = os_now() + LOCK_STUCK_NS;
    do {
        sleep_on_word(l);
        if (os_now() < stuck) continue;
        if (gives_up(l)) return false;
        stuck += LOCK_STUCK_NS;
    } while (!try_word(l, owner | LOCK_SLEEPERS));
    return true;
}

void lock_release_slow(struct usf_lock *l, uint32_t owner)
{
    uint32_t w = owner | LOCK_SLEEPERS;
    /* It fails if this thread was taken for dead and the lock recovered: it is no longer ours to
     * free. */
    if (!atomic_compare_exchange_strong_explicit(&l->word, &w, 0, memory_order_release, memory_order_relaxed)) return;
    USF_POINT("lock.released");
    os_futex_wake(&l->word, 1);
}

/* usf_lock_on_stuck is not called here: the monitor answers it with a recovery. */
static bool seize(struct usf_lock *l, uint32_t me, bool (*is_dead)(void *, uint32_t), void *arg)
{
    for (;;) {
        if (try_word(l, me | LOCK_SLEEPERS)) return false;
        uint32_t w = atomic_load_explicit(&l->word, memory_order_relaxed);
        if (!w) continue;
        if (!is_dead(arg, w & ~LOCK_SLEEPERS)) sleep_on_word(l);
        /* acquire: this thread sees what the dead owner wrote */
        else if (atomic_compare_exchange_strong_explicit(&l->word, &w, me | LOCK_SLEEPERS, memory_order_acquire,
                                                         memory_order_relaxed)) return true;
    }
}

bool lock_recover(struct usf_lock *l, uint32_t me, bool (*is_dead)(void *arg, uint32_t name), void *arg)
{
    bool seized = seize(l, me, is_dead, arg);
    usf_lock_taken(USF_RANK_SCHED);
    USF_POINT("lock.recover");
    if (seized) atomic_fetch_add_explicit(&l->epoch, 1, memory_order_relaxed);
    return seized;
}
