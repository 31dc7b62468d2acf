/* src/policy/fl.c - FLSCHED: feather-light round robin, without a lock.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After Jo et al., "FLSCHED: A Lockless and Lightweight Approach to OS Scheduler for Xeon Phi"
 * (APSys 2017).  A queue per core, served in order; a woken task goes to the queue of its last
 * core; no task is made to give way for another, nothing is balanced periodically, and nothing is
 * counted: the slice is the time since the core's current task was started, which the scheduler
 * notes anyway.  A core whose queue is empty takes from others, from near to far: none is idle
 * while a task waits that it may run.
 *
 * The slice puts rescheduling off.  Who yields makes room for those of its own core and cache at
 * once; for those further away, whose caches would be left behind, only when its slice is over.
 *
 * Hand-over.  Today every operation is called with the scheduler lock held.  This policy needs it
 * for dequeue, init and what comes and goes alone: enqueue, select_core, yield and pick, of any
 * cores, may run at the same time.
 *
 *   A queue is two stacks of task ids, linked by `next`:  in, newest first, and out, oldest first.
 *   A stack is one word: the id of its top and a tag that every change raises, so that a
 *   compare-and-swap fails if anything has happened since the word was read, even if the same task
 *   is the top again.
 *     enqueue      pushes to `in`;
 *     pick         pops from `out`.  If that is empty it takes all of `in` at once, turns the chain
 *                  round, keeps the first and publishes the rest as the new `out`; if another core
 *                  has done so meanwhile, it puts the chain back on `in`.  A top that may not run
 *                  on the core: it looks further down, and takes the whole stack in the same way if
 *                  one may.
 *   A chain that was taken belongs to the taker alone.  Other cores' picks are no different from
 *   the owner's.
 *
 *   `hint` has a bit per core: clear only if its queue is empty.  A thread that puts something into
 *   a queue looks afterwards, and sets the bit if it is clear; a thread that finds a queue empty
 *   clears the bit and looks at the queue afterwards, and sets it again if that was too soon.  One
 *   of the two sees the other.  While cores live on their own queues no thread writes these words.
 *
 *   F1  an enqueued task is in exactly one stack or taken chain, and one pick returns it;
 *   F2  tasks leave a queue in the order in which they came, unless two cores take from it at the
 *       same time;
 *   F3  a taken chain is not found by others meanwhile.  So a caller without the scheduler lock has
 *       to do as core.c does anyway: after each enqueue, and each pick that found something, look
 *       for idle cores, as long as tasks wait, and let them pick.  A pick that finds nothing has
 *       moved nothing.
 *   models/fl.pml has this, tests/policy/fl_race.c runs it under ThreadSanitizer.
 *
 * dequeue, under the lock, takes a task out of the middle.  In `out` prev is right for all but the
 * top.  In `in` it is missing for those that were pushed since the last dequeue: it is filled in
 * for them first (`linked`), once for each. */
#include "policy/common.h"

enum { ID_BITS = 20 };    /* id + 1 in the low bits of a stack's word, the tag above */

struct USF_POLICY_STATE inst { uint64_t hint[USF_CORE_WORDS]; };
struct USF_POLICY_STATE queue {
    uint64_t in, out;
    uint64_t pad[6];            /* what others read does not share a cache line with it */
    uint64_t same_llc[USF_CORE_WORDS], same_node[USF_CORE_WORDS];
};
struct USF_POLICY_STATE mark {  /* written by the thread that has the task alone: before it pushes it, or in a taken chain */
    uint16_t core;              /* whose queue */
    uint8_t out;                /* in which of the two stacks */
    uint8_t linked;             /* in `in`: prev is set; 0 there: it was the top when that was done */
};
_Static_assert(sizeof(struct inst) <= USF_POL_DATA - 64, "instance data");
_Static_assert(sizeof(struct queue) <= USF_POL_CORE_DATA, "core data");
_Static_assert(sizeof(struct mark) <= USF_POL_TASK_DATA, "task data");

static struct inst *inst_of(struct usf_pol *p) { return (struct inst *)(void *)p->data; }
static struct queue *queue_of(struct usf_pol *p, uint32_t c) { return (struct queue *)(void *)usf_core(p, c)->data; }
static struct mark *mark_of(struct usf_pol *p, uint32_t t) { return (struct mark *)(void *)usf_task(p, t)->data; }

/* Links and tops are id + 1; 0: none. */
static uint32_t top_of(uint64_t w) { return (uint32_t)w & ((1u << ID_BITS) - 1); }
static uint64_t changed(uint64_t w, uint32_t top) { return ((w >> ID_BITS) + 1) << ID_BITS | top; }
static uint64_t load(const uint64_t *w) { return __atomic_load_n(w, __ATOMIC_SEQ_CST); }
static bool swap(uint64_t *w, uint64_t *was, uint32_t top)
{ return __atomic_compare_exchange_n(w, was, changed(*was, top), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
static uint32_t next_of(struct usf_pol *p, uint32_t link)
{ return __atomic_load_n(&usf_task(p, link - 1)->next, __ATOMIC_RELAXED); }     /* perhaps of one that has been taken: the swap fails then */
static void set_next(struct usf_pol *p, uint32_t link, uint32_t next)
{ __atomic_store_n(&usf_task(p, link - 1)->next, next, __ATOMIC_RELAXED); }
static bool is_empty(const struct queue *q) { return !top_of(load(&q->out)) && !top_of(load(&q->in)); }

/* ---- hints ----------------------------------------------------------------------------------- */

/* After something was put into the queue. */
static void note_filled(struct usf_pol *p, uint32_t core)
{
    uint64_t *h = &inst_of(p)->hint[core / 64], bit = 1ull << (core % 64);
    if (!(load(h) & bit)) __atomic_fetch_or(h, bit, __ATOMIC_SEQ_CST);
}

static void note_empty(struct usf_pol *p, uint32_t core)
{
    __atomic_fetch_and(&inst_of(p)->hint[core / 64], ~(1ull << (core % 64)), __ATOMIC_SEQ_CST);
    if (!is_empty(queue_of(p, core))) note_filled(p, core);
}

/* Others change the words meanwhile, so each is read once. */
static void look_at_hints(struct usf_pol *p, uint64_t cores[USF_CORE_WORDS])
{ for (uint32_t w = 0; w < USF_CORE_WORDS; w++) cores[w] = load(&inst_of(p)->hint[w]); }

/* ---- chains ---------------------------------------------------------------------------------- */

/* Take all of a stack, if one in it may run on the core; else 0, and nothing is touched.  A stack
 * that changes meanwhile may lead the walk astray, but not for ever, and not unnoticed: the tag is
 * another then, and the walk begins anew. */
static uint32_t detach(struct usf_pol *p, uint64_t *stack, uint32_t core)
{
    uint64_t w = load(stack), is;
    for (;;) {
        uint32_t steps = p->nr_tasks, i = top_of(w);
        while (i && steps-- && !usf_may_run(p, i - 1, core)) i = next_of(p, i);
        if (i && steps != UINT32_MAX) {
            if (swap(stack, &w, 0)) return top_of(w);
        } else if ((is = load(stack)) == w) {
            return 0;
        } else {
            w = is;
        }
    }
}

/* A chain of ours, newest first, as `out` has it. */
static uint32_t turn_round(struct usf_pol *p, uint32_t newest)
{
    uint32_t first = 0;
    for (uint32_t i = newest, next; i; first = i, i = next) {
        next = next_of(p, i);
        if (first) usf_task(p, first - 1)->prev = i;
        set_next(p, i, first);
        mark_of(p, i - 1)->out = 1;
    }
    return first;
}

/* Back on `in`: a chain of ours, oldest first. */
static void put_back(struct usf_pol *p, struct queue *q, uint32_t oldest)
{
    uint32_t newest = 0;
    for (uint32_t i = oldest, next; i; newest = i, i = next) {
        struct mark *m = mark_of(p, i - 1);
        next = next_of(p, i);
        set_next(p, i, newest);
        m->out = m->linked = 0;
    }
    uint64_t w = load(&q->in);
    do set_next(p, oldest, top_of(w)); while (!swap(&q->in, &w, newest));
}

/* A chain of ours, oldest first, becomes what the queue's consumers find. */
static void publish(struct usf_pol *p, uint32_t core, uint32_t first)
{
    struct queue *q = queue_of(p, core);
    if (!first) return;
    uint64_t w = load(&q->out);
    if (top_of(w) || !swap(&q->out, &w, first)) put_back(p, q, first);
    note_filled(p, core);
}

/* Take the stack, keep the oldest that may run on the core, publish the rest.  None: it is left
 * alone. */
static uint32_t sift(struct usf_pol *p, uint32_t from, bool out, uint32_t core)
{
    struct queue *q = queue_of(p, from);
    uint32_t first = detach(p, out ? &q->out : &q->in, core), before = 0, i;
    if (!first) return USF_NONE;
    if (!out) first = turn_round(p, first);
    for (i = first; i && !usf_may_run(p, i - 1, core); i = next_of(p, i)) before = i;
    uint32_t next = next_of(p, i);
    if (before) set_next(p, before, next);
    else first = next;
    if (next) usf_task(p, next - 1)->prev = before;
    publish(p, from, first);
    return i - 1;
}

/* The next task of `from`'s queue for the core, or USF_NONE. */
static uint32_t take(struct usf_pol *p, uint32_t from, uint32_t core)
{
    struct queue *q = queue_of(p, from);
    uint64_t w = load(&q->out);
    while (top_of(w)) {
        uint32_t i = top_of(w);
        if (!usf_may_run(p, i - 1, core)) {
            uint32_t task = sift(p, from, true, core);
            return task != USF_NONE ? task : sift(p, from, false, core);
        }
        if (swap(&q->out, &w, next_of(p, i))) return i - 1;
    }
    return sift(p, from, false, core);
}

/* ---- operations ------------------------------------------------------------------------------ */

static int init(struct usf_pol *p)
{
    if (p->nr_cores > USF_CORES_MAX || p->nr_tasks >= 1u << ID_BITS) return -1;
    for (uint32_t i = 0; i < p->nr_cores; i++)
        pol_neighbours(p, i, p->flags & USF_POL_BLIND, queue_of(p, i)->same_llc, queue_of(p, i)->same_node);
    return 0;
}

static uint32_t nearest(struct usf_pol *p, const uint64_t *set, uint32_t core)
{
    const struct queue *q = queue_of(p, core);
    return usf_nearest_core(set, q->same_llc, q->same_node, core);
}

/* Those of the set where the task may run. */
static void permitted(struct usf_pol *p, uint32_t task, const uint64_t *set, uint64_t out[USF_CORE_WORDS])
{
    const struct usf_pol_task *t = usf_task(p, task);
    const uint64_t *may = usf_group(p, t->group)->cores;
    usf_cores_and(out, set, may);
    for (uint32_t c = 0; t->strict && (c = usf_cores_next(out, c)) != USF_NONE; c++)
        if (c >= p->nr_cores || !usf_may_run(p, task, c)) usf_cores_remove(out, c);
}

static uint32_t select_core(struct usf_pol *p, uint32_t task, const uint64_t idle[USF_CORE_WORDS])
{
    uint32_t last = usf_task(p, task)->last_core;
    uint64_t may[USF_CORE_WORDS];
    permitted(p, task, idle, may);
    return last < p->nr_cores ? nearest(p, may, last) : usf_next_core(may, may, task % p->nr_cores);
}

/* The core whose queue the task waits in: its last.  New ones are dealt out. */
static uint32_t home(struct usf_pol *p, uint32_t task)
{
    const struct usf_pol_task *t = usf_task(p, task);
    if (t->last_core < p->nr_cores && usf_may_run(p, task, t->last_core)) return t->last_core;
    uint64_t may[USF_CORE_WORDS];
    permitted(p, task, usf_group(p, t->group)->cores, may);
    uint32_t c = usf_next_core(may, may, task % p->nr_cores);
    return c < p->nr_cores ? c : 0;             /* allowed nowhere: it waits, and a pick checks */
}

static void enqueue(struct usf_pol *p, uint32_t task, enum usf_why why)
{
    uint32_t c = home(p, task);
    struct queue *q = queue_of(p, c);
    (void)why;
    *mark_of(p, task) = (struct mark){.core = (uint16_t)c};
    uint64_t w = load(&q->in);
    do set_next(p, task + 1, top_of(w)); while (!swap(&q->in, &w, task + 1));
    note_filled(p, c);
}

static uint32_t steal(struct usf_pol *p, uint32_t core)
{
    uint64_t filled[USF_CORE_WORDS];
    look_at_hints(p, filled);
    usf_cores_remove(filled, core);
    for (uint32_t from; (from = nearest(p, filled, core)) != USF_NONE; usf_cores_remove(filled, from)) {
        uint32_t task = take(p, from, core);
        if (task != USF_NONE) return task;
        if (is_empty(queue_of(p, from))) note_empty(p, from);
    }
    return USF_NONE;
}

static uint32_t pick(struct usf_pol *p, uint32_t core)
{
    uint32_t task = take(p, core, core);
    return task != USF_NONE ? task : steal(p, core);
}

/* holds the lock.  prev for those that have been pushed since the last time: all down to the first
 * that is linked. */
static void link_back(struct usf_pol *p, struct queue *q)
{
    uint32_t before = 0;
    for (uint32_t i = top_of(q->in); i; before = i, i = next_of(p, i)) {
        struct mark *m = mark_of(p, i - 1);
        usf_task(p, i - 1)->prev = before;
        if (m->linked) return;
        m->linked = 1;
    }
}

/* holds the lock: nothing else happens meanwhile */
static void dequeue(struct usf_pol *p, uint32_t task)
{
    const struct mark *m = mark_of(p, task);
    struct usf_pol_task *t = usf_task(p, task);
    struct queue *q = queue_of(p, m->core);
    uint64_t *stack = m->out ? &q->out : &q->in;
    if (!m->out && (!m->linked || !t->prev)) link_back(p, q);
    uint32_t top = top_of(*stack), before = top == task + 1 ? 0 : t->prev;
    if (before) set_next(p, before, t->next);
    if (t->next) usf_task(p, t->next - 1)->prev = before;
    __atomic_store_n(stack, changed(*stack, before ? top : t->next), __ATOMIC_SEQ_CST);
}

/* Is there a task that the core should run instead? */
static bool yield(struct usf_pol *p, uint32_t core, uint32_t task)
{
    const struct queue *q = queue_of(p, core);
    const struct usf_pol_core *c = usf_core(p, core);
    (void)task;
    if (!is_empty(q) || p->now - c->since >= p->slice) return true;
    uint64_t near[USF_CORE_WORDS];
    look_at_hints(p, near);
    usf_cores_and(near, near, q->same_llc);
    for (uint32_t from = 0; (from = usf_cores_next(near, from)) != USF_NONE; from++)
        if (!is_empty(queue_of(p, from))) return true;
    return false;
}

const struct usf_policy_ops usf_policy_fl = {
    .api = USF_POLICY_API,
    .size = sizeof(struct usf_policy_ops),
    .name = "fl",

    .description = "FLSCHED: lock-free queues per core, round robin, no preemption and no balancing",
    .init = init,
    .select_core = select_core,
    .enqueue = enqueue,
    .pick = pick,
    .dequeue = dequeue,
    .yield = yield,
};
