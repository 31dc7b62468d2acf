/* sim/linux/part.h - static partitions, and lending between them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each of n programs owns an n-th of the CPUs, neighbours in the machine; Linux schedules within.
 * With lending (as the LeWI policy of DLB does it) a CPU whose owner has nothing for it may be used
 * by a program that has, until the owner wants it back.  Pure decisions: the caller moves tasks and
 * preempts.
 *
 * Invariants: bit c of set(p) == (user[c] == p); without lending user == owner. */
#ifndef USF_SIM_LINUX_PART_H
#define USF_SIM_LINUX_PART_H

#include "sim/linux/linux.h"

struct lx_part {
    const struct lx *lx;
    uint32_t nr_progs;
    uint32_t *owner, *user;   /* by CPU */
    uint64_t *sets;           /* nr_progs sets of lx->words */
    uint32_t *waiting;        /* by program: tasks that are queued and do not run */
    uint64_t borrowed, reclaimed; /* so often */
};

/* More programs than CPUs: several share one.  False: no memory. */
bool lx_part_init(struct lx_part *p, const struct lx *lx, uint32_t nr_progs);
void lx_part_fini(struct lx_part *p);
static inline const uint64_t *lx_part_set(const struct lx_part *p, uint32_t prog)
{ return p->sets + (size_t)(prog % p->nr_progs) * p->lx->words; }

void lx_part_give(struct lx_part *p, uint32_t cpu, uint32_t prog);
/* The program has a task to run and none of its CPUs is idle: one of its own that another uses,
 * else an idle one that its owner does not want, which is then its to use; `spare` (may be null):
 * CPUs that it may have besides.  LX_NONE: none. */
uint32_t lx_part_want(struct lx_part *p, uint32_t prog, const uint64_t *spare);
/* The CPU's user has nothing for it: whose is it now?  Its owner's if that has tasks waiting, else
 * the program's with the most waiting, else its owner's again. */
uint32_t lx_part_spare(struct lx_part *p, uint32_t cpu);
bool lx_part_valid(const struct lx_part *p);

#endif
