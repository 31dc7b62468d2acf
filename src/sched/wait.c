/* src/sched/wait.c - block, wake, yield.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "sched/carrier.h"
#include "sched/thread.h"

/* ---- spinning before a block ------------------------------------------------------------------- */
/* The governor of each core: spinning pays while waits have lately been short.  After a long one a little of it
 * remains, to notice when they become short again. */

uint64_t sched_spin_budget(struct sched *s, struct sched_self *me)
{
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    if (sched_core_is_wanted(s) || core >= s->h->nr_cores) return 0;
    if (!sched_is_bound(s)) bind_spread(s, me, core);
    return estimate(&s->cores[core].poll_avg) <= s->h->poll_max_ns ? s->h->poll_max_ns : s->h->poll_max_ns / 8;
}

void sched_spun(struct sched *s, struct sched_self *me, uint64_t took)
{
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    if (core >= s->h->nr_cores) return;
    struct usf_core *c = &s->cores[core];
    me->spun = took == UINT64_MAX && !sched_core_is_wanted(s);
    if (took == UINT64_MAX && !me->spun) return;        /* it ended because the core was wanted: says nothing */
    if (took > 4 * s->h->poll_max_ns) took = 4 * s->h->poll_max_ns;
    set_estimate(&c->poll_avg, (3 * estimate(&c->poll_avg) + took) / 4);
    if (!me->spun) core_count(&own(s, me)->n.polls, 1);
}

/* ---- block and wake --------------------------------------------------------------------------- */

/* The thread has been unwound out of a call (glibc from 2.41 on cancels it there, with no handler that we enter): the core is lent. */
static void come_back(struct sched *s, struct sched_self *me)
{ if (USF_UNLIKELY(me->where == SCHED_AWAY)) sched_return_core(s, me); }

int sched_block_unless(struct sched *s, struct sched_self *me, uint64_t deadline, const _Atomic uint32_t *word, uint32_t is)
{
    struct usf_task *t = own(s, me);
    come_back(s, me);
    struct kicks k = {0};
    me->interrupted = 0;
    away_no_guest(s, me);
    if (me->task == USF_NONE || !core_enter(s, me)) return -EINTR;
    bool over = word && atomic_load_explicit(word, memory_order_relaxed) == is;
    if (over || atomic_load_explicit(&t->token, memory_order_relaxed)) {
        bool has = state_of(t) == USF_TASK_RUNNING;     /* else it was a guest, or its core was taken unseen */
        atomic_store_explicit(&t->token, 0, memory_order_relaxed);
        if (!has) core_place(s, me->task, USF_WHY_RETURN, &k);
        if (!has) me->where = SCHED_PARKED;
        core_leave(s, me, &k);
        if (!has) core_wait_turn(s, me);
        return 0;
    }
    bool had = state_of(t) == USF_TASK_RUNNING;     /* else its core was taken unseen */
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    core_set_state(s, me->task, ST(USF_TASK_RUNNING) | ST(USF_TASK_IN_KERNEL), USF_TASK_BLOCKED);
    core_count(&t->n.blocks, 1);
    uint64_t now = s->pol.now;
    if (had) s->cores[core].pol.current = USF_NONE;     /* the policy is not to count on it: nobody goes on here by himself */
    bool given = had && core_give(s, core, me->task, core_pick(s, core, CORE_ANY), &k);
    if (had && !given && !me->spun && estimate(&s->cores[core].poll_ns)) {
        atomic_store(&s->cores[core].poller, me->task + 1);
        me->poll_core = core + 1;
    }
    me->spun = 0;
    me->where = SCHED_PARKED;
    core_leave(s, me, &k);
    USF_POINT("sched.blocked");

    if (me->poll_core) given = park_poll(s, me, deadline);
    if (given && me->wait_avg < SOFT_NS) soft_park(s, me, os_now());
    int r = given ? core_park_blocked(s, me, deadline) : core_park(s, me, deadline);
    if (r != -ETIMEDOUT || state_of(t) == USF_TASK_RUNNING) {
        if (r == -EINTR) {      /* the handler had a core, but a soft wait may have offered it since */
            core_wait_turn(s, me);
            me->interrupted = 0;
            return -EINTR;
        }
        if (has_turn(t)) {
            core_wait_turn(s, me);
            waited(me, t->start_ns - now);
            return 0;
        }
    }
    waited(me, 4 * SOFT_NS);
    /* Timed out (or the process is leaving): ready, by our own doing. */
    k.n = 0;
    if (!core_enter(s, me)) return me->where = SCHED_USER, -EINTR;
    bool late = state_of(t) == USF_TASK_BLOCKED;
    if (late) core_place(s, me->task, USF_WHY_WAKE, &k);
    core_leave(s, me, &k);
    core_wait_turn(s, me);
    return late ? -ETIMEDOUT : 0;
}

/* holds the lock.  The task still polls the core that it left idle: nothing is cheaper than to let it go on. */
static bool polls_its_core(struct sched *s, uint32_t task)
{
    uint32_t core = s->tasks[task].pol.last_core;
    return core < s->h->nr_cores && atomic_load_explicit(&s->cores[core].poller, memory_order_relaxed) == task + 1;
}

/* holds the lock.  Several at once are queued first: cores then take those that ran on them. */
static void wake_some(struct sched *s, const uint32_t *tasks, unsigned n, struct kicks *k)
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
    core_look_for_lent(s, k);
}

/* The waker's process may have been taken off and on again since it took its record: so were those that it wakes, who may have new ones
 * by now and wait for it.  It enters as a thread without a record then.  False: they all go on unscheduled, and look for themselves. */
static bool enter_to_wake(struct sched *s, struct sched_self *me)
{
    while (!core_enter(s, me))
        if (atomic_load(&s->leaving) == SCHED_LEFT) return false;
    return true;
}

void sched_wake(struct sched *s, struct sched_self *me, const uint32_t *tasks, unsigned n)
{
    for (unsigned batch; n; n -= batch, tasks += batch) {
        struct kicks k = {0};
        batch = n < SCHED_WAKE_BATCH ? n : SCHED_WAKE_BATCH;
        if (!enter_to_wake(s, me)) return;
        for (unsigned i = 0; i < batch; i++) {      /* woken before it blocked: the next block returns */
            struct usf_task *t = &s->tasks[tasks[i]];
            if (state_of(t) != USF_TASK_BLOCKED) atomic_store_explicit(&t->token, 1, memory_order_relaxed);
        }
        if (me->task != USF_NONE) core_count(&own(s, me)->n.wakes, batch);
        if (batch > 1) wake_some(s, tasks, batch, &k);
        else if (state_of(&s->tasks[*tasks]) == USF_TASK_BLOCKED) core_place(s, *tasks, USF_WHY_WAKE, &k);
        core_leave(s, me, &k);
    }
}

/* ---- yield ------------------------------------------------------------------------------------ */

/* Most yields of threads that wait for each other: one of those that wait softly on this core is to run, and the kernel is
 * as good at choosing it.  Offer the turn; who takes it does what there is to do under the lock.  Now and then the
 * scheduler chooses: it also knows those that sleep.  0: no offer made; < 0: taken; > 0: we still have it. */
#define OFFER_CYCLES  200000u       /* a soft waiter was here so lately */
#define OFFER_LATE    1500000u      /* strangers had the CPU */
#define OFFERS        16u           /* one in so many is no offer */
static int offer_turn(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    struct usf_thread *thread = own_thread(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (s->carriers || core >= s->h->nr_cores || !atomic_load_explicit(&s->swap, memory_order_relaxed)) return 0;
    struct usf_core *c = &s->cores[core];
    uint64_t start = os_cycles();
    uint64_t after = estimate(&c->soft_after), offers = estimate(&c->offers) + 1;
    if (start - estimate(&c->soft_seen) > OFFER_CYCLES || atomic_load_explicit(&thread->pinned, memory_order_relaxed) != core)
        return 0;
    set_estimate(&c->offers, offers);
    if (offers % OFFERS == 0 || (after && after > os_now())) return 0;
    set_estimate(&c->progress, estimate(&c->progress) + 1);
    atomic_store_explicit(&t->why, USF_WHY_YIELD, memory_order_relaxed);
    me->where = SCHED_PARKED;
    atomic_exchange(&thread->park, USF_PARK_SOFT);
    USF_POINT("sched.offer");
    os_sched_yield();
    if (!soft_leave(s, me) || state_of(t) != USF_TASK_RUNNING) return -1;
    uint64_t took = os_cycles() - start, now;
    if (took > OFFER_LATE && atomic_load_explicit(&t->core, memory_order_relaxed) == core) {
        now = os_now();
        soft_judge(c, now - SOFT_LATE_NS - 1, now);
    }
    core_arrive(s, me);
    return 1;
}

/* A yielder's next turn may be long in coming: many take turns on the core, or it waits busily, and the others' trials leave it alone for as long
 * as that lasts.  The kernel would run it many times for nothing if it waited softly: it sleeps, and lets the scheduler choose who is next. */
#define FAR_NS 300000u
static bool is_far(struct sched_self *me) { return me->turn_avg > FAR_NS; }
static void had_turn(struct sched_self *me, uint64_t after)
{ me->turn_avg = (3 * me->turn_avg + (after < 4 * FAR_NS ? after : 4 * FAR_NS)) / 4; }

/* Holds the scheduler lock.  The thread runs on `core`: `next` (USF_NONE: nobody yet) has it from now on, and the thread queues. */
static void pass_on(struct sched *s, struct sched_self *me, uint32_t core, uint32_t next, enum usf_why why, struct kicks *k)
{
    core_set_state(s, me->task, ST(USF_TASK_RUNNING), USF_TASK_READY);
    core_give(s, core, me->task, next, k);
    core_enqueue(s, me->task, why);
    core_fill_all(s, k);
}

/* Nobody is passed over for ever, whatever the trials say: one in so many turns goes to whoever comes first.  And one that
 * found nobody so often (some 100 us) fetches a yielder from another core. */
#define VAIN_TURNS 256u
#define NEAR_TURNS 64u
static bool give_way(struct sched *s, struct sched_self *me, enum usf_why why)
{
    struct usf_task *t = own(s, me);
    struct kicks k = {0};
    if (me->task == USF_NONE || !core_enter(s, me)) return false;
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
        bool any = why != USF_WHY_YIELD || me->vain % VAIN_TURNS == VAIN_TURNS - 1;
        uint32_t next = core_pick(s, core, any ? CORE_ANY : me->vain >= NEAR_TURNS ? CORE_USEFUL : CORE_NEAR);
        if (next == USF_NONE) {
            me->vain++;
            core_leave(s, me, &k);
            return false;
        }
        me->vain = 0;
        uint32_t to = s->tasks[next].pol.group;
        if (why == USF_WHY_PREEMPT && usf_may_reclaim(&s->pol, to, t->pol.group, core)) s->groups[t->pol.group].reclaimed++;
        pass_on(s, me, core, next, why, &k);
    }
    me->where = SCHED_PARKED;
    core_leave(s, me, &k);
    if (why == USF_WHY_YIELD && !is_far(me)) soft_park(s, me, now);
    core_wait_turn(s, me);
    if (why == USF_WHY_YIELD) had_turn(me, turn_came_after(t, now));
    return true;
}

/* Without the lock, which else each round of each that waits would take.  If the core has just become another's, this round believes what is
 * meant for that one; in the next this thread is not RUNNING any more. */
bool sched_keeps_core(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (core >= s->h->nr_cores || atomic_load_explicit(&t->state, memory_order_relaxed) != USF_TASK_RUNNING) return false;
    struct usf_core *c = &s->cores[core];
    uint64_t until = __atomic_load_n(&c->pol.keeps_until, __ATOMIC_RELAXED), now;
    if (!until || (now = os_now()) >= until || now - me->yielded > USF_ROW_NS) return false;
    me->yielded = now;
    set_estimate(&c->progress, estimate(&c->progress) + 1);
    return true;
}

static bool yield(struct sched *s, struct sched_self *me, bool spin)
{
    struct usf_task *t = own(s, me);
    core_count(spin ? &t->n.spin_yields : &t->n.yields, 1);
    if (!atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)
        && atomic_load_explicit(&t->state, memory_order_relaxed) == USF_TASK_RUNNING)
        return false;
    if (sched_keeps_core(s, me)) return false;
    /* An offer that nobody took: none of those that wait softly here has use for a turn. */
    int taken = is_far(me) || (spin && me->vain) ? 0 : offer_turn(s, me);
    if (taken == 0) return give_way(s, me, USF_WHY_YIELD);
    me->vain = spin && taken > 0;
    if (taken < 0) {
        /* The kernel runs us: our turn again?  Nobody is to take it before we wait softly: soft_park's exchange
         * would hit the taker's TAKEN. */
        if (state_of(t) == USF_TASK_READY && !core_is_in_vain(s, me->task)) soft_take(s, me);
        uint64_t now = os_now();
        if (state_of(t) != USF_TASK_RUNNING) soft_park(s, me, now);
        core_wait_turn(s, me);
        had_turn(me, turn_came_after(t, now));
    }
    return true;
}

bool sched_yield_core(struct sched *s, struct sched_self *me, bool spin)
{
    come_back(s, me);
    away_no_guest(s, me);
    return yield(s, me, spin);
}

void sched_give_turn(struct sched *s, struct sched_self *me)
{
    come_back(s, me);
    yield(s, me, false);
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
    if (core >= s->h->nr_cores) return false;
    /* Without the lock, which a policy writes it under: one word, and giving way too early or a millisecond late does no harm. */
    uint64_t at = __atomic_load_n(&s->cores[core].pol.give_way_at, __ATOMIC_RELAXED);
    return at && now >= at;
}

void sched_preempt(struct sched *s, struct sched_self *me)
{
    if (me->task == USF_NONE) return;
    bool has = state_of(own(s, me)) == USF_TASK_RUNNING;     /* else its core was taken: it queues for one */
    if (has && !atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)) return;
    away_no_guest(s, me);
    core_count(&own(s, me)->n.preemptions, 1);
    give_way(s, me, USF_WHY_PREEMPT);
}

void sched_move(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    struct kicks k = {0};
    away_no_guest(s, me);
    if (me->task == USF_NONE || !core_enter(s, me)) return;
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (state_of(t) != USF_TASK_RUNNING) {      /* its core was taken unseen, or it was a guest: queue for one */
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
    me->where = SCHED_PARKED;
    core_leave(s, me, &k);
    core_wait_turn(s, me);
}

/* ---- signals ---------------------------------------------------------------------------------- */

void sched_interrupt(struct sched *s, struct sched_self *me)
{
    struct kicks k = {0};
    sched_stop_trials(s, me);
    carrier_flush(s, me);
    park_leave_poll(s, me);
    soft_leave(s, me);
    if (state_of(own(s, me)) == USF_TASK_BLOCKED) {
        if (!core_enter(s, me)) return;
        if (state_of(own(s, me)) == USF_TASK_BLOCKED) {
            core_place(s, me->task, USF_WHY_WAKE, &k);
            me->interrupted = 1;
        }
        core_leave(s, me, &k);
    }
    core_wait_turn(s, me);
}
