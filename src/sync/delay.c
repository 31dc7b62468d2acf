/* src/sync/delay.c - a woken thread goes on a little later, so that others need not wait for it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usf wakes a thread on an idle core in some 0.1 us; Linux takes 10 us and more.  Programs were
 * written for that: a thread that releases a lock and soon takes it again has it again before a
 * waiter has woken up.  If each waiter is there at once, the lock goes from core to core for each
 * section, which takes longer than most sections.  So a woken thread may be delayed, unless its
 * core is wanted.  If only threads of the same group want it, they run first.  The supposition is
 * that most of them were woken for the same lock.  Threads of other programs would keep the core
 * for up to a quantum, while this program may wait for the thread.
 *
 * That is wrong where others wait for the woken thread.  So delays are tried, and judged:
 *
 *   locks   A delay is right if others use the lock meanwhile: its word changes.
 *   others  A delay was right if the waker went on meanwhile, and the thread then finds nothing to
 *           do, and waits again at once (a futile wake-up), because another thread has gone on in
 *           its place.  Python's lock of the interpreter is such a place, a condition variable.
 *           That the waker goes on is seen by those of its system calls that release the core
 *           provisionally.  If it makes none, it may wait for this thread in a loop.  A delay ends
 *           when the waker itself begins to wait.  It ends as well when others want the core, if
 *           they are not of the group or yielding to them has not helped.
 *
 * The times and counts are in sched/times.h. */
#include "sched/times.h"
#include "sync/internal.h"

/* Times are compared as differences: the counter of cycles begins anew when the machine has been
 * suspended to memory, and a later value would be waited for as long as the machine had run. */

/* The thread's core is its own for so many cycles, unless another task wants it.  False: one
 * does. */
static bool stay_for(struct sync *y, uint64_t cycles)
{
    uint64_t start = os_cycles();
    while (os_cycles() - start < cycles) {
        if (sched_core_is_wanted(y->sched)) return false;
        os_pause();
    }
    return !sched_core_is_wanted(y->sched);
}

/* ---- locks ------------------------------------------------------------------------------------- */
/* A lock of three states (glibc's, Rust's) holds 2 while it is waited for.  So may a word that is
 * no lock, or a lock that the woken thread owns already: others wait for this thread then.  So it
 * looks, at first and now and then, whether others take and release the lock. */

/* Ends at the first change. */
static bool is_in_use(const uint32_t *addr)
{
    uint64_t start = os_cycles();
    uint32_t first, v;
    if (!sync_read(addr, &first)) return false;
    do {
        if (!sync_read(addr, &v) || v > SYNC_LOCK_WAITED_FOR) return false;
        if (v != first) return true;
        os_pause();
    } while (os_cycles() - start < HOT_LOOK_CYCLES);
    return false;
}

void sync_delay_at_lock(struct sync *y, struct sync_self *me, const uint32_t *addr, uint64_t began)
{
    struct sync_lock_waits *l = &me->locks;
    uint64_t now = os_cycles();
    bool again = addr == l->addr && began - l->left < HOT_CYCLES && now - began < HOT_CYCLES;
    l->addr = addr;
    l->hot = !again ? 0 : l->hot < HOT_WAITS + DELAY_DOUBLED ? l->hot + 1 : l->hot;
    if (l->cold) {
        l->cold--;
        l->hot = 0;
    }
    uint64_t delay = l->hot < HOT_WAITS ? 0 : (uint64_t)DELAY_CYCLES << (l->hot - HOT_WAITS);
    if (delay && !is_in_use(addr)) {
        l->cold = DELAY_COLD_WAITS;
        delay = 0;
    }
    while (os_cycles() - now < delay && stay_for(y, DELAY_CYCLES) && is_in_use(addr)) {}
    l->left = os_cycles();
}

/* ---- other words ------------------------------------------------------------------------------- */

/* The words of one condition variable. */
static bool is_near(const uint32_t *a, const uint32_t *b)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return (x > y ? x - y : y - x) < FUTILE_NEAR;
}

/* The latest wait was delayed; the next one began so soon, or later. */
static void judge(struct sync_other_waits *o, bool futile)
{
    o->delayed = false;
    if (futile) {
        o->wrong = o->wrong > FUTILE_WORTH ? o->wrong - FUTILE_WORTH : 0;
        if (o->doubled < FUTILE_DOUBLED) o->doubled++;
    } else if (++o->wrong >= FUTILE_WRONG) {
        o->wrong = o->doubled = 0;
        o->cold = FUTILE_COLD_WAITS;
    }
}

/* Has the waker not begun to wait, since it woke this thread?  In a system call: it has been in
 * that for long. */
static bool goes_on(const struct sync *y, const struct sync_waiter *w, uint64_t *release, uint64_t *since, uint64_t now)
{
    const struct usf_task *t = &y->sched->tasks[w->by];
    uint64_t is = atomic_load_explicit(&t->release, memory_order_relaxed);
    if (sync_waits(y, w->by) != w->by_waits || atomic_load_explicit(&t->state, memory_order_relaxed) != USF_TASK_RUNNING) return false;
    if (!(is & USF_RELEASE_PROVISIONAL) || is != *release) *release = is, *since = now;
    return now - *since < FUTILE_CALL_CYCLES;
}

void sync_delay_after(struct sync *y, struct sync_self *me, const uint32_t *addr, uint64_t began, const struct sync_waiter *w)
{
    struct sync_other_waits *o = &me->others;
    bool again = is_near(addr, o->addr);
    if (o->delayed) judge(o, again && began - o->left < FUTILE_CYCLES);
    if (!again) {
        if (!o->addr) o->cold = FUTILE_FIRST_WAITS;
        o->addr = addr;
        o->doubled = 0;
    }
    if (o->cold) {
        o->cold--;
        return;
    }
    if (!w || w->by == USF_NONE) return;
    uint64_t start = os_cycles(), delay = (uint64_t)FUTILE_DELAY_CYCLES << o->doubled, release = 0, since = start;
    bool yields = o->doubled;       /* an earlier wake-up of this thread was futile */
    unsigned i = 0;
    for (; os_cycles() - start < delay; i++) {
        bool wanted = sched_core_is_wanted(y->sched), others = wanted && yields && sched_only_own_wait(y->sched, me->sched);
        if (wanted && !others) break;
        if (others) yields = sched_yield_core(y->sched, me->sched, false);
        if ((others || i % LOOK_ROUNDS == 0) && !goes_on(y, w, &release, &since, os_cycles())) return judge(o, false);
        os_pause();
    }
    o->left = os_cycles();
    if (sync_calls(y, w->by) != w->by_calls) o->delayed = i;        /* 0: there was no delay to judge */
    else if (o->left - start >= FUTILE_DELAY_CYCLES) judge(o, false);
}
