/* src/runtime/futex.c - futexes, in user space where they can be.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "runtime/runtime.h"

static bool waits(int cmd)
{
    return cmd == FUTEX_WAIT || cmd == FUTEX_WAIT_BITSET || cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2
           || cmd == FUTEX_WAIT_REQUEUE_PI;
}

/* A wait on private futexes that is left to the kernel: wakers have to look there too.  The child of
 * a vfork waits with its parent's record, and may be killed at any time: what it leaves counted is
 * forgotten when that thread ends, and costs wakers a call until then.  The sum is never less than
 * the records say. */
static long wait_in_kernel(struct rt_thread *t, struct gate_frame *f)
{
    struct rt_thread *self = &rt_self;      /* whether or not it takes part */
    sync_kernel_wait(&rt.sync, 1);
    self->kernel_waits++;
    long r = t ? rt_call_releasing(t, f, true) : rt_pass(f);
    self->kernel_waits--;
    sync_kernel_wait(&rt.sync, -1);
    return r;
}

/* May a thread that is not scheduled look at what the others wait on in user space? */
static bool may_help(void) { return rt.on && !rt.sched.kernel && !rt_self.self.crit; }

/* A wake-up or requeueing that no scheduled thread makes. */
static long wake_without_task(uint32_t *addr, int op, uint32_t val, const struct sync_timespec *val2, uint32_t *addr2, uint32_t val3)
{
    struct sched_self unscheduled = {.task = USF_NONE};
    struct sync_self self = {.sched = &unscheduled};
    return sync_futex(&rt.sync, &self, addr, op, val, val2, addr2, val3);
}

/* ---- the child of a vfork ------------------------------------------------------------------------ */
/* The child shares its parent's memory, in which the parent's threads wait.  It may be killed at any
 * time, and no thread would release a lock that it held then.  So a helper process takes the locks
 * for it.  The helper shares the memory, too.  It has its own process group and blocks all signals,
 * so that it is not killed with the child.  If no helper can be made, the child takes the locks. */

#define WAKER_SIZE 65536u       /* its stack, below which is what it is to do; its parent may go on, so not on the child's stack */
#define WAIT_CLONE 0x80000000u  /* __WCLONE: the child's own waits do not find it */

struct waker { uint32_t *addr; int op; uint32_t val; const struct sync_timespec *val2; uint32_t *addr2; uint32_t val3; long result; };

static void wake_for(struct waker *w) { w->result = wake_without_task(w->addr, w->op, w->val, w->val2, w->addr2, w->val3); }

static void be_waker(void *arg)
{
    usf_syscall(__NR_setpgid, 0, 0);
    wake_for(arg);
    for (;;) usf_syscall(__NR_exit, 0);
}

static long wake_by_process(const struct waker *what)
{
    struct waker own = *what, *w = os_map(WAKER_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool mapped = !os_is_error(w);
    uint64_t mask = rt_block_signals(~0ull);
    long pid = -ENOMEM;
    if (mapped) {
        *w = own;
        pid = arch_clone(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, (char *)w + WAKER_SIZE, 0, be_waker, w);
    }
    if (pid < 0) wake_for(&own);
    else {
        while (usf_syscall(__NR_wait4, pid, 0, WAIT_CLONE, 0) == -EINTR) {}
        own = *w;
    }
    rt_set_mask(mask);
    if (mapped) os_unmap(w, WAKER_SIZE);
    return own.result;
}

/* As long as none of its parent's threads waits in user space, the kernel knows all. */
static long wake_vforked(const struct waker *what)
{
    bool two = (what->op & FUTEX_CMD_MASK) == FUTEX_WAKE_OP;
    return sync_is_waited_for(&rt.sync, what->addr) || (two && sync_is_waited_for(&rt.sync, what->addr2)) ? wake_by_process(what) : SYNC_KERNEL;
}

/* ---- by threads that are not scheduled ----------------------------------------------------------- */

/* A wake-up in a process whose other threads wait in user space. */
static long wake_alone(uint32_t *addr, int op, uint32_t val, const struct sync_timespec *val2, uint32_t *addr2, uint32_t val3)
{
    if (!may_help()) return SYNC_KERNEL;
    if (usf_gate_vforked) return wake_vforked(&(struct waker){addr, op, val, val2, addr2, val3, 0});
    /* It takes the locks that all take: its signals are deferred where rt_signal looks. */
    bool mine = rt_has_own_self();
    if (mine) sched_crit_enter(&rt_self.self);
    long r = wake_without_task(addr, op, val, val2, addr2, val3);
    if (mine) sched_crit_leave(&rt.sched, &rt_self.self);
    return r;
}

long rt_wake_for_nobody(struct gate_frame *f)
{
    int op = (int)f->arg[1];
    if (!rt.on || rt.sched.kernel || waits(op & FUTEX_CMD_MASK)) return rt_pass(f);
    long r = wake_without_task((uint32_t *)f->arg[0], op, (uint32_t)f->arg[2], (const struct sync_timespec *)f->arg[3], (uint32_t *)f->arg[4], (uint32_t)f->arg[5]);
    return r == SYNC_KERNEL ? rt_pass(f) : r;
}

static long futex_alone(struct gate_frame *f)
{
    int op = (int)f->arg[1];
    if (!(op & FUTEX_PRIVATE_FLAG) || !may_help()) return rt_pass(f);
    if (waits(op & FUTEX_CMD_MASK)) return wait_in_kernel(0, f);
    long r = wake_alone((uint32_t *)f->arg[0], op, (uint32_t)f->arg[2], (const struct sync_timespec *)f->arg[3], (uint32_t *)f->arg[4], (uint32_t)f->arg[5]);
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
    int op = (int)f->arg[1];
    for (;;) {
        t->restart = 0;
        t->sync.seen = t->handlers;             /* a handler that runs from here on is noticed, one before has left its mark */
        __asm__ volatile("" ::: "memory");
        rt_act_upon_cancel(f);
        t->sync.handlers = &t->handlers;
        long r = sync_futex(&rt.sync, &t->sync, (uint32_t *)f->arg[0], op, (uint32_t)f->arg[2], timeout, (uint32_t *)f->arg[4], (uint32_t)f->arg[5]);
        t->sync.handlers = 0;
        if (r == SYNC_HANDLER || (r == -EINTR && waits(op & FUTEX_CMD_MASK) && !timeout && t->restart)) continue;
        if (r == -EINTR) rt_act_upon_cancel(f);
        return r;
    }
}

static long call_futex(struct gate_frame *f)
{
    int op = (int)f->arg[1], cmd = op & FUTEX_CMD_MASK;
    struct rt_thread *t = rt_enter();
    if (USF_UNLIKELY(!t)) return futex_alone(f);
    long r = rt.sched.kernel ? SYNC_KERNEL
             : f->cancel ? cancellable_futex(t, f, (const struct sync_timespec *)f->arg[3])
             : futex(t, (uint32_t *)f->arg[0], op, (uint32_t)f->arg[2], (const struct sync_timespec *)f->arg[3],
                     (uint32_t *)f->arg[4], (uint32_t)f->arg[5]);
    if (r != SYNC_KERNEL) return r;
    if (!waits(cmd)) return rt_pass(f);
    return op & FUTEX_PRIVATE_FLAG ? wait_in_kernel(t, f) : rt_call_releasing(t, f, true);
}

/* futex_wake, futex_wait, futex_requeue (Linux 6.7) are other spellings of the same operations, and
 * futex_waitv waits on several words: in the kernel, where the others' wakers then look. */
enum { NR_FUTEX_WAITV = 449, NR_FUTEX_WAKE = 454, NR_FUTEX_WAIT = 455, NR_FUTEX_REQUEUE = 456 };
#define PRIVATE_U32 (FUTEX_PRIVATE_FLAG | 2 /* FUTEX2_SIZE_U32 */)

/* Its time is absolute, so the kernel makes it again also where there is one. */
static long call_futex_wait(struct gate_frame *f)
{
    struct rt_thread *t = rt_enter();
    int op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | ((int)f->arg[5] == 0 ? FUTEX_CLOCK_REALTIME : 0);
    bool sane = (uint32_t)f->arg[3] == PRIVATE_U32 && !(f->arg[1] >> 32) && f->arg[2] && !(f->arg[2] >> 32) && (!f->arg[4] || (uint32_t)f->arg[5] <= 1);
    long r;
    if (!t || !sane || rt.sched.kernel) return wait_in_kernel(t, f);
    do r = futex(t, (uint32_t *)f->arg[0], op, (uint32_t)f->arg[1], (const struct sync_timespec *)f->arg[4], 0, (uint32_t)f->arg[2]);
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
    if ((uint32_t)f->arg[3] != PRIVATE_U32 || !f->arg[1] || f->arg[1] >> 32 || !(int)f->arg[2]) return rt_pass(f);
    long r = wake_any((uint32_t *)f->arg[0], FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, (uint32_t)f->arg[2], 0, 0, (uint32_t)f->arg[1]);
    return r == SYNC_KERNEL ? rt_pass(f) : r;
}

static long call_futex_requeue(struct gate_frame *f)
{
    struct { uint64_t val, addr; uint32_t flags, reserved; } w[2];
    if ((uint32_t)f->arg[1] || !rt.on) return rt_pass(f);
    if (!sync_read_words(w, (const void *)f->arg[0], sizeof w)) return rt_pass(f);
    if (w[0].flags != PRIVATE_U32 || w[1].flags != PRIVATE_U32 || w[0].reserved || w[1].reserved || (w[0].val | w[1].val) >> 32)
        return rt_pass(f);
    long r = wake_any((uint32_t *)w[0].addr, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, (uint32_t)f->arg[2],
                      (const struct sync_timespec *)(long)(int)f->arg[3], (uint32_t *)w[1].addr, (uint32_t)w[0].val);
    return r == SYNC_KERNEL ? rt_pass(f) : r;
}

static long call_futex_waitv(struct gate_frame *f) { return wait_in_kernel(rt_enter(), f); }

void rt_install_futex(void)
{
    usf_gate_handlers[__NR_futex] = call_futex;
    usf_gate_handlers[NR_FUTEX_WAITV] = call_futex_waitv;
    usf_gate_handlers[NR_FUTEX_WAIT] = call_futex_wait;
    usf_gate_handlers[NR_FUTEX_WAKE] = call_futex_wake;
    usf_gate_handlers[NR_FUTEX_REQUEUE] = call_futex_requeue;
}
