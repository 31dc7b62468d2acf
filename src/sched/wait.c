/* src/sched/wait.c - what a thread does with its core.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "sched/core.h"

/* A thread whose process was taken off in the middle of something has the record of one that is gone. */
static struct usf_task *own(struct sched *s, struct sched_self *me)
{
    static struct usf_task gone = {.state = USF_TASK_GONE, .core = USF_NONE};
    return USF_LIKELY(me->task != USF_NONE) ? &s->tasks[me->task] : &gone;
}

static unsigned state_of(struct usf_task *t) { return atomic_load(&t->state); }

/* Another thread is taking the process off.  Who takes it on again is that thread: it waits for a core as anybody does. */
static bool is_leaving(struct sched *s, struct sched_self *me)
{ return USF_UNLIKELY(atomic_load(&s->leaving)) && !me->joining; }

/* Estimates. */
static uint64_t estimate(_Atomic uint64_t *v) { return atomic_load_explicit(v, memory_order_relaxed); }
static void set_estimate(_Atomic uint64_t *v, uint64_t to) { atomic_store_explicit(v, to, memory_order_relaxed); }

/* ---- parking ---------------------------------------------------------------------------------- */
/* The sleeper writes ASLEEP and then looks at its state; the waker has set the state to RUNNING and then
 * exchanges the park word.  In the one total order of these four either the sleeper sees RUNNING or the
 * waker sees ASLEEP: no wake-up is lost (models/park.pml).  GO and PINNING left behind by a late waker
 * are overwritten by the next ASLEEP, and a needless futex wake only makes the sleeper look again. */

static void bind(struct sched *s, uint32_t task, uint32_t core)
{
    struct usf_task *t = &s->tasks[task];
    if ((t->proc == s->proc || s->remote_pin) && os_pin(t->tid, s->cores[core].pol.cpu) == 0)
        atomic_store(&t->pinned, core);
}

/* The CPU that the task's thread is bound to has been given to another. */
static bool is_displaced(struct sched *s, uint32_t task)
{
    uint32_t at = atomic_load(&s->tasks[task].pinned);
    uint64_t w = at < s->h->nr_cores ? atomic_load(&s->cores[at].word) : 0;
    return core_state(w) == USF_CORE_RUNNING && core_task(w) != task;
}

void core_kick(struct sched *s, uint32_t task)
{
    struct usf_task *t = &s->tasks[task];
    uint32_t core = atomic_load(&t->core), pinning = USF_PARK_PINNING, was = atomic_load(&t->park);
    bool there = core >= s->h->nr_cores || atomic_load(&t->pinned) == core;
    do {
        if (was == USF_PARK_SOFT && there) return;      /* it sees its state change by itself */
        if (was == USF_PARK_TAKEN) return;              /* not its turn any more */
    } while (!atomic_compare_exchange_weak(&t->park, &was, USF_PARK_PINNING));
    if (was != USF_PARK_ASLEEP && was != USF_PARK_SOFT) {
        /* It sees its state by itself, if it is not kept from running where it is.  It may also have gone to
         * sleep again already: its ASLEEP must stand for the next waker. */
        if (!there && is_displaced(s, task)) bind(s, task, core);
        atomic_compare_exchange_strong(&t->park, &pinning, USF_PARK_GO);
        return;
    }
    if (!there) bind(s, task, core);
    USF_POINT("sched.kick");
    /* By now it may be in a later wait, and somebody may be taking its turn: its TAKEN must stand.  Waking it is harmless. */
    atomic_compare_exchange_strong(&t->park, &pinning, USF_PARK_GO);
    if (was == USF_PARK_ASLEEP) os_futex_wake(&t->park, 1);
}

/* Stop polling.  A task that was left in the mailbox in the meantime is woken, in a critical section: a
 * handler that unwinds (pthread_cancel) must not leave it half woken.  True: there was one. */
static bool leave_poll(struct sched *s, struct sched_self *me)
{
    bool mail = false;
    if (!me->poll_core) return false;
    sched_crit_enter(me);
    struct usf_core *c = &s->cores[me->poll_core - 1];
    uint32_t w = me->task + 1;
    me->poll_core = 0;
    if (!atomic_compare_exchange_strong(&c->poller, &w, 0) && w & USF_MAIL) {
        /* By now it may be another poller's word or mail: whoever takes mail out delivers it. */
        w = atomic_exchange(&c->poller, 0);
        mail = w & USF_MAIL;
        if (mail) core_kick(s, (w & ~USF_MAIL) - 1);
    }
    sched_crit_leave(s, me);
    return mail;
}

/* Watch the core that went idle: until the own task runs again, another is left in the mailbox, or it
 * takes too long.  Costs no system call either way.  True: another runs there now. */
static bool poll_core(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    struct usf_core *c = &s->cores[me->poll_core - 1];
    struct usf_task *t = own(s, me);
    uint64_t until = os_now() + estimate(&c->poll_ns);
    if (deadline && deadline < until) until = deadline;
    for (unsigned i = 1;; i++) {
        if (atomic_load_explicit(&t->state, memory_order_acquire) == USF_TASK_RUNNING) {
            t->n.polls++;
            break;
        }
        if (atomic_load_explicit(&c->poller, memory_order_relaxed) != me->task + 1) break;
        if (i % 32 == 0 && os_now() >= until) break;
        os_pause();
    }
    return leave_poll(s, me);
}

/* The core was given to us, or given and taken again, or we are off: in any case it is our turn to look. */
static bool has_turn(struct usf_task *t)
{ return ST(state_of(t)) & (ST(USF_TASK_RUNNING) | ST(USF_TASK_IN_KERNEL) | ST(USF_TASK_GONE)); }

/* ---- waiting softly ---------------------------------------------------------------------------- */
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
#define SOFT_NS       500000u
#define SOFT_LATE_NS  500000u
#define SOFT_LOOK     1000u
#define SOFT_PAUSE_MIN  1000000u
#define SOFT_PAUSE_MAX  100000000u

/* A busy-wait that is not over when its thread is run softly is likely one of those that last for many turns; so are
 * the next few of that thread. */
#define FAR_WAITS 8u
static bool waits_far(struct sched *s, struct sched_self *me)
{
    bool spins = s->spins && me->task != USF_NONE
                 && atomic_load_explicit(&s->spins[me->task].regs, memory_order_relaxed);
    if (!spins || !me->far) return false;
    me->far--;
    return true;
}

static void take_turn(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    uint32_t core = atomic_load_explicit(&t->pinned, memory_order_relaxed), soft = USF_PARK_SOFT;
    if (core >= s->h->nr_cores || !atomic_load_explicit(&s->swap, memory_order_relaxed)) return;
    uint64_t w = atomic_load(&s->cores[core].word);
    uint32_t other = core_task(w);
    if (core_state(w) != USF_CORE_RUNNING || other >= s->pol.nr_tasks || atomic_load(&s->tasks[other].park) != soft) return;
    struct kicks k = {0};
    if (!core_enter(s, me)) return;
    struct usf_task *o = &s->tasks[other];
    bool alike = o->proc == t->proc || (o->why == t->why && (t->why == USF_WHY_YIELD || t->why == USF_WHY_RETURN));
    if (alike && state_of(t) == USF_TASK_READY && atomic_load(&s->cores[core].word) == w
        && atomic_compare_exchange_strong(&o->park, &soft, USF_PARK_TAKEN)) {
        USF_POINT("sched.take_turn");
        core_dequeue(s, me->task);
        core_set_state(s, other, ST(USF_TASK_RUNNING), USF_TASK_READY);
        core_give(s, core, other, me->task, &k);
        USF_POINT("sched.turn_taken");
        core_enqueue(s, other, o->why);
        atomic_store(&o->park, USF_PARK_GO);
        core_fill_all(s, &k);
    }
    core_leave(s, me, &k);
}

/* Everybody is to leave whose lock does not move: trying to take it is what finds out. */
static void look_if_stalled(struct sched *s, struct sched_self *me)
{ if (core_enter(s, me)) core_leave(s, me, &(struct kicks){0}); }

/* Leave the soft wait.  True: it is our turn, and nobody else's any more. */
static bool leave_soft(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    USF_POINT("sched.leave_soft");
    uint32_t was = atomic_load(&t->park);
    for (unsigned i = 1;; i++) {
        /* Who is binding us must not do it after we have gone on (it may have died, though).  Who takes our turn holds the
         * lock, and may have died or been stopped with it: nobody else may be there to notice. */
        if (was == USF_PARK_TAKEN || (was == USF_PARK_PINNING && i < SOFT_LOOK)) {
            if (i % SOFT_LOOK == 0) look_if_stalled(s, me);
            else os_sched_yield();
            was = atomic_load(&t->park);
        } else if (atomic_compare_exchange_weak(&t->park, &was, USF_PARK_NONE)) {
            return has_turn(t);
        }
    }
}

static void judge_softness(struct usf_core *c, uint64_t given, uint64_t now)
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

static void park_softly(struct sched *s, struct sched_self *me, uint64_t now)
{
    struct usf_task *t = own(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);      /* its last one */
    if (core >= s->h->nr_cores) return;
    struct usf_core *c = &s->cores[core];
    uint64_t start = now;
    uint32_t go = USF_PARK_GO;
    if (now < estimate(&c->soft_after)) return;
    me->where = SCHED_PARKED;
    do {
        atomic_exchange(&t->park, USF_PARK_SOFT);
        for (int i = 0; !has_turn(t) && !me->interrupted; i++) {
            if (i >= SOFT_ROUNDS || now - start > SOFT_NS) {
                leave_soft(s, me);
                return;
            }
            set_estimate(&c->soft_seen, os_cycles());
            os_sched_yield();
            now = os_now();
            if (state_of(t) == USF_TASK_READY) {
                if (core_is_in_vain(s, me->task)) {     /* the kernel ran it for nothing, and would again */
                    me->far = FAR_WAITS;
                    leave_soft(s, me);
                    return;
                }
                take_turn(s, me);
            }
            atomic_compare_exchange_strong(&t->park, &go, USF_PARK_SOFT);   /* it has had its turn taken */
            go = USF_PARK_GO;
        }
    } while (!leave_soft(s, me) && !me->interrupted);
    if (state_of(t) == USF_TASK_RUNNING) judge_softness(c, t->start_ns, now);
}

int core_park(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    struct usf_task *t = own(s, me);
    int r = 0;
    me->where = SCHED_PARKED;
    while (!me->interrupted) {
        if (has_turn(t)) break;
        USF_POINT("sched.parking");
        atomic_exchange(&t->park, USF_PARK_ASLEEP);
        USF_POINT("sched.park");
        if (has_turn(t) || is_leaving(s, me)) break;
        atomic_store_explicit(&t->parked, 1, memory_order_relaxed);
        r = os_futex_wait(&t->park, USF_PARK_ASLEEP, deadline);
        atomic_store_explicit(&t->parked, 0, memory_order_relaxed);
        if (r == -ETIMEDOUT) break;
        r = 0;
        if (is_leaving(s, me)) break;
        if (USF_UNLIKELY(atomic_load_explicit(&s->h->stalled, memory_order_relaxed))) look_if_stalled(s, me);
    }
    return me->interrupted ? -EINTR : r;
}

static void wait_for_patch(struct sched *s)
{ while (USF_UNLIKELY(atomic_load_explicit(&s->patching, memory_order_relaxed))) os_futex_wait(&s->patching, 1, 0); }

void core_arrive(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    uint32_t core;
    /* A waker that is binding us may be a moment late; it must not bind us after we have gone on. */
    for (int i = 0; atomic_load(&t->park) == USF_PARK_PINNING && i < 10000; i++) os_pause();
    atomic_store_explicit(&t->park, USF_PARK_NONE, memory_order_relaxed);
    core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (core < s->h->nr_cores && atomic_load_explicit(&t->pinned, memory_order_relaxed) != core) {
        os_pin(0, s->cores[core].pol.cpu);      /* refused (the CPU left our cpuset): run where we are */
        atomic_store_explicit(&t->pinned, core, memory_order_relaxed);
    }
    me->where = SCHED_USER;
    wait_for_patch(s);
}

/* The core was taken before we got to use it. */
static void queue_again(struct sched *s, struct sched_self *me)
{
    struct kicks k = {0};
    if (!core_enter(s, me)) return;
    if (state_of(own(s, me)) == USF_TASK_IN_KERNEL) core_place(s, me->task, USF_WHY_RETURN, &k);
    core_leave(s, me, &k);
}

/* Nobody waits for a core for so long while the monitor is at work. */
#define LONG_WAIT_NS 1000000000ull

/* Park until the own task is put on a core, whatever happens. */
void core_wait_turn(struct sched *s, struct sched_self *me)
{
    uint32_t intr = me->interrupted;
    me->interrupted = 0;
    while (state_of(own(s, me)) != USF_TASK_RUNNING) {
        if (core_park(s, me, os_now() + LONG_WAIT_NS) == -ETIMEDOUT && s->look) s->look(s);
        if (is_leaving(s, me) || state_of(own(s, me)) == USF_TASK_GONE) {
            /* another thread is taking the process off: wait for what comes of it */
            if (core_enter(s, me)) core_leave(s, me, &(struct kicks){0});
            if (me->task == USF_NONE) {
                me->interrupted = intr;
                me->where = SCHED_USER;
                return;
            }
        }
        if (state_of(own(s, me)) == USF_TASK_IN_KERNEL) queue_again(s, me);
    }
    me->interrupted = intr;
    core_arrive(s, me);
}

/* ---- spinning before a block ------------------------------------------------------------------- */
/* The governor of each core: spinning pays while waits have lately been short.  After a long one a little of it
 * remains, to notice when they become short again. */

uint64_t sched_spin_budget(struct sched *s, struct sched_self *me)
{
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    if (sched_core_is_wanted(s) || core >= s->h->nr_cores) return 0;
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
    if (!me->spun) own(s, me)->n.polls++;
}

static void waited(struct sched_self *me, uint64_t ns)
{ me->wait_avg = (3 * me->wait_avg + (ns < 4 * SOFT_NS ? ns : 4 * SOFT_NS)) / 4; }

/* ---- block and wake --------------------------------------------------------------------------- */

static void stop_being_guest(struct sched *s, struct sched_self *me)
{
    me->short_bursts = 0;
    if (USF_LIKELY(!me->guest)) return;
    me->guest = 0;
    atomic_store_explicit(&own(s, me)->guest, 0, memory_order_relaxed);
}

int sched_block(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    struct usf_task *t = own(s, me);
    struct kicks k = {0};
    me->interrupted = 0;
    stop_being_guest(s, me);
    if (me->task == USF_NONE || !core_enter(s, me)) return -EINTR;
    if (atomic_load_explicit(&t->token, memory_order_relaxed)) {
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
    t->n.blocks++;
    uint64_t now = s->pol.now;
    bool given = had && core_give(s, core, me->task, core_pick(s, core, true), &k);
    if (had && !given && !me->spun && estimate(&s->cores[core].poll_ns)) {
        atomic_store(&s->cores[core].poller, me->task + 1);
        me->poll_core = core + 1;
    }
    me->spun = 0;
    me->where = SCHED_PARKED;
    core_leave(s, me, &k);
    USF_POINT("sched.blocked");

    if (me->poll_core) given = poll_core(s, me, deadline);
    if (given && me->wait_avg < SOFT_NS) park_softly(s, me, os_now());
    int r = core_park(s, me, deadline);
    if (r != -ETIMEDOUT || state_of(t) == USF_TASK_RUNNING) {
        if (r == -EINTR) {      /* the handler had a core, but a soft wait may have offered it since */
            core_wait_turn(s, me);
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
    core_take_lent(s, k);
}

void sched_wake(struct sched *s, struct sched_self *me, const uint32_t *tasks, unsigned n)
{
    for (unsigned batch; n; n -= batch, tasks += batch) {
        struct kicks k = {0};
        batch = n < KICKS_MAX / 2 ? n : KICKS_MAX / 2;
        if (!core_enter(s, me)) return;
        for (unsigned i = 0; i < batch; i++) {      /* woken before it blocked: the next block returns */
            struct usf_task *t = &s->tasks[tasks[i]];
            if (state_of(t) != USF_TASK_BLOCKED) atomic_store_explicit(&t->token, 1, memory_order_relaxed);
        }
        if (me->task != USF_NONE) own(s, me)->n.wakes += batch;
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
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (core >= s->h->nr_cores || !atomic_load_explicit(&s->swap, memory_order_relaxed)) return 0;
    struct usf_core *c = &s->cores[core];
    uint64_t start = os_cycles();
    uint64_t after = estimate(&c->soft_after), offers = estimate(&c->offers) + 1;
    if (start - estimate(&c->soft_seen) > OFFER_CYCLES || atomic_load_explicit(&t->pinned, memory_order_relaxed) != core)
        return 0;
    set_estimate(&c->offers, offers);
    if (offers % OFFERS == 0 || (after && after > os_now())) return 0;
    c->progress++;
    atomic_store_explicit(&t->why, USF_WHY_YIELD, memory_order_relaxed);
    me->where = SCHED_PARKED;
    atomic_exchange(&t->park, USF_PARK_SOFT);
    os_sched_yield();
    if (!leave_soft(s, me) || state_of(t) != USF_TASK_RUNNING) return -1;
    uint64_t took = os_cycles() - start, now;
    if (took > OFFER_LATE && atomic_load_explicit(&t->core, memory_order_relaxed) == core) {
        now = os_now();
        judge_softness(c, now - SOFT_LATE_NS - 1, now);
    }
    core_arrive(s, me);
    return 1;
}

/* Nobody is passed over for ever, whatever the trials say: one in so many turns goes to whoever comes first. */
#define VAIN_TURNS 16u
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
        s->cores[core].progress++;
        if (why == USF_WHY_YIELD && !s->ops.yield(&s->pol, core, me->task)) {
            core_leave(s, me, &k);
            return false;
        }
        uint32_t next = core_pick(s, core, why != USF_WHY_YIELD || me->vain % VAIN_TURNS == VAIN_TURNS - 1);
        if (next == USF_NONE) {
            me->vain++;
            core_leave(s, me, &k);
            return false;
        }
        me->vain = 0;
        core_set_state(s, me->task, ST(USF_TASK_RUNNING), USF_TASK_READY);
        core_give(s, core, me->task, next, &k);
        core_enqueue(s, me->task, why);
        core_fill_all(s, &k);
    }
    me->where = SCHED_PARKED;
    core_leave(s, me, &k);
    if (why == USF_WHY_YIELD && !waits_far(s, me)) park_softly(s, me, now);
    core_wait_turn(s, me);
    return true;
}

bool sched_yield_core(struct sched *s, struct sched_self *me, bool spin)
{
    struct usf_task *t = own(s, me);
    stop_being_guest(s, me);
    if (spin) t->n.spin_yields++;
    else t->n.yields++;
    if (!atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)
        && atomic_load_explicit(&t->state, memory_order_relaxed) == USF_TASK_RUNNING)
        return false;
    int taken = spin && me->far ? 0 : offer_turn(s, me);
    if (taken == 0) return give_way(s, me, USF_WHY_YIELD);
    if (taken < 0) {
        /* The kernel runs us: our turn again?  Nobody is to take it before we wait softly: park_softly's exchange
         * would hit the taker's TAKEN. */
        if (state_of(t) == USF_TASK_READY && !core_is_in_vain(s, me->task)) take_turn(s, me);
        if (state_of(t) != USF_TASK_RUNNING) park_softly(s, me, os_now());
        core_wait_turn(s, me);
    }
    return true;
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

void sched_preempt(struct sched *s, struct sched_self *me)
{
    if (!atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)) return;
    stop_being_guest(s, me);
    own(s, me)->n.preemptions++;
    give_way(s, me, USF_WHY_PREEMPT);
}

/* ---- system calls ----------------------------------------------------------------------------- */

#define GUEST_CALLS  64u        /* so many short bursts make a guest */
#define GUEST_BURST  150000u    /* cycles; a longer one ends it */

static void count_burst(struct sched *s, struct sched_self *me)
{
    if (os_cycles() - me->returned < GUEST_BURST) me->short_bursts++;
    else stop_being_guest(s, me);
}

static void unbind(struct sched *s, struct sched_self *me)
{
    struct os_cpuset cpus = {0};
    struct usf_task *t = own(s, me);
    const uint64_t *may = s->procs[t->proc].pol.cores;
    for (uint32_t i = 0; i < s->h->nr_cores; i++)
        if (may[i / 64] >> (i % 64) & 1) os_cpu_set(&cpus, s->cores[i].pol.cpu);
    os_setaffinity(0, &cpus);
    atomic_store_explicit(&t->pinned, USF_NONE, memory_order_relaxed);
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
    if (me->guest) unbind(s, me);
}

void sched_leave_core(struct sched *s, struct sched_self *me, bool certain)
{
    struct usf_task *t = own(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    me->where = SCHED_AWAY;
    if (certain) count_burst(s, me);
    if (USF_UNLIKELY(core >= s->h->nr_cores) || me->guest) return;
    struct usf_core *c = &s->cores[core];
    uint64_t w = atomic_load_explicit(&c->word, memory_order_relaxed);
    unsigned to = certain ? USF_CORE_AWAY : USF_CORE_LENT;
    if (core_state(w) != USF_CORE_RUNNING || core_task(w) != me->task) return;     /* taken unseen */
    if (!atomic_compare_exchange_strong(&c->word, &w, core_word(to, me->task, core_seq(w) + 1))) return;
    if (!certain) return;
    core_idle_set(s, core);
    USF_POINT("sched.away");
    if (me->short_bursts >= GUEST_CALLS) {
        become_guest(s, me, core);
    } else if (atomic_load(&s->h->nr_ready)) {
        struct kicks k = {0};
        if (!core_enter(s, me)) return;
        core_fill(s, core, &k);
        core_leave(s, me, &k);
    }
}

/* Take the core back if it is still ours.  A signal handler may do the same in the middle of this. */
static bool take_back(struct sched *s, struct sched_self *me, uint32_t core)
{
    if (USF_UNLIKELY(core >= s->h->nr_cores)) return false;
    struct usf_core *c = &s->cores[core];
    for (;;) {
        uint64_t w = atomic_load_explicit(&c->word, memory_order_relaxed);
        unsigned st = core_state(w);
        if (core_task(w) != me->task || st == USF_CORE_IDLE) return false;
        if (st == USF_CORE_RUNNING) return true;
        if (st == USF_CORE_AWAY) {
            core_idle_clear(s, core);
            me->returned = os_cycles();
        }
        if (atomic_compare_exchange_strong(&c->word, &w, core_word(USF_CORE_RUNNING, me->task, core_seq(w) + 1)))
            return true;
    }
}

static void return_as_guest(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    uint32_t burst = atomic_load_explicit(&t->guest, memory_order_relaxed) + 1;
    atomic_store_explicit(&t->guest, burst ? burst : 1, memory_order_relaxed);
    me->returned = os_cycles();
    me->where = SCHED_USER;
    wait_for_patch(s);
}

void sched_return_core(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    if (me->guest) return return_as_guest(s, me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (USF_LIKELY(take_back(s, me, core))) {
        me->where = SCHED_USER;
        if (USF_UNLIKELY(atomic_load_explicit(&s->patching, memory_order_relaxed))) core_arrive(s, me);
        return;
    }
    if (s->kernel) {
        me->where = SCHED_USER;
        return;
    }
    struct kicks k = {0};
    me->lost++;
    me->returned = os_cycles();
    if (!core_enter(s, me)) {
        if (core < s->h->nr_cores) core_idle_set(s, core);  /* a bit too many only makes somebody look */
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
    if (state_of(t) == USF_TASK_READY) take_turn(s, me);
    if (state_of(t) != USF_TASK_RUNNING && me->wait_avg < SOFT_NS) park_softly(s, me, now);
    core_wait_turn(s, me);
    waited(me, t->start_ns > now ? t->start_ns - now : 0);
    me->returned = os_cycles();
}

/* ---- signals ---------------------------------------------------------------------------------- */

void sched_interrupt(struct sched *s, struct sched_self *me)
{
    struct kicks k = {0};
    sched_stop_trials(s, me);
    leave_poll(s, me);
    leave_soft(s, me);
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
