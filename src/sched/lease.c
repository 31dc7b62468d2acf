/* src/sched/lease.c - yields without the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * Threads that yield to each other in a loop, as OpenMP's and BLAS's do while they wait, would take
 * the scheduler lock for each turn, all cores in turn.  So the lock's owner leases to a core the
 * yielders that the policy would run there next.  Until the lease ends, a thread that yields there
 * hands the core to the next of them, and queues behind the others.
 *
 *   E1  While a lease's word is OPEN or a name, its tasks are READY, and the policy does not have
 *       them.  They and the core's task are of one group, and of one rank.
 *   E2  The word is changed from OPEN by compare-and-swap only: by the thread that runs on the
 *       core, to its name while it gives way, and by the owner of the lock, to NONE.  So they
 *       exclude each other.
 *   E3  The owner of the lock ends all leases, and gives their tasks back to the policy, before
 *       anything else (core_enter).  A yield concerns its own core only, and may leave the other
 *       cores theirs: it treats their tasks as if they ran (others_keep).
 *   E4  If the lock's owner finds a name, it frees the lock, and tries again: a thread gives way in
 *       some 30 instructions, and 20 ns for each busy-wait that it probes.  If that thread has
 *       died, the monitor mends the instance as if it had died with the lock (recover.c): the order
 *       of its stores is the same.
 *
 * A thread that busy-waits gets the core only if its wait is over (probe.c).  If that is so for
 * none, the thread that runs goes on, and asks the policy at each LEASE_ASK-th look: the awaited
 * one may be another core's.
 *
 * No other task waits while a lease is made, and a thread that queues one ends all leases first
 * (a yield: that of its core).  So a lease decides only which of several equal yielders runs on
 * which core, for a short time. */
#include "policy/policy.h"
#include "sched/carrier.h"
#include "sched/lock.h"
#include "sched/ring.h"
#include "sched/thread.h"
#include "sched/times.h"
#include "sched/turn.h"

static struct usf_lease *lease_of(struct sched *s, uint32_t core) { return &s->cores[core].lease; }

static bool lease_is_valid(struct sched *s, uint32_t core)
{
    const struct usf_lease *l = lease_of(s, core);
    if (l->nr_tasks > USF_LEASE_TASKS || (l->nr_tasks && l->next >= l->nr_tasks)) return false;
    for (uint32_t i = 0; i < l->nr_tasks; i++) {
        if (l->task[i] >= s->h->max_tasks) return false;
        struct usf_task *t = &s->tasks[l->task[i]];
        if (state_of(t) != USF_TASK_READY || t->pol.held) return false;
    }
    return true;
}

/* ---- under the lock ---------------------------------------------------------------------------- */

static bool is_equal(const struct sched *s, uint32_t a, uint32_t b)
{
    const struct usf_pol_task *x = &s->tasks[a].pol, *y = &s->tasks[b].pol;
    return x->group == y->group && x->priority == y->priority && x->deadline == y->deadline;
}

static void step(struct usf_lease *l) { l->next = l->next + 1 == l->nr_tasks ? 0 : l->next + 1; }

/* Is a core idle that the policy may give to the task? */
static bool could_run_elsewhere(const struct sched *s, uint32_t task)
{
    const struct usf_pol_task *t = &s->tasks[task].pol;
    return core_has_idle(s, task, t->strict ? t->mask : 0);
}

/* May the task, which the policy would run on the core next, take turns there with `me`? */
static bool may_be_leased(struct sched *s, uint32_t task, uint32_t core, uint32_t me)
{
    const struct usf_task *t = &s->tasks[task];
    return is_equal(s, task, me) && !could_run_elsewhere(s, task) && (t->pol.last_core == core || t->pol.affinity == USF_AFFINITY_ANY)
           && atomic_load_explicit(&t->why, memory_order_relaxed) == USF_WHY_YIELD && atomic_load_explicit(&s->floating[task].self, memory_order_relaxed);
}

/* Only tasks of its group wait.  (One that has not yielded would be the policy's next choice:
 * lease_make.) */
static bool may_lease(struct sched *s, struct sched_self *me, uint32_t core)
{
    return s->ops.flags & USF_POLICY_LEASES && s->carriers && !s->no_leases && me->context && !trace_is_on(s)
           && sched_only_own_wait(s, me)
           && !usf_cores_has(s->h->lock.leases, core) && !could_run_elsewhere(s, me->task) && sched_is_bound(s);
}

/* The same number of tasks for each core that this one may use.  A core that has more leaves the
 * rest to the policy, which gives them to cores with fewer: as all of them yield, each task too
 * many costs its core a turn in each round. */
static uint32_t share(const struct sched *s, uint32_t task)
{
    const struct usf_pol_task *t = &s->tasks[task].pol;
    const uint64_t *cores = s->groups[t->group].pol.cores;
    uint32_t count = usf_cores_common(cores, t->strict ? t->mask : cores), each = count ? count : 1;
    uint32_t n = (atomic_load_explicit(&s->h->nr_ready, memory_order_relaxed) + each - 1) / each;
    return n < USF_LEASE_TASKS ? n : USF_LEASE_TASKS;
}

static void move_here(struct sched *s, uint32_t task, uint32_t core)
{
    struct usf_task *t = &s->tasks[task];
    core_count(&t->n.migrations, 1);
    t->pol.last_core = core;
    atomic_store_explicit(&t->core, core, memory_order_relaxed);
}

/* The next lease comes later, each time in a row. */
static void pause_for_longer(struct usf_lease *l)
{
    l->pause = l->pause < LEASE_PAUSE_MIN ? LEASE_PAUSE_MIN : 2 * l->pause > LEASE_PAUSE_MAX ? LEASE_PAUSE_MAX : 2 * l->pause;
    l->paused = l->pause;
}

void lease_make(struct sched *s, struct sched_self *me, uint32_t core, uint32_t running)
{
    struct usf_lease *l = lease_of(s, core);
    const char *bad = 0;
    /* A yielder runs there now, or the policy has found that all others are: none waits that it
     * would choose before them. */
    bool yielders = running == me->task || s->tasks[running].why == USF_WHY_YIELD;
    if (!yielders || !may_lease(s, me, core) || !is_equal(s, running, me->task) || could_run_elsewhere(s, running)) return;
    if (l->paused) {
        l->paused--;
        return;
    }
    uint32_t task, n = 0, most = share(s, me->task);
    while (n < most && (task = policy_pick(&s->pol, &s->ops, core, &bad)) != USF_NONE) {
        bool is_anothers = running == me->task && turn_is_anothers(&s->tasks[task].pol, core, s->tasks[task].why, s->pol.now);  /* see CORE_NEAR */
        if (is_anothers || !may_be_leased(s, task, core, me->task)) {
            policy_enqueue(&s->pol, &s->ops, task, s->tasks[task].why);
            break;
        }
        if (s->tasks[task].pol.last_core != core) move_here(s, task, core);
        l->task[n++] = (uint16_t)task;
    }
    if (USF_UNLIKELY(bad != 0)) {
        core_replace_policy(s, bad);    /* queues all READY tasks, these too */
        return;
    }
    if (!n) {
        pause_for_longer(l);
        return;
    }
    s->spinners_sure = false;       /* those that are leased do not count */
    l->nr_tasks = n;
    l->next = 0;
    l->until_ns = s->pol.now + LEASE_NS;
    l->ran_ns = 0;
    usf_cores_add(s->h->lock.leases, core);
    l->given = l->turns = n == USF_LEASE_TASKS ? n : LEASE_TURNS;      /* full: others wait for their turns after each round */
    usf_dassert(lease_is_valid(s, core));
    USF_POINT("lease.make");
    atomic_store_explicit(&l->word, USF_LEASE_OPEN, memory_order_release);
}

/* False: a thread is giving way there. */
static bool end_one(struct usf_lease *l)
{
    for (unsigned i = 0; i < LEASE_SPINS; i++) {
        uint32_t open = USF_LEASE_OPEN;
        if (atomic_load_explicit(&l->word, memory_order_relaxed) == USF_LEASE_NONE) return true;
        if (atomic_compare_exchange_strong_explicit(&l->word, &open, USF_LEASE_NONE, memory_order_acquire, memory_order_relaxed)) return true;
        os_pause();
    }
    return false;
}

/* May the other cores keep their leases while the thread yields?  Not if its own core was taken,
 * and it has to queue.  Nor when the policy is to look at other cores' tasks: once in LEASE_ALL
 * yields, and after a yield that found no task. */
static bool others_keep(struct sched *s, struct sched_self *me, uint32_t core)
{
    return core < s->h->nr_cores && state_of(own(s, me)) == USF_TASK_RUNNING && !me->unproductive && !could_run_elsewhere(s, me->task) && !trace_is_on(s)
           && s->policy_gen == atomic_load_explicit(&s->h->policy_gen, memory_order_relaxed) && ++lease_of(s, core)->yields % LEASE_ALL != 0;
}

struct usf_lease *lease_end(struct sched *s, struct sched_self *me, bool yields)
{
    struct usf_lease *busy = 0;
    uint32_t core = yields && me->task != USF_NONE ? atomic_load_explicit(&own(s, me)->core, memory_order_relaxed) : USF_NONE;
    if (yields && others_keep(s, me, core)) return end_one(lease_of(s, core)) ? 0 : lease_of(s, core);
    for (uint32_t c = 0; (c = usf_cores_next(s->h->lock.leases, c)) != USF_NONE; c++)
        if (!end_one(lease_of(s, c))) busy = lease_of(s, c);
    USF_POINT("lease.ended");
    return busy;
}

static void give_back(struct sched *s, uint32_t core)
{
    struct usf_lease *l = lease_of(s, core);
    uint32_t n = l->nr_tasks;
    usf_assert(n <= USF_LEASE_TASKS && (!n || l->next < n));
    usf_cores_remove(s->h->lock.leases, core);
    if (!n) return;
    core_group(s, l->task[0])->pol.busy_ns += l->ran_ns;
    if (l->given - l->turns < n) pause_for_longer(l);
    else l->pause = 0;
    s->spinners_sure = false;
    l->nr_tasks = 0;
    for (uint32_t i = 0, at = l->next; i < n; i++, at = at + 1 == n ? 0 : at + 1) {
        uint32_t task = l->task[at];
        usf_assert(task < s->h->max_tasks);
        if (s->tasks[task].pol.held) continue;
        policy_enqueue(&s->pol, &s->ops, task, USF_WHY_YIELD);
        probe_gives_way(s, task);
    }
}

void lease_give_back(struct sched *s)
{
    for (uint32_t c = 0; (c = usf_cores_next(s->h->lock.leases, c)) != USF_NONE; c++)
        if (atomic_load_explicit(&lease_of(s, c)->word, memory_order_relaxed) == USF_LEASE_NONE) give_back(s, c);
}

static void forget(struct sched *s)
{
    usf_cores_clear(s->h->lock.leases);
    for (uint32_t i = 0; i < s->h->nr_cores; i++) lease_of(s, i)->nr_tasks = 0;
}

/* If a thread gives way for so long, the policy gets a task that is leased, and the asserts find
 * it. */
void lease_drop(struct sched *s)
{
    if (USF_LIKELY(!usf_cores_any(s->h->lock.leases))) return;
    for (uint32_t i = 0; i < s->h->nr_cores; i++)
        for (unsigned n = 0; n < LEASE_DROPS && !end_one(lease_of(s, i)); n++) {}
    forget(s);
}

bool lease_mend(struct sched *s, bool all, bool (*is_dead)(void *arg, uint32_t name), void *arg)
{
    bool broken = false;
    /* At first, so that a stopped process that is continued for a moment does not begin anew. */
    for (uint32_t i = 0; i < s->h->nr_cores; i++) end_one(lease_of(s, i));
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        struct usf_lease *l = lease_of(s, i);
        uint32_t word;
        while ((word = atomic_load(&l->word)) != USF_LEASE_NONE) {
            bool dead = word == USF_LEASE_DEAD || (word != USF_LEASE_OPEN && is_dead(arg, word));
            if (word != USF_LEASE_OPEN && !dead) os_futex_wait(&l->word, word, os_now() + LEASE_SLEEP_NS);
            else if (atomic_compare_exchange_strong(&l->word, &word, USF_LEASE_NONE)) broken |= dead;
        }
    }
    if (broken || all) forget(s);
    return broken;
}

/* ---- without the lock -------------------------------------------------------------------------- */

/* The thread has the lease, and runs on the core.  Returns the task that has the core from
 * now on.  The order of the stores is dispatch's (recover.c). */
static uint32_t hand_over(struct sched *s, struct sched_self *me, uint32_t core, uint64_t now)
{
    struct usf_core *c = &s->cores[core];
    struct usf_lease *l = &c->lease;
    usf_assert(l->nr_tasks <= USF_LEASE_TASKS && l->next < l->nr_tasks && l->task[l->next] < s->h->max_tasks);
    uint32_t task = l->task[l->next];
    struct usf_task *t = own(s, me), *next = &s->tasks[task];
    uint64_t ran = now > c->pol.since ? now - c->pol.since : 0;
    me->entered = now;
    usf_assert(state_of(next) == USF_TASK_READY && !next->pol.held && next->pol.last_core == core && next->pol.group == t->pol.group);
    core_count(&t->n.busy_ns, ran);
    c->busy_ns += ran;
    l->ran_ns += ran;
    t->pol.ready_since = now;
    atomic_store_explicit(&t->since_ns, now, memory_order_relaxed);
    atomic_store_explicit(&t->why, USF_WHY_YIELD, memory_order_relaxed);
    core_pass_state(t, USF_TASK_RUNNING, USF_TASK_READY);
    USF_POINT("lease.ready");
    l->task[l->next] = (uint16_t)me->task;
    step(l);
    l->turns--;
    c->pol.current = task;
    c->pol.since = now;
    set_estimate(&c->progress, estimate(&c->progress) + 1);
    core_count(&next->n.switches, 1);
    next->start_ns = now;
    next->pol.ready_since = 0;
    atomic_store_explicit(&next->since_ns, now, memory_order_relaxed);
    atomic_store_explicit(&c->word, core_word(USF_CORE_RUNNING, task, core_seq(atomic_load_explicit(&c->word, memory_order_relaxed)) + 1), memory_order_release);
    USF_POINT("lease.put_on");
    core_pass_state(next, USF_TASK_READY, USF_TASK_RUNNING);     /* take_turn's swap is the order that core_set_state has */
    return task;
}

/* A thread without a core must not leave a critical section before it has queued for one: a handler
 * that was held back would run. */
static bool is_open_here(struct sched *s, struct sched_self *me)
{
    if (!s->carriers || me->task == USF_NONE || state_of(own(s, me)) != USF_TASK_RUNNING) return false;
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    return core < s->h->nr_cores && atomic_load_explicit(&lease_of(s, core)->word, memory_order_relaxed) == USF_LEASE_OPEN;
}

/* The thread has the lease.  Is there one among the next tasks whose busy-wait is over, or that is
 * in none that can be probed?  Those before it go behind the others. */
static bool find_useful(struct sched *s, struct usf_lease *l)
{
    for (uint32_t probes = 0; probes < l->nr_tasks && probes < LEASE_PROBES; probes++) {
        if (!core_is_unproductive(s, l->task[l->next])) return true;
        step(l);
    }
    return false;
}

/* In a critical section. */
static enum lease_turn take_turn(struct sched *s, struct sched_self *me, uint32_t *next)
{
    if (!is_open_here(s, me) || trace_is_on(s) || !carrier_may_leave(s, me)) return LEASE_NONE;
    enum lease_turn turn = LEASE_NONE;
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed), open = USF_LEASE_OPEN;
    uint32_t name = lock_name(me->task, s->proc, s->namespace), was = name;
    struct usf_lease *l = lease_of(s, core);
    uint64_t now = os_now();
    if (!atomic_compare_exchange_strong_explicit(&l->word, &open, name, memory_order_acquire, memory_order_relaxed)) return LEASE_NONE;
    USF_POINT("lease.named");
    bool has = state_of(own(s, me)) == USF_TASK_RUNNING && atomic_load_explicit(&own(s, me)->core, memory_order_relaxed) == core;
    if (has && l->turns && now < l->until_ns) turn = find_useful(s, l) ? LEASE_GAVE : LEASE_NOBODY;
    if (turn == LEASE_GAVE) *next = hand_over(s, me, core, now);
    /* It fails if this thread was taken for dead.  seq_cst: a waker changes the state, and reads
     * the park word after that. */
    atomic_compare_exchange_strong(&l->word, &was, USF_LEASE_OPEN);
    USF_POINT("lease.yielded");
    return turn;
}

enum lease_turn lease_yield(struct sched *s, struct sched_self *me)
{
    if (!is_open_here(s, me)) return LEASE_NONE;
    sched_crit_enter(me);       /* a handler may give way, or leave: what was looked at before does not count */
    uint32_t next;
    enum lease_turn turn = take_turn(s, me, &next);
    if (turn == LEASE_GAVE) {
        me->unproductive = 0;
        sched_set_where(me, SCHED_AT(SCHED_USER), SCHED_PARKED);
        if (!carrier_claims(s, me, next)) core_wake(s, next, false);
    }
    sched_crit_leave(s, me);
    if (turn == LEASE_GAVE) core_wait_turn(s, me);
    return turn;
}
