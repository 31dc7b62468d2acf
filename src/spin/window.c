/* src/spin/window.c - where the jump to the stub is written.  SPDX-License-Identifier: Apache-2.0
 *
 * The window begins at an instruction that every cycle passes, and no branch may go into its
 * middle. */
#include "spin/internal.h"

#include "arch/code.h"

/* Does every cycle that enters the runtime pass local node k? */
static bool on_every_cycle(const struct spin_scratch *s, const struct spin_loop *l, unsigned k)
{
    uint64_t rest = ~(1ull << k);
    for (unsigned u = 0; u < s->n; u++) {
        if (!(l->insn[u].flags & SPIN_I_BACK) || u == k) continue;
        unsigned v = (unsigned)s->local[s->node[s->at[u]].taken];
        if (v == k) continue;
        if (v == u || spin_reaches(s, v, u, rest)) return false;
    }
    return true;
}

/* May an instruction that is not of the loop be moved into the stub?  Not a jump out of the
 * function: it may be one of the gate's, and the gate knows where it is. */
static bool is_absorbable(const struct spin_scratch *s, const struct node *n)
{
    if (n->ret) return true;
    if (n->branch) return !n->bad && n->target >= 0 && (uint32_t)n->target < s->size;
    return n->bad != SPIN_NO_CALL;
}

struct window { int first; unsigned insns, len, absorbed; };

static bool fits(const struct spin_scratch *s, unsigned k, struct window *w)
{
    *w = (struct window){ .first = s->at[k] };
    for (int i = w->first; w->len < ARCH_JUMP_LEN; i++) {
        if (i >= (int)s->nr_nodes) return false;
        const struct node *n = &s->node[i];
        if (i > w->first && (n->off != n[-1].off + n[-1].len || bit_get(s->target, n->off - s->lo))) return false;
        if (i > w->first && n[-1].stop && !n->nop1) return false;
        bool ours = s->local[i] >= 0;
        if (!ours && !is_absorbable(s, n)) return false;
        w->absorbed += !ours;
        w->insns++;
        w->len += n->len;
    }
    return true;
}

static void insert_absorbed(struct spin_loop *l, uint32_t off, uint8_t len)
{
    unsigned i = l->nr_insns++;
    for (; i && l->insn[i - 1].off > off; i--) l->insn[i] = l->insn[i - 1];
    l->insn[i] = (struct spin_insn){ (uint16_t)off, len, SPIN_I_ABSORBED };
}

enum spin_verdict spin_choose_window(struct spin_scratch *s, struct spin_loop *l)
{
    struct window best = { .first = -1 }, w;
    for (unsigned k = 0; k < s->n; k++) {
        if (!fits(s, k, &w) || w.absorbed + s->n > SPIN_MAX_INSNS) continue;
        /* fewest instructions: the fewer places a pc can be caught in; foreign ones only in need */
        if (best.first >= 0 && w.absorbed * 8 + w.insns >= best.absorbed * 8 + best.insns) continue;
        if (on_every_cycle(s, l, k)) best = w;
    }
    if (best.first < 0) return SPIN_NO_ROOM;
    l->window = s->fstart + s->node[best.first].off;
    l->window_len = (uint8_t)best.len;
    l->window_insns = (uint8_t)best.insns;
    for (unsigned i = 0; i < best.insns; i++) {
        const struct node *n = &s->node[best.first + (int)i];
        if (s->local[best.first + (int)i] < 0) insert_absorbed(l, (uint32_t)(s->fstart + n->off - l->head), n->len);
    }
    return SPIN_YES;
}
