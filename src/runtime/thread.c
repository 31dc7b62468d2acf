/* src/runtime/thread.c - threads join and leave.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "runtime/runtime.h"
#include "sharing/sharing.h"
#include "threads/threads.h"

struct rt rt;
__thread struct rt_thread rt_self __attribute__((tls_model("initial-exec")));

/* ---- list of threads ------------------------------------------------------------------------- */

void rt_list_lock(void)
{
    uint32_t free = 0, round = 0;
    sched_crit_enter(&rt_self.self);
    usf_lock_wanted(USF_RANK_LIST);
    while (!atomic_compare_exchange_weak(&rt.list_lock, &free, 1)) {
        free = 0;
        rt_back_off(round++);
    }
    usf_lock_taken(USF_RANK_LIST);
}
void rt_list_unlock(void)
{
    usf_lock_released(USF_RANK_LIST);
    atomic_store(&rt.list_lock, 0);
    sched_crit_leave(&rt.sched, &rt_self.self);
}

#if USF_ASSERTS >= 1
bool rt_thread_is_valid(const struct rt_thread *t)
{
    const struct sched_self *self = &t->self;
    bool indices = t->state <= RT_OPTED_OUT && (self->task == USF_NONE || self->task < USF_MAX_TASKS) && self->where <= SCHED_RETURNING;
    bool counts = t->deferred <= RT_SIGNALS && t->nr_sent <= RT_SENT_MAX && t->handler_stays <= self->stays;
    bool attached = t->state != RT_ATTACHED || t->sync.sched == self;
    /* Its registers have a place once it has left its carrier; a carrier without a home is an idle
     * loop's. */
    bool floats = (!self->context || self->home) && (!self->home || self->carrier) && (!t->nr_sent || self->home);
    return indices && counts && attached && floats;
}

bool rt_is_executed_here(const struct rt_thread *t)
{ return t == &rt_self && (usf_gate_vforked || os_gettid() == rt_kernel_tid(t)); }
#endif

/* holds the list's lock */
static bool list_is_valid(void)
{
    const struct rt_thread *prev = 0;
    for (const struct rt_thread *t = rt.threads; t; prev = t, t = t->next)
        if (t->prev != prev || t->nr_sent > RT_SENT_MAX) return false;
    return true;
}
static bool is_listed(const struct rt_thread *of)
{
    const struct rt_thread *t = rt.threads;
    while (t && t != of) t = t->next;
    return t;
}

static void list_add(struct rt_thread *t)
{
    rt_list_lock();
    usf_dassert(t->state == RT_ATTACHED && rt_thread_is_valid(t));
    usf_xassert(list_is_valid() && !is_listed(t));
    t->prev = 0;
    t->next = rt.threads;
    if (t->next) t->next->prev = t;
    rt.threads = t;
    if (t->tid == rt.pid) rt.first = t;
    usf_xassert(list_is_valid());
    rt_list_unlock();
}

void rt_list_remove(struct rt_thread *t)
{
    rt_list_lock();
    usf_xassert(list_is_valid());
    if (t->prev) t->prev->next = t->next;
    else if (rt.threads == t) rt.threads = t->next;
    if (t->next) t->next->prev = t->prev;
    t->next = t->prev = 0;
    if (rt.first == t) rt.first = 0;
    usf_xassert(list_is_valid() && !is_listed(t));
    rt_list_unlock();
}

struct rt_thread *rt_thread_of(int32_t tid)
{
    usf_xassert(usf_lock_is_held(USF_RANK_LIST));
    for (struct rt_thread *t = rt.threads; t; t = t->next)
        if (t->tid == tid) return t;
    return 0;
}

bool rt_is_alone(void)
{
    struct rt_thread *me = &rt_self;
    rt_list_lock();
    bool alone = !rt.threads || (rt.threads == me && !me->next);
    rt_list_unlock();
    return alone;
}

void rt_forget_threads(void)
{
    atomic_store(&rt.list_lock, 0);
    rt.threads = rt.first = 0;
}

/* ---- attach ---------------------------------------------------------------------------------- */

void rt_unpin(void)
{
    struct rt_thread *t = &rt_self;
    if (t->state != RT_OPTED_OUT) os_setaffinity(0, t->has_hint ? &t->hint : &rt.cpus);
}

void rt_attach(struct rt_thread *t)
{
    char name[16] = "";
    usf_dassert(t == &rt_self);
    sched_crit_enter(&t->self);
    if (t->state == RT_ATTACHED) {      /* by a handler, since the caller has looked */
        sched_crit_leave(&rt.sched, &t->self);
        return;
    }
    rt_opt_in(t);
    rt_set_state(t, RT_AT(RT_NEW) | RT_AT(RT_OPTED_OUT) | RT_AT(RT_ALONE), RT_ATTACHING);
    if (!t->self.home) t->tid = os_gettid();        /* else it was attached before, and may not be at home */
    t->self.task = USF_NONE;
    t->sync.sched = &t->self;
    usf_syscall(__NR_prctl, 16 /* PR_GET_NAME */, name);
    rt_inherit_hint(t);
    rt_trace_origin(t);
    if (rt_opts_out(t)) {
        rt_stay_opted_out(t);
        sched_crit_leave(&rt.sched, &t->self);
        return;
    }
    rt_float_begin(t);
    t->self.stays++;            /* until the others know it */
    int r = sched_attach(&rt.sched, &t->self, os_gettid(), name);
    if (r == 0) {
        rt_set_state(t, RT_AT(RT_ATTACHING), RT_ATTACHED);
        list_add(t);
        rt_float_attached(t);
        rt_stack_take(t);
        if (!t->self.signal_stack) rt_float_stay(t, USF_STAYS_MEMORY);
        rt_begin_attributes(t);
        sched_await_patch(&rt.sched);   /* a patcher that began before that does not know of it */
    } else if (r == -ESTALE) {      /* the process was just being taken off: again at the next call, if it is back */
        rt_set_state(t, RT_AT(RT_ATTACHING), rt.on ? RT_NEW : RT_ALONE);
        rt_unpin();
    } else {
        rt_stay_opted_out(t);
        rt_set_state(t, RT_AT(RT_OPTED_OUT), RT_ALONE);
        usf_warn_once("no room for another thread in instance '%s': it runs unscheduled", rt.settings.instance);
    }
    t->self.stays--;
    usf_dassert(rt_thread_is_valid(t));
    sched_crit_leave(&rt.sched, &t->self);
}

/* A thread of a process that was taken off, at its first call after that. */
void rt_lost_record(struct rt_thread *t)
{
    sched_crit_enter(&t->self);         /* a handler would do the same, and attach the thread anew */
    if (t->state == RT_ATTACHED && sched_has_lost(&rt.sched, &t->self)) {
        rt_list_remove(t);
        rt_set_state(t, RT_AT(RT_ATTACHED), rt.on ? RT_NEW : RT_ALONE);
        if (!rt.on) rt_unpin();
    }
    sched_crit_leave(&rt.sched, &t->self);
}

struct rt_thread *rt_enter_slow(void)
{
    struct rt_thread *t = &rt_self;
    if (rt_vforked() || t->self.crit) return 0;
    if (atomic_load(&rt.was_off)) rt_lost_record(t);
    if (!rt.on) return 0;
    if (t->state != RT_NEW && !rt_has_own_self()) return 0;
    if (t->state == RT_NEW) rt_attach(t);
    else if (t->state != RT_ATTACHING) rt_choose_side(t);
    return t->state == RT_ATTACHED ? t : 0;
}

static long call_exit(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    if (rt_vforked() || !rt_has_own_self() || rt.filtered) return rt_pass(f);
    threads_before_exit();
    bool attached = t->state == RT_ATTACHED;
    rt_float_ends(t);
    if (attached || t->self.signal_stack) rt_block_signals(~(1ull << (RT_SETXID_SIGNAL - 1)));     /* nothing of the program runs any more */
    if (attached) rt_list_remove(t);
    sched_crit_enter(&t->self);
    rt_float_forget(t);         /* no thread finds it in the list any more, and sends it a signal */
    sched_crit_leave(&rt.sched, &t->self);
    rt_stack_give(t);
    rt_set_state(t, RT_ANY_STATE, RT_ALONE);
    if (rt.on && attached) sched_detach(&rt.sched, &t->self, !rt_float_is_away(t));
    rt_opt_in(t);
    rt_exec_env_drop(&t->exec_env);
    /* out of these it was cancelled, or jumped */
    if (t->kernel_waits) sync_kernel_wait(&rt.sync, -(int)t->kernel_waits);
    t->kernel_waits = 0;
    if (rt_float_is_away(t)) rt_float_end(t);
    return rt_pass(f);
}

/* The first calls of a new thread: it attaches before it runs anything of the program. */
static long call_birth(struct gate_frame *f)
{
    bool spared = f->nr == __NR_rseq && rt_float_spares_rseq(f);
    long r = spared ? 0 : rt_pass(f);
    if (f->nr == __NR_rseq && !spared) rt_note_rseq(f, r);
    rt_enter();
    return r;
}

void rt_install_threads(void)
{
    usf_gate_handlers[__NR_exit] = call_exit;
    usf_gate_handlers[__NR_set_robust_list] = call_birth;
    usf_gate_handlers[__NR_rseq] = call_birth;
}

/* ---- the process ----------------------------------------------------------------------------- */

static const char *join_trouble(int r)
{
    switch (r) {
    case -EREMOTE: return RT_OTHER_CONTAINER;
    case -EXDEV: return "the instance has none of the CPUs that this process may use";
    case -EAGAIN: return "the instance is full";
    case -ENOSPC: return "/dev/shm is full";
    case -ESTALE: return "the instance has just ended";
    case -ECHILD: return "the instance's monitor is dead or hangs, and no other can be started";
    default: return "the instance could not be joined";
    }
}

/* If no monitor can be had (its file is gone, something ends it each time), the process leaves:
 * without a monitor, a core that is released provisionally for a call that blocks may never be
 * taken. */
#define GONE_LOOKS  4u
#define LOOK_GAP_NS 500000000u

static void look_for_monitor(struct sched *s, uint64_t now)
{
    static _Atomic uint32_t gone;
    static _Atomic uint64_t last;
    if (monitor_shows_life(&s->h->namespace[s->namespace]) || monitor_keep(s->h, s->namespace) == 0) {
        atomic_store(&gone, 0);
    } else if (now - atomic_load(&last) >= LOOK_GAP_NS) {
        atomic_store(&last, now);
        if (atomic_fetch_add(&gone, 1) + 1 != GONE_LOOKS) return;
        usf_warn_about("no monitor", "the monitor of instance '%s' cannot be kept running: %s runs unscheduled from now on",
                       rt.settings.instance, rt.comm);
        rt_desert();
    }
}

/* By any thread that enters the scheduler, once a second at least.  Not by a process that wakes
 * threads for the child of a vfork (futex.c). */
static void look(struct sched *s)
{
    uint64_t now = os_now();
    if (os_getpid() != rt.pid) return;
    if (rt_desert_condemned()) return;
    look_for_monitor(s, now);
    rt_follow_cpuset(now);
}

#define EXEC_NS 50000000u   /* for a monitor to be there: whether it can be is told then */

/* Each of these is a walk through /proc: a fork changes them, an exec begins anew. */
static void know_process(void)
{
    rt.pid = os_getpid();
    if (!rt.start_time) rt.start_time = os_start_time(rt.pid);
    if (!rt.shm.pidns) rt.shm.pidns = os_pidns();
    usf_syscall(__NR_prctl, 16, rt.comm);
}

static int try_to_join(void)
{
    if (!sharing_is_namespace(rt.shm.h, rt.shm.namespace, rt.shm.pidns)) return -EREMOTE;    /* our pid means nothing to the others */
    if (sched_look_is_due(&rt.sched)) {     /* the monitor may have been killed */
        int r = monitor_keep(rt.shm.h, rt.shm.namespace);
        if (r == 1) r = monitor_await_revival(os_now() + EXEC_NS);
        if (r < 0 && r != -ETIMEDOUT) return -ECHILD;
    }
    return sched_proc_join(&rt.sched, rt.pid, rt.start_time, rt.comm, &rt.cpus, rt.settings.run);
}

int rt_join_instance(bool again)
{
    struct rt_thread *t = &rt_self;
    know_process();
    int r = try_to_join();
    if (r < 0) {
        if (r != -ESTALE || !again) usf_warn_about(join_trouble(r), "%s: %s: it runs unscheduled", rt.comm, join_trouble(r));
        return r;
    }
    rt.sched.look_for_monitor = look;
    rt.sched.monitor_looked = os_now();     /* just now */
    rt_attach(t);
    return t->state == RT_ATTACHED || t->state == RT_OPTED_OUT ? 0 : -EAGAIN;
}
