/* src/tasks/heap.c - ready tasks in order of priority: a pairing heap.  SPDX-License-Identifier: Apache-2.0
 *
 * Links lie in the tasks, so nothing is allocated.  A task's children are linked by sibling.  Equal priorities
 * are in order of entry. */
#include "tasks/tasks.h"

static bool goes_first(const struct nosv_task *a, const struct nosv_task *b)
{ return a->priority != b->priority ? a->priority > b->priority : a->seq < b->seq; }

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

void tk_heap_push(struct tk_heap *h, struct nosv_task *t)
{
    t->child = t->sibling = 0;
    atomic_fetch_add(&tk.ordered, 1);
    tk_lock(&h->lock);
    t->seq = atomic_fetch_add_explicit(&tk.seq, 1, memory_order_relaxed);
    h->root = meld(h->root, t);
    atomic_store_explicit(&h->top, h->root->priority, memory_order_relaxed);
    atomic_fetch_add(&h->n, 1);
    tk_unlock(&h->lock);
}

struct nosv_task *tk_heap_pop(struct tk_heap *h)
{
    if (!atomic_load(&h->n)) return 0;
    tk_lock(&h->lock);
    struct nosv_task *t = h->root;
    if (t) {
        h->root = meld_children(t->child);
        if (h->root) atomic_store_explicit(&h->top, h->root->priority, memory_order_relaxed);
        atomic_fetch_sub(&h->n, 1);
        atomic_fetch_sub_explicit(&tk.ordered, 1, memory_order_relaxed);
    }
    tk_unlock(&h->lock);
    return t;
}
