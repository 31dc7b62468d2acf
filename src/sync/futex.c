/* src/sync/futex.c - futexes in user space.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/futex.h>

#include "base/base.h"
#include "os/os.h"
#include "os/syscall.h"
#include "sched/ring.h"
#include "sched/times.h"
#include "sync/internal.h"

int sync_probe_read(const uint32_t *addr, uint32_t *out);
int sync_probe_cas(uint32_t *addr, uint32_t *expected, uint32_t desired);
extern const char sync_probe_start[], sync_probe_end[], sync_probe_fixup[];

bool sync_read(const uint32_t *addr, uint32_t *out) { return sync_probe_read(addr, out) == 0; }

bool sync_read_words(void *to, const void *from, unsigned bytes)
{
    for (unsigned i = 0; i < bytes / 4; i++)
        if (!sync_read((const uint32_t *)from + i, (uint32_t *)to + i)) return false;
    return true;
}

uintptr_t sync_fault_fixup(uintptr_t pc)
{
    return pc >= (uintptr_t)sync_probe_start && pc < (uintptr_t)sync_probe_end ? (uintptr_t)sync_probe_fixup : 0;
}

/* ---- buckets ---------------------------------------------------------------------------------- */

static struct sync_bucket *bucket_of(struct sync *y, uintptr_t addr)
{ return &y->bucket[(addr >> 2) * 0x9e3779b97f4a7c15ull >> 56]; }

static void lock_bucket_as(struct sync_bucket *b, enum usf_rank rank)
{
    usf_lock_wanted(rank);
    for (unsigned i = 0; i < BUCKET_SPINS; i++) {
        uint32_t free = 0;
        if (atomic_load_explicit(&b->lock, memory_order_relaxed) == 0
            && atomic_compare_exchange_weak(&b->lock, &free, 1))
            return usf_lock_taken(rank);
        os_pause();
    }
    while (atomic_exchange(&b->lock, 2)) os_futex_wait(&b->lock, 2, 0);
    usf_lock_taken(rank);
}
static void lock_bucket(struct sync_bucket *b) { lock_bucket_as(b, USF_RANK_BUCKET); }

static void unlock_bucket_as(struct sync_bucket *b, enum usf_rank rank)
{
    usf_lock_released(rank);
    if (atomic_exchange(&b->lock, 0) == 2) os_futex_wake(&b->lock, 1);
}
static void unlock_bucket(struct sync_bucket *b) { unlock_bucket_as(b, USF_RANK_BUCKET); }

static void lock_two(struct sync_bucket *a, struct sync_bucket *b)
{
    lock_bucket(a < b ? a : b);
    if (a != b) lock_bucket_as(a < b ? b : a, USF_RANK_BUCKET_2);
}
static void unlock_two(struct sync_bucket *a, struct sync_bucket *b)
{
    if (a != b) unlock_bucket_as(b, USF_RANK_BUCKET_2);
    unlock_bucket(a);
}

/* holds b's lock.  Has its queue as many entries as it counts, each of which names it and can still
 * be woken? */
static bool bucket_is_valid(struct sync_bucket *b)
{
    const struct sync_waiter *prev = 0;
    uint32_t n = 0;
    for (const struct sync_waiter *w = b->head; w; prev = w, w = w->next, n++)
        if (w->prev != prev || atomic_load(&w->bucket) != b || atomic_load(&w->state) > SYNC_WAITING || !w->bitset) return false;
    return b->tail == prev && atomic_load(&b->count) == n;
}
static bool is_locked(struct sync_bucket *b)
{ return atomic_load(&b->lock) != 0 && (usf_lock_is_held(USF_RANK_BUCKET) || usf_lock_is_held(USF_RANK_BUCKET_2)); }

/* holds b's lock */
static void append(struct sync_bucket *b, struct sync_waiter *w)
{
    usf_dassert(is_locked(b));
    w->next = 0;
    w->prev = b->tail;
    if (b->tail) b->tail->next = w;
    else b->head = w;
    b->tail = w;
    atomic_store_explicit(&w->bucket, b, memory_order_release);
    atomic_fetch_add(&b->count, 1);     /* seq_cst: a waker reads it in no_waiters() */
    usf_dassert(b->head && !b->head->prev && !b->tail->next);
    usf_xassert(bucket_is_valid(b));
}
static void detach(struct sync_bucket *b, struct sync_waiter *w)
{
    usf_dassert(is_locked(b) && atomic_load(&w->bucket) == b && atomic_load(&b->count) != 0);
    usf_xassert(bucket_is_valid(b));
    if (w->prev) w->prev->next = w->next;
    else b->head = w->next;
    if (w->next) w->next->prev = w->prev;
    else b->tail = w->prev;
    atomic_store_explicit(&b->count, atomic_load_explicit(&b->count, memory_order_relaxed) - 1, memory_order_release);
    usf_dassert(!b->head == !b->tail && !b->head == !atomic_load(&b->count));
    usf_xassert(bucket_is_valid(b));
}

/* The owner takes its entry out.  False: a waker had it already (and has let go of it). */
static bool cancel(struct sync_waiter *w)
{
    for (;;) {
        struct sync_bucket *b = atomic_load(&w->bucket);
        lock_bucket(b);
        if (atomic_load(&w->bucket) != b) {     /* requeued meanwhile */
            unlock_bucket(b);
            continue;
        }
        bool mine = atomic_load(&w->state) <= SYNC_WAITING;
        if (mine) {
            detach(b, w);
            atomic_store(&w->state, SYNC_CANCELLED);
        }
        unlock_bucket(b);
        while (atomic_load(&w->state) == SYNC_WAKING) os_pause();
        return mine;
    }
}

void sync_cancel(struct sync *y, struct sync_self *me)
{
    if (!me->waiter || atomic_load(&me->waiter->state) == SYNC_CANCELLED) return;
    sched_crit_enter(me->sched);
    cancel(me->waiter);
    sched_crit_leave(y->sched, me->sched);
}

void sync_reset(struct sync *y)
{
    for (unsigned i = 0; i < SYNC_BUCKETS; i++) y->bucket[i] = (struct sync_bucket){0};
    atomic_store(&y->kernel, 0);
}

void sync_kernel_wait(struct sync *y, int delta)
{
    uint32_t was = atomic_fetch_add(&y->kernel, (uint32_t)delta);
    usf_dassert((int64_t)was + delta >= 0);
}

/* ---- wait ------------------------------------------------------------------------------------- */

struct deadline { uint64_t at; int clock; };    /* at 0: none */

static int read_timeout(const struct sync_timespec *ts, int cmd, int op, struct deadline *d)
{
    struct sync_timespec t;
    d->at = 0;
    d->clock = op & FUTEX_CLOCK_REALTIME ? 0 : 1;
    if (!ts) return 0;
    if (!sync_read_words(&t, ts, sizeof t)) return -EFAULT;
    if (t.sec < 0 || t.nsec < 0 || t.nsec >= 1000000000) return -EINVAL;
    uint64_t ns = t.sec > 9000000000ll ? INT64_MAX : (uint64_t)t.sec * 1000000000u + (uint64_t)t.nsec;
    if (cmd == FUTEX_WAIT) {
        uint64_t now = os_now();
        ns = ns > INT64_MAX - now ? INT64_MAX : ns + now;
    }
    d->at = ns ? ns : 1;
    return 0;
}

/* How long to wait before the real-time clock is read again. */
static uint64_t realtime_look(uint64_t left)
{
    uint64_t look = left / REALTIME_LOOK_PART;
    if (look > REALTIME_LOOK_MAX_NS) look = REALTIME_LOOK_MAX_NS;
    if (look < REALTIME_LOOK_MIN_NS) look = REALTIME_LOOK_MIN_NS;
    return look < left ? look : left;
}

/* The deadline on the scheduler's clock, or a time to look again before that; *over: it has
 * passed. */
static uint64_t monotonic(const struct deadline *d, bool *over)
{
    *over = false;
    if (!d->at) return 0;
    /* The deadline's clock is read first: if this thread is preempted in between, the wait ends
     * late, not early. */
    bool same = d->clock == 1;
    uint64_t on_clock = same ? 0 : os_clock_ns(d->clock);
    USF_POINT("sync.deadline");
    uint64_t now = os_now();
    if (same) on_clock = now;
    *over = d->at <= on_clock;
    uint64_t left = *over ? 0 : d->at - on_clock;
    if (!same) left = realtime_look(left);
    return left > INT64_MAX - now ? 0 : now + left;
}

/* No task wants the core: look at the entry for as long as the idle-core governor thinks it is
 * worth it. */
static void look(struct sync *y, struct sync_self *me, struct sync_waiter *w, uint64_t until)
{
    uint64_t budget = sched_look_budget(y->sched, me->sched), start = budget ? os_now() : 0, now = start;
    uint32_t looking = SYNC_LOOKING;
    for (unsigned i = 1; budget && atomic_load_explicit(&w->state, memory_order_acquire) == SYNC_LOOKING; i++) {
        if (sched_core_is_wanted(y->sched)) break;
        if (i % LOOK_ROUNDS == 0 && ((now = os_now()) - start > budget || (until && now >= until))) break;
        os_pause();
    }
    bool woken = !atomic_compare_exchange_strong(&w->state, &looking, SYNC_WAITING);
    while (atomic_load(&w->state) == SYNC_WAKING) os_pause();
    if (budget) sched_looked(y->sched, me->sched, woken ? os_now() - start : UINT64_MAX);
}

static long wait_on(struct sync *y, struct sync_self *me, uint32_t *addr, uint32_t val, uint32_t bitset,
                    const struct deadline *d)
{
    struct sync_waiter w = {.addr = (uintptr_t)addr, .bitset = bitset};
    usf_dassert(!me->sched->crit && !me->waiter && bitset);
    struct sync_bucket *b = bucket_of(y, w.addr);
    uint32_t now_val;
    uint64_t recheck = y->recheck_ns;
    /* Before another thread can find the entry and wake it. */
    uint64_t began = trace_time(y->sched), start = val == SYNC_LOCK_WAITED_FOR || me->others.delayed ? os_cycles() : 0;

    sched_crit_enter(me->sched);
    w.task = me->sched->task;   /* not before: a handler may have left the instance, and joined it again */
    lock_bucket(b);
    append(b, &w);      /* counts itself before it reads: see no_waiters */
    USF_POINT("sync.queued");
    long r = w.task == USF_NONE ? SYNC_KERNEL : !sync_read(addr, &now_val) ? -EFAULT : now_val != val ? -EAGAIN : 0;
    /* None runs from here on that would not find the waiter. */
    if (!r && me->handlers && *me->handlers != me->seen) r = SYNC_HANDLER;
    if (r) detach(b, &w);
    unlock_bucket(b);
    if (!r) me->waiter = &w;
    sched_crit_leave(y->sched, me->sched);
    if (r) return r;

    if (USF_UNLIKELY(began)) trace_own(y->sched, me->sched, began, TRACE_WAIT, 0, (uintptr_t)addr, 0);
    sched_waits_for(y->sched, me->sched, USF_WAIT_FUTEX, (uintptr_t)addr);     /* w.addr is the requeuers' by now */
    if (me->sched->task == w.task)
        atomic_store_explicit(&y->sched->tasks[w.task].waits, (uint16_t)(sync_waits(y, w.task) + 1), memory_order_relaxed);
    bool over;
    look(y, me, &w, monotonic(d, &over));
    while (atomic_load(&w.state) == SYNC_WAITING) {
        uint64_t until = monotonic(d, &over), look = recheck ? os_now() + recheck : 0;
        bool peek = recheck && (!until || look < until);
        if (over) {
            r = -ETIMEDOUT;
            break;
        }
        USF_POINT("sync.waiting");
        r = sched_block_while(y->sched, me->sched, peek ? look : until, &w.state, SYNC_WAITING);
        if (me->sched->task != w.task) {    /* taken off the instance meanwhile: the kernel's from now on */
            r = 0;
            break;
        }
        if (r == -EINTR) break;
        bool early = peek && r == -ETIMEDOUT;
        r = 0;
        if (!early) continue;
        if (!sync_read(addr, &now_val) || now_val != val) break;    /* spurious, as futex(2) allows */
        recheck *= 2;
    }
    sched_crit_enter(me->sched);
    me->waiter = 0;
    uint32_t st = atomic_load(&w.state), how = TRACE_END_WOKEN;
    if (st == SYNC_CANCELLED) r = -EINTR;
    else if (st == SYNC_WOKEN || !cancel(&w)) r = 0;
    else how = r == -ETIMEDOUT ? TRACE_END_TIMEOUT : r == -EINTR ? TRACE_END_SIGNAL : TRACE_END_OTHER;
    if (st == SYNC_CANCELLED) how = TRACE_END_SIGNAL;
    if (USF_UNLIKELY(began)) trace_own(y->sched, me->sched, 0, TRACE_WAITED, how, (uintptr_t)addr, 0);
    sched_crit_leave(y->sched, me->sched);
    if (y->no_delays) return r;
    if (val != SYNC_LOCK_WAITED_FOR) sync_delay_after(y, me, addr, start, how == TRACE_END_WOKEN ? &w : 0);
    else if (how == TRACE_END_WOKEN) sync_delay_at_lock(y, me, addr, start);
    if (val == SYNC_LOCK_WAITED_FOR) me->others.delayed = false;      /* the wait before cannot be judged any more */
    return r;
}

/* ---- wake ------------------------------------------------------------------------------------- */
/* A waiter counts itself in its bucket and then reads the word; a waker has written the word and
 * then reads the count.  With a full fence between, one of them sees the other. */
static bool no_waiters(struct sync *y, struct sync_bucket *b)
{
    atomic_thread_fence(memory_order_seq_cst);
    return !atomic_load_explicit(&b->count, memory_order_relaxed)
           && !atomic_load_explicit(&y->kernel, memory_order_relaxed);
}

bool sync_is_waited_for(struct sync *y, const uint32_t *addr)
{
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load_explicit(&bucket_of(y, (uintptr_t)addr)->count, memory_order_relaxed) != 0;
}

/* Entries taken out of their buckets (WAKING), linked by next. */
struct taken { struct sync_waiter *head, **tail; };

/* holds b's lock */
static void hand_over(struct sync_bucket *b, struct sync_waiter *w, struct taken *t)
{
    detach(b, w);
    uint32_t was = atomic_exchange(&w->state, SYNC_WAKING);
    usf_dassert(was == SYNC_LOOKING || was == SYNC_WAITING);
    w->was_looking = was == SYNC_LOOKING;
    w->next = 0;
    *t->tail = w;
    t->tail = &w->next;
}

/* holds b's lock: take up to n entries of addr.  As the kernel's: n < 1 still takes one. */
static int take(struct sync_bucket *b, uintptr_t addr, int n, uint32_t bitset, struct taken *t)
{
    int got = 0;
    for (struct sync_waiter *w = b->head, *next; w; w = next) {
        next = w->next;
        if (w->addr != addr || !(w->bitset & bitset)) continue;
        hand_over(b, w, t);
        if (++got >= n) break;
    }
    return got;
}

/* Tasks that the scheduler is told of by one call; it takes its lock for SCHED_WAKE_BATCH of them. */
#define WAKE_AT_ONCE 32u

static void wake_taken(struct sync *y, struct sync_self *me, struct taken *t)
{
    uint32_t id[WAKE_AT_ONCE];
    usf_dassert(me->sched->crit);
    for (struct sync_waiter *w = t->head; w;) {
        unsigned n = 0;
        while (w && n < WAKE_AT_ONCE) {
            struct sync_waiter *next = w->next;
            if (trace_is_on(y->sched)) trace_own(y->sched, me->sched, 0, TRACE_WOKE, 0, w->task, w->addr);
            if (!w->was_looking) id[n++] = w->task;
            usf_dassert(w->state == SYNC_WAKING && w->task < USF_MAX_TASKS);
            w->by = me->sched->task;
            w->by_waits = w->by != USF_NONE ? sync_waits(y, w->by) : 0;
            w->by_calls = w->by != USF_NONE ? sync_calls(y, w->by) : 0;
            atomic_store_explicit(&w->state, SYNC_WOKEN, memory_order_release);     /* the entry is no longer ours */
            w = next;
        }
        USF_POINT("sync.woken");
        if (n) sched_wake(y->sched, me->sched, id, n);
    }
}

/* The rest of a wake-up, for threads that wait in the kernel.  got: woken here. */
static long wake_kernel(struct sync *y, uint32_t *addr, int n, uint32_t bitset, int got)
{
    if ((got && got >= n) || !atomic_load(&y->kernel)) return got;
    long r = usf_syscall(__NR_futex, addr, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, n - got, 0, 0, bitset);
    return r >= 0 ? got + r : got ? got : r;
}

static long wake(struct sync *y, struct sync_self *me, uint32_t *addr, int n, uint32_t bitset)
{
    struct sync_bucket *b = bucket_of(y, (uintptr_t)addr);
    struct taken t = {.tail = &t.head};
    if (no_waiters(y, b)) return 0;
    sched_crit_enter(me->sched);
    lock_bucket(b);
    int got = take(b, (uintptr_t)addr, n, bitset, &t);
    unlock_bucket(b);
    wake_taken(y, me, &t);
    sched_crit_leave(y->sched, me->sched);
    return wake_kernel(y, addr, n, bitset, got);
}

static long requeue(struct sync *y, struct sync_self *me, uint32_t *addr, int nr_wake, int nr_requeue,
                    uint32_t *addr2, const uint32_t *cmp)
{
    struct sync_bucket *b = bucket_of(y, (uintptr_t)addr), *b2 = bucket_of(y, (uintptr_t)addr2);
    struct taken t = {.tail = &t.head};
    uint32_t v;
    int done = 0;
    sched_crit_enter(me->sched);
    lock_two(b, b2);
    long err = 0;
    if (cmp) err = !sync_read(addr, &v) ? -EFAULT : v != *cmp ? -EAGAIN : 0;
    struct sync_waiter *last = b2->tail;
    for (struct sync_waiter *w = b->head, *next; w && !err && done - nr_wake < nr_requeue; w = next) {
        next = w->next;
        bool end = w == last;       /* b == b2: those behind it were requeued by us */
        if (w->addr == (uintptr_t)addr) {
            if (++done <= nr_wake) {
                hand_over(b, w, &t);
            } else if (addr != addr2) {     /* onto itself: it keeps its place, as in the kernel */
                detach(b, w);
                w->addr = (uintptr_t)addr2;
                append(b2, w);
            }
        }
        if (end && b == b2) break;
    }
    unlock_two(b, b2);
    wake_taken(y, me, &t);
    sched_crit_leave(y->sched, me->sched);
    if (err || !atomic_load(&y->kernel) || done - nr_wake >= nr_requeue) return err ? err : done;
    int woken = done < nr_wake ? done : nr_wake;
    long r = usf_syscall(__NR_futex, addr, FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, nr_wake - woken,
                         (long)(nr_requeue - (done - woken)), addr2);
    return r > 0 ? done + r : done;
}

static int sign12(uint32_t v) { return (int32_t)(v << 20) >> 20; }

static bool compare(int how, int a, int b, int *yes)
{
    switch (how) {
    case FUTEX_OP_CMP_EQ: *yes = a == b; return true;
    case FUTEX_OP_CMP_NE: *yes = a != b; return true;
    case FUTEX_OP_CMP_LT: *yes = a < b; return true;
    case FUTEX_OP_CMP_GE: *yes = a >= b; return true;
    case FUTEX_OP_CMP_LE: *yes = a <= b; return true;
    case FUTEX_OP_CMP_GT: *yes = a > b; return true;
    default: return false;
    }
}

/* The atomic operation of FUTEX_WAKE_OP: 1/0 the comparison held or not, or -errno. */
static int operate(uint32_t *addr, uint32_t code)
{
    int op = code >> 28 & 7, how = code >> 24 & 15, arg = sign12(code >> 12), cmparg = sign12(code), yes;
    uint32_t old, new;
    if (code >> 31) arg = (int)(1u << (arg & 31));
    if (!sync_read(addr, &old)) return -EFAULT;
    for (int r = 2; r;) {
        switch (op) {
        case FUTEX_OP_SET: new = (uint32_t)arg; break;
        case FUTEX_OP_ADD: new = old + (uint32_t)arg; break;
        case FUTEX_OP_OR: new = old | (uint32_t)arg; break;
        case FUTEX_OP_ANDN: new = old & ~(uint32_t)arg; break;
        case FUTEX_OP_XOR: new = old ^ (uint32_t)arg; break;
        default: return -ENOSYS;
        }
        if ((r = sync_probe_cas(addr, &old, new)) == 1) return -EFAULT;
    }
    return compare(how, (int)old, cmparg, &yes) ? yes : -ENOSYS;
}

static long wake_op(struct sync *y, struct sync_self *me, uint32_t *addr, int n, uint32_t *addr2, int n2,
                    uint32_t code)
{
    struct sync_bucket *b = bucket_of(y, (uintptr_t)addr), *b2 = bucket_of(y, (uintptr_t)addr2);
    struct taken t = {.tail = &t.head};
    int got = 0, got2 = 0;
    sched_crit_enter(me->sched);
    lock_two(b, b2);
    int r = operate(addr2, code);
    if (r >= 0) {
        got = take(b, (uintptr_t)addr, n, FUTEX_BITSET_MATCH_ANY, &t);
        if (r > 0) got2 = take(b2, (uintptr_t)addr2, n2, FUTEX_BITSET_MATCH_ANY, &t);
    }
    unlock_two(b, b2);
    wake_taken(y, me, &t);
    sched_crit_leave(y->sched, me->sched);
    if (r < 0) return r;
    long all = wake_kernel(y, addr, n, FUTEX_BITSET_MATCH_ANY, got);
    if (all < 0 || r == 0) return all;
    long more = wake_kernel(y, addr2, n2, FUTEX_BITSET_MATCH_ANY, got2);
    return more < 0 ? more : all + more;
}

/* ---- the system call -------------------------------------------------------------------------- */

/* As the kernel's access_ok: an address of the kernel's half is refused whatever the operation
 * does. */
static int bad(const uint32_t *addr)
{ return (uintptr_t)addr % 4 ? -EINVAL : (uintptr_t)addr >= 0x7ffffffff000ull ? -EFAULT : 0; }

long sync_futex(struct sync *y, struct sync_self *me, uint32_t *addr, int op, uint32_t val,
                const struct sync_timespec *timeout, uint32_t *addr2, uint32_t val3)
{
    int cmd = op & FUTEX_CMD_MASK, r;
    struct deadline d;
    bool clock_ok = !(op & FUTEX_CLOCK_REALTIME) || cmd == FUTEX_WAIT_BITSET;

    if (!(op & FUTEX_PRIVATE_FLAG) || !clock_ok) return SYNC_KERNEL;
    switch (cmd) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        if (me->sched->task == USF_NONE) return SYNC_KERNEL;
        if ((r = read_timeout(timeout, cmd, op, &d))) return r;
        if (cmd == FUTEX_WAIT) val3 = FUTEX_BITSET_MATCH_ANY;
        if (!val3) return -EINVAL;
        if ((r = bad(addr))) return r;
        return wait_on(y, me, addr, val, val3, &d);
    case FUTEX_WAKE:
        val3 = FUTEX_BITSET_MATCH_ANY;
        /* fall through */
    case FUTEX_WAKE_BITSET:
        if (!val3) return -EINVAL;
        if ((r = bad(addr))) return r;
        return wake(y, me, addr, (int)val, val3);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        if ((int)val < 0 || (int)(long)timeout < 0) return -EINVAL;
        if ((r = bad(addr)) || (r = bad(addr2))) return r;
        return requeue(y, me, addr, (int)val, (int)(long)timeout, addr2, cmd == FUTEX_CMP_REQUEUE ? &val3 : 0);
    case FUTEX_WAKE_OP:
        if ((r = bad(addr)) || (r = bad(addr2))) return r;
        return wake_op(y, me, addr, (int)val, addr2, (int)(long)timeout, val3);
    default: return SYNC_KERNEL;
    }
}
