/* src/runtime/homing.c - calls that concern the kernel thread of a floating thread: made at home.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rule F3 of float.c.  For some calls the thread only goes home, after others it stays there.
 * docs/threads.md says which state each of them is about. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"
#include "threads/threads.h"

enum { NR_LANDLOCK_RESTRICT_SELF = 446, NR_LSM_SET_SELF_ATTR = 460 };

bool rt_floats(const struct rt_thread *t)
{ return t->self.home && !usf_gate_vforked && rt_has_own_self(); }

static long call_gettid(struct gate_frame *f)
{ return rt_floats(&rt_self) ? rt_self.tid : rt_pass(f); }

static void go_home(struct rt_thread *t, uint64_t until)
{
    if (USF_LIKELY(carrier_is_home(&t->self)) || t->self.stays) return;     /* in a handler: its frame belongs to the carrier */
    usf_dassert(rt_thread_is_valid(t));
    usf_xassert(rt_is_executed_here(t));
    if (carrier_try_home(&rt.sched, &t->self)) return;
    /* rt_enter may make the thread opt out (optout.c), and that calls this function: so an attached
     * thread does not enter again. */
    if (t->state != RT_ATTACHED && !rt_enter()) return;
    if (t->self.crit) return;
    t->self.stays++;            /* not away again while it waits for a core */
    sched_leave_core(&rt.sched, &t->self, true);
    carrier_await_home(&rt.sched, &t->self, until);
    sched_return_core(&rt.sched, &t->self);
    t->self.stays--;
}

void rt_float_go_home(struct rt_thread *t) { go_home(t, 0); }

/* A kernel thread that executes another thread for so long may do so for ever: this one goes on
 * elsewhere. */
#define HOME_WAIT_NS 100000000u
void rt_float_try_home(struct rt_thread *t) { if (USF_UNLIKELY(!carrier_is_home(&t->self))) go_home(t, os_now() + HOME_WAIT_NS); }

void rt_float_stay(struct rt_thread *t, enum usf_stays why)
{
    if (t->stays_why) return;
    /* from when it would float (rt_float_attached) */
    if (!t->self.home && rt.settings.floats.on && !usf_gate_vforked && rt_has_own_self()) t->stays_why = why;
    if (!rt_floats(t)) return;
    rt_float_go_home(t);
    if (!carrier_is_home(&t->self)) return;     /* in a handler: its frame belongs to the carrier */
    carrier_stay(&rt.sched, &t->self, why);
    t->stays_why = why;
    rt_float_attend(t, ~0ull);                  /* the kernel thread is its own: what it blocks is pending there from now on */
}

/* The calling thread has made a call whose effect the threads that it creates inherit.  Its kernel
 * thread serves no later thread of the program: the thread cache knows of memory policies by
 * itself, and is told of the rest. */
void rt_float_hand_on(struct rt_thread *t, uint32_t what)
{
    if (!what || usf_gate_vforked || !rt_has_own_self()) return;
    if (what & RT_HANDS_ON_STATE) threads_note_call(__NR_unshare, 0, 0);
    if (rt.settings.floats.on) atomic_fetch_or(&t->hands_on, what);
}

/* A call with such an effect.  If the process has one thread, all will have the same; rt_is_alone
 * does not know of threads that wait for their first core.  The call may forbid to ask
 * afterwards. */
static long call_hands_on(struct gate_frame *f, uint32_t what)
{
    bool single = what && os_own_threads() == 1;
    long r = rt_float_go_on(f);
    if (r >= 0 && !single) rt_float_hand_on(&rt_self, what);
    return r;
}

/* Storage that libc has made: its record of a thread begins with its own address, and has it
 * again. */
static bool is_of_libc(uintptr_t tls)
{
    uintptr_t word[3];
    return sync_read_words(word, (const void *)tls, sizeof word) && word[0] == tls && word[2] == tls;
}

/* Where another thread has set the creator's state (have_stay), the creator has no reason of its
 * own. */
void rt_float_bequeath(const struct rt_thread *creator, uintptr_t tls)
{
    uint32_t hands_on = atomic_load_explicit(&creator->hands_on, memory_order_relaxed);
    if (USF_LIKELY(!hands_on) || !rt_tls_self || !is_of_libc(tls)) return;
    struct rt_thread *t = (struct rt_thread *)(tls - rt_tls_self);
    t->stays_why = creator->stays_why ? creator->stays_why : USF_STAYS_SCHEDULING;
    atomic_store(&t->hands_on, hands_on);
}

static gate_handler next_handler[USF_NR_SYSCALLS];
long rt_float_go_on(struct gate_frame *f)
{
    gate_handler next = next_handler[f->nr];
    return next ? next(f) : rt_pass(f);
}

static long call_at_home(struct gate_frame *f)
{
    if (rt_float_sets_user()) return rt_pass(f);
    if (rt_floats(&rt_self)) rt_float_go_home(&rt_self);
    return rt_float_go_on(f);
}

static const struct { uint16_t nr, why, hands_on; } stay[] = {
    {__NR_setns, USF_STAYS_NAMESPACE, RT_HANDS_ON_STATE}, {__NR_setfsuid, USF_STAYS_USER, RT_HANDS_ON_STATE},
    {__NR_setfsgid, USF_STAYS_USER, RT_HANDS_ON_STATE}, {__NR_capset, USF_STAYS_USER, RT_HANDS_ON_STATE},
    {__NR_keyctl, USF_STAYS_USER, RT_HANDS_ON_STATE}, {NR_LANDLOCK_RESTRICT_SELF, USF_STAYS_USER, RT_HANDS_ON_STATE},
    {NR_LSM_SET_SELF_ATTR, USF_STAYS_USER, RT_HANDS_ON_STATE}, {__NR_personality, USF_STAYS_PRCTL, RT_HANDS_ON_STATE},
    {__NR_set_mempolicy, USF_STAYS_PRCTL, RT_HANDS_ON_MEMORY_POLICY}, {__NR_arch_prctl, USF_STAYS_REGISTERS, RT_HANDS_ON_STATE},
    {__NR_iopl, USF_STAYS_REGISTERS, RT_HANDS_ON_STATE}, {__NR_ioperm, USF_STAYS_REGISTERS, RT_HANDS_ON_STATE},
    {__NR_perf_event_open, USF_STAYS_PERF, RT_HANDS_ON_STATE}, {__NR_seccomp, USF_STAYS_PERF, 0},    /* a filter: the process leaves */
    {__NR_ptrace, USF_STAYS_PERF, 0}, {__NR_modify_ldt, USF_STAYS_REGISTERS, 0}, {__NR_set_tid_address, USF_STAYS_PRCTL, 0},
    {__NR_io_uring_setup, USF_STAYS_IO_URING, 0}, {__NR_io_uring_enter, USF_STAYS_IO_URING, 0}, {__NR_io_uring_register, USF_STAYS_IO_URING, 0},
    {__NR_signalfd, USF_STAYS_SIGNALFD, 0}, {__NR_signalfd4, USF_STAYS_SIGNALFD, 0},
};
#define NR_STAY (sizeof stay / sizeof *stay)

/* A counter of the calling thread that its threads inherit: struct perf_event_attr.inherit. */
static bool counts_inherited(const struct gate_frame *f)
{
    uint32_t flags;
    return (int32_t)f->arg[1] == 0 && sync_read((const uint32_t *)f->arg[0] + 10, &flags) && flags & 2;
}

/* The call only asks, or what it sets is not inherited. */
static bool asks(const struct gate_frame *f)
{
    switch (f->nr) {
    case __NR_personality: case __NR_setfsuid: case __NR_setfsgid: return (uint32_t)f->arg[0] == 0xffffffff;
    case __NR_arch_prctl: return f->arg[0] == 0x1003 /* ARCH_GET_FS */ || f->arg[0] == 0x1004 /* ARCH_GET_GS */ || f->arg[0] == 0x1011 /* ARCH_GET_CPUID */;
    case __NR_keyctl: return f->arg[0] != 1 /* KEYCTL_JOIN_SESSION_KEYRING */ && f->arg[0] != 14 /* ..._SET_REQKEY_KEYRING */ && f->arg[0] != 16 /* ..._ASSUME_AUTHORITY */;
    case __NR_perf_event_open: return !counts_inherited(f);
    default: return false;
    }
}

static long call_stays(struct gate_frame *f)
{
    unsigned i = 0;
    if (arch_context_notes(f->nr, f->arg[0])) return rt_float_go_on(f);
    while (i < NR_STAY - 1 && stay[i].nr != f->nr) i++;
    rt_float_stay(&rt_self, stay[i].why);
    if (f->nr != __NR_set_mempolicy || f->arg[0] != 0 /* MPOL_DEFAULT */) return call_hands_on(f, asks(f) ? 0 : stay[i].hands_on);
    long r = rt_float_go_on(f);         /* libnuma probes, and goes back to that */
    if (r == 0 && !usf_gate_vforked && rt_has_own_self()) atomic_fetch_and(&rt_self.hands_on, ~(uint32_t)RT_HANDS_ON_MEMORY_POLICY);
    return r;
}

/* Looks at whether another thread is at home, and the sleep between two: 0.1 s in all, many times as
 * long as a thread takes to get there. */
#define STAY_LOOKS  100u
#define STAY_NS     1000000u

/* Another thread of the process is to stay on its own kernel thread.  Returns after the last look
 * also if it is not there yet. */
static void have_stay(int32_t tid, bool hands_on)
{
    struct rt_thread *me = &rt_self;
    for (unsigned i = 0; i < STAY_LOOKS; i++) {
        bool there = true;
        rt_list_lock();
        struct rt_thread *t = rt_thread_of(tid);
        if (t && t != me && hands_on) atomic_fetch_or(&t->hands_on, RT_HANDS_ON_STATE);
        if (t && t != me && t->self.home && t->self.task != USF_NONE && !t->stays_why) {
            atomic_store(&t->self.keeps_home, 1);
            there = i && carrier_is_home(&t->self);     /* at the second look: it may have been about to leave */
            int32_t at = there ? 0 : carrier_alert(&rt.sched, t->self.task);
            if (at) rt.sched.poke(at);
        }
        rt_list_unlock();
        if (there) return;
        os_sleep(STAY_NS);
    }
}

/* A call concerns that thread's kernel thread from now on. */
static void stays_for(int32_t tid, enum usf_stays why)
{
    if (tid == rt_self.tid) rt_float_stay(&rt_self, why);
    else if (rt_floats(&rt_self)) have_stay(tid, why == USF_STAYS_SCHEDULING);
}

/* The call sets how the kernel schedules that thread. */
static long call_schedules(struct gate_frame *f, int32_t tid)
{
    stays_for(tid, USF_STAYS_SCHEDULING);
    return call_hands_on(f, tid == rt_self.tid ? RT_HANDS_ON_STATE : 0);
}

/* Calls that name a thread; 0 is the calling one. */
static int32_t named(uint64_t arg) { return (int32_t)arg ? (int32_t)arg : rt_self.tid; }

static long call_names_thread(struct gate_frame *f) { return call_schedules(f, named(f->arg[0])); }
static long call_home_if_own(struct gate_frame *f)
{
    return named(f->arg[0]) == rt_self.tid ? call_at_home(f) : rt_float_go_on(f);
}
/* Also ioprio_set. */
static long call_priority(struct gate_frame *f)
{
    bool one = f->arg[0] == (f->nr == __NR_setpriority ? PRIO_PROCESS : 1 /* IOPRIO_WHO_PROCESS */);
    return one ? call_schedules(f, named(f->arg[1])) : rt_float_go_on(f);
}

#define NAME_LEN 16u

/* A whole word of 4 bytes is on one page. */
static bool read_byte(uint64_t at, uint8_t *to)
{
    uint32_t word;
    if (!sync_read((const uint32_t *)(at & ~3ull), &word)) return false;
    *to = (uint8_t)(word >> 8 * (at & 3));
    return true;
}

/* The name is in a file, too: a thread that is away need not go home for it.  What is executed
 * there may compute for long, or sleep in a call with all signals blocked. */
static long call_name(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    bool sets = (int)f->arg[0] == PR_SET_NAME;
    char path[40], *name = (char *)f->arg[1];
    uint32_t n = 0;
    if (!rt_floats(t) || (!t->self.stays && carrier_try_home(&rt.sched, &t->self))) return rt_float_go_on(f);
    for (uint8_t c = 1; sets && n < NAME_LEN - 1 && c; n += c != 0)
        if (!read_byte(f->arg[1] + n, &c)) return -EFAULT;
    usf_format(path, sizeof path, "/proc/self/task/%d/comm", t->tid);
    int fd = os_open(path, sets ? O_WRONLY | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return call_at_home(f);
    long r = usf_syscall(sets ? __NR_write : __NR_read, fd, name, sets ? n : NAME_LEN);
    os_close(fd);
    if (r == -EFAULT) return r;
    if (sets ? r != n : r <= 0) return call_at_home(f);
    if (sets) return 0;
    name[r - 1] = 0;            /* instead of the newline */
    return 0;
}

static long call_prctl(struct gate_frame *f)
{
    switch ((int)f->arg[0]) {
    case PR_SET_NAME: case PR_GET_NAME: return call_name(f);
    case PR_GET_TID_ADDRESS: return call_at_home(f);
    case PR_SET_VMA: case PR_GET_DUMPABLE: case PR_SET_DUMPABLE: case PR_SET_CHILD_SUBREAPER: case PR_GET_CHILD_SUBREAPER:
    case PR_SET_MM: case PR_SET_PTRACER: case PR_SET_THP_DISABLE: case PR_GET_THP_DISABLE: case PR_CAPBSET_READ: return rt_float_go_on(f);
    }
    if (f->arg[0] >> 16) return rt_float_go_on(f);      /* usf's own are of the process or the task */
    rt_float_stay(&rt_self, USF_STAYS_PRCTL);
    switch ((int)f->arg[0]) {
    case PR_SET_PDEATHSIG: case PR_GET_PDEATHSIG: case PR_GET_TIMERSLACK: case PR_GET_NO_NEW_PRIVS: case PR_GET_KEEPCAPS: case PR_GET_SECCOMP:
    case PR_GET_SECUREBITS: case PR_GET_TIMING: case PR_GET_TSC: case PR_GET_SPECULATION_CTRL: case PR_MCE_KILL_GET:
    case 58 /* PR_GET_IO_FLUSHER */: case 65 /* PR_SET_MDWE */: case 66: case 67 /* PR_SET_MEMORY_MERGE */: case 68: return rt_float_go_on(f);
    default: return call_hands_on(f, RT_HANDS_ON_STATE);
    }
}

static long call_futex(struct gate_frame *f)
{
    if (rt_float_sets_user()) return rt_wake_for_nobody(f);
    rt_forget_left_handlers(&rt_self);
    switch ((int)f->arg[1] & FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI: case FUTEX_LOCK_PI2: case FUTEX_UNLOCK_PI: case FUTEX_TRYLOCK_PI: case FUTEX_WAIT_REQUEUE_PI:
        rt_float_stay(&rt_self, USF_STAYS_PI);
    }
    return rt_float_go_on(f);
}

static long call_robust_list(struct gate_frame *f)
{
    long r = call_at_home(f);
    if (r == 0) rt_self.robust = (const void *)f->arg[0];
    return r;
}

/* The keyring that the key is put into.  The thread's own, its process's and its session's are made
 * for this kernel thread if it has none; the threads that it creates have the latter two as well. */
static long call_key(struct gate_frame *f)
{
    int32_t to = (int32_t)f->arg[f->nr == __NR_add_key ? 4 : 3];
    bool own = to <= -1 /* KEY_SPEC_THREAD_KEYRING */ && to >= -3 /* KEY_SPEC_SESSION_KEYRING */;
    if (own || f->nr == __NR_request_key) rt_float_stay(&rt_self, USF_STAYS_USER);
    return call_hands_on(f, own ? RT_HANDS_ON_STATE : 0);
}

/* struct sigevent: value, signal, kind, thread */
static long call_timer_create(struct gate_frame *f)
{
    uint32_t kind = 0, tid = 0;
    const uint32_t *event = (const uint32_t *)f->arg[1];
    int32_t clock = (int32_t)f->arg[0];
    if (rt_is_own_cpu_clock(clock)) rt_float_stay(&rt_self, USF_STAYS_TIMER);
    if (event && sync_read(event + 3, &kind) && kind == 4 /* SIGEV_THREAD_ID */ && sync_read(event + 4, &tid)) stays_for((int32_t)tid, USF_STAYS_TIMER);
    long r = rt_float_go_on(f);
    if (r == 0 && (clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID)) atomic_store(&rt.cpu_timers, true);
    return r;
}

static long call_unshare(struct gate_frame *f)
{
    if (f->arg[0]) rt_float_stay(&rt_self, USF_STAYS_NAMESPACE);
    return call_hands_on(f, f->arg[0] ? RT_HANDS_ON_STATE : 0);
}

/* With a table of descriptors of its own. */
static long call_close_range(struct gate_frame *f)
{
    bool own = f->arg[2] & 2 /* CLOSE_RANGE_UNSHARE */;
    if (own) rt_float_stay(&rt_self, USF_STAYS_NAMESPACE);
    return call_hands_on(f, own ? RT_HANDS_ON_STATE : 0);
}

/* A descriptor whose signals go to one thread. */
static long call_fcntl(struct gate_frame *f)
{
    uint32_t type, tid;
    const uint32_t *owner = (const uint32_t *)f->arg[2];
    if (f->arg[1] == 15 /* F_SETOWN_EX */ && sync_read(owner, &type) && type == 0 /* F_OWNER_TID */ && sync_read(owner + 1, &tid))
        stays_for((int32_t)tid, USF_STAYS_TIMER);
    return rt_float_go_on(f);
}

/* The new program is this kernel thread: what the thread has pending is pending there. */
static long call_exec(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    if (!rt_floats(t)) return rt_float_go_on(f);
    rt_float_try_home(t);
    rt_float_attend(t, ~0ull);
    long r = rt_float_go_on(f);
    if (rt_floats(t) && !t->stays_why) rt_float_withdraw(t, ~0ull);
    return r;
}

/* For the calling thread's own children, which are those of its kernel thread. */
static long call_wait(struct gate_frame *f)
{
    uint64_t options = f->nr == __NR_wait4 ? f->arg[2] : f->arg[3];
    return options & __WNOTHREAD ? call_at_home(f) : rt_float_go_on(f);
}

static const uint16_t at_home[] = {__NR_get_robust_list};
static const uint16_t names_thread[] = {__NR_sched_setscheduler, __NR_sched_setparam, __NR_sched_setattr};
static const uint16_t home_if_own[] = {__NR_sched_setaffinity};
static const uint16_t execs[] = {__NR_execve, __NR_execveat};
static const uint16_t waits[] = {__NR_wait4, __NR_waitid};
static const uint16_t keys[] = {__NR_add_key, __NR_request_key};

static void wrap(uint16_t nr, gate_handler handler)
{
    gate_handler *slot = &usf_gate_handlers[nr];
    next_handler[nr] = *slot;
    *slot = handler;
}

#define WRAP(list, handler) for (unsigned i = 0; i < sizeof list / sizeof *list; i++) wrap(list[i], handler)

static void install(void)
{
    for (unsigned i = 0; i < NR_STAY; i++) wrap(stay[i].nr, call_stays);
    WRAP(at_home, call_at_home);
    WRAP(rt_set_users, rt_call_set_users);
    WRAP(names_thread, call_names_thread);
    WRAP(home_if_own, call_home_if_own);
    WRAP(execs, call_exec);
    WRAP(waits, call_wait);
    WRAP(keys, call_key);
    wrap(__NR_set_robust_list, call_robust_list);
    wrap(__NR_setpriority, call_priority);
    wrap(__NR_ioprio_set, call_priority);
    wrap(__NR_prctl, call_prctl);
    wrap(__NR_rt_sigprocmask, rt_call_sigprocmask);
    wrap(__NR_rt_sigpending, rt_call_sigpending);
    wrap(__NR_gettid, call_gettid);
    wrap(__NR_tgkill, rt_call_tgkill);
    wrap(__NR_tkill, rt_call_tkill);
    wrap(__NR_rt_tgsigqueueinfo, rt_call_tgsigqueueinfo);
    wrap(__NR_futex, call_futex);
    wrap(__NR_timer_create, call_timer_create);
    wrap(__NR_unshare, call_unshare);
    wrap(__NR_fcntl, call_fcntl);
    wrap(__NR_clock_gettime, rt_call_clock_gettime);
    wrap(__NR_getrusage, rt_call_getrusage);
}

/* Before the code is patched: the calls are seen from the start. */
void rt_float_init(void)
{
    wrap(__NR_close_range, call_close_range);     /* the thread cache does not see it */
    if (rt.settings.floats.on) install();
}
