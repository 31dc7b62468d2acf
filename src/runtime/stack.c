/* src/runtime/stack.c - the stacks on which the runtime's own signal is handled.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bare, a thread gets no signal that its program does not know of, so any stack may be current when
 * ours comes: one that a JIT or a collector looks at, one without room for a signal frame.  The
 * rules are at the head of signals.c.
 *
 * The kernel has one alternate stack per thread.  In a process that takes part it is the runtime's.
 * The one that the program sets is kept in user_stack, and nothing is written there but frames of
 * the program's handlers: it may be too small for ours, and a program that gets no signals may have
 * freed it.  The program does not see that: sigaltstack() and the context that a handler gets show
 * its own.
 *
 * An entry is moved by copying its frame to another stack and beginning it anew there.  Nothing
 * else knows the frame at that time: only signals that came at the same moment, and those are
 * blocked (signals.c). */
#include <errno.h>
#include <sys/mman.h>

#include "arch/signal.h"
#include "runtime/runtime.h"
#include "sched/carrier.h"

/* Two frames of the largest kind (with the tiles of AMX they have 11 KiB), and the runtime's calls,
 * which take 4 KiB. */
#define STACK_SIZE (64u << 10)
#define CHUNK      64u          /* stacks mapped at a time; no page of theirs is real before it is touched */
#define AUTODISARM (1u << 31)
#define LEAST_SIZE 2048u        /* MINSIGSTKSZ of the kernel */

static struct {
    char *base;
    uint64_t used;              /* bits; changed under rt.list_lock */
} chunk[USF_MAX_TASKS / CHUNK];

static bool is_own(const struct rt_thread *t, uintptr_t at)
{ return t->self.signal_stack && at - (uintptr_t)t->self.signal_stack < STACK_SIZE; }

uintptr_t rt_stack_end(const struct rt_thread *t, uintptr_t at) { return is_own(t, at) ? (uintptr_t)t->self.signal_stack + STACK_SIZE : 0; }

static bool map_chunk(unsigned c)
{
    void *p = os_map(CHUNK * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (os_is_error(p)) return false;
    chunk[c].base = p;
    return true;
}

static void *take(void)
{
    for (unsigned c = 0; c < USF_MAX_TASKS / CHUNK; c++) {
        if (chunk[c].used == UINT64_MAX) continue;
        if (!chunk[c].base && !map_chunk(c)) return 0;
        unsigned i = (unsigned)__builtin_ctzll(~chunk[c].used);
        chunk[c].used |= 1ull << i;
        return chunk[c].base + i * STACK_SIZE;
    }
    return 0;
}

static uint64_t *bit_of(const void *stack, uint64_t *bit)
{
    for (unsigned c = 0; c < USF_MAX_TASKS / CHUNK && chunk[c].base; c++) {
        size_t at = (size_t)((const char *)stack - chunk[c].base);
        *bit = 1ull << (at / STACK_SIZE % CHUNK);
        if (at < CHUNK * STACK_SIZE) return &chunk[c].used;
    }
    return 0;
}

static long set_alternate(void *stack, stack_t *was)
{
    stack_t s = {.ss_sp = stack, .ss_size = stack ? STACK_SIZE : 0, .ss_flags = stack ? 0 : SS_DISABLE};
    return usf_syscall(__NR_sigaltstack, &s, was);
}

static void free_stack(const void *stack)
{
    uint64_t bit, *used = bit_of(stack, &bit);
    if (used) *used &= ~bit;
}

static void drop(struct rt_thread *t)
{
    free_stack(t->self.signal_stack);
    t->self.signal_stack = 0;
    if (t->self.carrier) t->self.carrier->signal_stack = 0;
}

void rt_stack_drop(void *stack)
{
    rt_list_lock();
    free_stack(stack);
    rt_list_unlock();
}

static void take_new(struct rt_thread *t)
{
    stack_t was;
    rt_list_lock();
    t->self.signal_stack = take();
    if (t->self.signal_stack && set_alternate(t->self.signal_stack, &was)) drop(t);
    rt_list_unlock();
    if (t->self.signal_stack && !(was.ss_flags & SS_DISABLE)) t->user_stack = was;
}

/* A child of fork has its thread's already, and so has a process that stood by.  A thread that is
 * on its program's alternate stack cannot have ours (EPERM). */
void rt_stack_take(struct rt_thread *t)
{
    if (!t->self.signal_stack) take_new(t);
    if (t->self.carrier) t->self.carrier->signal_stack = t->self.signal_stack;
}

/* At the thread's end, with signals blocked: it needs no alternate stack any more, its program's
 * neither. */
void rt_stack_give(struct rt_thread *t)
{
    if (!t->self.signal_stack || rt_float_is_away(t)) return;
    if (!t->withdrawn) set_alternate(0, 0);
    t->withdrawn = false;
    rt_list_lock();
    drop(t);
    rt_list_unlock();
}

void rt_stacks_after_fork(const struct rt_thread *t)
{
    uint64_t bit, *mine = t->self.signal_stack ? bit_of(t->self.signal_stack, &bit) : 0;
    for (unsigned c = 0; c < USF_MAX_TASKS / CHUNK; c++) chunk[c].used = 0;
    if (mine) *mine = bit;
}

void rt_stack_call(struct rt_thread *t, void (*fn)(void))
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (!t->self.signal_stack || is_own(t, here)) {
        fn();
        return;
    }
    arch_call_on((char *)t->self.signal_stack + STACK_SIZE, fn);
}

/* ---- what the program sees ---------------------------------------------------------------------- */

static bool user_has(const struct rt_thread *t, uintptr_t sp)
{
    const stack_t *u = &t->user_stack;
    return !((uint32_t)u->ss_flags & AUTODISARM) && sp - (uintptr_t)u->ss_sp - 1 < u->ss_size;
}

static stack_t user_stack(const struct rt_thread *t)
{ return t->user_stack.ss_size ? t->user_stack : (stack_t){.ss_flags = SS_DISABLE}; }

/* As the kernel does it. */
static long set_user(struct rt_thread *t, const stack_t *want, uintptr_t sp)
{
    uint32_t mode = (uint32_t)want->ss_flags & ~AUTODISARM;
    if (user_has(t, sp)) return -EPERM;
    if (mode != SS_DISABLE && mode != SS_ONSTACK && mode) return -EINVAL;
    if (mode != SS_DISABLE && want->ss_size < LEAST_SIZE) return -ENOMEM;
    t->user_stack = mode == SS_DISABLE ? (stack_t){0} : *want;
    t->user_stack.ss_flags = (int)((uint32_t)want->ss_flags & AUTODISARM);
    return 0;
}

static long call_sigaltstack(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    stack_t want, now;
    if (!t->self.signal_stack || !rt_has_own_self()) return rt_pass(f);
    if (f->arg[0] && !sync_read_words(&want, (const void *)f->arg[0], sizeof want)) return -EFAULT;
    now = user_stack(t);
    if (user_has(t, f->sp)) now.ss_flags |= SS_ONSTACK;
    long r = f->arg[0] ? set_user(t, &want, f->sp) : 0;
    if (r == 0 && f->arg[1]) r = usf_syscall(__NR_sigaltstack, 0, f->arg[1]);     /* the kernel knows whether it can be written */
    if (r == 0 && f->arg[1]) __builtin_memcpy((void *)f->arg[1], &now, sizeof now);
    return r;
}

bool rt_stack_hide(struct rt_thread *t, ucontext_t *uc)
{
    if (!t->self.signal_stack || uc->uc_stack.ss_sp != t->self.signal_stack) return false;
    uc->uc_stack = user_stack(t);
    if ((uint32_t)t->user_stack.ss_flags & AUTODISARM) t->user_stack = (stack_t){0};
    return true;
}

/* The return from the signal sets the stack that the context names. */
void rt_stack_show(struct rt_thread *t, ucontext_t *uc)
{
    set_user(t, &uc->uc_stack, arch_sp(uc));
    uc->uc_stack = (stack_t){.ss_sp = t->self.signal_stack, .ss_size = STACK_SIZE};
}

/* ---- a process that stands by ------------------------------------------------------------------- */

bool rt_stack_withdraw(struct rt_thread *t) { return t->withdrawn = t->self.signal_stack && set_alternate(0, 0) == 0; }

void rt_stack_reinstate(struct rt_thread *t)
{
    stack_t was = {.ss_flags = SS_DISABLE};
    if (!t->withdrawn) return;
    set_alternate(t->self.signal_stack, &was);
    if (!(was.ss_flags & SS_DISABLE)) t->user_stack = was;
    t->withdrawn = false;
}

/* ---- moving an entry ---------------------------------------------------------------------------- */

/* As the kernel lays it out: the restorer's address, the context, what came with the signal; the
 * vector registers above them. */
/* From an alternate stack that was set behind our back (Go does), which is out of use meanwhile: a
 * fault here would have its frame at the top of it, over what may be there.  The return from the
 * signal puts it back. */
void rt_stack_enter_own(struct rt_thread *t, int sig, const siginfo_t *info, const ucontext_t *uc)
{
    if (!t->self.signal_stack) return;
    if (!is_own(t, (uintptr_t)uc)) arch_enter_below((uintptr_t)t->self.signal_stack + STACK_SIZE, rt_signal, sig, info, uc);
    else if (uc->uc_stack.ss_sp != t->self.signal_stack && uc->uc_stack.ss_size) set_alternate(0, 0);
}

/* A handler of the program runs where it would, bare. */
void rt_stack_enter_program(struct rt_thread *t, bool on_stack, int sig, const siginfo_t *info, const ucontext_t *uc)
{
    uintptr_t here = (uintptr_t)uc, sp = arch_sp(uc);
    uintptr_t base = (uintptr_t)uc->uc_stack.ss_sp, size = uc->uc_stack.ss_size;
    const stack_t *user = &t->user_stack;
    if (is_own(t, here) && !is_own(t, sp)) {
        bool to_top = on_stack && user->ss_size && !user_has(t, sp);
        arch_enter_below(to_top ? (uintptr_t)user->ss_sp + user->ss_size : sp - ARCH_RED_ZONE, rt_signal, sig, info, uc);
    } else if (!is_own(t, here) && !on_stack && here - base < size && sp - base >= size) {
        arch_enter_below(sp - ARCH_RED_ZONE, rt_signal, sig, info, uc);      /* one that was set behind our back */
    }
}

void rt_install_stack(void) { usf_gate_handlers[__NR_sigaltstack] = call_sigaltstack; }
