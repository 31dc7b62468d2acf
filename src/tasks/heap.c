/* src/tasks/heap.c - ready tasks in order of priority: a pairing heap.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Links lie in the tasks, so nothing is allocated.  A task's children are linked by sibling.  Equal
 * priorities are in order of entry.  Tasks whose waitfor is over lie in a heap of their own beside
 * it, in the order of their deadlines. */
#include "tasks/tasks.h"

static bool is_late(const struct nosv_task *t) { return atomic_load_explicit(&t->flags, memory_order_relaxed) & TK_F_LATE; }

/* Both are in the same heap: both are late, or none is. */
static bool goes_first(const struct nosv_task *a, const struct nosv_task *b)
{ return a->priority == b->priority || is_late(a) ? a->seq < b->seq : a->priority > b->priority; }

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

/* holds the lock: what others read without it. */
static void tell_first(struct tk_heap *h)
{
    if (h->root) atomic_store_explicit(&h->top, h->root->priority, memory_order_relaxed);
    atomic_store_explicit(&h->due, h->late ? h->late->seq : 0, memory_order_relaxed);
}

void tk_heap_push(struct tk_heap *h, struct nosv_task *t)
{
    t->child = t->sibling = 0;
    atomic_fetch_add(&tk.ordered, 1);
    tk_lock(&h->lock);
    if (is_late(t)) {
        atomic_fetch_add(&tk.nr_late, 1);
        h->late = meld(h->late, t);
    } else {
        t->seq = atomic_fetch_add_explicit(&tk.seq, 1, memory_order_relaxed);
        h->root = meld(h->root, t);
    }
    tell_first(h);
    atomic_fetch_add(&h->n, 1);
    tk_unlock(&h->lock);
}

/* root: of h, one of its two. */
static struct nosv_task *pop(struct tk_heap *h, struct nosv_task **root)
{
    if (!atomic_load(&h->n)) return 0;
    tk_lock(&h->lock);
    struct nosv_task *t = *root;
    if (t) {
        *root = meld_children(t->child);
        tell_first(h);
        atomic_fetch_sub(&h->n, 1);
        atomic_fetch_sub_explicit(&tk.ordered, 1, memory_order_relaxed);
    }
    tk_unlock(&h->lock);
    return t;
}

struct nosv_task *tk_heap_pop(struct tk_heap *h) { return pop(h, &h->root); }

struct nosv_task *tk_heap_pop_late(struct tk_heap *h)
{
    struct nosv_task *t = pop(h, &h->late);
    if (!t) return 0;
    atomic_fetch_sub_explicit(&tk.nr_late, 1, memory_order_relaxed);
    atomic_fetch_and_explicit(&t->flags, (uint8_t)~TK_F_LATE, memory_order_relaxed);
    return t;
}
