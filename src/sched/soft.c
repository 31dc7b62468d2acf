/* src/sched/soft.c - waiting softly, and taking turns.  SPDX-License-Identifier: Apache-2.0 */
#include "sched/thread.h"

/* Where the next turn is near, a thread stays runnable and hands the CPU over by sched_yield: that takes less
 * than half of a futex wake and wait.  It goes on only when its state says so.
 *
 * The kernel chooses among those that wait softly on a CPU, and each of its choices that is not the scheduler's costs
 * a switch.  So one that the kernel runs, and that is ready, takes the turn of the one that was given the
 * core and has not been run yet, if the policy does not mind (USF_POLICY_SWAP).
 *
 *      SOFT ──own turn──► NONE             by compare-and-swap: either the owner of the turn goes on,
 *      SOFT ──another's──► TAKEN ──► GO    or another takes it, under the scheduler lock
 *
 * sched_yield also gives the CPU to strangers, for as long as they like: once a turn has come late for that, this
 * core's threads park at once for a while, and each time in a row for twice as long. */
#define SOFT_ROUNDS   64
#define SOFT_LOOK     16u          /* yields, and for so long at least: beside strangers each of them takes milliseconds */
#define SOFT_LOOK_NS  1000000u
#define SOFT_PAUSE_MIN  1000000u
#define SOFT_PAUSE_MAX  100000000u

/* Does it go before the other, whatever the order in which they came?  Then its turn is not taken. */
static bool outranks(struct sched *s, const struct usf_task *o, const struct usf_task *t)
{
    const struct usf_pol_task *a = &o->pol, *b = &t->pol;
    if (a->group != b->group) return s->groups[a->group].pol.priority > s->groups[b->group].pol.priority;
    if (a->priority != b->priority) return a->priority > b->priority;
    return a->deadline - 1 < b->deadline - 1;       /* none (0) is later than any */
}

void soft_take(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    uint32_t core = atomic_load_explicit(&own_thread(s, me)->pinned, memory_order_relaxed), soft = USF_PARK_SOFT;
    if (s->carriers || core >= s->h->nr_cores || !atomic_load_explicit(&s->swap, memory_order_relaxed)) return;
    uint64_t w = atomic_load(&s->cores[core].word);
    uint32_t other = core_task(w);
    if (core_state(w) != USF_CORE_RUNNING || other >= s->pol.nr_tasks || atomic_load(&sched_thread_of(s, other)->park) != soft) return;
    struct kicks k = {0};
    if (!core_enter(s, me)) return;
    struct usf_task *o = &s->tasks[other];
    struct usf_thread *other_thread = sched_thread_of(s, other);
    /* While it has the core, its record is not another task's. */
    bool there = atomic_load(&s->cores[core].word) == w;
    bool alike = there && (o->pol.group == t->pol.group || (o->why == t->why && (t->why == USF_WHY_YIELD || t->why == USF_WHY_RETURN)));
    alike &= !usf_may_reclaim(&s->pol, o->pol.group, t->pol.group, core);
    if (alike && state_of(t) == USF_TASK_READY && usf_may_run(&s->pol, me->task, core) && !outranks(s, o, t)
        && atomic_compare_exchange_strong(&other_thread->park, &soft, USF_PARK_TAKEN)) {
        USF_POINT("sched.take_turn");
        core_dequeue(s, me->task);
        core_set_state(s, other, ST(USF_TASK_RUNNING), USF_TASK_READY);
        core_give(s, core, other, me->task, &k);
        USF_POINT("sched.turn_taken");
        core_enqueue(s, other, o->why);
        atomic_store(&other_thread->park, USF_PARK_GO);
        core_fill_all(s, &k);
    }
    core_leave(s, me, &k);
}

/* Leave the soft wait.  True: it is our turn, and nobody else's any more. */
bool soft_leave(struct sched *s, struct sched_self *me)
{
    struct usf_thread *t = own_thread(s, me);
    USF_POINT("sched.leave_soft");
    uint32_t was = atomic_load(&t->park);
    uint64_t late = 0;
    for (unsigned i = 0;; i++) {
        /* Who is binding us must not do it after we have gone on (it may have died, though).  Who takes our turn holds the
         * lock, and may have died or been stopped with it: nobody else may be there to notice. */
        bool held = was == USF_PARK_TAKEN || was == USF_PARK_PINNING;
        if (held && !late) late = os_now() + SOFT_LOOK_NS;
        if (held && (i < SOFT_LOOK || os_now() < late)) {
            os_sched_yield();
        } else if (was == USF_PARK_TAKEN) {
            look_if_stalled(s, me);
            late = 0;
        } else if (atomic_compare_exchange_weak(&t->park, &was, USF_PARK_NONE)) {
            return has_turn(own(s, me));
        }
        was = atomic_load(&t->park);
    }
}

void soft_judge(struct usf_core *c, uint64_t given, uint64_t now)
{
    uint64_t pause = estimate(&c->soft_pause);
    if (now > given + SOFT_LATE_NS) {
        pause = 2 * pause < SOFT_PAUSE_MIN ? SOFT_PAUSE_MIN : 2 * pause > SOFT_PAUSE_MAX ? SOFT_PAUSE_MAX : 2 * pause;
        set_estimate(&c->soft_pause, pause);
        set_estimate(&c->soft_after, now + pause);
    } else if (pause && now > estimate(&c->soft_after) + 2 * pause) {
        set_estimate(&c->soft_pause, 0);
    }
}

void soft_park(struct sched *s, struct sched_self *me, uint64_t now)
{
    struct usf_task *t = own(s, me);
    struct usf_thread *thread = own_thread(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);      /* its last one */
    if (s->carriers || core >= s->h->nr_cores) return;
    struct usf_core *c = &s->cores[core];
    uint64_t start = now;
    uint32_t go = USF_PARK_GO;
    if (now < estimate(&c->soft_after)) return;
    hold_signals(s, me);
    me->where = SCHED_PARKED;
    do {
        atomic_exchange(&thread->park, USF_PARK_SOFT);
        for (int i = 0; !has_turn(t) && !me->interrupted; i++) {
            if (i >= SOFT_ROUNDS || now - start > SOFT_NS) {
                soft_leave(s, me);
                return;
            }
            set_estimate(&c->soft_seen, os_cycles());
            os_sched_yield();
            now = os_now();
            if (state_of(t) == USF_TASK_READY && !core_is_in_vain(s, me->task)) soft_take(s, me);
            atomic_compare_exchange_strong(&thread->park, &go, USF_PARK_SOFT);   /* it has had its turn taken */
            go = USF_PARK_GO;
        }
    } while (!soft_leave(s, me) && !me->interrupted);
    if (state_of(t) == USF_TASK_RUNNING) soft_judge(c, t->start_ns, now);
}
