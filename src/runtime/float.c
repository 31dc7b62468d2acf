/* src/runtime/float.c - what a floating thread must not notice of the kernel thread that executes it.  SPDX-License-Identifier: Apache-2.0
 *
 * The kernel keeps state for each of its threads, and a thread of the program expects its own.
 * docs/threads.md has the whole table.  In short:
 *   F1  A thread keeps the id that it was born with, and others reach it by that: a signal that the program sends to it is kept in its
 *       record, and the thread raises it to itself where it is executed (`sent`).
 *   F2  A thread leaves its carrier only for one with the same signal mask; a carrier that gets another thread takes that one's mask.
 *   F3  Calls that depend on other state of the kernel thread are made at home: after some of them the thread stays there (`stays`), and so
 *       do the threads that it creates afterwards, if others do not have what they inherit (`hands_on`; homing.c).
 *   F4  While a handler of the program runs, or the runtime's own signal, the thread stays: the frame returns to the kernel thread's stack
 *       and mask.
 *   F5  A thread that ends goes home for it, or its end is told as the kernel would tell it (carrier_end).
 *   F6  The call that sets the user of all threads has each kernel thread execute libc's handler for the thread that was born there (users.c). */
#include <sys/auxv.h>
#include <sys/mman.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"
#include "spin/spin.h"

#define IDLE_STACK  65536u      /* with the guard; signals that come one upon another take 3.3 KiB each, with AVX-512 */
#define IDLE_GUARD  4096u       /* an overflow ends the program, and writes into nothing else */
#define TCB_SIZE    4096u       /* above a thread's TLS base, for libc */
#define PR_TID_ADDRESS 40       /* PR_GET_TID_ADDRESS */

/* What lies in libusf's TLS, below the TLS base; in bytes from there. */
static size_t tls_below;
size_t rt_tls_self;             /* ... and rt_self */

/* Pages that are not touched cost nothing.  Not in TLS, of which a library that is loaded by dlopen
 * gets little. */
struct of_each {
    struct carrier carriers[USF_MAX_TASKS];
    struct sched_floating floating[USF_MAX_TASKS];
    struct rt_sent *sent[USF_MAX_TASKS];                    /* as carriers */
    struct rt_thread *_Atomic born[USF_MAX_TASKS];          /* as carriers */
};
static struct rt_thread *_Atomic *born;
static _Atomic uint32_t nr_born;

static struct rt_thread *of(struct sched_self *self) { return (struct rt_thread *)((char *)self - offsetof(struct rt_thread, self)); }

/* ---- idle loops --------------------------------------------------------------------------------- */

/* Before the first thread leaves its carrier.  Other threads run, and may read clocks. */
enum { UNSEEN, BEING_PATCHED, SEEN, UNSEEABLE };
static _Atomic uint32_t clocks;         /* libc's calls for a thread's CPU clock */

static bool patched;
static void patch_vdso(void) { patched = gate_patch_vdso(); }

/* False: they cannot be seen, and threads stay where they are. */
static bool see_clocks(struct rt_thread *t)
{
    uint32_t unseen = UNSEEN, now;
    if (USF_LIKELY(atomic_load_explicit(&clocks, memory_order_acquire) == SEEN)) return true;
    uint64_t mask = rt_block_signals(~RT_SYNCHRONOUS);      /* a handler may wait for a thread that waits here */
    if (atomic_compare_exchange_strong(&clocks, &unseen, BEING_PATCHED)) {
        rt_stack_call(t, patch_vdso);
        atomic_store(&clocks, patched ? SEEN : UNSEEABLE);
    }
    for (uint32_t i = 0; (now = atomic_load(&clocks)) == BEING_PATCHED; i++) rt_back_off(i);
    rt_set_mask(mask);
    return now == SEEN;
}

/* One mapping: the stack, the registers of the idle loop and of the thread that begins here, then
 * what stands in for a thread's TLS, with a record that keeps signals.  A thread that has left its
 * carrier has it, so that its end needs no memory. */
static bool map_idle(struct carrier *k)
{
    if (!see_clocks(&rt_self)) return false;
    if (k->stack) return true;
    size_t size = IDLE_STACK + 2 * sizeof(struct arch_context) + tls_below + TCB_SIZE;
    void *p = os_map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (os_is_error(p)) return false;
    if (usf_syscall(__NR_mprotect, p, IDLE_GUARD, PROT_NONE) < 0) {
        os_unmap(p, size);
        return false;
    }
    k->stack = p;
    k->stack_size = size;
    k->context = (struct arch_context *)(void *)((char *)p + IDLE_STACK) + 1;
    return true;
}

static void make_idle(struct carrier *k)
{
    char *p = k->stack, *tls = p + k->stack_size - TCB_SIZE;
    ((void **)(void *)tls)[0] = tls;        /* by the ABI */
    ((void **)(void *)tls)[2] = tls;        /* libc's */
    struct rt_thread *t = (struct rt_thread *)(void *)(tls - rt_tls_self);
    __builtin_memset(t, 0, sizeof *t);
    rt_set_state(t, RT_AT(RT_NEW), RT_ALONE);
    t->tid = k->tid;
    t->self.task = USF_NONE;
    t->self.crit = 1;
    t->self.carrier = k;
    t->self.signal_stack = k->signal_stack;
    k->at = (struct arch_context *)(void *)(p + IDLE_STACK);
    arch_context_make(k->at, p + IDLE_STACK, (uint64_t)tls, carrier_idle, k);
    k->idle = &t->self;
}

static void carrier_ends(struct carrier *k)
{
    if (k->signal_stack) rt_stack_drop(k->signal_stack);
    k->signal_stack = 0;
}

static void switched(struct sched_self *to, struct sched_self *from)
{
    struct carrier *k = to->carrier;
    usf_dassert(of(to) == &rt_self && rt_thread_is_valid(of(to)));
    if (USF_UNLIKELY(of(from)->deferred)) rt_float_pass_signal(of(to), of(from));
    if (USF_UNLIKELY(k->set_user_later)) {
        if (to->context) of(to)->attend_later = true;
        else rt_float_after_crit(of(to));
    }
    if (to->context && to->task != USF_NONE && USF_UNLIKELY(atomic_load_explicit(&rt.sched.floating[to->task].attention, memory_order_relaxed)))
        rt_float_attend(of(to), 0);
}

/* The calling thread has left its critical section. */
void rt_float_after_crit(struct rt_thread *t)
{
    struct carrier *k = t->self.carrier;
    rt_float_attend(t, 0);
    if (k && atomic_exchange(&k->set_user_later, false)) usf_syscall(__NR_tgkill, rt.pid, k->tid, RT_SETXID_SIGNAL);
}

/* ---- threads ------------------------------------------------------------------------------------- */

static _Atomic bool starts;             /* rt_float_start is under way, or done */
static _Atomic bool stale_homes;        /* threads have homes whose numbers others may get: no further thread floats */
void rt_float_was_off(void) { if (rt.sched.carriers) atomic_store(&stale_homes, true); }

/* Before the thread attaches or threads begin to float, on its own kernel thread. */
void rt_float_begin(struct rt_thread *t)
{
    uint32_t *ended = 0;
    if (!rt.sched.carriers || t->self.home) return;
    if (atomic_load(&stale_homes)) return;
    usf_dassert(t == &rt_self && t->self.crit);
    usf_xassert(t->tid == os_gettid());
    usf_syscall(__NR_prctl, PR_TID_ADDRESS, &ended);
    if (!ended) return;                 /* the kernel does not say: its end could not be told */
    t->ended = ended;
    size_t size;
    usf_syscall(__NR_get_robust_list, 0, &t->robust, &size);
    t->nr_sent = 0;
    t->user_us = t->system_us = 0;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, 0, &t->self.mask, 8);
    t->self.floats = true;
}

/* ---- threads by their kernel threads --- also those of a process that is not scheduled any more: each of them goes on where it was */

void rt_float_attached(struct rt_thread *t)
{
    if (!t->self.home) return;
    if (t->stays_why) carrier_stay(&rt.sched, &t->self, t->stays_why);
    uint32_t number = (uint32_t)(t->self.home - rt.sched.carriers), n = atomic_load(&nr_born);
    usf_dassert(number < USF_MAX_TASKS && carrier_is_home(&t->self) && t->self.home->tid == t->tid);
    atomic_store(&born[number], t);
    while (n <= number && !atomic_compare_exchange_weak(&nr_born, &n, number + 1)) {}
}

/* It has no record any more, and another thread may get its number: it is what the kernel takes it
 * for from now on, if it is at home. */
void rt_float_is_over(struct rt_thread *t)
{
    if (!t->self.home || !carrier_is_home(&t->self)) return;
    atomic_store(&born[t->self.home - rt.sched.carriers], 0);
    t->self.home = t->self.carrier = 0;
    t->self.context = 0;
    t->self.floats = false;
}

/* The thread ends at home, so no other thread needs this idle loop.  The memory is given back,
 * since address space may be limited. */
static void unmap_idle(struct carrier *k)
{
    void *stack = k->stack;
    k->stack = 0;           /* first: another thread's fork copies what the record says */
    k->idle = 0;
    if (stack) usf_syscall(__NR_munmap, stack, k->stack_size);
}

void rt_float_forget(struct rt_thread *t)
{
    if (!t->self.home) return;
    usf_dassert(t->self.crit && rt_thread_is_valid(t));
    if (carrier_is_home(&t->self)) unmap_idle(t->self.home);
    rt_directed_forget(t);
    struct rt_thread *_Atomic *at = &born[t->self.home - rt.sched.carriers];
    rt_list_lock();
    if (atomic_load(at) == t) atomic_store(at, 0);
    rt_list_unlock();
}

struct rt_thread *rt_float_born(int32_t tid)
{
    for (uint32_t i = 0, n = atomic_load(&nr_born); i < n; i++) {
        struct rt_thread *t = atomic_load(&born[i]);
        if (t && rt.sched.carriers[i].tid == tid) return t;
    }
    return 0;
}

int32_t rt_float_executed_by(int32_t tid)
{
    struct rt_thread *t = rt_float_born(tid);
    return t && t->self.task == USF_NONE && t->self.carrier ? t->self.carrier->tid : tid;
}

/* Does it hold locks that the kernel releases at the end of its own kernel thread? */
static bool has_robust(const struct rt_thread *t)
{
    const struct { uint64_t next, offset, pending; } *head = t->robust;
    return head && (head->next != (uint64_t)head || head->pending);
}

/* The thread is about to end.  If it does not get home, rt_float_end tells the program of its
 * end. */
void rt_float_ends(struct rt_thread *t)
{
    if (!t->self.home) return;
    t->self.stays = t->handler_stays = 0;          /* out of a handler, if it was in one */
    if (has_robust(t) || rt_float_has_missed_users(t)) rt_float_go_home(t);
    else if (!carrier_is_home(&t->self)) carrier_try_home(&rt.sched, &t->self);
    t->self.stays++;
}

bool rt_float_is_away(const struct rt_thread *t) { return t->self.home && !carrier_is_home(&t->self); }

_Noreturn void rt_float_end(struct rt_thread *t)
{
    usf_dassert(t == &rt_self && t->state == RT_ALONE && !t->nr_sent);
    carrier_end(&rt.sched, &t->self, t->ended);
}

int32_t rt_kernel_tid(const struct rt_thread *t) { return t->self.carrier ? t->self.carrier->tid : t->tid; }

void rt_float_after_fork(struct rt_thread *t)
{
    atomic_store(&rt.cpu_timers, false);       /* timers are not inherited */
    if (rt.sched.carriers && rt.on) carrier_after_fork(&rt.sched);
    for (uint32_t i = 0, n = atomic_load(&nr_born); i < n; i++) atomic_store(&born[i], 0);
    t->nr_sent = 0;
    atomic_store(&t->hands_on, 0);      /* it is alone, and all its threads will have what it has */
    t->attend_later = false;
    if (atomic_load(&clocks) == BEING_PATCHED) atomic_store(&clocks, UNSEEN);       /* the thread that was at it is not here */
    atomic_store(&stale_homes, false);
    if (!rt.sched.carriers) atomic_store(&starts, false);
}

/* ---- restartable sequences ------------------------------------------------------------------------ */
/* The kernel writes where it has run a kernel thread into the storage that this has registered.
 * libc registers some in each thread, for sched_getcpu alone, which asks the kernel where the
 * storage says that there is none. */
#define RSEQ_SIZE       32u
#define RSEQ_SIGNATURE  0x53053053u
#define RSEQ_FAILED     (-2)

static uintptr_t rseq_offset;       /* __rseq_offset, once threads float */

static void look_for_rseq(const struct gate_object *o, void *arg)
{
    uintptr_t offset = gate_find_variable(o, "__rseq_offset");
    (void)arg;
    if (offset) rseq_offset = *(const uintptr_t *)offset;
}

static void deny_rseq(void)
{
    struct { uint32_t start; int32_t cpu; } *area = (void *)(arch_tls() + rseq_offset);
    area->start = 0;
    area->cpu = RSEQ_FAILED;
}

/* Of the process's first thread, before threads float. */
static void give_rseq_up(void)
{
    gate_for_each_object(look_for_rseq, 0);
    if (rseq_offset && !usf_syscall(__NR_rseq, arch_tls() + rseq_offset, RSEQ_SIZE, 1 /* RSEQ_FLAG_UNREGISTER */, RSEQ_SIGNATURE)) deny_rseq();
}

/* libc ends the program if a thread cannot register although its creator could: it is told that it
 * has.  A thread that registers other sequences stays at home.  Those of the first thread are not
 * libc's, which has registered before. */
bool rt_float_spares_rseq(const struct gate_frame *f)
{
    if (rt.sched.carriers && rseq_offset && f->arg[0] == arch_tls() + rseq_offset) {
        deny_rseq();
        return true;
    }
    rt_float_stay(&rt_self, USF_STAYS_RSEQ);
    return false;
}

/* ---- start --------------------------------------------------------------------------------------- */

static size_t below(const void *variable, uint64_t tls) { return (size_t)(tls - (uint64_t)variable); }

static void poke(int32_t tid) { os_signal_thread(rt.pid, tid, RT_SIGNAL, RT_ROOM_MAGIC); }

static bool set_up(void)
{
    const char *trouble = arch_context_trouble(getauxval(AT_HWCAP2));
    if (trouble) {
        usf_warn_once("threads do not float: %s", trouble);
        return false;
    }
    uint64_t tls = arch_tls();
    const size_t at[] = {below(&rt_self, tls), below(&usf_gate_vforked, tls), below(&usf_spin_rounds, tls)};
    rt_tls_self = at[0];
    for (unsigned i = 0; i < sizeof at / sizeof *at; i++)
        if (at[i] > tls_below) tls_below = at[i];
    tls_below = (tls_below + 4095) & ~(size_t)4095;
    struct of_each *p = os_map(sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (os_is_error(p)) return false;
    rt.sched.floating = p->floating;
    rt_directed_init(p->sent);
    born = p->born;
    rt.sched.switched = switched;
    rt.sched.map_idle = map_idle;
    rt.sched.make_idle = make_idle;
    rt.sched.poke = poke;
    rt.sched.own_signals = 1ull << (RT_SIGNAL - 1) | 1ull << (RT_SETXID_SIGNAL - 1);
    rt.sched.carrier_ends = carrier_ends;
    rt.sched.carriers = p->carriers;
    return true;
}

static enum usf_stays before;
static void look_before(void) { before = rt_stays_before(); }

/* The process is about to have a second thread: most have none, and what follows would cost them a
 * good part of their start.  The calling thread is at home, where it has begun. */
void rt_float_start(struct rt_thread *t)
{
    if (!rt.settings.floats.on || rt.sched.carriers || atomic_exchange(&starts, true)) return;
    sched_crit_enter(&t->self);
    rt.settings.floats.on = set_up();
    if (rt.settings.floats.on) give_rseq_up();
    if (rt.settings.floats.on && t->state == RT_ATTACHED && t->self.task != USF_NONE) {
        rt_float_begin(t);
        carrier_begin(&rt.sched, &t->self);
        rt_float_attached(t);
        if (t->self.home) t->self.home->signal_stack = t->self.signal_stack;
        rt_stack_call(t, look_before);
        if (before != USF_STAYS_NOT) rt_float_stay(t, before);
        else if (rt_floats(t) && !t->stays_why) rt_float_withdraw(t, ~0ull);
    }
    sched_crit_leave(&rt.sched, &t->self);
}
