/* src/sched/lock.c - the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * The word.  0 or the owner's name, bit 31 while somebody may sleep on it.  A waiter sets the bit by
 * compare-and-swap on the value that it then sleeps on, so the release that comes after either fails
 * its own compare-and-swap on the bare name or exchanges the word with the bit in it: it wakes one.  Who
 * has slept takes the lock with the bit set, since others may still sleep; the worst is one needless
 * wake.  A woken thread that dies takes a wake-up with it: recovery gives it to another, and nobody sleeps
 * for longer than SLEEP_NS anyway.  models/lock.pml goes through all of this and the queue.
 *
 * The queue (kind dtlock).  Ticket t waits in slot t % N with lap t / N.  A slot's state:
 *
 *      FREE(lap) ─claim─► CLAIMED ─publish─► WAITS ─────► FIRST ─owns the word─► FREE(lap+1)
 *                                              │  ▲         │
 *                       gives up: ABANDONED ◄──┤  └─promote─┤
 *                           │                  └─────► TAKEN by the owner ─► SERVED ─read─► FREE(lap+1)
 *                           └─owner clears it─► FREE(lap+1)   └─owner died─► AGAIN ─read─► FREE(lap+1)
 *
 *   Q1  only the owner of the word writes `serving`, TAKEN, SERVED, FIRST;
 *   Q2  a waiter leaves WAITS or FIRST by compare-and-swap, so it cannot give up what has been TAKEN;
 *   Q3  a slot is FREE for exactly one ticket (its lap): a thread that was away during the claim of that
 *       ticket fails its compare-and-swap;
 *   Q4  tickets before `serving` are finished; settle() moves it past those that have become so.
 * The claim of the slot is what takes the ticket; `next` is only a hint that whoever finds it behind
 * moves on.  A waiter that died stays named in its slot; the others lose patience and go to the
 * word until recovery has cleared it.
 *
 * Orders.  word: acquire on the way in, release on the way out.  slot.state: the waiter publishes its
 * request by a release store that the owner's compare-and-swap acquires; the owner publishes the reply
 * by a release store that the waiter's load acquires.  next and serving are hints to waiters: relaxed. */
#include "sched/lock.h"
#include "os/os.h"

enum {
    SPINS = 200,                        /* rounds of pause before a waiter stops believing in its turn */
    SLEEP_NS = 20000000,                /* longest sleep on the word */
    TAKEN_NS = 100000,                  /* sleep of a waiter whose owner was descheduled while serving it */
    STUCK_NS = 50000000,
    N = USF_LOCK_SLOTS,
};
enum slot_code { FREE, CLAIMED, WAITS, FIRST, TAKEN, SERVED, AGAIN, ABANDONED };
#define CODE_MASK 0x0full
#define HAS_REQUEST 0x10ull
#define LAP_MASK 0x0fffffffull

bool (*usf_lock_on_stuck)(struct usf_lock *l, uint32_t owner);

static uint64_t lap_of(uint64_t ticket) { return ticket / N & LAP_MASK; }
static uint64_t slot_word(enum slot_code c, uint64_t flag, uint32_t name, uint64_t lap)
{ return c | flag | (uint64_t)name << 8 | (lap & LAP_MASK) << 36; }
static enum slot_code code(uint64_t w) { return (enum slot_code)(w & CODE_MASK); }
static uint32_t waiter(uint64_t w) { return (uint32_t)(w >> 8) & (LOCK_NAME_END - 1); }
static uint64_t lap(uint64_t w) { return w >> 36; }
/* The slot still belongs to the ticket one lap before: the queue ends here. */
static bool is_behind(uint64_t w, uint64_t ticket) { return ((lap_of(ticket) - lap(w)) & LAP_MASK) == 1; }
static uint64_t with_code(uint64_t w, enum slot_code c) { return (w & ~CODE_MASK) | c; }
static struct usf_lock_slot *slot_of(struct usf_lock *l, uint64_t ticket) { return &l->slot[ticket % N]; }

static bool change(_Atomic uint64_t *state, uint64_t *from, uint64_t to)
{ return atomic_compare_exchange_strong_explicit(state, from, to, memory_order_acq_rel, memory_order_acquire); }

static void set_free(struct usf_lock_slot *s, uint64_t old_lap)
{ atomic_store_explicit(&s->state, slot_word(FREE, 0, 0, old_lap + 1), memory_order_release); }

void lock_init(struct usf_lock *l, enum lock_kind kind) { l->kind = kind; }

/* ---- the word ---------------------------------------------------------------------------------- */

static bool try_word(struct usf_lock *l, uint32_t as)
{
    uint32_t free = 0;
    return atomic_load_explicit(&l->word, memory_order_relaxed) == 0
           && atomic_compare_exchange_strong_explicit(&l->word, &free, as, memory_order_acquire, memory_order_relaxed);
}

static void sleep_on_word(struct usf_lock *l)
{
    uint32_t w = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (!w) return;
    if (!(w & LOCK_SLEEPERS)
        && !atomic_compare_exchange_strong_explicit(&l->word, &w, w | LOCK_SLEEPERS, memory_order_relaxed,
                                                    memory_order_relaxed)) return;
    USF_POINT("lock.sleep");
    os_futex_wait(&l->word, w | LOCK_SLEEPERS, os_now() + SLEEP_NS);
}

/* Not called while recovery itself waits: the monitor's answer to it is a recovery. */
static bool complain(struct usf_lock *l)
{
    uint32_t w = atomic_load_explicit(&l->word, memory_order_relaxed) & ~LOCK_SLEEPERS;
    return w && usf_lock_on_stuck && usf_lock_on_stuck(l, w);
}

static bool acquire_word(struct usf_lock *l, uint32_t owner)
{
    for (int i = 0; i < SPINS; i++) {
        if (try_word(l, owner)) return true;
        os_pause();
    }
    uint64_t stuck = os_now() + STUCK_NS;
    do {
        sleep_on_word(l);
        if (os_now() < stuck) continue;
        if (complain(l)) return false;
        stuck += STUCK_NS;
    } while (!try_word(l, owner | LOCK_SLEEPERS));
    return true;
}

/* ---- the queue: owner's side; all hold the lock ------------------------------------------------- */

static uint64_t serving(struct usf_lock *l) { return atomic_load_explicit(&l->serving, memory_order_relaxed); }

static void serve_next(struct usf_lock *l, uint64_t ticket)
{ atomic_store_explicit(&l->serving, ticket + 1, memory_order_relaxed); }

/* Move `serving` past finished tickets and tell the first waiter that it is the first. */
static void settle(struct usf_lock *l)
{
    for (;;) {
        uint64_t t = serving(l);
        struct usf_lock_slot *s = slot_of(l, t);
        uint64_t w = atomic_load_explicit(&s->state, memory_order_acquire);
        if (lap(w) == lap_of(t)) {
            if (code(w) == FREE || code(w) == CLAIMED || code(w) == FIRST || code(w) == TAKEN) return;
            if (code(w) == WAITS) {
                if (change(&s->state, &w, with_code(w, FIRST))) return;
                continue;                       /* it gave up at this moment */
            }
            if (code(w) == ABANDONED) set_free(s, lap(w));
        } else if (is_behind(w, t)) {
            return;
        }
        serve_next(l, t);                       /* SERVED, AGAIN, cleared, or in its next lap: finished */
    }
}

bool lock_next_request(struct usf_lock *l, uint64_t *request)
{
    if (l->kind != LOCK_DT) return false;
    for (;;) {
        settle(l);
        uint64_t t = serving(l);
        struct usf_lock_slot *s = slot_of(l, t);
        uint64_t w = atomic_load_explicit(&s->state, memory_order_acquire);
        if (lap(w) != lap_of(t) || code(w) != FIRST || !(w & HAS_REQUEST)) {
            if (lap(w) == lap_of(t) && (code(w) == ABANDONED || code(w) == WAITS)) continue;
            return false;
        }
        if (!change(&s->state, &w, with_code(w, TAKEN))) continue;
        *request = atomic_load_explicit(&s->request, memory_order_relaxed);
        USF_POINT("lock.taken");
        return true;
    }
}

void lock_reply(struct usf_lock *l, uint64_t reply)
{
    uint64_t t = serving(l);
    struct usf_lock_slot *s = slot_of(l, t);
    uint64_t w = atomic_load_explicit(&s->state, memory_order_relaxed);
    usf_dassert(code(w) == TAKEN && lap(w) == lap_of(t));
    atomic_store_explicit(&s->reply, reply, memory_order_relaxed);
    USF_POINT("lock.reply");
    atomic_store_explicit(&s->state, with_code(w, SERVED), memory_order_release);
    serve_next(l, t);
}

/* ---- the queue: waiter's side ------------------------------------------------------------------- */

static bool enter(struct usf_lock *l, uint32_t name, uint64_t flag, uint64_t request, uint64_t *ticket)
{
    for (;;) {
        uint64_t t = atomic_load_explicit(&l->next, memory_order_relaxed);
        struct usf_lock_slot *s = slot_of(l, t);
        uint64_t w = atomic_load_explicit(&s->state, memory_order_acquire);
        if (is_behind(w, t)) {
            if (atomic_load_explicit(&l->next, memory_order_relaxed) == t) return false;    /* full */
            continue;
        }
        bool ours = lap(w) == lap_of(t) && code(w) == FREE
                    && change(&s->state, &w, slot_word(CLAIMED, flag, name, lap_of(t)));
        uint64_t seen = t;      /* ours or another's: the ticket is taken */
        USF_POINT("lock.claimed");
        atomic_compare_exchange_strong_explicit(&l->next, &seen, t + 1, memory_order_relaxed,
                                                memory_order_relaxed);
        if (!ours) continue;
        atomic_store_explicit(&s->request, request, memory_order_relaxed);
        USF_POINT("lock.publish");
        atomic_store_explicit(&s->state, slot_word(WAITS, flag, name, lap_of(t)), memory_order_release);
        USF_POINT("lock.waits");
        *ticket = t;
        return true;
    }
}

enum outcome { OWNED, ANSWERED, IMPATIENT };

/* We own the word.  What became of our place in the queue? */
static enum outcome leave_as_owner(struct usf_lock *l, uint64_t ticket, uint64_t *reply)
{
    struct usf_lock_slot *s = slot_of(l, ticket);
    uint64_t w = atomic_load_explicit(&s->state, memory_order_acquire);
    enum outcome o = OWNED;
    if (lap(w) != lap_of(ticket)) return o;     /* taken for dead: the place is another's by now */
    if (code(w) == SERVED) {            /* the last owner had served us before it released */
        *reply = atomic_load_explicit(&s->reply, memory_order_relaxed);
        o = ANSWERED;
    }
    set_free(s, lap(w));
    USF_POINT("lock.leaves");
    settle(l);
    return o;
}

static enum outcome wait_in_queue(struct usf_lock *l, uint32_t owner, uint64_t ticket, uint64_t *reply)
{
    struct usf_lock_slot *s = slot_of(l, ticket);
    for (unsigned i = 1;; i++) {
        uint64_t w = atomic_load_explicit(&s->state, memory_order_acquire);
        if (lap(w) != lap_of(ticket)) return IMPATIENT;     /* taken for dead */
        switch (code(w)) {
        case SERVED:
            *reply = atomic_load_explicit(&s->reply, memory_order_relaxed);
            set_free(s, lap(w));
            return ANSWERED;
        case AGAIN:
            set_free(s, lap(w));
            return IMPATIENT;
        case TAKEN:
            if (i > SPINS) os_futex_wait(&s->state, (uint32_t)w, os_now() + TAKEN_NS);
            break;
        default:
            /* The owner may have passed the turn to us before we had published it. */
            if ((code(w) == FIRST || (i % 16 == 0 && serving(l) == ticket)) && try_word(l, owner)) {
                enum outcome o = leave_as_owner(l, ticket, reply);
                if (o == ANSWERED) lock_release(l, owner);
                return o;
            }
            if (i > SPINS && change(&s->state, &w, with_code(w, ABANDONED))) return IMPATIENT;
        }
        os_pause();
    }
}

bool lock_acquire_slow(struct usf_lock *l, uint32_t owner)
{
    uint64_t ticket, reply;
    if (l->kind == LOCK_DT && enter(l, owner, 0, 0, &ticket)
        && wait_in_queue(l, owner, ticket, &reply) == OWNED) return true;
    return acquire_word(l, owner);
}

bool lock_acquire_or_delegate(struct usf_lock *l, uint32_t owner, uint64_t request, uint64_t *reply)
{
    uint64_t ticket;
    if (!owner) owner = LOCK_NAME_NOBODY;
    if (!try_word(l, owner)) {
        enum outcome o = IMPATIENT;
        if (l->kind == LOCK_DT && enter(l, owner, HAS_REQUEST, request, &ticket))
            o = wait_in_queue(l, owner, ticket, reply);
        if (o == ANSWERED) return false;
        if (o == IMPATIENT) while (!acquire_word(l, owner)) {}
    }
    USF_POINT("lock.owned");
    return true;
}

void lock_release_slow(struct usf_lock *l, uint32_t owner)
{
    uint32_t w = atomic_load_explicit(&l->word, memory_order_relaxed);
    if (!owner) owner = LOCK_NAME_NOBODY;
    /* Taken for dead and recovered: the lock is no longer ours to free. */
    if ((w & ~LOCK_SLEEPERS) != owner) return;
    if (l->kind == LOCK_DT) settle(l);
    w = atomic_exchange_explicit(&l->word, 0, memory_order_release);
    USF_POINT("lock.released");
    if (w & LOCK_SLEEPERS) os_futex_wake(&l->word, 1);
}

/* ---- recovery ---------------------------------------------------------------------------------- */

/* Take the word, from a dead owner if need be.  With the sleepers' bit: the dead may have taken a wake-up
 * with them, and our release gives it to another. */
static bool seize(struct usf_lock *l, uint32_t me, bool (*is_dead)(void *, uint32_t), void *arg)
{
    for (;;) {
        if (try_word(l, me | LOCK_SLEEPERS)) return false;
        uint32_t w = atomic_load_explicit(&l->word, memory_order_relaxed);
        if (!w) continue;
        /* acquire: what the dead owner had written is seen (it is ordered before its death) */
        if (is_dead(arg, w & ~LOCK_SLEEPERS)) {
            if (atomic_compare_exchange_strong_explicit(&l->word, &w, me | LOCK_SLEEPERS, memory_order_acquire,
                                                        memory_order_relaxed)) return true;
        } else {
            sleep_on_word(l);
        }
    }
}

static void recover_slot(struct usf_lock *l, uint32_t i, bool (*is_dead)(void *, uint32_t), void *arg)
{
    struct usf_lock_slot *s = &l->slot[i];
    for (;;) {
        uint64_t w = atomic_load_explicit(&s->state, memory_order_acquire);
        uint64_t to = w;
        if (code(w) == FREE) return;
        if (!waiter(w) || is_dead(arg, waiter(w))) {
            /* `serving` counts mod N through the slots: is this slot's ticket still to come? */
            uint64_t t = serving(l) + (i - serving(l)) % N;
            bool finished = code(w) == SERVED || code(w) == AGAIN || lap(w) != lap_of(t);
            to = finished ? slot_word(FREE, 0, 0, lap(w) + 1) : with_code(w, ABANDONED);
        } else if (code(w) == TAKEN) {
            to = with_code(w, AGAIN);   /* whoever had taken it is dead: we own the word */
        } else if (code(w) == ABANDONED && lap(w) != lap_of(serving(l) + (i - serving(l)) % N)) {
            to = slot_word(FREE, 0, 0, lap(w) + 1);
        }
        if (to == w || change(&s->state, &w, to)) return;
    }
}

bool lock_recover(struct usf_lock *l, uint32_t me, bool (*is_dead)(void *arg, uint32_t name), void *arg)
{
    bool seized = seize(l, me, is_dead, arg);
    USF_POINT("lock.recover");
    for (uint32_t i = 0; l->kind == LOCK_DT && i < N; i++) recover_slot(l, i, is_dead, arg);
    if (l->kind == LOCK_DT) settle(l);
    if (seized) atomic_fetch_add_explicit(&l->epoch, 1, memory_order_relaxed);
    return seized;
}
