/* src/sched/call.c - threads in system calls, and kernel-scheduled threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/ring.h"
#include "sched/thread.h"
#include "sched/times.h"

/* What a thread's bursts are like. */
enum bursts { BURSTS_TOO_FEW, BURSTS_SHORT, BURSTS_LONG };

/* Bursts that take long may also have waited for a CPU.  Only the thread's CPU time tells, which
 * takes a system call to read; it counts for all bursts since the last reading.  A thread that
 * sleeps or waits nearly all the time may have longer ones: they are longer where each is preceded
 * by a wait for a core, as caches are cold then, and periodic work (a server's timer) falls on
 * fewer of them. */
static enum bursts judge_bursts(struct sched_self *me)
{
    uint64_t cpu = os_clock_ns(OS_CLOCK_OWN_CPU);
    bool known = me->bursts.cpu_ns && cpu >= me->bursts.cpu_ns && me->bursts.on == me->carrier;     /* else another kernel thread executes it since */
    uint64_t computed = cpu - me->bursts.cpu_ns;
    uint32_t least = me->bursts.n > KERNEL_RUN_SAMPLE ? me->bursts.n : KERNEL_RUN_SAMPLE;
    bool is_long = computed >= least * (uint64_t)KERNEL_RUN_NS;
    if (known && !is_long && me->bursts.n < KERNEL_RUN_SAMPLE) return BURSTS_TOO_FEW;
    uint64_t now = os_now();
    bool seldom = computed < (now - me->bursts.read_ns) / KERNEL_RUN_SHARE && computed < (uint64_t)me->bursts.n * KERNEL_RUN_SELDOM_NS;
    me->bursts.cpu_ns = cpu;
    me->bursts.read_ns = now;
    me->bursts.on = me->carrier;
    me->bursts.n = 0;
    return !known ? BURSTS_TOO_FEW : is_long && !seldom ? BURSTS_LONG : BURSTS_SHORT;
}

/* A burst ends in a call that gives the core up. */
static void count_burst(struct sched_self *me)
{
    bool took_long = os_cycles() - me->bursts.began >= KERNEL_RUN_CYCLES;
    me->bursts.n++;
    if (!took_long) {
        if (me->bursts.in_row < KERNEL_RUN_CALLS) me->bursts.in_row++;
        return;
    }
    enum bursts are = judge_bursts(me);
    if (are != BURSTS_TOO_FEW) me->bursts.in_row = are == BURSTS_SHORT ? KERNEL_RUN_CALLS : 0;
}

void sched_expect_kernel_run(struct sched_self *me)
{
    me->bursts.in_row = KERNEL_RUN_CALLS;
    me->bursts.began = os_cycles();
}

/* The core is RELEASED by this thread's task, or another task's by now. */
static void begin_kernel_run(struct sched *s, struct sched_self *me, uint32_t core)
{
    NO_WAKES(k);
    if (!core_enter(s, me)) return;
    uint64_t w = atomic_load(&s->cores[core].word);
    if (core_state(w) == USF_CORE_RELEASED && core_task(w) == me->task) core_take(s, core, w, &k);
    bool begins = state_of(own(s, me)) == USF_TASK_IN_KERNEL;
    if (begins) {
        me->bursts.slept = UINT64_MAX;         /* not known yet */
        atomic_fetch_add_explicit(&own(s, me)->bursts, 1, memory_order_relaxed);
        core_set_state(s, me->task, ST(USF_TASK_IN_KERNEL), USF_TASK_BY_KERNEL);
    }
    core_leave(s, me, &k);
    USF_POINT("sched.kernel_run");
    if (begins && sched_is_by_kernel(s, me)) bind_release(s, me->task);      /* unless a handler has ended it */
}

void sched_leave_core(struct sched *s, struct sched_self *me, bool certain)
{
    struct usf_task *t = own(s, me);
    if (!certain) {
        sched_begin_release(s, me, atomic_load_explicit(&t->wait_addr, memory_order_relaxed));
        return;
    }
    /* IN_CALL: it is back in a call on top of which a handler has run, or was unwound out of one. */
    sched_set_where(me, SCHED_AT(SCHED_USER) | SCHED_AT(SCHED_IN_CALL), SCHED_IN_CALL);
    if (trace_is_on(s)) me->called = os_cycles();
    if (!sched_is_by_kernel(s, me)) count_burst(me);
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);      /* not before: a handler may have got another */
    if (USF_UNLIKELY(core >= s->h->nr_cores)) return;
    struct usf_core *c = &s->cores[core];
    uint64_t w = atomic_load_explicit(&c->word, memory_order_relaxed);
    if (core_state(w) != USF_CORE_RUNNING || core_task(w) != me->task) return;     /* BY_KERNEL, or taken unseen */
    if (!atomic_compare_exchange_strong(&c->word, &w, core_word(USF_CORE_RELEASED, me->task, core_seq(w) + 1))) return;
    USF_POINT("sched.leave");
    core_idle_set(s, core);
    USF_POINT("sched.released");
    if (me->bursts.in_row >= KERNEL_RUN_CALLS && !s->no_kernel_run && !own(s, me)->pol.strict) {      /* they run on any CPU */
        begin_kernel_run(s, me, core);
    } else if (atomic_load(&s->h->nr_ready)) {
        NO_WAKES(k);
        if (!core_enter(s, me)) return;
        core_fill(s, core, &k);
        core_leave(s, me, &k);
    }
}

/* End the provisional release, if there is one.  False: a taker has taken the core, or is about
 * to. */
static bool end_release(struct usf_task *t)
{
    uint64_t release = atomic_load_explicit(&t->release, memory_order_relaxed);
    while (release & USF_RELEASE_PROVISIONAL) {
        if (release & USF_RELEASE_TAKEN) return false;
        if (atomic_compare_exchange_strong(&t->release, &release, release & ~(uint64_t)USF_RELEASE_BITS)) break;
    }
    return true;
}

/* Holds the scheduler lock.  So the taker has taken the core, or has died before it did, and then
 * the core is still this thread's. */
static void end_taken_release(struct usf_task *t)
{ atomic_fetch_and(&t->release, ~(uint64_t)USF_RELEASE_BITS); }

/* Take the core back if it is still this task's.  A signal handler may do the same in the middle of
 * this, and get another core. */
static bool take_back(struct sched *s, struct sched_self *me)
{
    for (;;) {
        uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
        if (USF_UNLIKELY(core >= s->h->nr_cores)) return false;
        struct usf_core *c = &s->cores[core];
        uint64_t w = atomic_load_explicit(&c->word, memory_order_relaxed);
        unsigned st = core_state(w);
        if (core_task(w) != me->task || st == USF_CORE_IDLE) return false;
        if (st == USF_CORE_RUNNING) return true;
        if (st == USF_CORE_RELEASED) {
            core_idle_clear(s, core);
            me->bursts.began = os_cycles();
        }
        if (atomic_compare_exchange_strong(&c->word, &w, core_word(USF_CORE_RUNNING, me->task, core_seq(w) + 1))) {
            USF_POINT("sched.again");
            return true;
        }
    }
}

/* Has it used so much CPU time since it last slept that it computes, however many calls it
 * makes? */
static bool runs_through(struct sched_self *me)
{
    uint64_t sleeps, cpu_ns;
    os_own_waits(&sleeps, &cpu_ns);
    if (sleeps == me->bursts.slept && cpu_ns >= me->bursts.slept_cpu_ns) return cpu_ns - me->bursts.slept_cpu_ns >= KERNEL_RUN_THROUGH_NS;
    me->bursts.slept = sleeps;
    me->bursts.slept_cpu_ns = cpu_ns;
    return false;
}

/* A kernel-scheduled thread is back from a call, of whatever kind. */
static bool is_to_queue(struct sched_self *me)
{
    uint64_t now = os_cycles();
    me->bursts.n++;
    if (now - me->bursts.checked < KERNEL_RUN_CHECK_CYCLES) return false;
    me->bursts.checked = now;
    return runs_through(me) || judge_bursts(me) == BURSTS_LONG;
}

/* Such threads do not enter the scheduler otherwise.  If a process has no others, the death of the
 * monitor, a damaged instance and a new cpuset are found here (core_enter). */
static void look_in_kernel_run(struct sched *s, struct sched_self *me)
{
    NO_WAKES(k);
    me->bursts.entered = me->bursts.began;
    if (core_enter(s, me)) core_leave(s, me, &k);
}

static void return_kernel_run(struct sched *s, struct sched_self *me)
{
    atomic_fetch_add_explicit(&own(s, me)->bursts, 1, memory_order_relaxed);
    me->bursts.began = os_cycles();
    if (USF_UNLIKELY(me->bursts.began - me->bursts.entered > KERNEL_RUN_LOOK_CYCLES)) look_in_kernel_run(s, me);
    park_go_on(s, me);
}

void sched_return_core(struct sched *s, struct sched_self *me)
{
    struct usf_task *t = own(s, me);
    sched_set_where(me, SCHED_AT(SCHED_IN_CALL) | SCHED_AT(SCHED_RETURNING), SCHED_RETURNING);
    bool not_taken = end_release(t);
    USF_POINT("sched.release_over");
    if (USF_UNLIKELY(me->called)) trace_call(s, me);
    /* No kernel-scheduled threads while the scheduler lock does not move: its owner may need the
     * CPU. Linux (6.18, sessions as groups by `autogroup`) was seen to run no other thread for ten
     * seconds beside threads that sleep and wake all the time, as these do. */
    if (USF_UNLIKELY(sched_is_by_kernel(s, me)) && me->bursts.in_row && !atomic_load_explicit(&s->h->lock_waits, memory_order_relaxed)) {
        if (!is_to_queue(me)) return return_kernel_run(s, me);
        me->bursts.in_row = 0;
    }
    uint32_t core = atomic_load_explicit(&t->core, memory_order_relaxed);
    if (USF_LIKELY(not_taken && take_back(s, me))) {
        /* Before the look: a patcher stops this thread, or is seen here. */
        sched_set_where(me, SCHED_AT(SCHED_RETURNING), SCHED_USER);
        if (USF_UNLIKELY(atomic_load_explicit(&s->patching, memory_order_relaxed))) core_arrive(s, me);
        return;
    }
    if (s->kernel) {
        park_go_on(s, me);
        return;
    }
    NO_WAKES(k);
    if (!sched_is_by_kernel(s, me)) me->lost++;
    me->bursts.began = os_cycles();
    if (!core_enter(s, me)) {   /* the process is off; a handler may have attached the thread anew */
        park_go_on(s, me);
        if (core < s->h->nr_cores) core_idle_set(s, core);  /* a needless bit only causes a look */
        return;
    }
    end_taken_release(t);
    if (take_back(s, me)) {             /* a handler has got another core */
        core_leave(s, me, &k);
        park_go_on(s, me);
        return;
    }
    if (core < s->h->nr_cores) {        /* we may have cleared the bit of a core that is free */
        unsigned st = core_state(atomic_load(&s->cores[core].word));
        if (usf_core_is_free(st)) {
            core_idle_set(s, core);
            core_fill(s, core, &k);
        }
    }
    if (ST(state_of(t)) & WITHOUT_CORE) core_place(s, me->task, USF_WHY_RETURN, &k);
    sched_set_where(me, SCHED_AT(SCHED_RETURNING), SCHED_PARKED);
    core_leave(s, me, &k);
    me->interrupted = 0;
    core_wait_turn(s, me);
    me->bursts.began = os_cycles();
}

bool sched_interrupt_call(struct sched *s, struct sched_self *me)
{
    uint32_t core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    uint64_t w = core < s->h->nr_cores ? atomic_load_explicit(&s->cores[core].word, memory_order_relaxed) : 0;
    if (core_state(w) == USF_CORE_RUNNING && core_task(w) == me->task && !sched_is_provisional(own(s, me))) return false;
    bool in_call = me->where == SCHED_IN_CALL;
    sched_return_core(s, me);
    return in_call;
}
