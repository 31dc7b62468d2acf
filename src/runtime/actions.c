/* src/runtime/actions.c - sigaction: what the program has set, and what the kernel has for it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel has rt_signal (signals.c) in the place of each handler of the program, and for the
 * signals that the runtime itself needs.  The program sees what it has set. */
#include <errno.h>

#include "runtime/actions.h"

#define NSIGNALS (RT_SIGNALS + 1)
#define CANCEL_SIGNAL 32        /* glibc's SIGCANCEL */

static struct {
    _Atomic uint32_t lock;
    struct rt_action act[NSIGNALS];             /* as the program set them */
    bool known[NSIGNALS];
    bool seen[NSIGNALS];                        /* its handler is in code whose system calls the gate sees */
    bool ready;
    _Atomic uint64_t handled;                   /* those that have a handler */
    _Atomic int changing;                       /* the signal whose action is being changed, ... */
    struct rt_action before;                    /* ... and what it was, for a child of a fork in the middle of that */
} table;

void rt_restorer(void) __asm__("__restore_rt");     /* of the architecture (src/arch) */

static const int ours[] = {RT_SIGNAL, SIGSEGV, SIGBUS};
#define NR_OURS (sizeof ours / sizeof *ours)
static bool is_ours(int sig)
{
    for (unsigned i = 0; i < NR_OURS; i++)
        if (ours[i] == sig) return true;
    return false;
}

#define RESTORER 0x04000000ul      /* SA_RESTORER */

static long kernel_action(int sig, const struct rt_action *new, struct rt_action *old)
{ return usf_syscall(__NR_rt_sigaction, sig, new, old, 8); }

void rt_signals_exchange(int sig, const struct rt_action *new, struct rt_action *old)
{
    struct rt_action a = *new;
    if (!a.restorer) a.restorer = (void *)rt_restorer;
    a.flags |= RESTORER;
    kernel_action(sig, &a, old);
}

uint64_t rt_set_mask(uint64_t mask)
{
    uint64_t old = 0;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, &old, 8);
    return old;
}

uint64_t rt_block_signals(uint64_t set)
{
    uint64_t old = 0;
    usf_syscall(__NR_rt_sigprocmask, SIG_BLOCK, &set, &old, 8);
    return old;
}

/* ---- what the entry asks ---------------------------------------------------------------------- */

bool rt_action_is_handler(const struct rt_action *a) { return a->handler != RT_DFL && a->handler != RT_IGN; }

const struct rt_action *rt_action_of(int sig)
{
    usf_dassert(sig >= 1 && sig < NSIGNALS);
    return &table.act[sig];
}

bool rt_action_is_seen(int sig) { return table.seen[sig]; }

uint64_t rt_actions_handled(void) { return (atomic_load(&table.handled) | 1ull << (RT_SIGNAL - 1)) & ~RT_SYNCHRONOUS; }

void rt_action_is_used(int sig, const struct rt_action *a)
{
    const struct rt_action *now = &table.act[sig];
    if (!(a->flags & now->flags & SA_RESETHAND) || a->handler != now->handler) return;
    table.act[sig].handler = RT_DFL;
    atomic_fetch_and(&table.handled, ~(1ull << (sig - 1)));
}

bool rt_entry_blocks_all(int sig, const struct rt_action *a)
{ return sig == RT_SIGNAL || sig == RT_SETXID_SIGNAL || a->flags & SA_ONSTACK; }

uint64_t rt_late_signals(int sig, const struct rt_action *a)
{
    uint64_t late = sig != CANCEL_SIGNAL ? 1ull << (CANCEL_SIGNAL - 1) : 0;
    return a->flags & SA_ONSTACK && sig != RT_SIGNAL ? late | 1ull << (RT_SIGNAL - 1) : late;
}

/* Functions without unwind information are not patched: such code (Go's) asks the kernel itself for
 * its alternate stack, is told of the runtime's, and takes that for its own. */
static bool has_bounds(uintptr_t pc)
{
    struct gate_object o;
    uintptr_t start, end;
    return gate_find_object(pc, &o) && gate_function_bounds(&o, pc, &start, &end);
}

/* gnuplot installs the same handler a million times per second.  The caller has the table. */
static bool is_seen(const struct rt_action *a)
{
    static uintptr_t last;
    uintptr_t pc = (uintptr_t)a->handler;
    if (!rt_action_is_handler(a) || pc == last) return true;
    if (!has_bounds(pc)) return false;
    last = pc;
    return true;
}

/* ---- sigaction ------------------------------------------------------------------------------- */

static void install_entry(int sig, const struct rt_action *user)
{
    struct rt_action k = *user;
    /* Handlers on top of the entry may unwind (pthread_cancel): not through a frame that they do
     * not expect, of a thread that may be in a springboard. */
    if (!rt_action_is_handler(user)) k = (struct rt_action){.flags = SA_RESTART | SA_ONSTACK, .mask = ~RT_SYNCHRONOUS};
    else if (rt_entry_blocks_all(sig, user)) k.mask = ~RT_SYNCHRONOUS;
    else k.mask |= rt_late_signals(sig, user);
    if (sig == RT_SIGNAL) k.flags |= SA_ONSTACK;
    if (is_ours(sig)) k.flags &= ~(unsigned long)SA_RESETHAND;      /* one of our own must not use it up */
    k.handler = rt_signal;
    k.flags |= SA_SIGINFO;
    rt_signals_exchange(sig, &k, 0);
}

/* The kernel may have reset its action. */
void rt_signal_is_again(int sig)
{ if (table.act[sig].flags & SA_RESETHAND) install_entry(sig, &table.act[sig]); }

static long tell_kernel(int sig, const struct rt_action *want)
{
    bool plain = !rt_action_is_handler(want);
    long r = 0;
    usf_dassert(sig >= 1 && sig < NSIGNALS && sig != SIGKILL && sig != SIGSTOP);
    if (!plain) atomic_fetch_or(&table.handled, 1ull << (sig - 1));
    if (plain && !is_ours(sig)) r = kernel_action(sig, want, 0);
    else install_entry(sig, want);
    if (plain && r == 0) atomic_fetch_and(&table.handled, ~(1ull << (sig - 1)));
    return r;
}

/* Its actions are its own, the table is its parent's: only what it would not know again is put
 * right. */
static long sigaction_of_vforked(struct gate_frame *f, int sig)
{
    struct rt_action *old = (void *)f->arg[2];
    long r = rt_pass(f);
    if (r == 0 && f->arg[1]) rt_self.set_by_child |= 1ull << (sig - 1);
    if (r == 0 && old && old->handler == rt_signal) *old = table.act[sig];
    return r;
}

static long call_sigaction(struct gate_frame *f)
{
    int sig = (int)f->arg[0];
    const struct rt_action *new = (const void *)f->arg[1];
    struct rt_action *old = (void *)f->arg[2], want, before;
    struct rt_thread *t = &rt_self;
    long r;

    if (!table.ready || f->arg[3] != 8 || sig < 1 || sig >= NSIGNALS || sig == SIGKILL || sig == SIGSTOP) return rt_pass(f);
    if (rt_vforked()) return sigaction_of_vforked(f, sig);
    if (new && !sync_read_words(&want, new, sizeof want)) return -EFAULT;
    sched_crit_enter(&t->self);
    uint32_t free = 0;
    usf_lock_wanted(USF_RANK_ACTIONS);
    for (uint32_t i = 0; !atomic_compare_exchange_weak(&table.lock, &free, 1); i++, free = 0) rt_back_off(i);
    usf_lock_taken(USF_RANK_ACTIONS);
    if (!table.known[sig]) {
        kernel_action(sig, 0, &table.act[sig]);
        table.known[sig] = true;
    }
    before = table.before = table.act[sig];
    r = 0;
    if (new) {
        want.mask &= ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1));
        atomic_store(&table.changing, sig);
        table.seen[sig] = is_seen(&want);
        table.act[sig] = want;      /* before the kernel knows: the entry reads it */
        r = tell_kernel(sig, &want);
        if (r) table.act[sig] = before;
        atomic_store(&table.changing, 0);
    }
    usf_lock_released(USF_RANK_ACTIONS);
    atomic_store(&table.lock, 0);
    sched_crit_leave(&rt.sched, &t->self);
    if (r == 0 && old) *old = before;
    return r;
}

/* In the child: the thread that held the table does not exist here. */
void rt_signals_after_fork(void)
{
    int sig = atomic_exchange(&table.changing, 0);
    if (sig) {
        table.act[sig] = table.before;
        tell_kernel(sig, &table.before);
    }
    atomic_store(&table.lock, 0);
}

/* exec keeps what is ignored and resets what is handled: ours are handled where the program
 * ignores.  A child of vfork may have given them other actions, which its parent's table does not
 * know. */
void rt_signals_before_exec(void)
{
    uint64_t set = usf_gate_vforked ? rt_self.set_by_child : 0;
    for (unsigned i = 0; i < NR_OURS; i++)
        if (table.act[ours[i]].handler == RT_IGN && !(set >> (ours[i] - 1) & 1))
            kernel_action(ours[i], &table.act[ours[i]], 0);
}

void rt_signals_after_failed_exec(void)
{ for (unsigned i = 0; i < NR_OURS; i++) install_entry(ours[i], &table.act[ours[i]]); }

void rt_actions_init(void)
{
    for (unsigned i = 0; i < NR_OURS; i++) {
        kernel_action(ours[i], 0, &table.act[ours[i]]);
        table.known[ours[i]] = true;
        install_entry(ours[i], &table.act[ours[i]]);
    }
    table.ready = true;
}

/* The process has one thread, and all signals are blocked that have a handler. */
void rt_signals_adopt(void)
{
    for (int sig = 1; sig < NSIGNALS; sig++) {
        struct rt_action *a = &table.act[sig];
        if (sig == SIGKILL || sig == SIGSTOP || sig == RT_SETXID_SIGNAL) continue;
        if (!is_ours(sig)) kernel_action(sig, 0, a);
        table.known[sig] = true;
        table.seen[sig] = is_seen(a);
        if (rt_action_is_handler(a)) tell_kernel(sig, a);
    }
}

/* Also of actions that the kernel has reset (SA_RESETHAND). */
unsigned rt_signals_restorers(void *restorer[RT_SIGNALS])
{
    unsigned n = 0;
    for (int sig = 1; sig < NSIGNALS; sig++) {
        struct rt_action a = {0};
        if (sig == RT_SETXID_SIGNAL || kernel_action(sig, 0, &a)) continue;
        for (unsigned i = 0; a.restorer && i < n; i++)
            if (restorer[i] == a.restorer) a.restorer = 0;
        if (a.restorer) restorer[n++] = a.restorer;
    }
    return n;
}

void rt_install_signals(void) { usf_gate_handlers[__NR_rt_sigaction] = call_sigaction; }
