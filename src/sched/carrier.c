/* src/sched/carrier.c - threads that float between kernel threads (carrier.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "sched/carrier.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>

#include "os/syscall.h"
#include "sched/alarm.h"
#include "sched/thread.h"

static uint32_t number_of(const struct sched *s, const struct carrier *k) { return (uint32_t)(k - s->carriers); }
static struct sched_self *self_of(struct sched *s, uint32_t task) { return atomic_load_explicit(&s->floating[task].self, memory_order_relaxed); }

/* May be asked of any carrier, by the thread that it executes or by one that has claimed it: what
 * it names exists, and it has an idle loop whole or not at all. */
static bool carrier_is_valid(const struct sched *s, const struct carrier *k)
{
    uint32_t number = number_of(s, k);
    return number < USF_MAX_TASKS && k->s == s && k->tid > 0 && k->stack && k->context && (!k->idle || k->at)
           && k->publish <= USF_MAX_TASKS && k->send <= USF_MAX_TASKS;
}

/* The calling thread, which floats and is in a critical section, is executed by its carrier, and no
 * other carrier is kept for it. */
static bool is_here(struct sched *s, const struct sched_self *me)
{
    return me->crit && me->context && carrier_is_valid(s, me->carrier) && carrier_is_valid(s, me->home)
           && (me->task == USF_NONE || (self_of(s, me->task) == me && &s->carriers[atomic_load(&s->tasks[me->task].thread)] == me->carrier));
}

/* By system calls. */
static bool is_on(const struct carrier *k) { return os_gettid() == k->tid; }

static struct sched_self *owner_of(struct sched *s, uint32_t number) { return self_of(s, atomic_load(&s->threads[number].owner) - 1); }

/* ---- owners ------------------------------------------------------------------------------------ */

/* The carrier is to wake up for its owner, which the caller owns (C2). */
static void send(struct sched *s, uint32_t number)
{
    struct usf_thread *t = &s->threads[number];
    uint32_t task = atomic_load(&t->owner) - 1, core = atomic_load(&s->tasks[task].core);
    if (atomic_load(&s->tasks[task].state) == USF_TASK_RUNNING && !bind_is_placed(s, task, core)) bind_other(s, task, core);
    USF_POINT("carrier.send");
    usf_dassert(atomic_load(&t->park) == USF_PARK_CLAIMED);
    atomic_store(&t->park, USF_PARK_GO);
    os_futex_wake(&t->park, 1);
}

/* What the owner waits for may have come before the word was IDLE (C3). */
static void look_after(struct sched *s, uint32_t number, uint32_t task)
{
    uint32_t wanted = atomic_load(&s->carriers[number].wanted);
    const struct sched_floating *f = &s->floating[task];
    if (USF_UNLIKELY(wanted)) {     /* it takes this carrier, and looks after the owner */
        core_wake(s, wanted - 1, false);
        return;
    }
    alarm_look(s, number, task);
    uint32_t home = atomic_load(&f->homeward);
    bool over = USF_UNLIKELY(home) ? usf_park_is_kept(atomic_load(&s->threads[home - 1].park)) : has_turn(&s->tasks[task]);
    if (over || atomic_load(&s->leaving) || atomic_load(&f->attention)) core_wake(s, task, false);
}

static void publish(struct sched *s, uint32_t number)
{
    USF_POINT("carrier.publish");
    bool look = s->carriers[number].look;
    uint32_t task = atomic_load(&s->threads[number].owner) - 1;     /* once it is IDLE the owner may end, and the carrier have none */
    s->carriers[number].look = false;
    uint32_t was = atomic_exchange(&s->threads[number].park, look ? USF_PARK_LOOK : USF_PARK_IDLE);
    usf_dassert(!usf_park_is_kept(was) && task < USF_MAX_TASKS);
    USF_POINT("carrier.published");
    if (USF_UNLIKELY(look)) os_futex_wake(&s->threads[number].park, 1);
    look_after(s, number, task);
}

static bool claim(struct sched *s, uint32_t number)
{
    uint32_t was = atomic_load(&s->threads[number].park);
    do {
        if (!usf_park_is_kept(was)) return false;
    } while (!atomic_compare_exchange_weak(&s->threads[number].park, &was, USF_PARK_CLAIMED));
    s->carriers[number].look = was == USF_PARK_LOOK;
    USF_POINT("carrier.claimed");
    return true;
}

/* The carrier is the thread's from now on: it executes the thread, or is kept for it.  What
 * executes the thread next sets its signal_stack: until then it may be executed elsewhere. */
static void assign(struct sched *s, uint32_t number, struct sched_self *self)
{
    usf_dassert(number < USF_MAX_TASKS && self && self->context && self->task != USF_NONE && !usf_park_is_kept(atomic_load(&s->threads[number].park)));
    self->carrier = &s->carriers[number];
    atomic_store_explicit(&s->threads[number].owner, self->task + 1, memory_order_release);     /* release: a thread that reads IDLE later reads this owner */
    USF_POINT("carrier.assign");
    atomic_store_explicit(&s->tasks[self->task].thread, number, memory_order_release);       /* C3: publish's exchange comes after it */
}

/* ---- CPU time ---------------------------------------------------------------------------------- */
/* The kernel counts the CPU time of a carrier.  A switch charges the thread that leaves with the
 * time since it began there, as of its latest look at the clock, which was just now.  Where that is
 * long, the thread may have been preempted, or have slept in a system call: the kernel's clock of
 * the carrier is read, and the thread is charged with what that has gone on by, less what others
 * have been charged since the last time. */

static uint64_t unread(const struct carrier *k, uint64_t clock)
{
    uint64_t charged = k->read_ns + k->charged;
    return clock > charged ? clock - charged : 0;
}

static void read_clock(struct carrier *k, struct sched_self *self)
{
    uint64_t clock = os_clock_ns(OS_CLOCK_OWN_CPU);
    self->cpu_ns += unread(k, clock);
    k->read_ns = clock;
    k->charged = 0;
}

static void charge(struct carrier *k, struct sched_self *self, uint64_t now)
{
    uint64_t took = now > k->began ? now - k->began : 0;
    if (!took) return;
    k->began = now;
    if (USF_UNLIKELY(took > CPU_READ_NS)) {
        read_clock(k, self);
        return;
    }
    self->cpu_ns += took;
    k->charged += took;
}

/* Never less than before, though a charge may have been too large. */
static uint64_t note_cpu_time(struct sched_self *self, uint64_t more)
{
    _Atomic uint64_t *told = &self->cpu_told;
    uint64_t t = self->cpu_ns + more, was = atomic_load(told);
    while (was < t && !atomic_compare_exchange_weak(told, &was, t)) {}
    return was < t ? t : was;
}

uint64_t carrier_cpu_time(struct sched *s, struct sched_self *me)
{
    sched_crit_enter(me);
    read_clock(me->carrier, me);
    me->carrier->began = os_now();
    sched_crit_leave(s, me);
    return note_cpu_time(me, 0);
}

/* As of about now: the thread goes on meanwhile.  If it leaves its carrier while that is looked at,
 * what it was charged with counts. */
uint64_t carrier_cpu_time_of(struct sched *s, struct sched_self *self)
{
    uint32_t number = atomic_load(&s->tasks[self->task].thread), park = atomic_load(&s->threads[number].park);
    struct carrier *k = &s->carriers[number];
    bool waits = usf_park_is_kept(park) || park == USF_PARK_CLAIMED;
    uint64_t more = waits ? 0 : unread(k, os_thread_clock_ns(k->tid));
    bool same = number == atomic_load(&s->tasks[self->task].thread) && park == atomic_load(&s->threads[number].park);
    return note_cpu_time(self, same ? more : 0);
}

/* ---- switching --------------------------------------------------------------------------------- */

static void follow_mask(struct carrier *k, const struct sched_self *of)
{
    if (USF_LIKELY(k->mask == of->mask)) return;
    k->mask = of->mask;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &of->mask, 0, 8);
}

/* First thing after a switch, by what executes on the carrier now.  An idle loop takes signals for
 * the owner: for one that a thread on its way home has left here, it takes that one's mask first. */
static void arrive(struct sched *s, struct carrier *k, struct sched_self *now)
{
    struct sched_self *before = k->before;
    uint32_t published = k->publish, sent = k->send;
    usf_dassert(now->crit && now->carrier == k && carrier_is_valid(s, k));
    usf_xassert(is_on(k));
    k->before = 0;
    k->publish = k->send = 0;
    if (published && now == k->idle) follow_mask(k, owner_of(s, published - 1));
    if (before && s->switched) s->switched(now, before);
    if (published) publish(s, published - 1);
    if (sent) send(s, sent - 1);
}

static void switch_from(struct sched *s, struct sched_self *me, struct carrier *k, struct arch_context *to)
{
    usf_dassert(me->crit && to && to != me->context && !k->before);
    k->before = me;
    charge(k, me, me->entered);
    arch_context_switch(me->context, to);
    arrive(s, me->carrier, me);
    follow_mask(me->carrier, me);
}

/* ---- idle -------------------------------------------------------------------------------------- */

static void add_spare(struct sched *s, uint32_t number)
{
    carrier_lock(&s->spare_lock, USF_RANK_SPARE);
    s->carriers[number].next_spare = s->spares;
    s->spares = number + 1;
    carrier_unlock(&s->spare_lock, USF_RANK_SPARE);
}

/* carrier + 1 of a spare, which is in the list no more, or 0.  wanted: take this one (carrier + 1);
 * 0: any. */
static uint32_t take_spare(struct sched *s, uint32_t wanted)
{
    carrier_lock(&s->spare_lock, USF_RANK_SPARE);
    uint32_t *at = &s->spares;
    while (*at && wanted && *at != wanted) at = &s->carriers[*at - 1].next_spare;
    uint32_t spare = *at;
    if (spare) *at = s->carriers[spare - 1].next_spare;
    carrier_unlock(&s->spare_lock, USF_RANK_SPARE);
    return spare;
}

static void set_mask(uint64_t mask) { usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8); }

/* Returns the mask that was. */
static uint64_t block_but(uint64_t signals)
{
    uint64_t mask = ~signals, was = 0;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, &was, 8);
    return was;
}

/* The kernel thread ends.  The thread that began here has ended before it: the words that it has
 * told the kernel of may be another thread's by now, and the kernel is not to write them. */
static _Noreturn void end_kernel_thread(struct sched *s, struct carrier *k)
{
    void *stack = k->stack;
    size_t size = k->stack_size;
    block_but(0);
    if (s->carrier_ends) s->carrier_ends(k);
    usf_syscall(__NR_set_tid_address, 0);
    usf_syscall(__NR_set_robust_list, 0, 24);
    k->stack = 0;
    atomic_store(&s->threads[number_of(s, k)].claim, 0);
    arch_end_thread(stack, size);
}

/* This carrier has no owner.  It sleeps until an orphan hands over its own (retire), or
 * its thread comes home. */
static void be_spare(struct sched *s, struct carrier *k)
{
    struct usf_thread *t = &s->threads[number_of(s, k)];
    usf_dassert(carrier_is_valid(s, k) && !k->ended);
    k->left = false;
    if (k->orphan) end_kernel_thread(s, k);
    block_but(s->own_signals);
    atomic_store(&t->owner, 0);
    atomic_store(&t->park, USF_PARK_NONE);
    add_spare(s, number_of(s, k));
    USF_POINT("carrier.spare");
    for (;;) {
        uint32_t word = atomic_load(&t->park);
        if (word == USF_PARK_NONE || word == USF_PARK_CLAIMED) os_futex_wait(&t->park, word, 0);
        else if (atomic_load(&t->owner)) break;
        else atomic_compare_exchange_strong(&t->park, &word, USF_PARK_NONE);    /* a late waker meant the thread that has ended */
    }
    set_mask(k->mask);          /* its owner's (hand_over_owner); a thread that comes home sets its own */
}

/* The spare, which the caller has taken out of the list, is to have an owner: before that a late
 * waker's GO would have it resume that one. */
static void claim_spare(struct sched *s, uint32_t spare)
{
    atomic_store(&s->threads[spare].park, USF_PARK_CLAIMED);
    USF_POINT("carrier.spare_claimed");
}

/* A carrier without an owner takes this one's.  False: there is none. */
static bool hand_over_owner(struct sched *s, struct carrier *k)
{
    uint32_t number = number_of(s, k), spare;
    if (!(spare = take_spare(s, 0))) return false;
    if (!claim(s, number)) {
        add_spare(s, spare - 1);
        return false;
    }
    claim_spare(s, spare - 1);
    s->carriers[spare - 1].mask = k->mask;
    assign(s, spare - 1, owner_of(s, number));
    USF_POINT("carrier.retire");
    publish(s, spare - 1);
    os_futex_wake(&s->threads[spare - 1].park, 1);
    return true;
}

/* The thread that began here has ended.  If there is a carrier without an owner, that one takes the
 * owner, and this kernel thread ends, but not with a signal that it has taken: the owner gets that
 * first. */
static void retire(struct sched *s, struct carrier *k)
{
    if (!__atomic_load_n(&s->spares, __ATOMIC_RELAXED) || atomic_load(&k->idle->signalled)) return;
    uint64_t was = block_but(0);
    if (!atomic_load(&k->idle->signalled) && hand_over_owner(s, k)) {
        alarm_move(s, number_of(s, k), false);
        end_kernel_thread(s, k);
    }
    set_mask(was);
}

static void resume_owner(struct sched *s, struct carrier *k, struct sched_self *to)
{
    usf_dassert(to && to->carrier == k && to->context && !k->publish && !k->send);
    usf_xassert(is_on(k));
    USF_POINT("carrier.resume");
    to->signal_stack = k->signal_stack;
    k->began = os_now();
    k->before = k->idle;
    arch_context_switch(k->at, to->context);
    arrive(s, k, k->idle);
}

/* How long to sleep at first, and after that: a thread that waits looks after the monitor
 * (park.c). */
static uint64_t next_patience(struct sched *s, struct usf_thread *t, uint64_t patience)
{
    uint32_t task = atomic_load(&t->owner) - 1;
    if (atomic_load(&s->tasks[task].state) != USF_TASK_READY) return 0;
    return patience < PARK_LAST_LOOK_NS ? 2 * patience : patience;
}

/* The thread that was here has ended: tell the program, as the kernel does. */
static void tell_end(struct carrier *k)
{
    uint32_t *ended = k->ended;
    k->ended_home->orphan = true;       /* not before: until the switch to here its registers were saved in the home's memory */
    k->ended = 0;
    USF_POINT("carrier.tell_end");
    __atomic_store_n(ended, 0, __ATOMIC_SEQ_CST);
    usf_syscall(__NR_futex, ended, FUTEX_WAKE, 1);
}

/* Sleep while the park word is that.  True: for so long that the owner is to look after the
 * monitor. */
static bool sleep_on(struct sched *s, struct carrier *k, uint32_t word, uint64_t *patience)
{
    uint32_t number = number_of(s, k);
    struct usf_thread *t = &s->threads[number];
    uint64_t deadline = word == USF_PARK_IDLE ? alarm_deadline(s, atomic_load(&t->owner) - 1) : 0;
    uint64_t alarm = alarm_set(s, number, deadline), ns = *patience;
    if (alarm) {
        uint64_t now = os_now(), left = alarm > now ? alarm - now : 1;
        if (!ns || left < ns) ns = left;
    }
    struct { int64_t sec, ns; } timeout = {(int64_t)(ns / 1000000000u), (int64_t)(ns % 1000000000u)};
    atomic_store_explicit(&t->parked, 1, memory_order_relaxed);
    long r = arch_idle_wait(&t->park, word, (const uint32_t *)&k->idle->signalled, ns ? &timeout : 0);
    atomic_store_explicit(&t->parked, 0, memory_order_relaxed);
    if (r != -ETIMEDOUT) return false;
    if (ns != *patience) {
        alarm_move(s, number, true);
        return false;
    }
    *patience = next_patience(s, t, *patience);
    return sched_core_is_wanted(s);
}

/* True: the owner is this carrier's to resume. */
static bool is_to_resume(struct sched *s, struct carrier *k, uint64_t *patience, uint32_t *pinning)
{
    uint32_t number = number_of(s, k), idle = USF_PARK_IDLE;
    struct usf_thread *t = &s->threads[number];
    uint32_t word = atomic_load(&t->park);
    bool signalled = atomic_load(&k->idle->signalled), due = false;
    if (word == USF_PARK_LOOK && atomic_compare_exchange_strong(&t->park, &word, USF_PARK_IDLE)) word = USF_PARK_IDLE;
    if (word == USF_PARK_IDLE && USF_UNLIKELY(k->orphan)) retire(s, k);
    /* A second waker makes GO PINNING and GO again, and does not wake, since it finds no thread
     * asleep.  The first may have been killed. */
    if (word == USF_PARK_PINNING && (*pinning)++ < PARK_YIELDS) {
        os_sched_yield();
        return false;
    }
    if (word != USF_PARK_IDLE && word != USF_PARK_CLAIMED) {
        atomic_store(&t->park, USF_PARK_NONE);
        return true;
    }
    if (!signalled && !(due = sleep_on(s, k, word, patience))) return false;
    if (!atomic_compare_exchange_strong(&t->park, &idle, USF_PARK_NONE)) {
        if (signalled) os_sched_yield();        /* another thread has claimed this carrier, and leaves its own here */
        return false;
    }
    if (due) owner_of(s, number)->monitor_look_due = 1;
    return true;
}

void carrier_idle(void *arg)
{
    struct carrier *k = arg;
    struct sched *s = k->s;
    uint64_t patience = PARK_FIRST_LOOK_NS;
    uint32_t number = number_of(s, k), pinning = 0;
    usf_lock_none_held();       /* in a fork's child: the parent's idle loop here may have held one */
    arrive(s, k, k->idle);
    for (;;) {
        if (USF_UNLIKELY(k->left)) {
            if (k->ended) tell_end(k);
            be_spare(s, k);
        }
        if (!is_to_resume(s, k, &patience, &pinning)) continue;
        alarm_move(s, number, false);
        struct sched_self *owner = owner_of(s, number);
        contend_judge(s, &s->tasks[owner->task]);
        if (!owner->monitor_look_due) patience = PARK_FIRST_LOOK_NS;     /* else it looks, and comes back to wait for longer */
        resume_owner(s, k, owner);
        pinning = 0;
    }
}

static void need_idle(struct sched *s, struct carrier *k) { if (USF_UNLIKELY(!k->idle)) s->make_idle(k); }

/* ---- threads ----------------------------------------------------------------------------------- */

void carrier_begin(struct sched *s, struct sched_self *me)
{
    if (!me->floats) return;
    if (me->home) {             /* it has been taken off and on again: it stays where it is */
        me->stays++;
        return;
    }
    uint32_t number = atomic_load(&s->tasks[me->task].thread);
    struct carrier *k = &s->carriers[number];
    *k = (struct carrier){.s = s, .tid = s->threads[number].tid, .mask = me->mask, .user_calls = atomic_load(&s->user_calls), .stack = k->stack, .stack_size = k->stack_size, .context = k->context};
    atomic_store(&s->threads[number].stays, USF_STAYS_NOT);
    atomic_store(&s->floating[me->task].attention, 0);
    atomic_store(&s->floating[me->task].deadline, 0);
    atomic_store(&s->floating[me->task].homeward, 0);
    atomic_store(&s->floating[me->task].self, me);
    me->home = me->carrier = k;
    me->context = 0;            /* carrier_prepare */
    me->next = me->monitor_look_due = 0;
    k->read_ns = 0;             /* the kernel thread's time since its start is the thread's */
    k->began = os_now();
    me->cpu_ns = 0;
    atomic_store(&me->cpu_told, 0);
    atomic_store(&me->keeps_home, 0);
    usf_dassert(me->crit && carrier_is_home(me) && self_of(s, me->task) == me);
    usf_xassert(is_on(k));
}

bool carrier_prepare(struct sched *s, struct sched_self *me)
{
    struct carrier *k = me->home;
    if (!s->map_idle(k)) {
        carrier_stay(s, me, USF_STAYS_MEMORY);
        return false;
    }
    me->context = k->context;
    me->context->plain = 0;
    return true;
}

void carrier_fresh(struct sched *s, struct sched_self *me)
{
    if (!me->home) return;
    sched_crit_enter(me);
    me->carrier->read_ns = os_clock_ns(OS_CLOCK_OWN_CPU);
    me->carrier->charged = 0;
    me->carrier->began = os_now();
    me->cpu_ns = 0;
    atomic_store(&me->cpu_told, 0);
    sched_crit_leave(s, me);
}

void carrier_stay(struct sched *s, struct sched_self *me, uint32_t why)
{
    uint32_t proc = atomic_load(&s->proc);
    usf_dassert(me->home && carrier_is_home(me) && why < 32);
    me->stays++;
    atomic_store(&s->threads[number_of(s, me->home)].stays, why);
    if (proc == USF_NONE) return;
    atomic_fetch_add(&s->procs[proc].stays, 1);
    atomic_fetch_or(&s->procs[proc].stays_why, 1u << why);
}

void carrier_forget(struct sched *s, uint32_t task)
{
    if (!s->carriers) return;
    const struct sched_self *self = self_of(s, task);
    if (self && self->home) atomic_store(&s->threads[number_of(s, self->home)].born, 0);
    atomic_store(&s->floating[task].self, 0);
}

void carrier_after_fork(struct sched *s)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm);
    for (uint32_t i = 0; i < hwm; i++) {
        s->carriers[i].orphan = false;
        s->floating[i] = (struct sched_floating){};
    }
    s->spares = 0;
    atomic_store(&s->alarm_by, 0);
    atomic_store(&s->handovers, 0);
    atomic_store(&s->alarm, 0);
    atomic_store(&s->spare_lock, 0);
    atomic_store(&s->alarm_lock, 0);
}

bool carrier_claims(struct sched *s, struct sched_self *me, uint32_t task)
{
    struct usf_task *t = &s->tasks[task];
    if (me->where != SCHED_PARKED || me->next) return false;
    uint32_t handovers = atomic_load_explicit(&s->handovers, memory_order_relaxed);
    if (USF_UNLIKELY(handovers < CARRIER_PAYS) && me->home && atomic_load(&t->proc) == s->proc)
        atomic_store_explicit(&s->handovers, handovers + 1, memory_order_relaxed);
    if (!carrier_may_leave(s, me) || carrier_is_wanted(me)) return false;
    if (atomic_load(&t->proc) != s->proc || !self_of(s, task)) return false;
    if (atomic_load(&t->core) != atomic_load(&own(s, me)->core) || state_of(own(s, me)) == USF_TASK_RUNNING) return false;
    uint32_t number = atomic_load(&t->thread);
    if (!claim(s, number)) return false;
    /* It may have gone on and waited again, and be kept for another by now. */
    if (atomic_load(&s->threads[number].owner) == task + 1 && self_of(s, task)->mask == me->mask) {
        me->next = task + 1;
        return true;
    }
    publish(s, number);
    return false;
}

void carrier_flush(struct sched *s, struct sched_self *me)
{
    if (USF_LIKELY(!me->next)) return;
    uint32_t number = atomic_load(&s->tasks[me->next - 1].thread);
    me->next = 0;
    send(s, number);
}

/* The kernel thread has the mask of another task, unless it is bound to a core's CPU, or held. */
static void lose_mask(struct usf_thread *t)
{
    uint32_t own = USF_NONE;
    if (atomic_load_explicit(&t->pinned, memory_order_relaxed) == own) atomic_compare_exchange_strong(&t->pinned, &own, USF_PINNED_UNKNOWN);
}

void carrier_leave(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    struct carrier *k = me->carrier;
    uint32_t number = number_of(s, k);
    struct arch_context *to;
    if (carrier_is_wanted(me)) carrier_flush(s, me);
    sched_crit_enter(me);
    usf_dassert(is_here(s, me));
    usf_xassert(is_on(k));
    if (me->next) {
        uint32_t task = me->next - 1, other = atomic_load(&s->tasks[task].thread);
        struct sched_self *next = self_of(s, task);
        me->next = 0;
        to = next->context;
        assign(s, number, next);
        next->signal_stack = k->signal_stack;
        assign(s, other, me);
        if (USF_UNLIKELY(!bind_is_alike(own(s, me), &s->tasks[task]))) {
            lose_mask(&s->threads[number]);
            lose_mask(&s->threads[other]);
        }
        k->publish = other + 1;
    } else {
        need_idle(s, k);
        assign(s, number, me);
        k->publish = number + 1;
        to = k->at;
        me->entered = os_now();         /* it may have polled since */
    }
    uint32_t task = me->task;
    if (USF_UNLIKELY(deadline)) atomic_store(&s->floating[task].deadline, deadline);
    USF_POINT("carrier.leave");
    switch_from(s, me, k, to);
    if (USF_UNLIKELY(deadline)) atomic_store(&s->floating[task].deadline, 0);
    usf_dassert(is_here(s, me));
    sched_crit_leave(s, me);
    if (USF_UNLIKELY(me->monitor_look_due)) {
        me->monitor_look_due = 0;
        if (s->look_for_monitor) s->look_for_monitor(s);
    }
}

/* ---- home -------------------------------------------------------------------------------------- */

bool carrier_try_home(struct sched *s, struct sched_self *me)
{
    struct carrier *k = me->carrier;
    if (k == me->home) return true;
    uint32_t number = number_of(s, k), home = number_of(s, me->home);
    if (me->task == USF_NONE) return false;
    sched_crit_enter(me);
    bool spare = !claim(s, home);
    if (spare && !take_spare(s, home + 1)) {
        sched_crit_leave(s, me);
        return false;
    }
    usf_dassert(is_here(s, me) && !me->next);
    usf_xassert(is_on(k));
    need_idle(s, k);
    me->entered = os_now();
    if (spare) {                /* the two change places: this one has no owner from now on */
        claim_spare(s, home);
        k->left = true;
    } else {
        assign(s, number, owner_of(s, home));
        k->publish = number + 1;
    }
    assign(s, home, me);
    k->send = home + 1;
    USF_POINT("carrier.go_home");
    switch_from(s, me, k, k->at);
    usf_dassert(is_here(s, me) && carrier_is_home(me));
    usf_xassert(is_on(me->home));
    USF_POINT("carrier.at_home");
    sched_crit_leave(s, me);
    return true;
}

void carrier_await_home(struct sched *s, struct sched_self *me, uint64_t until)
{
    uint32_t task = me->task;
    if (task == USF_NONE) return;
    atomic_store(&s->floating[task].homeward, number_of(s, me->home) + 1);
    atomic_store(&me->home->wanted, task + 1);
    USF_POINT("carrier.wanted");
    while (!carrier_try_home(s, me) && me->task == task && !(until && os_now() >= until)) {
        s->poke(me->home->tid);
        carrier_leave(s, me, os_now() + PARK_POKE_NS);
    }
    atomic_store(&me->home->wanted, 0);
    atomic_store(&s->floating[task].homeward, 0);
}

void carrier_make_room(struct sched *s, struct sched_self *me)
{
    if (USF_LIKELY(!carrier_is_wanted(me)) || carrier_is_home(me) || !carrier_may_leave(s, me)) return;
    carrier_leave(s, me, 0);
}

void carrier_end(struct sched *s, struct sched_self *me, uint32_t *ended)
{
    struct carrier *k = me->carrier;
    sched_crit_enter(me);
    usf_dassert(me->task == USF_NONE && !me->next && !carrier_is_home(me) && ended && !k->left);
    usf_xassert(is_on(k));
    need_idle(s, k);
    charge(k, me, os_now());
    k->ended = ended;
    k->ended_home = me->home;
    k->left = true;
    k->before = 0;
    USF_POINT("carrier.end");
    arch_context_switch(me->context, k->at);        /* never to return there */
    __builtin_unreachable();
}

int32_t carrier_alert(struct sched *s, uint32_t task)
{
    atomic_store(&s->floating[task].attention, 1);
    USF_POINT("carrier.alert");
    struct usf_thread *t = sched_thread_of(s, task);
    if (!usf_park_is_kept(atomic_load(&t->park))) return t->tid;
    core_wake(s, task, false);
    return 0;
}
