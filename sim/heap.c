/* sim/heap.c - the engine's events: an indexed heap of four children each.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The order of events of one time does not depend on when they were set: internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sim/internal.h"

#define ID_BITS SIM_ID_BITS
#define ID sim_heap_id

static bool before(struct sim_heap_entry a, struct sim_heap_entry b)
{ return a.time != b.time ? a.time < b.time : a.key < b.key; }

static void put(struct sim_heap *h, uint32_t i, struct sim_heap_entry e)
{
    h->e[i] = e;
    h->pos[ID(e)] = i + 1;
    if (i < SIM_HEAP_NEAR) h->fresh |= 1u << i;
}

static void up(struct sim_heap *h, uint32_t i, struct sim_heap_entry e)
{
    while (i) {
        uint32_t parent = (i - 1) / 4;
        if (!before(e, h->e[parent])) break;
        put(h, i, h->e[parent]);
        i = parent;
    }
    put(h, i, e);
}

static void down(struct sim_heap *h, uint32_t i, struct sim_heap_entry e)
{
    for (;;) {
        uint32_t first = 4 * i + 1, best = first, end = first + 4 < h->nr ? first + 4 : h->nr;
        if (first >= h->nr) break;
        for (uint32_t c = first + 1; c < end; c++)
            if (before(h->e[c], h->e[best])) best = c;
        if (!before(h->e[best], e)) break;
        put(h, i, h->e[best]);
        i = best;
    }
    put(h, i, e);
}

int sim_heap_grow(struct sim_heap *h, uint32_t ids)
{
    if (ids <= h->ids) return 0;
    if (ids >= 1u << ID_BITS) return -ENOMEM;
    uint32_t n = h->ids ? h->ids : 64;
    while (n < ids) n *= 2;
    struct sim_heap_entry *mem = aligned_alloc(64, (n + 4) * sizeof *mem);
    uint32_t *pos = realloc(h->pos, n * sizeof *pos);
    if (pos) h->pos = pos;
    if (!mem || !pos) return free(mem), -ENOMEM;
    if (h->nr) memcpy(mem + 3, h->e, h->nr * sizeof *mem);
    free(h->mem);
    h->mem = mem;
    h->e = mem + 3;
    memset(pos + h->ids, 0, (n - h->ids) * sizeof *pos);
    h->ids = n;
    return 0;
}

static void take_out(struct sim_heap *h, uint32_t i)
{
    h->pos[ID(h->e[i])] = 0;
    struct sim_heap_entry last = h->e[--h->nr];
    if (i == h->nr) return;
    if (i && before(last, h->e[(i - 1) / 4])) up(h, i, last);
    else down(h, i, last);
}

uint64_t sim_heap_key(const struct sim_heap *h, uint32_t id, uint64_t time)
{
    if (id >= h->cpus) return id;
    return (1ull << 39 | sim_mix(time * 0x9e3779b97f4a7c15ull + id) >> 25) << ID_BITS | id;
}

void sim_heap_set(struct sim_heap *h, uint32_t id, uint64_t time)
{
    uint32_t at = h->pos[id];
    if (time == SIM_NEVER) {
        if (at) take_out(h, at - 1);
        return;
    }
    struct sim_heap_entry e = {time, sim_heap_key(h, id, time)};
    if (!at) up(h, h->nr++, e);
    else if (at > 1 && before(e, h->e[(at - 2) / 4])) up(h, at - 1, e);
    else down(h, at - 1, e);
}

bool sim_heap_pop(struct sim_heap *h, uint32_t *id, uint64_t *time)
{
    if (!h->nr) return false;
    *id = ID(h->e[0]);
    *time = h->e[0].time;
    take_out(h, 0);
    return true;
}

void sim_heap_free(struct sim_heap *h)
{
    free(h->mem);
    free(h->pos);
    *h = (struct sim_heap){0};
}
