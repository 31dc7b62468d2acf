/* src/tasks/heap.c - ready tasks in order of priority: a pairing heap.  SPDX-License-Identifier: Apache-2.0
 *
 * Links lie in the tasks, so nothing is allocated.  A task's children are linked by sibling.  Equal priorities
 * are in order of entry.  Tasks whose waitfor is over come first, in the order of their deadlines. */
#include "tasks/tasks.h"

static bool is_late(const struct nosv_task *t) { return atomic_load_explicit(&t->flags, memory_order_relaxed) & TK_F_LATE; }

static bool goes_first(const struct nosv_task *a, const struct nosv_task *b)
{
    bool late = is_late(a);
    if (late != is_late(b)) return late;
    return late || a->priority == b->priority ? a->seq < b->seq : a->priority > b->priority;
}

static struct nosv_task *meld(struct nosv_task *a, struct nosv_task *b)
{
    if (!a) return b;
    if (!b) return a;
    if (goes_first(b, a)) {
        struct nosv_task *t = a;
        a = b;
        b = t;
    }
    b->sibling = a->child;
    a->child = b;
    return a;
}

/* Meld pairs from the left, then all from the right. */
static struct nosv_task *meld_children(struct nosv_task *first)
{
    struct nosv_task *pairs = 0, *root = 0;
    while (first) {
        struct nosv_task *a = first, *b = a->sibling;
        first = b ? b->sibling : 0;
        a->sibling = 0;
        if (b) b->sibling = 0;
        a = meld(a, b);
        a->sibling = pairs;
        pairs = a;
    }
    while (pairs) {
        struct nosv_task *next = pairs->sibling;
        pairs->sibling = 0;
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

/* holds the lock */
static void set_root(struct tk_heap *h, struct nosv_task *root)
{
    h->root = root;
    if (root) atomic_store_explicit(&h->top, root->priority, memory_order_relaxed);
    atomic_store_explicit(&h->due, root && is_late(root) ? root->seq : 0, memory_order_relaxed);
}

void tk_heap_push(struct tk_heap *h, struct nosv_task *t)
{
    t->child = t->sibling = 0;
    atomic_fetch_add(&tk.ordered, 1);
    tk_lock(&h->lock);
    if (is_late(t)) atomic_fetch_add(&tk.nr_late, 1);
    else t->seq = atomic_fetch_add_explicit(&tk.seq, 1, memory_order_relaxed);
    set_root(h, meld(h->root, t));
    atomic_fetch_add(&h->n, 1);
    tk_unlock(&h->lock);
}

static struct nosv_task *pop(struct tk_heap *h, bool late)
{
    if (!atomic_load(&h->n)) return 0;
    tk_lock(&h->lock);
    struct nosv_task *t = h->root;
    if (t && late && !is_late(t)) t = 0;
    if (t) {
        set_root(h, meld_children(t->child));
        atomic_fetch_sub(&h->n, 1);
        atomic_fetch_sub_explicit(&tk.ordered, 1, memory_order_relaxed);
        if (is_late(t)) {
            atomic_fetch_sub_explicit(&tk.nr_late, 1, memory_order_relaxed);
            atomic_fetch_and_explicit(&t->flags, (uint8_t)~TK_F_LATE, memory_order_relaxed);
        }
    }
    tk_unlock(&h->lock);
    return t;
}

struct nosv_task *tk_heap_pop(struct tk_heap *h) { return pop(h, false); }
struct nosv_task *tk_heap_pop_late(struct tk_heap *h) { return pop(h, true); }
