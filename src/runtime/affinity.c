/* src/runtime/affinity.c - affinity calls are hints (or strict: percpu.c), nice values priorities.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The scheduler decides where a thread runs; what the program asks for is checked by the kernel,
 * kept, and read back as it was set (USF paper, section 4.3.2). */
#include <errno.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"

/* ---- threads that are being born ---------------------------------------------------------------- */
/* A new thread starts with its creator's hint, or with what its creator sets before it has attached
 * itself (pthread_attr_setaffinity_np).  The creator leaves the hint under the new thread's thread
 * pointer, or its id; the new thread looks for both.  Few threads have one: a small ring does. */
#define HINTS 64
static struct { uintptr_t key; struct os_cpuset hint; } hints[HINTS];
static uint32_t nr_hints;

/* holds rt.list_lock */
static void bequeath(uintptr_t key, const struct os_cpuset *hint)
{
    hints[nr_hints % HINTS].key = key;
    hints[nr_hints % HINTS].hint = *hint;
    __atomic_store_n(&nr_hints, nr_hints + 1, __ATOMIC_RELAXED);
}

/* The calling thread takes the hint that was left for it, also while it had opted out.  Holds
 * rt.list_lock. */
static void inherit(struct rt_thread *t)
{
    uintptr_t self = arch_thread_pointer();
    for (unsigned i = 0; i < HINTS; i++) {
        /* oldest first: what was set for the thread itself comes after what it inherited */
        unsigned at = (nr_hints + i) % HINTS;
        if (hints[at].key != self && hints[at].key != (uintptr_t)t->tid) continue;
        t->hint = hints[at].hint;
        t->has_hint = true;
        hints[at].key = 0;
    }
}

static bool any_hints(void) { return __atomic_load_n(&nr_hints, __ATOMIC_RELAXED) != 0; }

void rt_bequeath_hint(struct rt_thread *creator, uintptr_t tls)
{
    if ((!creator->has_hint && !any_hints()) || !tls) return;
    rt_list_lock();
    inherit(creator);
    if (creator->has_hint) bequeath(tls, &creator->hint);
    rt_list_unlock();
}

void rt_inherit_hint(struct rt_thread *t)
{
    if (!any_hints()) return;
    rt_list_lock();
    inherit(t);
    rt_list_unlock();
}

/* If another thread sets this one's CPUs while it opts out, it has left them for it by now, or does
 * so when this one is no longer bound. */
void rt_unbind(struct rt_thread *t)
{
    rt_list_lock();
    inherit(t);
    os_setaffinity(0, t->has_hint ? &t->hint : &rt.cpus);
    rt_list_unlock();
}

/* ---- cpusets that change ------------------------------------------------------------------------- */

#define FOLLOW_NS 500000000u     /* looks come once a second, and then some */

static _Atomic uint64_t followed;   /* ns */
static struct os_cpuset started_with; /* what the process was started with, if that is less than its cpuset had */

static void choose(struct os_cpuset *cpus)
{
    struct os_cpuset all = *cpus;
    if (os_cpu_count(&started_with)) os_cpu_and(cpus, &started_with);
    if (!os_cpu_count(cpus)) *cpus = all;       /* as the kernel does */
    rt.cpus = *cpus;
}

void rt_note_cpuset(void)
{
    struct os_cpuset allowed;
    atomic_store(&followed, os_now());
    if (os_cpuset_allowed(&allowed) == 0 && __builtin_memcmp(&rt.cpus, &allowed, sizeof allowed)) started_with = rt.cpus;
}

void rt_follow_cpuset(uint64_t now)
{
    uint64_t was = atomic_load(&followed);
    if (rt.sched.kernel || (was && now - was < FOLLOW_NS) || !atomic_compare_exchange_strong(&followed, &was, now)) return;
    bool homeless = !sched_follow_cpus(&rt.sched, &rt_self.self, choose);
    if (homeless == atomic_exchange(&rt.homeless, homeless)) return;
    atomic_store(&rt.careful, 1);       /* all look at what they are now */
    if (homeless) usf_say("%s may use none of the instance's CPUs any more: it runs unscheduled until it may", rt.comm);
}

/* ---- shares -------------------------------------------------------------------------------------- */
/* What a thread without a hint is told.  One that sets just that (OpenMP runtimes do, at their
 * start) has none after it either: it would keep the old share for ever. */
static struct os_cpuset told;       /* the latest share that was; under rt.list_lock */

/* holds rt.list_lock */
static void tell(const struct rt_thread *t, struct os_cpuset *set)
{
    if (t->has_hint) *set = t->hint;
    else if (rt_share(set)) told = *set;
    else *set = rt.cpus;
}

/* The mask that a thread asks for becomes its task's preferred place: a core, a cache or a node, if
 * it is one.  The call has set the mask in the kernel, and the scheduler may have to take that
 * back.  Called without rt.list_lock: if the thread has ended since, another thread of this process
 * gets the place. */
static void set_place(struct rt_thread *me, uint32_t task, const struct os_cpuset *hint)
{
    struct sched_attributes w;
    if (rt.sched.kernel || task == USF_NONE) return;
    sched_attributes_of(&rt.sched, task, &w);
    sched_affinity_of(&rt.sched, hint, &w);
    w.strict = usf_cores_any(w.mask) && rt_mask_is_strict(hint);
    sched_change_task(&rt.sched, &me->self, task, &w);
    sched_place_anew(&rt.sched, &me->self, task);
}

/* ---- nice values ---------------------------------------------------------------------------------- */
/* The kernel's word between its threads and strangers, and the policy's between threads of a
 * process: minus the nice value is the task's priority.  What a program is started with (nice
 * PROGRAM) is no difference between its threads, and does not count. */
static _Atomic bool any_nice;       /* the program has set one */
static _Atomic int32_t first_rank;  /* what all its threads had before */

#define PRIO_PROCESS 0
static int32_t rank_of(int32_t tid) { return (int32_t)usf_syscall(__NR_getpriority, PRIO_PROCESS, tid); }      /* 20 - nice value */
static int32_t level_of(int32_t tid)
{
    int32_t r = rank_of(tid);
    return r < 1 ? 0 : r - atomic_load(&first_rank);
}

void rt_before_nice(void)
{
    if (!atomic_load(&any_nice)) atomic_store(&first_rank, rank_of(0));
}

static void set_level(struct rt_thread *me, uint32_t task, int32_t level)
{
    struct sched_attributes w;
    sched_attributes_of(&rt.sched, task, &w);
    w.priority = level;
    sched_change_task(&rt.sched, &me->self, task, &w);
}

void rt_follow_nice(int32_t tid)
{
    struct rt_thread *me = rt_enter(), *t;
    uint32_t task = USF_NONE;
    if (!me || rt.sched.kernel) return;
    sched_crit_enter(&me->self);
    atomic_store(&any_nice, true);
    rt_list_lock();
    t = tid == 0 ? me : rt_thread_of(tid);
    if (t) {
        task = t->self.task;
        atomic_fetch_and(&t->attributes.has, ~(uint32_t)RT_ATTRIBUTE_PRIORITY);
    }
    rt_list_unlock();
    if (task != USF_NONE) set_level(me, task, level_of(tid));
    sched_crit_leave(&rt.sched, &me->self);
}

static long call_setpriority(struct gate_frame *f)
{
    int32_t tid = (int32_t)f->arg[1];
    bool of_thread = f->arg[0] == PRIO_PROCESS;
    rt_late_join();
    if (of_thread) rt_before_nice();
    long r = rt_pass(f);
    if (r == 0 && of_thread) rt_follow_nice(tid);
    return r;
}

void rt_begin_attributes(struct rt_thread *t)
{
    if (rt.sched.kernel) return;
    if (t->has_hint) set_place(t, t->self.task, &t->hint);
    if (atomic_load_explicit(&any_nice, memory_order_relaxed) && t->self.task != USF_NONE) set_level(t, t->self.task, level_of(0));
    rt_apply_attributes(t);
}

uint32_t rt_hold_place(int32_t tid)
{
    struct rt_thread *me = &rt_self;
    uint32_t home = USF_NONE;
    if (rt.sched.kernel) return USF_NONE;
    sched_crit_enter(&me->self);
    rt_list_lock();
    struct rt_thread *t = tid == 0 || tid == me->tid ? me : rt_thread_of(tid);
    uint32_t task = t ? t->self.task : USF_NONE;
    if (task != USF_NONE) home = carrier_number_of_home(&rt.sched, &t->self, task);
    rt_list_unlock();
    sched_hold_place(&rt.sched, &me->self, home);       /* not under the list's lock: it may look after the monitor */
    sched_crit_leave(&rt.sched, &me->self);
    return home;
}

#define SET_TRIES 3u

/* Make the call for a thread of this process, and read what the kernel has set: it leaves out CPUs
 * that the thread may not use.  A binder that began before the place was held may set another mask
 * before it is read.  So the call is made again until the mask is what was asked for, or what it was
 * the time before.  False: the call has failed, or the mask is not known. */
static bool set_and_read(struct gate_frame *f, int32_t tid, struct os_cpuset *got, long *r)
{
    struct os_cpuset want = {0}, before = {0};
    size_t size = f->arg[1] < sizeof want ? f->arg[1] & ~7ull : sizeof want;
    sync_read_words(&want, (const void *)f->arg[2], size);
    for (unsigned i = 0; i < SET_TRIES; i++) {
        *r = rt_pass(f);
        if (*r || os_getaffinity(tid, got)) return false;
        if (!__builtin_memcmp(got, &want, sizeof want) || !__builtin_memcmp(got, &before, sizeof before)) break;
        before = *got;
    }
    return true;
}

/* Threads that have opted out are bound as they ask.  What other threads set for them is left for
 * the time when they opt in again. */
static long call_setaffinity(struct gate_frame *f)
{
    struct rt_thread *me = &rt_self, *t;
    int32_t tid = (int32_t)f->arg[0];
    struct os_cpuset got, hint;
    uint32_t changed = USF_NONE;
    rt_late_join();
    if (!rt_takes_part()) {
        long passed = rt_pass(f);
        if (passed == 0 && rt_vforked()) me->bound_by_child = true;
        return passed;
    }
    sched_crit_enter(&me->self);
    uint32_t held = rt_hold_place(tid);     /* or the mask that is read after the call could be the scheduler's */
    rt_list_lock();
    t = tid == 0 || tid == me->tid ? me : rt_thread_of(tid);
    if (t == me) inherit(me);       /* what was set before */
    long r;
    if (t && set_and_read(f, t->tid, &got, &r)) {
        atomic_fetch_and(&t->attributes.has, ~(uint32_t)RT_ATTRIBUTE_PLACE);
        t->hint = got;
        t->has_hint = !os_cpu_count(&told) || __builtin_memcmp(&got, &told, sizeof got);
        hint = t->has_hint ? got : rt.cpus;
        changed = t->self.task;
    } else if (!t && (r = rt_pass(f)) == 0 && os_getaffinity(tid, &got) == 0) {
        bequeath((uintptr_t)tid, &got);
    }
    rt_list_unlock();
    sched_end_hold(&rt.sched, held);
    set_place(me, changed, &hint);
    sched_crit_leave(&rt.sched, &me->self);
    if (r == 0 && t == me && !rt.sched.kernel && rt_enter()) sched_move(&rt.sched, &me->self);
    return r;
}

static long call_getaffinity(struct gate_frame *f)
{
    struct rt_thread *me = &rt_self, *t;
    int32_t tid = (int32_t)f->arg[0];
    struct os_cpuset set;
    rt_late_join();
    bool takes_part = rt_takes_part();
    long r = rt_pass(f);        /* the kernel checks the arguments and says how many bytes it has */
    if (!takes_part || r <= 0 || r > (long)sizeof set) return r;
    rt_list_lock();
    t = rt_thread_of(tid ? tid : me->tid);      /* not one that has opted out: its mask is its own */
    if (t) tell(t, &set);
    rt_list_unlock();
    if (t) __builtin_memcpy((void *)f->arg[2], &set, (size_t)r);
    return r;
}

void rt_install_affinity(void)
{
    usf_gate_handlers[__NR_sched_setaffinity] = call_setaffinity;
    usf_gate_handlers[__NR_sched_getaffinity] = call_getaffinity;
    usf_gate_handlers[__NR_setpriority] = call_setpriority;
}
