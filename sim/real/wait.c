/* sim/real/wait.c - every way to wait, with what programs have for it: futexes, sched_yield, loops.
 * SPDX-License-Identifier: Apache-2.0
 *
 * As sim/sync.c models it: who sleeps competes with newcomers for a lock when it is woken, as with
 * futex mutexes; to who waits busily it is passed on in order, as ticket locks do. */
#include "sim/real/replay.h"

#include "arch/arch.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOKS 64u       /* of a busy-wait, between two looks at the clock */

static void futex_wait(const atomic_uint *word, unsigned old, bool shared)
{ syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0); }
static void futex_wake(const atomic_uint *word, unsigned n, bool shared)
{ syscall(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, n > INT_MAX ? INT_MAX : (int)n, NULL, NULL, 0); }

static bool is(const atomic_uint *word, unsigned old) { return atomic_load_explicit(word, memory_order_acquire) == old; }

/* Busily, until it is no longer `old`, or (until not 0) until then. */
static void busily(const atomic_uint *word, unsigned old, bool yields, uint64_t until)
{
    if (!until && !yields) {
        while (is(word, old)) arch_pause();
    } else if (!until) {
        while (is(word, old)) sched_yield();
    } else {
        while (is(word, old) && rp_now() < until) {
            if (yields) sched_yield();
            else for (unsigned i = 0; i < LOOKS && is(word, old); i++) arch_pause();
        }
    }
}

/* The busy part of a wait; false: it is over. */
static bool goes_on(const atomic_uint *word, unsigned old, enum sim_wait how, uint64_t spin_ns)
{
    bool yields = how == SIM_WAIT_YIELD || how == SIM_WAIT_YIELD_BLOCK;
    if (how == SIM_WAIT_YIELD || how == SIM_WAIT_SPIN) busily(word, old, yields, 0);
    else if (how != SIM_WAIT_BLOCK && spin_ns && is(word, old)) busily(word, old, yields, rp_now() + spin_ns);
    return is(word, old);
}

static void sleep_on(const atomic_uint *word, atomic_uint *sleepers, unsigned old, bool shared)
{
    atomic_fetch_add(sleepers, 1);
    while (atomic_load(word) == old) futex_wait(word, old, shared);
    atomic_fetch_sub(sleepers, 1);
}

void rp_wait(const struct rp_word *w, unsigned old, enum sim_wait how, uint64_t spin_ns)
{
    if (goes_on(&w->word, old, how, spin_ns)) sleep_on(&w->word, (atomic_uint *)&w->sleepers, old, w->shared);
}

void rp_wake(struct rp_word *w, unsigned n)
{
    if (n && atomic_load(&w->sleepers)) futex_wake(&w->word, n, w->shared);
}

/* ---- semaphores ------------------------------------------------------------------------------------------ */
void rp_take(struct rp_word *w, enum sim_wait how, uint64_t spin_ns)
{
    for (;;) {
        unsigned n = atomic_load(&w->word);
        while (n)
            if (atomic_compare_exchange_weak(&w->word, &n, n - 1)) return;
        rp_wait(w, 0, how, spin_ns);
    }
}

void rp_give(struct rp_word *w)
{
    atomic_fetch_add(&w->word, 1);
    rp_wake(w, 1);
}

/* ---- locks ------------------------------------------------------------------------------------------------- */
/* word: 0 free, 1 held, 2 held and somebody may sleep. */
static void lock_futex(struct rp_lock *l, enum sim_wait how, uint64_t spin_ns)
{
    unsigned free = 0;
    if (atomic_compare_exchange_strong(&l->word, &free, 1)) return;
    if (how != SIM_WAIT_BLOCK && spin_ns) {
        bool yields = how == SIM_WAIT_YIELD_BLOCK;
        uint64_t until = rp_now() + spin_ns;
        do {
            free = 0;
            if (atomic_load(&l->word) == 0 && atomic_compare_exchange_strong(&l->word, &free, 1)) return;
            if (yields) sched_yield();
            else for (unsigned i = 0; i < LOOKS && !is(&l->word, 0); i++) arch_pause();
        } while (rp_now() < until);
    }
    while (atomic_exchange(&l->word, 2)) futex_wait(&l->word, 2, false);
}

static bool in_order(enum sim_wait how) { return how == SIM_WAIT_SPIN || how == SIM_WAIT_YIELD; }

void rp_lock(struct rp_lock *l, uint32_t me, enum sim_wait how, uint64_t spin_ns)
{
    if (in_order(how)) {
        unsigned mine = atomic_fetch_add(&l->next, 1), now;
        while ((now = atomic_load(&l->serving)) != mine) busily(&l->serving, now, how == SIM_WAIT_YIELD, 0);
    } else {
        lock_futex(l, how, spin_ns);
    }
    atomic_store(&l->owner, me + 1);
}

bool rp_unlock(struct rp_lock *l, uint32_t me, enum sim_wait how)
{
    if (atomic_load(&l->owner) != me + 1) return false;
    atomic_store(&l->owner, 0);
    if (in_order(how)) atomic_fetch_add(&l->serving, 1);
    else if (atomic_exchange(&l->word, 0) == 2) futex_wake(&l->word, 1, false);
    return true;
}

/* ---- barriers ---------------------------------------------------------------------------------------------- */
void rp_barrier(struct rp_barrier *b, uint32_t parties, enum sim_wait how, uint64_t spin_ns)
{
    unsigned turn = atomic_load(&b->over.word);
    if (atomic_fetch_add(&b->arrived, 1) + 1 < parties) {
        rp_wait(&b->over, turn, how, spin_ns);
        return;
    }
    atomic_store(&b->arrived, 0);
    atomic_fetch_add(&b->over.word, 1);
    rp_wake(&b->over, UINT_MAX);
}
