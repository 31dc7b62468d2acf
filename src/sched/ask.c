/* src/sched/ask.c - tools ask, the monitor does it.  SPDX-License-Identifier: Apache-2.0
 *
 * A tool takes no part, so it has no name to own the scheduler lock by, and no monitor would notice
 * its death with the lock.  It leaves its request in the header (usf_policy_ask) and wakes the
 * monitor, which carries it out under the lock and writes the answer.  A tool that is killed at any
 * point leaves a request that is published as a whole or not at all. */
#include "policy/policy.h"
#include "sched/core.h"
#include "sharing/sharing.h"
#include <errno.h>
#include <string.h>

/* ---- the monitor ------------------------------------------------------------------------------- */

/* holds the lock.  All groups of the process.  False: there is no such process, with a reason. */
static bool change_proc(struct sched *s, const struct usf_policy_ask *a, char *why, unsigned cap)
{
    for (uint32_t i = 0, n = atomic_load(&s->h->proc_hwm); i < n; i++) {
        struct usf_proc *p = &s->procs[i];
        if (atomic_load(&p->state) != USF_PROC_ACTIVE || p->pid != a->pid || p->namespace != a->namespace) continue;
        for (uint32_t g = core_next_group(s, i, 0); g != USF_NONE; g = core_next_group(s, i, g + 1)) {
            const struct usf_pol_group *is = &s->groups[g].pol;
            if (a->kind == USF_ASK_WEIGHT) core_change_group(s, g, (uint32_t)a->value, is->priority, is->flags);
            else core_change_group(s, g, is->weight, (int32_t)a->value, is->flags);
        }
        return true;
    }
    usf_format(why, cap, "process %d takes no part in the instance", a->pid);
    return false;
}

static bool in_range(const struct usf_policy_ask *a)
{
    if (a->kind == USF_ASK_WEIGHT) return a->value >= 1 && a->value <= SCHED_WEIGHT_MAX;
    return a->kind == USF_ASK_PRIORITY && a->value >= -SCHED_PRIORITY_MAX && a->value <= SCHED_PRIORITY_MAX;
}

static bool do_it(struct sched *s, const struct usf_policy_ask *a, char *why, unsigned cap)
{
    if (a->kind == USF_ASK_POLICY) return core_set_policy(s, a->policy, why, cap);
    if (in_range(a)) return change_proc(s, a, why, cap);
    usf_format(why, cap, "that is nothing that can be asked for");
    return false;
}

void sched_answer(struct sched *s)
{
    struct usf_policy_ask *a = &s->h->policy_ask, mine;
    struct sched_self me = {.task = USF_NONE};
    NO_WAKES(k);
    char why[sizeof a->why] = "";
    /* Only the monitor of the tool's pid namespace answers: others may not see the same files. */
    if (atomic_load(&a->asked) == atomic_load(&a->answered) || a->namespace != s->namespace || !core_enter(s, &me)) return;
    uint32_t asked = atomic_load(&a->asked);
    mine = *a;          /* others may write into what all share */
    mine.policy[sizeof mine.policy - 1] = 0;
    /* Looked at after the copy: one that is withdrawn counts as answered before it is
     * overwritten. */
    if (asked != atomic_load(&a->answered) && asked == atomic_load(&a->asked) && mine.namespace == s->namespace) {
        a->refused = !do_it(s, &mine, why, sizeof why);
        memcpy(a->why, why, sizeof why);
        USF_POINT("ask.answer");
        atomic_store(&a->answered, asked);
        core_fill_all(s, &k);
    }
    core_leave(s, &me, &k);
    os_futex_wake(&a->answered, INT32_MAX);
}

/* ---- the tool ---------------------------------------------------------------------------------- */

#define ASK_LOCK_NS  10000000u      /* between two tries of the lock that another tool has */

#define ASK_LOOK_NS  50000000u      /* the monitor may die between the answer and the wake, and before it sees the request */

/* The answer to the latest request.  False: it has not come by then. */
static bool await(struct usf_header *h, uint64_t deadline)
{
    struct usf_policy_ask *a = &h->policy_ask;
    for (;;) {
        uint32_t answered = atomic_load(&a->answered);
        uint64_t now = os_now();
        if (answered == atomic_load(&a->asked)) return true;
        if (now >= deadline) return false;
        sched_tell_monitor(h);
        os_futex_wait(&a->answered, answered, now + ASK_LOOK_NS < deadline ? now + ASK_LOOK_NS : deadline);
    }
}

#define ABANDON_NS 2000000000u

/* Wait for the answer to the request of a tool that has died.  If the tool was of another
 * container, that container may have ended, and its monitor never answers. */
static bool await_last(const struct shm *m, uint64_t deadline)
{
    struct usf_policy_ask *a = &m->h->policy_ask;
    uint64_t now = os_now(), by = now + ABANDON_NS < deadline ? now + ABANDON_NS : deadline;
    bool elsewhere = a->namespace != m->namespace;
    if (await(m->h, elsewhere ? by : deadline)) return true;
    if (elsewhere) atomic_store(&a->answered, atomic_load(&a->asked));      /* withdrawn */
    return elsewhere;
}

static int ask(const struct shm *m, const struct sched_request *r, uint64_t deadline, char *why, unsigned cap)
{
    struct usf_policy_ask *a = &m->h->policy_ask;
    static const char late[] = "the instance's monitor does not answer; it does what it is asked once it runs again";
    if (!await_last(m, deadline)) return usf_format(why, cap, "%s", late), -ETIMEDOUT;
    a->kind = r->kind;
    a->namespace = m->namespace;
    a->pid = r->pid;
    a->value = r->value;
    usf_format(a->policy, sizeof a->policy, "%s", r->policy);
    USF_POINT("ask.written");
    atomic_fetch_add(&a->asked, 1);
    USF_POINT("ask.asked");
    if (!await(m->h, deadline)) return usf_format(why, cap, "%s", late), -ETIMEDOUT;
    usf_format(why, cap, "%s", a->why);
    return a->refused ? -EPERM : 0;
}

int sched_ask(const struct shm *m, const struct sched_request *r, uint64_t timeout_ns, char *why, unsigned cap)
{
    uint64_t deadline = os_now() + timeout_ns;
    int e;
    if (r->policy && strlen(r->policy) >= sizeof m->h->policy_ask.policy)
        return usf_format(why, cap, "the policy's name is too long"), -EINVAL;
    while ((e = sharing_lock_byte(m, SHARING_ASK_BYTE)) == -EAGAIN && os_now() < deadline) os_sleep(ASK_LOCK_NS);
    if (e == -EAGAIN) usf_format(why, cap, "others keep asking for something: try again");
    else if (e) usf_format(why, cap, "the request cannot be locked (error %d)", -e);
    if (e) return e;
    USF_POINT("ask.locked");
    return ask(m, r, deadline, why, cap);
}
