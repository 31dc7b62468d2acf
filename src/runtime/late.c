/* src/runtime/late.c - a process takes part late.  SPDX-License-Identifier: Apache-2.0
 *
 * Most processes have one thread and live for a millisecond.  To take part would cost them a good
 * part of that.  So a child of a program under `usf run` stands by at first (rt.late): it has no
 * record and no core, and the monitor does not know it.  One that has been executed has no segment
 * either, and its code is as its file has it (late.plain); the child of a fork has what its parent
 * has.  It joins
 *
 *   - before it makes a second thread, another process that shares its memory, or one that libc does not know of
 *   - before a call whose effect depends on taking part: affinity, nice values, CPU counts, most alternate stacks, namespaces, USF_PRCTL
 *   - after BUSY_NS of CPU time, in the signal of a timer, if it shares memory with others, which may wait for it there; else after
 *     ALONE_NS; not by its time if it has set an alternate stack
 *
 * The program's calls tell the first two: where the code is patched by the gate, else by the
 * functions that src/threads interposes.
 *
 * The timer measures the process's CPU time.  Its signal is the one that libc has set aside for
 * setuid(), which takes it only from other threads of the process, and there are none yet.  libc
 * lets no program block it, wait for it or set its action.  It arrives when the thread returns from
 * the kernel or is interrupted, and cuts no call short: from Linux 5.11 on the kernel looks at such
 * timers only then.
 *
 * A process that begins to trace others, to filter its system calls, or to run as another user
 * leaves its instance for good.  One that stands by then never joins (rt_late_cancel).  A join that
 * fails is told as at the start, if descriptor 2 is what it was then: else it may be a file of the
 * program's.
 *
 * Only the process's first thread and its signal handlers come here.  A process that shares its
 * memory has another pid. */
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "arch/signal.h"
#include "runtime/runtime.h"
#include "spin/spin.h"
#include "threads/threads.h"
#include "usf/usf.h"

#define BUSY_NS     10000000    /* to join costs about a twentieth of that */
#define ALONE_NS    160000000   /* BUSY_NS times a power of 2.  Most compilers end sooner, and scheduling them gains nothing */
#define AGAIN_NS    1000000     /* the signal has come while the process could not join */

#define CLOCK_OF_PROCESS 2      /* CLOCK_PROCESS_CPUTIME_ID */
#define PR_TIMER_IDS     77     /* PR_TIMER_CREATE_RESTORE_IDS, Linux 6.15: timer_create makes the timer with this id */
#define TIMER_ID         INT32_MAX      /* the one before 0, which the next timer gets */
#define MAGIC            0x757366006c617465ull      /* the value of its signal */

USF_EARLY static struct {
    int32_t timer;
    bool armed;
    uint64_t age;               /* ns of CPU time at the timer's next signal; from ALONE_NS on it joins */
    bool plain;                 /* its code is not patched, its handlers are called by the kernel */
    struct rt_action before;    /* the signal's */
    uint64_t dev, ino;          /* what descriptor 2 was */
    uintptr_t stack_end;        /* of the first thread: no frame lies above the environment */
    uintptr_t tls;              /* the thread pointer */
} late;

/* ---- the timer ---------------------------------------------------------------------------------- */

/* The program's own timers get the ids that they have bare, where the kernel lets us choose
 * ours. */
static bool create_timer(void)
{
    struct { uint64_t value; int32_t signo, notify; uint64_t pad[6]; } event = {.value = MAGIC, .signo = RT_SETXID_SIGNAL};
    bool may_choose = usf_syscall(__NR_prctl, PR_TIMER_IDS, 1, 0, 0, 0) == 0;
    late.timer = TIMER_ID;
    long r = usf_syscall(__NR_timer_create, CLOCK_OF_PROCESS, &event, &late.timer);
    if (may_choose) usf_syscall(__NR_prctl, PR_TIMER_IDS, 0, 0, 0, 0);
    return r == 0;
}

static bool set_timer(int64_t ns)
{
    const int64_t time[4] = {0, 0, 0, ns};      /* struct itimerspec: no period, the time */
    return usf_syscall(__NR_timer_settime, late.timer, 0, time, 0) == 0;
}

static void on_time(int sig, siginfo_t *info, void *context);

static bool is_blocked(void)
{
    uint64_t mask = 0;
    return usf_syscall(__NR_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8) != 0 || mask >> (RT_SETXID_SIGNAL - 1) & 1;
}

/* libc's own action comes back, if it has set one.  Else ours stays, for a signal that is on its
 * way: to end the process is the default. */
static void disarm(void)
{
    if (!late.armed) return;
    usf_syscall(__NR_timer_delete, late.timer);
    late.armed = false;
    if (rt_action_is_handler(&late.before)) rt_signals_exchange(RT_SETXID_SIGNAL, &late.before, 0);
}

static bool arm(void)
{
    const struct rt_action a = {.handler = on_time, .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART, .mask = ~RT_SYNCHRONOUS};
    struct rt_action before;
    late.age = BUSY_NS;
    late.armed = create_timer();
    if (!late.armed) return false;
    rt_signals_exchange(RT_SETXID_SIGNAL, &a, &before);
    if (before.handler != on_time) late.before = before;    /* a parent's that stands by: it has seen what was before */
    if (set_timer(BUSY_NS)) return true;
    disarm();
    return false;
}

static void see_stderr(uint64_t *dev, uint64_t *ino)
{
    struct os_stat st = {0};
    os_fstat(2, &st);
    *dev = st.dev;
    *ino = st.ino;
}

static bool has_other_stderr(void)
{
    uint64_t dev, ino;
    see_stderr(&dev, &ino);
    return dev != late.dev || ino != late.ino;
}

/* ---- the program's alternate stack -------------------------------------------------------------- */

/* Some programs handle overflows of their stack, and set an alternate stack for that in their own
 * data (grep, diff, m4).  They have one thread and seldom run for long.  Such a process keeps
 * standing by without the timer, whose signal would need that stack: there may be no room on it.
 * It joins before the calls that need it, but not while a handler is under way: so it must not make
 * threads itself. Language runtimes, whose programs may run for long, set stacks that they have
 * allocated.
 *
 * A handler that is under way would set the runtime's stack again when it returns: then the process
 * joins. */
static bool keep_standing_by(const stack_t *want)
{
    static const char *const threads[] = {"pthread_create", "thrd_create"};
    void *restorers[RT_SIGNALS];
    if (!rt.late || !late.plain || os_getpid() != rt.pid) return false;
    if (!want || !os_can_read(want) || !os_can_read(&want->ss_size)) return false;
    if (want->ss_flags & ~SS_ONSTACK || !rt_executable_has_data(want->ss_sp, want->ss_size)) return false;
    if (rt_executable_imports(threads, sizeof threads / sizeof *threads)) return false;
    if (!rt_self.withdrawn && (rt_signals_restorers(restorers) || !rt_stack_withdraw(&rt_self))) return false;
    disarm();
    return true;
}

/* ---- standing by -------------------------------------------------------------------------------- */

/* Is the process below the first one of a `usf run`?  That one takes part at once: what is wrong is
 * told when it starts, and the instance exists as long as it runs. */
static bool is_below(void)
{
    int32_t first = rt_first_process();
    return first && first != rt.pid;
}

/* From Linux 5.11 on a timer of CPU time interrupts no call. */
static bool kernel_suits(void)
{
    struct utsname u;
    unsigned major = 0, minor = 0;
    if (usf_syscall(__NR_uname, &u)) return false;
    const char *s = u.release;
    for (; *s >= '0' && *s <= '9'; s++) major = major * 10 + (unsigned)(*s - '0');
    for (s += *s == '.'; *s >= '0' && *s <= '9'; s++) minor = minor * 10 + (unsigned)(*s - '0');
    return major > 5 || (major == 5 && minor >= 11);
}

static void before_call(long nr, long a0, long a1)
{
    (void)a1;
    switch (nr) {
    case __NR_ptrace:
        if (a0 != 0 /* PTRACE_TRACEME */) rt_late_cancel();
        return;
    case __NR_seccomp:
        if (a0 == SECCOMP_SET_MODE_STRICT || a0 == SECCOMP_SET_MODE_FILTER) rt_late_cancel();
        return;
    case __NR_prctl:
        if (a0 == PR_SET_SECCOMP) rt_late_cancel();
        else if (a0 == USF_PRCTL) rt_late_join();
        return;
    case __NR_clone:
        if (!(a0 & CLONE_VFORK)) rt_late_join();
        return;
    case __NR_sigaltstack:
        if (!keep_standing_by((const stack_t *)a0)) rt_late_join();
        return;
    case __NR_rt_sigaction:     /* with SA_ONSTACK */
        if (!rt_self.withdrawn) rt_late_join();
        return;
    case __NR_clone3: case __NR_fork: case __NR_unshare: case __NR_setns: case __NR_setpriority:
    case __NR_sched_getaffinity: case __NR_sched_setaffinity: case __NR_sched_setscheduler: case __NR_sched_setparam: case __NR_sched_setattr:
        rt_late_join();
        return;
    }
}

/* Others may wait there for what the process does. */
static bool shares_memory(void) { return os_shares_memory(rt.shm.h, rt.shm.size); }

/* Timers are not inherited.  Without the alternate stack there is none: who may be waited for joins
 * now. */
void rt_late_after_fork(void)
{
    if (!rt.late) return;
    rt_self.tid = rt.pid;
    late.armed = false;
    if (rt_self.withdrawn ? shares_memory() : !arm()) rt_late_join();
}

/* By libc's fork.  The gate has seen to it where it sees that. */
static void in_child(void)
{
    if (!rt.late || os_getpid() == rt.pid) return;
    rt.pid = os_getpid();
    rt_late_after_fork();
}

static bool stand_by(bool plain)
{
    static const struct threads_watcher watcher = {.thread = rt_late_join, .call = before_call, .in_child = in_child};
    late.plain = plain;
    late.tls = arch_thread_pointer();
    see_stderr(&late.dev, &late.ino);
    if (!arm()) return false;
    threads_watch(&watcher);
    rt.late = true;
    return true;
}

/* Its stacks may hold handlers that it has left, where search() does not find them. */
static bool has_coroutines(void)
{
    static const char *const names[] = {"swapcontext", "setcontext", "makecontext"};
    return rt_executable_imports(names, sizeof names / sizeof *names);
}

/* A filter of system calls that the process has inherited may kill it for those of the timer. */
static bool may_stand_by(void)
{ return rt.settings.attach_late && is_below() && kernel_suits() && usf_syscall(__NR_prctl, PR_GET_SECCOMP) == 0; }

bool rt_late_begin(char **envp)
{
    const struct usf_settings *o = &rt.settings;
    rt.pid = os_getpid();
    rt.user = os_geteuid();
    /* Loading a policy's object needs the dynamic linker, which only the start can use. */
    if (o->policy.path[0] || (o->has_owner && o->owner != rt.user) || !may_stand_by() || has_coroutines()) return false;
    rt_self.tid = rt.pid;
    rt.sched.proc = USF_NONE;
    /* A library that is loaded by dlopen may find an environment that has moved. */
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    late.stack_end = (uintptr_t)envp > here ? (uintptr_t)envp : getauxval(AT_RANDOM);
    rt_stack_take(&rt_self);        /* or the signal could come on a coroutine's */
    return rt_self.self.signal_stack && !is_blocked() && threads_watch_forks() && stand_by(true);
}

bool rt_late_begin_in_child(void)
{
    /* Code of ours that a handler has interrupted goes on with its thread's record. */
    if (rt.sched.kernel || rt_self.over_gate || !rt_self.self.signal_stack || !may_stand_by() || !stand_by(false)) return false;
    rt.on = false;
    atomic_store(&rt.sched.leaving, SCHED_LEFT);
    rt_unpin();
    return true;
}

/* True: it stood by, and does so no longer. */
static bool end_standing(void)
{
    if (!rt.late || rt_vforked() || os_getpid() != rt.pid) return false;
    rt.late = false;
    threads_watch(0);
    disarm();
    return true;
}

/* What is not patched shows the runtime's alternate stack.  A handler that is on it cannot give it
 * back: that waits until the program asks for such a stack. */
static void at_call(long nr, long a0, long a1)
{
    (void)a0, (void)a1;
    if ((nr != __NR_sigaltstack && nr != __NR_rt_sigaction) || os_getpid() != rt.pid) return;
    threads_watch(0);
    rt_stack_give(&rt_self);
}

static void at_thread(void) {}
static void at_fork(void) { rt.pid = os_getpid(); }

static void give_stack(void)
{
    static const struct threads_watcher watcher = {.thread = at_thread, .call = at_call, .in_child = at_fork};
    if (rt_stack_end(&rt_self, (uintptr_t)__builtin_frame_address(0)) && !rt_self.withdrawn) threads_watch(&watcher);
    else rt_stack_give(&rt_self);
}

bool rt_late_cancel(void)
{
    if (!end_standing()) return false;
    if (late.plain) give_stack();
    return true;
}

/* ---- interrupted code ---------------------------------------------------------------------------- */

/* What the patching has moved goes on in its new place. */
static uintptr_t moved(uintptr_t pc) { return spin_fix_pc(gate_moved_pc(pc)); }

#define STACK_MAX (128ul << 20)     /* the kernel keeps so much below the end of the first stack free of mappings */

/* Handlers that are under way return to code that has been patched since.  Where the words on the
 * stack are a signal's frame, its pc is set right. */
struct search {
    void *restorer[RT_SIGNALS];
    unsigned nr;                /* 0: there are no handlers */
    bool fix;                   /* else only look */
    bool found;                 /* some are under way */
    bool lost;                  /* there may be some on a stack that is not known */
};

static void search_from(struct search *s, uintptr_t sp);

static bool is_frame(const struct search *s, const struct arch_frame *f)
{
    for (unsigned i = 0; i < s->nr; i++)
        if (f->restorer == s->restorer[i]) return arch_is_frame(f);
    return false;
}

static void search(struct search *s, uintptr_t from, uintptr_t to)
{
    for (uintptr_t at = (from + 7) & -8ul; at + ARCH_FRAME_SIZE <= to; at += 8) {
        struct arch_frame *f = (struct arch_frame *)at;
        if (!is_frame(s, f)) continue;
        uintptr_t pc = moved(arch_pc(&f->context));
        if (s->fix && pc != arch_pc(&f->context)) arch_set_pc(&f->context, pc);
        s->found = true;
        if (to == late.stack_end) continue;
        search_from(s, arch_sp(&f->context));       /* that was the alternate stack */
        return;
    }
}

static void search_from(struct search *s, uintptr_t sp)
{
    uintptr_t end = rt_stack_end(&rt_self, sp);
    if (!end && sp < late.stack_end && late.stack_end - sp < STACK_MAX && os_can_read((const void *)sp)) end = late.stack_end;
    if (end) search(s, sp, end);
    else s->lost = true;
}

/* ---- joining ------------------------------------------------------------------------------------ */

/* Threads of libc's own (of timers, of asynchronous reads), and processes that share the memory,
 * run code that would be patched under them.  The kernel agrees to this call, which changes
 * nothing, if there are none. */
static bool is_single(void) { return usf_syscall(__NR_unshare, CLONE_VM) == 0; }

static const char *obstacle(void)
{
    if (!late.plain) return 0;
    if (rt_is_stranger()) return "it runs as another user";
    return is_single() ? 0 : "others share its memory";
}

static struct { uint64_t below; bool patched; } joining;      /* below: the mask that holds in the program */

static void join(void)
{
    atomic_store(&rt.sched.leaving, SCHED_STAYS);
    rt_self.self.joining = 1;
    usf_hushed = has_other_stderr();
    joining.patched = rt_start_late(late.plain, joining.below);
    usf_hushed = false;
    rt_self.self.joining = 0;
}

/* The program goes on at sp.  On the runtime's own stack: the program's may be too small for all
 * that.  False: not now, since the list of objects is changing (an allocator may ask for CPU counts
 * then), or a handler may be under way on a stack that is not known, or is under way and will set
 * the program's alternate stack when it returns. */
static bool join_at(struct rt_thread *t, uint64_t below, uintptr_t sp)
{
    struct search s = {.fix = false};
    if (late.plain && !gate_loader_is_idle()) return false;
    if (late.plain && (s.nr = rt_signals_restorers(s.restorer))) search_from(&s, sp);
    if (s.lost || (s.found && t->withdrawn)) return false;
    sched_crit_enter(&t->self);
    bool ends = end_standing();
    const char *why = ends ? obstacle() : 0;
    if (why) usf_say("%s: it runs unscheduled", why);
    joining.below = below;
    joining.patched = false;
    if (ends && !why) rt_stack_call(t, join);
    s.fix = joining.patched;
    if (late.plain && s.fix && s.nr) search_from(&s, sp);
    if (late.plain && !s.fix) give_stack();
    sched_crit_leave(&rt.sched, &t->self);
    return true;
}

void rt_late_join(void)
{
    struct rt_thread *t = &rt_self;
    if (USF_LIKELY(!rt.late) || rt_vforked() || t->self.crit || os_getpid() != rt.pid) return;
    uint64_t mask = rt_block_signals(~RT_SYNCHRONOUS);
    join_at(t, mask, (uintptr_t)__builtin_frame_address(0));
    rt_set_mask(mask);
}

static bool may_join_here(const struct rt_thread *t, uintptr_t pc)
{
    return !t->self.crit && !usf_gate_vforked && !gate_contains_pc(pc);
}

static bool is_due(void)
{
    if (late.age < ALONE_NS && shares_memory()) late.age = ALONE_NS;
    if (late.age >= ALONE_NS) return true;
    set_timer((int64_t)late.age);       /* it is looked at again at twice that age */
    late.age *= 2;
    return false;
}

/* The timer's signal.  A program that has set a thread pointer of its own has no thread storage of
 * ours. */
static void on_time(int sig, siginfo_t *info, void *context)
{
    uintptr_t tls = arch_thread_register();
    if (sig != RT_SETXID_SIGNAL || tls != late.tls || !rt.late || !late.armed || os_getpid() != rt.pid) return;
    if (info->si_code != SI_TIMER || (uint64_t)info->si_value.sival_ptr != MAGIC) return;
    struct rt_thread *t = &rt_self;
    ucontext_t *uc = context;
    bool may = may_join_here(t, arch_pc(uc));
    if (may && !is_due()) return;
    if (!may || !join_at(t, *(const uint64_t *)&uc->uc_sigmask, arch_sp(uc)))
        set_timer(AGAIN_NS);
    else if (late.plain) arch_set_pc(uc, moved(arch_pc(uc)));
}
