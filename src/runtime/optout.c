/* src/runtime/optout.c - threads that are left to the kernel, in a process that is scheduled.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A real-time thread is to run at once, whatever thread has the CPU: a queue for cores would have
 * it wait for threads of lower priority, and the kernel promises no deadlines to a thread that is
 * bound to one CPU.  And where a process has lost all CPUs of the instance, its threads would hold
 * cores of others for nothing.  Such threads have no record and no core, and are bound to nothing.
 * They look at their next call: whether they become so, and whether they are still so. */
#include <sched.h>

#include "runtime/runtime.h"

static bool is_real_time_policy(uint32_t policy)
{
    policy &= ~(uint32_t)SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == 6 /* SCHED_DEADLINE */;
}

bool rt_opts_out(struct rt_thread *t)
{
    if (rt.sched.kernel) return false;      /* all are left to the kernel as it is */
    uint32_t calls = atomic_load(&rt.policy_calls) + 1;     /* never as in a new thread */
    if (t->policy_seen != calls) {
        long policy = usf_syscall(__NR_sched_getscheduler, 0);
        t->real_time = policy >= 0 && is_real_time_policy((uint32_t)policy);
        t->policy_seen = calls;
    }
    if (USF_UNLIKELY(atomic_load_explicit(&rt.homeless, memory_order_relaxed))) rt_follow_cpuset(os_now());
    return t->real_time || atomic_load_explicit(&rt.homeless, memory_order_relaxed);
}

/* Its code is not rewritten while it may be running it: no thread can tell it to stop.  The thread
 * that rewrites code has seen it counted, or is waited for; until then it can be stopped, if it
 * could before. */
static void begin_opt_out(struct rt_thread *t)
{
    t->opted_out = true;
    atomic_fetch_add(&rt.nr_opted_out, 1);
    sched_await_patch(&rt.sched);
}

void rt_stay_opted_out(struct rt_thread *t)
{
    begin_opt_out(t);
    rt_set_state(t, RT_AT(RT_ATTACHING), RT_OPTED_OUT);
    rt_unbind(t);
}

static void opt_out(struct rt_thread *t)
{
    rt_float_stay(t, USF_STAYS_SCHEDULING);     /* it may wait to get home, and a handler do all this */
    sched_crit_enter(&t->self);
    if (t->state == RT_ATTACHED) {
        begin_opt_out(t);
        rt_list_remove(t);
        rt_set_state(t, RT_AT(RT_ATTACHED), RT_OPTED_OUT);
        sched_detach(&rt.sched, &t->self, false);
        rt_float_is_over(t);
        rt_unbind(t);   /* last: until then it may have been bound */
    }
    sched_crit_leave(&rt.sched, &t->self);
}

void rt_opt_in(struct rt_thread *t)
{
    if (!t->opted_out) return;
    t->opted_out = false;
    atomic_fetch_sub(&rt.nr_opted_out, 1);
}

void rt_choose_side(struct rt_thread *t)
{
    bool opted_out = rt_opts_out(t);
    if (t->state == RT_ATTACHED && opted_out) {
        opt_out(t);
    } else if (t->state == RT_OPTED_OUT && !opted_out) {
        rt_attach(t);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool asks_for_real_time(const struct gate_frame *f)
{
    uint32_t policy = (uint32_t)f->arg[1];
    if (f->nr == __NR_sched_setattr && !sync_read((const uint32_t *)f->arg[1] + 1, &policy)) return false;
    return is_real_time_policy(policy);
}

/* A deadline is promised only to a thread that is bound to nothing.  Returns its number: no other
 * thread binds it until the call has been refused. */
static uint32_t unbind(int32_t tid)
{
    struct rt_thread *me = &rt_self;
    sched_crit_enter(&me->self);
    uint32_t held = rt_hold_place(tid);
    rt_list_lock();
    struct rt_thread *t = rt_thread_of(tid);
    if (t && t->self.task != USF_NONE) os_setaffinity(tid, t->has_hint ? &t->hint : &rt.cpus);
    rt_list_unlock();
    sched_crit_leave(&rt.sched, &me->self);
    return held;
}

static long call_set_policy(struct gate_frame *f)
{
    struct rt_thread *me = rt_enter_now();
    int32_t tid = (int32_t)f->arg[0];
    if (!rt_takes_part() || rt.sched.kernel) return rt_pass(f);
    bool real_time = asks_for_real_time(f);
    uint32_t held = USF_NONE;
    if (real_time) {
        if (tid && tid != rt_self.tid) held = unbind(tid);
        else if (me) opt_out(me);
    }
    if (f->nr == __NR_sched_setattr) rt_before_nice();
    long r = rt_pass(f);
    if (r == 0) {
        atomic_fetch_add(&rt.policy_calls, 1);              /* those that have opted out look at what they are now */
        if (real_time) atomic_store(&rt.careful, 1);        /* ... and all others, which costs them their short cuts */
        else if (tid && tid != rt_self.tid) held = rt_hold_place(tid);      /* it may still be held, and has not opted out since */
        if (!real_time && f->nr == __NR_sched_setattr) rt_follow_nice(tid);
    }
    if (r || !real_time) sched_end_hold(&rt.sched, held);
    rt_enter();     /* it has opted out for nothing if the call was refused */
    return r;
}

void rt_install_optout(void)
{
    usf_gate_handlers[__NR_sched_setscheduler] = call_set_policy;
    usf_gate_handlers[__NR_sched_setattr] = call_set_policy;
}
