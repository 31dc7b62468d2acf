/* src/sched/away.c - threads in system calls, and guests.  SPDX-License-Identifier: Apache-2.0 */
#include "sched/thread.h"
#include "sched/ring.h"

void away_no_guest(struct sched *s, struct sched_self *me)
{
    me->short_bursts = 0;
    if (USF_LIKELY(!me->guest)) return;
    me->guest = 0;
    atomic_store_explicit(&own(s, me)->guest, 0, memory_order_relaxed);
}

#define GUEST_CALLS  64u        /* so many short bursts make a guest */
#define GUEST_BURST  900000u    /* cycles, some 300 us; a longer one ends it */

static void count_burst(struct sched *s, struct sched_self *me)
{
    if (os_cycles() - me->returned < GUEST_BURST) me->short_bursts++;
    else away_no_guest(s, me);
}

void sched_expect_guest(struct sched_self *me)
{
    me->short_bursts = GUEST_CALLS;
    me->returned = os_cycles();
}

/* Its core is AWAY with it, or another's by now. */
static void become_guest(struct sched *s, struct sched_self *me, uint32_t core)
{
    struct kicks k = {0};
    if (!core_enter(s, me)) return;
    uint64_t w = atomic_load(&s->cores[core].word);
    if (core_state(w) == USF_CORE_AWAY && core_task(w) == me->task) core_take(s, core, w, &k);
    if (state_of(own(s, me)) == USF_TASK_IN_KERNEL) me->guest = 1;
    core_leave(s, me, &k);
    USF_POINT("sched.guest");
    if (me->guest) bind_release(s, me->task, 0);
}

void sched_leave_core(struct sched *s, struct sched_self *me, bool certain)
{
    struct usf_task *t = own(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (!certain) {
        sched_lend_core(s, me, atomic_load_explicit(&t->wait_addr, memory_order_relaxed));
        return;
    }
    me->where = SCHED_AWAY;
    if (trace_is_on(s)) me->called = os_cycles();
    count_burst(s, me);
    if (USF_UNLIKELY(core >= s->h->nr_cores) || me->guest) return;
    struct usf_core *c = &s->cores[core];
    uint64_t w = atomic_load_explicit(&c->word, memory_order_relaxed);
    if (core_state(w) != USF_CORE_RUNNING || core_task(w) != me->task) return;     /* taken unseen */
    if (!atomic_compare_exchange_strong(&c->word, &w, core_word(USF_CORE_AWAY, me->task, core_seq(w) + 1))) return;
    USF_POINT("sched.leave");
    core_idle_set(s, core);
    USF_POINT("sched.away");
    if (me->short_bursts >= GUEST_CALLS && !s->no_guests && !own(s, me)->pol.strict) {      /* guests run on any CPU */
        become_guest(s, me, core);
    } else if (atomic_load(&s->h->nr_ready)) {
        struct kicks k = {0};
        if (!core_enter(s, me)) return;
        core_fill(s, core, &k);
        core_leave(s, me, &k);
    }
}

/* False: the core is being taken, or was. */
static bool end_loan(struct usf_task *t)
{
    uint64_t loan = atomic_load_explicit(&t->loan, memory_order_relaxed);
    while (loan & USF_LOAN_LENT) {
        if (loan & USF_LOAN_TAKEN) return false;
        if (atomic_compare_exchange_strong(&t->loan, &loan, loan & ~(uint64_t)USF_LOAN_BITS)) break;
    }
    return true;
}

/* Holds the scheduler lock: whoever was taking the core has done so, or has died before, and then it is ours. */
static void end_taken_loan(struct usf_task *t)
{ atomic_fetch_and(&t->loan, ~(uint64_t)USF_LOAN_BITS); }

/* Take the core back if it is still ours.  A signal handler may do the same in the middle of this, and get another. */
static bool take_back(struct sched *s, struct sched_self *me)
{
    for (;;) {
        uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
        if (USF_UNLIKELY(core >= s->h->nr_cores)) return false;
        struct usf_core *c = &s->cores[core];
        uint64_t w = atomic_load_explicit(&c->word, memory_order_relaxed);
        unsigned st = core_state(w);
        if (core_task(w) != me->task || st == USF_CORE_IDLE) return false;
        if (st == USF_CORE_RUNNING) return true;
        if (st == USF_CORE_AWAY) {
            core_idle_clear(s, core);
            me->returned = os_cycles();
        }
        if (atomic_compare_exchange_strong(&c->word, &w, core_word(USF_CORE_RUNNING, me->task, core_seq(w) + 1))) {
            USF_POINT("sched.again");
            return true;
        }
    }
}

static void return_as_guest(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    uint32_t burst = atomic_load_explicit(&t->guest, memory_order_relaxed) + 1;
    atomic_store_explicit(&t->guest, burst ? burst : 1, memory_order_relaxed);
    me->returned = os_cycles();
    park_go_on(s, me);
}

void sched_return_core(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    __atomic_store_n(&me->where, SCHED_RETURNING, __ATOMIC_RELAXED);
    bool not_taken = end_loan(t);
    USF_POINT("sched.loan_over");
    if (USF_UNLIKELY(me->called)) trace_call(s, me);
    /* No guests while the scheduler's lock does not move.  Its owner may be runnable and not be run: beside those that sleep and wake all
     * the time, as guests do, Linux (6.18, sessions as groups by `autogroup`) was seen to run nobody else for ten seconds. */
    if (USF_UNLIKELY(me->guest && atomic_load_explicit(&s->h->lock_waits, memory_order_relaxed))) away_no_guest(s, me);
    if (me->guest) return return_as_guest(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (USF_LIKELY(not_taken && take_back(s, me))) {
        me->where = SCHED_USER;         /* to be stopped since the loan ended or the core was taken back, which is before this looks */
        if (USF_UNLIKELY(atomic_load_explicit(&s->patching, memory_order_relaxed))) core_arrive(s, me);
        return;
    }
    if (s->kernel) {
        park_go_on(s, me);
        return;
    }
    struct kicks k = {0};
    me->lost++;
    me->returned = os_cycles();
    if (!core_enter(s, me)) {
        me->where = SCHED_AWAY;
        if (core < s->h->nr_cores) core_idle_set(s, core);  /* a bit too many only makes somebody look */
        return;
    }
    end_taken_loan(t);
    if (take_back(s, me)) {             /* a handler got it another */
        core_leave(s, me, &k);
        park_go_on(s, me);
        return;
    }
    if (core < s->h->nr_cores) {        /* we may have cleared the bit of a core that is free */
        unsigned st = core_state(atomic_load(&s->cores[core].word));
        if (st == USF_CORE_IDLE || st == USF_CORE_AWAY) {
            core_idle_set(s, core);
            core_fill(s, core, &k);
        }
    }
    if (state_of(t) == USF_TASK_IN_KERNEL) core_place(s, me->task, USF_WHY_RETURN, &k);
    me->where = SCHED_PARKED;
    uint64_t now = s->pol.now;
    core_leave(s, me, &k);
    /* The kernel runs us already: whoever was given a core here and has not run yet can as well wait. */
    me->interrupted = 0;
    if (state_of(t) == USF_TASK_READY) soft_take(s, me);
    if (state_of(t) != USF_TASK_RUNNING && me->wait_avg < SOFT_NS) soft_park(s, me, now);
    core_wait_turn(s, me);
    waited(me, turn_came_after(t, now));
    me->returned = os_cycles();
}

bool sched_interrupt_away(struct sched *s, struct sched_self *me)
{
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    uint64_t w = core < s->h->nr_cores ? atomic_load_explicit(&s->cores[core].word, memory_order_relaxed) : 0;
    if (core_state(w) == USF_CORE_RUNNING && core_task(w) == me->task && !sched_has_lent(own(s, me))) return false;
    bool away = me->where == SCHED_AWAY;
    sched_return_core(s, me);
    return away;
}
