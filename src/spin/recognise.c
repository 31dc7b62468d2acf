/* src/spin/recognise.c - is the cycle around pc a spin-wait?  SPDX-License-Identifier: Apache-2.0
 *
 * Candidates are address intervals between a backward branch's target and a backward branch,
 * smallest first.  Within one, nodes that a spin-wait may not hold (stores, calls, ...) are taken
 * out, and what is looked at is the strongly connected component of pc in what remains: if there is
 * one, pc can go round without ever meeting those nodes, and the branch towards them is an exit
 * like any other.
 *
 * The proof, over the component's dependence graph: every address and every condition of a memory
 * exit depends on values of before the loop and on loads alone, through a graph without cycles.
 * Then, while memory stays as it is, some round is equal to the one before it, and so are all that
 * follow: only another thread can end the wait.  Values that depend on themselves (counters) may
 * exist beside that: they bound the wait if an exit depends on them, and are no computation if they
 * only count or only steer.
 *
 * A scan (of slots, for a free one) changes its addresses, but may start over, again and again: at
 * a node from which on nothing is read that the cycle has written before, the state is the same
 * each time.  The round is then what lies between two such restarts. */
#include "spin/internal.h"

#define BIT(k) (1ull << (k))

/* Facts about the cycle at hand, as sets of its nodes. */
struct facts {
    uint64_t loads, times, recurrent;
    uint64_t conditions, exits;      /* conditional branches; those of them that may leave */
    uint64_t memory_exits, counter_exits;
    uint64_t restarts;               /* of a scan: no other node begins a round */
    bool pause;
};

static const struct node *node_of(const struct spin_scratch *s, unsigned k) { return &s->node[s->at[k]]; }

/* slots: words of our own stack frame that the code at hand writes, or that no other thread can
 * know: as good as registers.  Others are memory. */
static void collect(struct spin_scratch *s, regset slots, struct facts *f)
{
    *f = (struct facts){ 0 };
    unsigned nops = 0;
    for (unsigned k = 0; k < s->n; k++) {
        const struct node *n = node_of(s, k);
        if (n->load || n->rd & RS_ALL_SLOTS & ~slots) f->loads |= BIT(k);
        if (n->time) f->times |= BIT(k);
        if (s->clo[k] >> k & 1) f->recurrent |= BIT(k);
        if (n->cond) {
            f->conditions |= BIT(k);
            if (!(s->succ[k] & (s->succ[k] - 1)) && n->taken != n->next) f->exits |= BIT(k);
        }
        nops = n->nop1 ? nops + 1 : 0;
        f->pause |= n->pause || nops >= 4;
    }
}

/* Nodes that depend on each other with k. */
static uint64_t ring(const struct spin_scratch *s, unsigned k)
{
    uint64_t r = 0;
    for (unsigned j = 0; j < s->n; j++)
        if (s->clo[k] >> j & 1 && s->clo[j] >> k & 1) r |= BIT(j);
    return r;
}
static uint64_t closure(const struct spin_scratch *s, uint64_t defs)
{
    uint64_t r = defs;
    for (unsigned j = 0; j < s->n; j++)
        if (defs >> j & 1) r |= s->clo[j];
    return r;
}

/* A compare-and-swap that expects what it has read is an update, not a wait: it succeeds at once
 * when no other thread is there. */
static uint64_t updates(const struct spin_scratch *s, const struct facts *f)
{
    uint64_t out = 0;
    for (unsigned k = 0; k < s->n; k++)
        if (node_of(s, k)->cas && closure(s, spin_reaching(s, k, node_of(s, k)->rd)) & f->loads) out |= BIT(k);
    return out;
}
/* What is stored by the lock attempt must be the same each round. */
static uint64_t changing_stores(const struct spin_scratch *s, const struct facts *f)
{
    uint64_t out = 0;
    for (unsigned k = 0; k < s->n; k++)
        if (closure(s, spin_reaching(s, k, node_of(s, k)->sink)) & (f->recurrent | f->times)) out |= BIT(k);
    return out;
}
static uint64_t moving_addresses(const struct spin_scratch *s, const struct facts *f)
{
    uint64_t out = 0;
    for (unsigned k = 0; k < s->n; k++)
        out |= closure(s, spin_reaching(s, k, node_of(s, k)->addr)) & (f->recurrent | f->times);
    return out;
}

/* The values that may make a loop a walk: those that change from round to round, those that
 * addresses of the cycle depend on, and counters (which the cycle may set anew in each round). */
static uint64_t walk_values(const struct spin_scratch *s, const struct facts *f)
{
    uint64_t out = 0, sources = f->loads;
    for (unsigned k = 0; k < s->n; k++) {
        const struct node *n = node_of(s, k);
        out |= closure(s, spin_reaching(s, k, n->addr));
        if (n->unit && n->rd & n->wr & ~RS_FLAGS) out |= BIT(k);
        if (n->wr && !n->rd && !n->addr) sources |= BIT(k);
    }
    /* What depends on registers of before the cycle alone stays the same within it. */
    for (unsigned k = 0; k < s->n; k++)
        if (!((s->clo[k] | BIT(k)) & sources)) out &= ~BIT(k);
    return out | f->recurrent;
}

/* Does the recurrent node k mix something read from memory into its ring (a sum, a checksum)?  The
 * start value of a counter may come from memory: it replaces, it does not mix. */
static bool reduces(const struct spin_scratch *s, const struct facts *f, unsigned k, uint64_t its_ring)
{
    const struct node *n = node_of(s, k);
    if (n->compare) return false;
    if (n->load) return true;
    for (unsigned i = 0; i < RS_END; i++) {
        if (!(n->rd >> i & 1)) continue;
        uint64_t defs = spin_reaching(s, k, RS(i));
        if (defs && !(defs & its_ring) && closure(s, defs) & f->loads) return true;
    }
    return false;
}

/* Recurrent nodes that compute rather than count. */
static uint64_t computations(const struct spin_scratch *s, const struct facts *f)
{
    uint64_t out = 0;
    for (unsigned k = 0; k < s->n; k++) {
        if (!(f->recurrent >> k & 1)) continue;
        uint64_t r = ring(s, k);
        bool plain = true, unit = true, steers = false, leaves = false;
        for (unsigned j = 0; j < s->n; j++) {
            if (r >> j & 1) {
                plain &= node_of(s, j)->plain;
                unit &= node_of(s, j)->unit;
            }
            if (f->conditions >> j & 1 && s->clo[j] & r) {
                steers = true;
                if (f->exits >> j & 1) leaves = true;
            }
        }
        bool counts = unit || (plain && steers) || (steers && !leaves && f->pause);
        if (!counts || reduces(s, f, k, r)) out |= BIT(k);
    }
    return out;
}

/* Does the exit k, a branch on equality, go on round the loop with v's constant in c's comparison?
 * clang -O1 leaves such in waits. */
static bool stays(const struct spin_scratch *s, unsigned k, const struct node *c, const struct node *v)
{
    const struct node *n = node_of(s, k);
    if (!c->test_or_cmp || !(n->if_equal || n->if_differs)) return false;
    if (!c->has_imm && !c->tests) return false;
    uint64_t in = ~0ull >> (64 - v->width), width = ~0ull >> (64 - c->width);
    uint64_t a = (uint64_t)v->imm & in & width, b = c->has_imm ? (uint64_t)c->imm & width : a;
    bool zero = c->tests ? !(a & b) : a == b, taken = zero == n->if_equal;
    int to = taken ? n->taken : n->next;
    return to >= 0 && s->mark[to] & SPIN_IN_LOOP;
}

/* Exits that a constant decides, which each round writes, and that lead out: the loop has two
 * rounds at most. */
static bool ends_at_once(const struct spin_scratch *s, const struct facts *f)
{
    for (unsigned k = 0; k < s->n; k++) {
        uint64_t compare = s->dep[k], constant = compare & (compare - 1) ? 0 : s->clo[k] & ~compare;
        if (!(f->exits >> k & 1) || !compare || !constant || constant & (constant - 1)) continue;
        const struct node *c = node_of(s, (unsigned)__builtin_ctzll(compare)), *v = node_of(s, (unsigned)__builtin_ctzll(constant));
        if (v->rd | v->addr || v->load || c->load || c->rd & ~v->wr) continue;
        if (!spin_leaves_loops(s, k) || spin_reaches(s, k, k, ~constant)) continue;
        if (!stays(s, k, c, v)) return true;
    }
    return false;
}

static void find_exits(const struct spin_scratch *s, struct facts *f)
{
    for (unsigned k = 0; k < s->n; k++) {
        if (!(f->exits >> k & 1)) continue;
        if (s->clo[k] & (f->recurrent | f->times)) f->counter_exits |= BIT(k);
        else if (s->clo[k] & f->loads) f->memory_exits |= BIT(k);
    }
}

/* Exits of a scan that depend on memory at addresses that do not change.  An address that is merged
 * with changing ones is that of the scan's first place. */
static uint64_t fixed_exits(const struct spin_scratch *s, const struct facts *f)
{
    uint64_t moving = 0, merged = 0, out = 0, from[SPIN_MAX_INSNS];
    for (unsigned k = 0; k < s->n; k++) {
        from[k] = spin_reaching(s, k, node_of(s, k)->addr);
        if (!(f->loads >> k & 1) || !(closure(s, from[k]) & f->recurrent)) continue;
        moving |= BIT(k);
        merged |= from[k];
    }
    for (unsigned k = 0; k < s->n; k++)
        if (from[k] & merged) moving |= BIT(k);
    for (unsigned k = 0; k < s->n; k++)
        if (f->memory_exits >> k & 1 && s->clo[k] & f->loads & ~moving) out |= BIT(k);
    return out;
}

/* Is it a scan that starts over until memory changes? */
static bool scans(struct spin_scratch *s, struct facts *f)
{
    regset written = 0;
    if (f->times) return false;
    spin_liveness(s);
    for (unsigned k = 0; k < s->n; k++) {
        written |= node_of(s, k)->wr;
        if (f->exits >> k & 1 && s->clo[k] & f->loads) f->memory_exits |= BIT(k);
    }
    for (unsigned k = 0; k < s->n; k++)
        if (!(s->live[k] & written)) f->restarts |= BIT(k);
    if (!f->restarts || !f->memory_exits) return false;
    uint64_t fixed = fixed_exits(s, f);
    return f->pause || !spin_mark_loops(s) || !spin_is_search(s, fixed, f->memory_exits & ~fixed);
}

/* One look at the cycle: SPIN_YES, or why not, with the nodes to take out for another try. */
static enum spin_verdict judge(struct spin_scratch *s, regset slots, struct facts *f, uint64_t *take)
{
    spin_dependences(s);
    collect(s, slots, f);
    if ((*take = updates(s, f) | changing_stores(s, f))) return SPIN_NO_STORE;
    if ((*take = moving_addresses(s, f))) return scans(s, f) ? SPIN_YES : SPIN_NO_ADDRESS;
    if ((*take = computations(s, f))) return scans(s, f) ? SPIN_YES : SPIN_NO_EXIT;
    find_exits(s, f);
    if (!f->memory_exits) return SPIN_NO_EXIT;
    bool natural = spin_mark_loops(s);
    if (ends_at_once(s, f)) return SPIN_NO_EXIT;
    return spin_is_walk(s, natural ? walk_values(s, f) : f->recurrent) ? SPIN_NO_ADDRESS : SPIN_YES;
}

/* ---- the result ------------------------------------------------------------------------------ */
/* May another thread try a round: does it read what any thread can, and write nothing but general
 * registers?  (A lock attempt is not tried: a thread that gets to it has something to do.) */
static bool is_pure(const struct spin_scratch *s, const struct facts *f)
{
    if (f->times || f->counter_exits || f->restarts) return false;
    for (unsigned k = 0; k < s->n; k++) {
        const struct node *n = node_of(s, k);
        if (n->atomic) continue;
        if (n->private || n->wr & RS_ALL_SLOTS || (n->rd | n->wr) & RS_VECTORS) return false;
    }
    return true;
}
/* A back edge of an inner loop that never starts a scan over, or that only waits (counts down, no
 * load) is left alone: a round of it is not a round of the wait. */
static bool is_step(const struct spin_scratch *s, const struct facts *f, unsigned from, unsigned to)
{
    uint64_t rest = ~f->restarts;
    return f->restarts && rest >> from & rest >> to & 1 && (from == to || spin_reaches(s, to, from, rest));
}
static bool is_delay(const struct spin_scratch *s, const struct facts *f, unsigned from, unsigned to)
{
    uint64_t in = 0, loop = 0;
    for (unsigned k = to; k <= from; k++) in |= BIT(k);
    for (unsigned k = to; k <= from; k++)
        if ((k == from || spin_reaches(s, k, from, in)) && (k == to || spin_reaches(s, to, k, in))) loop |= BIT(k);
    return loop >> from & 1 && !(loop & f->loads) && loop & (f->recurrent | f->times);
}
/* The local node that k's branch goes back to, or -1. */
static int back_target(const struct spin_scratch *s, unsigned k)
{
    const struct node *n = node_of(s, k);
    bool back = n->branch && n->taken >= 0 && n->target <= (int32_t)n->off && s->local[n->taken] >= 0;
    return back && s->succ[k] >> s->local[n->taken] & 1 ? s->local[n->taken] : -1;
}
/* Does every round of a scan pass a back edge that no mere step takes?  Else each step counts as a
 * round. */
static bool rounds_have_an_edge(struct spin_scratch *s, const struct facts *f)
{
    bool all = true;
    uint64_t succ[SPIN_MAX_INSNS];
    for (unsigned k = 0; k < s->n; k++) {
        int to = back_target(s, k);
        succ[k] = s->succ[k];
        if (to >= 0 && !is_step(s, f, k, (unsigned)to)) s->succ[k] &= ~BIT(to);
    }
    for (unsigned k = 0; k < s->n; k++)
        if (f->restarts >> k & 1 && spin_reaches(s, k, k, ~0ull)) all = false;
    for (unsigned k = 0; k < s->n; k++) s->succ[k] = succ[k];
    return all;
}
/* May the flags be read from the local node on before they are written?  Whatever leaves the cycle
 * reads them. */
static bool needs_flags(const struct spin_scratch *s, unsigned at)
{
    uint64_t todo = BIT(at), seen = todo;
    while (todo) {
        unsigned k = (unsigned)__builtin_ctzll(todo);
        const struct node *n = node_of(s, k);
        todo &= todo - 1;
        if (n->cond || (n->rd | n->addr | n->sink) & RS_FLAGS) return true;
        if ((n->wr & RS_FLAGS) == RS_FLAGS && !n->shift) continue;
        todo |= s->succ[k] & ~seen;
        seen |= s->succ[k];
    }
    return false;
}
static void describe_insns(struct spin_scratch *s, struct facts *f, struct spin_loop *l)
{
    uint32_t head = node_of(s, 0)->off;
    l->nr_insns = 0;
    l->atomic = false;
    l->pure = is_pure(s, f);
    if (!rounds_have_an_edge(s, f)) f->restarts = 0;
    for (unsigned k = 0; k < s->n; k++) {
        const struct node *n = node_of(s, k);
        uint8_t flags = (uint8_t)((n->atomic ? SPIN_I_ATOMIC : 0) | (needs_flags(s, k) ? SPIN_I_FLAGS : 0));
        int to = back_target(s, k);
        if (to >= 0) {
            if (is_delay(s, f, k, (unsigned)to) || is_step(s, f, k, (unsigned)to)) l->pure = false; /* a probe must end soon */
            else flags |= SPIN_I_BACK;
        }
        l->insn[l->nr_insns++] = (struct spin_insn){ (uint16_t)(n->off - head), n->len, flags };
        l->atomic |= n->atomic;
    }
    l->head = s->fstart + head;
    l->end = s->fstart + node_of(s, s->n - 1)->off + node_of(s, s->n - 1)->len;
    l->has_pause = f->pause;
}

/* ---- candidates ------------------------------------------------------------------------------ */
static int first_node_from(const struct spin_scratch *s, uint32_t off)
{
    int i = 0;
    while (i < (int)s->nr_nodes && s->node[i].off < off) i++;
    return i;
}

/* The cycle of node pc among nodes [a, b]. */
static enum spin_verdict try_interval(struct spin_scratch *s, int pc, int a, int b, struct spin_loop *l)
{
    enum spin_verdict why = SPIN_NO_LOOP;
    regset slots = s->escapes ? 0 : RS_ALL_SLOTS;
    for (int i = a; i <= b; i++) {
        slots |= s->node[i].wr & RS_ALL_SLOTS;
        s->gone[i] = s->node[i].bad != 0;
        if (s->gone[i] && why == SPIN_NO_LOOP) why = (enum spin_verdict)s->node[i].bad;
    }
    if (s->gone[pc]) return (enum spin_verdict)s->node[pc].bad;
    struct facts f;
    uint64_t take;
    bool big;
    while (spin_cycle(s, pc, a, b, &big)) {
        enum spin_verdict v = judge(s, slots, &f, &take);
        if (v == SPIN_YES) {
            describe_insns(s, &f, l);
            return spin_choose_window(s, l);
        }
        if (why == SPIN_NO_LOOP || v != SPIN_NO_EXIT) why = v;
        if (!take) return v;
        for (unsigned k = 0; k < s->n; k++)
            if (take >> k & 1) s->gone[s->at[k]] = 1;
        if (s->gone[pc]) return v;
    }
    return big ? SPIN_NO_LOOP : why;
}

/* Next wider pair (t, s) around pc after the one of width `than`; pairs of equal width are told
 * apart by their target.  false: no more. */
static bool next_span(const struct spin_scratch *s, uint32_t pc, uint64_t *than, uint32_t *from, uint32_t *to)
{
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < s->nr_edges; i++)
        for (uint32_t j = 0; j < s->nr_edges; j++) {
            uint32_t t = s->edge[i].t, e = s->edge[j].s;
            if (t > pc || e < pc) continue;
            uint64_t key = (uint64_t)(e - t) << 32 | t;
            if (key > *than && key < best) {
                best = key;
                *to = t;
                *from = e;
            }
        }
    *than = best;
    return best != UINT64_MAX;
}

#define MAX_TRIES 24
#define MAX_MORE  8      /* tries for a larger cycle once there is one */

/* The smallest wait around pc, grown as long as what is around it is one as well: of a lock with a
 * back-off the smallest cycle may be one that is never gone round, and every way round must lead
 * through the runtime. */
static enum spin_verdict look(struct spin_scratch *s, uint32_t pc, struct spin_loop *l)
{
    enum spin_verdict first = SPIN_NO_LOOP;
    int k = first_node_from(s, pc);
    uint64_t than = 0;
    uint32_t from, to;
    unsigned size = 0;
    s->loop.pc = s->fstart + pc;
    for (int tries = MAX_TRIES; tries-- && next_span(s, pc, &than, &from, &to);) {
        int a = first_node_from(s, to), b = first_node_from(s, from);
        if (a >= (int)s->nr_nodes || b >= (int)s->nr_nodes || s->node[a].off != to || s->node[b].off != from) continue;
        enum spin_verdict v = try_interval(s, k, a, b, &s->loop);
        if (first == SPIN_NO_LOOP) first = v;
        if (v != SPIN_YES || s->n <= size) continue;
        if (!size && tries > MAX_MORE) tries = MAX_MORE;
        size = s->n;
        *l = s->loop;
    }
    return size ? SPIN_YES : first;
}

/* ---- what was no wait the last times --------------------------------------------------------- */
/* A computing thread is looked at again and again, mostly in the same few loops, and a look walks
 * through the whole function.  So ranges of live code where a look failed are not looked at for the
 * next RECALLS times.  (Not for ever: a loop may be a wait on one of its paths only.) */
#define KNOWN   64
#define RECALLS 32
static struct { uintptr_t lo, hi; enum spin_verdict why; unsigned left; } known[KNOWN];
static unsigned next_known;

static enum spin_verdict recall(uintptr_t pc)
{
    for (unsigned i = 0; i < KNOWN; i++)
        if (pc >= known[i].lo && pc < known[i].hi && known[i].left) {
            known[i].left--;
            return known[i].why;
        }
    return SPIN_YES;
}
/* The innermost loop around pc without those within it, or the code between two loops. */
static void remember(const struct spin_scratch *s, uint32_t pc, enum spin_verdict why)
{
    uint32_t lo = s->lo, hi = s->hi;
    for (uint32_t i = 0; i < s->nr_edges; i++) {
        uint32_t from = s->edge[i].s, to = s->edge[i].t;
        uint32_t above = from < pc ? from + 1 : to <= pc ? to : lo, below = to > pc ? to : from >= pc ? from + 1 : hi;
        if (above > lo) lo = above;
        if (below < hi) hi = below;
    }
    known[next_known].lo = s->fstart + lo;
    known[next_known].hi = s->fstart + hi;
    known[next_known].why = why;
    known[next_known].left = RECALLS;
    next_known = (next_known + 1) % KNOWN;
}

static enum spin_verdict recognise_held(struct spin_scratch *s, const uint8_t *code, uintptr_t fstart,
                                        uintptr_t fend, uintptr_t pc, struct spin_loop *l)
{
    if (pc < fstart || pc >= fend || fend - fstart > SPIN_MAX_FUNCTION) return SPIN_NO_LOOP;
    uint32_t at = (uint32_t)(pc - fstart);
    s->code = code;
    s->fstart = fstart;
    s->size = (uint32_t)(fend - fstart);
    enum spin_verdict v = spin_sweep(s, at);
    if (v != SPIN_YES) return v;
    if (!s->nr_edges) return SPIN_NO_LOOP;
    v = spin_decode_region(s, at);
    if (v != SPIN_YES) return v;
    v = look(s, at, l);
    /* At a lock attempt that cannot be part of the wait (lock dec), the wait is what comes after
     * it. */
    int k = first_node_from(s, at);
    for (int step = 0; v == SPIN_NO_STORE && step < 4 && k < (int)s->nr_nodes; step++) {
        const struct node *n = &s->node[k];
        if (step == 0 && !(code[n->off] == 0xf0 || n->atomic)) break;
        int to[2] = { n->taken, n->next };
        for (int i = 0; i < 2 && v != SPIN_YES; i++) {
            if (to[i] < 0 || s->node[to[i]].bad) continue;
            if (look(s, s->node[to[i]].off, l) == SPIN_YES) v = SPIN_YES;
        }
        k = n->next;
        if (k < 0) break;
    }
    return v;
}

enum spin_verdict spin_recognise_anew(const uint8_t *code, uintptr_t fstart, uintptr_t fend, uintptr_t pc,
                                      struct spin_loop *out)
{
    if (!spin_scratch_take()) return SPIN_BUSY;
    enum spin_verdict v = recognise_held(&spin_scratch, code, fstart, fend, pc, out);
    spin_scratch_release();
    return v;
}

enum spin_verdict spin_recognise(const uint8_t *code, uintptr_t fstart, uintptr_t fend, uintptr_t pc,
                                 struct spin_loop *out)
{
    if ((uintptr_t)code != fstart) return spin_recognise_anew(code, fstart, fend, pc, out);
    if (!spin_scratch_take()) return SPIN_BUSY;
    struct spin_scratch *s = &spin_scratch;
    enum spin_verdict v = recall(pc);
    if (v == SPIN_YES) {
        s->nr_edges = 0;
        v = recognise_held(s, code, fstart, fend, pc, out);
        if (v != SPIN_YES && v != SPIN_NO_DECODE && s->fstart == fstart) remember(s, (uint32_t)(pc - fstart), v);
    }
    spin_scratch_release();
    return v;
}
