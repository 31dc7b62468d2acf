/* src/runtime/life.c - fork, exit, leaving.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "runtime/runtime.h"
#include "sched/owner.h"
#include "sharing/sharing.h"
#include "spin/spin.h"
#include "threads/threads.h"
#include "trace/trace.h"
#include "usf/usf.h"

/* ---- fork ------------------------------------------------------------------------------------ */

/* In the child: one thread, no task, locks and queues of threads that do not exist here. */
static void forget_parent(struct rt_thread *t)
{
    uint32_t crit = t->self.crit;
    void *signal_stack = t->self.signal_stack;
    USF_POINT("life.child");
    rt.pid = os_getpid();
    atomic_store(&rt.sched.patching, 0);
    atomic_store(&rt.patch_lock, 0);
    atomic_store(&rt.stop_round, 0);
    spin_after_fork();
    sync_reset(&rt.sync);
    sync_kernel_wait(&rt.sync, (int)t->kernel_waits);       /* it may be a handler's fork, on top of them */
    rt_signals_after_fork();
    t->tid = rt.pid;
    t->self = (struct sched_self){.task = USF_NONE, .crit = crit, .signal_stack = signal_stack};
    t->self.stays = t->handler_stays;           /* a handler's fork: it returns in the child */
    rt_float_after_fork(t);
    t->sync = (struct sync_self){.sched = &t->self};
    t->deferred = 0;
    rt_forget_threads();
    rt_stacks_after_fork(t);
    threads_after_fork();
}

static void in_child(struct rt_thread *t)
{
    forget_parent(t);
    rt.start_time = rt.shm.pidns = 0;
    atomic_store(&rt.sched.leaving, 0);
    atomic_store(&rt.careful, 0);
    atomic_store(&rt.shared_tls, 0);
    atomic_store(&rt.was_off, 0);
    atomic_store(&rt.nr_opted_out, 0);
    rt.sched.proc = USF_NONE;
    atomic_store(&rt.sched.following, 0);
    rt_set_state(t, RT_ANY_STATE, RT_NEW);
    t->opted_out = false;
    t->policy_seen = 0;     /* not every policy is inherited */
    t->releases = 0;        /* the kernel counts its sleeps anew */
    t->watched_word = 0;
    if (rt_late_begin_in_child()) return;
    if (rt_join_instance(false)) {
        rt.on = false;
        atomic_store(&rt.sched.leaving, SCHED_LEFT);
        trace_follow(&rt.sched);
        rt_unpin();
    }
}

/* (A filter may allow no system call that is not the program's.) */
static void in_unscheduled_child(void)
{
    struct rt_thread *t = &rt_self;
    forget_parent(t);
    if (t->state == RT_ATTACHED) rt_set_state(t, RT_AT(RT_ATTACHED), RT_ALONE);       /* in a process that has left its instance */
    rt_late_after_fork();
}

static long fork_unscheduled(struct gate_frame *f)
{
    bool mine = rt_has_own_self(), hold = !rt.filtered;     /* a filter may allow no call of ours */
    uint64_t mask = hold ? rt_block_signals(~0ull) : 0;
    long r = rt_pass(f);
    if (r == 0) {
        in_unscheduled_child();
        if (!mine) rt_self.self.crit = 0;       /* it was that of the thread whose storage this is a copy of */
        if (hold) rt_float_returns(&rt_self, mask);         /* it may have joined */
    }
    if (hold) rt_set_mask(mask);
    return r;
}

static long fork_with(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    if (rt_vforked()) return rt_pass(f);
    if (!rt.on) return fork_unscheduled(f);
    if (rt_floats(t)) rt_float_try_home(t);     /* the child is the kernel thread's */
    /* A process that shares this memory and this thread's storage (clone) must not change what is
     * the thread's. */
    bool mine = rt_has_own_self();
    if (mine) sched_crit_enter(&t->self);
    uint64_t mask = rt_block_signals(~0ull);
    sched_keep_inherited(&rt.sched);
    long r = rt_pass(f);
    if (r == 0) {
        if (mine && t->deferred) mask = t->deferred_mask;   /* the signal that came before is the parent's */
        if (!mine) t->self.crit = 1;
        mine = true;
        in_child(t);
        rt_float_returns(t, mask);
    }
    if (r == -EAGAIN) threads_no_room();
    rt_set_mask(mask);
    if (mine) sched_crit_leave(&rt.sched, &t->self);
    /* A program that tries again waits for processes or threads to end. */
    if (mine && r == -EAGAIN && t->state == RT_ATTACHED) sched_yield_core(&rt.sched, &t->self, false);
    return r;
}

/* A process that a clone without CLONE_VM has made on a stack of its own, at its first call that we
 * see: where it begins no frame of ours may lie, so it comes with a copy of its parent's thread,
 * which does not exist here. */
void rt_begin_copy(void)
{
    struct rt_thread *t = &rt_self;
    if (os_getpid() == rt.pid) return;      /* the parent, in a handler, before its springboard has cleared the word */
    uint64_t mask = rt_block_signals(~0ull);
    usf_gate_vforked = 0;
    t->self.crit = 1;
    if (rt.on) in_child(t);
    else in_unscheduled_child();
    rt_float_returns(t, mask);
    rt_set_mask(mask);
    sched_crit_leave(&rt.sched, &t->self);
}

static long call_clone(struct gate_frame *f)
{ return f->arg[0] & CLONE_VM ? rt_pass(f) : fork_with(f); }

/* struct clone_args begins with the flags */
static long call_clone3(struct gate_frame *f)
{
    uint32_t lo;
    bool fork = sync_read((const uint32_t *)f->arg[0], &lo) && !(lo & CLONE_VM);
    return fork ? fork_with(f) : rt_pass(f);
}

/* Of a clone: the new thread's storage; 0: it cannot be read. */
static uint64_t tls_of(const struct gate_frame *f)
{
    uint64_t tls = f->arg[4];
    const void *arg = (const void *)(f->arg[0] + 56);       /* struct clone_args.tls */
    return f->nr != __NR_clone3 || sync_read_words(&tls, arg, sizeof tls) ? tls : 0;
}

/* Leave the creator's hint for CPUs under the new thread's storage, and whether that thread is to
 * stay at home. */
static void bequeath(const struct gate_frame *f)
{
    uint64_t tls = tls_of(f);
    if (!tls) return;
    rt_bequeath_hint(&rt_self, tls);
    rt_float_bequeath(&rt_self, tls);
}

/* Before a clone that has its own stack, or a vfork.  In the parent the springboard takes back what
 * is pushed; a child of a vfork that vforks itself is one still. */
static void before_clone(struct gate_frame *f)
{
    uint32_t lo = 0;
    uint64_t flags = f->arg[0];
    bool vforked = rt_vforked();
    if (f->nr == __NR_vfork) flags = CLONE_VM | CLONE_VFORK;
    else if (f->nr == __NR_clone3) flags = sync_read((const uint32_t *)f->arg[0], &lo) ? lo : 0;
    if (flags & CLONE_VM && !(flags & CLONE_VFORK)) rt_late_join();
    if (!(flags & CLONE_THREAD) && rt_floats(&rt_self)) rt_float_try_home(&rt_self);
    if (!(flags & CLONE_THREAD) && rt.on) sched_keep_inherited(&rt.sched);
    if (!(flags & CLONE_VM)) {
        usf_gate_push_vforked(vforked ? 1 : RT_COPY);
        return;
    }
    if (rt.on && flags & CLONE_THREAD && !vforked) {                       /* off: a filter may allow no call of ours */
        rt_apply_learned();
        rt_float_start(&rt_self);
    }
    if (USF_UNLIKELY(rt.sched.trace != 0) && flags & CLONE_SETTLS && !vforked) rt_trace_clone(tls_of(f));
    if (flags & CLONE_SETTLS && (rt_self.state == RT_ATTACHED || rt_self.state == RT_OPTED_OUT)) bequeath(f);
    if (flags & CLONE_VFORK) {
        if (!vforked) {
            rt_self.set_by_child = 0;
            rt_self.bound_by_child = false;
        }
        vforked = true;
    }
    else if (!(flags & CLONE_SETTLS)) {
        atomic_store(&rt.shared_tls, 1);
        atomic_store(&rt.careful, 1);
    }
    usf_gate_push_vforked(vforked);
}

/* ---- going on without usf -------------------------------------------------------------------- */

bool rt_take_off(struct rt_thread *t, uint32_t *proc)
{
    while (rt.on) {
        if (sched_leave(&rt.sched, &t->self, proc)) return true;
        rt_lost_record(t);      /* another thread was first, and came back: its exec has failed */
    }
    return false;
}

bool rt_depart(void)
{
    struct rt_thread *t = &rt_self;
    uint32_t proc;
    sched_crit_enter(&t->self);
    bool taken_off = rt_take_off(t, &proc);
    if (taken_off) {
        rt.on = false;
        atomic_store(&rt.was_off, 1);
        rt_float_was_off();
        atomic_store(&rt.careful, 1);
        sched_left(&rt.sched, proc, true);
        trace_follow(&rt.sched);
    }
    rt_lost_record(t);
    sched_crit_leave(&rt.sched, &t->self);
    return taken_off;
}

#define REVIVAL_NS 5000000000u

/* A monitor that is on its way has the rights that we are about to give up, and our memory, until
 * its exec, which takes as long as the file system pleases.  For some seconds the program waits;
 * then that one is ended, and the next process that misses a monitor starts another. */
static void part_from_monitor(void)
{
    if (monitor_await_revival(os_now() + REVIVAL_NS) != -ETIMEDOUT) return;
    int r = monitor_drop_revival();
    if (r < 0) usf_warn_once("the monitor does not come to its start, and cannot be ended (%d): it has this program's memory", -r);
}

/* A filter of system calls allows those that the program makes, not ours. */
static void before_filter(void)
{
    if (rt_late_cancel() || rt_takes_part()) {
        usf_say("%s filters its system calls: it runs unscheduled", rt.comm);
        rt_depart();
    }
    part_from_monitor();
    rt.filtered = true;
}
static long call_seccomp(struct gate_frame *f)
{
    if (f->arg[0] == SECCOMP_SET_MODE_STRICT || f->arg[0] == SECCOMP_SET_MODE_FILTER) before_filter();
    return rt_pass(f);
}
static long call_prctl(struct gate_frame *f)
{
    if (f->arg[0] == PR_SET_SECCOMP) before_filter();
    return f->arg[0] == USF_PRCTL ? rt_task_call(f) : rt_pass(f);
}

/* A debugger's threads must not wait for anything that those which it has stopped may hold: a core,
 * or the scheduler's lock.  What it starts is scheduled all the same. */
static long call_ptrace(struct gate_frame *f)
{
    if (f->arg[0] != 0 /* PTRACE_TRACEME */ && (rt_late_cancel() || rt_takes_part())) {
        usf_say("%s traces other programs: it runs unscheduled", rt.comm);
        rt_depart();
    }
    return rt_pass(f);
}

/* It has become another user's for good, or left the group that the instance is for, who must not
 * be able to change what the owner's programs and monitor go by.  With other threads about the
 * segment stays mapped: they may be looking at it. */
static void depart_as_stranger(void)
{
    /* Before it departs: several threads may do so at once, and the last of them would find itself
     * alone in the list. */
    bool alone = rt_is_alone();
    usf_say("%s runs as another user%s from now on: it runs unscheduled", rt.comm, os_has_user(rt.user) ? "'s group" : "");
    bool departs = rt_late_cancel();
    departs |= rt_depart();
    if (!rt.shm.h || !departs || !alone || atomic_load(&rt.nr_opted_out) > rt_self.opted_out) return;
    usf_syscall(__NR_mmap, rt.shm.h, rt.shm.size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool rt_is_stranger(void) { return !os_has_user(rt.user) || !sharing_is_member(rt.settings.instance); }

const uint16_t rt_set_users[] = {
    __NR_setuid, __NR_setgid, __NR_setreuid, __NR_setregid, __NR_setresuid, __NR_setresgid, __NR_setgroups,
};

static long call_set_user(struct gate_frame *f)
{
    part_from_monitor();
    long r = rt_pass(f);
    if (r == 0 && (rt.late || rt_takes_part()) && rt_is_stranger()) depart_as_stranger();
    else if (r == 0 && !rt.sched.trace) rt.sched.trace_gen = 0;     /* the rings may be ours to open now: look again */
    return r;
}

void rt_desert(void)
{
    rt.on = false;
    atomic_store(&rt.was_off, 1);
    rt_float_was_off();
    atomic_store(&rt.careful, 1);
    if (!rt.sched.h) return;
    sched_desert(&rt.sched, &rt.cpus);
    trace_follow(&rt.sched);
}

bool rt_desert_condemned(void)
{
    if (!shm_is_condemned(rt.shm.h)) return false;
    rt_desert();
    usf_warn_about("damaged", "the memory of instance '%s' is damaged: %s runs unscheduled from now on", rt.settings.instance, rt.comm);
    return true;
}

/* The lock's owner is not stopped: then it has had seconds of CPU time and has not come back
 * (monitor/stall.c). */
static bool owner_runs(uint32_t proc, uint32_t task)
{
    const struct usf_proc *p = &rt.sched.procs[proc];
    return p->namespace == rt.sched.namespace && os_thread_state(p->pid, sched_thread_of(&rt.sched, task)->tid) == 'R';
}

/* A thread has waited long for the scheduler's lock. */
static bool lock_is_stuck(uint32_t owner)
{
    struct usf_header *h = rt.shm.h;
    uint32_t by = atomic_load(&h->stalled);
    if (rt_desert_condemned()) return true;
    if (!by || by - 1 == rt.sched.proc) {
        if (!monitor_shows_life(&h->namespace[rt.shm.namespace])) monitor_keep(h, rt.shm.namespace);
        atomic_store(&h->lock_waits, 1);
        atomic_store(&h->lock_stuck, ~0u);      /* each monitor looks after its pid namespace */
        sched_tell_monitor(rt.sched.h);
        return false;
    }
    rt_desert();
    bool known = by <= atomic_load(&h->proc_hwm);
    if (known && owner < LOCK_NAME_PROC && owner_runs(by - 1, owner - 1)) {
        usf_warn_about("stalled", "'%s' (process %d) has had no CPU, or does not come back from policy '%s' of instance '%s' (usf policy check finds "
                       "such): %s runs unscheduled from now on", rt.sched.procs[by - 1].comm, rt.sched.procs[by - 1].pid, h->policy, rt.settings.instance, rt.comm);
        return true;
    }
    usf_warn_about("stalled", "'%s' (process %d%s) is stopped while instance '%s' waits for it: %s runs unscheduled from now on",
                   known ? rt.sched.procs[by - 1].comm : "a monitor", known ? rt.sched.procs[by - 1].pid : 0,
                   known && rt.sched.procs[by - 1].namespace == rt.sched.namespace ? "" : " of another container", rt.settings.instance, rt.comm);
    return true;
}

/* ---- exit ------------------------------------------------------------------------------------ */

static long call_exit_group(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    bool in = t->state == RT_OPTED_OUT || (t->state == RT_ATTACHED && t->self.task != USF_NONE);
    if (rt.on && !usf_gate_vforked && in && rt_has_own_self()) {
        uint32_t proc;
        sched_crit_enter(&t->self);
        sched_leave(&rt.sched, &t->self, &proc);
    }
    return rt_pass(f);
}

void rt_install_life(void)
{
    usf_gate_before_clone = before_clone;
    usf_gate_handlers[__NR_fork] = fork_with;
    usf_gate_handlers[__NR_clone] = call_clone;
    usf_gate_handlers[__NR_clone3] = call_clone3;
    rt_install_exec();
    usf_gate_handlers[__NR_ptrace] = call_ptrace;
    usf_gate_handlers[__NR_seccomp] = call_seccomp;
    usf_gate_handlers[__NR_prctl] = call_prctl;
    RT_INSTALL(rt_set_users, call_set_user);
    usf_lock_on_stuck = lock_is_stuck;
    usf_gate_handlers[__NR_exit_group] = call_exit_group;
}
