/* src/trace/table.c - a number for each pair of numbers.  SPDX-License-Identifier: Apache-2.0 */
#include "trace/file.h"
#include <stdlib.h>

/* Each bit of the numbers matters to each bit of the result: they are often addresses, and
 * multiples of 64. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

static struct trace_entry *entry_of(struct trace_entry *at, size_t room, uint64_t a, uint64_t b)
{
    size_t i = (size_t)mix(a + mix(b)) & (room - 1);
    while (at[i].used && (at[i].a != a || at[i].b != b)) i = (i + 1) & (room - 1);
    return &at[i];
}

static bool grow(struct trace_table *t)
{
    size_t room = t->room ? 2 * t->room : 1024;
    struct trace_entry *at = calloc(room, sizeof *at);
    if (!at) return false;
    for (size_t i = 0; i < t->room; i++)
        if (t->at[i].used) *entry_of(at, room, t->at[i].a, t->at[i].b) = t->at[i];
    free(t->at);
    t->at = at;
    t->room = room;
    return true;
}

uint32_t *trace_table_get(struct trace_table *t, uint64_t a, uint64_t b)
{
    if (!t->room) return NULL;
    struct trace_entry *e = entry_of(t->at, t->room, a, b);
    return e->used ? &e->value : NULL;
}

uint32_t *trace_table_put(struct trace_table *t, uint64_t a, uint64_t b)
{
    if (2 * t->nr >= t->room && !grow(t)) return NULL;
    struct trace_entry *e = entry_of(t->at, t->room, a, b);
    if (!e->used) {
        *e = (struct trace_entry){.a = a, .b = b, .value = USF_NONE, .used = true};
        t->nr++;
    }
    return &e->value;
}

void trace_table_free(struct trace_table *t)
{
    free(t->at);
    *t = (struct trace_table){0};
}
