/* src/sched/park.c - how a thread sleeps until it has a core, and is woken.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "sched/carrier.h"
#include "sched/thread.h"
#include "sched/times.h"
#include "shm/shm.h"

struct usf_task sched_gone = {.state = USF_TASK_GONE, .core = USF_NONE};
struct usf_thread sched_gone_thread;

/* Is another thread taking the process off?  The thread that joins again for the process waits for
 * a core as any thread does. */
static bool is_leaving(struct sched *s, struct sched_self *me)
{ return USF_UNLIKELY(atomic_load(&s->leaving)) && !me->joining; }

static struct usf_thread *own_thread(struct sched *s, struct sched_self *me)
{ return USF_LIKELY(me->task != USF_NONE) ? sched_thread_of(s, me->task) : &sched_gone_thread; }

/* A thread that waits for a core on behalf of a handler takes no other signal meanwhile: else each
 * one would wait on top of the one before. */
static void hold_signals(struct sched *s, struct sched_self *me)
{ if (USF_UNLIKELY(me->entering) && s->hold) s->hold(me); }

/* Members leave if the lock does not move, which an attempt to take it finds out, and if the
 * instance is condemned. */
static void look_if_stalled(struct sched *s, struct sched_self *me)
{
    if (s->look_for_monitor && shm_is_condemned(s->h)) s->look_for_monitor(s);
    else if (core_enter(s, me)) core_leave(s, me, &(struct wakes){0});
}

/* ---- parking ---------------------------------------------------------------------------------- */
/* The sleeper writes ASLEEP and then looks at its state; the dispatcher has set the state to
 * RUNNING and then swaps the park word.  In the one total order of these four either the sleeper
 * sees RUNNING or the dispatcher sees ASLEEP: no wake-up is lost (models/park.pml).  GO and PINNING
 * left behind by a late waker are overwritten by the next ASLEEP, and a needless futex wake only
 * makes the sleeper look again. */

_Static_assert(USF_PARK_AT_END == OS_FUTEX_AT_END, "one bit");

/* Does the thread sleep, or is it about to?  Its last waker may have ended, and have left the
 * wake-up to the kernel. */
static bool is_asleep(uint32_t park) { return park == USF_PARK_ASLEEP || usf_park_is_kept(park) || park & USF_PARK_AT_END; }

/* Has the CPU that the task's thread is bound to been given to another task? */
static bool is_displaced(struct sched *s, uint32_t task)
{
    uint32_t at = atomic_load(&sched_thread_of(s, task)->pinned);
    uint64_t w = at < s->h->nr_cores ? atomic_load(&s->cores[at].word) : 0;
    return core_state(w) == USF_CORE_RUNNING && core_task(w) != task;
}

void core_rouse(struct usf_thread *t)
{
    uint32_t was = atomic_load(&t->park);
    do {
        if (was == USF_PARK_CLAIMED) return;
    } while (!atomic_compare_exchange_weak(&t->park, &was, USF_PARK_GO));
    os_futex_wake(&t->park, 1);
}

void core_wake(struct sched *s, uint32_t task, bool at_end)
{
    struct usf_thread *t = sched_thread_of(s, task);
    uint32_t core = atomic_load(&s->tasks[task].core), pinning = USF_PARK_PINNING, was = atomic_load(&t->park);
    bool there = bind_is_placed(s, task, core);
    do {
        if (was == USF_PARK_CLAIMED) return;            /* it goes on elsewhere, or the claimer looks again */
    } while (!atomic_compare_exchange_weak(&t->park, &was, USF_PARK_PINNING));
    USF_POINT("sched.pinning");
    if (!is_asleep(was)) {
        /* The thread sees its state by itself, unless it is kept from running where it is.  It may
         * also have gone to sleep again already: then its ASLEEP must stand for the next waker. */
        if (!there && is_displaced(s, task)) bind_other(s, task, core);
        atomic_compare_exchange_strong(&t->park, &pinning, USF_PARK_GO);
        return;
    }
    if (!there) bind_other(s, task, core);
    USF_POINT("sched.wake");
    /* By now it may be in a later wait.  Waking it is harmless. */
    atomic_compare_exchange_strong(&t->park, &pinning, USF_PARK_GO);
    if (!(at_end && !usf_park_is_kept(was) && os_futex_wake_at_end(&t->park, USF_PARK_GO))) os_futex_wake(&t->park, 1);
}

/* Stop polling.  A task that was left in the mailbox in the meantime is woken, in a critical
 * section: a handler that unwinds (pthread_cancel) must not leave it half woken.  True: there was
 * one. */
bool park_leave_poll(struct sched *s, struct sched_self *me)
{
    bool mail = false;
    if (!me->poll_core) return false;
    sched_crit_enter(me);
    uint32_t core = me->poll_core;
    if (!core) {                /* a handler has done it just now */
        sched_crit_leave(s, me);
        return false;
    }
    struct usf_core *c = &s->cores[core - 1];
    uint32_t w = me->task + 1;
    me->poll_core = 0;
    if (!atomic_compare_exchange_strong(&c->poller, &w, 0) && w & USF_MAIL) {
        /* By now it may be another poller's word or mail: the thread that takes mail out delivers
         * it. */
        w = atomic_exchange(&c->poller, 0);
        mail = w & USF_MAIL;
        USF_POINT("sched.mail_taken");
        if (mail) me->entered = os_now();       /* it may switch at once, and is charged with the time until now */
        if (mail && !carrier_claims(s, me, (w & ~USF_MAIL) - 1)) core_wake(s, (w & ~USF_MAIL) - 1, false);
    }
    sched_crit_leave(s, me);
    return mail;
}

/* Poll the core that went idle: until the own task runs again, another task is left in the mailbox,
 * or the time is over.  This takes no system call.  True: another task runs there now. */
bool park_poll(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    uint32_t core = me->poll_core;
    if (!core) return false;    /* a handler has just stopped the polling */
    struct usf_core *c = &s->cores[core - 1];
    struct usf_task *t = own(s, me);
    uint64_t until = os_now() + estimate(&c->poll_ns);
    if (deadline && deadline < until) until = deadline;
    for (unsigned i = 1;; i++) {
        if (atomic_load_explicit(&t->state, memory_order_acquire) == USF_TASK_RUNNING) {
            core_count(&t->n.polls, 1);
            break;
        }
        if (atomic_load_explicit(&c->poller, memory_order_relaxed) != me->task + 1) break;
        if (i % POLL_ROUNDS == 0 && os_now() >= until) break;
        os_pause();
    }
    return park_leave_poll(s, me);
}

/* ---- until it has a core ----------------------------------------------------------------------- */

int core_park(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    int r = 0;
    sched_set_where(me, SCHED_AT(SCHED_PARKED), SCHED_PARKED);
    while (!me->interrupted) {
        struct usf_task *t = own(s, me);        /* afresh: a handler may have forked, and this be the child */
        struct usf_thread *thread = own_thread(s, me);
        if (has_turn(t) || is_leaving(s, me)) break;
        if (!carrier_is_asked_home(me) && carrier_may_leave(s, me)) {
            carrier_leave(s, me, deadline);
            if (deadline && !has_turn(own(s, me)) && os_now() >= deadline) {
                r = -ETIMEDOUT;
                break;
            }
            if (USF_UNLIKELY(atomic_load_explicit(&s->h->stalled, memory_order_relaxed))) look_if_stalled(s, me);
            continue;
        }
        carrier_flush(s, me);
        if (carrier_is_asked_home(me) && s->poke) {
            carrier_await_home(s, me, 0);
            continue;
        }
        carrier_make_room(s, me);
        USF_POINT("sched.parking");
        atomic_exchange(&thread->park, USF_PARK_ASLEEP);
        USF_POINT("sched.park");
        if (has_turn(t) || is_leaving(s, me)) break;
        atomic_store_explicit(&thread->parked, 1, memory_order_relaxed);
        r = os_futex_wait(&thread->park, USF_PARK_ASLEEP, deadline);
        atomic_store_explicit(&thread->parked, 0, memory_order_relaxed);
        if (r == -ETIMEDOUT) break;
        contend_judge(s, t);
        r = 0;
        if (is_leaving(s, me)) break;
        if (USF_UNLIKELY(atomic_load_explicit(&s->h->stalled, memory_order_relaxed))) look_if_stalled(s, me);
    }
    carrier_flush(s, me);
    return me->interrupted ? -EINTR : r;
}

void sched_await_patch(struct sched *s)
{ while (USF_UNLIKELY(atomic_load(&s->patching))) os_futex_wait(&s->patching, 1, 0); }

/* Either a patcher that begins sees this thread in SCHED_USER, and stops it, or this thread sees
 * `patching`. */
void park_go_on(struct sched *s, struct sched_self *me)
{
    usf_dassert(sched_is_at(me, SCHED_ANYWHERE & ~SCHED_AT(SCHED_IN_CALL)));
    __atomic_store_n(&me->where, SCHED_USER, __ATOMIC_SEQ_CST);
    sched_await_patch(s);
}

/* A waker that is binding us may be a moment late; it must not bind us after we have gone on.
 * Linux may have taken it off this very CPU for us, so that it waits for us to yield. */
static __attribute__((noinline)) void await_binder(struct sched *s, struct sched_self *me, struct usf_thread *t)
{
    hold_signals(s, me);
    for (unsigned i = 0; atomic_load(&t->park) == USF_PARK_PINNING && i < PARK_PAUSES + PARK_YIELDS; i++) {
        if (i < PARK_PAUSES) os_pause();
        else os_sched_yield();
    }
}

void core_arrive(struct sched *s, struct sched_self *me)
{
    struct usf_thread *t = own_thread(s, me);
    uint32_t core;
    if (USF_UNLIKELY(atomic_load(&t->park) == USF_PARK_PINNING)) await_binder(s, me, t);
    atomic_store_explicit(&t->park, USF_PARK_NONE, memory_order_relaxed);
    core = atomic_load_explicit(&own(s, me)->core, memory_order_relaxed);
    /* `pinned` is what the last binder believes.  It may have been late, or been killed before the
     * call. Then this thread would run on the CPU of another core, beside that core's thread. */
    if (core < s->h->nr_cores) {
        bool there = bind_is_placed(s, me->task, core), bound = atomic_load_explicit(&t->pinned, memory_order_relaxed) == core;
        bool looks = me->arrivals++ % PARK_ARRIVALS == 0;
        if (!there || (bound && looks && USF_UNLIKELY(os_cpu() != s->cores[core].pol.cpu))) bind_place(s, me->task, core);
    }
    park_go_on(s, me);
}

/* The core was taken before the thread could use it.  Not inlined: a parked thread would keep the
 * stack frame of this for nothing. */
static __attribute__((noinline)) void queue_again(struct sched *s, struct sched_self *me)
{
    NO_WAKES(k);
    if (!core_enter(s, me)) return;
    if (ST(state_of(own(s, me))) & WITHOUT_CORE) core_place(s, me->task, USF_WHY_RETURN, &k);
    core_leave(s, me, &k);
}

/* The thread is blocked, and its core was given to another task, whose thread may be dead, as may
 * be the monitor.  So this thread, which may be the last that lives, looks once after a while.
 * Later a waker looks. */
int core_park_blocked(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    if (carrier_may_leave(s, me)) return core_park(s, me, deadline);     /* its carrier looks */
    uint64_t soon = os_now() + PARK_FIRST_LOOK_NS;
    if (s->look_for_monitor && (!deadline || deadline > soon)) {
        int r = core_park(s, me, soon);
        if (r != -ETIMEDOUT) return r;
        if (sched_core_is_wanted(s)) s->look_for_monitor(s);
        if (state_of(own(s, me)) == USF_TASK_READY) return r;
    }
    return core_park(s, me, deadline);
}

/* Park until the own task is put on a core, whatever happens. */
void core_wait_turn(struct sched *s, struct sched_self *me)
{
    uint32_t intr = me->interrupted;
    uint64_t patience = PARK_FIRST_LOOK_NS;
    me->interrupted = 0;
    while (state_of(own(s, me)) != USF_TASK_RUNNING) {
        hold_signals(s, me);
        if (core_park(s, me, carrier_may_leave(s, me) ? 0 : os_now() + patience) == -ETIMEDOUT) {
            if (s->look_for_monitor) s->look_for_monitor(s);
            if (patience < PARK_LAST_LOOK_NS) patience *= 2;
        }
        if (is_leaving(s, me) || state_of(own(s, me)) == USF_TASK_GONE) {
            /* another thread is taking the process off: wait for what comes of it */
            if (core_enter(s, me)) core_leave(s, me, &(struct wakes){0});
            if (me->task == USF_NONE) {
                me->interrupted = intr;
                park_go_on(s, me);
                return;
            }
        }
        if (ST(state_of(own(s, me))) & WITHOUT_CORE) queue_again(s, me);
    }
    me->interrupted = intr;
    carrier_flush(s, me);
    core_arrive(s, me);
}
