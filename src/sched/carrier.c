/* src/sched/carrier.c - threads that float between kernel threads (carrier.h).  SPDX-License-Identifier: Apache-2.0 */
#include "sched/carrier.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>

#include "os/syscall.h"
#include "sched/thread.h"

static uint32_t number_of(const struct sched *s, const struct carrier *k) { return (uint32_t)(k - s->carriers); }
static struct sched_self *self_of(struct sched *s, uint32_t task) { return atomic_load_explicit(&s->floating[task].self, memory_order_relaxed); }

static struct sched_self *owner_of(struct sched *s, uint32_t number) { return self_of(s, atomic_load(&s->threads[number].owner) - 1); }

static void lock(_Atomic uint32_t *l)
{
    uint32_t free = 0;
    while (!atomic_compare_exchange_weak(l, &free, 1)) {
        free = 0;
        os_sched_yield();
    }
}
static void unlock(_Atomic uint32_t *l) { atomic_store(l, 0); }

/* ---- deadlines --------------------------------------------------------------------------------- */

static uint64_t deadline_of(struct sched *s, uint32_t task) { return atomic_load(&s->floating[task].deadline); }

/* holds alarm_lock.  The task with the earliest deadline, or USF_NONE; those that are over are woken. */
static uint32_t find_earliest(struct sched *s, uint64_t now)
{
    uint32_t hwm = atomic_load(&s->h->task_hwm), found = USF_NONE;
    uint64_t least = 0;
    for (uint32_t i = 0; i < hwm; i++) {
        uint64_t d = deadline_of(s, i);
        if (d && d <= now) core_kick(s, i, false);
        else if (d && (!least || d < least)) least = d, found = i;
    }
    return found;
}

/* The carrier is about to sleep.  Until when? */
static uint64_t set_alarm(struct sched *s, uint32_t number, uint64_t deadline)
{
    if (!deadline && USF_LIKELY(s->alarm_by != number + 1)) return 0;
    lock(&s->alarm_lock);
    uint64_t alarm = atomic_load(&s->alarm);
    if (deadline && (!alarm || deadline < alarm)) {
        s->alarm_by = number + 1;
        atomic_store(&s->alarm, alarm = deadline);
    }
    bool mine = s->alarm_by == number + 1;
    unlock(&s->alarm_lock);
    return mine ? alarm : 0;
}

/* The alarm is over, or its carrier is about to execute a thread (`stays` is false): then another carrier sleeps for the rest. */
static void move_alarm(struct sched *s, uint32_t number, bool stays)
{
    if (USF_LIKELY(s->alarm_by != number + 1)) return;
    uint32_t heir = USF_NONE;
    lock(&s->alarm_lock);
    if (s->alarm_by == number + 1) {
        uint32_t next = find_earliest(s, os_now());
        s->alarm_by = stays && next != USF_NONE ? number + 1 : 0;
        atomic_store(&s->alarm, s->alarm_by ? deadline_of(s, next) : 0);
        if (!s->alarm_by && next != USF_NONE) heir = atomic_load(&s->tasks[next].thread);
    }
    unlock(&s->alarm_lock);
    if (heir != USF_NONE) os_futex_wake(&s->threads[heir].park, 1);
}

/* ---- owners ------------------------------------------------------------------------------------ */

/* The carrier is to wake up for its owner, which the caller owns (C2). */
static void send(struct sched *s, uint32_t number)
{
    struct usf_thread *t = &s->threads[number];
    uint32_t task = atomic_load(&t->owner) - 1, core = atomic_load(&s->tasks[task].core);
    if (atomic_load(&s->tasks[task].state) == USF_TASK_RUNNING && !bind_is_placed(s, task, core)) bind_other(s, task, core);
    USF_POINT("carrier.send");
    atomic_store(&t->park, USF_PARK_GO);
    os_futex_wake(&t->park, 1);
}

/* What the owner waits for may have come before the word was IDLE (C3). */
static void look_after(struct sched *s, uint32_t number)
{
    uint32_t task = atomic_load(&s->threads[number].owner) - 1, wanted = atomic_load(&s->carriers[number].wanted);
    const struct sched_floating *f = &s->floating[task];
    if (USF_UNLIKELY(wanted)) {     /* it takes this carrier, and looks after the owner */
        core_kick(s, wanted - 1, false);
        return;
    }
    /* The carrier may be asleep, and not know of the deadline. */
    uint64_t deadline = deadline_of(s, task), alarm = atomic_load(&s->alarm);
    if (USF_UNLIKELY(deadline && (!alarm || deadline < alarm))) os_futex_wake(&s->threads[number].park, 1);
    uint32_t home = atomic_load(&f->homeward);
    bool over = USF_UNLIKELY(home) ? atomic_load(&s->threads[home - 1].park) == USF_PARK_IDLE : has_turn(&s->tasks[task]);
    if (over || atomic_load(&s->leaving) || atomic_load(&f->attention)) core_kick(s, task, false);
}

static void publish(struct sched *s, uint32_t number)
{
    USF_POINT("carrier.publish");
    atomic_exchange(&s->threads[number].park, USF_PARK_IDLE);
    USF_POINT("carrier.published");
    look_after(s, number);
}

static bool claim(struct sched *s, uint32_t number)
{
    uint32_t idle = USF_PARK_IDLE;
    bool mine = atomic_compare_exchange_strong(&s->threads[number].park, &idle, USF_PARK_CLAIMED);
    USF_POINT("carrier.claimed");
    return mine;
}

/* The carrier is the thread's from now on: it executes the thread, or is kept for it.  What executes the thread next sets its signal_stack: until
 * then it may be executed elsewhere. */
static void assign(struct sched *s, uint32_t number, struct sched_self *self)
{
    self->carrier = &s->carriers[number];
    atomic_store_explicit(&s->threads[number].owner, self->task + 1, memory_order_release);     /* release: who reads IDLE later reads this owner */
    atomic_store(&s->tasks[self->task].thread, number);
}

/* ---- CPU time ---------------------------------------------------------------------------------- */
/* The kernel counts the CPU time of a carrier.  A switch charges the thread that leaves with the cycles since it began there: some 10 ns.  Where
 * that is long, the thread may have been preempted, or have slept in a system call: the kernel's clock is read, and the thread is charged with
 * what that has gone on by, less what others have been charged since the last time. */
#define CPU_READ_CYCLES 150000u     /* some 50 us: to read the clock then costs 0.5 % */

static uint64_t ns_of(const struct sched *s, uint64_t cycles)
{
    uint64_t ns = os_now() - s->began_ns, in = (os_cycles() - s->began_cycles) >> 10;
    uint64_t rate = in ? (ns << 10) / in : 0;       /* ns in 2^20 cycles */
    return (cycles >> 20) * rate + ((cycles & 0xfffff) * rate >> 20);
}

#define OWN_CPU_CLOCK 3     /* CLOCK_THREAD_CPUTIME_ID */

static uint64_t unread(const struct sched *s, const struct carrier *k, uint64_t clock)
{
    uint64_t others = k->since_read ? ns_of(s, k->since_read) : 0, on = clock > k->read_ns ? clock - k->read_ns : 0;
    return on > others ? on - others : 0;
}

static void read_clock(struct sched *s, struct carrier *k, struct sched_self *self)
{
    uint64_t clock = os_clock_ns(OWN_CPU_CLOCK);
    self->cpu_ns += unread(s, k, clock);
    k->read_ns = clock;
    k->since_read = 0;
}

static void charge(struct sched *s, struct carrier *k, struct sched_self *self)
{
    uint64_t now = os_cycles(), took = now - k->began;
    k->began = now;
    if (!self->context) return;         /* its idle loop */
    if (USF_UNLIKELY(took > CPU_READ_CYCLES)) {
        read_clock(s, k, self);
        return;
    }
    self->cpu_cycles += took;
    k->since_read += took;
}

/* Never less than before, though the rate of cycles is known better as time goes by. */
static uint64_t note_cpu_time(struct sched *s, struct sched_self *self, uint64_t more)
{
    _Atomic uint64_t *told = &self->cpu_told;
    uint64_t t = self->cpu_ns + (self->cpu_cycles ? ns_of(s, self->cpu_cycles) : 0) + more, was = atomic_load(told);
    while (was < t && !atomic_compare_exchange_weak(told, &was, t)) {}
    return was < t ? t : was;
}

uint64_t carrier_cpu_time(struct sched *s, struct sched_self *me)
{
    sched_crit_enter(me);
    read_clock(s, me->carrier, me);
    me->carrier->began = os_cycles();
    sched_crit_leave(s, me);
    return note_cpu_time(s, me, 0);
}

/* As of about now: the thread goes on meanwhile.  If it leaves its carrier while that is looked at, what it was charged with counts. */
uint64_t carrier_cpu_time_of(struct sched *s, struct sched_self *self)
{
    uint32_t number = atomic_load(&s->tasks[self->task].thread), park = atomic_load(&s->threads[number].park);
    struct carrier *k = &s->carriers[number];
    bool waits = park == USF_PARK_IDLE || park == USF_PARK_CLAIMED;
    uint64_t more = waits ? 0 : unread(s, k, os_thread_clock_ns(k->tid));
    bool same = number == atomic_load(&s->tasks[self->task].thread) && park == atomic_load(&s->threads[number].park);
    return note_cpu_time(s, self, same ? more : 0);
}

/* ---- switching --------------------------------------------------------------------------------- */

/* First thing after a switch, by what executes on the carrier now. */
static void arrive(struct sched *s, struct carrier *k, struct sched_self *now)
{
    struct sched_self *before = k->before;
    uint32_t published = k->publish, sent = k->send;
    k->before = 0;
    k->publish = k->send = 0;
    if (before) charge(s, k, before);
    if (before && s->switched) s->switched(now, before);
    if (published) publish(s, published - 1);
    if (sent) send(s, sent - 1);
}

static void follow_mask(struct sched_self *me)
{
    struct carrier *k = me->carrier;
    if (USF_LIKELY(k->mask == me->mask)) return;
    k->mask = me->mask;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &me->mask, 0, 8);
}

static void switch_from(struct sched *s, struct sched_self *me, struct carrier *k, struct arch_context *to)
{
    k->before = me;
    arch_context_switch(me->context, to);
    arrive(s, me->carrier, me);
    follow_mask(me);
}

/* ---- idle -------------------------------------------------------------------------------------- */

static void add_spare(struct sched *s, uint32_t number)
{
    lock(&s->spare_lock);
    s->carriers[number].next_spare = s->spares;
    s->spares = number + 1;
    unlock(&s->spare_lock);
}

static uint32_t take_spare(struct sched *s)
{
    lock(&s->spare_lock);
    uint32_t spare = s->spares;
    if (spare) s->spares = s->carriers[spare - 1].next_spare;
    unlock(&s->spare_lock);
    return spare;
}

static void block_but(uint64_t signals)
{
    uint64_t mask = ~signals;
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

/* The kernel thread ends.  The thread that began here has ended before it: the words that it has told the kernel of may be another
 * thread's by now, and the kernel is not to write them. */
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

/* This carrier has no owner.  It sleeps until an orphan hands over its own (retire). */
static void be_spare(struct sched *s, struct carrier *k)
{
    struct usf_thread *t = &s->threads[number_of(s, k)];
    if (k->orphan) end_kernel_thread(s, k);
    block_but(s->own_signals);
    atomic_store(&t->owner, 0);
    atomic_store(&t->park, USF_PARK_NONE);
    add_spare(s, number_of(s, k));
    for (uint32_t word; (word = atomic_load(&t->park)) == USF_PARK_NONE || !atomic_load(&t->owner);) {
        if (word == USF_PARK_NONE) os_futex_wait(&t->park, USF_PARK_NONE, 0);
        else atomic_compare_exchange_strong(&t->park, &word, USF_PARK_NONE);    /* a late waker meant the thread that has ended */
    }
    usf_syscall(__NR_rt_sigprocmask, SIG_SETMASK, &k->mask, 0, 8);      /* as its owner's, which retire has set */
}

/* The thread that began here has ended.  If there is a carrier without an owner, that one takes the owner, and this kernel thread ends. */
static void retire(struct sched *s, struct carrier *k)
{
    uint32_t number = number_of(s, k), spare;
    if (!(spare = take_spare(s))) return;
    if (!claim(s, number)) {
        add_spare(s, spare - 1);
        return;
    }
    s->carriers[spare - 1].mask = k->mask;
    assign(s, spare - 1, owner_of(s, number));
    publish(s, spare - 1);
    os_futex_wake(&s->threads[spare - 1].park, 1);
    end_kernel_thread(s, k);
}

static void resume_owner(struct sched *s, struct carrier *k)
{
    struct sched_self *to = owner_of(s, number_of(s, k));
    to->signal_stack = k->signal_stack;
    k->before = k->idle;
    arch_context_switch(k->at, to->context);
    arrive(s, k, k->idle);
}

/* How long to sleep at first, and after that: whoever waits looks after the monitor (park.c). */
static uint64_t next_patience(struct sched *s, struct usf_thread *t, uint64_t patience)
{
    uint32_t task = atomic_load(&t->owner) - 1;
    if (atomic_load(&s->tasks[task].state) != USF_TASK_READY) return 0;
    return patience < LAST_LOOK_NS ? 2 * patience : patience;
}

#define PINNING_ROUNDS 1000u       /* a waker binds the carrier meanwhile */

/* Tell the program that the thread has ended which was here, as the kernel does. */
static void tell_end(struct carrier *k)
{
    uint32_t *ended = k->ended;
    k->ended = 0;
    __atomic_store_n(ended, 0, __ATOMIC_SEQ_CST);
    usf_syscall(__NR_futex, ended, FUTEX_WAKE, 1);
}

/* Sleep while the park word is that.  True: for so long that the owner is to look after the monitor. */
static bool sleep_on(struct sched *s, struct carrier *k, uint32_t word, uint64_t *patience)
{
    uint32_t number = number_of(s, k);
    struct usf_thread *t = &s->threads[number];
    uint64_t deadline = word == USF_PARK_IDLE ? deadline_of(s, atomic_load(&t->owner) - 1) : 0;
    uint64_t alarm = set_alarm(s, number, deadline), ns = *patience;
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
        move_alarm(s, number, true);
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
    if (word == USF_PARK_IDLE && USF_UNLIKELY(k->orphan)) retire(s, k);
    /* A second waker makes GO PINNING and GO again, and does not wake, since it finds no thread asleep.  The first may have been killed. */
    if (word == USF_PARK_PINNING && (*pinning)++ < PINNING_ROUNDS) {
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
    if (due) owner_of(s, number)->look_due = 1;
    return true;
}

void carrier_idle(void *arg)
{
    struct carrier *k = arg;
    struct sched *s = k->s;
    uint64_t patience = FIRST_LOOK_NS;
    uint32_t pinning = 0;
    arrive(s, k, k->idle);
    for (;;) {
        if (USF_UNLIKELY(k->ended != 0)) {
            tell_end(k);
            be_spare(s, k);
        }
        if (!is_to_resume(s, k, &patience, &pinning)) continue;
        move_alarm(s, number_of(s, k), false);
        contend_judge(s, &s->tasks[atomic_load(&s->threads[number_of(s, k)].owner) - 1]);
        resume_owner(s, k);
        patience = FIRST_LOOK_NS;
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
    if (!s->map_idle(k)) {      /* it stays where it is */
        me->floats = false;
        return;
    }
    atomic_store(&s->threads[number].stays, USF_STAYS_NOT);
    atomic_store(&s->floating[me->task].attention, 0);
    atomic_store(&s->floating[me->task].deadline, 0);
    atomic_store(&s->floating[me->task].homeward, 0);
    atomic_store(&s->floating[me->task].self, me);
    me->home = me->carrier = k;
    me->context = k->context;
    me->context->plain = 0;
    me->next = me->look_due = 0;
    k->read_ns = 0;             /* the kernel thread's time since its start is the thread's */
    k->began = os_cycles();
    me->cpu_ns = me->cpu_cycles = 0;
    atomic_store(&me->cpu_told, 0);
    atomic_store(&me->keeps_home, 0);
}

void carrier_fresh(struct sched *s, struct sched_self *me)
{
    if (!me->home) return;
    sched_crit_enter(me);
    me->carrier->read_ns = os_clock_ns(OWN_CPU_CLOCK);
    me->carrier->since_read = 0;
    me->carrier->began = os_cycles();
    me->cpu_ns = me->cpu_cycles = 0;
    atomic_store(&me->cpu_told, 0);
    sched_crit_leave(s, me);
}

void carrier_stay(struct sched *s, struct sched_self *me, uint32_t why)
{
    uint32_t proc = atomic_load(&s->proc);
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
    s->spares = s->alarm_by = 0;
    atomic_store(&s->alarm, 0);
    atomic_store(&s->spare_lock, 0);
    atomic_store(&s->alarm_lock, 0);
}

bool carrier_claims(struct sched *s, struct sched_self *me, uint32_t task)
{
    if (me->where != SCHED_PARKED || me->next || !carrier_may_leave(s, me) || carrier_is_wanted(me)) return false;
    struct usf_task *t = &s->tasks[task];
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

void carrier_leave(struct sched *s, struct sched_self *me, uint64_t deadline)
{
    struct carrier *k = me->carrier;
    uint32_t number = number_of(s, k);
    struct arch_context *to;
    if (carrier_is_wanted(me)) carrier_flush(s, me);
    sched_crit_enter(me);
    if (me->next) {
        uint32_t task = me->next - 1, other = atomic_load(&s->tasks[task].thread);
        struct sched_self *next = self_of(s, task);
        me->next = 0;
        to = next->context;
        assign(s, number, next);
        next->signal_stack = k->signal_stack;
        assign(s, other, me);
        if (USF_UNLIKELY(bind_has_mask(own(s, me)) || bind_has_mask(&s->tasks[task]))) {
            atomic_store(&s->threads[number].pinned, USF_PINNED_UNKNOWN);
            atomic_store(&s->threads[other].pinned, USF_PINNED_UNKNOWN);
        }
        k->publish = other + 1;
    } else {
        need_idle(s, k);
        assign(s, number, me);
        k->publish = number + 1;
        to = k->at;
    }
    uint32_t task = me->task;
    if (USF_UNLIKELY(deadline)) atomic_store(&s->floating[task].deadline, deadline);
    switch_from(s, me, k, to);
    if (USF_UNLIKELY(deadline)) atomic_store(&s->floating[task].deadline, 0);
    sched_crit_leave(s, me);
    if (USF_UNLIKELY(me->look_due)) {
        me->look_due = 0;
        if (s->look) s->look(s);
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
    if (!claim(s, home)) {
        sched_crit_leave(s, me);
        return false;
    }
    need_idle(s, k);
    assign(s, number, owner_of(s, home));
    assign(s, home, me);
    k->publish = number + 1;
    k->send = home + 1;
    switch_from(s, me, k, k->at);
    sched_crit_leave(s, me);
    return true;
}

#define POKE_NS 10000000u
void carrier_await_home(struct sched *s, struct sched_self *me, void (*poke)(int32_t tid))
{
    uint32_t task = me->task;
    if (task == USF_NONE) return;
    atomic_store(&s->floating[task].homeward, number_of(s, me->home) + 1);
    atomic_store(&me->home->wanted, task + 1);
    while (!carrier_try_home(s, me) && me->task == task) {
        poke(me->home->tid);
        carrier_leave(s, me, os_now() + POKE_NS);
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
    need_idle(s, k);
    charge(s, k, me);
    k->ended = ended;
    k->before = 0;
    me->home->orphan = true;
    arch_context_switch(me->context, k->at);        /* never to return there */
    __builtin_unreachable();
}

int32_t carrier_alert(struct sched *s, uint32_t task)
{
    atomic_store(&s->floating[task].attention, 1);
    struct usf_thread *t = sched_thread_of(s, task);
    if (atomic_load(&t->park) != USF_PARK_IDLE) return t->tid;
    core_kick(s, task, false);
    return 0;
}
