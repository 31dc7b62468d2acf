/* src/runtime/calls.c - system calls that wait.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/runtime.h"

/* For `usf ps --why`. */
static void note_wait(struct rt_thread *t, const struct gate_frame *f)
{
    bool futex = f->rax == __NR_futex;
    sched_waits_for(&rt.sched, &t->self, futex ? USF_WAIT_FUTEX : USF_WAIT_SYSCALL, futex ? f->rdi : usf_wait_call(f->rax, f->rdi));
}

/* Some calls are not restarted after a signal even under SA_RESTART.  If it was one that the program does not see, it must not notice. */
static bool ended_unseen(const struct rt_thread *t, long r, struct rt_signals before)
{ return r == -EINTR && rt_only_unseen(t, before); }

/* glibc from 2.41 on acts upon pthread_cancel at one place only, before it makes a call (gate.h): its handler does nothing here.  So go
 * there before a wait begins that is not its own call, or a look that may do instead, and after a handler has run; its word is 0 while
 * there is nothing to act upon. */
void rt_act_upon_cancel(const struct gate_frame *f)
{ if (f->cancel && *(const volatile uint32_t *)f->cancel) gate_syscall(f, __NR_getpid, 0, 0, 0, 0, 0, 0); }

static long call_once(struct rt_thread *t, struct gate_frame *f, bool certain, bool *again)
{
    struct rt_signals before = rt_signals_of(t);
    sched_leave_core(&rt.sched, &t->self, certain);
    long r = rt_pass(f);
    sched_return_core(&rt.sched, &t->self);
    *again = ended_unseen(t, r, before);
    return r;
}

long rt_call_away(struct rt_thread *t, struct gate_frame *f, bool certain)
{
    bool again;
    long r;
    t->certain = certain;
    note_wait(t, f);
    do r = call_once(t, f, certain, &again);
    while (again);
    return r;
}

/* The call's argument `arg` is a time from its start on: milliseconds, or a timespec that the kernel leaves as it is. */
enum time_kind { MILLISECONDS, TIMESPEC };

static uint64_t time_of(uint64_t arg, enum time_kind kind)
{
    struct sync_timespec ts;
    if (kind == MILLISECONDS) return (int)arg < 0 ? UINT64_MAX : (uint64_t)(int)arg * 1000000u;
    for (unsigned i = 0; i < sizeof ts / 4; i++)
        if (!arg || !sync_read((const uint32_t *)arg + i, (uint32_t *)&ts + i)) return UINT64_MAX;
    return ts.sec < 0 || ts.sec > INT32_MAX ? UINT64_MAX : (uint64_t)ts.sec * 1000000000u + (uint64_t)ts.nsec;
}

static long call_for_time(struct rt_thread *t, struct gate_frame *f, unsigned arg, enum time_kind kind)
{
    uint64_t *at = &f->rdi + arg, given = *at, time = time_of(given, kind), end;
    struct sync_timespec left;
    bool again;
    long r;
    if (time == UINT64_MAX) return rt_call_away(t, f, true);
    end = os_now() + time;
    t->certain = true;
    note_wait(t, f);
    while (r = call_once(t, f, true, &again), again) {
        uint64_t now = os_now(), ns = now < end ? end - now : 0;
        left = (struct sync_timespec){.sec = (int64_t)(ns / 1000000000u), .nsec = (int64_t)(ns % 1000000000u)};
        *at = kind == TIMESPEC ? (uint64_t)&left : (ns + 999999u) / 1000000u;
    }
    *at = given;
    return r;
}

/* ---- futex ------------------------------------------------------------------------------------ */

static bool waits(int cmd)
{
    return cmd == FUTEX_WAIT || cmd == FUTEX_WAIT_BITSET || cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2
           || cmd == FUTEX_WAIT_REQUEUE_PI;
}

/* A wait on private futexes that is left to the kernel: wakers have to look there too. */
static long wait_in_kernel(struct rt_thread *t, struct gate_frame *f)
{
    struct rt_thread *self = &rt_self;      /* whether or not it takes part */
    self->kernel_waits++;
    sync_kernel_wait(&rt.sync, 1);
    long r = t ? rt_call_away(t, f, true) : rt_pass(f);
    sync_kernel_wait(&rt.sync, -1);
    self->kernel_waits--;
    return r;
}

/* May a thread that is not scheduled touch what the others wait on in user space? */
static bool may_help(void) { return rt.on && !usf_gate_vforked && !rt.sched.kernel && !rt_self.self.crit; }

/* A wake-up or requeueing by a thread that is not scheduled, in a process whose other threads wait in user space. */
static long wake_alone(uint32_t *addr, int op, uint32_t val, const struct sync_timespec *val2, uint32_t *addr2, uint32_t val3)
{
    struct sched_self nobody = {.task = USF_NONE};
    struct sync_self alone = {.sched = &nobody};
    if (!may_help()) return SYNC_KERNEL;
    /* It takes the locks that all take: its signals are deferred where rt_signal looks, which `nobody` is not. */
    bool mine = rt_has_own_self();
    if (mine) sched_crit_enter(&rt_self.self);
    long r = sync_futex(&rt.sync, &alone, addr, op, val, val2, addr2, val3);
    if (mine) sched_crit_leave(&rt.sched, &rt_self.self);
    return r;
}

static long futex_alone(struct gate_frame *f)
{
    int op = (int)f->rsi;
    if (!(op & FUTEX_PRIVATE_FLAG) || !may_help()) return rt_pass(f);
    if (waits(op & FUTEX_CMD_MASK)) return wait_in_kernel(0, f);
    long r = wake_alone((uint32_t *)f->rdi, op, (uint32_t)f->rdx, (const struct sync_timespec *)f->r10, (uint32_t *)f->r8, (uint32_t)f->r9);
    return r == SYNC_KERNEL ? rt_pass(f) : r;
}

static long futex(struct rt_thread *t, uint32_t *addr, int op, uint32_t val, const struct sync_timespec *timeout,
                  uint32_t *addr2, uint32_t val3)
{
    long r;
    do {
        t->restart = 0;
        r = sync_futex(&rt.sync, &t->sync, addr, op, val, timeout, addr2, val3);
    } while (r == -EINTR && waits(op & FUTEX_CMD_MASK) && !timeout && t->restart);
    return r;
}

static long cancellable_futex(struct rt_thread *t, const struct gate_frame *f, const struct sync_timespec *timeout)
{
    int op = (int)f->rsi;
    for (;;) {
        t->restart = 0;
        t->sync.seen = t->handlers;             /* a handler that runs from here on is noticed, one before has left its mark */
        __asm__ volatile("" ::: "memory");
        rt_act_upon_cancel(f);
        t->sync.handlers = &t->handlers;
        long r = sync_futex(&rt.sync, &t->sync, (uint32_t *)f->rdi, op, (uint32_t)f->rdx, timeout, (uint32_t *)f->r8, (uint32_t)f->r9);
        t->sync.handlers = 0;
        if (r == SYNC_HANDLER || (r == -EINTR && waits(op & FUTEX_CMD_MASK) && !timeout && t->restart)) continue;
        if (r == -EINTR) rt_act_upon_cancel(f);
        return r;
    }
}

static long call_futex(struct gate_frame *f)
{
    int op = (int)f->rsi, cmd = op & FUTEX_CMD_MASK;
    struct rt_thread *t = rt_enter();
    if (USF_UNLIKELY(!t)) return futex_alone(f);
    long r = rt.sched.kernel ? SYNC_KERNEL
             : f->cancel ? cancellable_futex(t, f, (const struct sync_timespec *)f->r10)
             : futex(t, (uint32_t *)f->rdi, op, (uint32_t)f->rdx, (const struct sync_timespec *)f->r10,
                     (uint32_t *)f->r8, (uint32_t)f->r9);
    if (r != SYNC_KERNEL) return r;
    if (!waits(cmd)) return rt_pass(f);
    return op & FUTEX_PRIVATE_FLAG ? wait_in_kernel(t, f) : rt_call_away(t, f, true);
}

/* futex_wake, futex_wait, futex_requeue (Linux 6.7) are other spellings of the same operations, and futex_waitv
 * waits on several words: in the kernel, where the others' wakers then look. */
enum { NR_FUTEX_WAITV = 449, NR_FUTEX_WAKE = 454, NR_FUTEX_WAIT = 455, NR_FUTEX_REQUEUE = 456 };
#define PRIVATE_U32 (FUTEX_PRIVATE_FLAG | 2 /* FUTEX2_SIZE_U32 */)

/* Its time is absolute, so the kernel makes it again also where there is one. */
static long call_futex_wait(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    int op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | ((int)f->r9 == 0 ? FUTEX_CLOCK_REALTIME : 0);
    bool sane = (uint32_t)f->r10 == PRIVATE_U32 && !(f->rsi >> 32) && f->rdx && !(f->rdx >> 32) && (!f->r8 || (uint32_t)f->r9 <= 1);
    long r;
    if (!t || !sane || rt.sched.kernel) return wait_in_kernel(t, f);
    do r = futex(t, (uint32_t *)f->rdi, op, (uint32_t)f->rsi, (const struct sync_timespec *)f->r8, 0, (uint32_t)f->rdx);
    while (r == -EINTR && t->restart);
    return r == SYNC_KERNEL ? wait_in_kernel(t, f) : r;
}

static long wake_any(uint32_t *addr, int op, uint32_t val, const struct sync_timespec *val2, uint32_t *addr2, uint32_t val3)
{
    struct rt_thread *t = rt_enter();
    if (!t) return wake_alone(addr, op, val, val2, addr2, val3);
    return rt.sched.kernel ? SYNC_KERNEL : futex(t, addr, op, val, val2, addr2, val3);
}

static long call_futex_wake(struct gate_frame *f)
{
    if ((uint32_t)f->r10 != PRIVATE_U32 || !f->rsi || f->rsi >> 32 || !(int)f->rdx) return rt_pass(f);
    long r = wake_any((uint32_t *)f->rdi, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, (uint32_t)f->rdx, 0, 0, (uint32_t)f->rsi);
    return r == SYNC_KERNEL ? rt_pass(f) : r;
}

static long call_futex_requeue(struct gate_frame *f)
{
    struct { uint64_t val, addr; uint32_t flags, reserved; } w[2];
    if ((uint32_t)f->rsi || !rt.on) return rt_pass(f);
    for (unsigned i = 0; i < sizeof w / 4; i++)
        if (!sync_read((uint32_t *)f->rdi + i, (uint32_t *)w + i)) return rt_pass(f);
    if (w[0].flags != PRIVATE_U32 || w[1].flags != PRIVATE_U32 || w[0].reserved || w[1].reserved || (w[0].val | w[1].val) >> 32)
        return rt_pass(f);
    long r = wake_any((uint32_t *)w[0].addr, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, (uint32_t)f->rdx,
                      (const struct sync_timespec *)(long)(int)f->r10, (uint32_t *)w[1].addr, (uint32_t)w[0].val);
    return r == SYNC_KERNEL ? rt_pass(f) : r;
}

static long call_futex_waitv(struct gate_frame *f) { return wait_in_kernel(rt_enter(), f); }

/* ---- yield, sleep, wait ----------------------------------------------------------------------- */

/* Every thread that the program could mean is in the instance: with none of them waiting there is nobody to
 * yield to, and the kernel would give the CPU to strangers for as long as they like.  They get it now
 * and then all the same: the thread may be waiting for a program outside. */
#define STRANGERS_NS 200000u

static long call_yield(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t || rt.sched.kernel) return rt_pass(f);
    if (sched_yield_core(&rt.sched, &t->self, false)) return 0;
    uint64_t now = os_now();
    if (now - t->yielded < STRANGERS_NS) {
        os_pause();
        return 0;
    }
    t->yielded = now;
    return rt_pass(f);
}

/* Nothing is given up by one that has no core. */
static bool has_core(const struct rt_thread *t) { return !t->self.guest; }

static long call_blocks(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    return t ? rt_call_away(t, f, true) : rt_pass(f);
}

static long blocks_for_time(struct gate_frame *f, unsigned arg)
{
    struct rt_thread *t = rt_enter();
    return t ? call_for_time(t, f, arg, TIMESPEC) : rt_pass(f);
}
static long call_nanosleep(struct gate_frame *f) { return blocks_for_time(f, 0); }
static long call_semtimedop(struct gate_frame *f) { return blocks_for_time(f, 3); }
static long call_clock_nanosleep(struct gate_frame *f)
{ return f->rsi & TIMER_ABSTIME ? call_blocks(f) : blocks_for_time(f, 2); }

/* Who waits for our own signal among others must not be given it. */
static long call_sigtimedwait(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    struct gate_frame with = *f;
    siginfo_t own, *info = (siginfo_t *)f->rsi;
    long r;
    if (!t) return rt_pass(f);
    if (!info) with.rsi = (uint64_t)(info = &own);
    do r = call_for_time(t, &with, 2, TIMESPEC);
    while (r == RT_SIGNAL && rt_is_own_signal(info));
    return r;
}

/* ---- calls that may block ----------------------------------------------------------------------- */
/* A core that is lent to such a call is taken only once it has been lent for long, with others waiting all the while.  So a
 * thread whose core was taken in a call believes that the next few of its kind block as well: it gives the core up at once. If
 * others wait for it, it looks first: a core that is given up for nothing is not easily had back. */
#define SURE       8u
#define LOOK_EVERY 16u      /* look also if nobody waits: whoever reads what is there already pays for the guess */

static bool guess(struct rt_thread *t, uint8_t *blocks)
{ return *blocks && !sched_core_is_wanted(&rt.sched) && ++t->guesses % LOOK_EVERY; }

enum { NR_CLOSE_RANGE = 436 };

static const uint16_t reads[] = {
    __NR_read, __NR_readv, __NR_recvfrom, __NR_recvmsg, __NR_recvmmsg, __NR_accept, __NR_accept4,
};
static const uint16_t writes[] = {__NR_write, __NR_writev, __NR_sendto, __NR_sendmsg, __NR_sendmmsg};

static bool is_in(const uint16_t *list, unsigned n, uint32_t nr)
{
    while (n && list[n - 1] != nr) n--;
    return n != 0;
}

/* What the call waits for on its first argument; 0: something else. */
static short events_of(const struct gate_frame *f)
{
    if (is_in(reads, sizeof reads / sizeof *reads, (uint32_t)f->rax)) return POLLIN;
    return is_in(writes, sizeof writes / sizeof *writes, (uint32_t)f->rax) ? POLLOUT : 0;
}

/* Reading nothing from what is empty does not block. */
static bool is_empty(const struct gate_frame *f) { return !f->rdx && ((uint32_t)f->rax == __NR_read || (uint32_t)f->rax == __NR_write); }

static uint8_t *blocks_of(struct rt_thread *t, const struct gate_frame *f) { return &t->blocks[f->rax % RT_CALL_KINDS]; }

static long make_call(struct rt_thread *t, struct gate_frame *f)
{
    uint8_t *blocks = blocks_of(t, f);
    short events = events_of(f);
    uint32_t lost = t->self.lost;
    bool wanted = events && has_core(t) && !is_empty(f) && sched_core_is_wanted(&rt.sched);
    if (wanted || !*blocks) {
        long r = wanted ? rt_call_while_wanted(t, f, events) : rt_call_away(t, f, false);
        if (t->self.lost != lost) *blocks = SURE;
        return r;
    }
    bool certain = t->self.guest || guess(t, blocks) || !events || !rt_fd_is_ready((int)f->rdi, events);
    if (!certain || !events) --*blocks;
    return rt_call_away(t, f, certain);
}

long rt_make_call(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    return t ? make_call(t, f) : rt_pass(f);
}

/* The descriptor is gone also where close returns EINTR: never again. */
static bool is_close(const struct gate_frame *f)
{ return (uint32_t)f->rax == __NR_close || (uint32_t)f->rax == NR_CLOSE_RANGE; }

__attribute__((noinline)) static long may_block(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    bool again;
    if (!t) return rt_pass(f);
    struct rt_signals before = rt_signals_of(t);
    if (!is_close(f)) return rt_complete(f, make_call(t, f), before);
    t->certain = false;
    note_wait(t, f);
    return call_once(t, f, false, &again);
}

/* A signal has come meanwhile, or the core was taken. */
__attribute__((noinline)) static long after_disturbed(struct gate_frame *f, long r)
{
    struct rt_thread *t = &rt_self;
    struct rt_signals before;
    __builtin_memcpy(&before, &f->kept_more, sizeof before);
    if (t->self.where == SCHED_AWAY) sched_return_core(&rt.sched, &t->self);
    if (is_close(f)) return r;
    if (t->self.lost != f->kept) *blocks_of(t, f) = SURE;
    if (ended_unseen(t, r, before)) r = rt_make_call(f);
    return rt_complete(f, r, before);
}

/* While nobody waits for its core a thread keeps it however often it blocks, and stays bound: two that hand data to each other from
 * different CPUs pay for waking an idle CPU each time, where the kernel would run both on one.  So look now and then whether it
 * only passes data on, as the calls that give the core up tell by themselves.  The kernel counts how often a thread has slept, but on
 * futexes and for a core as well: where that is often, a few lends in a row have to tell, with no wait of the scheduler's between them. */
#define LENDS_A_LOOK 256u
#define WAITS_A_LOOK 32u            /* it has slept so often at least */
#define WATCHED      16u            /* so few lends tell: as often in proportion */
#define WAIT_CPU_NS  300000u        /* computing between two of the sleeps */

static bool sleeps_often(struct rt_thread *t, uint32_t least)
{
    uint64_t waits = t->waits, cpu = t->cpu_ns;         /* at the last look */
    os_own_waits(&t->waits, &t->cpu_ns);
    return t->waits - waits >= least && t->cpu_ns - cpu < (t->waits - waits) * WAIT_CPU_NS;
}

/* The word of its core, which is another one once the thread has given the core up and got one again; a loan leaves it alone.  0: none. */
static uint64_t core_word_of(const struct rt_thread *t)
{
    uint32_t core = t->self.task != USF_NONE ? atomic_load_explicit(&rt.sched.tasks[t->self.task].core, memory_order_relaxed) : USF_NONE;
    return core < rt.sched.h->nr_cores ? atomic_load_explicit(&rt.sched.cores[core].word, memory_order_relaxed) : 0;
}

static bool passes_on(struct rt_thread *t)
{
    uint64_t before = t->watched_word, word = core_word_of(t);
    t->watched_word = 0;
    if (t->self.guest || rt.sched.kernel) return false;
    if (before) return word == before && sleeps_often(t, WATCHED * WAITS_A_LOOK / LENDS_A_LOOK);
    if (!sleeps_often(t, WAITS_A_LOOK) || t->lends == LENDS_A_LOOK) return false;      /* the first: nothing to compare with */
    t->watched_word = word;
    t->lends -= WATCHED;
    return false;
}

static long become_guest(struct rt_thread *t, struct gate_frame *f)
{
    sched_expect_guest(&t->self);
    *blocks_of(t, f) = SURE;
    return may_block(f);
}

static inline long lend(struct rt_thread *t, struct gate_frame *f)
{
    t->certain = false;
    f->kept = t->self.lost;
    f->kept_more = t->signals;
    f->action = GATE_ENTRY_CALLS;
    sched_lend_core(&rt.sched, &t->self, usf_wait_call(f->rax, f->rdi));
    return 0;
}

__attribute__((noinline)) static long look_at_lend(struct rt_thread *t, struct gate_frame *f)
{ return passes_on(t) && !is_close(f) ? become_guest(t, f) : lend(t, f); }

/* The two halves of most calls, as short as they can be: the entry makes the call between them, with the core lent.  Neither
 * calls anything before it knows that something is unusual, and has a stack frame. */
static long call_may_block(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    if (USF_UNLIKELY(!rt_is_in() || *blocks_of(t, f) || f->cancel)) return may_block(f);
    if (USF_UNLIKELY(sched_core_is_wanted(&rt.sched)) && events_of(f)) return may_block(f);
    if (USF_UNLIKELY(++t->lends % LENDS_A_LOOK == 0)) return look_at_lend(t, f);
    return lend(t, f);
}

/* Who closes a descriptor has no other use of it at the same time. */
static long call_close(struct gate_frame *f)
{
    rt_descriptors_change();
    return call_may_block(f);
}

static long call_changes_descriptors(struct gate_frame *f)
{
    if ((uint32_t)f->rax == __NR_setsockopt && f->rdx != SO_RCVLOWAT) return rt_pass(f);
    rt_descriptors_change();
    long r = rt_pass(f);
    rt_descriptors_change();
    return r;
}

static long after_call(struct gate_frame *f, long r)
{
    if (USF_LIKELY(f->kept_more == rt_self.signals) && sched_end_loan(&rt.sched, &rt_self.self)) return r;
    return after_disturbed(f, r);
}

static long call_wait4(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t || f->rdx & WNOHANG) return rt_pass(f);
    rt_act_upon_cancel(f);
    long r = has_core(t) ? usf_syscall(__NR_wait4, f->rdi, f->rsi, f->rdx | WNOHANG, f->r10) : 0;
    return r ? r : rt_call_away(t, f, true);
}

/* ---- poll and friends: look first, give the core up only if nothing is ready --------------------- */

static const struct sync_timespec zero;

static long call_poll(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    rt_act_upon_cancel(f);
    struct rt_signals before = rt_signals_of(t);
    bool once = (int)f->rdx == 0;
    long r;
    do r = once || has_core(t) ? usf_syscall(__NR_poll, f->rdi, f->rsi, 0) : 0;
    while (ended_unseen(t, r, before));
    return r || once ? r : call_for_time(t, f, 2, MILLISECONDS);
}

static long call_ppoll(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    rt_act_upon_cancel(f);
    struct sync_timespec now = zero;
    struct rt_signals before = rt_signals_of(t);
    long r;
    do r = has_core(t) ? usf_syscall(__NR_ppoll, f->rdi, f->rsi, &now, f->r10, f->r8) : 0;
    while (ended_unseen(t, r, before));
    return r ? r : rt_call_away(t, f, true);
}

static long call_epoll_wait(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t || (int)f->r10 == 0) return rt_pass(f);
    rt_act_upon_cancel(f);
    long r = has_core(t) ? usf_syscall6((long)f->rax, (long)f->rdi, (long)f->rsi, (long)f->rdx, 0, (long)f->r8, (long)f->r9) : 0;
    return r ? r : call_for_time(t, f, 3, MILLISECONDS);
}

static long call_epoll_pwait2(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    rt_act_upon_cancel(f);
    struct sync_timespec now = zero;
    long r = has_core(t) ? usf_syscall(__NR_epoll_pwait2, f->rdi, f->rsi, f->rdx, &now, f->r8, f->r9) : 0;
    return r ? r : call_for_time(t, f, 3, TIMESPEC);
}

/* timeval and timespec are alike there */
static bool is_zero(uint64_t time)
{
    uint32_t w[4];
    for (unsigned i = 0; i < 4; i++)
        if (!time || !sync_read((const uint32_t *)time + i, &w[i])) return false;
    return !(w[0] | w[1] | w[2] | w[3]);
}

/* select overwrites its sets, so the look is made on copies; sets larger than FD_SETSIZE are rare
 * enough to do without it. */
static long call_select(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    uint64_t copy[3][FD_SETSIZE / 64], *user[3] = {(uint64_t *)f->rsi, (uint64_t *)f->rdx, (uint64_t *)f->r10};
    unsigned n = (unsigned)f->rdi, words = (n + 63) / 64;
    struct sync_timespec now = zero;
    uint32_t probe;

    if (!t) return rt_pass(f);
    rt_act_upon_cancel(f);
    struct rt_signals before = rt_signals_of(t);
    long r;
    if (is_zero(f->r8)) {
        do r = rt_pass(f);
        while (ended_unseen(t, r, before));
        return r;
    }
    if (n == 0 || n > FD_SETSIZE || !has_core(t)) return rt_call_away(t, f, true);
    for (int i = 0; i < 3; i++) {
        if (!user[i]) continue;
        if (!sync_read((uint32_t *)user[i], &probe)) return rt_pass(f);     /* EFAULT, from the kernel */
        for (unsigned w = 0; w < words; w++) copy[i][w] = user[i][w];
    }
    do r = usf_syscall6((long)f->rax, n, (long)(user[0] ? copy[0] : 0), (long)(user[1] ? copy[1] : 0),
                        (long)(user[2] ? copy[2] : 0), (long)&now, f->rax == __NR_pselect6 ? (long)f->r9 : 0);
    while (ended_unseen(t, r, before));
    if (r == 0) return rt_call_away(t, f, true);
    if (r < 0) return r;
    for (int i = 0; i < 3; i++)
        for (unsigned w = 0; user[i] && w < words; w++) user[i][w] = copy[i][w];
    return r;
}

/* ---- the table -------------------------------------------------------------------------------- */

/* docs/calls.md says of every call why it is here, elsewhere in this room, or left alone; tests/blocking compares. */

enum { NR_OPENAT2 = 437, NR_FACCESSAT2 = 439, NR_IO_PGETEVENTS = 333, NR_FCHMODAT2 = 452 };

static const uint16_t blocks[] = {
    __NR_pause, __NR_rt_sigsuspend, __NR_waitid, __NR_mq_timedreceive,
};
static const uint16_t may_wait[] = {
    __NR_pread64, __NR_preadv, __NR_preadv2, __NR_pwrite64, __NR_pwritev, __NR_pwritev2, __NR_connect, __NR_flock, __NR_fcntl,
    __NR_fsync, __NR_fdatasync, __NR_sync, __NR_syncfs, __NR_sync_file_range, __NR_msync, __NR_ioctl, __NR_splice, __NR_tee,
    __NR_vmsplice, __NR_sendfile, __NR_copy_file_range, __NR_msgrcv, __NR_msgsnd, __NR_semop, __NR_mq_timedsend,
    __NR_io_uring_enter, __NR_io_uring_register, __NR_io_getevents, NR_IO_PGETEVENTS, __NR_io_submit, __NR_io_destroy,
    __NR_getrandom, __NR_membarrier, __NR_process_vm_readv, __NR_process_vm_writev, __NR_syslog,
    __NR_keyctl, __NR_add_key, __NR_request_key, __NR_mlock, __NR_mlock2, __NR_mlockall,
};
/* Files: of a disk, a server, a program (FUSE); with leases. */
static const uint16_t files[] = {
    __NR_open, __NR_openat, NR_OPENAT2, __NR_creat, __NR_stat, __NR_lstat, __NR_fstat, __NR_newfstatat, __NR_statx,
    __NR_access, __NR_faccessat, NR_FACCESSAT2, __NR_readlink, __NR_readlinkat, __NR_getdents, __NR_getdents64, __NR_truncate,
    __NR_ftruncate, __NR_fallocate, __NR_rename, __NR_renameat, __NR_renameat2, __NR_unlink, __NR_unlinkat, __NR_link,
    __NR_linkat, __NR_symlink, __NR_symlinkat, __NR_mkdir, __NR_mkdirat, __NR_rmdir, __NR_mknod, __NR_mknodat, __NR_chmod,
    __NR_fchmod, __NR_fchmodat, NR_FCHMODAT2, __NR_chown, __NR_fchown, __NR_lchown, __NR_fchownat, __NR_utime, __NR_utimes,
    __NR_futimesat, __NR_utimensat, __NR_statfs, __NR_fstatfs, __NR_chdir, __NR_readahead, __NR_fadvise64, __NR_setxattr,
    __NR_lsetxattr, __NR_fsetxattr, __NR_getxattr, __NR_lgetxattr, __NR_fgetxattr, __NR_listxattr, __NR_llistxattr,
    __NR_flistxattr, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, __NR_name_to_handle_at, __NR_open_by_handle_at,
    __NR_mount, __NR_umount2,
};

static const uint16_t changes[] = {__NR_dup2, __NR_dup3, __NR_setsockopt};
static const uint16_t minor[] = {__NR_close, __NR_set_robust_list, __NR_rseq};

#define INSTALL(list, handler) \
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) usf_gate_handlers[list[i]] = handler
#define MINOR(list) \
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) usf_gate_minor[list[i]] = true

void rt_install_calls(void)
{
    INSTALL(blocks, call_blocks);
    INSTALL(reads, call_may_block);
    INSTALL(writes, call_may_block);
    INSTALL(may_wait, call_may_block);
    INSTALL(files, call_may_block);
    MINOR(reads);
    MINOR(writes);
    MINOR(may_wait);
    MINOR(files);
    MINOR(minor);
    usf_gate_after = after_call;
    INSTALL(changes, call_changes_descriptors);
    usf_gate_handlers[__NR_close] = call_close;
    usf_gate_handlers[NR_CLOSE_RANGE] = call_close;
    usf_gate_handlers[__NR_futex] = call_futex;
    usf_gate_handlers[NR_FUTEX_WAITV] = call_futex_waitv;
    usf_gate_handlers[NR_FUTEX_WAIT] = call_futex_wait;
    usf_gate_handlers[NR_FUTEX_WAKE] = call_futex_wake;
    usf_gate_handlers[NR_FUTEX_REQUEUE] = call_futex_requeue;
    usf_gate_handlers[__NR_sched_yield] = call_yield;
    usf_gate_handlers[__NR_nanosleep] = call_nanosleep;
    usf_gate_handlers[__NR_clock_nanosleep] = call_clock_nanosleep;
    usf_gate_handlers[__NR_rt_sigtimedwait] = call_sigtimedwait;
    usf_gate_handlers[__NR_semtimedop] = call_semtimedop;
    usf_gate_handlers[__NR_wait4] = call_wait4;
    usf_gate_handlers[__NR_poll] = call_poll;
    usf_gate_handlers[__NR_ppoll] = call_ppoll;
    usf_gate_handlers[__NR_select] = call_select;
    usf_gate_handlers[__NR_pselect6] = call_select;
    usf_gate_handlers[__NR_epoll_wait] = call_epoll_wait;
    usf_gate_handlers[__NR_epoll_pwait] = call_epoll_wait;
    usf_gate_handlers[__NR_epoll_pwait2] = call_epoll_pwait2;
}
