/* src/sched/policy.c - which policy is in force, and how it is replaced.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A change is first written whole to the header's policy_next, and counts only after that.  If its
 * author dies, recovery completes it (core_mend_policy), and builds the queues anew as after any
 * such death. Each process takes the new operations when it next takes the lock and finds another
 * policy_gen.  A process cannot load an object then (there is no libc in the gate), so the only
 * object that can be in force is the one that all have loaded at their start. */
#include "policy/policy.h"
#include "sched/core.h"
#include <errno.h>
#include <string.h>

/* ---- its operations ---------------------------------------------------------------------------- */

/* A name that a newcomer reads without the lock may be just being changed. */
#define NAME_TRIES 2000u
#define NAME_NS    500000u

static const struct usf_policy_ops *in_force(struct sched *s, bool locked, uint32_t *gen)
{
    struct usf_header *h = s->h;
    for (uint32_t tries = 0;; tries++) {
        char name[sizeof h->policy];
        *gen = atomic_load(&h->policy_gen);
        memcpy(name, h->policy, sizeof name);
        name[sizeof name - 1] = 0;
        const struct usf_policy_ops *ops = policy_find(name);
        if (!ops && h->policy_path[0]) ops = s->object;
        bool still = !atomic_load(&h->policy_next.under_way) && *gen == atomic_load(&h->policy_gen);
        if (locked || (ops && still) || tries == NAME_TRIES) return ops;
        if (still && tries > 2) return NULL;
        os_sleep(NAME_NS);
    }
}

static int use(struct sched *s, bool locked)
{
    uint32_t gen;
    const struct usf_policy_ops *ops = in_force(s, locked, &gen);
    if (!ops) return -ENOENT;
    policy_resolve(ops, &s->ops);
    if (ops == s->object) s->ops.flags &= ~(uint64_t)USF_POLICY_LEASES;     /* a wrong answer could not be mended beside others' leases */
    atomic_store_explicit(&s->kernel, (s->ops.flags & USF_POLICY_KERNEL) != 0, memory_order_relaxed);
    s->policy_gen = gen;
    return 0;
}

int sched_use_policy(struct sched *s, const struct usf_policy_ops *user, char *why, unsigned cap)
{
    s->object = user;
    if (!use(s, false)) return 0;
    usf_format(why, cap, "policy '%s' of the instance is not known here", s->h->policy);
    return -ENOENT;
}

bool core_begin_policy(struct sched *s)
{
    s->h->policy_begun = 1;
    return s->ops.init(&s->pol) == 0;
}

/* holds the lock.  core_leave writes the warning after its release. */
static void say_later(struct sched *s, const char *text)
{
    memcpy(s->tell, text, sizeof s->tell);
    s->tell[sizeof s->tell - 1] = 0;
}

static bool has_members(struct sched *s, uint32_t namespace)
{
    for (uint32_t i = 0, n = atomic_load(&s->h->proc_hwm); i < n && i < USF_MAX_PROCS; i++)
        if (atomic_load(&s->procs[i].state) != USF_PROC_FREE && s->procs[i].namespace == namespace) return true;
    return false;
}

/* Has the container's monitor said that it has no copy of the object?  (A caller ignores this of a
 * container without members.) */
static bool lacks_object(struct sched *s, uint32_t namespace) { return atomic_load(&s->h->namespace[namespace].object) == USF_OBJECT_LACKED; }

bool core_stands_aside(struct sched *s)
{
    char name[sizeof s->h->policy];
    if (!s->watch || !lacks_object(s, s->namespace)) return false;
    memcpy(name, s->h->policy, sizeof name);
    name[sizeof name - 1] = 0;
    return !policy_find(name) && !has_members(s, s->namespace);
}

bool core_follow_policy(struct sched *s)
{
    if (!use(s, true)) {
        /* Another process has replaced the policy; if it was the monitor, no user has seen its
         * warning. */
        if (s->h->policy_by == USF_POLICY_BY_FAULT && s->proc != USF_NONE) say_later(s, s->h->policy_why);
        return true;
    }
    if (core_stands_aside(s)) {
        atomic_store(&s->unfit, 1);
        return false;
    }
    core_replace_policy(s, "a program that takes part does not have it");
    return true;
}

/* ---- a change ---------------------------------------------------------------------------------- */

/* holds the lock.  What policy_next says is in force from now on; can be done twice. */
static void publish(struct sched *s)
{
    struct usf_header *h = s->h;
    const struct usf_policy_switch *n = &h->policy_next;
    memcpy(h->policy, n->policy, sizeof h->policy);
    memcpy(h->policy_was, n->was, sizeof h->policy_was);
    memcpy(h->policy_why, n->why, sizeof h->policy_why);
    h->policy[sizeof h->policy - 1] = h->policy_was[sizeof h->policy_was - 1] = h->policy_why[sizeof h->policy_why - 1] = 0;
    if (n->by == USF_POLICY_BY_FAULT) h->policy_path[0] = 0;    /* no process loads that again */
    h->policy_by = n->by;
    h->policy_since = s->pol.now;
    USF_POINT("policy.published");
    atomic_fetch_add(&h->policy_gen, 1);
    atomic_store(&h->policy_next.under_way, 0);
}

static void change(struct sched *s, const char *policy, enum usf_policy_by by, const char *why)
{
    struct usf_policy_switch *n = &s->h->policy_next;
    usf_format(n->policy, sizeof n->policy, "%s", policy);
    memcpy(n->was, s->h->policy, sizeof n->was);
    usf_format(n->why, sizeof n->why, "%s", why);
    n->by = by;
    USF_POINT("policy.written");
    atomic_store(&n->under_way, 1);
    USF_POINT("policy.under_way");
    publish(s);
    USF_POINT("policy.in_force");
    use(s, true);       /* the caller has seen that it is known */
}

void core_mend_policy(struct sched *s)
{
    char why[sizeof s->h->policy_why];
    if (atomic_load(&s->h->policy_next.under_way)) publish(s);
    if (s->policy_gen == atomic_load(&s->h->policy_gen) || !use(s, true)) return;
    usf_format(why, sizeof why, "policy '%s' is not known to the monitor", s->h->policy);
    change(s, usf_builtin_policies[0]->name, USF_POLICY_BY_FAULT, why);
}

bool core_tell_policy(struct sched *s)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    policy_wipe(&s->pol, s->pol.nr_groups, hwm);
    USF_POINT("policy.wiped");
    if (!core_begin_policy(s)) return false;
    for (uint32_t i = 0; i < s->pol.nr_groups; i++)
        if (atomic_load(&s->groups[i].state) == USF_GROUP_ACTIVE) s->ops.group_add(&s->pol, i);
    for (uint32_t i = 0; i < hwm; i++) {
        unsigned st = atomic_load(&s->tasks[i].state);
        if (!usf_task_is_known(st)) continue;
        s->ops.task_add(&s->pol, i);
        if (st == USF_TASK_READY) policy_enqueue(&s->pol, &s->ops, i, USF_WHY_WAKE);
        USF_POINT("policy.telling");
    }
    for (uint32_t c = 0; c < s->h->nr_cores && !s->kernel; c++)
        if (s->cores[c].pol.current != USF_NONE) s->ops.started(&s->pol, c, s->cores[c].pol.current);
    return true;
}

/* holds the lock.  What the policy knew is lost: the caller builds the queues anew. */
void core_drop_policy(struct sched *s, const char *why)
{
    char text[sizeof s->h->policy_why];
    usf_format(text, sizeof text, "policy '%s' replaced by 'coop': %s", s->h->policy, why);
    say_later(s, text);
    change(s, "coop", USF_POLICY_BY_FAULT, text);
}

void core_replace_policy(struct sched *s, const char *why)
{
    core_drop_policy(s, why);
    lease_drop(s);
    core_tell_policy(s);
}

/* holds the lock.  All members execute the policy.  False: those of a container could not, with a
 * reason. They have loaded the object at their start, but since then the file may have gone, and a
 * new monitor may have begun. */
static bool all_have_object(struct sched *s, char *why, unsigned cap)
{
    for (uint32_t i = 0; i < USF_MAX_NAMESPACES; i++) {
        if (!lacks_object(s, i) || !has_members(s, i)) continue;
        usf_format(why, cap, "the container with pid namespace %u, whose programs take part, has not got the policy's object any more; nothing "
                   "is changed", os_pidns_inode(atomic_load(&s->h->namespace[i].ns)));
        return false;
    }
    return true;
}

bool core_set_policy(struct sched *s, const char *name, char *why, unsigned cap)
{
    const struct usf_policy_ops *ops = policy_find(name);
    if (!ops && s->h->policy_path[0] && !all_have_object(s, why, cap)) return false;
    bool object = !ops && s->h->policy_path[0] && s->object && !strcmp(s->object->name, name);
    if (object) ops = s->object;
    if (!ops && s->h->policy_path[0] && !s->object) {
        usf_format(why, cap, "the monitor of this container has not got the instance's object: when it started, that was not there, or "
                   "another file");
    } else if (!ops) {
        usf_format(why, cap, "policy '%s' is neither built in nor the object that the instance was made with", name);
    } else if (!strcmp(name, s->h->policy)) {
        return true;
    } else if (s->kernel || ops->flags & USF_POLICY_KERNEL) {
        usf_format(why, cap, "policy 'linux' leaves the threads to the kernel, and is for the whole life of an instance: make another "
                   "(usf run --instance NAME --policy ...)");
    } else {
        char was[sizeof s->h->policy];
        memcpy(was, s->h->policy, sizeof was);
        change(s, name, USF_POLICY_BY_REQUEST, "");
        if (core_tell_policy(s)) return true;
        usf_format(why, cap, "policy '%s' refuses: its init has failed", name);
        change(s, was, USF_POLICY_BY_REQUEST, "");
        if (!core_tell_policy(s)) core_replace_policy(s, "its init has failed");
    }
    return false;
}
