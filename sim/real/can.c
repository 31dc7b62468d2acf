/* sim/real/can.c - what a workload asks for and cannot have here is an error, not left out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim/real/replay.h"
#include "usf/policy.h"
#include <stdio.h>
#include <stdlib.h>

static char *no(const struct sim_program *p, const char *what)
{
    char *text = NULL;
    return asprintf(&text, "program %s: %s", p->name, what) < 0 ? NULL : text;
}

static char *of_work(const struct sim_program *p, const struct sim_op *op, const struct rp_speed *s)
{
    char text[240];
    if (!op->mbps && !op->memory) return NULL;
    if (!op->memory) return no(p, "a demand for bandwidth of which no part of the time depends ('memory 0') cannot be made by reading memory");
    if (!op->mbps) return no(p, "time in memory without a demand for bandwidth ('bandwidth 0') cannot be spent by reading memory");
    double need = op->mbps * 1000.0 / op->memory;
    if (need <= s->mbps) return NULL;
    snprintf(text, sizeof text, "%u MB/s in %.3g of the time are %.0f MB/s at a time, and one thread can read %.0f MB/s here: give it a lower 'bandwidth', "
             "or more of its time ('memory PART')", op->mbps, op->memory / 1000.0, need, s->mbps);
    return no(p, text);
}

static char *of_op(const struct sim_program *p, const struct sim_op *op, const struct rp_speed *s, bool under_usf)
{
    if (op->kind == SIM_OP_COMPUTE) return of_work(p, op, s);
    if (op->kind == SIM_OP_PROGRESS && under_usf)
        return no(p, "'progress' cannot be told to a policy: usf counts OpenMP's parallel regions alone");
    return NULL;
}

static char *of_program(const struct sim_program *p, const struct rp_speed *s, bool under_usf)
{
    char *bad = NULL;
    if (under_usf && p->flags & USF_GROUP_MALLEABLE)
        bad = no(p, "'malleable' cannot be declared: usf takes OpenMP's teams alone for malleable (usf run --malleable)");
    for (uint32_t c = 0; !bad && c < p->nr_codes; c++)
        for (uint32_t i = 0; !bad && i < p->code[c].nr; i++) bad = of_op(p, &p->code[c].op[i], s, under_usf);
    for (uint32_t g = 0; !bad && g < p->nr_graphs; g++)
        for (uint32_t i = 0; !bad && i < p->graph[g].nr_tasks; i++)
            if (p->graph[g].task[i].code == SIM_NO_CODE) bad = of_work(p, &p->graph[g].task[i].work, s);
    return bad;
}

char *rp_cannot(const struct sim_workload *w, const struct rp_speed *s, bool under_usf)
{
    char *bad = NULL;
    for (uint32_t i = 0; !bad && i < w->nr_programs; i++) bad = of_program(&w->program[i], s, under_usf);
    return bad;
}
