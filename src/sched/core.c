/* src/sched/core.c - dispatch: tasks onto cores.  SPDX-License-Identifier: Apache-2.0 */
#include "sched/core.h"
#include "policy/policy.h"
#include "sched/carrier.h"
#include "sched/lock.h"
#include "sched/ring.h"
#include "sched/turn.h"

/* Legal transitions: from -> set of to.  docs/design.md draws them. */
const uint16_t core_edges[USF_TASK_STATES] = {
    [USF_TASK_FREE] = ST(USF_TASK_NEW),
    [USF_TASK_NEW] = ST(USF_TASK_READY) | ST(USF_TASK_RUNNING) | ST(USF_TASK_GONE) | ST(USF_TASK_FREE),
    [USF_TASK_READY] = ST(USF_TASK_RUNNING) | ST(USF_TASK_GONE),
    [USF_TASK_RUNNING] = ST(USF_TASK_READY) | ST(USF_TASK_BLOCKED) | ST(USF_TASK_IN_KERNEL) | ST(USF_TASK_GONE),
    [USF_TASK_BLOCKED] = ST(USF_TASK_READY) | ST(USF_TASK_GONE),
    [USF_TASK_IN_KERNEL] = ST(USF_TASK_READY) | ST(USF_TASK_BLOCKED) | ST(USF_TASK_BY_KERNEL) | ST(USF_TASK_GONE),
    [USF_TASK_BY_KERNEL] = ST(USF_TASK_READY) | ST(USF_TASK_BLOCKED) | ST(USF_TASK_GONE),
    [USF_TASK_GONE] = ST(USF_TASK_FREE),
};

void core_set_state(struct sched *s, uint32_t task, unsigned from_mask, unsigned to)
{
    unsigned from = atomic_load_explicit(&s->tasks[task].state, memory_order_relaxed);
    usf_xassert(usf_lock_is_held(USF_RANK_SCHED));
    usf_assert(from < USF_TASK_STATES && (ST(from) & from_mask) && (core_edges[from] & ST(to)));
    atomic_store_explicit(&s->tasks[task].since_ns, s->pol.now, memory_order_relaxed);
    if (trace_is_on(s))
        trace_locked(s, TRACE_STATE, from | to << 8, task, atomic_load_explicit(&s->tasks[task].core, memory_order_relaxed), 0);
    /* A sleeper writes its park word and then reads the state; a waker writes the state and then
     * reads the park word (core_park).  So both need the total order.  No thread waits for READY or
     * BLOCKED. */
    atomic_store_explicit(&s->tasks[task].state, to, to == USF_TASK_READY || to == USF_TASK_BLOCKED ? memory_order_release : memory_order_seq_cst);
}

/* ---- lock ------------------------------------------------------------------------------------- */

/* Another thread has taken the process off, or is about to. */
static bool is_off(struct sched *s, struct sched_self *me)
{
    if (me->joining) return false;
    if (atomic_load_explicit(&s->leaving, memory_order_relaxed)) return true;
    return me->task != USF_NONE
           && atomic_load_explicit(&s->tasks[me->task].state, memory_order_relaxed) == USF_TASK_GONE;
}

static bool has_left(struct sched *s, struct sched_self *me)
{ return atomic_load_explicit(&s->leaving, memory_order_relaxed) == SCHED_LEFT && !me->joining; }

static void give_up_record(struct sched *s, struct sched_self *me)
{
    while (!me->joining && atomic_load(&s->leaving) == SCHED_LEAVING) os_futex_wait(&s->leaving, SCHED_LEAVING, 0);
    /* The runtime attaches anew if we go on at all, and are scheduled then.  A handler may have done
     * so, since the lock was released. */
    sched_crit_enter(me);
    if (me->joining || is_off(s, me)) me->task = USF_NONE;
    sched_crit_leave(s, me);
}

static bool look_is_due(const struct sched *s, uint64_t now)
{ return now - atomic_load_explicit(&s->h->namespace[s->namespace].looked, memory_order_relaxed) > MONITOR_LOOK_NS; }

static void note_look(struct sched *s, uint64_t now)
{ atomic_store_explicit(&s->h->namespace[s->namespace].looked, now, memory_order_relaxed); }

/* Without the lock: if two find it due at once, both look. */
bool sched_look_is_due(struct sched *s)
{
    uint64_t now = os_now();
    if (!look_is_due(s, now)) return false;
    note_look(s, now);
    return true;
}

/* Choose the lock-owner name.  False: the process is off at the moment, and the thread has no name
 * of its own.  It must not take the name of the monitor, which is for threads without a process:
 * the monitor would believe that its predecessor has died with the lock. */
static bool find_name(struct sched *s, struct sched_self *me)
{
    uint32_t proc;
    do {
        proc = s->proc;
        if (me->task == USF_NONE && proc == USF_NONE && !me->joining && atomic_load(&s->leaving) != SCHED_STAYS) return false;
    } while (proc != s->proc);
    me->lock_name = lock_name(me->task, proc, s->namespace);
    return true;
}

static void release_lock(struct sched *s, struct sched_self *me)
{
    bind_choose(s);
    usf_xassert(core_is_sound(s, me->lock_name));
    lock_release(&s->h->lock, me->lock_name);
}

/* Wait for a thread that gives way with a lease.  It may be preempted in that, or have died.
 * False: this process is to go on unscheduled. */
static bool await_lease(struct usf_lease *l, uint64_t *stuck)
{
    uint64_t now = os_now();
    uint32_t name = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (name == USF_LEASE_NONE || name == USF_LEASE_OPEN) return true;
    for (unsigned i = 0; i < LEASE_SPINS; i++) {
        if (atomic_load_explicit(&l->word, memory_order_relaxed) != name) return true;
        os_pause();
    }
    if (!*stuck) *stuck = now + LOCK_STUCK_NS;
    if (now >= *stuck) {
        *stuck = now + LOCK_STUCK_NS;
        if (usf_lock_on_stuck && usf_lock_on_stuck(name)) return false;
    }
    USF_POINT("lease.awaited");
    os_futex_wait(&l->word, name, now + LEASE_SLEEP_NS);    /* no thread wakes it: it ends by its time limit */
    return true;
}

/* Take the lock, and end all leases; yields: other cores may keep theirs. */
static bool own_all(struct sched *s, struct sched_self *me, bool yields)
{
    uint64_t stuck = 0;
    while (lock_acquire(&s->h->lock, me->lock_name)) {
        struct usf_lease *busy;
        if (USF_LIKELY(!usf_cores_any(s->h->lock.leases)) || !(busy = lease_end(s, me, yields))) return true;
        lock_release(&s->h->lock, me->lock_name);
        if (!await_lease(busy, &stuck)) break;
    }
    return false;
}

static bool enter(struct sched *s, struct sched_self *me, bool yields)
{
    sched_crit_enter(me);
    if (USF_UNLIKELY(s->trace_gen != atomic_load_explicit(&s->h->trace, memory_order_relaxed)) && s->follow) s->follow(s);
    bool mine = !has_left(s, me) && find_name(s, me) && own_all(s, me, yields);
    if (USF_UNLIKELY(!mine || is_off(s, me))) {
        if (mine) release_lock(s, me);
        sched_crit_leave(s, me);
        give_up_record(s, me);
        return false;
    }
    uint32_t by = s->proc + 1;
    if (s->h->lock.had_by != by) {
        s->h->lock.had_by = by;
        s->spinners_sure = false;
    }
    me->entered = s->pol.now = os_now();
    s->pol.nr_groups = atomic_load_explicit(&s->h->group_hwm, memory_order_relaxed);
    if (USF_UNLIKELY(s->pol.now - s->h->moved_ns > LOCK_MOVED_NS)) s->h->moved_ns = s->pol.now;
    if (USF_UNLIKELY(look_is_due(s, s->pol.now) || s->pol.now - s->monitor_looked > MEMBER_LOOK_NS) && s->look_for_monitor) {
        note_look(s, s->pol.now);
        s->monitor_looked = s->pol.now;
        me->monitor_look = 1;
    }
    if (USF_UNLIKELY(s->policy_gen != atomic_load_explicit(&s->h->policy_gen, memory_order_relaxed)))
        if (!core_follow_policy(s)) {
            release_lock(s, me);
            sched_crit_leave(s, me);
            return false;
        }
    if (USF_UNLIKELY(usf_cores_any(s->h->lock.leases))) lease_give_back(s);
    USF_POINT("sched.locked");
    return true;
}

bool core_enter(struct sched *s, struct sched_self *me) { return enter(s, me, false); }
bool core_enter_to_yield(struct sched *s, struct sched_self *me) { return enter(s, me, true); }

static void wake_if_asleep(struct usf_header *h)
{
    if (atomic_load_explicit(&h->monitor_asleep, memory_order_relaxed) && atomic_exchange(&h->monitor_asleep, 0)) sched_tell_monitor(h);
}

/* Must the monitor be woken after what has been done under the lock? */
static bool monitor_is_needed(struct sched *s, const struct wakes *k)
{
    uint32_t asleep = atomic_load_explicit(&s->h->monitor_asleep, memory_order_relaxed);
    if (!asleep) return false;
    return (k->started && asleep & USF_MONITORS_ASLEEP) || atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed) != 0;
}

void core_leave(struct sched *s, struct sched_self *me, struct wakes *k)
{
    bool watch = monitor_is_needed(s, k), told = s->tell[0];
    char tell[sizeof s->tell];
    if (USF_UNLIKELY(told)) {       /* not written under the lock: the reader of our standard error may be stopped */
        __builtin_memcpy(tell, s->tell, sizeof tell);
        s->tell[0] = 0;
    }
    USF_POINT("sched.unlock");
    release_lock(s, me);
    USF_POINT("sched.unlocked");
    if (USF_UNLIKELY(told)) usf_warn("%s", tell);
    for (uint32_t i = 0; i < k->n; i++)
        if (k->task[i] != me->task && !carrier_claims(s, me, k->task[i])) core_wake(s, k->task[i], false);
    if (watch) wake_if_asleep(s->h);
    if (USF_UNLIKELY(me->monitor_look)) {
        me->monitor_look = 0;
        s->look_for_monitor(s);
    }
    sched_crit_leave(s, me);
}

/* ---- idle mask -------------------------------------------------------------------------------- */
/* A bit is cleared before the compare-and-swap that takes the core and set after the one that frees
 * it. A thread whose compare-and-swap fails sets the bit again if the core is free.  So a free core
 * may lack its bit for a moment, but the thread that has cleared it is about to look. */

void core_idle_set(struct sched *s, uint32_t core)
{ atomic_fetch_or(&s->h->idle[core / 64], 1ull << (core % 64)); }
void core_idle_clear(struct sched *s, uint32_t core)
{ atomic_fetch_and(&s->h->idle[core / 64], ~(1ull << (core % 64))); }

static bool idle_mask(struct sched *s, const struct usf_pol_group *g, bool anywhere, uint64_t out[USF_CORE_WORDS])
{
    uint64_t any = 0;
    for (unsigned i = 0; i < USF_CORE_WORDS; i++)
        any |= out[i] = atomic_load(&s->h->idle[i]) & g->cores[i];
    return any && (!anywhere || contend_avoid(s, g->cores, out));
}

/* ---- stop, start ------------------------------------------------------------------------------ */

void core_pause(struct sched *s, uint32_t core, uint32_t task)
{
    struct usf_core *c = &s->cores[core];
    struct usf_task *t = &s->tasks[task];
    uint64_t ran = s->pol.now > c->pol.since ? s->pol.now - c->pol.since : 0;
    core_count(&t->n.busy_ns, ran);
    c->busy_ns += ran;
    core_group(s, task)->pol.busy_ns += ran;
    c->pol.current = USF_NONE;
    s->ops.stopped(&s->pol, core, task);
}

void core_resume(struct sched *s, uint32_t core, uint32_t task)
{
    struct usf_core *c = &s->cores[core];
    c->pol.current = task;
    c->pol.since = s->pol.now;
    usf_give_way(&c->pol, 0);
    usf_keep(&c->pol, 0);
    s->ops.started(&s->pol, core, task);
}

/* Choose how long the next thread polls that leaves the core idle without having spun before. */
static void govern(struct sched *s, struct usf_core *c)
{
    uint64_t idle = s->pol.now > c->idle_since ? s->pol.now - c->idle_since : 0;
    c->idle_ns += idle;
    atomic_store_explicit(&c->poll_ns, core_look_ns(s, c), memory_order_relaxed);
}

static void started(struct sched *s, uint32_t core, uint32_t task, struct wakes *k)
{
    struct usf_core *c = &s->cores[core];
    struct usf_task *t = &s->tasks[task];
    uint32_t p = atomic_load_explicit(&c->poller, memory_order_relaxed);

    k->started = true;

    if (t->pol.last_core != core && t->pol.last_core != USF_NONE) core_count(&t->n.migrations, 1);
    core_count(&t->n.switches, 1);
    t->start_ns = s->pol.now;
    t->pol.last_core = core;
    t->pol.ready_since = 0;
    atomic_store_explicit(&t->core, core, memory_order_relaxed);
    if (usf_borrows(&s->pol, t->pol.group, core)) s->groups[t->pol.group].borrowed++;
    core_resume(s, core, task);
    core_set_state(s, task, ST(USF_TASK_READY), USF_TASK_RUNNING);

    if (p && !(p & USF_MAIL)) {
        /* The poller sees its own state change by itself, and wakes another task for us, on its
         * core. */
        uint32_t to = p - 1 == task ? 0 : USF_MAIL | (task + 1);
        if (atomic_compare_exchange_strong(&c->poller, &p, to)) {
            USF_POINT("sched.mail");
            return;
        }
    }
    usf_assert(k->n < WAKES_MAX);
    k->task[k->n++] = task;
}

static void go_idle(struct sched *s, uint32_t core, uint64_t word)
{
    struct usf_core *c = &s->cores[core];
    c->idle_since = s->pol.now;
    atomic_store(&c->word, core_word(USF_CORE_IDLE, USF_NONE, core_seq(word) + 1));
    core_idle_set(s, core);
}

static void put_on(struct sched *s, uint32_t core, uint64_t word, uint32_t task, struct wakes *k)
{
    atomic_store_explicit(&s->cores[core].word, core_word(USF_CORE_RUNNING, task, core_seq(word) + 1), memory_order_release);
    USF_POINT("sched.put_on");
    started(s, core, task, k);
}

bool core_give(struct sched *s, uint32_t core, uint32_t task, uint32_t next, struct wakes *k)
{
    /* Its caller may have told the policy already that the task does not run. */
    usf_dassert(s->cores[core].pol.current == USF_NONE || core_is_valid(s, core));
    uint64_t w = atomic_load(&s->cores[core].word);
    usf_assert(core_state(w) == USF_CORE_RUNNING && core_task(w) == task);
    core_pause(s, core, task);
    USF_POINT("sched.stopped");
    if (next != USF_NONE) {
        put_on(s, core, w, next, k);
        usf_dassert(core_is_valid(s, core));
        return true;
    }
    go_idle(s, core, w);
    usf_dassert(core_is_valid(s, core));
    return false;
}

void core_drop(struct sched *s, uint32_t core, uint32_t task)
{
    uint64_t w = atomic_load(&s->cores[core].word);
    if (core_task(w) != task || core_state(w) == USF_CORE_IDLE) return;
    core_pause(s, core, task);
    go_idle(s, core, w);    /* a store: the task's thread may be about to change the word, too */
}

/* The task has lost the core: its thread queues for one when it comes back. */
static void lose_core(struct sched *s, uint32_t core, uint32_t task)
{
    core_pause(s, core, task);
    core_set_state(s, task, ST(USF_TASK_RUNNING), USF_TASK_IN_KERNEL);
    core_count(&s->tasks[task].n.lost_in_calls, 1);
}

bool core_take(struct sched *s, uint32_t core, uint64_t word, struct wakes *k)
{
    struct usf_core *c = &s->cores[core];
    uint32_t owner = core_task(word);
    uint64_t idle = core_word(USF_CORE_IDLE, USF_NONE, core_seq(word) + 1);
    usf_dassert(core_is_valid(s, core));
    core_idle_clear(s, core);
    if (!atomic_compare_exchange_strong(&c->word, &word, idle)) {
        if (usf_core_is_free(core_state(word))) core_idle_set(s, core);
        return false;
    }
    USF_POINT("sched.take");
    lose_core(s, core, owner);
    if (core_state(word) == USF_CORE_RUNNING && !sched_is_provisional(&s->tasks[owner])) {
        /* Its thread may have been on its way to the core, asleep or stopped: it must see that it
         * has to queue again. */
        core_rouse(sched_thread_of(s, owner));
    }
    c->idle_since = s->pol.now;
    core_idle_set(s, core);
    usf_dassert(core_is_valid(s, core));
    core_fill(s, core, k);
    return true;
}

/* A provisional release leaves no time stamp.  The first thread that sees it while tasks wait notes
 * the time; a later look, of a waker or the monitor, takes the core when it is due. */
static bool is_due(struct sched *s, struct usf_core *c, uint64_t w, uint64_t release)
{
    if (c->release_word == w && c->release_seen == release) return s->pol.now - c->release_since >= s->h->lend_ns;
    c->release_word = w;
    c->release_seen = release;
    c->release_since = s->pol.now;
    return false;
}

bool core_take_provisional(struct sched *s, struct wakes *k)
{
    bool all = true;
    s->h->release_looked = s->pol.now;
    for (uint32_t i = 0; i < s->h->nr_cores && k->n < WAKES_MAX - 2; i++) {
        struct usf_core *c = &s->cores[i];
        uint64_t w = atomic_load_explicit(&c->word, memory_order_relaxed);
        if (core_state(w) != USF_CORE_RUNNING) continue;
        struct usf_task *t = &s->tasks[core_task(w)];
        uint64_t release = atomic_load_explicit(&t->release, memory_order_relaxed);
        if (!(release & USF_RELEASE_PROVISIONAL)) continue;
        if (!atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)) return true;
        if (!(release & USF_RELEASE_TAKEN)) {       /* else a taker has died in the middle of this */
            if (!is_due(s, c, w, release)) {
                all = false;
                continue;
            }
            if (!atomic_compare_exchange_strong(&t->release, &release, release | USF_RELEASE_TAKEN)) continue;
            USF_POINT("sched.release_taken");
        }
        core_take(s, i, w, k);
    }
    return all;
}

void core_look_for_provisional(struct sched *s, struct wakes *k)
{
    if (s->pol.now - s->h->release_looked >= s->h->lend_ns / PROVISIONAL_LOOK_PART) core_take_provisional(s, k);
}

/* Put the task on the core if it is (still) free. */
static bool claim(struct sched *s, uint32_t core, uint32_t task, struct wakes *k)
{
    struct usf_core *c = &s->cores[core];
    usf_dassert(core_is_valid(s, core));
    core_idle_clear(s, core);
    for (;;) {
        uint64_t w = atomic_load(&c->word);
        if (!usf_core_is_free(core_state(w))) return false;
        if (!atomic_compare_exchange_strong(&c->word, &w,
                                            core_word(USF_CORE_RUNNING, task, core_seq(w) + 1)))
            continue;
        USF_POINT("sched.claimed");
        if (core_state(w) == USF_CORE_RELEASED) lose_core(s, core, core_task(w));
        else govern(s, c);
        started(s, core, task, k);
        usf_dassert(core_is_valid(s, core));
        return true;
    }
}

/* ---- queues ----------------------------------------------------------------------------------- */

static void queued(struct sched *s, uint32_t task)
{
    core_group(s, task)->pol.nr_ready++;
    atomic_store(&s->h->nr_ready, atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed) + 1);
}

static void unqueued(struct sched *s, uint32_t task)
{
    if (s->spinners_sure) s->spinners_sure = false;
    core_group(s, task)->pol.nr_ready--;
    /* Only the lock's owner changes it, and a value that is too large only makes others look once
     * more. */
    atomic_store_explicit(&s->h->nr_ready, atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed) - 1, memory_order_release);
}

void core_enqueue(struct sched *s, uint32_t task, enum usf_why why)
{
    s->tasks[task].pol.ready_since = s->pol.now;
    atomic_store_explicit(&s->tasks[task].why, why, memory_order_relaxed);
    policy_enqueue(&s->pol, &s->ops, task, why);
    if (trace_is_on(s)) trace_locked(s, TRACE_QUEUED, why, task, 0, 0);
    USF_POINT("sched.enqueued");
    queued(s, task);
}

void core_dequeue(struct sched *s, uint32_t task)
{
    policy_dequeue(&s->pol, &s->ops, task);
    unqueued(s, task);
}

static uint32_t checked_pick(struct sched *s, uint32_t core)
{
    const char *why = 0;
    while (atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)) {
        uint32_t t = policy_pick(&s->pol, &s->ops, core, &why);
        if (!why) {
            /* Else the records contradict each other: the policy holds what it was given. */
            usf_assert(t == USF_NONE || atomic_load_explicit(&s->tasks[t].state, memory_order_relaxed) == USF_TASK_READY);
            return t;
        }
        core_replace_policy(s, why);
    }
    return USF_NONE;
}

uint32_t core_pick(struct sched *s, uint32_t core, enum core_need need)
{
    uint32_t left = atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed), task;
    if (need != CORE_POLICY && probe_is_enough(s)) {
        if ((task = probe_pick(s, core)) != USF_NONE) return task;
        if (need != CORE_ANY) return USF_NONE;
        left = 1;
    }
    if (left > PROBES_MAX) left = PROBES_MAX;
    while ((task = checked_pick(s, core)) != USF_NONE) {
        bool last = left-- <= 1;
        bool left_alone = need == CORE_NEAR && turn_is_anothers(&s->tasks[task].pol, core, s->tasks[task].why, s->pol.now);
        if ((last && need <= CORE_ANY) || (!left_alone && !core_is_unproductive(s, task))) {
            unqueued(s, task);
            return task;
        }
        USF_POINT("sched.unproductive");
        /* Keep ready_since when a task was skipped for locality; otherwise its age never reaches
         * YIELD_LEFT_NS. */
        if (!left_alone) s->tasks[task].pol.ready_since = s->pol.now;
        policy_enqueue(&s->pol, &s->ops, task, USF_WHY_YIELD);
        if (last) break;
    }
    return USF_NONE;
}

void core_fill(struct sched *s, uint32_t core, struct wakes *k)
{
    struct usf_core *c = &s->cores[core];
    usf_dassert(core_is_valid(s, core));
    while (usf_core_is_free(core_state(atomic_load(&c->word))) && k->n < WAKES_MAX - 2) {
        uint32_t owner = c->pol.current, t;     /* the policy sees a RELEASED core as a free one */
        c->pol.current = USF_NONE;
        t = core_pick(s, core, CORE_ANY);
        c->pol.current = owner;
        if (t == USF_NONE) return;
        if (claim(s, core, t, k)) return;
        /* The owner came back in between: the task goes to the end of the queue. */
        core_enqueue(s, t, USF_WHY_WAKE);
    }
}

void core_fill_all(struct sched *s, struct wakes *k)
{
    uint64_t idle[USF_CORE_WORDS], all[USF_CORE_WORDS] = {0}, any = 0;
    for (uint32_t i = 0; i < USF_CORE_WORDS; i++) any |= idle[i] = atomic_load(&s->h->idle[i]);
    if (!any) return;
    usf_cores_fill(all, s->h->nr_cores);
    if (!contend_avoid(s, all, idle)) return;
    for (uint32_t i = 0; i < USF_CORE_WORDS; i++)
        for (uint64_t m = idle[i]; m && k->n < WAKES_MAX - 2; m &= m - 1) {
            if (!atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed)) return;
            core_fill(s, i * 64 + (uint32_t)__builtin_ctzll(m), k);
        }
}

void core_place(struct sched *s, uint32_t task, enum usf_why why, struct wakes *k)
{
    struct usf_task *t = &s->tasks[task];
    const struct usf_pol_group *g = &core_group(s, task)->pol;
    uint64_t idle[USF_CORE_WORDS], tried[USF_CORE_WORDS] = {0};
    /* A thread that returns from a call runs already. */
    bool anywhere = t->pol.affinity == USF_AFFINITY_ANY && why != USF_WHY_RETURN;

    core_set_state(s, task, ST(USF_TASK_NEW) | ST(USF_TASK_BLOCKED) | WITHOUT_CORE, USF_TASK_READY);
    t->why = why;
    while (k->n < WAKES_MAX - 2 && idle_mask(s, g, anywhere, idle)) {
        const char *bad = 0;
        uint64_t any = 0;
        for (unsigned i = 0; i < USF_CORE_WORDS; i++) any |= idle[i] &= ~tried[i];
        if (!any) break;
        uint32_t c = policy_select(&s->pol, &s->ops, task, idle, &bad);
        if (bad) {
            core_replace_policy(s, bad);    /* queues all READY tasks, this one too */
            queued(s, task);
            core_fill_all(s, k);
            return;
        }
        if (c == USF_NONE) break;
        if (claim(s, c, task, k)) return;
        tried[c / 64] |= 1ull << (c % 64);
    }
    core_enqueue(s, task, why);
    /* A core may have become free between the look and the count: its owner saw no task waiting. */
    if (idle_mask(s, g, anywhere, idle)) core_fill_all(s, k);
    else core_look_for_provisional(s, k);
}
