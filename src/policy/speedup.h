/* src/policy/speedup.h - how much faster is a program on more cores?
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pure: numbers only.  A program that counts finished pieces of work (parallel regions) has a rate:
 * pieces per time that a partition of some width was its own.  Rates are kept for a few widths, the
 * last three of each, whose median counts: one period in which it did something else does not.
 * Between and beyond measured widths Amdahl's law is laid through the two measured ones that are
 * nearest; with one alone nothing is known.
 *
 * Numbers of kind Q16 are fractions times 65536. */
#ifndef USF_POLICY_SPEEDUP_H
#define USF_POLICY_SPEEDUP_H

#include <usf/policy.h>

enum { SPEEDUP_POINTS = 6, SPEEDUP_SAMPLES = 3, SPEEDUP_ONE = 65536, SPEEDUP_MIN_PIECES = 8 };

struct USF_POLICY_STATE speedup_point {
    uint16_t width;             /* cores; 0: not used */
    uint8_t nr, next;           /* samples that there are; where the next goes */
    uint32_t rate[SPEEDUP_SAMPLES];
};
struct USF_POLICY_STATE speedup {
    struct speedup_point point[SPEEDUP_POINTS];
    uint64_t time;              /* ns of a partition of its own in this period */
    uint64_t progress;          /* pieces finished when the period began */
    uint64_t began;             /* ns; 0: begins at the next look */
    uint64_t tried;             /* ns, end of the last trial; 0: none yet */
    uint32_t trial;             /* 1: has a narrower partition now, to learn what that does */
    uint32_t fresh;             /* 1: a sample has come that was not looked at */
    uint32_t want;              /* shape in the making, see widths.h */
};

/* Other cores: what was measured so far of this period says nothing. */
static inline void speedup_restart(struct speedup *s) { s->began = 0; s->time = 0; }

static inline uint32_t speedup_middle(const struct speedup_point *q)
{
    uint32_t a = q->rate[0], b = q->rate[1], c = q->rate[2];
    if (q->nr < 2) return a;
    if (q->nr == 2) return a / 2 + b / 2;
    return a > b ? (b > c ? b : a < c ? a : c) : (a > c ? a : b < c ? b : c);
}

/* The point of this width; with `make`, in place of the last one if there is none. */
static inline struct speedup_point *speedup_at(struct speedup *s, uint32_t width, bool make)
{
    for (uint32_t i = 0; i < SPEEDUP_POINTS; i++)
        if (s->point[i].width == width || (!s->point[i].width && make)) return &s->point[i];
    return make ? &s->point[SPEEDUP_POINTS - 1] : NULL;
}

static inline void speedup_add(struct speedup *s, uint32_t width, uint64_t pieces, uint64_t ns)
{
    struct speedup_point *q = speedup_at(s, width, true);
    if (q->width != width) q->nr = q->next = 0, q->width = (uint16_t)width;
    if (pieces >> 23) pieces = (1u << 23) - 1;
    uint64_t rate = (pieces << 40) / (ns ? ns : 1);     /* pieces per 2^40 ns, some 1100 s */
    q->rate[q->next] = rate > UINT32_MAX ? UINT32_MAX : rate ? (uint32_t)rate : 1;
    q->next = (uint8_t)((q->next + 1) % SPEEDUP_SAMPLES);
    if (q->nr < SPEEDUP_SAMPLES) q->nr++;
    s->fresh = 1;
}

/* So many pieces are finished at this time.  A period ends when the program has had its partition
 * for `period` ns, or for up to ten times as long, where pieces are long.  The first `skip` ns on
 * other cores are left out: caches are cold and it may not have followed yet. */
static inline void speedup_look(struct speedup *s, uint32_t width, uint64_t progress, uint64_t now, uint64_t period, uint64_t skip)
{
    if (!s->began || progress < s->progress) {
        s->began = now + skip;
        s->progress = progress;
        s->time = 0;
        return;
    }
    if (now < s->began) {
        s->progress = progress;
        s->time = 0;
        return;
    }
    uint64_t pieces = progress - s->progress;
    if (s->time < period || (pieces < SPEEDUP_MIN_PIECES && s->time < 10 * period)) return;
    if (pieces) speedup_add(s, width, pieces, s->time);
    s->began = now;
    s->progress = progress;
    s->time = 0;
}

/* Amdahl's serial part, Q16, of a program with rates r1 and r2 on w1 < w2 cores. */
static inline uint32_t speedup_serial(uint32_t w1, uint32_t r1, uint32_t w2, uint32_t r2)
{
    uint64_t kept = ((uint64_t)r2 << 16) / (r1 ? r1 : 1) * w1 / w2;     /* efficiency that is left, Q16 */
    if (kept >= SPEEDUP_ONE) return 0;
    int64_t divisor = (int64_t)kept * (w2 - 1) - (int64_t)SPEEDUP_ONE * (w1 - 1);
    if (divisor <= 0) return SPEEDUP_ONE;
    uint64_t serial = ((SPEEDUP_ONE - kept) << 16) / (uint64_t)divisor;
    return serial > SPEEDUP_ONE ? SPEEDUP_ONE : (uint32_t)serial;
}

/* Speed-up on w cores, Q16. */
static inline uint64_t speedup_amdahl(uint32_t serial, uint32_t w)
{ return ((uint64_t)w << 32) / (SPEEDUP_ONE + (uint64_t)serial * (w - 1)); }

/* The rate on `width` cores, measured or by the law; 0: unknown. */
static inline uint32_t speedup_rate(const struct speedup *s, uint32_t width)
{
    const struct speedup_point *near = NULL, *next = NULL;
    for (uint32_t i = 0; i < SPEEDUP_POINTS && s->point[i].width; i++) {
        const struct speedup_point *q = &s->point[i];
        uint32_t away = q->width > width ? q->width - width : width - q->width;
        uint32_t best = !near ? UINT32_MAX : near->width > width ? near->width - width : width - near->width;
        uint32_t second = !next ? UINT32_MAX : next->width > width ? next->width - width : width - next->width;
        if (!q->nr) continue;
        if (!away) return speedup_middle(q);
        if (away < best) next = near, near = q;
        else if (away < second) next = q;
    }
    if (!next) return 0;
    const struct speedup_point *a = near->width < next->width ? near : next, *b = a == near ? next : near;
    uint32_t serial = speedup_serial(a->width, speedup_middle(a), b->width, speedup_middle(b));
    uint64_t rate = speedup_middle(near) * speedup_amdahl(serial, width) / speedup_amdahl(serial, near->width);
    return rate > UINT32_MAX ? UINT32_MAX : rate ? (uint32_t)rate : 1;
}

/* By how much does it get faster, or slower, from one width to another?  Q16; 0: unknown. */
static inline uint32_t speedup_ratio(const struct speedup *s, uint32_t from, uint32_t to)
{
    uint64_t a = speedup_rate(s, from), b = speedup_rate(s, to);
    if (!a || !b) return 0;
    uint64_t ratio = (b << 16) / a;
    return ratio > 16 * SPEEDUP_ONE ? 16 * SPEEDUP_ONE : ratio ? (uint32_t)ratio : 1;
}

#endif
