/* src/sync/sync.h - futexes in user space.  SPDX-License-Identifier: Apache-2.0
 *
 * Wait queues of one process, keyed by address, for private futexes: the semantics of futex(2) with
 * the thread's core given up instead of the kernel's sleep.  Shared, PI and robust futexes stay in
 * the kernel.  Queues are FIFO; wait entries lie on the waiting threads' stacks.
 *
 * Wait entry:  LOOKING ─(owner)─► WAITING ─(waker, bucket lock)─► WAKING ─(waker)─► WOKEN
 *                 │                    └─(owner: timeout or signal, bucket lock)─► CANCELLED
 *                 └─(waker, owner: as WAITING)
 * A LOOKING owner looks at the entry itself, as long as no other task wants its core: nothing is
 * cheaper, and its waker need not enter the scheduler.
 * The waker that has set WOKEN does not touch the entry again: its stack frame may be gone.
 */
#ifndef USF_SYNC_H
#define USF_SYNC_H

#include "sched/sched.h"

#define SYNC_BUCKETS 256u
#define SYNC_HANDLER (-4097l)       /* sync_futex: a handler has run before the wait began */
#define SYNC_KERNEL  (-4096l)       /* sync_futex: not ours, make the system call */

enum sync_state { SYNC_LOOKING, SYNC_WAITING, SYNC_WAKING, SYNC_WOKEN, SYNC_CANCELLED };

struct sync_bucket;
struct sync_waiter {
    struct sync_waiter *next, *prev;
    uintptr_t addr;
    struct sync_bucket *_Atomic bucket;     /* changes by requeue, under both buckets' locks */
    uint32_t bitset, task;
    bool was_looking;               /* it was LOOKING when the waker took it */
    uint32_t by;                    /* its waker's task, and usf_task.waits of that; set before WOKEN */
    uint16_t by_waits;
    uint64_t by_calls;              /* ... and the count of its calls (sync_calls) */
    _Atomic uint32_t state;
};
struct sync_bucket {
    _Alignas(USF_CACHELINE)
    _Atomic uint32_t lock;          /* 0 free, 1 held, 2 held and waited for */
    _Atomic uint32_t count;         /* entries, read by wakers without the lock */
    struct sync_waiter *head, *tail;
};
struct sync {
    struct sched *sched;
    _Atomic uint32_t kernel;        /* threads that wait on private futexes in the kernel: wakers look there too */
    uint64_t recheck_ns;            /* look at the word again after this long: a waker may have used a
                                       system call site that is not patched */
    bool no_delays;                 /* woken threads go on at once */
    struct sync_bucket bucket[SYNC_BUCKETS];
};
/* What a thread remembers of its latest waits for a lock, and of those for other words
 * (delay.c). */
struct sync_lock_waits {
    const uint32_t *addr;           /* the latest lock */
    uint64_t left;                  /* cycles: when the thread went on from there */
    uint32_t hot;                   /* such waits there in a row that were short, one right after the other */
    uint32_t cold;                  /* so many more of them do not count */
};
struct sync_other_waits {
    const uint32_t *addr;           /* the latest word */
    uint64_t left;                  /* cycles: when the thread went on from there */
    bool delayed;                   /* ... and it is to be judged whether that wake-up was futile */
    uint32_t doubled;               /* so often its delays have been doubled */
    uint32_t wrong;                 /* delays that were wrong, less those that right ones make up for (FUTILE_WORTH) */
    uint32_t cold;                  /* so many waits are to come before the next delay */
};
/* A thread's part, process-private. */
struct sync_self {
    struct sched_self *sched;
    struct sync_waiter *waiter;     /* its wait in progress, or null */
    const uint32_t *handlers;       /* if not null: a count of handlers; no wait begins once it is not `seen` any more */
    uint32_t seen;
    struct sync_lock_waits locks;
    struct sync_other_waits others;
};

struct sync_timespec { int64_t sec, nsec; };

/* futex(2) with the arguments as given; SYNC_KERNEL if the operation is not one of ours.
 * -EINTR: sync_cancel ended the wait. */
long sync_futex(struct sync *y, struct sync_self *me, uint32_t *addr, int op, uint32_t val,
                const struct sync_timespec *timeout, uint32_t *addr2, uint32_t val3);
/* A signal handler is about to run: take the own wait, if any, out of the queues. */
void sync_cancel(struct sync *y, struct sync_self *me);
/* Around a wait on private futexes that a thread makes in the kernel (+1, -1). */
void sync_kernel_wait(struct sync *y, int delta);
/* May a thread wait for this word in user space?  Asked without a lock after the word was written: of
 * the waker and the thread one sees the other. */
bool sync_is_waited_for(struct sync *y, const uint32_t *addr);
/* In the child of a fork: all queues empty. */
void sync_reset(struct sync *y);

/* Reads *addr; false: the address is bad.  sync_fault_fixup: called by the handler of SIGSEGV and
 * SIGBUS with the faulting pc: the pc to go on at, or 0: not ours. */
bool sync_read(const uint32_t *addr, uint32_t *out);
bool sync_read_words(void *to, const void *from, unsigned bytes);      /* several, of 4 bytes each */
uintptr_t sync_fault_fixup(uintptr_t pc);
#endif
