/* src/monitor/spaces.c - other containers that end as a whole.  SPDX-License-Identifier: Apache-2.0
 *
 * A container whose first process ends takes its programs, its monitor and the monitor's keeper with it.  The monitors of the other
 * pid namespaces find that out by its lock of the file (shm/presence.c), and hold that themselves while they clear away what is left:
 * nobody else does the same meanwhile, and nobody comes who could be mistaken for one of the dead. */
#include "monitor/internal.h"
#include "os/os.h"

#define HOLD_NS 500000000u      /* a space at most, while the scheduler's lock is not to be had: newcomers wait for 2 s */

bool monitor_space_is_gone(struct monitor *m, uint32_t space)
{
    if (m->gone >> space & 1) return true;
    if (!shm_seize_space(&m->shm, space)) return false;
    if (!m->gone) m->gone_since = os_now();
    m->gone |= 1u << space;
    monitor_tell_deaths(m);
    return true;
}

void monitor_let_in(struct monitor *m)
{
    if (!m->gone || m->buries || os_now() - m->gone_since < HOLD_NS) return;
    for (uint32_t i = 0; i < USF_MAX_SPACES; i++)
        if (m->gone >> i & 1) shm_release_space(&m->shm, i);
    m->gone = 0;
}

static void bury(struct monitor *m, uint32_t space)
{
    uint32_t hwm = atomic_load(&m->shm.h->proc_hwm);
    monitor_recover_lock(m);
    if (!(m->gone >> space & 1)) return;        /* that took long, and somebody may have come since: begin anew */
    m->buries = true;
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_proc *p = &m->sched.procs[i];
        if (atomic_load(&p->state) == USF_PROC_FREE || p->space != space) continue;
        monitor_beats(m);
        USF_POINT("monitor.bury");
        sched_proc_remove(&m->sched, NULL, i, false);
    }
    shm_end_runs(m->shm.h, space);
    sched_tell_monitor(&m->sched);      /* as for each that dies (deaths.c) */
    m->buries = false;
    m->gone &= ~(1u << space);
    m->elsewhere &= ~(1u << space);
    shm_release_space(&m->shm, space);
}

void monitor_look_at_spaces(struct monitor *m)
{
    uint32_t ask = m->elsewhere;
    if (!ask && !m->gone) return;
    pthread_mutex_lock(&m->lock);
    ask |= m->gone;
    for (uint32_t i = 0; i < USF_MAX_SPACES; i++)
        if (ask >> i & 1 && i != m->shm.space && monitor_space_is_gone(m, i)) bury(m, i);
    pthread_mutex_unlock(&m->lock);
}
