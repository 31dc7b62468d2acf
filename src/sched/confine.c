/* src/sched/confine.c - a process may use other CPUs than when it joined.  SPDX-License-Identifier: Apache-2.0
 *
 * A cpuset changes while programs run in it, a CPU goes offline.  The kernel moves the threads that were bound there, and
 * refuses to bind others: two owners of cores would share a CPU while another is idle.  So cores whose CPUs are gone get
 * no threads of the process any more, until they come back.  Where none is left, the cores are but numbers: as many
 * threads run as before, wherever the kernel lets them. */
#include "sched/core.h"

static bool cores_of(struct sched *s, const struct os_cpuset *cpus, uint64_t cores[4])
{
    bool any = false;
    for (uint32_t c = 0; c < s->h->nr_cores; c++) {
        if (!os_cpu_isset(cpus, s->cores[c].pol.cpu)) continue;
        cores[c / 64] |= 1ull << (c % 64);
        any = true;
    }
    return any;
}

static bool is_task_of(struct sched *s, uint32_t task, unsigned state)
{ return atomic_load(&s->tasks[task].state) == state && atomic_load(&s->tasks[task].proc) == s->proc; }

/* The policy has its ready tasks by where they may run: they leave it, and come back. */
static void confine(struct sched *s, const uint64_t cores[4])
{
    uint64_t *may = s->procs[s->proc].pol.cores;
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (uint32_t i = 0; i < hwm; i++)
        if (is_task_of(s, i, USF_TASK_READY)) core_dequeue(s, i);
    for (unsigned w = 0; w < 4; w++) may[w] = cores[w];
    for (uint32_t i = 0; i < hwm; i++) {
        if (is_task_of(s, i, USF_TASK_READY)) core_enqueue(s, i, atomic_load(&s->tasks[i].why));
        /* The kernel may have bound it to others than it was bound to by us. */
        if (atomic_load(&s->tasks[i].proc) == s->proc) atomic_store(&s->tasks[i].pinned, USF_NONE);
    }
}

/* Who runs on a core that is gone would keep it for as long as nobody else may run there. */
static void take_lost_cores(struct sched *s, struct kicks *k)
{
    const uint64_t *may = s->procs[s->proc].pol.cores;
    for (uint32_t c = 0; c < s->h->nr_cores && k->n < KICKS_MAX - 4; c++) {
        uint64_t w = atomic_load(&s->cores[c].word);
        unsigned st = core_state(w);
        if (may[c / 64] >> (c % 64) & 1 || st == USF_CORE_IDLE || st == USF_CORE_OFF) continue;
        if (atomic_load(&s->tasks[core_task(w)].proc) == s->proc) core_take(s, c, w, k);
    }
}

void sched_follow_cpus(struct sched *s, struct sched_self *me, struct os_cpuset *allowed, void (*choose)(struct os_cpuset *cpus))
{
    struct kicks k = {0};
    struct os_cpuset now;
    uint64_t cores[4] = {0};
    if (atomic_load(&s->leaving) || s->proc == USF_NONE) return;
    /* To find out what is allowed changes the thread's own mask for a moment: nobody may be about to bind it.  Under the
     * lock nobody is: who runs is bound already, and who waits is not given a core meanwhile. */
    if (!core_enter(s, me)) return;
    if (os_cpuset_allowed(&now) == 0 && __builtin_memcmp(&now, allowed, sizeof now)) {
        *allowed = now;
        choose(&now);
        if (cores_of(s, &now, cores) && __builtin_memcmp(cores, s->procs[s->proc].pol.cores, sizeof cores)) {
            confine(s, cores);
            take_lost_cores(s, &k);
            core_fill_all(s, &k);
        }
    }
    core_leave(s, me, &k);
}
