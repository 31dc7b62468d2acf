/* src/runtime/attributes.c - what a thread tells usf about itself: include/usf/usf.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The attributes are the task's.  The thread keeps a copy, since it may be without a task for a
 * while (optout.c, an exec that fails), or have another one after a fork. */
#include <errno.h>

#include "runtime/runtime.h"
#include "sched/ring.h"
#include "usf/usf.h"

_Static_assert(USF_PRIORITY_MAX == SCHED_PRIORITY_MAX, "one range");

void rt_apply_attributes(struct rt_thread *t)
{
    struct sched_attributes w;
    const struct rt_attributes *own = &t->attributes;
    uint32_t has = atomic_load(&own->has);
    if (!has || t->self.task == USF_NONE) return;
    sched_attributes_of(&rt.sched, t->self.task, &w);
    if (has & RT_ATTRIBUTE_PRIORITY) w.priority = own->value.priority;
    if (has & RT_ATTRIBUTE_DEADLINE) w.deadline = own->value.deadline;
    if (has & RT_ATTRIBUTE_PLACE) {
        sched_affinity_of(&rt.sched, t->has_hint ? &t->hint : &rt.cpus, &w);     /* its mask */
        w.affinity = own->value.affinity;
        w.affinity_id = own->value.affinity_id;
        w.strict = own->value.strict;
        if (w.strict) __builtin_memset(w.mask, 0, sizeof w.mask);       /* the place's */
    }
    sched_change_task(&rt.sched, &t->self, t->self.task, &w);
}

/* The thread cache does not keep a thread that has set attributes by the library's prctl.  One that
 * has made the system call itself is kept, and gets the attributes of a new thread. */
void rt_drop_attributes(struct rt_thread *t)
{
    if (!atomic_exchange(&t->attributes.has, 0) || !rt_takes_part() || rt.sched.kernel) return;
    sched_crit_enter(&t->self);
    if (t->state == RT_ATTACHED && t->self.task != USF_NONE) {
        sched_change_task(&rt.sched, &t->self, t->self.task, &(struct sched_attributes){.affinity = USF_AFFINITY_ANY});
        rt_begin_attributes(t);
    }
    sched_crit_leave(&rt.sched, &t->self);
}

/* ---- what is asked for -------------------------------------------------------------------------- */

static int priority(struct rt_thread *t, int64_t value)
{
    if (value < -USF_PRIORITY_MAX || value > USF_PRIORITY_MAX) return EINVAL;
    t->attributes.value.priority = (int32_t)value;
    atomic_fetch_or(&t->attributes.has, RT_ATTRIBUTE_PRIORITY);
    return 0;
}

static int deadline(struct rt_thread *t, uint64_t ns)
{
    t->attributes.value.deadline = ns;
    atomic_fetch_or(&t->attributes.has, RT_ATTRIBUTE_DEADLINE);
    return 0;
}

static uint32_t core_of(uint64_t cpu)
{
    for (uint32_t i = 0; i < rt.sched.h->nr_cores; i++)
        if (rt.sched.cores[i].pol.cpu == cpu) return i;
    return USF_NONE;
}

#define CPUS_SIZE sizeof((struct usf_work *)0)->strict
_Static_assert(sizeof((struct usf_group_options *)0)->cpus == CPUS_SIZE, "one function for both");

/* The cores of these CPUs. */
static void cores_among(const uint64_t *cpus, uint64_t cores[USF_CORE_WORDS])
{
    __builtin_memset(cores, 0, USF_CORE_WORDS * sizeof *cores);
    for (uint32_t i = 0; i < rt.sched.h->nr_cores; i++) {
        uint32_t cpu = rt.sched.cores[i].pol.cpu;
        if (cpu < 8 * CPUS_SIZE && cpus[cpu / 64] >> (cpu % 64) & 1) cores[i / 64] |= 1ull << (i % 64);
    }
}

static int place(struct rt_thread *t, uint64_t kind, uint64_t cpu, uint64_t flags)
{
    struct sched_attributes *w = &t->attributes.value, next = {.strict = flags == USF_STRICT};
    uint32_t core = kind == USF_PLACE_ANY ? 0 : core_of(cpu);
    if (kind > USF_PLACE_NODE || flags & ~(uint64_t)USF_STRICT || (flags && kind == USF_PLACE_ANY)) return EINVAL;
    if (core == USF_NONE) return ENODEV;
    const struct usf_pol_core *c = &rt.sched.cores[core].pol;
    if (kind == USF_PLACE_CORE) next.affinity = USF_AFFINITY_CORE, next.affinity_id = core;
    if (kind == USF_PLACE_CACHE) next.affinity = USF_AFFINITY_LLC, next.affinity_id = c->llc;
    if (kind == USF_PLACE_NODE) next.affinity = USF_AFFINITY_NODE, next.affinity_id = c->node;
    if (next.strict && !sched_attributes_can_be(&rt.sched, &next)) return ENODEV;
    w->affinity = next.affinity;
    w->affinity_id = next.affinity_id;
    w->strict = next.strict;
    atomic_fetch_or(&t->attributes.has, RT_ATTRIBUTE_PLACE);
    return 0;
}

/* ---- what it executes: tasks of a runtime above -------------------------------------------------- */

static void add(uint64_t *n, uint64_t more) { __atomic_store_n(n, *n + more, __ATOMIC_RELAXED); }

static int count_work(struct rt_thread *t, const struct usf_work_counts *more)
{
    struct usf_counters *n = &rt.sched.tasks[t->self.task].n;
    add(&n->work, more->executions);
    add(&n->work_pauses, more->pauses);
    add(&n->work_steals, more->steals);
    add(&n->work_wait_ns, more->wait_ns);
    return 0;
}

/* For the group of the process.  Policies read it as a hint, and not all of it at one instant. */
static int queued_work(struct rt_thread *t, const struct usf_work *w)
{
    struct usf_pol_work *to = &rt.sched.groups[rt.sched.tasks[t->self.task].pol.group].pol.work;
    uint64_t strict[USF_CORE_WORDS];
    cores_among(w->strict, strict);
    __atomic_store_n(&to->ready, w->ready < UINT32_MAX ? (uint32_t)w->ready : UINT32_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&to->priority, w->priority, __ATOMIC_RELAXED);
    __atomic_store_n(&to->deadline, w->deadline, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < USF_CORE_WORDS; i++) __atomic_store_n(&to->strict[i], strict[i], __ATOMIC_RELAXED);
    return 0;
}

static int tell_label(struct rt_thread *t, const char *label)
{
    uint64_t text[2] = {0};
    if (!trace_is_on(&rt.sched)) return ENODATA;
    for (unsigned i = 0; label && i < sizeof text && label[i]; i++) ((char *)text)[i] = label[i];
    trace_own(&rt.sched, &t->self, 0, TRACE_WORK, 0, text[0], text[1]);
    return 0;
}

static int tell_task(struct rt_thread *t, enum trace_kind kind, uint32_t aux, uint64_t task)
{
    if (!trace_is_on(&rt.sched)) return ENODATA;
    trace_own(&rt.sched, &t->self, 0, kind, aux, task, 0);
    return 0;
}

static int work(struct rt_thread *t, const struct gate_frame *f)
{
    if (t->state != RT_ATTACHED || t->self.task == USF_NONE) return ENOSYS;
    switch (f->arg[1]) {
    case USF_PRCTL_COUNT_WORK: return count_work(t, (const struct usf_work_counts *)f->arg[2]);
    case USF_PRCTL_QUEUED_WORK: return queued_work(t, (const struct usf_work *)f->arg[2]);
    case USF_PRCTL_RECORDED: return trace_is_on(&rt.sched) ? 0 : ENODATA;
    case USF_PRCTL_BEGIN_WORK:
        if (f->arg[3]) tell_task(t, TRACE_TAKEN, 0, f->arg[3]);
        return tell_label(t, (const char *)f->arg[2]);
    case USF_PRCTL_END_WORK: return tell_task(t, TRACE_WORKED, 0, 0);
    case USF_PRCTL_READY_WORK: return tell_task(t, TRACE_READY, 0, f->arg[2]);
    case USF_PRCTL_PAUSE_WORK: return tell_task(t, TRACE_PAUSED, 0, 0);
    default: return tell_task(t, TRACE_TAKEN, 1, f->arg[2]);
    }
}

/* ---- groups ---------------------------------------------------------------------------------------- */

_Static_assert((int)USF_CPUS_OWN == (int)USF_GROUP_BORROWING && (int)USF_CPUS_EXCLUSIVE == (int)USF_GROUP_EXCLUSIVE, "one enumeration");

static int make_group(struct rt_thread *t, struct usf_group_options *o)
{
    uint64_t wants[USF_CORE_WORDS];
    cores_among(o->cpus, wants);
    int r = sched_group_make(&rt.sched, &t->self, o->name ? o->name : "", o->weight, o->priority, wants, o->kind);
    if (r < 0) return -r;
    o->group = (uint32_t)r;
    return 0;
}

static int adjust_group(struct rt_thread *t, const struct usf_group_options *o)
{
    uint64_t wants[USF_CORE_WORDS];
    cores_among(o->cpus, wants);
    return -sched_group_adjust(&rt.sched, &t->self, o->group, o->weight, o->priority, wants, o->kind);
}

static int enter_group(struct rt_thread *t, uint32_t group)
{
    const struct usf_group *first = sched_first_group(&rt.sched);
    if (t->state != RT_ATTACHED || t->self.task == USF_NONE || !first) return ENOSYS;
    return -sched_change_group(&rt.sched, &t->self, t->self.task, group == USF_GROUP_FIRST ? (uint32_t)(first - rt.sched.groups) : group);
}

/* ---- the call ------------------------------------------------------------------------------------ */

long rt_task_call(const struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    int r;
    rt_late_join();
    if (!rt_takes_part() || rt.sched.kernel) return ENOSYS;
    if (f->arg[1] == USF_PRCTL_TEXT_REPLACED) return gate_renewed(f->arg[2]) ? 0 : ENOENT;
    sched_crit_enter(&t->self);     /* no handler in between, which may ask as well */
    if (f->arg[1] >= USF_PRCTL_COUNT_WORK && f->arg[1] <= USF_PRCTL_RESUME_WORK) {
        r = work(t, f);
        sched_crit_leave(&rt.sched, &t->self);
        return r;
    }
    switch (f->arg[1]) {
    case USF_PRCTL_ASK: r = t->state == RT_ATTACHED ? 0 : ENOSYS; break;
    case USF_PRCTL_PRIORITY: r = priority(t, (int64_t)f->arg[2]); break;
    case USF_PRCTL_DEADLINE: r = deadline(t, f->arg[2]); break;
    case USF_PRCTL_AFFINITY: r = place(t, f->arg[2], f->arg[3], f->arg[4]); break;
    case USF_PRCTL_GROUP_MAKE: r = make_group(t, (struct usf_group_options *)f->arg[2]); break;
    case USF_PRCTL_GROUP_END: r = -sched_group_end(&rt.sched, &t->self, (uint32_t)f->arg[2]); break;
    case USF_PRCTL_GROUP_ADJUST: r = adjust_group(t, (const struct usf_group_options *)f->arg[2]); break;
    case USF_PRCTL_GROUP_ENTER: r = enter_group(t, (uint32_t)f->arg[2]); break;
    default: r = EINVAL;
    }
    if (r == ESTALE) r = ENOSYS;        /* the process is off its instance */
    if (r == 0 && f->arg[1] >= USF_PRCTL_PRIORITY && f->arg[1] <= USF_PRCTL_AFFINITY && t->state == RT_ATTACHED) rt_apply_attributes(t);
    sched_crit_leave(&rt.sched, &t->self);
    if (r == 0 && f->arg[1] == USF_PRCTL_AFFINITY && f->arg[4] && rt_enter()) sched_move(&rt.sched, &t->self);
    return r;
}
