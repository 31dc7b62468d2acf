/* sim/linux/part.c - static partitions, and lending between them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sim/linux/part.h"

bool lx_part_init(struct lx_part *p, const struct lx *lx, uint32_t nr_progs)
{
    uint32_t n = lx->nr_cpus;
    *p = (struct lx_part){ .lx = lx, .nr_progs = nr_progs ? nr_progs : 1 };
    p->owner = calloc(n, sizeof *p->owner);
    p->user = calloc(n, sizeof *p->user);
    p->sets = calloc((size_t)p->nr_progs * lx->words, sizeof *p->sets);
    p->waiting = calloc(p->nr_progs, sizeof *p->waiting);
    if (!p->owner || !p->user || !p->sets || !p->waiting) {
        lx_part_fini(p);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) { /* in the order of the machine */
        uint32_t cpu = lx->members[3][i], prog = (uint32_t)((uint64_t)i * p->nr_progs / n);
        p->owner[cpu] = p->user[cpu] = prog;
        lx_bit_set(p->sets + (size_t)prog * lx->words, cpu);
    }
    for (uint32_t k = 0; k < p->nr_progs && p->nr_progs > n; k++) /* more programs than CPUs */
        lx_bit_set(p->sets + (size_t)k * lx->words, lx->members[3][(uint64_t)k * n / p->nr_progs]);
    return true;
}

void lx_part_fini(struct lx_part *p)
{
    free(p->owner); free(p->user); free(p->sets); free(p->waiting);
    *p = (struct lx_part){ 0 };
}

void lx_part_give(struct lx_part *p, uint32_t cpu, uint32_t prog)
{
    if (p->user[cpu] == prog) return;
    if (prog == p->owner[cpu]) p->reclaimed++;
    else p->borrowed++;
    lx_bit_clear(p->sets + (size_t)p->user[cpu] * p->lx->words, cpu);
    lx_bit_set(p->sets + (size_t)prog * p->lx->words, cpu);
    p->user[cpu] = prog;
}

uint32_t lx_part_want(struct lx_part *p, uint32_t prog, const uint64_t *spare)
{
    uint32_t own = LX_NONE, other = LX_NONE, besides = LX_NONE;
    for (uint32_t c = 0; c < p->lx->nr_cpus; c++) {
        if (p->user[c] == prog) continue;
        bool idle = lx_bit(p->lx->idle, c);
        if (p->owner[c] == prog) {
            if (own == LX_NONE || (idle && !lx_bit(p->lx->idle, own))) own = c;
        } else if (idle && !p->waiting[p->owner[c]] && !p->waiting[p->user[c]]) {
            if (other == LX_NONE) other = c;
        } else if (spare && lx_bit(spare, c) && besides == LX_NONE) {
            besides = c;
        }
    }
    uint32_t cpu = own != LX_NONE ? own : other != LX_NONE ? other : besides;
    if (cpu != LX_NONE) lx_part_give(p, cpu, prog);
    return cpu;
}

uint32_t lx_part_spare(struct lx_part *p, uint32_t cpu)
{
    uint32_t best = p->owner[cpu];
    if (!p->waiting[best])
        for (uint32_t k = 0; k < p->nr_progs; k++)
            if (p->waiting[k] > p->waiting[best]) best = k;
    lx_part_give(p, cpu, best);
    return best;
}

bool lx_part_valid(const struct lx_part *p)
{
    if (p->nr_progs > p->lx->nr_cpus) return true; /* shared CPUs: no lending */
    for (uint32_t c = 0; c < p->lx->nr_cpus; c++)
        for (uint32_t k = 0; k < p->nr_progs; k++)
            if (lx_bit(lx_part_set(p, k), c) != (p->user[c] == k)) return false;
    return true;
}
