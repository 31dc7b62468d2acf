/* src/runtime/waits.c - system calls that wait, and give the core up for that.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/runtime.h"

/* The call's argument `arg` is a time from its start on: milliseconds, or a timespec that the
 * kernel leaves as it is. */
enum time_kind { MILLISECONDS, TIMESPEC };

static uint64_t time_of(uint64_t arg, enum time_kind kind)
{
    struct sync_timespec ts;
    if (kind == MILLISECONDS) return (int)arg < 0 ? UINT64_MAX : (uint64_t)(int)arg * 1000000u;
    if (!arg || !sync_read_words(&ts, (const void *)arg, sizeof ts)) return UINT64_MAX;
    return ts.sec < 0 || ts.sec > INT32_MAX ? UINT64_MAX : (uint64_t)ts.sec * 1000000000u + (uint64_t)ts.nsec;
}

static long call_for_time(struct rt_thread *t, struct gate_frame *f, unsigned arg, enum time_kind kind)
{
    uint64_t *at = &f->arg[arg], given = *at, time = time_of(given, kind), end;
    struct sync_timespec left;
    bool again;
    long r;
    if (time == UINT64_MAX) return rt_call_releasing(t, f, true);
    end = os_now() + time;
    t->certain = true;
    rt_note_wait(t, f);
    while (r = rt_call_once(t, f, true, &again), again) {
        uint64_t now = os_now(), ns = now < end ? end - now : 0;
        left = (struct sync_timespec){.sec = (int64_t)(ns / 1000000000u), .nsec = (int64_t)(ns % 1000000000u)};
        *at = kind == TIMESPEC ? (uint64_t)&left : (ns + 999999u) / 1000000u;
    }
    *at = given;
    return r;
}

/* ---- yield, sleep, wait ---------------------------------------------------------------------- */

/* Every thread that the program could mean is in the instance: with none of them waiting there is
 * no thread to yield to, and the kernel would give the CPU to strangers for as long as they like.
 * Under a foreign load that costs ten times more than it gives.  They get it now and then all the
 * same: the thread may be waiting for a program outside. */
static long call_yield(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (t) t->spin.yields++;
    if (t) rt_forget_left_handlers(t);
    if (!t || rt.sched.kernel) return rt_pass(f);
    sched_make_room(&rt.sched, &t->self);
    if (sched_yield_core(&rt.sched, &t->self, false)) return 0;
    uint64_t now = os_now();
    if (now - t->yielded < YIELD_STRANGERS_NS) {
        os_pause();
        return 0;
    }
    t->yielded = now;
    return rt_pass(f);
}

/* A call with a mask of its own: that, and the signals that it lets in, which the thread blocks
 * otherwise.  Both are told before the call looks for what was sent to the thread (rt_call_once). */
static void begin_with_mask(struct rt_thread *t, uint64_t mask_at)
{
    uint64_t mask = 0;
    if (!t->self.home || !mask_at || !sync_read_words(&mask, (const void *)mask_at, sizeof mask)) return;
    t->sigwaits = t->self.mask & ~mask;
    t->call_mask = mask;
}
static void end_with_mask(struct rt_thread *t) { t->sigwaits = t->call_mask = 0; }

static long call_blocks(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    if (f->nr == __NR_rt_sigsuspend) begin_with_mask(t, f->arg[0]);
    long r = rt_call_releasing(t, f, true);
    end_with_mask(t);
    return r;
}

static long blocks_for_time(struct gate_frame *f, unsigned arg)
{
    struct rt_thread *t = rt_enter();
    return t ? call_for_time(t, f, arg, TIMESPEC) : rt_pass(f);
}
static long call_nanosleep(struct gate_frame *f) { return blocks_for_time(f, 0); }
static long call_semtimedop(struct gate_frame *f) { return blocks_for_time(f, 3); }
static long call_clock_nanosleep(struct gate_frame *f)
{ return f->arg[1] & TIMER_ABSTIME ? call_blocks(f) : blocks_for_time(f, 2); }

/* A thread that waits for our own signal among others must not be given it. */
static long call_sigtimedwait(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    struct gate_frame with = *f;
    siginfo_t own, *info = (siginfo_t *)f->arg[1];
    long r;
    if (!t) return rt_pass(f);
    if (!info) with.arg[1] = (uint64_t)(info = &own);
    uint64_t set = ~0ull;
    sync_read_words(&set, (const void *)f->arg[0], sizeof set);
    do {
        t->sigwaits = set;
        t->waits_for_one = true;
        r = call_for_time(t, &with, 2, TIMESPEC);
        t->waits_for_one = false;
        t->sigwaits = 0;
    } while (r == RT_SIGNAL && rt_is_own_signal(info));
    return r;
}

/* Of a call that does not wait; 0: there was nothing. */
static long found(struct rt_thread *t, long r)
{
    if (r) t->tries = 0;
    return r ? r : rt_not_yet(t, r);
}

static long call_wait4(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    if (f->arg[2] & WNOHANG) return found(t, rt_pass(f));
    rt_act_upon_cancel(f);
    long r = rt_has_core(t) ? usf_syscall(__NR_wait4, f->arg[0], f->arg[1], f->arg[2] | WNOHANG, f->arg[3]) : 0;
    return r ? r : rt_call_releasing(t, f, true);
}

/* ---- poll and friends: look first, give the core up only if nothing is ready ----------------- */

static const struct sync_timespec zero;

static long call_poll(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    rt_act_upon_cancel(f);
    struct rt_signals before = rt_signals_of(t);
    bool once = (int)f->arg[2] == 0;
    long r;
    do r = once || rt_has_core(t) ? usf_syscall(__NR_poll, f->arg[0], f->arg[1], 0) : 0;
    while (rt_ended_unseen(t, r, before));
    if (once) return found(t, r);
    return r ? r : call_for_time(t, f, 2, MILLISECONDS);
}

static long call_ppoll(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    rt_act_upon_cancel(f);
    struct sync_timespec now = zero;
    struct rt_signals before = rt_signals_of(t);
    long r;
    do r = rt_has_core(t) ? usf_syscall(__NR_ppoll, f->arg[0], f->arg[1], &now, f->arg[3], f->arg[4]) : 0;
    while (rt_ended_unseen(t, r, before));
    if (r) return r;
    begin_with_mask(t, f->arg[3]);
    r = rt_call_releasing(t, f, true);
    end_with_mask(t);
    return r;
}

static long call_epoll_wait(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    if ((int)f->arg[3] == 0) return found(t, rt_pass(f));
    rt_act_upon_cancel(f);
    long r = rt_has_core(t) ? usf_syscall6((long)f->nr, (long)f->arg[0], (long)f->arg[1], (long)f->arg[2], 0, (long)f->arg[4], (long)f->arg[5]) : 0;
    if (r) return r;
    if (f->nr == __NR_epoll_pwait) begin_with_mask(t, f->arg[4]);
    r = call_for_time(t, f, 3, MILLISECONDS);
    end_with_mask(t);
    return r;
}

static long call_epoll_pwait2(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    rt_act_upon_cancel(f);
    struct sync_timespec now = zero;
    long r = rt_has_core(t) ? usf_syscall(__NR_epoll_pwait2, f->arg[0], f->arg[1], f->arg[2], &now, f->arg[4], f->arg[5]) : 0;
    if (r) return r;
    begin_with_mask(t, f->arg[4]);
    r = call_for_time(t, f, 3, TIMESPEC);
    end_with_mask(t);
    return r;
}

/* timeval and timespec are alike there */
static bool is_zero(uint64_t time)
{
    uint64_t w[2];
    return time && sync_read_words(w, (const void *)time, sizeof w) && !(w[0] | w[1]);
}

/* select overwrites its sets, so the look is made on copies; sets larger than FD_SETSIZE are rare
 * enough to do without it. */
static long select_releasing(struct rt_thread *t, struct gate_frame *f)
{
    uint64_t mask_at = 0;       /* pselect6 has a pointer to the mask's address and size */
    if (f->nr == __NR_pselect6 && f->arg[5]) sync_read_words(&mask_at, (const void *)f->arg[5], sizeof mask_at);
    begin_with_mask(t, mask_at);
    long r = rt_call_releasing(t, f, true);
    end_with_mask(t);
    return r;
}

static long call_select(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    uint64_t copy[3][FD_SETSIZE / 64], *user[3] = {(uint64_t *)f->arg[1], (uint64_t *)f->arg[2], (uint64_t *)f->arg[3]};
    unsigned n = (unsigned)f->arg[0], words = (n + 63) / 64;
    struct sync_timespec now = zero;
    uint32_t probe;

    if (!t) return rt_pass(f);
    rt_act_upon_cancel(f);
    struct rt_signals before = rt_signals_of(t);
    long r;
    if (is_zero(f->arg[4])) {
        do r = rt_pass(f);
        while (rt_ended_unseen(t, r, before));
        return found(t, r);
    }
    if (n == 0 || n > FD_SETSIZE || !rt_has_core(t)) return select_releasing(t, f);
    for (int i = 0; i < 3; i++) {
        if (!user[i]) continue;
        if (!sync_read((uint32_t *)user[i], &probe)) return rt_pass(f);     /* EFAULT, from the kernel */
        for (unsigned w = 0; w < words; w++) copy[i][w] = user[i][w];
    }
    do r = usf_syscall6((long)f->nr, n, (long)(user[0] ? copy[0] : 0), (long)(user[1] ? copy[1] : 0),
                        (long)(user[2] ? copy[2] : 0), (long)&now, f->nr == __NR_pselect6 ? (long)f->arg[5] : 0);
    while (rt_ended_unseen(t, r, before));
    if (r == 0) return select_releasing(t, f);
    if (r < 0) return r;
    for (int i = 0; i < 3; i++)
        for (unsigned w = 0; user[i] && w < words; w++) user[i][w] = copy[i][w];
    return r;
}

/* ---- installed ------------------------------------------------------------------------------- */

static const uint16_t blocks[] = {
    __NR_pause, __NR_rt_sigsuspend, __NR_waitid, __NR_mq_timedreceive,
};

void rt_install_waits(void)
{
    RT_INSTALL(blocks, call_blocks);
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
