/* src/runtime/float.c - what a floating thread must not notice of the kernel thread that executes it.  SPDX-License-Identifier: Apache-2.0
 *
 * The kernel keeps state for each of its threads, and a thread of the program expects its own.  docs/threads.md has the whole table.  In
 * short:
 *   F1  A thread keeps the id that it was born with, and others reach it by that: a signal that the program sends to it is kept in its
 *       record, and the thread raises it to itself where it is executed (`sent`).
 *   F2  A thread leaves its carrier only for one with the same signal mask; a carrier that gets another thread takes that one's mask.
 *   F3  Calls that depend on other state of the kernel thread are made at home: after some of them the thread stays there (`stays`).
 *   F4  While a handler of the program runs, or the runtime's own signal, the thread stays: the frame returns to the kernel thread's stack
 *       and mask.
 *   F5  A thread that ends goes home for it, or its end is told as the kernel would tell it (carrier_end).
 *   F6  The call that sets the user of all threads has each kernel thread execute libc's handler for the thread that was born there. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"
#include "spin/spin.h"

#define IDLE_STACK  16384u
#define TCB_SIZE    4096u       /* above a thread's TLS base, for libc */
#define PR_TID_ADDRESS 40       /* PR_GET_TID_ADDRESS */

/* What lies in libusf's TLS, below the TLS base; in bytes from there. */
static size_t tls_below;
static size_t tls_self;         /* ... and rt_self */

/* Pages that are not touched cost nothing.  Not in TLS, of which a library that is loaded by dlopen gets little. */
struct of_each {
    struct arch_context contexts[USF_MAX_TASKS];
    struct carrier carriers[USF_MAX_TASKS];
    struct sched_floating floating[USF_MAX_TASKS];
    struct rt_sent sent[USF_MAX_TASKS][RT_SENT_MAX];        /* as contexts */
};
static struct rt_sent (*sent)[RT_SENT_MAX];

static struct rt_thread *of(struct sched_self *self) { return (struct rt_thread *)((char *)self - offsetof(struct rt_thread, self)); }

/* ---- idle loops --------------------------------------------------------------------------------- */

/* One mapping: the stack, the registers, then what stands in for a thread's TLS, with a record that keeps signals. */
static bool make_idle(struct carrier *k)
{
    if (!k->stack) {
        size_t size = IDLE_STACK + sizeof(struct arch_context) + tls_below + TCB_SIZE;
        void *p = os_map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if ((unsigned long)p >= (unsigned long)-4095) return false;
        k->stack = p;
        k->stack_size = size;
    }
    char *p = k->stack, *tls = p + k->stack_size - TCB_SIZE;
    ((void **)(void *)tls)[0] = tls;        /* by the ABI */
    ((void **)(void *)tls)[2] = tls;        /* libc's */
    struct rt_thread *t = (struct rt_thread *)(void *)(tls - tls_self);
    __builtin_memset(t, 0, sizeof *t);
    t->state = RT_ALONE;
    t->tid = k->tid;
    t->self.task = USF_NONE;
    t->self.crit = 1;
    t->self.carrier = k;
    t->self.signal_stack = k->signal_stack;
    k->at = (struct arch_context *)(void *)(p + IDLE_STACK);
    arch_context_make(k->at, p + IDLE_STACK, (uint64_t)tls, carrier_idle, k);
    k->idle = &t->self;
    return true;
}

static void carrier_ends(struct carrier *k)
{
    if (k->signal_stack) rt_stack_drop(k->signal_stack);
    k->signal_stack = 0;
}

/* ---- signals ------------------------------------------------------------------------------------- */

static struct rt_sent *sent_of(const struct rt_thread *t) { return sent[t->self.home - rt.sched.carriers]; }
static bool is_directed(const siginfo_t *info) { return info->si_code == SI_TKILL; }

/* holds rt.list_lock, or is that thread.  False: there is no room. */
static bool keep_sent(struct rt_thread *t, int sig, const siginfo_t *info)
{
    struct rt_sent *sent = sent_of(t);
    uint32_t n = t->nr_sent;
    for (uint32_t i = 0; i < n && sig < 32; i++)
        if (sent[i].sig == sig) return true;        /* pending once, as in the kernel */
    if (n == RT_SENT_MAX) return false;
    sent[n].sig = sig;
    __builtin_memcpy(sent[n].info, info, sizeof sent[n].info);
    t->nr_sent = n + 1;
    return true;
}

/* What was sent to the calling thread, raised where it is executed: these signals.  What it blocks stays in its record, or it would be left
 * pending in a kernel thread that executes another next.  waits: raise also one of these, which it is about to wait for. */
uint64_t rt_float_attend(struct rt_thread *t, uint64_t waits)
{
    struct rt_sent now[RT_SENT_MAX];
    uint64_t raised = 0, may = ~t->self.mask;
    uint32_t n = 0, kept = 0, task = t->self.task;
    if (!t->self.home || task == USF_NONE) return 0;
    if (!__atomic_load_n(&t->nr_sent, __ATOMIC_RELAXED) && !atomic_load_explicit(&rt.sched.floating[task].attention, memory_order_relaxed)) return 0;
    atomic_store(&rt.sched.floating[task].attention, 0);
    sched_crit_enter(&t->self);
    rt_list_lock();
    struct rt_sent *sent = sent_of(t);
    for (uint32_t i = 0; i < t->nr_sent; i++) {
        uint64_t bit = 1ull << (sent[i].sig - 1);
        bool waited = waits & bit;
        if (waited && waits != ~0ull) waits = 0;
        if ((may & bit) || waited) now[n++] = sent[i];
        else sent[kept++] = sent[i];
    }
    t->nr_sent = kept;
    rt_list_unlock();
    for (uint32_t i = 0; i < n; i++) {
        raised |= 1ull << (now[i].sig - 1);
        rt_raise(now[i].sig, now[i].info);
    }
    sched_crit_leave(&rt.sched, &t->self);
    return raised;
}

/* A signal came while `from` was in a critical section, and `to` is executed on that kernel thread now. */
static void pass_signal(struct rt_thread *to, struct rt_thread *from)
{
    int sig = (int)from->deferred;
    uint64_t mask = from->deferred_mask;
    const siginfo_t *info = (const siginfo_t *)(const void *)from->deferred_info;
    from->deferred = 0;
    if (!from->self.context) atomic_store(&from->self.signalled, 0);
    else if (is_directed(info) && from->self.task != USF_NONE && keep_sent(from, sig, info)) {
        atomic_store(&rt.sched.floating[from->self.task].attention, 1);        /* it is not published yet, and is woken for that */
        usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
        return;
    }
    if (to->deferred) {
        to->deferred_mask &= mask;
        rt_raise(sig, info);    /* pending until the mask is restored */
        return;
    }
    to->deferred = (uint32_t)sig;
    to->deferred_mask = mask;
    __builtin_memcpy(to->deferred_info, from->deferred_info, sizeof to->deferred_info);
    if (!to->self.context) atomic_store(&to->self.signalled, 1);
}

static void switched(struct sched_self *to, struct sched_self *from)
{
    struct carrier *k = to->carrier;
    if (USF_UNLIKELY(of(from)->deferred)) pass_signal(of(to), of(from));
    if (USF_UNLIKELY(k->set_user_later)) {
        if (to->context) of(to)->attend_later = true;
        else rt_float_after_crit(of(to));
    }
    if (to->context && to->task != USF_NONE && USF_UNLIKELY(atomic_load_explicit(&rt.sched.floating[to->task].attention, memory_order_relaxed)))
        rt_float_attend(of(to), 0);
}

/* libc's handler for setuid acts upon the kernel thread that executes it, and answers for the thread whose storage is in use: here that of
 * the thread which began here.  It is entered with all signals blocked.  It wakes the caller, which takes locks that a thread in a critical
 * section may have: then it comes again when that ends, or when another is executed here.  False: nothing of this concerns it. */
bool rt_float_setxid(struct rt_thread *t, void (*handler)(int, siginfo_t *, void *), int sig, siginfo_t *info, void *ctx)
{
    int32_t tid = os_gettid();
    struct rt_thread *home = 0;
    if (!rt.sched.carriers || (t->self.home && t->tid == tid && !t->self.crit)) return false;
    for (struct rt_thread *other = rt.threads; other; other = other->next)      /* without its lock: libc has its own list locked */
        if (other->tid == tid && other->self.home) home = other;
    if (!home) return false;
    struct carrier *k = home->self.home;
    if (t->self.context && t->self.crit) {
        k->set_user_later = t->attend_later = true;
        return true;
    }
    uint64_t tls = arch_tls();
    k->sets_user = true;
    usf_lock_unchecked();
    arch_set_tls((uint64_t)home + tls_self);
    handler(sig, info, ctx);
    arch_set_tls(tls);
    k->sets_user = false;
    return true;
}

/* The calling thread has left its critical section. */
void rt_float_after_crit(struct rt_thread *t)
{
    struct carrier *k = t->self.carrier;
    rt_float_attend(t, 0);
    if (k && atomic_exchange(&k->set_user_later, false)) usf_syscall(__NR_tgkill, rt.pid, k->tid, RT_SETXID_SIGNAL);
}

/* Is this that handler?  Its storage is a thread's that may be executed elsewhere. */
static bool sets_user(void)
{
    const struct carrier *home = rt_self.self.home;
    return USF_UNLIKELY(home && home->sets_user) && os_gettid() == home->tid;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static bool floats(const struct rt_thread *t)
{ return t->self.home && !usf_gate_vforked && rt_has_own_self(); }

static long call_gettid(struct gate_frame *f)
{ return floats(&rt_self) ? rt_self.tid : rt_pass(f); }

static void poke(int32_t tid) { os_signal_thread(rt.pid, tid, RT_SIGNAL, RT_ROOM_MAGIC); }

static void go_home(struct rt_thread *t)
{
    if (USF_LIKELY(carrier_is_home(&t->self)) || t->self.stays) return;     /* in a handler: its frame belongs to the carrier */
    if (carrier_try_home(&rt.sched, &t->self) || !rt_enter()) return;
    t->self.stays++;            /* not away again while it waits for a core */
    sched_leave_core(&rt.sched, &t->self, true);
    carrier_await_home(&rt.sched, &t->self, poke);
    sched_return_core(&rt.sched, &t->self);
    t->self.stays--;
}

void rt_float_stay(struct rt_thread *t)
{
    if (!floats(t) || t->stays_for_good) return;
    go_home(t);
    t->self.stays++;
    t->stays_for_good = true;
}

static gate_handler next_handler[USF_NR_SYSCALLS];
static long go_on(struct gate_frame *f)
{
    gate_handler next = next_handler[f->rax];
    return next ? next(f) : rt_pass(f);
}

static long call_at_home(struct gate_frame *f)
{
    if (sets_user()) return rt_pass(f);
    if (floats(&rt_self)) go_home(&rt_self);
    return go_on(f);
}

static long call_stays(struct gate_frame *f)
{
    rt_float_stay(&rt_self);
    return go_on(f);
}

/* Calls that name a thread: only those that name the calling one. */
static long call_stays_if_own(struct gate_frame *f)
{
    int32_t tid = (int32_t)f->rdi;
    if (tid == 0 || tid == rt_self.tid) rt_float_stay(&rt_self);
    return go_on(f);
}
static long call_home_if_own(struct gate_frame *f)
{
    int32_t tid = (int32_t)f->rdi;
    return tid == 0 || tid == rt_self.tid ? call_at_home(f) : go_on(f);
}
static long call_priority(struct gate_frame *f)
{
    if (f->rdi == PRIO_PROCESS && ((int32_t)f->rsi == 0 || (int32_t)f->rsi == rt_self.tid)) rt_float_stay(&rt_self);
    return go_on(f);
}

static long call_prctl(struct gate_frame *f)
{
    switch ((int)f->rdi) {
    case PR_SET_NAME: case PR_GET_NAME: case PR_GET_TID_ADDRESS: return call_at_home(f);
    case PR_SET_VMA: case PR_GET_DUMPABLE: case PR_SET_DUMPABLE: case PR_SET_CHILD_SUBREAPER: case PR_GET_CHILD_SUBREAPER:
    case PR_SET_MM: case PR_SET_PTRACER: case PR_SET_THP_DISABLE: case PR_GET_THP_DISABLE: case PR_CAPBSET_READ: return go_on(f);
    }
    return f->rdi >> 16 == 0 ? call_stays(f) : go_on(f);       /* usf's own are of the process or the task */
}

static long call_sigprocmask(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    long r = go_on(f);
    if (r == 0 && f->rsi && floats(t)) {
        sched_crit_enter(&t->self);
        uint64_t mask = 0;
        usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, 0, &mask, 8);
        if (!t->deferred) t->self.mask = t->self.carrier->mask = mask;
        sched_crit_leave(&rt.sched, &t->self);
        rt_float_attend(t, 0);
    }
    return r;
}

/* A handler has returned: the kernel restores this mask. */
void rt_float_returns(struct rt_thread *t, uint64_t mask)
{ if (t->self.home) t->self.mask = t->self.carrier->mask = mask; }

/* A kernel thread whose own thread has ended: the program must not find it. */
static bool is_orphan(int32_t tid)
{
    uint32_t hwm = rt.sched.h ? atomic_load(&rt.sched.h->task_hwm) : 0;
    for (uint32_t i = 0; i < hwm; i++)
        if (rt.sched.carriers[i].orphan && rt.sched.carriers[i].tid == tid && atomic_load(&rt.sched.threads[i].claim)) return true;
    return false;
}

/* To a thread of this process. */
static long send_to(struct gate_frame *f, int32_t tid, int sig, const siginfo_t *with)
{
    struct rt_thread *me = &rt_self, *t;
    siginfo_t info = {.si_signo = sig, .si_code = SI_TKILL};
    int32_t at = 0;
    long r = 0;
    if (sig < 0 || sig > RT_SIGNALS || !rt.sched.carriers) return rt_pass(f);
    if (sig == 0) return is_orphan(tid) ? -ESRCH : rt_pass(f);
    if (sig == RT_SETXID_SIGNAL) return rt_pass(f);
    if (tid == me->tid && floats(me) && !(me->self.mask >> (sig - 1) & 1)) {
        struct gate_frame own = *f;
        *(f->rax == __NR_tkill ? &own.rdi : &own.rsi) = (uint32_t)os_gettid();
        return rt_pass(&own);
    }
    if (with) info = *with;
    else {
        info.si_pid = rt.pid;
        info.si_uid = (uid_t)usf_syscall(__NR_getuid);
    }
    sched_crit_enter(&me->self);
    rt_list_lock();
    t = rt_thread_of(tid);
    if (!t || !t->self.home || t->self.task == USF_NONE) t = 0;
    else if (!keep_sent(t, sig, &info)) r = -EAGAIN;
    else at = carrier_alert(&rt.sched, t->self.task);
    if (t && (t == me || (t->self.mask & ~t->sigwaits) >> (sig - 1) & 1)) at = 0;      /* it blocks it: it looks when it does not */
    bool deaf = t && t->self.mask >> (RT_SIGNAL - 1) & 1 && *(volatile uint32_t *)&t->self.where != SCHED_PARKED;
    if (at && deaf && t->nr_sent && sent_of(t)[t->nr_sent - 1].sig == sig) {
        t->nr_sent--;           /* it would not be interrupted: to where it is, then */
        r = with ? usf_syscall(__NR_rt_tgsigqueueinfo, rt.pid, at, sig, &info) : usf_syscall(__NR_tgkill, rt.pid, at, sig);
    } else if (at) {
        os_signal_thread(rt.pid, at, RT_SIGNAL, RT_ROOM_MAGIC);
    }
    rt_list_unlock();
    sched_crit_leave(&rt.sched, &me->self);
    if (t) return r;
    return is_orphan(tid) ? -ESRCH : rt_pass(f);
}

static long call_tgkill(struct gate_frame *f)
{ return (int32_t)f->rdi == rt.pid && !rt_vforked() ? send_to(f, (int32_t)f->rsi, (int)f->rdx, 0) : rt_pass(f); }
static long call_tkill(struct gate_frame *f)
{ return rt_vforked() ? rt_pass(f) : send_to(f, (int32_t)f->rdi, (int)f->rsi, 0); }
static long call_tgsigqueueinfo(struct gate_frame *f)
{
    siginfo_t info;
    if ((int32_t)f->rdi != rt.pid || rt_vforked() || !rt_copy_words(&info, (const void *)f->r10, sizeof info)) return rt_pass(f);
    info.si_signo = (int)f->rdx;
    return send_to(f, (int32_t)f->rsi, (int)f->rdx, &info);
}

static long call_futex(struct gate_frame *f)
{
    if (sets_user()) return rt_wake_for_nobody(f);
    switch ((int)f->rsi & FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI: case FUTEX_LOCK_PI2: case FUTEX_UNLOCK_PI: case FUTEX_TRYLOCK_PI: case FUTEX_WAIT_REQUEUE_PI:
        rt_float_stay(&rt_self);
    }
    return go_on(f);
}

static long call_robust_list(struct gate_frame *f)
{
    long r = call_at_home(f);
    if (r == 0) rt_self.robust = (const void *)f->rdi;
    return r;
}

/* struct sigevent: value, signal, kind, thread */
static long call_timer_create(struct gate_frame *f)
{
    uint32_t kind = 0, tid = 0;
    const uint32_t *event = (const uint32_t *)f->rsi;
    if (event && sync_read(event + 3, &kind) && kind == 4 /* SIGEV_THREAD_ID */ && sync_read(event + 4, &tid) && (int32_t)tid == rt_self.tid)
        rt_float_stay(&rt_self);
    return go_on(f);
}

static long call_clone_flags(struct gate_frame *f)
{ return f->rdi & ~(uint64_t)(CLONE_FILES | CLONE_FS) ? call_stays(f) : go_on(f); }

static const uint16_t stay[] = {
    __NR_setns, __NR_setfsuid, __NR_setfsgid, __NR_capset, __NR_personality, __NR_set_mempolicy, __NR_arch_prctl,
    __NR_iopl, __NR_ioperm, __NR_seccomp, __NR_ptrace, __NR_keyctl, __NR_set_tid_address, __NR_io_uring_setup,
    __NR_perf_event_open, __NR_modify_ldt,
};
/* libc's setuid and its like make the call in the calling thread, and have all others make it in a handler (rt_float_setxid). */
static const uint16_t at_home[] = {
    __NR_get_robust_list, __NR_setuid, __NR_setgid, __NR_setreuid, __NR_setregid, __NR_setresuid, __NR_setresgid, __NR_setgroups,
};
static const uint16_t stay_if_own[] = {__NR_sched_setscheduler, __NR_sched_setparam, __NR_sched_setattr};
static const uint16_t home_if_own[] = {__NR_sched_setaffinity};

static void wrap(uint16_t nr, gate_handler handler)
{
    gate_handler *slot = &usf_gate_handlers[nr];
    next_handler[nr] = *slot;
    *slot = handler;
}

#define WRAP(list, handler) for (unsigned i = 0; i < sizeof list / sizeof *list; i++) wrap(list[i], handler)

static void install(void)
{
    WRAP(stay, call_stays);
    WRAP(at_home, call_at_home);
    WRAP(stay_if_own, call_stays_if_own);
    WRAP(home_if_own, call_home_if_own);
    wrap(__NR_set_robust_list, call_robust_list);
    wrap(__NR_setpriority, call_priority);
    wrap(__NR_prctl, call_prctl);
    wrap(__NR_rt_sigprocmask, call_sigprocmask);
    wrap(__NR_gettid, call_gettid);
    wrap(__NR_tgkill, call_tgkill);
    wrap(__NR_tkill, call_tkill);
    wrap(__NR_rt_tgsigqueueinfo, call_tgsigqueueinfo);
    wrap(__NR_futex, call_futex);
    wrap(__NR_timer_create, call_timer_create);
    wrap(__NR_unshare, call_clone_flags);
}

/* ---- threads ------------------------------------------------------------------------------------- */

/* Before the thread attaches, on its own kernel thread. */
void rt_float_begin(struct rt_thread *t)
{
    uint32_t *ended = 0;
    if (!rt.sched.carriers || t->self.home) return;
    usf_syscall(__NR_prctl, PR_TID_ADDRESS, &ended);
    if (!ended) return;                 /* the kernel does not say: its end could not be told */
    t->ended = ended;
    size_t size;
    usf_syscall(__NR_get_robust_list, 0, &t->robust, &size);
    t->nr_sent = 0;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, 0, &t->self.mask, 8);
    t->self.floats = true;
}

/* Does it hold locks that the kernel releases at the end of its own kernel thread? */
static bool has_robust(const struct rt_thread *t)
{
    const struct { uint64_t next, offset, pending; } *head = t->robust;
    return head && (head->next != (uint64_t)head || head->pending);
}

/* The thread is about to end.  If it does not get home, rt_float_end tells the program of its end. */
void rt_float_ends(struct rt_thread *t)
{
    if (!t->self.home) return;
    t->self.stays = 0;          /* out of a handler, if it was in one */
    if (has_robust(t)) go_home(t);
    else if (!carrier_is_home(&t->self)) carrier_try_home(&rt.sched, &t->self);
    t->self.stays++;
}

bool rt_float_is_away(const struct rt_thread *t) { return t->self.home && !carrier_is_home(&t->self); }

_Noreturn void rt_float_end(struct rt_thread *t) { carrier_end(&rt.sched, &t->self, t->ended); }

int32_t rt_kernel_tid(const struct rt_thread *t) { return t->self.carrier ? t->self.carrier->tid : t->tid; }

void rt_float_after_fork(struct rt_thread *t)
{
    if (rt.sched.carriers) carrier_after_fork(&rt.sched);
    t->nr_sent = 0;
    t->stays_for_good = t->attend_later = false;
}

/* ---- restartable sequences ------------------------------------------------------------------------ */
/* The kernel writes where it has run a kernel thread into the storage that this has registered.  libc registers some in each thread, for
 * sched_getcpu alone, which asks the kernel if it cannot. */
#define RSEQ_SIZE       32u
#define RSEQ_SIGNATURE  0x53053053u
#define RSEQ_FAILED     (-2)

static uintptr_t rseq_offset;       /* __rseq_offset, once it is known */

static void look_for_rseq(const struct gate_object *o, void *arg)
{
    uintptr_t offset = gate_find_variable(o, "__rseq_offset");
    (void)arg;
    if (offset) rseq_offset = *(const uintptr_t *)offset;
}

/* The process has one thread, and its code is patched. */
void rt_float_first(void)
{
    if (!rt.sched.carriers) return;
    gate_for_each_object(look_for_rseq, 0);
    if (!rseq_offset) return;
    struct { uint32_t start; int32_t cpu; } *area = (void *)(arch_tls() + rseq_offset);
    if (usf_syscall(__NR_rseq, area, RSEQ_SIZE, 1 /* RSEQ_FLAG_UNREGISTER */, RSEQ_SIGNATURE)) return;
    area->start = 0;
    area->cpu = RSEQ_FAILED;
}

/* True: the call is to fail, since it is libc's own registration.  A thread that registers other sequences stays at home. */
bool rt_float_refuses_rseq(const struct gate_frame *f)
{
    if (!rt.sched.carriers) return false;
    if (rseq_offset && f->rdi == arch_tls() + rseq_offset) return true;
    rt_float_stay(&rt_self);
    return false;
}

/* ---- start --------------------------------------------------------------------------------------- */

static size_t below(const void *variable, uint64_t tls) { return (size_t)(tls - (uint64_t)variable); }

void rt_float_init(void)
{
    if (!rt.settings.floats || rt.sched.carriers) return;
    const char *trouble = arch_context_trouble(getauxval(AT_HWCAP2));
    if (trouble) {
        usf_warn_once("threads do not float: %s", trouble);
        return;
    }
    uint64_t tls = arch_tls();
    const size_t at[] = {below(&rt_self, tls), below(&usf_gate_vforked, tls), below(&usf_spin_rounds, tls)};
    tls_self = at[0];
    for (unsigned i = 0; i < sizeof at / sizeof *at; i++)
        if (at[i] > tls_below) tls_below = at[i];
    tls_below = (tls_below + 4095) & ~(size_t)4095;
    struct of_each *p = os_map(sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((unsigned long)p >= (unsigned long)-4095) return;
    rt.sched.floating = p->floating;
    rt.sched.contexts = p->contexts;
    sent = p->sent;
    rt.sched.switched = switched;
    rt.sched.make_idle = make_idle;
    rt.sched.carrier_ends = carrier_ends;
    install();
    rt.sched.carriers = p->carriers;
}
