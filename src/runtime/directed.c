/* src/runtime/directed.c - signals to a thread that floats.  SPDX-License-Identifier: Apache-2.0
 *
 * A signal that the program sends to one of its threads is kept in the thread's record, and the
 * thread raises it to itself where it is executed (rt_float_attend).  One that another process
 * sends to a thread comes to the kernel thread that the thread began as: what is executed there
 * keeps it for that thread (rt_float_forwards).  A signal of the process is kept for the first
 * thread in the same way, if that does not block it.  What a thread blocks stays in its record until
 * it does not, or waits for it: in the kernel it would be left pending for another thread. */
#include <errno.h>
#include <sys/mman.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"

#define SENT_SIZE (RT_SENT_MAX * sizeof(struct rt_sent))

static struct rt_sent **sent;       /* by home; null: the thread has not been sent any yet */

void rt_directed_init(struct rt_sent **room) { sent = room; }

static struct rt_sent *sent_of(const struct rt_thread *t) { return sent[t->self.home - rt.sched.carriers]; }

static struct rt_sent *make_room(const struct rt_thread *t)
{
    struct rt_sent **at = &sent[t->self.home - rt.sched.carriers];
    if (*at) return *at;
    void *p = os_map(SENT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return os_is_error(p) ? 0 : (*at = p);
}

/* The thread's signals: each is one, and one that is not queued is there once.  Holds
 * rt.list_lock. */
static bool sent_is_valid(const struct rt_thread *t)
{
    const struct rt_sent *all = sent_of(t);
    uint32_t once = 0;
    if (t->nr_sent > RT_SENT_MAX || (t->nr_sent && !all)) return false;
    for (uint32_t i = 0; i < t->nr_sent; i++) {
        if (all[i].sig < 1 || all[i].sig > RT_SIGNALS || (all[i].sig < 32 && once >> all[i].sig & 1)) return false;
        if (all[i].sig < 32) once |= 1u << all[i].sig;
    }
    return true;
}

static bool is_directed(const siginfo_t *info) { return info->si_code == SI_TKILL; }

/* Does the thread block it, and does not wait for it? */
static bool is_blocked(const struct rt_thread *t, int sig) { return (t->self.mask & ~t->sigwaits) >> (sig - 1) & 1; }

/* The runtime's signal would not interrupt it.  A parked thread looks when it is executed, unless it
 * waits where it is, in a handler. */
static bool is_unresponsive(const struct rt_thread *t)
{
    return (t->self.mask | t->call_mask) >> (RT_SIGNAL - 1) & 1
           && (t->self.stays || *(const volatile uint32_t *)&t->self.where != SCHED_PARKED);
}

/* holds rt.list_lock.  False: there is no room. */
static bool keep_sent(struct rt_thread *t, int sig, const siginfo_t *info)
{
    usf_dassert(sig >= 1 && sig <= RT_SIGNALS && t->self.home);
    usf_xassert(usf_lock_is_held(USF_RANK_LIST) && sent_is_valid(t));
    struct rt_sent *sent = make_room(t);
    uint32_t n = t->nr_sent;
    if (!sent) return false;
    for (uint32_t i = 0; i < n && sig < 32; i++)
        if (sent[i].sig == sig) return true;        /* pending once, as in the kernel */
    if (n == RT_SENT_MAX) return false;
    sent[n].sig = sig;
    __builtin_memcpy(sent[n].info, info, sizeof sent[n].info);
    t->nr_sent = n + 1;
    USF_POINT("signal.kept");
    usf_xassert(sent_is_valid(t));
    return true;
}

/* Others may send it one at the same time. */
static bool keep_own(struct rt_thread *t, int sig, const siginfo_t *info)
{
    rt_list_lock();
    bool kept = keep_sent(t, sig, info);
    rt_list_unlock();
    return kept;
}

/* Of the process, not of one thread?  The kernel sends some to the thread that has earned them: what
 * comes of its own writes, and of CPU time, which the thread that computes is to tell a profiler.
 * (pthread_sigqueue is not told from a sigqueue to the own process.) */
static bool is_of_process(int sig, const siginfo_t *info)
{
    switch (sig) {
    case SIGPIPE: case SIGXFSZ: case SIGXCPU: case SIGPROF: case SIGVTALRM: case SIGSYS: return false;
    }
    if (info->si_code == SI_TIMER) return !atomic_load_explicit(&rt.cpu_timers, memory_order_relaxed);
    return !is_directed(info) && !(info->si_code == SI_QUEUE && info->si_pid == rt.pid);
}

/* holds rt.list_lock.  Of these signals, those of the process are its again: another thread may take
 * them. */
static void give_back(struct rt_thread *t, uint64_t signals)
{
    uint32_t kept = 0;
    struct rt_sent *all = t->nr_sent ? sent_of(t) : 0;
    for (uint32_t i = 0; i < t->nr_sent; i++) {
        const siginfo_t *info = (const siginfo_t *)(const void *)all[i].info;
        int sig = all[i].sig;
        if (!(signals >> (sig - 1) & 1) || !is_of_process(sig, info)) all[kept++] = all[i];
        /* Only the first thread may say that another process has sent it. */
        else if (usf_syscall(__NR_rt_sigqueueinfo, rt.pid, sig, info) < 0) usf_syscall(__NR_kill, rt.pid, sig);
    }
    t->nr_sent = kept;
}

void rt_directed_forget(struct rt_thread *t)
{
    struct rt_sent **at = &sent[t->self.home - rt.sched.carriers];
    rt_list_lock();
    give_back(t, ~0ull);
    t->nr_sent = 0;
    if (*at) usf_syscall(__NR_munmap, *at, SENT_SIZE);
    *at = 0;
    rt_list_unlock();
}

/* Take the next one out that the thread does not block, or that is one of `waits`. */
static bool take_sent(struct rt_thread *t, uint64_t waits, struct rt_sent *out)
{
    bool found = false;
    rt_list_lock();
    struct rt_sent *sent = sent_of(t);
    for (uint32_t i = 0; i < t->nr_sent && !found; i++) {
        if (!((~t->self.mask | waits) >> (sent[i].sig - 1) & 1)) continue;
        *out = sent[i];
        __builtin_memmove(&sent[i], &sent[i + 1], (--t->nr_sent - i) * sizeof *sent);
        found = true;
    }
    usf_xassert(sent_is_valid(t));
    rt_list_unlock();
    if (found) USF_POINT("signal.taken");
    return found;
}

/* What was sent to the calling thread, raised where it is executed: these signals.  What it blocks
 * stays in its record, or it would be left pending in a kernel thread that executes another next.
 * waits: raise also those of these, which it is about to wait for; one alone, if the call takes one
 * (waits_for_one). */
uint64_t rt_float_attend(struct rt_thread *t, uint64_t waits)
{
    struct rt_sent now;
    uint64_t raised = 0;
    uint32_t task = t->self.task;
    if (!t->self.home || task == USF_NONE) return 0;
    usf_dassert(rt_thread_is_valid(t));
    usf_xassert(rt_is_executed_here(t));
    if (!__atomic_load_n(&t->nr_sent, __ATOMIC_RELAXED) && !atomic_load_explicit(&rt.sched.floating[task].attention, memory_order_relaxed)) return 0;
    atomic_store(&rt.sched.floating[task].attention, 0);
    sched_crit_enter(&t->self);
    while (take_sent(t, waits, &now)) {
        uint64_t bit = 1ull << (now.sig - 1);
        raised |= bit;
        const siginfo_t *info = (const siginfo_t *)(const void *)now.info;
        if (!is_directed(info) || info->si_pid != rt.pid) t->raises |= bit;
        if (waits & t->self.mask & bit && t->waits_for_one) waits = 0;
        rt_raise(now.sig, now.info);
    }
    sched_crit_leave(&rt.sched, &t->self);
    return raised;
}

static bool withdraw_one(struct rt_thread *t, uint64_t signals)
{
    siginfo_t info;
    const struct { int64_t sec, ns; } now = {0, 0};
    long sig = usf_syscall(__NR_rt_sigtimedwait, &signals, &info, &now, 8);
    if (sig <= 0) return false;
    bool kept = keep_own(t, (int)sig, &info);
    if (!kept) rt_raise((int)sig, &info);
    return kept;
}

/* These are pending in the kernel thread, if the thread blocks them: a call was to take them and
 * has not, or they came before the process took part.  They are not to stay there.  Those of the
 * process are not touched: only the kernel can put them back as they were. */
void rt_float_withdraw(struct rt_thread *t, uint64_t signals)
{
    uint64_t pending = 0;
    usf_xassert(rt_is_executed_here(t));
    signals &= t->self.mask;
    if (!signals || usf_syscall(__NR_rt_sigpending, &pending, 8) || !(pending & signals)) return;
    sched_crit_enter(&t->self);
    while ((pending = os_own_pending() & signals) && withdraw_one(t, pending)) {}
    sched_crit_leave(&rt.sched, &t->self);
}

/* Has the thread raised this one itself, because it is its own? */
static bool has_raised(struct rt_thread *t, int sig)
{
    uint64_t bit = 1ull << (sig - 1);
    bool raised = t->raises & bit;
    t->raises &= ~bit;
    return raised;
}

/* Another process's may be meant for the thread that began as this kernel thread. */
static bool is_for(struct rt_thread *t, int sig, const siginfo_t *info)
{ return has_raised(t, sig) || (is_directed(info) && info->si_pid == rt.pid); }

/* A signal came while `from` was in a critical section, and `to` is executed on that kernel thread
 * now.  What may be another thread's goes to `to`, which raises it again when its own section ends,
 * and forwards it. */
void rt_float_pass_signal(struct rt_thread *to, struct rt_thread *from)
{
    int sig = (int)from->deferred;
    uint64_t mask = from->deferred_mask;
    const siginfo_t *info = (const siginfo_t *)(const void *)from->deferred_info;
    usf_dassert(sig >= 1 && sig <= RT_SIGNALS && to != from && to->self.crit && from->self.crit);
    usf_xassert(rt_is_executed_here(to));
    from->deferred = 0;
    if (!from->self.context) atomic_store(&from->self.signalled, 0);
    else if (is_for(from, sig, info) && from->self.task != USF_NONE && keep_own(from, sig, info)) {
        rt_signal_is_again(sig);
        atomic_store(&rt.sched.floating[from->self.task].attention, 1);        /* it is not published yet, and is woken for that */
        rt_set_mask(mask);
        return;
    }
    if (to->deferred) {
        to->deferred_mask &= mask;
        rt_raise(sig, info);    /* pending until the mask is restored */
        return;
    }
    to->deferred = (uint32_t)sig;
    to->deferred_mask = mask;
    __builtin_memcpy(to->deferred_info, from->deferred_info, sizeof to->deferred_info);
    if (!to->self.context) atomic_store(&to->self.signalled, 1);
}

/* holds rt.list_lock.  The thread gets the signal where it is executed.  False: the caller keeps
 * it. */
static bool forward(struct rt_thread *to, int sig, const siginfo_t *info)
{
    if (!to->self.home || to->self.task == USF_NONE || !keep_sent(to, sig, info)) return false;
    rt_signal_is_again(sig);
    int32_t at = carrier_alert(&rt.sched, to->self.task);
    if (at) os_signal_thread(rt.pid, at, RT_SIGNAL, RT_ROOM_MAGIC);
    return true;
}

/* Not while it is in a handler, which may block it, or in a call whose mask does. */
static bool takes_now(const struct rt_thread *t, int sig)
{ return !is_blocked(t, sig) && !(t->call_mask >> (sig - 1) & 1) && !t->handler_stays && !is_unresponsive(t); }

/* The kernel gives a signal of the process to its first thread if that does not block it, so that
 * an ordinary program's main thread gets Ctrl-C: to the first thread's kernel thread.  `t` is not
 * the first thread, and is executed there, or blocks less than the thread that is.  One that stays
 * at home may be the owner of a descriptor or of a timer, and the signal its own. */
static bool forward_to_first(struct rt_thread *t, int sig, const siginfo_t *info)
{
    bool kept = false;
    if (t->tid == rt.pid || t->stays_why || atomic_load(&t->self.keeps_home) || !is_of_process(sig, info)) return false;
    rt_list_lock();
    struct rt_thread *first = rt.first;
    if (first && first != t && !first->stays_why && takes_now(first, sig)) kept = forward(first, sig, info);
    rt_list_unlock();
    return kept;
}

/* `t` has got a signal that is another thread's: of the process, or of another process to the thread
 * that began as this kernel thread, and that is executed elsewhere or has ended.  True: it is done
 * with: that thread gets it, or no thread does, because that one has ended. */
bool rt_float_forwards(struct rt_thread *t, int sig, const siginfo_t *info)
{
    struct carrier *k = t->self.carrier;
    usf_dassert(sig >= 1 && sig <= RT_SIGNALS);
    if (!k || t->self.crit || has_raised(t, sig)) return false;
    usf_xassert(rt_is_executed_here(t));
    if (!is_directed(info)) return forward_to_first(t, sig, info);
    if (info->si_pid == rt.pid || carrier_is_home(&t->self)) return false;
    rt_list_lock();
    struct rt_thread *to = rt_thread_of(k->tid);
    bool ended = !to || (to->self.task == USF_NONE && t->self.task != USF_NONE);       /* or it is about to */
    bool kept = !ended && to != t && to->self.home == k && forward(to, sig, info);
    rt_list_unlock();
    return kept || ended;
}

/* ---- calls --------------------------------------------------------------------------------------- */

long rt_call_sigprocmask(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    long r = rt_float_go_on(f);
    if (r == 0 && f->arg[1] && rt_floats(t)) {
        sched_crit_enter(&t->self);
        uint64_t mask = 0;
        usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, 0, &mask, 8);
        t->self.mask = t->self.carrier->mask = t->deferred ? t->deferred_mask : mask;
        if (__atomic_load_n(&t->nr_sent, __ATOMIC_RELAXED)) {
            rt_list_lock();
            give_back(t, t->self.mask);
            rt_list_unlock();
        }
        sched_crit_leave(&rt.sched, &t->self);
        rt_float_attend(t, 0);
    }
    return r;
}

/* A handler has returned: the kernel restores this mask. */
void rt_float_returns(struct rt_thread *t, uint64_t mask)
{ if (t->self.home) t->self.mask = t->self.carrier->mask = mask; }

/* Those that are pending in the kernel may be another thread's, but only between two of its looks:
 * what it blocks stays in the record. */
long rt_call_sigpending(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    uint64_t *set = (void *)f->arg[0];
    long r = rt_pass(f);
    if (r || !rt_floats(t) || f->arg[1] < sizeof *set) return r;
    rt_list_lock();
    for (uint32_t i = 0; i < t->nr_sent; i++)
        if (t->self.mask >> (sent_of(t)[i].sig - 1) & 1) *set |= 1ull << (sent_of(t)[i].sig - 1);
    rt_list_unlock();
    return 0;
}

/* A kernel thread whose own thread has ended: the program must not find it. */
static bool is_orphan(int32_t tid)
{
    uint32_t hwm = rt.sched.h ? atomic_load(&rt.sched.h->task_hwm) : 0;
    for (uint32_t i = 0; i < hwm; i++)
        if (rt.sched.carriers[i].orphan && rt.sched.carriers[i].tid == tid && atomic_load(&rt.sched.threads[i].claim)) return true;
    return false;
}

/* To a thread of this process. */
static long send_to(struct gate_frame *f, int32_t tid, int sig, const siginfo_t *with)
{
    struct rt_thread *me = &rt_self, *t;
    siginfo_t info = {.si_signo = sig, .si_code = SI_TKILL};
    int32_t at = 0;
    long r = 0;
    if (sig < 0 || sig > RT_SIGNALS || !rt.sched.carriers) return rt_pass(f);
    if (sig == 0) return is_orphan(tid) ? -ESRCH : rt_pass(f);
    if (sig == RT_SETXID_SIGNAL) {
        me->sets_users = me->tells_users = true;
        return rt_pass(f);
    }
    if (tid == me->tid && rt_floats(me) && (!(me->self.mask >> (sig - 1) & 1) || me->stays_why)) {
        struct gate_frame own = *f;
        *(f->nr == __NR_tkill ? &own.arg[0] : &own.arg[1]) = (uint32_t)os_gettid();
        return rt_pass(&own);
    }
    if (with) info = *with;
    else {
        info.si_pid = rt.pid;
        info.si_uid = (uid_t)usf_syscall(__NR_getuid);
    }
    rt_list_lock();
    t = rt_thread_of(tid);
    if (!t || !t->self.home || t->self.task == USF_NONE || t->stays_why) t = 0;
    else if (!keep_sent(t, sig, &info)) r = -EAGAIN;
    else at = carrier_alert(&rt.sched, t->self.task);
    if (t && (t == me || is_blocked(t, sig))) at = 0;       /* it looks when it does not block it */
    if (at && is_unresponsive(t) && t->nr_sent && sent_of(t)[t->nr_sent - 1].sig == sig) {
        t->nr_sent--;           /* it would not be interrupted: to where it is, then */
        r = with ? usf_syscall(__NR_rt_tgsigqueueinfo, rt.pid, at, sig, &info) : usf_syscall(__NR_tgkill, rt.pid, at, sig);
    } else if (at) {
        os_signal_thread(rt.pid, at, RT_SIGNAL, RT_ROOM_MAGIC);
    }
    rt_list_unlock();
    if (t) return r;
    if (is_orphan(tid)) return -ESRCH;
    struct gate_frame there = *f;
    *(f->nr == __NR_tkill ? &there.arg[0] : &there.arg[1]) = (uint32_t)rt_float_executed_by(tid);
    return rt_pass(&there);
}

long rt_call_tgkill(struct gate_frame *f)
{ return (int32_t)f->arg[0] == rt.pid && !rt_vforked() ? send_to(f, (int32_t)f->arg[1], (int)f->arg[2], 0) : rt_pass(f); }
long rt_call_tkill(struct gate_frame *f)
{ return rt_vforked() ? rt_pass(f) : send_to(f, (int32_t)f->arg[0], (int)f->arg[1], 0); }
long rt_call_tgsigqueueinfo(struct gate_frame *f)
{
    siginfo_t info;
    if ((int32_t)f->arg[0] != rt.pid || rt_vforked() || !sync_read_words(&info, (const void *)f->arg[3], sizeof info)) return rt_pass(f);
    info.si_signo = (int)f->arg[2];
    return send_to(f, (int32_t)f->arg[1], (int)f->arg[2], &info);
}
