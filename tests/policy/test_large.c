/* tests/policy/test_large.c - policies on machines of more than 256 cores.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_large POLICY CORES [SEED]
 * Built for 4,096 cores.  The histories of `usf policy check` on a machine of CORES, with more tasks than cores; and that the policy does for
 * cores above 255 what it does for the others: tasks wait at each core, change over between cores, and yielders are found. */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "check/internal.h"

enum { SMALL = 256 };

static struct machine m;
static uint32_t cores;

/* fifo and the defaults have one queue for all cores; the others note the core whose queue a task waits in first in its data. */
static bool has_queues(const struct usf_policy_ops *ops) { return strcmp(ops->name, "fifo") && strcmp(ops->name, "defaults"); }
static bool is_one_of(const struct usf_policy_ops *ops, const char *names) { return strstr(names, ops->name); }
static uint32_t waits_at(uint32_t task)
{
    uint16_t core;
    memcpy(&core, m.tasks[task].data, sizeof core);
    return core;
}

/* A machine whose cores all run a task of one group: task c on core c.  Further tasks: cores, cores + 1 ... */
static void begin(const struct usf_policy_ops *ops, uint32_t nodes, uint32_t further)
{
    uint64_t all[USF_CORE_WORDS];
    machine_init(&m, ops, 1, cores, nodes, 1);
    usf_cores_fill(all, cores);
    machine_add_group(&m, 0, all);
    for (uint32_t t = 0; t < cores + further; t++) machine_add_task(&m, t, 0);
    for (uint32_t t = 0; t < cores; t++) {
        m.tasks[t].last_core = t;
        machine_wake(&m, t, USF_WHY_NEW);
    }
    for (uint32_t c = 0; c < cores; c++) CHECK(&m, m.core[c].task != USF_NONE);
}

/* So many tasks as there are cores, none of which has run before: one waits at each core. */
static void tasks_wait_everywhere(const struct usf_policy_ops *ops)
{
    uint64_t seen[USF_CORE_WORDS] = {0};
    begin(ops, 4, cores);
    for (uint32_t t = cores; t < 2 * cores; t++) {
        machine_queue(&m, t, USF_WHY_NEW);
        CHECK(&m, waits_at(t) < cores);
        usf_cores_add(seen, waits_at(t));
    }
    CHECK(&m, usf_cores_count(seen) == cores);
    machine_free(&m);
}

/* Two tasks compute by turns at the last core, and each other core has one that goes on.  They change over to other cores of the cache, whose
 * numbers are all above 255. */
static void preempted_tasks_change_over(const struct usf_policy_ops *ops)
{
    bool left = false;
    begin(ops, 8, 1);
    m.tasks[cores].last_core = cores - 1;
    machine_queue(&m, cores, USF_WHY_NEW);
    for (uint32_t i = 0; i < 64 && !left; i++) {
        uint32_t old = m.core[cores - 1].task;
        m.pol.now += 20000000;
        machine_take(&m, cores - 1);
        left = m.task[old].doing == READY && waits_at(old) != cores - 1;
        CHECK(&m, !left || waits_at(old) < cores);
    }
    CHECK(&m, left);
    machine_free(&m);
}

/* A task has yielded to another at a core above 255; the first core that has nothing else takes it. */
static void idle_cores_take_yielders(const struct usf_policy_ops *ops)
{
    begin(ops, 4, 1);
    for (uint32_t c = SMALL; c < cores; c += (cores - SMALL) / 7) {
        uint32_t yields = m.core[c].task;
        m.tasks[cores].last_core = c;
        machine_queue(&m, cores, USF_WHY_WAKE);
        CHECK(&m, machine_switch(&m, c, READY, USF_WHY_YIELD) == cores);
        CHECK(&m, machine_switch(&m, 0, BLOCKED, USF_WHY_WAKE) == yields);
        /* As it was: one task on each core, this one none. */
        machine_switch(&m, c, BLOCKED, USF_WHY_WAKE);
        for (uint32_t t = 0; t < cores; t++)
            if (m.task[t].doing == BLOCKED) machine_wake(&m, t, USF_WHY_WAKE);
        for (uint32_t k = 0; k < cores; k++) CHECK(&m, m.core[k].task != USF_NONE && m.core[k].task != cores);
    }
    machine_free(&m);
}

/* One yields at the last core, whose other task computes.  Core 0 has two of its own that yield to each other, and takes the neglected one
 * some time. */
static void neglected_yielders_are_found(const struct usf_policy_ops *ops)
{
    uint32_t neglected, last = cores - 1;
    begin(ops, 4, 2);
    neglected = m.core[last].task;
    m.tasks[cores].last_core = last;
    machine_queue(&m, cores, USF_WHY_WAKE);
    CHECK(&m, machine_switch(&m, last, READY, USF_WHY_YIELD) == cores);
    m.tasks[cores + 1].last_core = 0;
    machine_queue(&m, cores + 1, USF_WHY_YIELD);
    for (uint32_t i = 0; i < 256 && m.task[neglected].doing == READY; i++) {
        m.pol.now += 10000;
        machine_switch(&m, 0, READY, USF_WHY_YIELD);
    }
    CHECK(&m, m.task[neglected].doing == RUNNING && m.task[neglected].core == 0);
    machine_free(&m);
}

int main(int argc, char **argv)
{
    char why[200];
    const struct usf_policy_ops *ops = argc > 2 ? check_find(argv[1], why, sizeof why) : NULL;
    cores = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    if (!ops || cores <= SMALL || cores > MAX_CORES) return printf("usage: test_large POLICY CORES [SEED]\n"), 1;
    uint64_t seed = argc > 3 ? strtoull(argv[3], 0, 10) : (uint64_t)time(NULL);
    alarm(280);
    printf("%s, %u cores, seed %lu\n", ops->name, cores, seed);
    fflush(stdout);
    uint32_t steps = cores < 1024 ? 2000 : 500;     /* each looks at all cores and tasks */
    const struct check_history histories[] = {
        {"many-groups", cores, 8, 4, 200, cores + cores / 2, steps, .full = true},
        {"few-groups",  cores, 4, 2, 3,   cores + cores / 4, steps, .extreme = true, .full = true},
        {"idle-cores",  cores, 2, 8, 20,  cores - cores / 8, steps, .full = true},
    };
    for (unsigned i = 0; i < sizeof histories / sizeof *histories; i++) check_history(&histories[i], ops, seed + i, NULL);
    idle_cores_take_yielders(ops);
    if (has_queues(ops)) tasks_wait_everywhere(ops);
    if (is_one_of(ops, "coop equi speedup fair batch")) preempted_tasks_change_over(ops);
    if (is_one_of(ops, "coop equi speedup fair")) neglected_yielders_are_found(ops);
    printf("ok\n");
    return 0;
}
