/* src/tasks/slot.c - who executes where: slots are claimed, handed over and released.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "tasks/tasks.h"

/* ---- idle slots ------------------------------------------------------------------------------ */

static uint64_t bit_of(const struct tk_slot *s) { return 1ull << (s->id % 64); }

bool tk_claim(struct tk_slot *s)
{
    _Atomic uint64_t *w = &tk.idle[s->id / 64];
    return atomic_load(w) & bit_of(s) && atomic_fetch_and(w, ~bit_of(s)) & bit_of(s);
}

static void set_idle(struct tk_slot *s) { atomic_fetch_or(&tk.idle[s->id / 64], bit_of(s)); }

static bool any_idle(void)
{
    if (USF_LIKELY(tk.nr_slots <= 64)) return atomic_load(&tk.idle[0]) != 0;
    for (uint32_t i = 0; i < (tk.nr_slots + 63) / 64; i++)
        if (atomic_load(&tk.idle[i])) return true;
    return false;
}

/* The nearest idle one to this CPU, or null. */
static struct tk_slot *claim_any(uint32_t near)
{
    uint32_t from = near < TK_MAX_CPUS && tk.slot_of[near] != UINT16_MAX ? tk.slot_of[near] : 0;
    struct tk_slot *first = &tk.slots[from];
    if (!any_idle()) return 0;
    if (tk_claim(first)) return first;
    for (int same_node = 1; same_node >= 0; same_node--)
        for (uint32_t i = 1; i < tk.nr_slots; i++) {
            struct tk_slot *s = &tk.slots[(from + i) % tk.nr_slots];
            if ((s->node == first->node) == same_node && tk_claim(s)) return s;
        }
    return 0;
}

/* An idle one of that place, or null. */
static struct tk_slot *claim_in(nosv_affinity_t place)
{
    for (uint32_t i = 0; any_idle() && i < tk.nr_slots; i++)
        if (tk_slot_is_in(&tk.slots[i], place) && tk_claim(&tk.slots[i])) return &tk.slots[i];
    return 0;
}

/* ---- handing over ---------------------------------------------------------------------------- */

/* The thread sleeps, or is about to: its mask may be changed by the thread that gives it a slot. */
void tk_bind(struct tk_exec *e, const struct tk_slot *s)
{
    struct os_cpuset one = {0};
    if (!tk.binds || e->unbound || e->bound == s->cpu) return;
    if (!e->masked) tk_mask_add(e);
    os_cpu_set(&one, s->cpu);
    if (os_setaffinity(e == tk_self_exec ? 0 : atomic_load_explicit(&e->tid, memory_order_relaxed), &one) == 0) e->bound = s->cpu;
}

/* Under `usf run` the instance places threads, and a slot's CPU is what its holder prefers. */
uint32_t tk_cpu(const struct tk_exec *me)
{
    uint32_t cpu = USF_UNLIKELY(tk.places) ? os_cpu() : me->slot->cpu;
    return cpu < TK_MAX_CPUS && tk.slot_of[cpu] != UINT16_MAX ? cpu : me->slot->cpu;
}

/* holds s */
static void give(struct tk_slot *s, struct tk_exec *to, struct nosv_task *first)
{
    if (atomic_load_explicit(&to->tid, memory_order_acquire)) tk_bind(to, s);       /* else it binds itself */
    to->given = s;
    to->first = first;
    USF_POINT("tasks.give");
    atomic_store_explicit(&to->go, TK_GO, memory_order_release);
    if (to != tk_self_exec) tk_futex_wake(&to->go, 1);
}

/* The task's thread has not gone to sleep yet: it looks for work in a slot of its own, and goes on
 * there. */
bool tk_goes_on(struct nosv_task *t)
{
    struct tk_exec *e = t->exec;
    uint32_t searching = TK_SEARCHING;
    if (!e || atomic_load_explicit(&e->go, memory_order_acquire) != TK_SEARCHING) return false;
    if (tk_is_strict(t->affinity) && !tk_slot_is_in(e->searched, t->affinity)) return false;
    return atomic_compare_exchange_strong(&e->go, &searching, TK_KEEP);
}

bool tk_hand_over(struct tk_slot *s, struct nosv_task *t)
{
    if (tk_goes_on(t)) return false;
    struct tk_exec *to = t->exec;
    if (to) {
        give(s, to, 0);
    } else if ((to = tk_take_worker(s))) {
        give(s, to, t);
    } else {
        /* No thread is to be had.  The task waits, and the slot is idle: the next thread that is
         * free looks at both. */
        tk_put_back(t);
        set_idle(s);
        tk_look_again();
    }
    return true;
}

/* True: there is work, and s is the caller's again (T2). */
static bool let_idle(struct tk_slot *s)
{
    atomic_fetch_add(&tk.looking, 1);
    set_idle(s);
    USF_POINT("tasks.idle");
    bool again = tk_is_work(s) && tk_claim(s);
    atomic_fetch_sub(&tk.looking, 1);
    return again;
}

static void wake_any(uint32_t near)
{
    struct tk_slot *s = atomic_load(&tk.searching) ? 0 : claim_any(near);
    if (s) tk_pass_on(s);
}

/* A submitter that has claimed a slot for a strict task may have found another task first. */
static void wake_placed(void)
{
    for (uint32_t i = 0; any_idle() && i < tk.nr_slots; i++)
        if (tk_is_strict_work(&tk.slots[i]) && tk_claim(&tk.slots[i])) {
            tk_pass_on(&tk.slots[i]);
            return;
        }
}

void tk_wake_all(void)
{
    for (uint32_t i = 0; any_idle() && i < tk.nr_slots; i++)
        if (tk_is_work(&tk.slots[i]) && tk_claim(&tk.slots[i])) tk_pass_on(&tk.slots[i]);
}

/* Submitters wake no thread while a holder searches, so a holder that has found a task may have
 * found one of several. */
static void wake_more(uint32_t near)
{
    if (!any_idle()) return;
    if (tk_is_plain_work()) wake_any(near);
    if (atomic_load(&tk.ordered)) wake_placed();
}

/* holds s */
static bool has_moved(struct tk_slot *s)
{
    bool moved = s->moved;
    s->moved = false;
    return USF_UNLIKELY(moved);
}

void tk_pass_on(struct tk_slot *s)
{
    for (;;) {
        struct nosv_task *t = tk_next(s);
        if (!t) t = tk_steal(s);
        if (t) {
            s->moved = false;
            wake_more(s->cpu);
            if (tk_hand_over(s, t)) return;
            continue;
        }
        if (!let_idle(s)) return;
    }
}

/* ---- waking ---------------------------------------------------------------------------------- */

/* A slot's holder that looks for work would find what is strict elsewhere only if that is its
 * own. */
void tk_wake_for(nosv_affinity_t place, uint32_t near)
{
    bool strict = place.type == NOSV_AFFINITY_TYPE_STRICT;
    if (USF_LIKELY(!any_idle())) return;
    if (USF_LIKELY(place.level == NOSV_AFFINITY_LEVEL_NONE)) {
        wake_any(near);
        return;
    }
    struct tk_slot *s = claim_in(place);
    if (s) tk_pass_on(s);
    else if (!strict) wake_any(near);
}

bool tk_slot_is_in(const struct tk_slot *s, nosv_affinity_t place)
{
    switch (place.level) {
    case NOSV_AFFINITY_LEVEL_CPU: return s->cpu == place.index;
    case NOSV_AFFINITY_LEVEL_NUMA: return tk.nodes[s->node].system == place.index;
    case NOSV_AFFINITY_LEVEL_USER_COMPLEX:
        return place.index < tk.nr_complexes && tk_complex_has(&tk.complexes[place.index], s->cpu);
    default: return true;
    }
}

/* ---- looking for work ------------------------------------------------------------------------ */

/* It has found work, its own task goes on here, or it gives up.  Was it the last that searched?
 * Then it wakes another (models/slots.pml). */
static void stop_searching(uint32_t near) { if (atomic_fetch_sub(&tk.searching, 1) == 1) wake_more(near); }

/* Rounds between two yields to the kernel's other threads: on one CPU, those may be who submits. */
#define YIELD_EVERY 64u
/* Each look takes the queues' cache lines from those who submit.  So looks become rarer, up to one
 * in so many rounds, of others' queues in four times as many; and those who submit meanwhile leave
 * a batch to take. */
#define LOOK_EVERY 64u

struct nosv_task *tk_take(struct tk_slot *s)
{
    struct nosv_task *t = tk_next(s);
    if (!t) t = tk_steal(s);
    if (t && has_moved(s)) wake_any(s->cpu);
    return t;
}

struct nosv_task *tk_find(struct tk_exec *me, struct tk_slot *s, uint64_t deadline)
{
    struct nosv_task *t = tk_take(s);
    if (t) return t;
    if (USF_UNLIKELY(tk.places)) tk_tell_idle(s);
    atomic_fetch_add(&tk.searching, 1);
    uint32_t look = 1, gap = 1, looks = 0;
    for (uint32_t i = 1; (i <= tk.spins || tk.spins == UINT32_MAX) && !atomic_load_explicit(&tk.stopping, memory_order_relaxed); i++) {
        if (atomic_load_explicit(&me->go, memory_order_relaxed) >= TK_KEEP) break;
        if (i % YIELD_EVERY == 0 || tk.nr_slots == 1) sched_yield();
        else os_pause();
        if (i < look && tk.nr_slots > 1) continue;
        gap = gap < LOOK_EVERY ? 2 * gap : LOOK_EVERY;
        look = i + gap;
        if (deadline && os_now() >= deadline) break;
        if (!(t = tk_next(s)) && looks++ % 4 == 0) t = tk_steal(s);
        if (t) {
            s->moved = false;
            stop_searching(s->cpu);
            return t;
        }
    }
    stop_searching(s->cpu);
    return 0;
}

/* ---- sleeping -------------------------------------------------------------------------------- */
/* The word of a thread whose task waits.  The taker is the thread that has taken the task out of a
 * queue.
 *   NONE ─looks for work─► SEARCHING ─the taker─► KEEP: it goes on in the slot that it holds
 *     │                        └─gives up, or finds other work─► NONE
 *     └─the taker, which gives it a slot─► GO */

static bool change_go(struct tk_exec *me, uint32_t from, uint32_t to)
{ return atomic_compare_exchange_strong(&me->go, &from, to); }

/* What had become of the word while its thread searched; it is SEARCHING no more, nor KEEP. */
static uint32_t end_search(struct tk_exec *me)
{
    uint32_t was = TK_SEARCHING;
    if (!atomic_compare_exchange_strong(&me->go, &was, TK_NONE) && was == TK_KEEP)
        atomic_store_explicit(&me->go, TK_NONE, memory_order_relaxed);
    return was;
}

/* The caller's task waits.  True: it goes on in the slot that it held; else others run there, or it
 * is idle. */
static bool leave_slot(struct tk_exec *me, uint64_t deadline)
{
    struct tk_slot *s = me->slot;
    s->n.paused++;
    if (tk_is_recorded()) tk_tell_pause();
    me->slot = 0;
    me->searched = s;
    while (change_go(me, TK_NONE, TK_SEARCHING)) {
        struct nosv_task *t = tk_find(me, s, deadline);
        USF_POINT("tasks.found");
        uint32_t was = end_search(me);
        bool own = t == me->task;
        if (own || was == TK_KEEP) {
            me->slot = s;
            if (t && !own) tk_queue(me, t);
            return true;
        }
        if (t && was == TK_GO) tk_queue(me, t);
        if (!t || was == TK_GO) break;
        if (tk_hand_over(s, t)) return false;
    }
    /* There is nothing to do here, or it has been given another slot. */
    tk_pass_on(s);
    return false;
}

void tk_resumed(struct tk_exec *me)
{
    if (USF_UNLIKELY(tk.places)) tk_tell_resume(me);
    me->task->state = TK_RUNNING;
    me->since = os_now();
}

void tk_block(struct tk_exec *me)
{
    if (!leave_slot(me, 0)) tk_park(me);
    tk_resumed(me);
}

void tk_stand_in(struct tk_exec *me)
{
    if (USF_LIKELY(me->phase != TK_IN_COMPLETED)) return;
    me->behind = me->task;
    me->task = &me->stand_in;
    me->stand_in.exec = me;
    me->stand_in.affinity = tk_completing == me->behind ? me->behind->affinity : (nosv_affinity_t){0};
}

void tk_step_back(struct tk_exec *me)
{
    if (USF_LIKELY(!me->behind)) return;
    me->task = me->behind;
    me->behind = 0;
}

bool tk_begin_sleep(struct tk_exec *me, enum tk_wait kind)
{
    tk_stand_in(me);
    struct nosv_task *t = me->task;
    uint32_t was = atomic_load(&t->waiting);
    t->state = TK_WAITING;
    for (;;) {
        bool over = kind == TK_FOR_TIME && was & TK_EARLY;
        if (!atomic_compare_exchange_strong(&t->waiting, &was, over ? TK_AWAKE : kind | (was & TK_EARLY))) continue;
        if (over) {
            t->state = TK_RUNNING;
            tk_step_back(me);
        }
        return !over;
    }
}

void tk_cancel_sleep(struct tk_exec *me)
{
    atomic_fetch_and(&me->task->waiting, TK_EARLY);
    me->task->state = TK_RUNNING;
    tk_step_back(me);
}

bool tk_end_sleep(struct nosv_task *t, enum tk_wait kind)
{
    uint32_t was = atomic_load(&t->waiting);
    while ((was & ~TK_EARLY) == kind)
        if (atomic_compare_exchange_strong(&t->waiting, &was, was & TK_EARLY)) return true;
    return false;
}

/* One word, so that a wake ends one waitfor: this one or, if it sleeps in none, the next. */
void tk_wake_early(struct nosv_task *t)
{
    uint32_t was = atomic_load(&t->waiting);
    while (!atomic_compare_exchange_strong(&t->waiting, &was, was == TK_FOR_TIME ? TK_AWAKE : was | TK_EARLY)) continue;
    if (was == TK_FOR_TIME) tk_queue_late(t, os_now());
}

bool tk_wake(struct nosv_task *t, enum tk_wait kind)
{
    bool mine = tk_end_sleep(t, kind);
    if (mine) tk_queue(tk_me(), t);
    return mine;
}

bool tk_is_place(nosv_affinity_t place)
{
    for (uint32_t i = 0; i < tk.nr_slots; i++)
        if (tk_slot_is_in(&tk.slots[i], place)) return true;
    return false;
}

/* The caller's task is ready, and no other thread has it: it goes on in an idle slot, if there is
 * one. */
static bool take_idle_slot(struct tk_exec *me)
{
    nosv_affinity_t place = me->task->affinity;
    struct tk_slot *s = place.level == NOSV_AFFINITY_LEVEL_NONE ? 0 : claim_in(place);
    if (!s && !tk_is_strict(place)) s = claim_any(me->bound != TK_UNBOUND ? me->bound : os_cpu());
    if (!s) return false;
    /* A thread that attaches is where it is to be, usually: to bind it may wait until it has
     * slept. */
    if (me->masked || place.level != NOSV_AFFINITY_LEVEL_NONE || s->cpu != os_cpu()) tk_bind(me, s);
    me->slot = s;
    return true;
}

void tk_go_on(struct tk_exec *me)
{
    if (!take_idle_slot(me)) {
        tk_queue(me, me->task);
        tk_park(me);
    }
    tk_resumed(me);
}

/* Its time is over: before all others. */
static void go_on_late(struct tk_exec *me, uint64_t deadline)
{
    if (take_idle_slot(me)) return;
    tk_queue_late(me->task, deadline);
    tk_park(me);
}

/* True: no thread has woken it, and none will. */
static bool end_any_sleep(struct nosv_task *t)
{ return tk_end_sleep(t, TK_FOR_OTHERS) || tk_end_sleep(t, TK_FOR_TIME); }

bool tk_sleep(struct tk_exec *me, uint64_t deadline)
{
    bool woken = true, timed = deadline && deadline != UINT64_MAX;
    if (timed) atomic_fetch_add(&tk.nr_timed, 1);
    if (!leave_slot(me, deadline)) {
        bool over = false;
        while (!over && atomic_load_explicit(&me->go, memory_order_acquire) != TK_GO)
            over = tk_futex_wait(&me->go, TK_NONE, deadline) == -ETIMEDOUT;
        woken = !over || !end_any_sleep(me->task);
        if (woken) tk_park(me);
        else go_on_late(me, deadline);
    }
    if (timed) atomic_fetch_sub(&tk.nr_timed, 1);
    tk_resumed(me);
    tk_step_back(me);
    return woken;
}
