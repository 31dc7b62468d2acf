/* src/check/cost.c - what a call takes.  SPDX-License-Identifier: Apache-2.0
 *
 * One task is queued and one is picked, again and again, on machines of some sizes and with few or
 * many tasks waiting.  The calls are bare: nothing is watched.  The least of some batches: what it
 * takes when nothing disturbs. */
#include "check/internal.h"
#include "os/os.h"

enum { BATCHES = 30, PAIRS = 200 };

static uint64_t measure(struct machine *m, uint32_t *next)
{
    uint64_t best = UINT64_MAX;
    for (unsigned b = 0; b < BATCHES; b++) {
        uint64_t begin = os_now();
        for (unsigned i = 0; i < PAIRS; i++) {
            m->pol.now += 1000;
            m->tasks[*next].ready_since = m->pol.now;
            m->real.enqueue(&m->pol, *next, USF_WHY_WAKE);
            uint32_t task = m->real.pick(&m->pol, i % m->pol.nr_cores);
            REQUIRE(m, CHECK_LEGAL, task < MAX_TASKS, "pick named no task although some wait");
            *next = task;
        }
        uint64_t took = (os_now() - begin) / PAIRS;
        if (took < best) best = took;
    }
    return best;
}

unsigned check_costs(const struct usf_policy_ops *ops, struct check_cost cost[CHECK_COSTS])
{
    static struct machine m;
    static const struct check_cost cases[CHECK_COSTS] = {{2, 4, 0}, {2, 1000, 0}, {256, 4, 0}, {256, 2000, 0}};
    for (unsigned i = 0; i < CHECK_COSTS; i++) {
        uint64_t all[USF_CORE_WORDS];
        usf_cores_fill(all, cases[i].cores);
        machine_init(&m, ops, 1, cases[i].cores, cases[i].cores > 64 ? 8 : 1, 1);
        for (uint32_t p = 0; p < 4; p++) machine_add_group(&m, p, all);
        for (uint32_t t = 0; t <= cases[i].waiting; t++) {
            machine_add_task(&m, t, t % 4);
            m.tasks[t].last_core = t % cases[i].cores;
            m.tasks[t].held = 1;
            if (t) m.ops.enqueue(&m.pol, t, USF_WHY_WAKE);
        }
        uint32_t next = 0;
        cost[i] = cases[i];
        cost[i].ns = measure(&m, &next);
        machine_free(&m);
    }
    return CHECK_COSTS;
}
