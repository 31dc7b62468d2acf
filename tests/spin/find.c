/* tests/spin/find.c - every loop of a function, the site at an address, the names of verdicts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "find.h"
#include "spin/internal.h"

const char *spin_verdict_name(enum spin_verdict v)
{
    static const char *const name[] = { "yes", "no loop", "stores", "calls", "address changes", "no memory exit",
                                        "not decodable", "no room", "no memory", "busy" };
    return (unsigned)v < sizeof name / sizeof *name ? name[v] : "?";
}

/* Targets of short backward branches: where loops start.  Sorted, without doubles; at most `cap`,
 * the lowest from `from` on. */
static unsigned loop_starts(struct spin_scratch *s, uint32_t from, uint32_t *start, unsigned cap)
{
    struct spin_step step;
    unsigned n = 0;
    for (uint32_t p = 0; p < s->size && spin_step(s, s->code + p, s->size - p, &step); p += step.len) {
        int64_t to = (int64_t)p + step.to;
        if (!step.direct || to > p || to < from || p - to > SPIN_RADIUS) continue;
        unsigned i = n;
        while (i && start[i - 1] > to) i--;
        if (i && start[i - 1] == to) continue;
        if (i == cap) continue;
        if (n < cap) n++;
        for (unsigned k = n - 1; k > i; k--) start[k] = start[k - 1];
        start[i] = (uint32_t)to;
    }
    return n;
}

int spin_for_each_loop(const uint8_t *code, uintptr_t fstart, uintptr_t fend,
                       void (*fn)(const struct spin_loop *l, void *arg), void *arg)
{
    uint32_t start[32];
    struct spin_loop l;
    uintptr_t seen[32];
    int found = 0;
    unsigned n;
    uint32_t from = 0;
    if (fend <= fstart || fend - fstart > SPIN_MAX_FUNCTION) return 0;
    do {
        if (!spin_scratch_take()) return found;
        spin_scratch.code = code;
        spin_scratch.size = (uint32_t)(fend - fstart);
        n = loop_starts(&spin_scratch, from, start, sizeof start / sizeof *start);
        spin_scratch_release();
        for (unsigned i = 0; i < n; i++) {
            from = start[i] + 1;
            if (spin_recognise_anew(code, fstart, fend, fstart + start[i], &l)) continue;
            bool known_window = false;
            for (int k = found > 32 ? found - 32 : 0; k < found; k++) known_window |= seen[k % 32] == l.window;
            if (known_window) continue;
            seen[found++ % 32] = l.window;
            fn(&l, arg);
        }
    } while (n == sizeof start / sizeof *start);
    return found;
}

int spin_site_at(uintptr_t pc)
{
    for (uint32_t i = 0; i < usf_spin_nr_sites; i++) {
        const struct spin_site *s = &usf_spin_sites[i];
        if (!s->head) continue;
        if (pc >= s->stub && pc < s->stub_end) return (int)i;
        for (unsigned k = 0; k < s->loop.nr_insns; k++)
            if (s->head + s->loop.insn[k].off == pc) return (int)i;
    }
    return -1;
}
