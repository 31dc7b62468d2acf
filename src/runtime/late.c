/* src/runtime/late.c - a process takes part late.  SPDX-License-Identifier: Apache-2.0
 *
 * Most processes have one thread and live for a millisecond.  To take part would cost them a good part of that.  So a child of a program
 * under `usf run` stands by at first (rt.late): its system calls are intercepted, but it has no record and no core, and the monitor does
 * not know it.  It has no segment either, unless it is the child of a fork and has its parent's.  It joins
 *
 *   - before it makes a second thread, or another process that shares its memory
 *   - before a call whose answer or effect depends on taking part: affinity, nice values, CPU counts, USF_PRCTL
 *   - before a wait that the kernel does not restart after a signal, and before it sets an action for SIGURG
 *   - after BUSY_NS of CPU time: at the next call that is intercepted, or in the signal of a timer
 *
 * The timer measures the process's CPU time and sends SIGURG, with a value of its own.  The program is not to see that signal, as
 * it does not see the monitor's (signals.c): calls that it may interrupt are restarted by the kernel (SA_RESTART) or are repeated
 * (rt_pass_late), and one that is pending because the program blocks SIGURG is taken back at the join and before an exec.  In between
 * the program can find it; docs/design.md lists such cases, and they are why this is off by default.
 *
 * A process that begins to trace others, to filter its system calls, or to run as another user leaves its instance for good.  One that
 * stands by then never joins (rt_late_cancel).
 *
 * Only the process's first thread and its signal handlers come here.  A process that shares its memory has another pid. */
#include "runtime/runtime.h"
#include "threads/threads.h"

#define BUSY_NS     3000000u
#define AGAIN_NS    1000000     /* the signal may come while the thread cannot join */
#define LOOK_CYCLES 5000000u    /* between two looks at the CPU time, which take a system call: some 2 ms */

#define CLOCK_OF_PROCESS 2      /* CLOCK_PROCESS_CPUTIME_ID */
#define PR_TIMER_IDS     77     /* PR_TIMER_CREATE_RESTORE_IDS, Linux 6.15: timer_create makes the timer with this id */
#define TIMER_ID         INT32_MAX      /* the one before 0, which the next timer gets */

static struct {
    int32_t timer;
    bool armed;
    bool due;                   /* it has had its CPU time */
    uint64_t looked;            /* cycles */
} late;

/* ---- the timer ---------------------------------------------------------------------------------- */

/* The program's own timers get the ids that they have bare, where the kernel lets us choose ours. */
static bool create_timer(void)
{
    struct { uint64_t value; int32_t signo, notify; uint64_t pad[6]; } event = {.value = RT_LATE_MAGIC, .signo = RT_SIGNAL};
    bool may_choose = usf_syscall(__NR_prctl, PR_TIMER_IDS, 1, 0, 0, 0) == 0;
    late.timer = TIMER_ID;
    long r = usf_syscall(__NR_timer_create, CLOCK_OF_PROCESS, &event, &late.timer);
    if (may_choose) usf_syscall(__NR_prctl, PR_TIMER_IDS, 0, 0, 0, 0);
    return r == 0;
}

static bool arm(void)
{
    const int64_t time[4] = {0, AGAIN_NS, 0, BUSY_NS};      /* struct itimerspec: the period, the first time */
    late.due = false;
    late.looked = os_cycles();
    late.armed = create_timer();
    if (!late.armed || usf_syscall(__NR_timer_settime, late.timer, 0, time, 0) == 0) return late.armed;
    usf_syscall(__NR_timer_delete, late.timer);
    return late.armed = false;
}

#define OWN_SET (1ull << (RT_SIGNAL - 1))

void rt_late_take_back(void)
{
    static const struct sync_timespec now;
    const uint64_t set = OWN_SET;
    uint64_t pending = 0;
    siginfo_t info;
    if (usf_syscall(__NR_rt_sigpending, &pending, 8) || !(pending & OWN_SET)) return;
    if (usf_syscall(__NR_rt_sigtimedwait, &set, &info, &now, 8) != RT_SIGNAL || rt_is_own_signal(&info)) return;
    usf_syscall(__NR_rt_sigqueueinfo, rt.pid, RT_SIGNAL, &info);    /* the program's */
}

static void disarm(void)
{
    if (!late.armed) return;
    usf_syscall(__NR_timer_delete, late.timer);
    late.armed = false;
    rt_late_take_back();
}

/* ---- standing by -------------------------------------------------------------------------------- */

/* SIGURG is as programs have it by default: anything else means something to the program, or to those that it starts. */
static bool signal_is_free(void)
{
    uint64_t action[4] = {1}, mask = OWN_SET;
    return usf_syscall(__NR_rt_sigaction, RT_SIGNAL, 0, action, 8) == 0 && !action[0]
           && usf_syscall(__NR_rt_sigprocmask, 0, 0, &mask, 8) == 0 && !(mask & OWN_SET);
}

static void before_thread(void) { rt_late_join(); }

/* Is the process below the first one of a `usf run`?  That one takes part at once: what is wrong is told when it starts, and the instance
 * exists as long as it runs. */
static bool is_below(void)
{
    int32_t first = rt_first_process();
    return first && first != rt.pid;
}

static bool stand_by(void)
{
    if (!arm()) return false;
    threads_before_thread = before_thread;
    rt.late = true;
    return true;
}

bool rt_late_begin(void)
{
    const struct usf_settings *o = &rt.settings;
    rt.pid = os_getpid();
    rt.user = os_geteuid();
    /* Loading a policy's object needs the dynamic linker, which only the start can use. */
    if (!o->attach_late || !is_below() || o->policy.path[0] || (o->has_owner && o->owner != rt.user)) return false;
    if (!signal_is_free() || !stand_by()) return false;
    rt_self.tid = rt.pid;
    rt.sched.proc = USF_NONE;
    rt.sched.weight = (uint32_t)o->weight;
    rt.sched.priority = (int32_t)o->priority;
    rt_stack_take(&rt_self);
    return true;
}

/* Timers are not inherited. */
void rt_late_after_fork(void)
{
    if (!rt.late) return;
    rt_self.tid = rt.pid;
    late.armed = false;
    if (!arm()) rt_late_join();
}

bool rt_late_begin_in_child(void)
{
    /* Code of ours that a handler has interrupted goes on with its thread's record. */
    if (!rt.settings.attach_late || !is_below() || rt.sched.kernel || rt_signals_handles_own() || rt_self.over_gate) return false;
    late.armed = false;
    if (!stand_by()) return false;
    rt.on = false;
    atomic_store(&rt.sched.leaving, SCHED_LEFT);
    rt_unpin();
    return true;
}

bool rt_late_cancel(void)
{
    if (!rt.late || rt_vforked() || os_getpid() != rt.pid) return false;
    rt.late = false;
    disarm();
    return true;
}

/* ---- joining ------------------------------------------------------------------------------------ */

static void join(void)
{
    atomic_store(&rt.sched.leaving, SCHED_STAYS);
    rt_self.self.joining = 1;
    rt_start_late();
    rt_self.self.joining = 0;
}

/* On the runtime's own stack: the program's may be too small for all that. */
void rt_late_join(void)
{
    struct rt_thread *t = &rt_self;
    if (USF_LIKELY(!rt.late) || rt_vforked() || t->self.crit || !rt_late_cancel()) return;
    sched_crit_enter(&t->self);
    rt_stack_call(t, join);
    sched_crit_leave(&rt.sched, &t->self);
}

void rt_late_look(void)
{
    uint64_t now = os_cycles();
    if (!late.due && now - late.looked < LOOK_CYCLES) return;
    late.looked = now;
    if (late.due || os_process_cpu_ns(rt.pid) >= BUSY_NS) rt_late_join();
}

void rt_late_is_due(void) { late.due = true; }

long rt_pass_late(struct gate_frame *f)
{
    struct rt_signals before;
    long r;
    do {
        before = rt_signals_of(&rt_self);
        r = rt_pass(f);
    } while (rt_ended_unseen(&rt_self, r, before));
    return rt_complete(f, r, before);
}
