/* src/policy/widths.h - who gets more cores than others, and who fewer.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The speed-up-aware half of equi.  Where each program has a partition of its own, and its rate is
 * known on two widths at least, cores go from those that lose least to those that gain most: as
 * long as the product of all rates rises by more than a tenth for the step.  The product, not the
 * sum: no program's slowdown is paid for by another that is fast anyway.
 *
 * Widths are counted in partitions of the next smaller level, K of which are the normal one.
 * Allowed are equal fractions of the normal one, multiples of it, and where those smaller ones are
 * whole caches or nodes, any number of them: never one and a half nodes.
 *
 * To know a second width, a program tries a narrower partition for a period, one program at a time,
 * and again every RETRY quanta.
 *
 * Hysteresis: another distribution is adopted when programs come or go, or if it promises a
 * twentieth more than the present one. */
#ifndef USF_POLICY_WIDTHS_H
#define USF_POLICY_WIDTHS_H

#include "policy/equi.h"

enum {
    WIDTHS_PERIOD = 10,         /* quanta, of one measurement */
    WIDTHS_TRIAL = 200,         /* ... after which a trial ends in any case */
    WIDTHS_RETRY = 1500,        /* ... after which it is repeated */
    WIDTHS_STEP = SPEEDUP_ONE + SPEEDUP_ONE / 10, WIDTHS_KEEP = SPEEDUP_ONE + SPEEDUP_ONE / 20,
    WIDTHS_MOST = 64,           /* programs; with more, all have the same */
};

struct widths { uint32_t normal, cores; bool whole; };      /* K; cores of a smaller partition; see above */

static inline bool widths_allowed(const struct widths *w, uint32_t n)
{ return n && (w->whole || (n >= w->normal ? n % w->normal == 0 : w->normal % n == 0)); }

static inline uint32_t widths_wider(const struct widths *w, uint32_t n, uint32_t most)
{
    for (n++; n <= most; n++) if (widths_allowed(w, n)) return n;
    return 0;
}

static inline uint32_t widths_narrower(const struct widths *w, uint32_t n)
{
    for (n--; n; n--) if (widths_allowed(w, n)) return n;
    return 0;
}

static inline uint32_t widths_now(const struct equi_inst *in, const struct equi_group *e, const struct widths *w)
{ return e->level > in->level ? e->units : e->units * w->normal; }

/* By how much does a program's rate change from one width to another?  Q16, 0: unknown. */
static inline uint32_t widths_ratio(const struct equi_group *e, const struct widths *w, uint32_t from, uint32_t to)
{ return speedup_ratio(&e->measured, from * w->cores, to * w->cores); }

static inline uint64_t widths_times(uint64_t a, uint64_t b)
{
    uint64_t product = a * b >> 16;
    return product > 1u << 30 ? 1u << 30 : product;
}

/* Programs of other weights keep what that gives them. */
static inline bool widths_takes_part(struct usf_pol *p, uint32_t i) { return equi_units(p, i) == 1 && usf_group(p, i)->progress; }

/* One step: the program that gains most by the next width, and those that lose least by giving it
 * the cores.  False: it does not pay. */
static inline bool widths_step(struct usf_pol *p, const struct widths *w, uint32_t *spare)
{
    const struct equi_inst *in = equi_inst_of(p);
    uint32_t most = in->map.count[in->level] * w->normal, taker = 0, best = 0;
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
        struct equi_group *e = equi_group_of(p, i - 1);
        uint32_t wider = widths_wider(w, e->measured.want, most);
        uint32_t gain = wider && widths_takes_part(p, i - 1) ? widths_ratio(e, w, e->measured.want, wider) : 0;
        if (gain > best) best = gain, taker = i;
    }
    if (!taker) return false;
    struct equi_group *t = equi_group_of(p, taker - 1);
    uint32_t need = widths_wider(w, t->measured.want, most) - t->measured.want, freed = *spare, before[WIDTHS_MOST], n = 0;
    uint64_t product = best;
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) before[n++] = equi_group_of(p, i - 1)->measured.want;
    while (freed < need) {
        uint32_t giver = 0, least = 0, to = 0;
        for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
            struct equi_group *e = equi_group_of(p, i - 1);
            uint32_t narrower = widths_narrower(w, e->measured.want);
            if (i == taker || !narrower || !widths_takes_part(p, i - 1)) continue;
            uint32_t kept = widths_ratio(e, w, e->measured.want, narrower);
            if (kept > least) least = kept, giver = i, to = narrower;
        }
        if (!giver) break;
        freed += equi_group_of(p, giver - 1)->measured.want - to;
        equi_group_of(p, giver - 1)->measured.want = to;
        product = widths_times(product, least);
    }
    if (freed >= need && product > WIDTHS_STEP) {
        t->measured.want += need;
        *spare = freed - need;
        return true;
    }
    n = 0;
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) equi_group_of(p, i - 1)->measured.want = before[n++];
    return false;
}

/* A trial that has been measured, or takes too long, ends; else one may begin.  True: a sample is
 * new; *ended: a trial has. */
static inline bool widths_try(struct usf_pol *p, const struct widths *w, bool *ended)
{
    const struct equi_inst *in = equi_inst_of(p);
    uint64_t retry = WIDTHS_RETRY * p->quantum;
    bool fresh = false, trying = false;
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
        struct speedup *s = &equi_group_of(p, i - 1)->measured;
        if (s->trial && (s->fresh || p->now - s->tried > WIDTHS_TRIAL * p->quantum)) s->trial = 0, s->tried = p->now, *ended = true;
        fresh |= s->fresh;
        s->fresh = 0;
        trying |= s->trial;
    }
    for (uint32_t i = in->first; i && !trying; i = equi_group_of(p, i - 1)->next) {
        struct equi_group *e = equi_group_of(p, i - 1);
        uint32_t now = widths_now(in, e, w), narrower = widths_narrower(w, now);
        if (!narrower || !widths_takes_part(p, i - 1) || !speedup_rate(&e->measured, now * w->cores)) continue;
        if (e->measured.tried && p->now - e->measured.tried < retry) continue;
        e->measured.trial = trying = true;
        e->measured.tried = p->now;     /* its begin, until it ends */
    }
    return fresh;
}

/* All programs measured, and the shapes of all: level and units of each.  True: some are other than
 * before. */
static inline bool widths_choose(struct usf_pol *p, uint32_t programs, bool anew)
{
    struct equi_inst *in = equi_inst_of(p);
    uint32_t n = 0, spare = 0, level = in->level;
    uint64_t product = SPEEDUP_ONE;
    bool shared = level + 1u >= in->map.nr_levels || programs > in->map.count[level], changed = false, ended = false;
    struct widths w = { .normal = 1, .cores = in->map.nr_cores / in->map.count[level] };
    if (level + 1u < in->map.nr_levels) {
        w.normal = in->map.count[level + 1] / in->map.count[level];
        w.cores = in->map.nr_cores / in->map.count[level + 1];
        w.whole = in->map.whole >> (level + 1) & 1;
    }
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next, n++) {
        struct equi_group *e = equi_group_of(p, i - 1);
        equi_due(in, p->now + WIDTHS_PERIOD / 2 * p->quantum);     /* also for one that has finished nothing yet: it may, and nothing else may come */
        if (!usf_group(p, i - 1)->progress) continue;
        if (usf_cores_any(e->old)) continue;         /* it has not followed yet */
        speedup_look(&e->measured, usf_cores_count(e->mine), usf_group(p, i - 1)->progress, p->now, WIDTHS_PERIOD * p->quantum, p->quantum);
    }
    shared |= n > WIDTHS_MOST;
    bool fresh = !shared && widths_try(p, &w, &ended);
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next)
        equi_group_of(p, i - 1)->measured.want = w.normal * (equi_units(p, i - 1) < in->map.count[level] ? equi_units(p, i - 1) : in->map.count[level]);
    while (!shared && widths_step(p, &w, &spare)) {}
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
        const struct equi_group *e = equi_group_of(p, i - 1);
        uint32_t now = widths_now(in, e, &w), ratio = widths_ratio(e, &w, now, e->measured.want);
        if (now != e->measured.want && ratio) product = widths_times(product, ratio);
    }
    bool adopt = anew || shared || ended || (fresh && product > WIDTHS_KEEP);
    for (uint32_t i = in->first; i; i = equi_group_of(p, i - 1)->next) {
        struct equi_group *e = equi_group_of(p, i - 1);
        uint32_t want = adopt ? e->measured.want : widths_now(in, e, &w), units, at;
        if (!shared && e->measured.trial) want = widths_narrower(&w, w.normal);
        if (shared || anew) e->measured.trial = 0;
        at = want % w.normal ? level + 1 : level;
        units = want % w.normal ? want : want / w.normal;
        if (e->level == at && e->units == units) continue;
        e->level = (uint16_t)at;
        e->units = (uint16_t)units;
        changed = true;
    }
    return changed;
}

#endif
