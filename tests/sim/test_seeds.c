/* tests/sim/test_seeds.c - what holds for every simulation.  SPDX-License-Identifier: Apache-2.0
 *
 * test_seeds FIRST COUNT [CPUS]: for each seed a random machine and workload, under every built-in policy (one or two of them over a model of
 * Linux, too) and every model of the kernel (with CPUS, a machine of that size, under the policies alone):
 *   - all programs end, no core is idle while a ready task may run there (S5, after every event), no policy is replaced;
 *   - busy + busy-waiting + kernel + idle time is CPUs * makespan, and programs' times add up to the CPUs';
 *   - computing takes as long as the operations say, exactly where nothing slows it down, no less than that elsewhere. */
#include <errno.h>
#include "policy/policy.h"
#include "random.h"
#include "sim/linux/kernel.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OVER_LINUX 8u           /* each policy in one seed of so many */

static uint64_t seed;
static const char *what;

static void fail(const char *why)
{
    printf("FAILED: seed %" PRIu64 ", %s: %s\n", seed, what, why);
    exit(1);
}

static void check(const struct sim_machine *m, const struct sim_stats *st, bool exact)
{
    uint64_t all = st->makespan_ns * m->nr_cpus, busy = 0, spin = 0, work = 0;
    if (st->busy_ns + st->spin_ns + st->kernel_ns + st->idle_ns != all) fail("the CPUs' time does not add up");
    for (uint32_t i = 0; i < st->nr_programs; i++) {
        const struct sim_program_stats *p = &st->program[i];
        busy += p->busy_ns;
        spin += p->spin_ns;
        work += p->work_ns;
        if (p->end_ns < p->start_ns || p->end_ns > st->makespan_ns) fail("a program ends at a time that cannot be");
        if (exact && p->busy_ns != p->work_ns) fail("a program's busy time is not its work");
    }
    if (busy != st->busy_ns || spin != st->spin_ns) fail("programs' times do not add up to the CPUs'");
    if (st->busy_ns < work) fail("less time was spent than there was work");
}

/* Models that partition the machine say so where there are fewer CPUs than programs. */
static bool run(const struct sim_config *c, bool exact)
{
    char why[200];
    struct sim_stats st;
    int r = sim_run(c, &st, why, sizeof why);
    if (r == -EINVAL && !c->policy && c->workload->nr_programs > c->machine->nr_cpus) {
        sim_stats_free(&st);
        return false;
    }
    if (r) fail(why);
    if (c->policy && strcmp(st.policy, c->policy)) fail(st.policy_why);
    check(c->machine, &st, exact);
    sim_stats_free(&st);
    return true;
}

static uint32_t run_policies(struct sim_config *c, bool exact, const struct sim_workload *any, const struct sim_workload *blocking)
{
    uint32_t runs = 0;
    for (const struct usf_policy_ops *const *p = usf_builtin_policies; *p; p++) {
        if ((*p)->flags & USF_POLICY_KERNEL) continue;
        c->policy = what = (*p)->name;
        c->kernel = 0;
        c->workload = any;
        runs += run(c, exact);
        if (!blocking || seed % OVER_LINUX != (uint64_t)(p - usf_builtin_policies) % OVER_LINUX) continue;
        c->kernel = sim_kernel_find(seed / OVER_LINUX % 2 ? "eevdf" : "cfs");
        c->workload = blocking;     /* threads that yield without the kernel leave it to ticks whether another comes to their CPU */
        runs += run(c, exact);
    }
    return runs;
}

static uint32_t run_kernels(struct sim_config *c, bool exact, const struct sim_workload *any, const struct sim_workload *blocking)
{
    uint32_t runs = 0;
    c->policy = 0;
    for (const struct sim_kernel_ops *const *k = sim_kernels; *k; k++) {
        c->kernel = *k;
        what = (*k)->name;
        /* Where threads yield to each other, or spin in a class that does not slice, Linux takes long, or for ever. */
        c->workload = strcmp(what, "plain") ? blocking : any;
        runs += run(c, exact);
    }
    return runs;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], 0, 10) : 1, count = argc > 2 ? strtoull(argv[2], 0, 10) : 10, runs = 0;
    uint32_t cpus = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
    printf("seeds %" PRIu64 " to %" PRIu64 "\n", first, first + count - 1);
    for (seed = first; seed < first + count; seed++) {
        struct sim_machine m;
        struct sim_workload any, blocking;
        bool exact = seed % 2;
        if (cpus) random_machine_of(seed, exact, cpus, &m);
        else random_machine(seed, exact, &m);
        if (cpus && m.nr_cpus != cpus) what = "the machine", fail("it has another number of CPUs");
        random_workload(seed, &m, false, &any);
        random_workload(seed, &m, true, &blocking);
        struct sim_config c = {.machine = &m, .seed = seed, .limit_ns = 100000000000ull, .limit_events = 4000000, .check = true};
        c.poll_max_ns = seed % 5 ? 0 : 50000;
        c.floats = seed % 4 != 0;
        c.spins_unseen = seed % 11 == 0;
        c.spins_yield = seed % 3 == 0;
        runs += run_policies(&c, exact, &any, cpus ? 0 : &blocking);
        if (!cpus) runs += run_kernels(&c, exact, &any, &blocking);
        sim_workload_free(&any);
        sim_workload_free(&blocking);
        sim_machine_free(&m);
    }
    printf("%" PRIu64 " simulations\n", runs);
    return 0;
}
