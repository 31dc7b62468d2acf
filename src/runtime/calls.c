/* src/runtime/calls.c - system calls that wait.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/wait.h>

#include "runtime/runtime.h"

long rt_call_away(struct rt_thread *t, struct gate_frame *f, bool certain)
{
    uint32_t handlers = t->handlers, nudges = t->nudges;
    long r;
    t->certain = certain;
    sched_waits_for(&rt.sched, &t->self, USF_WAIT_SYSCALL, f->rax);
    do {
        sched_leave_core(&rt.sched, &t->self, certain);
        r = rt_pass(f);
        sched_return_core(&rt.sched, &t->self);
        /* Some calls are not restarted after a signal even under SA_RESTART: if it was ours alone, the
         * program must not notice. */
    } while (r == -EINTR && t->handlers == handlers && t->nudges != nudges);
    return r;
}

/* ---- futex ------------------------------------------------------------------------------------ */

static bool waits(int cmd)
{
    return cmd == FUTEX_WAIT || cmd == FUTEX_WAIT_BITSET || cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2
           || cmd == FUTEX_WAIT_REQUEUE_PI;
}

static long call_futex(struct gate_frame *f)
{
    int op = (int)f->rsi, cmd = op & FUTEX_CMD_MASK;
    const struct sync_timespec *timeout = (const struct sync_timespec *)f->r10;
    struct rt_thread *t = rt_enter();

    if (USF_UNLIKELY(!t)) {
        /* A thread of ours that is not scheduled, in a process whose wakers look in user space. */
        bool wait = waits(cmd), queued = op & FUTEX_PRIVATE_FLAG && rt.on && !usf_gate_vforked && !rt.sched.kernel;
        struct sched_self nobody = {.task = USF_NONE};
        struct sync_self alone = {.sched = &nobody};
        if (!queued) return rt_pass(f);
        if (!wait) {
            long r = rt_self.self.crit ? SYNC_KERNEL
                     : sync_futex(&rt.sync, &alone, (uint32_t *)f->rdi, op, (uint32_t)f->rdx, timeout,
                                  (uint32_t *)f->r8, (uint32_t)f->r9);
            return r == SYNC_KERNEL ? rt_pass(f) : r;
        }
        sync_kernel_wait(&rt.sync, (uint32_t *)f->rdi, 1);
        long r = rt_pass(f);
        sync_kernel_wait(&rt.sync, (uint32_t *)f->rdi, -1);
        return r;
    }
    if (rt.sched.kernel) return waits(cmd) ? rt_call_away(t, f, true) : rt_pass(f);

    long r;
    do {
        t->restart = 0;
        r = sync_futex(&rt.sync, &t->sync, (uint32_t *)f->rdi, op, (uint32_t)f->rdx, timeout,
                       (uint32_t *)f->r8, (uint32_t)f->r9);
    } while (r == -EINTR && waits(cmd) && !timeout && t->restart);
    if (r == SYNC_KERNEL) return waits(cmd) ? rt_call_away(t, f, true) : rt_pass(f);
    return r;
}

/* ---- yield, sleep, wait ----------------------------------------------------------------------- */

static long call_yield(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (t && !rt.sched.kernel && sched_yield_core(&rt.sched, &t->self, false)) return 0;
    return rt_pass(f);          /* programs outside the instance share the cores too */
}

static long call_blocks(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    return t ? rt_call_away(t, f, true) : rt_pass(f);
}

static long call_may_block(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    return t ? rt_call_away(t, f, false) : rt_pass(f);
}

static long call_wait4(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t || f->rdx & WNOHANG) return rt_pass(f);
    long r = usf_syscall(__NR_wait4, f->rdi, f->rsi, f->rdx | WNOHANG, f->r10);
    return r ? r : rt_call_away(t, f, true);
}

/* ---- poll and friends: look first, give the core up only if nothing is ready --------------------- */

static const struct sync_timespec zero;

static long call_poll(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t || (int)f->rdx == 0) return rt_pass(f);
    long r = usf_syscall(__NR_poll, f->rdi, f->rsi, 0);
    return r ? r : rt_call_away(t, f, true);
}

static long call_ppoll(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    struct sync_timespec now = zero;
    long r = usf_syscall(__NR_ppoll, f->rdi, f->rsi, &now, f->r10, f->r8);
    return r ? r : rt_call_away(t, f, true);
}

static long call_epoll_wait(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t || (int)f->r10 == 0) return rt_pass(f);
    long r = usf_syscall6((long)f->rax, (long)f->rdi, (long)f->rsi, (long)f->rdx, 0, (long)f->r8, (long)f->r9);
    return r ? r : rt_call_away(t, f, true);
}

static long call_epoll_pwait2(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    if (!t) return rt_pass(f);
    struct sync_timespec now = zero;
    long r = usf_syscall(__NR_epoll_pwait2, f->rdi, f->rsi, f->rdx, &now, f->r8, f->r9);
    return r ? r : rt_call_away(t, f, true);
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
    if (n == 0 || n > FD_SETSIZE) return rt_call_away(t, f, true);
    for (int i = 0; i < 3; i++) {
        if (!user[i]) continue;
        if (!sync_read((uint32_t *)user[i], &probe)) return rt_pass(f);     /* EFAULT, from the kernel */
        for (unsigned w = 0; w < words; w++) copy[i][w] = user[i][w];
    }
    long r = usf_syscall6((long)f->rax, n, (long)(user[0] ? copy[0] : 0), (long)(user[1] ? copy[1] : 0),
                          (long)(user[2] ? copy[2] : 0), (long)&now, f->rax == __NR_pselect6 ? (long)f->r9 : 0);
    if (r == 0) return rt_call_away(t, f, true);
    if (r < 0) return r;
    for (int i = 0; i < 3; i++)
        for (unsigned w = 0; user[i] && w < words; w++) user[i][w] = copy[i][w];
    return r;
}

/* ---- the table -------------------------------------------------------------------------------- */

void rt_install_calls(void)
{
    static const uint16_t block[] = {
        __NR_nanosleep, __NR_clock_nanosleep, __NR_pause, __NR_rt_sigsuspend, __NR_rt_sigtimedwait,
        __NR_waitid, 449 /* futex_waitv */, 455 /* futex_wait */, __NR_semtimedop, __NR_mq_timedreceive,
    };
    static const uint16_t may[] = {
        __NR_read, __NR_readv, __NR_pread64, __NR_preadv, __NR_preadv2, __NR_write, __NR_writev, __NR_pwrite64,
        __NR_pwritev, __NR_pwritev2, __NR_recvfrom, __NR_recvmsg, __NR_recvmmsg, __NR_sendto, __NR_sendmsg,
        __NR_sendmmsg, __NR_accept, __NR_accept4, __NR_connect, __NR_flock, __NR_fcntl, __NR_fsync,
        __NR_fdatasync, __NR_sync, __NR_syncfs, __NR_ioctl, __NR_splice, __NR_tee, __NR_vmsplice, __NR_sendfile,
        __NR_copy_file_range, __NR_msgrcv, __NR_msgsnd, __NR_semop, __NR_mq_timedsend, __NR_io_uring_enter,
        __NR_io_getevents, __NR_open, __NR_openat, 437 /* openat2 */, __NR_getrandom, __NR_sync_file_range,
    };
    for (unsigned i = 0; i < sizeof block / sizeof *block; i++) usf_gate_handlers[block[i]] = call_blocks;
    for (unsigned i = 0; i < sizeof may / sizeof *may; i++) usf_gate_handlers[may[i]] = call_may_block;
    usf_gate_handlers[__NR_futex] = call_futex;
    usf_gate_handlers[__NR_sched_yield] = call_yield;
    usf_gate_handlers[__NR_wait4] = call_wait4;
    usf_gate_handlers[__NR_poll] = call_poll;
    usf_gate_handlers[__NR_ppoll] = call_ppoll;
    usf_gate_handlers[__NR_select] = call_select;
    usf_gate_handlers[__NR_pselect6] = call_select;
    usf_gate_handlers[__NR_epoll_wait] = call_epoll_wait;
    usf_gate_handlers[__NR_epoll_pwait] = call_epoll_wait;
    usf_gate_handlers[__NR_epoll_pwait2] = call_epoll_pwait2;
}
