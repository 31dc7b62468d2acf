/* src/sched/wait.c - block, wake, yield.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "sched/carrier.h"
#include "sched/thread.h"
#include "sched/times.h"
#include "sched/turn.h"
#include "sched/watch.h"

/* ---- the look before a block -------------------------------------------------------------------- */

uint64_t sched_look_budget(struct sched *s, struct sched_self *me)
{
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    if (sched_core_is_wanted(s) || core >= s->h->nr_cores) return 0;
    if (!sched_is_bound(s)) bind_spread(s, me, core);
    return core_look_ns(s, &s->cores[core]);
}

void sched_looked(struct sched *s, struct sched_self *me, uint64_t took)
{
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    if (core >= s->h->nr_cores) return;
    struct usf_core *c = &s->cores[core];
    me->has_looked = took == UINT64_MAX && !sched_core_is_wanted(s);
    if (took == UINT64_MAX && !me->has_looked) return;        /* it ended because the core was wanted: no sample */
    if (took > LOOK_LONG * s->h->poll_max_ns) took = LOOK_LONG * s->h->poll_max_ns;
    set_estimate(&c->poll_avg, ((LOOK_WEIGHT - 1) * estimate(&c->poll_avg) + took) / LOOK_WEIGHT);
    if (!me->has_looked) core_count(&own(s, me)->n.polls, 1);
}

/* ---- block and wake --------------------------------------------------------------------------- */

/* If the thread has been unwound out of a call, its core is still released provisionally.  (glibc
 * from 2.41 on cancels it there, without a handler that we enter.) */
static void come_back(struct sched *s, struct sched_self *me)
{ if (USF_UNLIKELY(me->where == SCHED_IN_CALL)) sched_return_core(s, me); }

int sched_block_while(struct sched *s, struct sched_self *me, uint64_t deadline, const _Atomic uint32_t *word, uint32_t is)
{
    come_back(s, me);
    NO_WAKES(k);
    me->interrupted = 0;
    me->bursts.in_row = 0;
    if (me->task == USF_NONE || !core_enter(s, me)) return -EINTR;
    struct usf_task *t = own(s, me);        /* not before: a handler may have left the instance, and joined it again */
    bool over = word && atomic_load_explicit(word, memory_order_relaxed) != is;
    if (over || atomic_load_explicit(&t->pending_wake, memory_order_relaxed)) {
        bool has = state_of(t) == USF_TASK_RUNNING;     /* else it was kernel-scheduled, or its core was taken unseen */
        atomic_store_explicit(&t->pending_wake, 0, memory_order_relaxed);
        if (!has) core_place(s, me->task, USF_WHY_RETURN, &k);
        if (!has) sched_set_where(me, SCHED_AT(SCHED_USER), SCHED_PARKED);
        core_leave(s, me, &k);
        if (!has) core_wait_turn(s, me);
        return 0;
    }
    bool had = state_of(t) == USF_TASK_RUNNING;     /* else its core was taken unseen */
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    core_set_state(s, me->task, ST(USF_TASK_RUNNING) | WITHOUT_CORE, USF_TASK_BLOCKED);
    core_count(&t->n.blocks, 1);
    if (had) s->cores[core].pol.current = USF_NONE;     /* for the policy no task runs here any more */
    bool given = had && core_give(s, core, me->task, core_pick(s, core, CORE_ANY), &k);
    if (had && !given && !me->has_looked && estimate(&s->cores[core].poll_ns)) {
        atomic_store(&s->cores[core].poller, me->task + 1);
        me->poll_core = core + 1;
    }
    me->has_looked = 0;
    sched_set_where(me, SCHED_AT(SCHED_USER), SCHED_PARKED);
    core_leave(s, me, &k);
    USF_POINT("sched.blocked");

    if (me->poll_core) given = park_poll(s, me, deadline);
    int r = given ? core_park_blocked(s, me, deadline) : core_park(s, me, deadline);
    if (r != -ETIMEDOUT || state_of(own(s, me)) == USF_TASK_RUNNING) {
        if (r == -EINTR) {
            core_wait_turn(s, me);
            me->interrupted = 0;
            return -EINTR;
        }
        if (has_turn(own(s, me))) {
            core_wait_turn(s, me);
            return 0;
        }
    }
    /* Timed out, or the process is leaving: the thread makes its own task ready. */
    k.n = 0;
    if (!core_enter(s, me)) return park_go_on(s, me), -EINTR;
    bool late = state_of(own(s, me)) == USF_TASK_BLOCKED;
    if (late) core_place(s, me->task, USF_WHY_WAKE, &k);
    core_leave(s, me, &k);
    core_wait_turn(s, me);
    return late ? -ETIMEDOUT : 0;
}

/* holds the lock.  Does the task still poll the core that it left idle?  Then to let it go on there
 * is the cheapest wake. */
static bool polls_its_core(struct sched *s, uint32_t task)
{
    uint32_t core = s->tasks[task].pol.last_core;
    return core < s->h->nr_cores && atomic_load_explicit(&s->cores[core].poller, memory_order_relaxed) == task + 1;
}

/* holds the lock.  Several at once are queued first: cores then take those that ran on them. */
static void wake_some(struct sched *s, const uint32_t *tasks, unsigned n, struct wakes *k)
{
    for (unsigned i = 0; i < n; i++)
        if (state_of(&s->tasks[tasks[i]]) == USF_TASK_BLOCKED && polls_its_core(s, tasks[i]))
            core_place(s, tasks[i], USF_WHY_WAKE, k);
    for (unsigned i = 0; i < n; i++) {
        struct usf_task *t = &s->tasks[tasks[i]];
        if (state_of(t) != USF_TASK_BLOCKED) continue;
        core_set_state(s, tasks[i], ST(USF_TASK_BLOCKED), USF_TASK_READY);
        core_enqueue(s, tasks[i], USF_WHY_WAKE);
    }
    core_fill_all(s, k);
    core_look_for_provisional(s, k);
}

/* The waker's process may have left and joined again since this thread took its record.  The tasks
 * that it wakes may have new records by now, and wait for it, so it enters as a thread without a
 * record. False: the process goes on unscheduled, and each of its threads looks for itself. */
static bool enter_to_wake(struct sched *s, struct sched_self *me)
{
    while (!core_enter(s, me))
        if (atomic_load(&s->leaving) == SCHED_LEFT) return false;
    return true;
}

void sched_wake(struct sched *s, struct sched_self *me, const uint32_t *tasks, unsigned n)
{
    for (unsigned batch; n; n -= batch, tasks += batch) {
        NO_WAKES(k);
        batch = n < SCHED_WAKE_BATCH ? n : SCHED_WAKE_BATCH;
        if (!enter_to_wake(s, me)) return;
        for (unsigned i = 0; i < batch; i++) {      /* woken before it blocked: the next block returns */
            struct usf_task *t = &s->tasks[tasks[i]];
            if (state_of(t) != USF_TASK_BLOCKED) atomic_store_explicit(&t->pending_wake, 1, memory_order_relaxed);
        }
        if (me->task != USF_NONE) core_count(&own(s, me)->n.wakes, batch);
        if (batch > 1) wake_some(s, tasks, batch, &k);
        else if (state_of(&s->tasks[*tasks]) == USF_TASK_BLOCKED) core_place(s, *tasks, USF_WHY_WAKE, &k);
        core_leave(s, me, &k);
    }
}

/* ---- yield ------------------------------------------------------------------------------------ */

/* Holds the scheduler lock.  The thread runs on `core`.  From now on `next` has the core (USF_NONE:
 * no task yet), and the thread queues. */
static void pass_on(struct sched *s, struct sched_self *me, uint32_t core, uint32_t next, enum usf_why why, struct wakes *k)
{
    core_set_state(s, me->task, ST(USF_TASK_RUNNING), USF_TASK_READY);
    core_give(s, core, me->task, next, k);
    if (why == USF_WHY_YIELD) probe_gives_way(s, me->task);
    core_enqueue(s, me->task, why);
    core_fill_all(s, k);
}

static bool give_way(struct sched *s, struct sched_self *me, enum usf_why why)
{
    NO_WAKES(k);
    if (why == USF_WHY_YIELD) {
        enum lease_turn turn = lease_yield(s, me);
        if (turn == LEASE_GAVE) return true;
        if (turn == LEASE_NOBODY && (me->unproductive + 1) % LEASE_ASK != 0) {
            me->unproductive++;
            return false;
        }
    }
    if (me->task == USF_NONE || (why == USF_WHY_YIELD ? !core_enter_to_yield(s, me) : !core_enter(s, me))) return false;
    struct usf_task *t = own(s, me);        /* not before: a handler may have left the instance, and joined it again */
    uint64_t now = s->pol.now;
    if (state_of(t) != USF_TASK_RUNNING) {          /* its core was taken unseen: queue for one */
        core_place(s, me->task, USF_WHY_RETURN, &k);
    } else {
        uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
        set_estimate(&s->cores[core].progress, estimate(&s->cores[core].progress) + 1);
        if (why == USF_WHY_YIELD && !s->ops.yield(&s->pol, core, me->task)) {
            me->yielded = now;
            core_leave(s, me, &k);
            return false;
        }
        bool any = why != USF_WHY_YIELD || me->unproductive % YIELD_ANY_TURNS == YIELD_ANY_TURNS - 1;
        uint32_t next = core_pick(s, core, any ? CORE_POLICY : me->unproductive >= YIELD_NEAR_TURNS ? CORE_USEFUL : CORE_NEAR);
        if (next == USF_NONE) {
            me->unproductive++;
            lease_make(s, me, core, me->task);
            core_leave(s, me, &k);
            return false;
        }
        me->unproductive = 0;
        uint32_t to = s->tasks[next].pol.group;
        if (why == USF_WHY_PREEMPT && usf_may_reclaim(&s->pol, to, t->pol.group, core)) s->groups[t->pol.group].reclaimed++;
        pass_on(s, me, core, next, why, &k);
        if (why == USF_WHY_YIELD) lease_make(s, me, core, next);
    }
    sched_set_where(me, SCHED_AT(SCHED_USER), SCHED_PARKED);
    core_leave(s, me, &k);
    core_wait_turn(s, me);
    return true;
}

/* Without the lock, which each round of each spinning thread would take otherwise.  If the core has
 * just become another task's, this round goes by that task's time; in the next round this task is
 * not RUNNING any more. */
bool sched_keeps_core(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (core >= s->h->nr_cores || atomic_load_explicit(&t->state, memory_order_relaxed) != USF_TASK_RUNNING) return false;
    struct usf_core *c = &s->cores[core];
    if (!__atomic_load_n(&c->pol.keeps_until, __ATOMIC_RELAXED)) return false;      /* most policies: no need to read the clock */
    uint64_t now = os_now();
    if (!turn_is_kept(&c->pol, now, me->yielded)) return false;
    me->yielded = now;
    set_estimate(&c->progress, estimate(&c->progress) + 1);
    return true;
}

bool sched_yield_core(struct sched *s, struct sched_self *me, bool spin)
{
    come_back(s, me);
    me->bursts.in_row = 0;
    struct usf_task *t = own(s, me);
    core_count(spin ? &t->n.spin_yields : &t->n.yields, 1);
    if (!atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)
        && atomic_load_explicit(&t->state, memory_order_relaxed) == USF_TASK_RUNNING)
        return false;
    if (sched_keeps_core(s, me)) return false;
    return give_way(s, me, USF_WHY_YIELD);
}

void sched_make_room(struct sched *s, struct sched_self *me)
{
    if (USF_LIKELY(!carrier_is_wanted(me)) || me->task == USF_NONE) return;
    come_back(s, me);
    me->bursts.in_row = 0;
    sched_set_where(me, SCHED_AT(SCHED_USER), SCHED_PARKED);
    carrier_make_room(s, me);
    core_wait_turn(s, me);      /* what executes it now may be bound to another CPU */
}

bool sched_spin(struct sched *s, struct sched_self *me, uint32_t place, const void *regs)
{
    if (!s->spins || me->task == USF_NONE) return sched_yield_core(s, me, true);
    struct sched_spin *spin = &s->spins[me->task];
    spin->place = place;
    atomic_store_explicit(&spin->regs, regs, memory_order_release);
    bool ran = sched_yield_core(s, me, true);
    atomic_store_explicit(&spin->regs, 0, memory_order_relaxed);
    return ran;
}

bool sched_is_due(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    uint64_t now = os_now(), start = t->start_ns;
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (now > start && now - start >= s->h->progress_ns) return true;
    return core < s->h->nr_cores && turn_is_due(&s->cores[core].pol, now);
}

void sched_look_if_due(struct sched *s, struct sched_self *me)
{
    uint64_t now = os_cycles(), since = now - me->looked_if_due;
    if (since < DUE_LOOK_CYCLES) return;
    me->looked_if_due = now;
    if (since > DUE_LOOK_LAST * DUE_LOOK_CYCLES || sched_is_by_kernel(s, me) || !sched_is_due(s, me)) return;
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    if (core < s->h->nr_cores && !sched_is_waited_for(s, core)) return;
    come_back(s, me);
    sched_preempt(s, me);
}

void sched_preempt(struct sched *s, struct sched_self *me)
{
    if (me->task == USF_NONE) return;
    bool has = state_of(own(s, me)) == USF_TASK_RUNNING;     /* else its core was taken: it queues for one */
    if (has && !atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)) return;
    me->bursts.in_row = 0;
    core_count(&own(s, me)->n.preemptions, 1);
    give_way(s, me, USF_WHY_PREEMPT);
}

void sched_move(struct sched *s, struct sched_self *me)
{
    come_back(s, me);
    NO_WAKES(k);
    me->bursts.in_row = 0;
    if (me->task == USF_NONE || !core_enter(s, me)) return;
    struct usf_task *t = own(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (state_of(t) != USF_TASK_RUNNING) {      /* its core was taken unseen, or it was kernel-scheduled: queue for one */
        core_place(s, me->task, USF_WHY_RETURN, &k);
    } else if (bind_is_better_idle(s, me->task, core)) {
        core_set_state(s, me->task, ST(USF_TASK_RUNNING), USF_TASK_IN_KERNEL);
        core_give(s, core, me->task, core_pick(s, core, CORE_ANY), &k);
        core_place(s, me->task, USF_WHY_RETURN, &k);
    } else if (usf_may_run(&s->pol, me->task, core)) {
        core_leave(s, me, &k);
        core_arrive(s, me);     /* a late waker may have bound it elsewhere */
        return;
    } else {
        pass_on(s, me, core, core_pick(s, core, CORE_ANY), USF_WHY_RETURN, &k);
    }
    sched_set_where(me, SCHED_AT(SCHED_USER), SCHED_PARKED);
    core_leave(s, me, &k);
    core_wait_turn(s, me);
}

/* ---- signals ---------------------------------------------------------------------------------- */

void sched_interrupt(struct sched *s, struct sched_self *me)
{
    NO_WAKES(k);
    sched_stop_probes(s, me);
    carrier_flush(s, me);
    park_leave_poll(s, me);
    if (state_of(own(s, me)) == USF_TASK_BLOCKED) {
        if (!core_enter(s, me)) {
            park_go_on(s, me);
            return;
        }
        if (state_of(own(s, me)) == USF_TASK_BLOCKED) {
            core_place(s, me->task, USF_WHY_WAKE, &k);
            me->interrupted = 1;
        }
        core_leave(s, me, &k);
    }
    core_wait_turn(s, me);
}
