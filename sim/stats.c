/* sim/stats.c - distributions of times.  SPDX-License-Identifier: Apache-2.0 */
#include "sim/stats.h"
#include <stdlib.h>

/* Four buckets per power of two, below 4 one each. */
static uint32_t bucket_of(uint64_t v)
{
    if (v < 4) return (uint32_t)v;
    uint32_t log = 63 - (uint32_t)__builtin_clzll(v);
    return 4 * (log - 1) + (uint32_t)(v >> (log - 2) & 3);
}

static uint64_t upper_end(uint32_t b)
{
    if (b < 4) return b;
    uint32_t log = b / 4 + 1;
    return ((4ull + b % 4 + 1) << (log - 2)) - 1;
}

void sim_hist_add(struct sim_hist *h, uint64_t v)
{
    if (!h->n || v < h->min) h->min = v;
    if (v > h->max) h->max = v;
    h->n++;
    h->sum += v;
    h->bucket[bucket_of(v)]++;
}

uint64_t sim_hist_quantile(const struct sim_hist *h, uint32_t per_mille)
{
    uint64_t want = (h->n * per_mille + 999) / 1000, seen = 0;
    for (uint32_t b = 0; b < SIM_HIST; b++) {
        seen += h->bucket[b];
        if (seen >= want && seen) return upper_end(b) < h->max ? upper_end(b) : h->max;
    }
    return h->max;
}

void sim_stats_free(struct sim_stats *s)
{
    free(s->program);
    s->program = 0;
}
