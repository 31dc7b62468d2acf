/* src/sched/recover.c - put an instance right after the holder of its lock died.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The truth is in the records.  Dispatch writes a core's word first and the task's core and state
 * after it, giving up a core changes the task's state first and the word after it; so a core is
 * rightly held exactly if the task that its word names is RUNNING and names the core.  Everything
 * else follows: cores that are not rightly held are free, RUNNING tasks without a core are in the
 * kernel, READY tasks are queued anew. */
#include "sched/core.h"
#include "sched/lock.h"

/* If the dead owner was taking a process off, that is completed here, so that none of the process's
 * cores counts as rightly held.  A process that has left by itself has no such tasks any more. */
static void end_leaving(struct sched *s)
{
    for (uint32_t i = 0, hwm = atomic_load(&s->h->task_hwm); i < hwm; i++) {
        struct usf_task *t = &s->tasks[i];
        unsigned st = atomic_load(&t->state);
        if (!usf_task_is_known(st)) continue;
        if (t->proc < USF_MAX_PROCS && atomic_load(&s->procs[t->proc].state) == USF_PROC_LEAVING) core_end_task(s, i);
    }
}

static void mend_cores(struct sched *s)
{
    for (uint32_t i = 0; i < s->h->nr_cores; i++) {
        struct usf_core *c = &s->cores[i];
        uint64_t w = atomic_load(&c->word);
        atomic_store(&c->poller, 0);    /* it may be one of those that are taken off; mail is delivered by wake_all */
        core_idle_clear(s, i);
        if (core_state(w) != USF_CORE_IDLE && !core_is_rightly_held(s, i, w)) {
            uint64_t idle = core_word(USF_CORE_IDLE, USF_NONE, core_seq(w) + 1);
            if (atomic_compare_exchange_strong(&c->word, &w, idle)) w = idle;
        }
        unsigned st = core_state(atomic_load(&c->word));
        c->pol.current = st == USF_CORE_IDLE ? USF_NONE : core_task(w);
        if (usf_core_is_free(st)) core_idle_set(s, i);
    }
}

static void mend_tasks(struct sched *s)
{
    uint32_t ready = 0, hwm = atomic_load(&s->h->task_hwm);
    core_mend_policy(s);
    if (s->policy_hung) core_drop_policy(s, SCHED_POLICY_HUNG);     /* it would hang us next */
    s->policy_hung = false;
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_task *t = &s->tasks[i];
        unsigned st = atomic_load(&t->state);
        if (!usf_task_is_known(st)) continue;
        core_group(s, i)->pol.nr_tasks++;
        if (st == USF_TASK_RUNNING && !s->kernel) {
            uint32_t core = atomic_load(&t->core);
            uint64_t w = core < s->h->nr_cores ? atomic_load(&s->cores[core].word) : 0;
            if (core_state(w) == USF_CORE_IDLE || core_task(w) != i) core_set_state(s, i, ST(USF_TASK_RUNNING), USF_TASK_IN_KERNEL);
        }
        if (st != USF_TASK_READY) continue;
        core_group(s, i)->pol.nr_ready++;
        ready++;
    }
    atomic_store(&s->h->nr_ready, ready);
    if (!core_tell_policy(s)) core_replace_policy(s, "its init has failed");
}

/* Wake the tasks that the dead owner has put on a core: it may not have woken them. */
static void wake_all(struct sched *s)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (uint32_t i = 0; i < hwm && !s->kernel; i++)
        if (atomic_load(&s->tasks[i].state) == USF_TASK_RUNNING) core_wake(s, i, false);
}

void sched_recover(struct sched *s, bool (*is_dead)(void *arg, uint32_t name), void *arg)
{
    NO_WAKES(k);
    uint32_t me = LOCK_NAME_MONITOR + s->namespace;
    if (core_stands_aside(s)) return;       /* a monitor of another container does it */
    bool seized = lock_recover(&s->h->lock, me, is_dead, arg);
    s->h->lock.had_by = 0;
    seized |= lease_mend(s, seized, is_dead, arg);
    if (seized) {
        s->pol.now = os_now();
        s->pol.nr_groups = atomic_load(&s->h->group_hwm);
        end_leaving(s);
        core_mend_groups(s);
        mend_cores(s);
        USF_POINT("sched.mend");
        mend_tasks(s);
        core_fill_all(s, &k);
    }
    if (seized) bind_choose(s);
    usf_xassert(core_is_sound(s, me));
    lock_release(&s->h->lock, me);
    for (uint32_t i = 0; i < k.n; i++) core_wake(s, k.task[i], false);
    if (seized) wake_all(s);
}

void sched_replace_policy(struct sched *s, const char *why, bool (*is_dead)(void *arg, uint32_t name), void *arg)
{
    lock_recover(&s->h->lock, LOCK_NAME_MONITOR + s->namespace, is_dead, arg);
    s->h->lock.had_by = 0;
    lease_mend(s, true, is_dead, arg);
    s->pol.now = os_now();
    s->pol.nr_groups = atomic_load(&s->h->group_hwm);
    core_replace_policy(s, why);
    /* The last owner may have left changes half done, and only a policy can complete them.  The
     * lock is still ours: sched_recover seizes it as from a predecessor, and completes them. */
    usf_lock_released(USF_RANK_SCHED);
    sched_recover(s, is_dead, arg);
}
