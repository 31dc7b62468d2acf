/* src/sharing/ended.c - pid namespaces that end as a whole.  SPDX-License-Identifier: Apache-2.0
 *
 * When the first process of a container ends, its programs, its monitor and that one's
 * supervisor end with it.  The monitors of other pid namespaces notice: they can take the
 * namespace's liveness lock (namespaces.c).  They hold it while they remove the records of the
 * dead, so no other monitor does the same, and no newcomer of the namespace is mistaken for one
 * of the dead. */
#include "monitor/internal.h"
#include "os/os.h"

#define HOLD_NS 500000000u      /* longest hold while the scheduler lock is not had; newcomers wait for 2 s */

bool sharing_has_ended(struct monitor *m, uint32_t namespace)
{
    if (m->sharing.gone >> namespace & 1) return true;
    if (!sharing_seize_namespace(&m->shm, namespace)) return false;
    if (!m->sharing.gone) m->sharing.gone_since = os_now();
    m->sharing.gone |= 1u << namespace;
    monitor_tell_deaths(m);
    return true;
}

void sharing_let_in(struct monitor *m)
{
    if (!m->sharing.gone || m->sharing.removes || os_now() - m->sharing.gone_since < HOLD_NS) return;
    for (uint32_t i = 0; i < USF_MAX_NAMESPACES; i++)
        if (m->sharing.gone >> i & 1) sharing_release_namespace(&m->shm, i);
    m->sharing.gone = 0;
}

static void remove_records(struct monitor *m, uint32_t namespace)
{
    uint32_t hwm = atomic_load(&m->shm.h->proc_hwm);
    monitor_recover_lock(m);
    if (!(m->sharing.gone >> namespace & 1)) return;    /* sharing_let_in has released it meanwhile: begin anew */
    m->sharing.removes = true;
    for (uint32_t i = 0; i < hwm; i++) {
        struct usf_proc *p = &m->sched.procs[i];
        if (atomic_load(&p->state) == USF_PROC_FREE || p->namespace != namespace) continue;
        monitor_beats(m);
        USF_POINT("sharing.remove");
        sched_proc_remove(&m->sched, i, false);
    }
    sharing_end_runs(m->shm.h, namespace);
    sched_tell_monitor(m->shm.h);       /* as after each death (monitor/deaths.c) */
    m->sharing.removes = false;
    m->sharing.gone &= ~(1u << namespace);
    m->sharing.elsewhere &= ~(1u << namespace);
    sharing_release_namespace(&m->shm, namespace);
}

void sharing_look_for_ended(struct monitor *m)
{
    uint32_t ask = m->sharing.elsewhere;
    if (!ask && !m->sharing.gone) return;
    monitor_lock(m);
    ask |= m->sharing.gone;
    for (uint32_t i = 0; i < USF_MAX_NAMESPACES; i++)
        if (ask >> i & 1 && i != m->shm.namespace && sharing_has_ended(m, i)) remove_records(m, i);
    monitor_unlock(m);
}
