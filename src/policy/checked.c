/* src/policy/checked.c - a policy's answers are not trusted.  SPDX-License-Identifier: Apache-2.0
 *
 * `held` in the task record says that the policy has the task: set here on the way in, cleared on
 * the way out, so that a task can never be run twice nor run without being ready, whatever the
 * policy answers.  The mark is ours; the policy's own links are its own affair.  All hold the
 * scheduler lock. */
#include "policy/policy.h"
#include "base/base.h"

void policy_enqueue(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t task, enum usf_why why)
{
    struct usf_pol_task *t = usf_task(p, task);
    usf_dassert(!t->held);
    t->held = 1;
    if (!t->ready_since) t->ready_since = p->now;
    ops->enqueue(p, task, why);
}

uint32_t policy_pick(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t core, const char **why)
{
    uint32_t task = ops->pick(p, core);
    *why = NULL;
    if (task == USF_NONE) return USF_NONE;
    if (USF_UNLIKELY(task >= p->nr_tasks)) {
        *why = "pick returned a task that does not exist";
        return USF_NONE;
    }
    struct usf_pol_task *t = usf_task(p, task);
    if (USF_UNLIKELY(!t->held)) *why = "pick returned a task that is not ready";
    else if (USF_UNLIKELY(!usf_may_run(p, task, core))) *why = "pick returned a task that may not run on the core";
    else if (USF_UNLIKELY(t->queued)) *why = "pick left the task that it returned in a queue";
    if (USF_UNLIKELY(*why != NULL)) return USF_NONE;
    t->held = 0;
    return task;
}

void policy_dequeue(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t task)
{
    usf_dassert(usf_task(p, task)->held);
    ops->dequeue(p, task);
    usf_task(p, task)->held = 0;
}

uint32_t policy_select(struct usf_pol *p, const struct usf_policy_ops *ops, uint32_t task,
                       const uint64_t idle[USF_CORE_WORDS], const char **why)
{
    uint32_t core = ops->select_core(p, task, idle);
    *why = NULL;
    if (core == USF_NONE) return USF_NONE;
    if (USF_UNLIKELY(core >= p->nr_cores)) *why = "select_core returned a core that does not exist";
    else if (USF_UNLIKELY(!usf_cores_has(idle, core))) *why = "select_core returned a core that is not idle";
    else if (USF_UNLIKELY(!usf_may_run(p, task, core)))
        *why = "select_core returned a core where the task may not run";
    return USF_UNLIKELY(*why != NULL) ? USF_NONE : core;
}

void policy_wipe(struct usf_pol *p, uint32_t nr_groups, uint32_t nr_tasks)
{
    __builtin_memset(p->data, 0, USF_POL_DATA);
    for (uint32_t i = 0; i < p->nr_cores; i++) {
        __builtin_memset(usf_core(p, i)->data, 0, USF_POL_CORE_DATA);
        usf_give_way(usf_core(p, i), 0);
        usf_keep(usf_core(p, i), 0);
    }
    for (uint32_t i = 0; i < nr_groups; i++) {
        struct usf_pol_group *group = usf_group(p, i);
        if (!group->nr_tasks && !usf_cores_any(group->cores)) continue;       /* never touched: keep it sparse */
        __builtin_memset(group->data, 0, USF_POL_GROUP_DATA);
        if (!usf_cores_any(group->share)) continue;
        usf_cores_clear(group->share);
        group->share_gen++;
    }
    for (uint32_t i = 0; i < nr_tasks; i++) {
        struct usf_pol_task *t = usf_task(p, i);
        t->next = t->prev = t->queued = t->held = 0;
        __builtin_memset(t->data, 0, USF_POL_TASK_DATA);
    }
}
