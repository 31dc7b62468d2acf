/* sim/linux/tree.c - ordered run queue of fair tasks.  SPDX-License-Identifier: Apache-2.0
 *
 * A treap: a search tree by (key, arrival) that is a heap by a number hashed from the task's id, so
 * its shape and thus every answer is the same in each run.  Each node has the least vruntime of its
 * subtree, by which EEVDF finds the earliest deadline among the eligible in one descent. */
#include "sim/linux/linux.h"

static int64_t key(const struct lx *lx, const struct lx_task *t)
{ return lx->cfg.fair == LX_EEVDF ? t->deadline : t->vruntime; }

static bool before(const struct lx *lx, const struct lx_task *a, const struct lx_task *b)
{
    int64_t ka = key(lx, a), kb = key(lx, b);
    return ka != kb ? ka < kb : a->seq < b->seq;
}

static uint32_t hash(uint32_t x)
{
    x ^= x >> 16; x *= 0x7feb352du;
    x ^= x >> 15; x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static void refresh(struct lx *lx, struct lx_task *t)
{
    const struct lx_task *l = lx_at(lx, t->left), *r = lx_at(lx, t->right);
    t->min_v = t->vruntime;
    if (l && l->min_v < t->min_v) t->min_v = l->min_v;
    if (r && r->min_v < t->min_v) t->min_v = r->min_v;
}

static void refresh_up(struct lx *lx, struct lx_task *t)
{
    for (; t; t = lx_at(lx, t->up)) refresh(lx, t);
}

/* `child` takes the place that `old` has below its parent. */
static void replace(struct lx *lx, struct lx_queue *q, struct lx_task *old, struct lx_task *child)
{
    struct lx_task *up = lx_at(lx, old->up);
    uint32_t link = child ? child->id + 1 : 0;
    if (!up) q->root = link;
    else if (up->left == old->id + 1) up->left = link;
    else up->right = link;
    if (child) child->up = old->up;
}

/* `t` rises above its parent. */
static void rotate_up(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    struct lx_task *up = lx_at(lx, t->up), *moved;
    replace(lx, q, up, t);
    if (up->left == t->id + 1) {
        moved = lx_at(lx, t->right);
        up->left = t->right;
        t->right = up->id + 1;
    } else {
        moved = lx_at(lx, t->left);
        up->right = t->left;
        t->left = up->id + 1;
    }
    if (moved) moved->up = up->id + 1;
    up->up = t->id + 1;
    refresh(lx, up);
    refresh(lx, t);
}

void lx_tree_add(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    t->left = t->right = t->up = 0;
    t->heap = hash(t->id + 1);
    t->seq = ++lx->seq;
    t->min_v = t->vruntime;
    uint32_t *link = &q->root;
    while (*link) {
        struct lx_task *n = lx_at(lx, *link);
        t->up = n->id + 1;
        link = before(lx, t, n) ? &n->left : &n->right;
    }
    *link = t->id + 1;
    while (t->up && lx_at(lx, t->up)->heap < t->heap) rotate_up(lx, q, t);
    refresh_up(lx, lx_at(lx, t->up));
}

void lx_tree_del(struct lx *lx, struct lx_queue *q, struct lx_task *t)
{
    while (t->left && t->right) {
        struct lx_task *l = lx_at(lx, t->left), *r = lx_at(lx, t->right);
        rotate_up(lx, q, l->heap > r->heap ? l : r);
    }
    struct lx_task *up = lx_at(lx, t->up);
    replace(lx, q, t, lx_at(lx, t->left ? t->left : t->right));
    refresh_up(lx, up);
    t->left = t->right = t->up = 0;
}

struct lx_task *lx_tree_first(const struct lx *lx, const struct lx_queue *q)
{
    struct lx_task *t = lx_at(lx, q->root);
    while (t && t->left) t = lx_at(lx, t->left);
    return t;
}

struct lx_task *lx_tree_next(const struct lx *lx, const struct lx_task *t)
{
    if (t->right) {
        struct lx_task *n = lx_at(lx, t->right);
        while (n->left) n = lx_at(lx, n->left);
        return n;
    }
    struct lx_task *up = lx_at(lx, t->up);
    while (up && up->right == t->id + 1) { t = up; up = lx_at(lx, t->up); }
    return up;
}

/* The first of the subtree, in its order, that has had at most v. */
static struct lx_task *first_upto(const struct lx *lx, uint32_t link, int64_t v)
{
    struct lx_task *t = lx_at(lx, link), *left;
    if (!t || t->min_v > v) return NULL;
    if ((left = first_upto(lx, t->left, v)) != NULL) return left;
    return t->vruntime <= v ? t : first_upto(lx, t->right, v);
}

/* Who is eligible has had at most the average. */
struct lx_task *lx_tree_pick(const struct lx *lx, const struct lx_queue *q) { return first_upto(lx, q->root, lx_average(q)); }
