/* src/runtime/exec.c - exec, which may fail.  SPDX-License-Identifier: Apache-2.0
 *
 * The process is taken off its instance before, in a critical section.  A signal that is kept in
 * that would never be handled if the exec succeeded, and the new program would start with the mask
 * that keeps further ones away.  So the exec is given up then, up to its very instruction
 * (rt_exec_fix_pc), and made again after the handler has run. */
#include <errno.h>

#include "runtime/runtime.h"
#include "trace/trace.h"

#define TRIES 4u                /* under a storm of signals the process leaves for good, and its handlers run in between */
#define GIVEN_UP (-512L)        /* no error of the kernel's that a program sees */

/* The frame's call, unless *kept is set.  Of the architecture (src/arch). */
long rt_exec_call(const struct gate_frame *f, const uint32_t *kept);
extern const char rt_exec_window[], rt_exec_window_end[], rt_exec_give_up[];

uintptr_t rt_exec_fix_pc(uintptr_t pc)
{
    bool inside = pc >= (uintptr_t)rt_exec_window && pc < (uintptr_t)rt_exec_window_end;
    return USF_UNLIKELY(inside) ? (uintptr_t)rt_exec_give_up : pc;
}

static void rejoin(struct rt_thread *t, uint32_t proc)
{
    atomic_store(&rt.was_off, 1);
    rt_float_was_off();
    atomic_store(&rt.careful, 1);
    rt_lost_record(t);
    t->self.joining = 1;
    if (rt_join_instance(false)) rt.on = false;
    t->self.joining = 0;
    sched_left(&rt.sched, proc, !rt.on);
    if (!rt.on) trace_follow(&rt.sched);
}

static long try_exec(struct rt_thread *t, struct gate_frame *f)
{
    uint32_t proc;
    sched_crit_enter(&t->self);
    if (!rt_take_off(t, &proc)) {
        sched_crit_leave(&rt.sched, &t->self);
        return GIVEN_UP;
    }
    rt_unpin();
    rt_signals_before_exec();
    USF_POINT("exec.off");
    long r = rt_exec_call(f, &t->deferred);
    rt_signals_after_failed_exec();
    rejoin(t, proc);
    sched_crit_leave(&rt.sched, &t->self);      /* here a handler runs, if that was the reason */
    return r;
}

/* It has left for good, and has failed to exec.  Other threads have got used to being alone. */
static void come_back(struct rt_thread *t)
{
    if (rt.threads) return;
    sched_crit_enter(&t->self);
    rt_float_was_off();
    atomic_store(&rt.sched.leaving, SCHED_STAYS);
    rt.on = true;
    rt_set_state(t, RT_ANY_STATE & ~(RT_AT(RT_ATTACHING) | RT_AT(RT_ATTACHED)), RT_NEW);
    if (rt_join_instance(false)) rt.on = false;
    sched_crit_leave(&rt.sched, &t->self);
}

/* The call, with the actions that the new program is to have; a child of vfork keeps them. */
static long pass_exec(struct gate_frame *f)
{
    rt_signals_before_exec();
    long r = rt_pass(f);
    if (!usf_gate_vforked) rt_signals_after_failed_exec();
    return r;
}

static long make_exec(struct rt_thread *t, struct gate_frame *f)
{
    long r;
    for (unsigned i = 0; i < TRIES && rt.on; i++)
        if ((r = try_exec(t, f)) != GIVEN_UP) return r;
    bool own_choice = rt.on;        /* else another thread had a reason to leave */
    if (own_choice) rt_depart();
    r = pass_exec(f);
    if (own_choice) come_back(t);
    return r;
}

/* In the parent's memory, whose thread waits: nothing but the mask and the actions is ours to
 * change.  What is made for the exec stays there, until that thread needs the place again, or
 * ends. */
static long exec_vforked(struct rt_thread *t, const struct gate_frame *f)
{
    struct gate_frame with = *f;
    long r = rt_exec_env_make(&with, &t->exec_env);
    if (r) return r;
    if (!rt.late && !t->bound_by_child) rt_unpin();
    return pass_exec(&with);
}

static long call_exec(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    bool at = f->nr == __NR_execveat;
    long dir = at ? (long)f->arg[0] : -100 /* AT_FDCWD */, path = at ? (long)f->arg[1] : (long)f->arg[0], r;

    bool vforked = rt_vforked();
    if (!rt.on && !rt.late) return pass_exec(f);
    if (vforked) return exec_vforked(t, f);
    /* Searching PATH means many calls that fail: find out before anything is given up.  (Not by
     * -EACCES: that is about the real user, exec about the effective one.) */
    long may = at && f->arg[4] ? 0 : usf_syscall(__NR_faccessat, dir, path, 1 /* X_OK */);
    if (may == -ENOENT || may == -ENOTDIR || may == -ELOOP || may == -ENAMETOOLONG) return rt_pass(f);

    struct gate_frame with = *f;
    struct rt_exec_env env = {0};
    if (rt_has_own_self() && (r = rt_exec_env_make(&with, &env))) return r;
    r = rt.late ? pass_exec(&with) : make_exec(t, &with);       /* while it stands by: its timer ends with the exec */
    rt_exec_env_drop(&env);
    return r;
}

void rt_install_exec(void)
{
    usf_gate_handlers[__NR_execve] = call_exec;
    usf_gate_handlers[__NR_execveat] = call_exec;
}
