/* tests/sched/race/actors.c - threads that exchange wakes, and what they do between two exchanges.  SPDX-License-Identifier: Apache-2.0 */
#include "race.h"
#include <limits.h>
#include <linux/futex.h>
#include <string.h>

/* ---- the core that a thread has ---------------------------------------------------------------- */

static struct { uint64_t visits; uint32_t owner; } user[USF_MAX_CORES];    /* plain: of whoever has the core */

void forget_users(void) { memset(user, 0, sizeof user); }

static bool has_core(struct thread *t, uint32_t core)
{
    uint64_t w = atomic_load_explicit(&t->v->s.cores[core].word, memory_order_relaxed);
    return core_state(w) == USF_CORE_RUNNING && core_task(w) == t->self.task;
}

/* Plain accesses: two threads on one core, or one that follows another without seeing what it did, are a race. */
void enter_core(struct thread *t)
{
    t->inside = true;
    if (!t->checked || sched_is_by_kernel(&t->v->s, &t->self)) return;
    uint32_t core = atomic_load_explicit(&t->v->s.tasks[t->self.task].core, memory_order_relaxed);
    CHECK(core < header->nr_cores);
    CHECK(atomic_load_explicit(&t->v->s.tasks[t->self.task].state, memory_order_relaxed) == USF_TASK_RUNNING);
    if (core >= USF_MAX_CORES) return;
    t->core = core;
    CHECK(has_core(t, core));
    CHECK(user[core].owner == 0);
    user[core].owner = t->self.task + 1;
    user[core].visits++;
}
void exit_core(struct thread *t)
{
    t->inside = false;
    if (!t->checked || sched_is_by_kernel(&t->v->s, &t->self)) return;
    CHECK(has_core(t, t->core));
    CHECK(user[t->core].owner == t->self.task + 1);
    user[t->core].owner = 0;
}

/* ---- futexes ------------------------------------------------------------------------------------- */

/* more: as futex(2), the time for those that wait, else the second number. */
static long futex(struct thread *t, _Atomic uint32_t *word, int op, uint32_t val, uint64_t more, _Atomic uint32_t *word2,
                  uint32_t val3)
{
    struct sync_timespec ts = {(int64_t)(more / 1000000000u), (int64_t)(more % 1000000000u)};
    bool waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
    const void *arg = !waits ? (void *)more : more ? &ts : 0;
    if (waits) exit_core(t);
    long r = sync_futex(&t->v->y, &t->sync, (uint32_t *)word, op | FUTEX_PRIVATE_FLAG, val, arg, (uint32_t *)word2, val3);
    if (waits) enter_core(t);
    if (waits) CHECK(r == 0 || r == -EAGAIN || r == -EINTR || (r == -ETIMEDOUT && more));
    else CHECK(r >= 0 || (r == -EAGAIN && op == FUTEX_CMP_REQUEUE));
    return r;
}

static void lock(struct thread *t, bool contended)
{
    uint32_t free = 0;
    if (!contended && atomic_compare_exchange_strong(&t->v->mutex, &free, 1)) return;
    while (atomic_exchange(&t->v->mutex, 2)) futex(t, &t->v->mutex, FUTEX_WAIT, 2, 0, 0, 0);
}
static void unlock(struct thread *t)
{ if (atomic_exchange(&t->v->mutex, 0) == 2) futex(t, &t->v->mutex, FUTEX_WAKE, 1, 0, 0, 0); }

static void section(struct thread *t)
{
    uint64_t x = t->rng;
    t->v->sections++;
    t->v->sum += x;
    if (below(t, 16) == 0) {
        exit_core(t);
        if (below(t, 2)) spin(t);
        else sched_yield_core(&t->v->s, &t->self, false);
        enter_core(t);
    }
    t->v->sum -= x;
}

static void use_futexes(struct thread *t)
{
    struct view *v = t->v;
    uint32_t n;
    switch (below(t, 6)) {
    case 0:
        lock(t, false);
        n = atomic_load(&v->cond);
        unlock(t);
        futex(t, &v->cond, FUTEX_WAIT_BITSET, n, os_now() + below(t, 300000) + 1, 0, 1u << below(t, 3));
        lock(t, true);
        section(t);
        unlock(t);
        break;
    case 1:
        atomic_fetch_add(&v->cond, 1);
        futex(t, &v->cond, FUTEX_WAKE_BITSET, below(t, 3) + 1, 0, 0, below(t, 7) + 1);
        break;
    case 2:
        lock(t, true);
        n = atomic_fetch_add(&v->cond, 1) + 1;
        futex(t, &v->cond, FUTEX_CMP_REQUEUE, 1, INT_MAX, &v->mutex, n);
        unlock(t);
        break;
    case 3:
        atomic_fetch_add(&v->ops, 1);
        futex(t, &v->cond, FUTEX_WAKE_OP, 1, 1, &v->box, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_GT, 0));
        break;
    default:
        lock(t, false);
        section(t);
        unlock(t);
    }
}

/* ---- exchanges ----------------------------------------------------------------------------------- */

static void post(struct thread *t, uint64_t k, bool by_futex)
{
    struct thread *p = t->partner;
    p->mail[k % 2] = k;
    if (by_futex) {
        atomic_fetch_add(&p->inbox, 1);
        futex(t, &p->inbox, FUTEX_WAKE, 1, 0, 0, 0);
    } else {
        atomic_fetch_add(&p->credit, 1);
        uint32_t id = atomic_load(&p->id);      /* it may have left and come back by now: a stray wake */
        if (id != USF_NONE) sched_wake(&t->v->s, &t->self, &id, 1);
    }
}

static void await(struct thread *t, bool by_futex)
{
    if (by_futex) {
        while (!atomic_load(&t->inbox)) futex(t, &t->inbox, FUTEX_WAIT, 0, 0, 0, 0);
        atomic_fetch_sub(&t->inbox, 1);
        return;
    }
    while (!atomic_load(&t->credit)) {
        exit_core(t);
        int r = sched_block(&t->v->s, &t->self, 0);
        CHECK(r == 0 || r == -EINTR);
        enter_core(t);
    }
    atomic_fetch_sub(&t->credit, 1);
}

static void exchange(struct thread *t)
{
    uint64_t k = atomic_load(&t->done) + 1;
    unsigned pair = (unsigned)(t - threads) / 2;
    bool by_futex = t->v == t->partner->v && mix(e.seed + k * 16 + pair) % 2;
    post(t, k, by_futex);
    await(t, by_futex);
    CHECK(t->mail[k % 2] == k);
    atomic_store(&t->done, k);
}

/* ---- other operations ---------------------------------------------------------------------------- */

static void attach(struct thread *t)
{
    t->self.task = USF_NONE;
    CHECK(sched_attach(&t->v->s, &t->self, (int)syscall(SYS_gettid), "race") == 0);
    t->attached = true;
    enter_core(t);
    atomic_store(&t->id, t->self.task);
}
static void detach(struct thread *t)
{
    atomic_store(&t->id, USF_NONE);
    exit_core(t);
    t->attached = false;
    sched_detach(&t->v->s, &t->self, false);
    CHECK(t->self.task == USF_NONE && t->self.crit == 0);
}

static void go_away(struct thread *t)
{
    exit_core(t);
    t->certain = below(t, 2);
    if (below(t, 4) == 0) t->self.bursts.in_row = 1000;     /* as one that does nothing else: it becomes kernel-scheduled */
    sched_leave_core(&t->v->s, &t->self, t->certain);
    if (below(t, 4) == 0) usleep(below(t, 300));
    USF_POINT("test.away");
    sched_return_core(&t->v->s, &t->self);
    enter_core(t);
}

static void wake_strays(struct thread *t)
{
    uint32_t id[5];
    unsigned n = 0;
    for (unsigned i = below(t, 5) + 1; i; i--)
        if ((id[n] = atomic_load(&threads[below(t, THREADS)].id)) != USF_NONE) n++;
    if (n) sched_wake(&t->v->s, &t->self, id, n);
}

static void block_for_a_while(struct thread *t)
{
    uint64_t deadline = os_now() + below(t, 200000);
    exit_core(t);
    sched_waits_for(&t->v->s, &t->self, USF_WAIT_FUTEX, deadline);
    int r = sched_block(&t->v->s, &t->self, deadline);
    CHECK(r == 0 || r == -EINTR || (r == -ETIMEDOUT && os_now() >= deadline));
    enter_core(t);
}

/* Groups come and go, while the threads that are in them do other things. */
static void use_groups(struct thread *t)
{
    struct sched *s = &t->v->s;
    _Atomic uint32_t *slot = &t->v->group[below(t, GROUPS)];
    const struct usf_group *first = sched_first_group(s);
    uint32_t task = below(t, 2) ? t->self.task : atomic_load(&threads[below(t, THREADS)].id), none = 0, group = atomic_load(slot);
    uint64_t wants[USF_CORE_WORDS] = {below(t, 16)};
    int r;
    exit_core(t);
    switch (below(t, 8)) {
    case 0: case 1:
        r = sched_group_make(s, &t->self, "race", 1 + below(t, 400), (int)below(t, 3) - 1, below(t, 2) ? wants : 0, below(t, 3));
        CHECK(r >= 0);
        if (!atomic_compare_exchange_strong(slot, &none, (uint32_t)r + 1)) CHECK(sched_group_end(s, &t->self, (uint32_t)r) == 0);
        break;
    case 2:
        if ((group = atomic_exchange(slot, 0)) != 0) CHECK(sched_group_end(s, &t->self, group - 1) == 0);
        break;
    case 3:
        if (!group) break;
        r = sched_group_adjust(s, &t->self, group - 1, 1 + below(t, 400), (int)below(t, 3) - 1, wants, below(t, 3));
        CHECK(r == 0 || r == -ESRCH);       /* another thread has ended it, and made another there */
        break;
    default:    /* the other thread, or the group, may be gone, or of the other process */
        r = sched_change_group(s, &t->self, task, group ? group - 1 : (uint32_t)(first - s->groups));
        CHECK(r == 0 || (r == -ESRCH && (group || task != t->self.task)));
    }
    enter_core(t);
}

static void something(struct thread *t)
{
    struct sched *s = &t->v->s;
    if (atomic_exchange_explicit(&t->signalled, false, memory_order_relaxed)) {
        exit_core(t);
        sched_preempt(s, &t->self);
        enter_core(t);
    }
    switch (below(t, 13)) {
    case 12: use_groups(t); break;
    case 0: case 1: case 2:
        exit_core(t);
        for (unsigned n = below(t, 6); n; n--)
            if (n & 1) spin(t);
            else sched_yield_core(s, &t->self, false);
        enter_core(t);
        break;
    case 3: case 4: go_away(t); break;
    case 5: block_for_a_while(t); break;
    case 6: if (e.strays) wake_strays(t); break;
    case 7:
        if (below(t, 8)) break;
        detach(t);
        usleep(below(t, 200));
        attach(t);
        break;
    default: use_futexes(t);
    }
}

void *run_actor(void *arg)
{
    struct thread *t = self = arg;
    point_rng = mix(t->rng);
    attach(t);
    while (atomic_load(&t->done) < e.exchanges) {
        for (unsigned n = below(t, 8); n; n--) something(t);
        exchange(t);
    }
    detach(t);
    atomic_fetch_add(&finished, 1);
    return 0;
}
