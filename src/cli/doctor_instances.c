/* src/cli/doctor_instances.c - what is wrong in the instances that exist.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/doctor.h"
#include "inspect/view.h"
#include "monitor/monitor.h"
#include "sched/sched.h"
#include "sharing/sharing.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define TRIES 4     /* a copy is no single instant: a fault counts if every copy has it */

/* The last copy is left open in m.  True: sound. */
static bool invariants_hold(const char *name, struct shm *m, char *why, unsigned cap)
{
    static struct sched s;
    for (int i = 0;; i++) {
        sched_bind(&s, m->h);
        if (sched_is_valid(&s, why, cap)) return true;
        if (i + 1 == TRIES) return false;
        usleep(20000);
        struct shm again;
        if (shm_snapshot(NULL, name, &again)) return true;      /* it has ended meanwhile */
        shm_close(m);
        *m = again;
    }
}

static void check_members(const char *name, const struct usf_header *h, uint32_t namespace)
{
    const struct usf_proc *p = shm_procs(h);
    unsigned alive = 0, dead = 0, elsewhere = 0;
    for (uint32_t i = 0; i < atomic_load(&h->proc_hwm); i++) {
        if (atomic_load(&p[i].state) == USF_PROC_FREE) continue;
        if (p[i].namespace != namespace) elsewhere++;
        else if (shm_proc_is_alive(&p[i])) alive++;
        else dead++;
    }
    int32_t pid = atomic_load(&h->namespace[namespace].monitor_pid);
    bool monitor = monitor_is_alive(&h->namespace[namespace]), ours = view_owner_of(name) == geteuid();
    if (dead) doctor_find(monitor || !ours ? FINDING_WARN : FINDING_BAD, name, "%u dead process%s still in it%s%s%s", dead,
                          dead == 1 ? " is" : "es are",
                          monitor ? "; its monitor will take them out" : " and no monitor: run 'usf clean -i ", monitor ? "" : name,
                          monitor ? "" : "'");
    if (monitor) doctor_find(FINDING_GOOD, name, "%u process%s, monitor %d", alive, alive == 1 ? "" : "es", pid);
    else if (alive) doctor_find(FINDING_WARN, name, "%u process%s and no monitor: threads that never block can stall the others", alive,
                                alive == 1 ? "" : "es");
    else if (!dead && !elsewhere) doctor_find(FINDING_NOTE, name, "no process uses it: 'usf clean -i %s' removes it", name);
    if (elsewhere) doctor_find(FINDING_NOTE, name, "%u process%s of other containers, which cannot be checked from here", elsewhere,
                               elsewhere == 1 ? "" : "es");
}

static void check_instance(const char *name)
{
    struct shm m;
    char why[200];
    int r = shm_snapshot(NULL, name, &m);
    if (r == -ENOENT) return;
    if (r) {
        doctor_find(view_owner_of(name) == geteuid() ? FINDING_BAD : FINDING_NOTE, name, "%s", m.why);
        return;
    }
    if (!invariants_hold(name, &m, why, sizeof why))
        doctor_find(view_owner_of(name) == geteuid() ? FINDING_BAD : FINDING_WARN, name, "its records contradict each other: %s", why);
    const struct usf_header *h = m.h;
    if (atomic_load(&h->state) == USF_INST_RETIRED) doctor_find(FINDING_NOTE, name, "is retired: the next 'usf run' replaces it");
    if (shm_is_condemned(h)) doctor_find(FINDING_BAD, name, "is damaged: its programs run unscheduled; the next 'usf run' replaces it");
    if (h->policy_why[0]) doctor_find(FINDING_WARN, name, "%.127s", h->policy_why);
    uint32_t namespace = sharing_find_namespace(h, os_pidns());
    if (namespace != USF_NONE) check_members(name, h, namespace);
    else doctor_find(FINDING_NOTE, name, "belongs to another pid namespace (a container): its processes cannot be checked from here");
    shm_close(&m);
}

void doctor_instances(void)
{
    char **names;
    int n = view_instances(&names);
    doctor_section("instances");
    if (n < 0) doctor_find(FINDING_BAD, "instances", "cannot be listed: %s", strerror(-n));
    else if (!n) doctor_find(FINDING_GOOD, "instances", "none");
    for (int i = 0; i < n; i++) check_instance(names[i]);
    if (n > 0) view_free(names, n);
}
