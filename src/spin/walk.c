/* src/spin/walk.c - is the cycle one path through a loop that walks?  SPDX-License-Identifier: Apache-2.0
 *
 * A cycle that waits reads the same places in each round.  A loop over an array, a list or a hash
 * table may have a path that does so, too: the one on which it finds nothing to do with the element
 * at hand.  So the natural loops of the cycle's back edges are looked at as a whole, with the
 * instructions that no wait may hold.  A value that depends on itself there moves on from round to
 * round.  The loop walks if the cycle writes such a value and an address depends on it:
 *   - the value moves on in each round of the cycle, and the loop has an address that depends on it; or
 *   - the value moves on in some round of the loop, and the cycle has an address that depends on it.
 * Values that only paths outside of the cycle move on do not count: a consumer's position in its
 * queue, say, which it changes only when it has found something.
 *
 * Dominators are needed to tell back edges.  What enters the region from outside of it is not known
 * in full (jump tables), so a loop may be taken for a wait still. */
#include "spin/internal.h"

/* Bits of s->mark, beside SPIN_IN_LOOP */
#define ENTERED 8u      /* reached from the function's entry without passing the head at hand */
#define TO_BACK 16u     /* reaches the back edge at hand without passing its head */
#define BEHIND  32u     /* reached from the head at hand */

static void unmark(struct spin_scratch *s, unsigned bits)
{
    for (uint32_t i = 0; i < s->nr_nodes; i++) s->mark[i] &= (uint8_t)~bits;
}

/* Mark what is reached from marked nodes, not through `head`. */
static void spread_forward(struct spin_scratch *s, unsigned bit, int head)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < (int)s->nr_nodes; i++) {
            if (!(s->mark[i] & bit) || i == head) continue;
            int to[2] = { s->node[i].next, s->node[i].taken };
            for (int k = 0; k < 2; k++)
                if (to[k] >= 0 && !(s->mark[to[k]] & bit)) {
                    s->mark[to[k]] |= (uint8_t)bit;
                    again |= to[k] < i;
                }
        }
    }
}
/* Mark what reaches marked nodes, not through `head`. */
static void spread_backward(struct spin_scratch *s, unsigned bit, int head)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = (int)s->nr_nodes - 1; i >= 0; i--) {
            if (s->mark[i] & bit || i == head) continue;
            int to[2] = { s->node[i].next, s->node[i].taken };
            for (int k = 0; k < 2; k++)
                if (to[k] >= 0 && to[k] != head && s->mark[to[k]] & bit) {
                    s->mark[i] |= (uint8_t)bit;
                    again = true;
                }
        }
    }
}

static bool is_padding(const struct node *n)
{
    return !n->rd && !n->wr && !n->addr && !n->bad && !n->branch;
}
/* Where control may come from outside of the region: its first node, and what no instruction of it
 * leads to. */
static void mark_entries(struct spin_scratch *s)
{
    unmark(s, ENTERED | TO_BACK);
    for (int i = 0; i < (int)s->nr_nodes; i++) {
        if (s->node[i].next >= 0) s->mark[s->node[i].next] |= TO_BACK;
        if (s->node[i].taken >= 0) s->mark[s->node[i].taken] |= TO_BACK;
    }
    for (int i = 0; i < (int)s->nr_nodes; i++)
        if (i == 0 || !(s->mark[i] & TO_BACK || is_padding(&s->node[i]))) s->mark[i] |= ENTERED;
    unmark(s, TO_BACK);
}

/* Add the natural loops that edges of the cycle to `head` close. */
static void add_loops(struct spin_scratch *s, unsigned head)
{
    int h = s->at[head];
    uint64_t from = s->pred[head], back = 0;
    mark_entries(s);
    spread_forward(s, ENTERED, h);
    if (!(s->mark[h] & ENTERED)) return;
    for (unsigned k = 0; k < s->n; k++)
        if (from >> k & 1 && (k == head || !(s->mark[s->at[k]] & ENTERED))) back |= 1ull << k;
    if (!back) return;
    s->mark[h] |= SPIN_IN_LOOP;
    for (unsigned k = 0; k < s->n; k++)
        if (back >> k & 1) s->mark[s->at[k]] |= TO_BACK;
    spread_backward(s, TO_BACK, h);
    s->mark[h] |= BEHIND;
    spread_forward(s, BEHIND, -1);
    for (uint32_t i = 0; i < s->nr_nodes; i++)
        if ((s->mark[i] & (BEHIND | TO_BACK | ENTERED)) == (BEHIND | TO_BACK)) s->mark[i] |= SPIN_IN_LOOP;
    unmark(s, BEHIND | TO_BACK);
}

bool spin_mark_loops(struct spin_scratch *s)
{
    bool all = true;
    unmark(s, SPIN_IN_LOOP);
    for (unsigned k = 0; k < s->n; k++)
        if (bit_get(s->target, s->node[s->at[k]].off - s->lo)) add_loops(s, k);
    for (unsigned k = 0; k < s->n; k++) all &= (s->mark[s->at[k]] & SPIN_IN_LOOP) != 0;
    if (all) return true;
    unmark(s, BEHIND | TO_BACK);
    for (unsigned k = 0; k < s->n; k++) s->mark[s->at[k]] |= BEHIND | TO_BACK;
    spread_forward(s, BEHIND, -1);
    spread_backward(s, TO_BACK, -1);
    for (uint32_t i = 0; i < s->nr_nodes; i++)
        if ((s->mark[i] & (BEHIND | TO_BACK)) == (BEHIND | TO_BACK)) s->mark[i] |= SPIN_IN_LOOP;
    return false;
}

static bool leaves_loops(const struct spin_scratch *s, const struct node *n)
{
    if (n->ret || (n->stop && !n->branch)) return true;
    return (!n->stop && !(n->next >= 0 && s->mark[n->next] & SPIN_IN_LOOP)) ||
           (n->branch && !(n->taken >= 0 && s->mark[n->taken] & SPIN_IN_LOOP));
}

bool spin_leaves_loops(const struct spin_scratch *s, unsigned k) { return leaves_loops(s, &s->node[s->at[k]]); }

static bool is_call(const struct node *n) { return n->bad == SPIN_NO_CALL && !n->branch && !n->ret; }

/* The parts that depend on node d's result after node i, if those of `in` do before it. */
static regset after(const struct spin_scratch *s, int i, int d, regset in)
{
    const struct node *n = &s->node[i];
    if (i == d || (n->rd | n->addr) & in) return in | n->wr;
    in &= ~n->wr;
    return is_call(n) ? in & RS_CALL_KEEPS : in;
}

/* Does node d's result depend on itself in the loops, and an address of them on it? */
static bool moves_on(struct spin_scratch *s, int d)
{
    bool addresses = false;
    for (uint32_t i = 0; i < s->nr_nodes; i++) s->stale[i] = 0;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < (int)s->nr_nodes; i++) {
            if (!(s->mark[i] & SPIN_IN_LOOP) || (i != d && !s->stale[i])) continue;
            regset out = after(s, i, d, s->stale[i]);
            int to[2] = { s->node[i].next, s->node[i].taken };
            for (int k = 0; k < 2; k++) {
                if (to[k] < 0 || !(s->mark[to[k]] & SPIN_IN_LOOP) || !(out & ~s->stale[to[k]])) continue;
                s->stale[to[k]] |= out;
                again |= to[k] <= i;
            }
        }
    }
    for (uint32_t i = 0; i < s->nr_nodes; i++) addresses |= (s->node[i].addr & s->stale[i]) != 0;
    return addresses && (s->node[d].rd | s->node[d].addr) & s->stale[d];
}

bool spin_is_walk(struct spin_scratch *s, uint64_t candidates)
{
    for (unsigned k = 0; k < s->n; k++)
        if (candidates >> k & 1 && s->node[s->at[k]].wr & (RS_GPRS | RS_ALL_SLOTS) && moves_on(s, s->at[k])) return true;
    return false;
}

bool spin_is_search(const struct spin_scratch *s, uint64_t fixed, uint64_t moving)
{
    bool works = false, calls = false, ends = false, leaves = false;
    if (fixed) return false;
    for (uint32_t i = 0; i < s->nr_nodes; i++) {
        if (!(s->mark[i] & SPIN_IN_LOOP)) continue;
        const struct node *n = &s->node[i];
        works |= n->bad != 0;
        leaves |= leaves_loops(s, n);
        calls |= is_call(&s->node[i]);
    }
    for (unsigned k = 0; k < s->n; k++) ends |= moving >> k & 1 && spin_leaves_loops(s, k);
    return works && leaves && (ends || !calls);
}
