/* src/sched/confine.c - a process may use other CPUs than when it joined, or fewer.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A cpuset changes while programs run in it, a CPU goes offline.  The kernel moves the threads that
 * were bound there, and refuses to bind others: two owners of cores would share a CPU while another
 * is idle.  So cores whose CPUs are gone get no threads of the process any more, until they come
 * back.  The process finds out which these are, the monitor sees to it.
 *
 * A CPU quota allows so much time in each period, whatever the CPU: with more threads at work than
 * that, all of them are stopped for the rest of the period, in the middle of whatever others wait
 * for.  So the processes of a control group get as many cores as its quota comes to, all of them
 * the same ones. */
#include "sched/core.h"

/* ---- what the process may use ------------------------------------------------------------------ */

bool core_of_cpus(struct sched *s, const struct os_cpuset *cpus, uint64_t cores[USF_CORE_WORDS])
{
    usf_cores_clear(cores);
    for (uint32_t c = 0; c < s->h->nr_cores; c++)
        if (os_cpu_isset(cpus, s->cores[c].pol.cpu)) usf_cores_add(cores, c);
    return usf_cores_any(cores);
}

bool sched_follow_cpus(struct sched *s, struct sched_self *me, void (*choose)(struct os_cpuset *cpus))
{
    struct os_cpuset now;
    uint64_t cores[USF_CORE_WORDS];
    bool any = true, changed = false;
    if (atomic_load(&s->leaving) || s->proc == USF_NONE) return true;
    /* To find out what is allowed changes the thread's own mask for a moment, so no other thread
     * may bind this one meanwhile. The lock prevents that: cores are given out under it, and the
     * monitor takes it to bind a thread that runs. */
    if (!core_enter(s, me)) return true;
    if (os_cpuset_allowed(&now) == 0) {
        struct usf_proc *p = &s->procs[s->proc];
        choose(&now);
        any = core_of_cpus(s, &now, cores);
        changed = any && !usf_cores_same(cores, p->may);
        for (unsigned w = 0; changed && w < USF_CORE_WORDS; w++) __atomic_store_n(&p->may[w], cores[w], __ATOMIC_RELAXED);
        if (changed) atomic_store(&p->quota, 0);
    }
    core_leave(s, me, &(struct wakes){0});
    if (changed) sched_tell_monitor(s->h);
    return any;
}

/* ---- what it gets ------------------------------------------------------------------------------ */

static bool is_active(struct sched *s, uint32_t proc) { return atomic_load(&s->procs[proc].state) == USF_PROC_ACTIVE; }
static uint32_t quota_of(struct sched *s, uint32_t proc) { return atomic_load(&s->procs[proc].quota); }

/* The cores of another process of the group. */
static bool share(struct sched *s, uint32_t proc, uint64_t cores[USF_CORE_WORDS])
{
    struct usf_proc *p = &s->procs[proc];
    for (uint32_t i = 0, nr = atomic_load(&s->h->proc_hwm); i < nr; i++) {
        struct usf_proc *o = &s->procs[i];
        if (i == proc || !is_active(s, i) || o->quota_group != p->quota_group || quota_of(s, i) != quota_of(s, proc)) continue;
        if (!usf_cores_same(o->may, p->may)) continue;
        usf_cores_copy(cores, o->cores);
        return true;
    }
    return false;
}

/* How many processes of other groups have no more than some cores, this one among them? */
static unsigned crowd(struct sched *s, uint32_t proc, uint32_t core)
{
    unsigned n = 0;
    for (uint32_t i = 0, nr = atomic_load(&s->h->proc_hwm); i < nr; i++) {
        struct usf_proc *o = &s->procs[i];
        if (i == proc || !is_active(s, i) || o->quota_group == s->procs[proc].quota_group) continue;
        if (!usf_cores_same(o->may, o->cores)) n += usf_cores_has(o->cores, core);
    }
    return n;
}

static unsigned distance(const struct usf_core *a, const struct usf_core *b)
{ return a->pol.llc == b->pol.llc ? 0 : a->pol.node == b->pol.node ? 1 : 2; }

/* So many of the cores that it may use: where fewest others are confined to, that it has already,
 * close together. */
static void choose_cores(struct sched *s, uint32_t proc, uint32_t n, uint64_t cores[USF_CORE_WORDS])
{
    const struct usf_proc *p = &s->procs[proc];
    unsigned cost[USF_MAX_CORES];
    const struct usf_core *first = 0;
    for (uint32_t c = 0; c < s->h->nr_cores; c++) cost[c] = 8 * crowd(s, proc, c) + (usf_cores_has(p->cores, c) ? 0 : 4);
    usf_cores_clear(cores);
    while (n--) {
        uint32_t best = USF_NONE;
        unsigned least = UINT32_MAX;
        for (uint32_t c = 0; c < s->h->nr_cores; c++) {
            if (!usf_cores_has(p->may, c) || usf_cores_has(cores, c)) continue;
            unsigned all = cost[c] + (first ? distance(first, &s->cores[c]) : 0);
            if (all >= least) continue;
            best = c;
            least = all;
        }
        if (!first) first = &s->cores[best];
        usf_cores_add(cores, best);
    }
}

/* The policy has its ready tasks by where they may run: they leave it, and come back.  Each group
 * of the process gets what it wants of the new cores. */
void core_confine(struct sched *s, uint32_t proc, const uint64_t cores[USF_CORE_WORDS])
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (uint32_t i = 0; i < hwm; i++)
        if (atomic_load(&s->tasks[i].proc) == proc && atomic_load(&s->tasks[i].state) == USF_TASK_READY) core_dequeue(s, i);
    usf_cores_copy(s->procs[proc].cores, cores);
    USF_POINT("sched.confined");
    for (uint32_t g = core_next_group(s, proc, 0); g != USF_NONE; g = core_next_group(s, proc, g + 1)) {
        core_set_cores(s, g);
        s->ops.group_changed(&s->pol, g);
    }
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_task *t = &s->tasks[i];
        if (atomic_load(&t->proc) != proc) continue;
        core_settle_strict(s, i);
        if (atomic_load(&t->state) == USF_TASK_READY) core_enqueue(s, i, atomic_load(&t->why));
        bind_forget(s, i);      /* the kernel may have bound it to others than it was bound to by us */
    }
}

/* Take the process's tasks off cores that they may not use any more: if no other task may run
 * there, they would keep them.  False: there are more. */
static bool take_lost_cores(struct sched *s, uint32_t proc, struct wakes *k)
{
    for (uint32_t c = 0; c < s->h->nr_cores; c++) {
        uint64_t w = atomic_load(&s->cores[c].word);
        unsigned st = core_state(w);
        if (st == USF_CORE_IDLE || atomic_load(&s->tasks[core_task(w)].proc) != proc) continue;
        if (usf_cores_has(core_group(s, core_task(w))->pol.cores, c)) continue;
        if (k->n >= WAKES_MAX - 4) return false;
        if (!core_take(s, c, w, k)) return false;       /* it has just come back, or released the core */
        if (st == USF_CORE_RUNNING) watch_took_unseen(s, core_task(w));
    }
    return true;
}

void sched_set_quota(struct sched *s, uint32_t proc, int32_t pid, uint32_t quota, uint32_t group)
{
    struct sched_self me = {.task = USF_NONE};
    struct usf_proc *p = &s->procs[proc];
    bool all = false, confined = false;
    while (!all && core_enter(s, &me)) {
        NO_WAKES(k);
        uint64_t cores[USF_CORE_WORDS];
        bool its = is_active(s, proc) && p->pid == pid && p->namespace == s->namespace;
        if (its && !confined) {
            p->quota_group = group;
            atomic_store(&p->quota, quota);
            if (quota >= usf_cores_count(p->may)) usf_cores_copy(cores, p->may);
            else if (!share(s, proc, cores)) choose_cores(s, proc, quota, cores);
            if (!usf_cores_same(cores, p->cores)) core_confine(s, proc, cores);
            confined = true;
        }
        all = !its || take_lost_cores(s, proc, &k);
        core_fill_all(s, &k);
        core_leave(s, &me, &k);
    }
}
