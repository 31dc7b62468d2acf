/* tests/sched/single.c rejoin|kernel-run|bursts|keep|place|self|refused|mask|looks|sleeps|crowd|moved|unbound - exact situations of one process and few threads.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "os/os.h"
#include "sched/core.h"
#include "sched/owner.h"
#include "sched/watch.h"
#include "shm/shm.h"

static struct sched s, cleaner;
static struct shm shm;
static _Atomic uint32_t waiter = USF_NONE;

static int32_t tid(void) { return (int32_t)syscall(SYS_gettid); }

static void *wait_for_wake(void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    CHECK(sched_attach(&s, &me, tid(), "waiter") == 0);
    atomic_store(&waiter, me.task);
    CHECK(sched_block(&s, &me, 0) == 0);
    sched_detach(&s, &me, false);
    return arg;
}

static void join(const struct os_cpuset *cpus)
{ CHECK(sched_proc_join(&s, getpid(), os_start_time(getpid()), "rejoin", cpus, 0) >= 0); }

/* As an exec that fails. */
static void leave_and_join(struct sched_self *me, const struct os_cpuset *cpus)
{
    uint32_t proc;
    CHECK(sched_leave(&s, me, &proc));
    me->joining = 1;
    join(cpus);
    me->joining = 0;
    sched_left(&s, proc, false);
}

/* An exec that fails takes a process off the instance and on again.  Its other threads find that their records are gone when they come to
 * the scheduler; one of them may come there to wake another that has found it already, and waits under a new one. */
static void rejoin(const struct os_cpuset *cpus)
{
    struct sched_self first = {.task = USF_NONE}, waker = {.task = USF_NONE};
    pthread_t t;
    CHECK(sched_attach(&s, &waker, tid(), "waker") == 0);
    leave_and_join(&first, cpus);
    CHECK(pthread_create(&t, NULL, wait_for_wake, NULL) == 0);
    while (atomic_load(&waiter) == USF_NONE) usleep(100);
    while (atomic_load(&s.tasks[waiter].state) != USF_TASK_BLOCKED) usleep(100);
    sched_wake(&s, &waker, &(uint32_t){atomic_load(&waiter)}, 1);
    CHECK(waker.task == USF_NONE);
    pthread_join(t, NULL);
}

/* A kernel-scheduled thread comes back from calls without a core, but not while others wait for the scheduler's lock. */
static void kernel_run(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    (void)cpus;
    CHECK(sched_attach(&s, &me, tid(), "kernel-run") == 0);
    sched_expect_kernel_run(&me);
    for (int i = 0; i < 3; i++) {
        sched_leave_core(&s, &me, true);
        sched_return_core(&s, &me);
        CHECK(sched_is_by_kernel(&s, &me));
    }
    me.where = SCHED_PARKED;        /* a handler on top of a wait has become kernel-scheduled: the wait gets a core */
    sched_interrupt(&s, &me);
    CHECK(atomic_load(&s.tasks[me.task].state) == USF_TASK_RUNNING);
    me.where = SCHED_USER;
    sched_expect_kernel_run(&me);
    sched_leave_core(&s, &me, true);
    sched_return_core(&s, &me);
    CHECK(sched_is_by_kernel(&s, &me));
    atomic_store(&shm.h->lock_waits, 1);
    sched_leave_core(&s, &me, true);
    sched_return_core(&s, &me);
    CHECK(atomic_load(&s.tasks[me.task].state) == USF_TASK_RUNNING);
    sched_detach(&s, &me, false);
}

/* For so long as the kernel shows it to others, too, which it does at its ticks. */
static void compute(uint64_t ns)
{
    uint64_t start = os_thread_cpu_ns(getpid(), tid());
    while (os_thread_cpu_ns(getpid(), tid()) - start < ns)
        for (volatile int i = 0; i < 10000; i++) { }
}

static void call(struct sched_self *me)
{
    sched_leave_core(&s, me, true);
    sched_return_core(&s, me);
}

/* The thread looks at what it has computed, as it does every few milliseconds. */
static void call_and_look(struct sched_self *me)
{
    me->bursts.checked = os_cycles() - 2 * (uint64_t)KERNEL_RUN_CHECK_CYCLES;
    call(me);
}

static void begin_kernel_run(struct sched_self *me)
{
    unsigned calls = 0;
    for (; !sched_is_by_kernel(&s, me); calls++) {      /* a burst in which it is preempted does not count */
        CHECK(calls < 1000 * KERNEL_RUN_CALLS && atomic_load(&s.tasks[me->task].state) == USF_TASK_RUNNING);
        me->bursts.began = os_cycles();
        call(me);
    }
    CHECK(calls >= KERNEL_RUN_CALLS);
}

static void *hold_core_0(void *arg);
static _Atomic bool over;
static struct sched_watcher watcher;
static uint32_t watched, signalled;
static char awake(void *arg, uint32_t task) { (void)arg, (void)task; return 'R'; }
static void count_watched(void *arg, uint32_t task) { (void)arg; signalled += task == watched; }

static uint32_t signals_of_look(void)
{
    signalled = 0;
    sched_watch(&s, count_watched, awake, NULL);
    return signalled;
}

static void bursts(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    pthread_t holder, t;
    (void)cpus;
    CHECK(sched_attach(&s, &me, tid(), "bursts") == 0);
    begin_kernel_run(&me);
    uint64_t from = os_clock_ns(OS_CLOCK_OWN_CPU);
    for (unsigned i = 0; i < 4 * KERNEL_RUN_SAMPLE; i++) {          /* bursts in which it waits for a CPU */
        usleep(1000);
        call_and_look(&me);
        if (sched_is_by_kernel(&s, &me)) continue;
        /* A hypervisor takes the CPU away at times, and that time counts as the thread's. */
        CHECK(os_clock_ns(OS_CLOCK_OWN_CPU) - from >= (uint64_t)KERNEL_RUN_SAMPLE * KERNEL_RUN_NS);
        begin_kernel_run(&me);
        from = os_clock_ns(OS_CLOCK_OWN_CPU);
        i = 0;
    }
    compute(2 * KERNEL_RUN_SAMPLE * KERNEL_RUN_NS);
    me.bursts.read_ns = os_now();                                    /* it has done so all the time */
    call_and_look(&me);
    CHECK(atomic_load(&s.tasks[me.task].state) == USF_TASK_RUNNING);
    begin_kernel_run(&me);
    for (unsigned i = 0; sched_is_by_kernel(&s, &me); i++) {        /* short bursts, and no sleep */
        CHECK(i < 100000);
        for (uint64_t until = os_cycles() + 100000; os_cycles() < until;) { }
        call_and_look(&me);
    }
    begin_kernel_run(&me);

    /* The monitor's look at a burst that does not end. */
    s.watch = &watcher;
    sched_watch_begin(&s);
    watched = me.task;
    CHECK(pthread_create(&holder, NULL, hold_core_0, NULL) == 0);
    while (core_state(atomic_load(&s.cores[0].word)) != USF_CORE_RUNNING) usleep(100);
    CHECK(pthread_create(&t, NULL, hold_core_0, NULL) == 0);
    while (!atomic_load(&shm.h->nr_ready)) usleep(100);
    CHECK(signals_of_look() == 0);                          /* it sees the burst, */
    CHECK(signals_of_look() == 0);                          /* ... its CPU time, */
    CHECK(signals_of_look() == 0);                          /* ... and that this has not changed much */
    compute(2 * KERNEL_RUN_LONG_NS);
    CHECK(signals_of_look() == 1);
    me.bursts.cpu_ns = 0;                                    /* else it queues for the core, which the holder has */
    me.bursts.slept = UINT64_MAX;
    call(&me);
    CHECK(signals_of_look() == 0);
    CHECK(signals_of_look() == 0);
    atomic_store(&over, true);
    pthread_join(holder, NULL);
    pthread_join(t, NULL);
    sched_detach(&s, &me, false);
}

/* A thread with long bursts, which take part of its time: 1 / `share` of it. */
static unsigned long_bursts(struct sched_self *me, uint64_t share)
{
    unsigned calls = 0;
    me->bursts.in_row = 0;
    me->bursts.cpu_ns = 0;
    for (; calls <= 2 * KERNEL_RUN_SAMPLE && !sched_is_by_kernel(&s, me); calls++) {
        for (uint64_t start = os_clock_ns(OS_CLOCK_OWN_CPU); os_clock_ns(OS_CLOCK_OWN_CPU) - start < 2 * KERNEL_RUN_NS;) { }
        me->bursts.began = os_cycles() - 2 * (uint64_t)KERNEL_RUN_CYCLES;
        me->bursts.read_ns = os_now() - share * (me->bursts.n + 1) * 2 * KERNEL_RUN_NS;
        call(me);
    }
    return calls;
}

static void seldom(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    (void)cpus;
    CHECK(sched_attach(&s, &me, tid(), "seldom") == 0);
    long_bursts(&me, 1);
    CHECK(!sched_is_by_kernel(&s, &me));
    CHECK(long_bursts(&me, 100 * KERNEL_RUN_SHARE) <= 2 * KERNEL_RUN_SAMPLE && sched_is_by_kernel(&s, &me));
    sched_detach(&s, &me, false);
}

/* A policy that says for how long a yielder keeps its core (usf_keep), and a thread that waits for that core. */
static uint32_t asked;
static bool keeps = true;
static bool keeper(struct usf_pol *p, uint32_t core, uint32_t task)
{
    (void)task;
    asked++;
    usf_keep(usf_core(p, core), p->now + 1000000000000u);
    return !keeps;
}

static void *take_turn(void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    CHECK(sched_attach(&s, &me, tid(), "other") == 0);
    CHECK(s.cores[0].pol.keeps_until == 0);
    sched_detach(&s, &me, false);
    return arg;
}

static void *wait_for_turn(void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    CHECK(sched_attach(&s, &me, tid(), "waits") == 0);
    sched_detach(&s, &me, false);
    return arg;
}

/* It is asked once for a row of yields, but again after a pause, and after it has said so; who is put on the core begins without. */
static void keep(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    struct usf_pol_core *core = &s.cores[0].pol;
    pthread_t t;
    (void)cpus;
    s.ops.yield = keeper;
    CHECK(sched_attach(&s, &me, tid(), "yields") == 0);
    CHECK(pthread_create(&t, NULL, take_turn, NULL) == 0);
    while (!atomic_load(&shm.h->nr_ready)) usleep(100);
    CHECK(!sched_yield_core(&s, &me, false) && asked == 1);
    for (uint32_t before = 0; before != asked;) {       /* on a busy machine there may be a pause between any two */
        before = asked;
        CHECK(!sched_yield_core(&s, &me, false));
    }
    asked = 0;
    usleep(2 * USF_ROW_NS / 1000);
    CHECK(!sched_yield_core(&s, &me, false) && asked == 1);
    usf_keep(core, 0);
    CHECK(!sched_yield_core(&s, &me, false) && asked == 2);
    usf_keep(core, 1);                                  /* it is over */
    CHECK(!sched_yield_core(&s, &me, false) && asked == 3);
    usf_keep(core, 0);
    keeps = false;
    CHECK(sched_yield_core(&s, &me, false) && asked == 4 && core->keeps_until == 0);
    pthread_join(t, NULL);
    sched_detach(&s, &me, false);
}

static _Atomic bool look, looked;

static void *look_twice(void *arg)
{
    struct sched_astray astray[USF_MAX_CORES] = {0};
    while (!atomic_load(&look)) usleep(100);
    for (int i = 0; i < 2; i++) CHECK(sched_watch_binding(&s, astray));
    atomic_store(&looked, true);
    return arg;
}

static bool is_own_mask(const struct os_cpuset *mask)
{
    struct os_cpuset now;
    return os_getaffinity(0, &now) == 0 && !memcmp(&now, mask, sizeof now);
}

/* The thread looks at its own mask.  The watcher comes to that meanwhile, and waits for the lock. */
static void choose(struct os_cpuset *allowed)
{
    (void)allowed;
    atomic_store(&look, true);
    while (!atomic_load(&looked) && !(atomic_load(&shm.h->lock.word) & LOCK_SLEEPERS)) usleep(100);
    CHECK(!atomic_load(&looked));
}

/* Who runs without a scheduling point is placed by the monitor: not while it looks at its mask, or a call has it held. */
static void place(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    struct os_cpuset one = {0};
    struct sched_astray astray[USF_MAX_CORES] = {0};
    pthread_t t;
    CHECK(sched_attach(&s, &me, tid(), "placed") == 0);
    struct usf_task *task = &s.tasks[me.task];
    os_cpu_set(&one, s.cores[atomic_load(&task->core)].pol.cpu);
    CHECK(os_setaffinity(0, &one) == 0);
    atomic_store(&sched_thread_of(&s, me.task)->pinned, USF_PINNED_UNKNOWN);
    CHECK(pthread_create(&t, NULL, look_twice, NULL) == 0);
    CHECK(sched_follow_cpus(&s, &me, choose));
    pthread_join(t, NULL);
    CHECK(is_own_mask(cpus) && atomic_load(&sched_thread_of(&s, me.task)->pinned) == USF_NONE);
    sched_hold_place(&s, &me, atomic_load(&task->thread));
    CHECK(os_setaffinity(0, &one) == 0);
    for (int i = 0; i < 3; i++) CHECK(!sched_watch_binding(&s, astray) && is_own_mask(&one));
    sched_place_anew(&s, &me, me.task);
    CHECK(is_own_mask(cpus));
    sched_detach(&s, &me, false);
}

/* A thread that is told to look at itself binds itself, unless its place is held. */
static void place_self(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    struct os_cpuset one = {0};
    CHECK(sched_attach(&s, &me, tid(), "placed") == 0);
    struct usf_task *task = &s.tasks[me.task];
    os_cpu_set(&one, s.cores[atomic_load(&task->core)].pol.cpu);
    atomic_store(&shm.h->binding, USF_BOUND);
    sched_place_self(&s, &me);
    CHECK(is_own_mask(&one) && atomic_load(&sched_thread_of(&s, me.task)->pinned) == atomic_load(&task->core));
    sched_hold_place(&s, &me, atomic_load(&task->thread));      /* which ends the mode, as nothing has waited */
    sched_place_self(&s, &me);
    CHECK(is_own_mask(&one));
    atomic_store(&sched_thread_of(&s, me.task)->pinned, USF_PINNED_UNKNOWN);
    sched_place_self(&s, &me);
    CHECK(is_own_mask(cpus) && atomic_load(&sched_thread_of(&s, me.task)->pinned) == USF_NONE);
    sched_detach(&s, &me, false);
}

static void have_no_cpu(struct os_cpuset *cpus)
{
    struct usf_core *core = shm_cores(shm.h);
    atomic_store(&shm.h->idle[0], 1);
    shm.h->nr_cores = 1;
    core->pol.cpu = OS_CPUSET_WORDS * 64 - 1;
    *cpus = (struct os_cpuset){0};
    os_cpu_set(cpus, core->pol.cpu);
}

/* The kernel refuses to bind the thread: nobody is kept awake by that.  It is asked again, at once if the thread is to be elsewhere. */
static void refused(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    struct sched_astray astray[USF_MAX_CORES] = {0};
    (void)cpus;
    CHECK(sched_attach(&s, &me, tid(), "placed") == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(sched_watch_binding(&s, astray));
        while (sched_watch_binding(&s, astray)) usleep(1000);
        while (!sched_watch_binding(&s, astray)) usleep(1000);
        atomic_store(&shm.h->waited_ns, UINT64_MAX / 2);
        atomic_store(&shm.h->binding, USF_BOUND);
    }
    sched_detach(&s, &me, false);
}

/* Of one cache.  CPUs that do not exist do no harm: their threads run where they are. */
static void have_four_cores(struct os_cpuset *cpus)
{
    struct usf_core *core = shm_cores(shm.h);
    atomic_store(&shm.h->idle[0], 15);
    shm.h->nr_cores = 4;
    *cpus = (struct os_cpuset){0};
    for (uint32_t i = 0; i < 4; i++) {
        core[i].pol = (struct usf_pol_core){.id = i, .cpu = i, .current = USF_NONE};
        os_cpu_set(cpus, i);
    }
}

static void be_on(struct sched_self *me, uint32_t core)
{
    struct sched_attributes w;
    sched_attributes_of(&s, me->task, &w);
    w.affinity = USF_AFFINITY_CORE;
    w.affinity_id = core;
    w.strict = 1;
    sched_change_task(&s, me, me->task, &w);
    sched_move(&s, me);
    CHECK(atomic_load(&s.tasks[me->task].core) == core);
}

static void *hold_core_0(void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    CHECK(sched_attach(&s, &me, tid(), "holder") == 0);
    while (!atomic_load(&over)) usleep(100);
    sched_detach(&s, &me, false);
    return arg;
}

static void *hold_core_1(void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    CHECK(sched_attach(&s, &me, tid(), "holder") == 0);
    be_on(&me, 1);
    atomic_store(&looked, true);
    while (!atomic_load(&over)) usleep(100);
    sched_detach(&s, &me, false);
    return arg;
}

static void *insist_on_first_two(void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    struct os_cpuset two = {0};
    struct sched_attributes w;
    os_cpu_set(&two, s.cores[0].pol.cpu);
    os_cpu_set(&two, s.cores[1].pol.cpu);
    CHECK(sched_attach(&s, &me, tid(), "insists") == 0);
    CHECK(atomic_load(&s.tasks[me.task].core) >= 2);
    sched_attributes_of(&s, me.task, &w);
    sched_affinity_of(&s, &two, &w);
    CHECK(w.affinity == USF_AFFINITY_MASK && w.mask[0] == 3);
    w.strict = 1;
    sched_change_task(&s, &me, me.task, &w);
    atomic_store(&waiter, me.task);
    sched_leave_core(&s, &me, false);       /* and is unwound out of the call */
    sched_move(&s, &me);
    CHECK(atomic_load(&s.tasks[me.task].core) < 2);
    CHECK(me.where == SCHED_USER && !sched_is_provisional(&s.tasks[me.task]));
    sched_detach(&s, &me, false);
    return arg;
}

/* A strict mask of two of a cache's four cores: its thread waits for one of these, though the others are idle. */
static void mask(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    pthread_t holder, t;
    (void)cpus;
    CHECK(sched_attach(&s, &me, tid(), "first") == 0);
    be_on(&me, 0);
    CHECK(pthread_create(&holder, NULL, hold_core_1, NULL) == 0);
    while (!atomic_load(&looked)) usleep(100);
    CHECK(pthread_create(&t, NULL, insist_on_first_two, NULL) == 0);
    while (atomic_load(&waiter) == USF_NONE || atomic_load(&s.tasks[waiter].state) != USF_TASK_READY) usleep(100);
    for (uint32_t i = 2; i < 4; i++) CHECK(core_state(atomic_load(&s.cores[i].word)) == USF_CORE_IDLE);
    atomic_store(&over, true);
    pthread_join(t, NULL);
    pthread_join(holder, NULL);
    sched_detach(&s, &me, false);
}

/* The monitor's looks at a thread that computes while another waits.  Times are set back instead of passing; a look that has itself taken
 * long is repeated. */
#define MS 1000000ull
static uint32_t states, signals;
static char told = 'R';
static char tell_state(void *arg, uint32_t task) { (void)arg, (void)task; states++; return told; }
static void count_preempt(void *arg, uint32_t task) { (void)arg, (void)task; signals++; }

static void look_after(uint64_t age, uint64_t last_look, uint64_t last_signal)
{
    struct sched_watcher before = watcher;
    uint64_t began;
    do {
        watcher = before;
        states = signals = 0;
        began = os_now();
        watcher.seen[0].since = began - age;
        watcher.looked[0] = last_look ? began - last_look : 0;
        watcher.seen[0].signalled = last_signal;
        sched_watch(&s, count_preempt, tell_state, NULL);
    } while (os_now() - began > MS / 10 && core_state(atomic_load(&s.cores[0].word)) == USF_CORE_RUNNING);
}

/* This thread has the core, another waits for it, and the monitor has looked once: it knows who runs. */
static void begin_watch(struct sched_self *me, pthread_t *waiting)
{
    s.watch = &watcher;
    sched_watch_begin(&s);
    CHECK(sched_attach(&s, me, tid(), "watched") == 0);
    CHECK(pthread_create(waiting, NULL, wait_for_turn, NULL) == 0);
    while (!atomic_load(&shm.h->nr_ready)) usleep(100);
    sched_watch(&s, count_preempt, tell_state, NULL);
}

static void looks(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    pthread_t t;
    (void)cpus;
    s.h->progress_ns = 200 * MS;
    begin_watch(&me, &t);
    look_after(MS / 2, 0, 0);
    CHECK(states == 0 && signals == 0);
    look_after(MS + MS / 5, 0, 0);
    CHECK(states == 1 && signals == 1);
    look_after(2 * MS, MS, MS);                             /* it was awake a millisecond ago */
    CHECK(states == 0 && signals == 0);
    look_after(3 * MS, 2 * MS, MS);
    CHECK(states == 1 && signals == 0);
    look_after(9 * MS, MS, MS);                             /* signalled at 1 ms, and again after eight times as long */
    CHECK(states == 1 && signals == 1);
    look_after(20 * MS, 2 * MS, 9 * MS);
    CHECK(states == 1 && signals == 0);
    for (int i = 0; i < 12; i++) {                          /* from the guarantee's time on at each look */
        look_after(201 * MS + (uint64_t)i * MS, MS, 200 * MS);
        CHECK(states == 1 && signals == 1);
    }
    CHECK(core_task(atomic_load(&s.cores[0].word)) == me.task);     /* signalled more than eight times, but not for long enough */
    watcher.unresponsive_since[0] -= 100 * MS;
    look_after(301 * MS, MS, 200 * MS);
    CHECK(core_task(atomic_load(&s.cores[0].word)) != me.task);
    pthread_join(t, NULL);
    sched_detach(&s, &me, false);
}

/* One that sleeps, which nobody has seen, is looked at again at once. */
static void sleeps(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    pthread_t t;
    (void)cpus;
    begin_watch(&me, &t);
    told = 'S';
    look_after(3 * MS, 2 * MS, MS);
    CHECK(states == 1 && core_task(atomic_load(&s.cores[0].word)) == me.task);
    look_after(4 * MS, MS, MS);
    CHECK(states == 1 && core_task(atomic_load(&s.cores[0].word)) != me.task);
    pthread_join(t, NULL);
    sched_detach(&s, &me, false);
}

/* The kernel thread that was looked at has ended, but the task's thread has left it just before. */
static uint32_t home, elsewhere;
static char ended_elsewhere(void *arg, uint32_t task)
{
    (void)arg;
    states++;
    if (home != elsewhere) atomic_store(&s.tasks[task].thread, atomic_load(&s.tasks[task].thread) == home ? elsewhere : home);
    return 'X';
}

static void look_at_ended(void)
{
    watcher.seen[0].since = os_now() - 2 * MS;
    watcher.looked[0] = watcher.seen[0].signalled = states = 0;
    sched_watch(&s, count_preempt, ended_elsewhere, NULL);
}

static void moved(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    pthread_t t;
    (void)cpus;
    begin_watch(&me, &t);
    home = atomic_load(&s.tasks[me.task].thread);
    elsewhere = home + 2;
    look_at_ended();
    CHECK(states == 2 && atomic_load(&s.tasks[me.task].thread) == home);
    CHECK(core_task(atomic_load(&s.cores[0].word)) == me.task && atomic_load(&s.tasks[me.task].state) == USF_TASK_RUNNING);
    elsewhere = home;
    look_at_ended();
    CHECK(states == 2 && atomic_load(&s.tasks[me.task].state) == USF_TASK_FREE);
    pthread_join(t, NULL);
}

/* Many threads sleep in calls when the monitor begins.  It knows of one that loses its core after that, and signals it when it is awake; it
 * sleeps when all sleep and no core is in use. */
static bool is_awake;
static char watched_is_awake(void *arg, uint32_t task) { (void)arg; return is_awake && task == watched ? 'R' : 'S'; }

static void crowd(const struct os_cpuset *cpus)
{
    static struct sched_self asleep[SCHED_UNSEEN_MAX + 8];
    struct sched_self me = {.task = USF_NONE};
    pthread_t t;
    (void)cpus;
    for (unsigned i = 0; i < sizeof asleep / sizeof *asleep; i++) {
        asleep[i].task = USF_NONE;
        CHECK(sched_attach(&s, &asleep[i], tid(), "asleep") == 0);
        sched_leave_core(&s, &asleep[i], true);
    }
    begin_watch(&me, &t);
    watched = me.task;
    told = 'S';
    look_after(3 * MS, 2 * MS, MS);
    look_after(4 * MS, MS, MS);
    CHECK(atomic_load(&s.tasks[me.task].state) == USF_TASK_IN_KERNEL);
    pthread_join(t, NULL);
    is_awake = true;
    signalled = 0;
    for (int i = 0; i < 2; i++) CHECK(sched_watch(&s, count_watched, watched_is_awake, NULL) == WATCH_BUSY_NS);
    CHECK(signalled == 1);
    is_awake = false;
    unsigned looks = 0;
    while (looks < 2 * WATCH_QUIET && sched_watch(&s, count_watched, watched_is_awake, NULL) != UINT64_MAX) looks++;
    CHECK(looks < 2 * WATCH_QUIET && signalled == 1);
    for (unsigned i = 0; i < sizeof asleep / sizeof *asleep; i++) sched_detach(&s, &asleep[i], false);
    sched_detach(&s, &me, false);
}

/* It runs on with all CPUs of its process: a real-time program may keep it from ever running on the one that it was bound to.  A thread that
 * lost its core before it ran there makes the core contended. */
static void unbound(const struct os_cpuset *cpus)
{
    struct sched_self me = {.task = USF_NONE};
    struct os_cpuset one = {0};
    pthread_t holder, t;
    if (s.h->nr_cores < 2) return;      /* there is no other CPU to go to */
    s.h->progress_ns = 200 * MS;
    CHECK(pthread_create(&holder, NULL, hold_core_1, NULL) == 0);
    while (!atomic_load(&looked)) usleep(100);
    begin_watch(&me, &t);
    struct usf_task *task = &s.tasks[me.task];
    CHECK(atomic_load(&task->core) == 0);
    os_cpu_set(&one, s.cores[0].pol.cpu);
    sched_place_self(&s, &me);
    CHECK(is_own_mask(&one) && atomic_load(&sched_thread_of(&s, me.task)->pinned) == 0);
    for (int i = 0; i < 10; i++) look_after(201 * MS + (uint64_t)i * MS, MS, 200 * MS);
    watcher.unresponsive_since[0] -= 100 * MS;
    look_after(301 * MS, MS, 200 * MS);
    CHECK(atomic_load(&task->state) == USF_TASK_IN_KERNEL);
    CHECK(is_own_mask(cpus));
    usleep(2 * CONTENDED_LATE_NS / 1000);
    atomic_store(&s.cores[0].contended, 0);
    contend_judge(&s, task);
    CHECK(atomic_load(&s.cores[0].contended));
    atomic_store(&over, true);
    pthread_join(t, NULL);
    sched_yield_core(&s, &me, false);
    CHECK(bind_is_placed(&s, me.task, atomic_load(&task->core)));
    pthread_join(holder, NULL);
    sched_detach(&s, &me, false);
}

static void have_two_cpus(struct os_cpuset *cpus)
{
    struct os_cpuset two = {0};
    for (uint32_t i = 0, n = 0; i < OS_CPUSET_WORDS * 64 && n < 2; i++)
        if (os_cpu_isset(cpus, i)) os_cpu_set(&two, i), n++;
    *cpus = two;
}

static void have_first_cpu(struct os_cpuset *cpus)
{
    uint32_t first = 0;
    while (!os_cpu_isset(cpus, first)) first++;
    *cpus = (struct os_cpuset){0};
    os_cpu_set(cpus, first);
}

/* instance, process: change the CPUs that it is to have; null: all of this process's. */
static const struct single {
    const char *name;
    void (*run)(const struct os_cpuset *), (*instance)(struct os_cpuset *), (*process)(struct os_cpuset *);
} all[] = {
    {"keep", keep, have_first_cpu, NULL}, {"rejoin", rejoin, NULL, NULL}, {"kernel-run", kernel_run, NULL, NULL}, {"bursts", bursts, have_first_cpu, NULL},
    {"seldom", seldom, NULL, NULL}, {"place", place, NULL, NULL},
    {"self", place_self, NULL, NULL}, {"refused", refused, NULL, have_no_cpu}, {"mask", mask, NULL, have_four_cores},
    {"looks", looks, have_first_cpu, NULL}, {"sleeps", sleeps, have_first_cpu, NULL},
    {"crowd", crowd, have_first_cpu, NULL}, {"moved", moved, have_first_cpu, NULL}, {"unbound", unbound, have_two_cpus, NULL},
};

static const struct single *find(const char *name)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    printf("no test %s\n", name);
    exit(1);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/usf-single-XXXXXX", why[128];
    struct shm_config c = {.name = "single", .dir = dir};
    struct os_cpuset cpus;
    alarm(20);
    CHECK(argc == 2);
    const struct single *test = find(argv[1]);
    CHECK(mkdtemp(dir));
    CHECK(os_getaffinity(0, &cpus) == 0);
    if (test->instance) test->instance(&cpus);
    c.cpus = cpus;
    if (shm_open_instance(&c, true, &shm)) return printf("%s\n", shm.why), 1;
    if (test->process) test->process(&cpus);
    sched_bind(&s, shm.h);
    CHECK(sched_use_policy(&s, NULL, why, sizeof why) == 0);
    s.shm_dir = dir;
    join(&cpus);
    test->run(&cpus);
    sched_bind(&cleaner, shm.h);
    CHECK(sched_use_policy(&cleaner, NULL, why, sizeof why) == 0);
    for (uint32_t i = 0; i < atomic_load(&shm.h->proc_hwm); i++) sched_proc_remove(&cleaner, i, false);
    CHECK(shm_retire_if_empty(&shm, dir));
    shm_close(&shm);
    CHECK(rmdir(dir) == 0);
    return 0;
}
