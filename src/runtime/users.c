/* src/runtime/users.c - the user and groups of threads that float.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel keeps them for each kernel thread.  libc's setuid and its like change those of all
 * threads: the calling thread has each other one make the call in a handler, by signal 33, and
 * makes it itself at last.  It knows its threads by the ids of the kernel threads that they began
 * as.  So the handler is run on that kernel thread, with the storage of the thread that began
 * there.  A kernel thread whose own thread has ended elsewhere is not in libc's list: it makes the
 * call at our request (apply).  A thread that makes the call by itself, for itself alone, stays at
 * home. */
#include <errno.h>

#include "runtime/runtime.h"
#include "sched/carrier.h"

/* The call that was made for all threads last. */
static struct { long nr, arg[3]; } users;

/* libc's handler for setuid acts upon the kernel thread that executes it, and answers for the
 * thread whose storage is in use: here that of the thread which began here.  It is entered with all
 * signals blocked.  It wakes the caller, which takes locks that a thread in a critical section may
 * have: then it comes again when that ends, or when another is executed here.  False: nothing of
 * this concerns it. */
bool rt_float_setxid(struct rt_thread *t, void (*handler)(int, siginfo_t *, void *), int sig, siginfo_t *info, void *ctx)
{
    int32_t tid = os_gettid();
    if (!rt.sched.carriers) return false;
    if (t->self.home && t->tid == tid && !t->self.crit) {
        t->sets_users = true;           /* at home: the handler runs as any other */
        return false;
    }
    struct rt_thread *home = rt_float_born(tid);          /* no lock: libc has its own list locked, and the thread is in it */
    if (!home) return false;
    struct carrier *k = home->self.home;
    if (t->self.home && t->self.crit) {
        k->set_user_later = t->attend_later = true;
        return true;
    }
    uint64_t tls = arch_tls();
    k->sets_user = true;
    k->user_calls++;
    usf_lock_unchecked();
    arch_set_tls((uint64_t)home + rt_tls_self);
    handler(sig, info, ctx);
    arch_set_tls(tls);
    k->sets_user = false;
    return true;
}

/* Is this that handler?  Its storage is a thread's that may be executed elsewhere. */
bool rt_float_sets_user(void)
{
    const struct carrier *home = rt_self.self.home;
    return USF_UNLIKELY(home && home->sets_user) && os_gettid() == home->tid;
}

/* ---- kernel threads that libc does not know ------------------------------------------------------- */

/* In the handler of the runtime's own signal, on that kernel thread. */
void rt_float_apply_users(struct rt_thread *t)
{
    struct carrier *k = t->self.carrier;
    usf_dassert(t == &rt_self);
    if (USF_LIKELY(!k) || USF_LIKELY(!atomic_load(&k->set_user_now))) return;
    usf_xassert(rt_is_executed_here(t));
    usf_syscall(users.nr, users.arg[0], users.arg[1], users.arg[2]);
    k->user_calls++;
    atomic_store(&k->set_user_now, false);
    os_futex_wake(&k->set_user_now, 1);
}

#define ANSWER_NS  10000000u
#define ANSWERS    500u
static void have_orphans_apply(void)
{
    uint32_t hwm = atomic_load(&rt.sched.h->task_hwm);
    for (uint32_t i = 0; i < hwm; i++) {
        struct carrier *k = &rt.sched.carriers[i];
        if (!k->orphan || !atomic_load(&rt.sched.threads[i].claim)) continue;
        atomic_store(&k->set_user_now, true);
        for (uint32_t n = 0; atomic_load(&k->set_user_now) && atomic_load(&rt.sched.threads[i].claim); n++) {
            if (n == ANSWERS) {
                usf_warn_once("a kernel thread of %s keeps the user that it had: it does not take signal %d", rt.comm, RT_SIGNAL);
                break;
            }
            os_signal_thread(rt.pid, k->tid, RT_SIGNAL, RT_ROOM_MAGIC);
            os_futex_wait(&k->set_user_now, 1, os_now() + ANSWER_NS);
        }
    }
}

/* One that has missed a call must not go on without its thread: that one ends there. */
bool rt_float_has_missed_users(const struct rt_thread *t)
{ return t->self.home->user_calls != atomic_load(&rt.sched.user_calls); }

long rt_call_set_users(struct gate_frame *f)
{
    struct rt_thread *t = &rt_self;
    bool for_all = t->sets_users, last = for_all && t->tells_users;
    if (rt_float_sets_user()) return rt_pass(f);
    t->sets_users = false;
    if (!rt_floats(t)) return rt_float_go_on(f);
    t->tells_users = false;
    bool own = !for_all && os_own_threads() != 1;
    if (for_all) t->self.home->user_calls++;
    if (own) rt_float_stay(t, USF_STAYS_USER);
    rt_float_go_home(t);
    const long nr = (long)f->nr, arg[] = {(long)f->arg[0], (long)f->arg[1], (long)f->arg[2]};
    long r = rt_float_go_on(f);
    if (own && r == 0) rt_float_hand_on(t, RT_HANDS_ON_STATE);
    if (!last) return r;
    atomic_fetch_add(&rt.sched.user_calls, 1);
    users.nr = nr;
    for (unsigned i = 0; i < 3; i++) users.arg[i] = arg[i];
    if (r == 0) have_orphans_apply();
    return r;
}
