/* src/tasks/queue.c - ready tasks: where they wait, and in which order they are taken.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A slot's holder takes, in this order: its immediate successor; tasks whose waitfor is over;
 * strict and preferred ones of its CPU, of its NUMA node, of its complexes; those of a priority
 * above 0; the ring; what came from threads without a slot; those of other slots' rings; those of a
 * priority below 0; what prefers other places; and those that have yielded. */
#include "tasks/tasks.h"

/* ---- lists ----------------------------------------------------------------------------------- */

void tk_list_push(struct tk_list *l, struct nosv_task *t)
{
    t->next = 0;
    tk_lock(&l->lock);
    if (l->tail) l->tail->next = t;
    else l->head = t;
    l->tail = t;
    atomic_fetch_add(&l->n, 1);
    tk_unlock(&l->lock);
}

/* Up to max of the oldest, into at[]; their number. */
static uint32_t list_take(struct tk_list *l, struct nosv_task **at, uint32_t max)
{
    uint32_t n = 0;
    if (!atomic_load(&l->n)) return 0;
    tk_lock(&l->lock);
    for (; n < max && l->head; l->head = l->head->next) at[n++] = l->head;
    if (!l->head) l->tail = 0;
    atomic_fetch_sub(&l->n, n);
    tk_unlock(&l->lock);
    return n;
}

static struct nosv_task *list_pop(struct tk_list *l)
{
    struct nosv_task *t;
    return list_take(l, &t, 1) ? t : 0;
}

/* ---- the ring -------------------------------------------------------------------------------- */

static struct nosv_task *ring_get(struct tk_ring *r, uint32_t i) { return atomic_load_explicit(&r->at[i % TK_RING], memory_order_relaxed); }
static void ring_set(struct tk_ring *r, uint32_t i, struct nosv_task *t) { atomic_store_explicit(&r->at[i % TK_RING], t, memory_order_relaxed); }

/* Owner.  False: it is full. */
static bool ring_push(struct tk_ring *r, struct nosv_task *t)
{
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&r->head, memory_order_acquire) == TK_RING) return false;
    ring_set(r, tail, t);
    atomic_exchange(&r->tail, tail + 1);    /* before the look at idle slots (T2) */
    return true;
}

/* Owner. */
static struct nosv_task *ring_pop(struct tk_ring *r)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed), tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    while (head != tail) {
        struct nosv_task *t = ring_get(r, head);
        if (atomic_compare_exchange_weak_explicit(&r->head, &head, head + 1, memory_order_acq_rel, memory_order_relaxed)) {
            if (tail - head > 2) __builtin_prefetch(ring_get(r, head + 2), 1);
            return t;
        }
    }
    return 0;
}

/* By any thread: the older half of it, into at[TK_RING / 2]. */
static uint32_t ring_take_half(struct tk_ring *r, struct nosv_task **at)
{
    for (;;) {
        uint32_t head = atomic_load_explicit(&r->head, memory_order_acquire);
        uint32_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
        uint32_t n = tail - head;
        if (n > TK_RING) continue;          /* head was read before others moved both */
        n -= n / 2;
        for (uint32_t i = 0; i < n; i++) at[i] = ring_get(r, head + i);
        if (!n || atomic_compare_exchange_strong_explicit(&r->head, &head, head + n, memory_order_acq_rel, memory_order_relaxed)) return n;
    }
}

static uint32_t ring_length(struct tk_ring *r) { return atomic_load(&r->tail) - atomic_load(&r->head); }

/* holds s, whose ring is empty: at[1..n) goes there.  Returns at[0]. */
static struct nosv_task *refill(struct tk_slot *s, struct nosv_task **at, uint32_t n)
{
    uint32_t tail = atomic_load_explicit(&s->ring.tail, memory_order_relaxed);
    for (uint32_t i = 1; i < n; i++) ring_set(&s->ring, tail + i - 1, at[i]);
    if (n > 1) {
        atomic_store(&s->ring.tail, tail + n - 1);
        s->moved = true;
    }
    return n ? at[0] : 0;
}

static struct nosv_task *take_batch(struct tk_slot *s, struct tk_list *from)
{
    struct nosv_task *at[TK_RING / 2];
    return refill(s, at, list_take(from, at, TK_RING / 2));
}

static struct nosv_task *take_inbox(struct tk_slot *s)
{
    struct nosv_task *at[TK_RING / 2];
    uint32_t n = atomic_load(&tk.inbox.n) / tk.nr_slots + 1;
    return refill(s, at, list_take(&tk.inbox, at, n < TK_RING / 2 ? n : TK_RING / 2));
}

/* ---- the next -------------------------------------------------------------------------------- */

static struct tk_heap *earlier(struct tk_heap *a, struct tk_heap *b)
{
    uint64_t due = atomic_load_explicit(&b->due, memory_order_relaxed);
    if (!due) return a;
    return a && atomic_load_explicit(&a->due, memory_order_relaxed) <= due ? a : b;
}

/* Of the heaps that s takes from, the one with the earliest deadline; or null. */
static struct tk_heap *latest(struct tk_slot *s)
{
    if (USF_LIKELY(!atomic_load_explicit(&tk.nr_late, memory_order_relaxed))) return 0;
    struct tk_heap *h = earlier(earlier(earlier(0, &tk.global), &s->strict), &tk.nodes[s->node].strict);
    for (uint32_t i = 0; i < tk.nr_complexes; i++)
        if (tk_complex_has(&tk.complexes[i], s->cpu)) h = earlier(h, &tk.complexes[i].strict);
    return h;
}

bool tk_is_late_work(struct tk_slot *s) { return latest(s) != 0; }

static struct nosv_task *next_placed(struct tk_slot *s)
{
    struct tk_node *node = &tk.nodes[s->node];
    struct nosv_task *t = tk_heap_pop(&s->strict);
    if (!t) t = tk_heap_pop(&s->preferred);
    if (!t) t = tk_heap_pop(&node->strict);
    if (!t) t = tk_heap_pop(&node->preferred);
    for (uint32_t i = 0; !t && i < tk.nr_complexes; i++) {
        struct tk_complex *c = &tk.complexes[i];
        if (!tk_complex_has(c, s->cpu)) continue;
        t = tk_heap_pop(&c->strict);
        if (!t) t = tk_heap_pop(&c->preferred);
    }
    if (!t && atomic_load(&tk.global.n) && atomic_load(&tk.global.top) > 0) t = tk_heap_pop(&tk.global);
    return t;
}

#define INBOX_TURN 61u      /* so often what comes from outside goes first */
#define LATE_TURNS 256u     /* so many tasks whose time is over go before another one gets its turn: they may come back for ever */

static struct nosv_task *next_plain(struct tk_slot *s)
{
    struct nosv_task *t = 0;
    if (USF_UNLIKELY(s->served % INBOX_TURN == 0)) t = list_pop(&tk.inbox);
    if (!t) t = ring_pop(&s->ring);
    if (!t) t = take_batch(s, &s->spill);
    if (!t) t = take_inbox(s);
    return t;
}

/* ---- yields ---------------------------------------------------------------------------------- */
/* A task that yields waits until the process has executed as many others as were ready then, or a
 * slot finds none.  So it lets tasks of any priority go first, and is not kept waiting by those
 * that come later.  Tasks whose waitfor is over go before it in any case, and do not count.  Tasks
 * are counted only while one has yielded: a slot that has not seen that yet leaves a few uncounted,
 * and the task waits for as many more. */

/* In rings, or behind them.  A slot that is idle has none, or is about to be claimed for what it
 * has. */
static uint32_t ready_in_slots(const struct tk_slot *own)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < tk.nr_slots; i++) {
        struct tk_slot *s = &tk.slots[i];
        if (s != own && atomic_load_explicit(&tk.idle[i / 64], memory_order_relaxed) >> (i % 64) & 1) continue;
        uint32_t length = ring_length(&s->ring);
        n += (length <= TK_RING ? length : 0) + atomic_load(&s->spill.n);     /* the ring's ends were read one after the other */
    }
    return n;
}

void tk_queue_yielded(struct tk_slot *s, struct nosv_task *t)
{
    if (USF_UNLIKELY(!tk_may_run(t, s))) {      /* its affinity has been changed */
        tk_put_back(t);
        return;
    }
    t->state = TK_READY;
    atomic_fetch_add(&tk.nr_yielded, 1);
    t->seq = atomic_load(&tk.served) + ready_in_slots(s) + atomic_load(&tk.inbox.n) + (atomic_load(&tk.ordered) - atomic_load(&tk.nr_late));
    tk_list_push(&s->yielded, t);
}

/* Holds the list's lock: the first that has yielded there and may run in s (null: anywhere);
 * *before is the one before it. */
static struct nosv_task *find_yielded(struct tk_list *l, const struct tk_slot *s, struct nosv_task **before)
{
    struct nosv_task *t = l->head;
    for (*before = 0; t && s && !tk_may_run(t, s); t = t->next) *before = t;
    return t;
}

/* Holds s: the first that has yielded at `at` and may run in s.  `all_served`: nothing else is
 * ready, so that it need not be its turn. */
static struct nosv_task *pop_yielded(struct tk_slot *at, struct tk_slot *s, bool all_served)
{
    struct tk_list *l = &at->yielded;
    struct nosv_task *t, *before;
    if (!atomic_load(&l->n)) return 0;
    tk_lock(&l->lock);
    t = find_yielded(l, s, &before);
    if (t && !all_served && (int32_t)(atomic_load(&tk.served) - (uint32_t)t->seq) < 0) t = 0;
    if (t) {
        atomic_fetch_sub(&tk.nr_yielded, 1);
        if (before) before->next = t->next;
        else l->head = t->next;
        if (l->tail == t) l->tail = before;
        atomic_fetch_sub(&l->n, 1);
    }
    tk_unlock(&l->lock);
    return t;
}

static struct nosv_task *next_other(struct tk_slot *s)
{
    struct nosv_task *t = s->successor;
    if (USF_UNLIKELY(t != 0)) {
        s->successor = 0;
        return t;
    }
    bool ordered = atomic_load_explicit(&tk.ordered, memory_order_relaxed) != 0;
    if (USF_UNLIKELY(ordered) && (t = next_placed(s))) return t;
    return next_plain(s);
}

static void serve(struct tk_slot *s)
{
    s->served++;
    if (USF_UNLIKELY(atomic_load_explicit(&tk.nr_yielded, memory_order_relaxed))) atomic_fetch_add(&tk.served, 1);
}

struct nosv_task *tk_next(struct tk_slot *s)
{
    struct tk_heap *late = s->successor ? 0 : latest(s);
    bool yielded = atomic_load_explicit(&s->yielded.n, memory_order_relaxed);
    struct nosv_task *t = USF_UNLIKELY(late != 0) && s->late_in_a_row < LATE_TURNS ? tk_heap_pop_late(late) : 0;
    if (t) {
        s->late_in_a_row++;
        return t;
    }
    s->late_in_a_row = 0;
    t = USF_UNLIKELY(yielded) ? pop_yielded(s, s, false) : 0;
    if (t) return t;
    if ((t = next_other(s))) {
        serve(s);
        return t;
    }
    if (USF_LIKELY(!late)) return 0;
    /* The others' turn: all of them, before another one whose time is over. */
    t = tk_steal(s);
    return t ? t : tk_heap_pop_late(late);
}

/* ---- others' --------------------------------------------------------------------------------- */

static struct nosv_task *steal_from(struct tk_slot *s, struct tk_slot *victim)
{
    struct nosv_task *at[TK_RING / 2];
    uint32_t n = ring_take_half(&victim->ring, at);
    if (!n) n = list_take(&victim->spill, at, TK_RING / 4);
    s->n.stolen += n;
    return refill(s, at, n);
}

/* What may run here, and has a priority below 0 or prefers another place. */
static struct nosv_task *steal_ordered(struct tk_slot *s)
{
    struct nosv_task *t = 0;
    if (USF_LIKELY(!atomic_load(&tk.ordered))) return 0;
    t = tk_heap_pop(&tk.global);
    for (uint32_t i = 1; !t && i < tk.nr_slots; i++) t = tk_heap_pop(&tk.slots[(s->id + i) % tk.nr_slots].preferred);
    for (uint32_t i = 0; !t && i < tk.nr_nodes; i++) t = tk_heap_pop(&tk.nodes[i].preferred);
    for (uint32_t i = 0; !t && i < tk.nr_complexes; i++) t = tk_heap_pop(&tk.complexes[i].preferred);
    return t;
}

struct nosv_task *tk_steal(struct tk_slot *s)
{
    struct nosv_task *t = 0;
    for (uint32_t i = 1; !t && i < tk.nr_slots; i++) t = steal_from(s, &tk.slots[(s->id + i) % tk.nr_slots]);
    if (!t) t = steal_ordered(s);
    if (t) serve(s);
    for (uint32_t i = 0; !t && i < tk.nr_slots; i++) t = pop_yielded(&tk.slots[(s->id + i) % tk.nr_slots], s, true);
    return t;
}

/* One has yielded at `at`, and s may take it. */
static bool has_yielded(struct tk_slot *s, struct tk_slot *at)
{
    struct nosv_task *before;
    if (!atomic_load(&at->yielded.n)) return false;
    tk_lock(&at->yielded.lock);
    bool has = find_yielded(&at->yielded, s, &before) != 0;
    tk_unlock(&at->yielded.lock);
    return has;
}

/* s: null for any. */
static bool is_common_work(struct tk_slot *s)
{
    if (atomic_load(&tk.inbox.n)) return true;
    for (uint32_t i = 0; i < tk.nr_slots; i++)
        if (ring_length(&tk.slots[i].ring) || atomic_load(&tk.slots[i].spill.n) || has_yielded(s, &tk.slots[i])) return true;
    if (!atomic_load(&tk.ordered)) return false;
    if (atomic_load(&tk.global.n)) return true;
    for (uint32_t i = 0; i < tk.nr_slots; i++)
        if (atomic_load(&tk.slots[i].preferred.n)) return true;
    for (uint32_t i = 0; i < tk.nr_nodes; i++)
        if (atomic_load(&tk.nodes[i].preferred.n)) return true;
    for (uint32_t i = 0; i < tk.nr_complexes; i++)
        if (atomic_load(&tk.complexes[i].preferred.n)) return true;
    return false;
}

bool tk_is_plain_work(void) { return is_common_work(0); }

bool tk_is_strict_work(struct tk_slot *s)
{
    if (!atomic_load(&tk.ordered)) return false;
    if (atomic_load(&s->strict.n) || atomic_load(&tk.nodes[s->node].strict.n)) return true;
    for (uint32_t i = 0; i < tk.nr_complexes; i++)
        if (tk_complex_has(&tk.complexes[i], s->cpu) && atomic_load(&tk.complexes[i].strict.n)) return true;
    return false;
}

bool tk_is_work(struct tk_slot *s) { return is_common_work(s) || tk_is_strict_work(s); }

/* ---- queueing -------------------------------------------------------------------------------- */

static struct tk_heap *heap_of(const struct nosv_task *t)
{
    bool strict = t->affinity.type == NOSV_AFFINITY_TYPE_STRICT;
    uint32_t i = t->affinity.index;
    switch (t->affinity.level) {
    case NOSV_AFFINITY_LEVEL_CPU:
        if (i >= TK_MAX_CPUS || tk.slot_of[i] == UINT16_MAX) break;
        return strict ? &tk.slots[tk.slot_of[i]].strict : &tk.slots[tk.slot_of[i]].preferred;
    case NOSV_AFFINITY_LEVEL_NUMA:
        for (uint32_t n = 0; n < tk.nr_nodes; n++)
            if (tk.nodes[n].system == i) return strict ? &tk.nodes[n].strict : &tk.nodes[n].preferred;
        break;
    case NOSV_AFFINITY_LEVEL_USER_COMPLEX:
        if (i < tk.nr_complexes) return strict ? &tk.complexes[i].strict : &tk.complexes[i].preferred;
        break;
    default:
        break;
    }
    return t->priority ? &tk.global : 0;
}

static void put(struct tk_exec *me, struct nosv_task *t)
{
    struct tk_heap *h = heap_of(t);
    t->state = TK_READY;
    if (USF_UNLIKELY(h != 0)) tk_heap_push(h, t);
    else if (!me || !me->slot) tk_list_push(&tk.inbox, t);
    else if (atomic_load_explicit(&me->slot->spill.n, memory_order_relaxed) || !ring_push(&me->slot->ring, t))
        tk_list_push(&me->slot->spill, t);
}

void tk_put_back(struct nosv_task *t) { put(0, t); }

void tk_queue(struct tk_exec *me, struct nosv_task *t)
{
    nosv_affinity_t place = t->affinity;    /* once queued, the task may run and be gone */
    if (USF_UNLIKELY(tk.places)) tk_tell_ready(t);
    put(me, t);
    USF_POINT("tasks.queued");
    tk_wake_for(place, me && me->slot ? me->slot->cpu : os_cpu());
}

void tk_queue_late(struct nosv_task *t, uint64_t deadline)
{
    nosv_affinity_t place = tk_is_strict(t->affinity) ? t->affinity : (nosv_affinity_t){0};
    struct tk_heap *h = place.level == NOSV_AFFINITY_LEVEL_NONE ? &tk.global : heap_of(t);
    if (USF_UNLIKELY(tk.places)) tk_tell_ready(t);
    t->state = TK_READY;
    t->seq = deadline;
    atomic_fetch_or_explicit(&t->flags, TK_F_LATE, memory_order_relaxed);
    tk_heap_push(h ? h : &tk.global, t);
    tk_wake_for(place, os_cpu());
}
