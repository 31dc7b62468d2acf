/* src/monitor/quota.c - follow the CPU quotas of the processes' control groups.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Quotas change, and processes are moved between groups, without any notice: look now and then
 * while cores are in use.  Here and not in the programs, which may have given up opening files. */
#include "monitor/internal.h"
#include "os/os.h"

#define PAUSE_NS 100000000u
#define LONG_NS  2000000000u
#define SHARE    1000u          /* of the time at most one in so many goes into this, but for at most LONG_NS */

/* What the group allows: asked for once in a look, however many of its processes there are. */
static struct quota_of_group *find(struct quota_look *l, int32_t pid)
{
    uint32_t key = os_cgroup_key(pid);
    for (uint32_t i = 0; i < l->nr; i++)
        if (l->of[i].key == key) return &l->of[i];
    struct quota_of_group *q = &l->of[l->nr < QUOTA_GROUPS ? l->nr++ : QUOTA_GROUPS - 1];
    q->key = key;
    q->cores = key ? os_cgroup_quota("", pid, &q->group) : 0;
    if (!q->cores) {
        q->cores = USF_NONE;
        q->group = 0;
    }
    return q;
}

static void look_at(struct monitor *m, uint32_t proc)
{
    struct usf_proc *p = &m->sched.procs[proc];
    int32_t pid = p->pid;
    monitor_beats(m);
    if (atomic_load(&p->state) != USF_PROC_ACTIVE || p->namespace != m->shm.namespace || pid <= 0) return;
    const struct quota_of_group *q = find(&m->quotas, pid);
    if (atomic_load(&p->quota) == q->cores && p->quota_group == q->group) return;
    monitor_lock(m);
    sched_set_quota(&m->sched, proc, pid, q->cores, q->group);
    monitor_unlock(m);
}

/* Those that are new, or may use other cores now, at once. */
void quota_look(struct monitor *m)
{
    struct quota_look *l = &m->quotas;
    uint32_t hwm = atomic_load(&m->shm.h->proc_hwm);
    uint64_t start = os_now();
    bool due = start >= l->next;
    if (m->sched.kernel) return;
    if (due) l->nr = 0;
    for (uint32_t i = 0; i < hwm; i++)
        if (due || !atomic_load(&m->sched.procs[i].quota)) look_at(m, i);
    uint64_t now = os_now(), pause = (now - start) * SHARE;     /* and without a CPU meanwhile: hence the limit */
    if (due) l->next = now + (pause < PAUSE_NS ? PAUSE_NS : pause > LONG_NS ? LONG_NS : pause);
}
