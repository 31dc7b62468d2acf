/* src/sched/recover.c - put an instance right after the holder of its lock died.  SPDX-License-Identifier: Apache-2.0
 *
 * The truth is in the records.  Dispatch writes a core's word first and the task's core and state after it,
 * giving up a core changes the task's state first and the word after it; so a core is rightly held exactly
 * if the task that its word names is RUNNING and names the core.  Everything else follows: cores
 * that are not rightly held are free, RUNNING tasks without a core are in the kernel, READY tasks are
 * queued anew. */
#include "policy/policy.h"
#include "sched/core.h"
#include "sched/lock.h"

static bool rightly_held(struct sched *s, uint32_t core, uint64_t w)
{
    uint32_t t = core_task(w);
    if (t >= atomic_load(&s->h->task_hwm)) return false;
    return atomic_load(&s->tasks[t].state) == USF_TASK_RUNNING && atomic_load(&s->tasks[t].core) == core;
}

static void mend_cores(struct sched *s)
{
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        struct usf_core *c = &s->cores[i];
        uint64_t w = atomic_load(&c->word);
        if (core_state(w) == USF_CORE_OFF) continue;
        core_idle_clear(s, i);
        if (core_state(w) != USF_CORE_IDLE && !rightly_held(s, i, w)) {
            uint64_t idle = core_word(USF_CORE_IDLE, USF_NONE, core_seq(w) + 1);
            if (atomic_compare_exchange_strong(&c->word, &w, idle)) w = idle;
        }
        unsigned st = core_state(atomic_load(&c->word));
        c->pol.current = st == USF_CORE_IDLE ? USF_NONE : core_task(w);
        if (st == USF_CORE_IDLE || st == USF_CORE_AWAY) core_idle_set(s, i);
    }
}

static void mend_tasks(struct sched *s)
{
    uint32_t ready = 0, hwm = atomic_load(&s->h->task_hwm);
    policy_wipe(&s->pol, s->pol.nr_procs, hwm);
    s->ops.init(&s->pol);
    for (uint32_t i = 0; i < s->pol.nr_procs; i++) {
        struct usf_proc *p = &s->procs[i];
        if (atomic_load(&p->state) == USF_PROC_FREE) continue;
        p->pol.nr_ready = p->pol.nr_tasks = 0;
        if (atomic_load(&p->state) != USF_PROC_JOINING) s->ops.proc_add(&s->pol, i);
    }
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_task *t = &s->tasks[i];
        unsigned st = atomic_load(&t->state);
        if (st == USF_TASK_FREE || st == USF_TASK_NEW || st == USF_TASK_GONE) continue;
        uint32_t taken = USF_PARK_TAKEN;    /* by the one that died */
        atomic_compare_exchange_strong(&t->park, &taken, USF_PARK_GO);
        s->procs[t->proc].pol.nr_tasks++;
        s->ops.task_add(&s->pol, i);
        if (st == USF_TASK_RUNNING && !s->kernel) {
            uint32_t core = atomic_load(&t->core);
            uint64_t w = core < s->h->nr_cores ? atomic_load(&s->cores[core].word) : 0;
            if (core_state(w) == USF_CORE_IDLE || core_task(w) != i) atomic_store(&t->state, USF_TASK_IN_KERNEL);
        }
        if (st != USF_TASK_READY) continue;
        policy_enqueue(&s->pol, &s->ops, i, USF_WHY_WAKE);
        s->procs[t->proc].pol.nr_ready++;
        ready++;
    }
    atomic_store(&s->h->nr_ready, ready);
}

/* Those that were put on a core, or were to be woken, by the one that died. */
static void wake_all(struct sched *s)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (uint32_t i = 0; i < hwm && !s->kernel; i++)
        if (atomic_load(&s->tasks[i].state) == USF_TASK_RUNNING) core_kick(s, i);
}

void sched_recover(struct sched *s, bool (*is_dead)(void *arg, uint32_t name), void *arg)
{
    struct kicks k = {0};
    uint32_t me = LOCK_NAME_MONITOR + s->space;
    bool seized = lock_recover(&s->h->lock, me, is_dead, arg);
    if (seized) {
        s->pol.now = os_now();
        s->pol.nr_procs = atomic_load(&s->h->proc_hwm);
        mend_cores(s);
        USF_POINT("sched.mend");
        mend_tasks(s);
        core_fill_all(s, &k);
    }
    lock_release(&s->h->lock, me);
    for (uint32_t i = 0; i < k.n; i++) core_kick(s, k.task[i]);
    if (seized) wake_all(s);
}
