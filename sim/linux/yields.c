/* sim/linux/yields.c - the programs' spin loops with a sched_yield put into each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/linux/kernel.h"

static bool turn(uint8_t *wait)
{
    if (*wait == SIM_WAIT_SPIN) *wait = SIM_WAIT_YIELD;
    else if (*wait == SIM_WAIT_SPIN_BLOCK) *wait = SIM_WAIT_YIELD_BLOCK;
    else return false;
    return true;
}

uint32_t sim_spins_to_yields(struct sim_workload *w)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < w->nr_programs; p++)
        for (uint32_t c = 0; c < w->program[p].nr_codes; c++)
            for (uint32_t i = 0; i < w->program[p].code[c].nr; i++) n += turn(&w->program[p].code[c].op[i].wait);
    return n;
}
