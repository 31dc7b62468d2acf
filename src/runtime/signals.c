/* src/runtime/signals.c - signals, the program's and our own.  SPDX-License-Identifier: Apache-2.0
 *
 * Every handler that the program installs is entered through rt_signal: so that no handler ever
 * runs on top of a critical section (the signal is kept and raised again at its end), and that a
 * thread that waits has left its queue and holds a core when the handler starts: the handler may
 * then block, post, longjmp out or unwind (pthread_cancel) like any other code.
 *
 * The current stack is the program's.  A JIT or a collector may read it as data, it may be 300
 * bytes large, and the program knows what runs there.  So:
 *   K1  The runtime's own signal, and faults that the program does not handle, use the alternate
 *       stack (SA_ONSTACK).  In the kernel that is the runtime's own stack of the thread (stack.c),
 *       whatever the program sets.
 *   K2  The runtime's signal writes nothing on the program's alternate stack.  Exception: one that
 *       code has set which the gate does not see (Go).  There the kernel's frame is for a moment:
 *       the entry moves to the runtime's stack before it does anything.
 *   K3  A handler of the program runs where it would bare: on the program's alternate stack if it
 *       has SA_ONSTACK and there is one, else below what it interrupts.  Where the kernel has put
 *       the frame elsewhere because of K1, the entry moves; not for a handler with SA_ONSTACK in
 *       code that the gate does not see, which takes the runtime's stack for its own (Go).
 *   K4  While a frame is not in its place, and while the runtime's stack is in use, all signals
 *       that have a handler are blocked, but those of faults: the next frame would be put over it,
 *       or a handler of the program would run on our stack.  Signals that end or stop the program
 *       need no frame; a thread that waits for a core lets them in (look_at_itself).
 *   K5  The program sees its own settings: in sigaction(), in sigaltstack(), in the context that a
 *       handler gets.
 *   K6  What runs on the program's stack at a system call or in a spin loop's stub begins below the
 *       red zone and takes less than 4 KiB (tests/signals/depth.c). */
#include <errno.h>
#include <ucontext.h>

#include "arch/code.h"
#include "arch/signal.h"
#include "runtime/actions.h"
#include "sched/carrier.h"
#include "spin/spin.h"

/* ---- signals that came in a critical section ------------------------------------------------- */

/* As it came; without what came with it, where that cannot be sent (a sandbox, too many signals
 * pending). */
void rt_raise(int sig, const void *info)
{
    int32_t tid = os_gettid();
    if (usf_syscall(__NR_rt_tgsigqueueinfo, rt.pid, tid, sig, info) < 0) usf_syscall(__NR_tgkill, rt.pid, tid, sig);
}

/* The slot is taken.  What is blocked by now stays pending in the kernel.  One of RT_SYNCHRONOUS is
 * not blocked: raised, it would come at once, and so for ever.  It takes the slot, unless the slot
 * has one of the same number: these are one.  If the slot has another of that kind, that one is
 * blocked until the section ends.  (noinline: its siginfo would be in the frame of each handler.) */
__attribute__((noinline)) static void defer_second(struct rt_thread *t, int sig, const siginfo_t *info, ucontext_t *uc)
{
    int other = (int)t->deferred;
    uint64_t block = 1ull << (other - 1) & RT_SYNCHRONOUS;
    siginfo_t its;
    if (!(RT_SYNCHRONOUS >> (sig - 1) & 1)) {
        rt_raise(sig, info);
        return;
    }
    if (sig == other) return;
    uint64_t mask = rt_block_signals(RT_SYNCHRONOUS);
    __builtin_memcpy(&its, t->deferred_info, sizeof its);
    t->deferred = (uint32_t)sig;
    __builtin_memcpy(t->deferred_info, info, sizeof t->deferred_info);
    rt_raise(other, &its);
    *(uint64_t *)&uc->uc_sigmask |= block;
    rt_set_mask(mask | block);
}

/* The section's end raises the signal again.  A second one can only come on top of the first one's
 * entry, before that has returned with everything blocked: the slot may be taken by then, and
 * either of the two may have taken it.  The later to get here stays pending in the kernel; the mask
 * that holds at the end is the one that both were entered with, and each has seen that one or a
 * larger one. */
static void defer(struct rt_thread *t, int sig, siginfo_t *info, ucontext_t *uc)
{
    uint64_t mask = *(uint64_t *)&uc->uc_sigmask;
    usf_dassert(t->self.crit && sig >= 1 && sig <= RT_SIGNALS && !(t->deferred && t->deferred > RT_SIGNALS));
    arch_set_pc(uc, arch_idle_fix_pc(rt_exec_fix_pc(arch_pc(uc))));
    atomic_store(&t->self.signalled, 1);        /* for an idle loop */
    *(uint64_t *)&uc->uc_sigmask = mask | ~RT_SYNCHRONOUS;
    rt_set_mask(mask | ~RT_SYNCHRONOUS);        /* and what defer_second has blocked */
    if (t->deferred) {
        t->deferred_mask &= mask;
        defer_second(t, sig, info, uc);
        return;
    }
    t->deferred = (uint32_t)sig;
    t->deferred_mask = mask;
    __builtin_memcpy(t->deferred_info, info, sizeof t->deferred_info);
}

/* At the end of an entry that keeps nothing itself (a fault that is put right, the runtime's own
 * signal): what was kept on top of it has the mask of this entry, not of the code below. */
static void end_in_crit(struct rt_thread *t, const ucontext_t *uc)
{
    uint64_t mask = *(const uint64_t *)&uc->uc_sigmask;
    if (USF_LIKELY(!t->self.crit) || (mask | RT_SYNCHRONOUS) == ~0ull) return;
    rt_set_mask(mask | ~RT_SYNCHRONOUS);
    if (t->deferred) t->deferred_mask &= mask;
}

/* Those that are to end or stop the program do so.  A handler's own mask holds again once it has
 * its core; after the runtime's signal the return restores what held below. */
static void hold(struct sched_self *self)
{
    struct rt_thread *t = &rt_self;
    usf_dassert(self == &t->self && self->entering && !t->held);
    self->entering = 0;
    t->held_mask = rt_block_signals(rt_actions_handled());
    t->held = true;
}

static void let_go(struct rt_thread *t)
{
    t->self.entering = 0;
    if (USF_LIKELY(!t->held)) return;
    t->held = false;
    rt_set_mask(t->held_mask);
}

static void after_crit(struct sched_self *self)
{
    struct rt_thread *t = &rt_self;
    usf_dassert(!self->crit);       /* the thread may be in a section of its own: of a call on behalf of no thread */
    if (USF_UNLIKELY(t->attend_later)) {
        t->attend_later = false;
        rt_float_after_crit(t);
    }
    if (USF_LIKELY(!t->deferred)) return;
    int sig = (int)t->deferred;
    t->deferred = 0;
    rt_signal_is_again(sig);
    rt_raise(sig, t->deferred_info);
    rt_set_mask(t->deferred_mask);
}

/* ---- entry ----------------------------------------------------------------------------------- */

static void stop_here(struct rt_thread *t)
{
    uint32_t round = atomic_load(&rt.stop_round);
    if (round & 1) {
        atomic_store((_Atomic uint32_t *)&t->stopped, round);
        for (uint32_t i = 0; atomic_load(&rt.stop_round) == round; i++) rt_back_off(i);
    }
}

/* The user's limit of pending signals (ulimit -i) is used up: the kernel delivers signals without
 * what came with them. */
static bool has_lost_its_value(const siginfo_t *info) { return info->si_code == SI_USER && info->si_pid == 0; }

uint64_t rt_signals_let_end(uint64_t below) { return rt_set_mask(below | rt_actions_handled()); }

/* Look for a spin-wait, give way.  lost: the program's handler may come next, not the return. */
static void look_at_itself(struct rt_thread *t, uintptr_t pc, bool lost, uint64_t below)
{
    rt_find_spin(t, pc);
    if (t->self.task == USF_NONE) return;       /* the process has just been taken off */
    const struct usf_task *task = &rt.sched.tasks[t->self.task];
    bool taken = atomic_load(&task->state) != USF_TASK_RUNNING;     /* it is kernel-scheduled, or its core was taken while it slept unseen */
    if (rt.sched.kernel) return;
    if (!taken) sched_place_self(&rt.sched, &t->self);
    if (t->self.task == USF_NONE || !(taken || sched_is_due(&rt.sched, &t->self))) return;
    /* It may wait for long: signals that end or stop the program are let in.  They need no
     * frame. */
    uint64_t entered = rt_signals_let_end(below);
    t->self.entering = 1;
    t->self.stays++;
    sched_preempt(&rt.sched, &t->self);
    t->self.stays--;
    t->self.entering = 0;
    if (!lost) {
        t->held = false;
        return;
    }
    let_go(t);
    rt_set_mask(entered);
}

/* In the gate, or in glibc's function for cancellable calls (2.41 and later), which the gate has
 * called and which has no frame (gate_syscall). */
static bool is_gates_call(const ucontext_t *uc)
{
    return arch_is_syscall((const uint8_t *)arch_pc(uc))
           && (gate_contains_pc(arch_pc(uc)) || gate_contains_pc(*(const uintptr_t *)arch_sp(uc)));
}

/* The kernel is about to make the interrupted call again: it returns -EINTR instead. */
static void end_call(ucontext_t *uc)
{
    uintptr_t pc = arch_pc(uc);
    if (!is_gates_call(uc)) return;
    arch_set_pc(uc, pc + ARCH_SYSCALL_LEN);
    arch_set_result(uc, -EINTR);
}

/* Another thread may wait for this carrier, or have sent this one a signal.  A call that the kernel
 * would make again ends instead: its caller looks, and makes it again. */
static void attend(struct rt_thread *t, ucontext_t *uc)
{
    uint64_t ends = 0;
    if (!t->self.home) return;
    if (t->self.crit) {
        t->attend_later = true;     /* this thread may hold the lock that is needed */
        return;
    }
    for (uint64_t raised = rt_float_attend(t, t->sigwaits); raised; raised &= raised - 1) {
        int sig = __builtin_ctzll(raised) + 1;
        const struct rt_action *a = rt_action_of(sig);
        if (rt_action_is_handler(a) && !(a->flags & SA_RESTART)) ends |= 1ull << (sig - 1);
    }
    if ((ends || carrier_is_wanted(&t->self)) && t->self.where == SCHED_IN_CALL) end_call(uc);
}

/* The runtime's own signal. */
static void own_signal(struct rt_thread *t, siginfo_t *info, ucontext_t *uc)
{
    uint64_t value = (uint64_t)info->si_value.sival_ptr;
    bool lost = has_lost_its_value(info), stop = value == RT_STOP_MAGIC || rt.stop_round & 1;
    t->unseen++;
    rt_float_apply_users(t);
    attend(t, uc);      /* whatever its value: while one such signal is pending, the kernel drops the next */
    if (stop || lost) stop_here(t);
    if (!stop && t->state == RT_ATTACHED && t->self.task != USF_NONE && !t->self.crit && t->self.where == SCHED_USER
        && !usf_gate_vforked && !gate_contains_pc(arch_pc(uc)) && rt_enter()) {
        /* The thread that wants this kernel thread may be the one that is busy-waited for: once the
         * loop is found, it makes room (spinwait.c). */
        if (value == RT_ROOM_MAGIC) rt_find_spin(t, arch_pc(uc));
        else look_at_itself(t, arch_pc(uc), lost, *(const uint64_t *)&uc->uc_sigmask);
    }
    arch_set_pc(uc, spin_fix_pc(arch_pc(uc)));
    end_in_crit(t, uc);
}

/* Of signals that come at once each is entered on top of the entry of the one before, which has not
 * executed anything: whose context is still its third argument. */
static ucontext_t *below_entries(ucontext_t *uc)
{
    while (arch_pc(uc) == (uintptr_t)rt_signal) uc = (ucontext_t *)arch_third_argument(uc);
    return uc;
}

/* May the handler run on the runtime's stack, as what it takes for its own? */
static bool takes_our_stack(int sig, const struct rt_action *a) { return a->flags & SA_ONSTACK && !rt_action_is_seen(sig); }

static uint64_t let_in_late(int sig, const struct rt_action *a, const ucontext_t *uc)
{
    /* Programs cannot block libc's: if that is blocked below, an entry has done it, which this
     * handler may jump out of. */
    const uint64_t own = 1ull << (RT_SIGNAL - 1), below = *(const uint64_t *)&uc->uc_sigmask & own;
    uint64_t late = rt_late_signals(sig, a) & ~(a->mask | below);
    if (late) usf_syscall(__NR_rt_sigprocmask, SIG_UNBLOCK, &late, 0, 8);
    return late;
}

/* Springboards and spin loops' stubs have no unwind information: a handler that unwinds
 * (pthread_cancel, throw) sees the patched object's own address in their place, and its stack
 * pointer there. */
static void show_original(ucontext_t *uc)
{
    uint64_t sp = arch_sp(uc);
    arch_set_pc(uc, spin_original_pc(gate_original_pc(arch_pc(uc)), &sp));
    arch_set_sp(uc, sp);
}

/* What the call lets in, or takes, which the thread is in (waits.c). */
struct let_in { uint64_t waits, mask; bool one; };

/* A handler on top of such a call runs with the call's mask, may make such a call itself, and may
 * never return to this one.  So it is as after a sigprocmask: the thread has that mask, and is in no
 * call.  What was raised for the call, and the handler blocks, goes back to the record. */
static struct let_in leave_call(struct rt_thread *t)
{
    struct let_in in = {t->sigwaits, t->call_mask, t->waits_for_one};
    bool floats = t->state == RT_ATTACHED && rt_floats(t);
    if (USF_LIKELY(!(in.waits | in.mask))) return in;
    if (floats) {
        usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, 0, &t->self.mask, 8);
        t->self.carrier->mask = t->self.mask;
    }
    t->sigwaits = t->call_mask = 0;
    t->waits_for_one = false;
    if (!floats) return in;
    rt_float_withdraw(t, in.waits);
    rt_float_attend(t, 0);              /* a sender may have seen neither the call nor the mask */
    return in;
}

static void return_to_call(struct rt_thread *t, struct let_in in)
{
    t->sigwaits = in.waits;
    t->call_mask = in.mask;
    t->waits_for_one = in.one;
}

/* False: the handler wants the thread to go on elsewhere. */
static bool call_handler(const struct rt_action *a, int sig, siginfo_t *info, ucontext_t *uc)
{
    ucontext_t *below = below_entries(uc);
    uintptr_t true_pc = arch_pc(below), true_sp = arch_sp(below);
    show_original(below);
    uintptr_t shown = arch_pc(below), seen = arch_pc(uc);
    uint64_t late = let_in_late(sig, a, uc);
    struct let_in in = leave_call(&rt_self);
    bool hidden = !takes_our_stack(sig, a) && rt_stack_hide(&rt_self, uc);
    a->handler(sig, info, uc);
    if (hidden) rt_stack_show(&rt_self, uc);
    if (arch_pc(uc) != seen) return false;
    return_to_call(&rt_self, in);
    if (arch_pc(below) != shown || shown == true_pc) return true;
    if (late) rt_block_signals(late);       /* until the return: the stub comes to light again */
    arch_set_pc(below, true_pc);
    arch_set_sp(below, true_sp);
    return true;
}

/* The handler has forked, and the child returns into a wait of its parent's: that ends, and must
 * not sleep on the parent's record, which a call that the kernel wants to repeat would do. */
static void end_parents_wait(struct rt_thread *t, ucontext_t *uc)
{
    t->self.interrupted = 1;
    end_call(uc);
}

/* Code of an object, which is not ours; our code may also be in the kernel's (vdso). */
static bool is_programs(uintptr_t pc)
{
    struct gate_object o;
    return !gate_contains_pc(pc) && gate_find_object(pc, &o);
}

/* A handler keeps its thread on the carrier (float.c, F4).  One that was left by longjmp does not
 * return to say that it is over: then the stack pointer is above its frame.  A handler on an
 * alternate stack is over when the thread is not there. */
static bool is_on_user_stack(const struct rt_thread *t, uintptr_t sp)
{ return t->user_stack.ss_size && sp - (uintptr_t)t->user_stack.ss_sp < t->user_stack.ss_size; }

void rt_forget_left_handlers(struct rt_thread *t)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0), frame = t->handler_frame;
    if (USF_LIKELY(!frame)) return;
    bool left = is_on_user_stack(t, frame) ? !is_on_user_stack(t, sp) : sp > frame && !is_on_user_stack(t, sp);
    if (!left) return;
    usf_dassert(t->handler_stays && rt_thread_is_valid(t));
    t->self.stays -= t->handler_stays;
    t->handler_stays = 0;
    t->handler_frame = 0;
    if (t->self.home) usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, 0, &t->self.mask, 8);      /* longjmp leaves the handler's */
    if (t->self.home) t->self.carrier->mask = t->self.mask;
}

/* The kernel is about to return from the handler's frame. */
static void handler_is_over(struct rt_thread *t, uint32_t stays, const ucontext_t *uc)
{
    usf_dassert(t->handler_stays >= stays && rt_thread_is_valid(t));
    t->self.stays -= t->handler_stays - stays;
    t->handler_stays = stays;
    if (!stays) t->handler_frame = 0;
    rt_float_returns(t, *(const uint64_t *)&uc->uc_sigmask);
    rt_float_attend(t, 0);              /* what the handler has blocked, and the thread does not */
}

static void run_handler(struct rt_thread *t, const struct rt_action *a, int sig, siginfo_t *info, void *uc)
{
    uint64_t held_mask = t->held_mask;
    bool held = t->held;
    uint32_t where = t->self.where, entering = t->self.entering, certain = t->certain, interrupted;
    /* Not what it remembers of its waits for delay.c: on a small stack each byte counts. */
    struct { struct sync_waiter *waiter; const uint32_t *handlers; uint32_t seen; } sync = {t->sync.waiter, t->sync.handlers, t->sync.seen};
    int32_t pid = rt.pid;
    bool returned = false;

    t->handlers++;
    t->restart = (a->flags & SA_RESTART) != 0;
    if (t->state != RT_ATTACHED || usf_gate_vforked) {
        /* The handler may attach the thread.  (A child of vfork, or a clone, uses its parent's record.) */
        bool mine = !usf_gate_vforked && rt_has_own_self();
        if (mine) sched_set_where(&t->self, SCHED_ANYWHERE, SCHED_USER);
        if (call_handler(a, sig, info, uc) && mine) sched_set_where(&t->self, SCHED_AT(SCHED_USER) | SCHED_AT(SCHED_IN_CALL), where);
        return;
    }
    sched_stop_probes(&rt.sched, &t->self);
    if (sync.waiter) sync_cancel(&rt.sync, &t->sync);
    t->held = false;
    t->self.entering = 1;
    rt_forget_left_handlers(t);
    uint32_t stays = t->handler_stays++;
    if (!stays && !takes_our_stack(sig, a)) t->handler_frame = (uintptr_t)__builtin_frame_address(0);
    t->self.stays++;
    if (where == SCHED_PARKED) sched_interrupt(&rt.sched, &t->self);
    else if (where == SCHED_IN_CALL || where == SCHED_RETURNING) returned = sched_interrupt_call(&rt.sched, &t->self);
    interrupted = t->self.interrupted;
    t->self.interrupted = 0;
    sched_set_where(&t->self, SCHED_ANYWHERE, SCHED_USER);
    t->sync.waiter = 0;
    t->sync.handlers = 0;
    let_go(t);

    bool over = !is_programs(arch_pc(uc));
    t->over_gate += over;
    bool returns = call_handler(a, sig, info, uc);
    t->over_gate -= over;
    if (!returns) {             /* as after a fault that a virtual machine expects */
        handler_is_over(t, stays, uc);
        return;
    }

    t->sync.waiter = sync.waiter;
    t->sync.handlers = sync.handlers;
    t->sync.seen = sync.seen;
    t->self.interrupted |= interrupted;
    t->restart = (a->flags & SA_RESTART) != 0;
    if (where == SCHED_PARKED && rt.pid != pid) end_parents_wait(t, uc);
    t->held = held;             /* if its action is new: those that had one were blocked */
    t->held_mask = held_mask;
    t->self.entering = entering;
    sched_set_where(&t->self, SCHED_AT(SCHED_USER) | SCHED_AT(SCHED_IN_CALL), where);     /* IN_CALL: unwound */
    if (returned) sched_leave_core(&rt.sched, &t->self, certain);
    handler_is_over(t, stays, uc);
}

static void default_action(int sig, siginfo_t *info)
{
    const struct rt_action dfl = {.handler = RT_DFL};
    rt_signals_exchange(sig, &dfl, 0);
    /* A fault happens again on return; a signal that was sent must be sent again.  (rt.pid is not
     * known yet while the program starts, and is the parent's after vfork.) */
    if (info->si_code <= 0) usf_syscall(__NR_rt_tgsigqueueinfo, os_getpid(), os_gettid(), sig, info);
}

bool rt_is_own_signal(const siginfo_t *info)
{
    uint64_t v = (uint64_t)info->si_value.sival_ptr;
    return info->si_signo == RT_SIGNAL && info->si_code == SI_QUEUE
           && (v == RT_STOP_MAGIC || v == RT_ROOM_MAGIC || (v & 0xffff0000u) == (MONITOR_PREEMPT_MAGIC & 0xffff0000u));
}

/* Where the program wants it, and with the mask that it asks for: as if no other had been
 * blocked. */
static void settle(struct rt_thread *t, const struct rt_action *a, int sig, const siginfo_t *info, const ucontext_t *uc)
{
    if (!takes_our_stack(sig, a)) rt_stack_enter_program(t, a->flags & SA_ONSTACK, sig, info, uc);
    if (!rt_entry_blocks_all(sig, a)) return;
    uint64_t self = a->flags & SA_NODEFER ? 0 : 1ull << (sig - 1);
    rt_set_mask(*(const uint64_t *)&uc->uc_sigmask | a->mask | self | rt_late_signals(sig, a));
}

void rt_signal(int sig, siginfo_t *info, void *ctx)
{
    struct rt_thread *t = &rt_self;
    ucontext_t *uc = ctx;
    bool lost = sig == RT_SIGNAL && has_lost_its_value(info);      /* ours or the program's: both look */
    if (rt_is_own_signal(info) || (lost && !rt_action_is_handler(rt_action_of(sig)))) {
        rt_stack_enter_own(t, sig, info, uc);
        own_signal(t, info, uc);
        return;
    }
    if (sig == SIGSEGV || sig == SIGBUS) {
        uintptr_t fix = sync_fault_fixup(arch_pc(uc));
        if (fix && info->si_code > 0) {
            arch_set_pc(uc, fix);
            end_in_crit(t, uc);
            return;
        }
    }
    bool fault = RT_SYNCHRONOUS >> (sig - 1) & 1 && info->si_code > 0;
    if (sig == RT_SETXID_SIGNAL && rt_float_setxid(t, rt_action_of(sig)->handler, sig, info, ctx)) return;
    if (USF_UNLIKELY(rt.sched.carriers != 0) && !fault && !usf_gate_vforked && rt_float_forwards(t, sig, info)) {
        t->unseen++;        /* its call goes on */
        return;
    }
    if (t->self.crit && !fault && !usf_gate_vforked) {
        defer(t, sig, info, uc);
        return;
    }
    struct rt_action a = *rt_action_of(sig);
    if (fault && a.handler == RT_IGN) {        /* a fault cannot be ignored: it would only happen again */
        default_action(sig, info);
        return;
    }
    if (a.handler == RT_IGN || (a.handler == RT_DFL && sig == RT_SIGNAL)) {
        t->unseen++;
        return;
    }
    if (a.handler == RT_DFL) {
        default_action(sig, info);
        return;
    }
    settle(t, &a, sig, info, uc);
    if (lost) own_signal(t, info, uc);
    rt_action_is_used(sig, &a);
    run_handler(t, &a, sig, info, ctx);
}

void rt_signals_init(void)
{
    rt_actions_init();
    rt.sched.after_crit = after_crit;
    rt.sched.hold = hold;
}
