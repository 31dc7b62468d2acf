/* tests/sched/race/leavers.c - a process that leaves and joins again while its threads go on.  SPDX-License-Identifier: Apache-2.0 */
#include "race.h"

/* As a thread of the runtime comes to a call: it may have lost its record, and takes another. */
bool is_in(struct thread *t)
{
    if (t->attached && sched_has_lost(&t->v->s, &t->self)) t->attached = false;
    if (t->attached) return true;
    t->self.task = USF_NONE;
    int r = sched_attach(&t->v->s, &t->self, (int)syscall(SYS_gettid), "leaver");
    CHECK(r == 0 || r == -ESTALE);
    t->attached = r == 0;
    return t->attached && !sched_has_lost(&t->v->s, &t->self);
}

/* An exec that fails. */
static void depart(struct thread *t)
{
    struct sched *s = &t->v->s;
    static _Atomic uint32_t one = 1;
    if (!atomic_exchange(&one, 0)) return;
    if (is_in(t)) {
        sched_crit_enter(&t->self);
        uint32_t proc;
        CHECK(sched_leave(s, &t->self, &proc));
        t->attached = false;
        usleep(below(t, 300));
        t->self.joining = 1;
        int r = sched_proc_join(s, getpid(), os_start_time(getpid()), "leaver", &cpus, 0);
        CHECK(r >= 0, "%d", r);
        CHECK(is_in(t));
        t->self.joining = 0;
        sched_left(s, proc, false);
        sched_crit_leave(s, &t->self);
    }
    atomic_store(&one, 1);
}

void *run_leaver(void *arg)
{
    struct thread *t = self = arg;
    struct sched *s = &t->v->s;
    point_rng = mix(t->rng);
    while (!atomic_load(&stop)) {
        if (!is_in(t)) continue;
        switch (below(t, 8)) {
        case 0: depart(t); break;
        case 1: case 2: sched_yield_core(s, &t->self, false); break;
        case 3: sched_block(s, &t->self, os_now() + below(t, 300000)); break;
        case 4:
            t->certain = below(t, 2);
            sched_leave_core(s, &t->self, t->certain);
            usleep(below(t, 200));
            sched_return_core(s, &t->self);
            break;
        case 5:
            t->attached = false;
            sched_detach(s, &t->self, false);
            break;
        default:
            sched_waits_for(s, &t->self, USF_WAIT_CORE, 0);
            sched_wake(s, &t->self, &(uint32_t){below(t, USF_TASK_CHUNK)}, 1);
        }
    }
    t->attached = false;
    sched_detach(s, &t->self, true);
    atomic_fetch_add(&finished, 1);
    return 0;
}
