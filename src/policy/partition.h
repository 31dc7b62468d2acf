/* src/policy/partition.h - cut a machine into equal partitions along its topology.  SPDX-License-Identifier: Apache-2.0
 *
 * Pure: arithmetic over bitmaps, for the policies that partition (equi, speedup, gang) and for
 * tests.  After Schönherr et al., "Topology-aware equipartitioning with coscheduling on multicore
 * systems" (2013), section II.
 *
 * The cores are put in an order in which every topology unit (machine, package, NUMA node,
 * last-level cache, physical core) is a run of neighbours.  A *level* cuts this order into
 * partitions: each is a unit, or an equal fraction of a unit that consists of whole smaller units.
 * So no partition ever has one and a half nodes, or one hardware thread of a core.  A machine of 4
 * nodes with 6 cores each has levels of 1, 2, 4, 8, 12 and 24 partitions.
 *
 * Invariants of a built map
 *   P1  count[l] == number of bits in begins[l];  bit 0 is set in each;  count[] rises strictly;  count[0] == 1;
 *   P2  order[0 .. nr_cores-1] is a permutation of the cores;
 *   P3  with `nested`, each level's bits are also set in the next level's (a partition consists of whole smaller ones). */
#ifndef USF_POLICY_PARTITION_H
#define USF_POLICY_PARTITION_H

#include <usf/policy.h>

enum { PART_LEVELS = 20, PART_KINDS = 5 };

#if USF_CORES_MAX > 256
typedef uint16_t part_place;
#else
typedef uint8_t part_place;
#endif

struct USF_POLICY_STATE part_map {
    uint64_t begins[PART_LEVELS][USF_CORE_WORDS];   /* bit i: a partition begins at position i of `order` */
    uint16_t count[PART_LEVELS];                /* partitions of the level */
    uint16_t nr_levels, nr_cores;
    uint32_t whole;                             /* bit l: level l consists of whole units, last-level caches or larger */
    part_place order[USF_CORES_MAX];               /* position -> core */
};

/* First of the set at or after `from`, or `none`.  (Sets of positions in `order` are sets of cores,
 * too.) */
static inline uint32_t part_next(const uint64_t *set, uint32_t from, uint32_t none)
{
    uint32_t at = usf_cores_next(set, from);
    return at == USF_NONE ? none : at;
}

/* ---- building a map --------------------------------------------------------------------------------- */

/* Do cores a and b lie in the same unit of this kind?  0: the machine ... PART_KINDS - 1: a
 * physical core. */
static inline bool part_together(struct usf_pol *p, uint32_t a, uint32_t b, uint32_t kind)
{
    const struct usf_pol_core *x = usf_core(p, a), *y = usf_core(p, b);
    return (kind < 1 || x->package == y->package) && (kind < 2 || x->node == y->node) && (kind < 3 || x->llc == y->llc)
           && (kind < 4 || x->phys == y->phys);
}

static inline bool part_before(struct usf_pol *p, uint32_t a, uint32_t b)
{
    const struct usf_pol_core *x = usf_core(p, a), *y = usf_core(p, b);
    if (x->package != y->package) return x->package < y->package;
    if (x->node != y->node) return x->node < y->node;
    if (x->llc != y->llc) return x->llc < y->llc;
    return x->phys != y->phys ? x->phys < y->phys : a < b;
}

static inline void part_add_level(struct part_map *m, const uint64_t begins[USF_CORE_WORDS])
{
    uint32_t n = usf_cores_count(begins);
    if (m->nr_levels && n <= m->count[m->nr_levels - 1]) return;
    usf_cores_copy(m->begins[m->nr_levels], begins);
    m->count[m->nr_levels++] = (uint16_t)n;
}

/* Each unit that begins in `units` is cut into `pieces` equal ones of whole `parts`. */
static inline void part_cut(const struct part_map *m, const uint64_t *units, const uint64_t *parts, uint32_t pieces,
                            uint64_t out[USF_CORE_WORDS])
{
    usf_cores_clear(out);
    for (uint32_t b = 0, e; b < m->nr_cores; b = e) {
        e = part_next(units, b + 1, m->nr_cores);
        uint32_t n = 0, i = 0;
        for (uint32_t at = b; at < e; at = part_next(parts, at + 1, e)) n++;
        for (uint32_t at = b; at < e; at = part_next(parts, at + 1, e), i++)
            if (i % (n / pieces) == 0) usf_cores_add(out, at);
    }
}

/* Greatest common divisor of the numbers of `parts` in the units: only what divides all of them
 * cuts them equally. */
static inline uint32_t part_divisor(const struct part_map *m, const uint64_t *units, const uint64_t *parts)
{
    uint32_t g = 0;
    for (uint32_t b = 0, e; b < m->nr_cores; b = e) {
        uint32_t n = 0, rest;
        e = part_next(units, b + 1, m->nr_cores);
        for (uint32_t at = b; at < e; at = part_next(parts, at + 1, e)) n++;
        for (; n; n = rest) rest = g % n, g = n;
    }
    return g;
}

/* `nested`: of the fractions only a chain in which each divides the next (6 cores: halves, but no
 * thirds), so that every partition consists of whole partitions of the next level. */
static inline void part_build(struct usf_pol *p, struct part_map *m, bool nested)
{
    uint64_t units[USF_CORE_WORDS], parts[USF_CORE_WORDS], cut[USF_CORE_WORDS];
    m->nr_levels = 0;
    m->whole = 0;
    m->nr_cores = (uint16_t)p->nr_cores;
    for (uint32_t i = 0; i < p->nr_cores; i++) {
        uint32_t at = i;
        for (; at && part_before(p, i, m->order[at - 1]); at--) m->order[at] = m->order[at - 1];
        m->order[at] = (part_place)i;
    }
    for (uint32_t kind = 0; kind < PART_KINDS; kind++) {
        usf_cores_clear(parts);
        for (uint32_t i = 0; i < p->nr_cores; i++)
            if (!i || !part_together(p, m->order[i - 1], m->order[i], kind)) usf_cores_add(parts, i);
        if (kind) {
            uint32_t g = part_divisor(m, units, parts), last = 1;
            for (uint32_t d = 2; d <= g; d++) {
                if (g % d || (nested && d % last) || m->nr_levels + PART_KINDS > PART_LEVELS) continue;
                part_cut(m, units, parts, d, cut);
                part_add_level(m, cut);
                last = d;
            }
        }
        part_add_level(m, parts);
        if (kind < PART_KINDS - 1) m->whole |= 1u << (m->nr_levels - 1);
        usf_cores_copy(units, parts);
    }
}

/* The cores of `span` partitions from `index` on. */
static inline void part_mask(const struct part_map *m, uint32_t level, uint32_t index, uint32_t span, uint64_t mask[USF_CORE_WORDS])
{
    const uint64_t *begins = m->begins[level];
    uint32_t at = 0;
    usf_cores_clear(mask);
    for (; index; index--) at = part_next(begins, at + 1, m->nr_cores);
    for (; span; span--) {
        uint32_t end = part_next(begins, at + 1, m->nr_cores);
        for (; at < end; at++) usf_cores_add(mask, m->order[at]);
    }
}

/* ---- the paper's Listing 1 ---------------------------------------------------------------------------- */

/* Programs that wait at a threshold may be about to end or to be joined by others: a level that is exactly at its threshold
 * changes when that has been so for a while (`settled`), one that is beyond it at once.
 *   up    (smaller partitions)   there are enough programs for all partitions of the next level
 *   down  (larger partitions)    a partition of this level has no program */
static inline bool part_upper_reached(const struct part_map *m, uint32_t level, uint32_t programs, bool settled)
{ return level + 1u < m->nr_levels && programs >= m->count[level + 1] + (settled ? 0u : 1u); }

static inline bool part_lower_reached(const struct part_map *m, uint32_t level, uint32_t programs, bool settled)
{ return level && programs + (settled ? 0u : 1u) < m->count[level]; }

/* The level for so many programs, coming from `level`. */
static inline uint32_t part_next_level(const struct part_map *m, uint32_t level, uint32_t programs, bool settled)
{
    while (part_upper_reached(m, level, programs, settled)) level++;
    while (part_lower_reached(m, level, programs, settled)) level--;
    return level;
}

/* ---- balanced placement --------------------------------------------------------------------------------- */

/* The first of `span` partitions (a multiple of it, lest they straddle a wider unit) for a program
 * that may run on `may` and ran on `old`.  load[c]: programs that core c belongs to.  Half of the
 * cores at least usable, then the least loaded, then the most of `old`, then the first.  USF_NONE:
 * it may run in no partition. */
static inline uint32_t part_choose(const struct part_map *m, uint32_t level, const uint16_t *load, uint32_t span,
                                   const uint64_t *may, const uint64_t *old)
{
    uint32_t best = USF_NONE, best_load = 0, best_old = 0, at = 0;
    bool best_usable = false;
    for (uint32_t i = 0; i + span <= m->count[level]; i += span) {
        uint64_t mask[USF_CORE_WORDS] = {0};
        uint32_t worst = 0, size = 0;
        for (uint32_t j = 0; j < span; j++) {
            uint32_t end = part_next(m->begins[level], at + 1, m->nr_cores);
            for (; at < end; at++, size++) {
                uint32_t c = m->order[at];
                usf_cores_add(mask, c);
                if (load[c] > worst) worst = load[c];
            }
        }
        if (best_usable && worst > best_load) continue;
        uint32_t usable = usf_cores_common(mask, may), kept = usf_cores_common(mask, old);
        bool half = usable * 2 >= size;
        if (!usable) continue;
        if (best == USF_NONE || half > best_usable
            || (half == best_usable && (worst < best_load || (worst == best_load && kept > best_old))))
            best = i, best_usable = half, best_load = worst, best_old = kept;
    }
    return best;
}

/* ---- plain equipartitioning: any cores, as equal as numbers allow ---------------------------------------- */

/* Of its cores keep the first `n` that it may use and that belong to fewer than `cap` programs, and
 * count them in `load`. */
static inline void part_keep(uint64_t mask[USF_CORE_WORDS], const uint64_t *may, uint16_t *load, uint32_t cap, uint32_t n)
{
    for (uint32_t c = 0; (c = usf_cores_next(mask, c)) != USF_NONE; c++) {
        if (n && usf_cores_has(may, c) && load[c] < cap) n--, load[c]++;
        else usf_cores_remove(mask, c);
    }
}

/* Add the cores that belong to the fewest programs, out of the first `cores`, until there are
 * `n`. */
static inline void part_grow(uint64_t mask[USF_CORE_WORDS], const uint64_t *may, uint16_t *load, uint32_t cores, uint32_t n)
{
    for (uint32_t has = usf_cores_count(mask); has < n; has++) {
        uint32_t best = USF_NONE;
        for (uint32_t c = 0; c < cores; c++)
            if (usf_cores_has(may, c) && !usf_cores_has(mask, c) && (best == USF_NONE || load[c] < load[best])) best = c;
        if (best == USF_NONE) return;
        usf_cores_add(mask, best);
        load[best]++;
    }
}

#endif
