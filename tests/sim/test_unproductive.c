/* tests/sim/test_unproductive.c - yields in one step: the same results as one by one.  SPDX-License-Identifier: Apache-2.0
 *
 * test_unproductive FIRST COUNT: for each seed a random machine and two workloads, a random one (every fourth) and one of threads that wait for long and yield,
 * under every model of a kernel, simulated both ways.  All results are equal, the hash of the trace among them, but for the engine's events.
 * And the second under policies of usf, where results are alike (rest). */
#include "random.h"
#include "shm/shm.h"
#include "sim/linux/kernel.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_APART 1.3          /* each */
#define MEAN_APART 1.03         /* the mean */

static uint64_t state, one_by_one, in_steps;
static uint32_t below(uint32_t n)
{
    uint64_t x = state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return (uint32_t)((x ^ x >> 27) % n);
}

/* A few programs of threads that work for different times and meet in a barrier, in which they yield; beside them some that only work. */
static void make(struct sim_program *p, uint32_t cpus)
{
    uint32_t n = 1 + below(2 * cpus + 2), k = 0;
    struct sim_op body[8] = {0};
    static const int8_t nices[] = {0, 0, 0, 19, 5, -5};
    *p = (struct sim_program){.name = "yields", .start_ns = below(2) * below(3000000), .weight = 100, .working_set = 100, .spin_ns = 1000000 + below(20000000),
                              .nice = nices[below(6)], .nr_codes = 2, .main = 0, .nr_barriers = 1};
    bool meets = below(4) != 0;
    uint8_t how = below(3) ? SIM_WAIT_YIELD : SIM_WAIT_YIELD_BLOCK;
    p->code = calloc(2, sizeof *p->code);
    p->barrier = calloc(1, sizeof *p->barrier);
    body[k++] = (struct sim_op){.kind = SIM_OP_LOOP, .count = 1 + below(5)};
    body[k++] = (struct sim_op){.kind = SIM_OP_COMPUTE, .ns = 1 + below(9000000), .spread = below(2) ? 0xffff : (uint16_t)below(1001)};
    if (meets) body[k++] = (struct sim_op){.kind = SIM_OP_BARRIER, .wait = how};
    if (!below(3)) body[k++] = (struct sim_op){.kind = SIM_OP_SLEEP, .ns = below(2000000), .spread = 500};
    body[k++] = (struct sim_op){.kind = SIM_OP_NEXT};
    body[k++] = (struct sim_op){.kind = SIM_OP_END};
    struct sim_op main_code[] = {{.kind = SIM_OP_PARALLEL, .object = 1, .count = n, .wait = how}, {.kind = SIM_OP_END}};
    p->code[0].nr = 2;
    p->code[0].op = malloc(sizeof main_code);
    memcpy(p->code[0].op, main_code, sizeof main_code);
    p->code[1].nr = k;
    p->code[1].op = malloc(k * sizeof *body);
    memcpy(p->code[1].op, body, k * sizeof *body);
}

static void yielding_workload(uint64_t seed, const struct sim_machine *m, struct sim_workload *w)
{
    state = seed * 4242 + 1;
    *w = (struct sim_workload){.nr_programs = 1 + below(4)};
    w->program = calloc(w->nr_programs, sizeof *w->program);
    for (uint32_t i = 0; i < w->nr_programs; i++) make(&w->program[i], m->nr_cpus);
}

/* Null, or what differs. */
static const char *differ(const struct sim_stats *a, const struct sim_stats *b)
{
#define SAME(f) if (a->f != b->f) return #f
    SAME(makespan_ns); SAME(yields); SAME(switches); SAME(busy_ns); SAME(spin_ns); SAME(kernel_ns); SAME(idle_ns); SAME(sched_events); SAME(migrations);
    SAME(far_migrations); SAME(preemptions); SAME(wakes); SAME(blocks); SAME(ticks); SAME(lhp_ns); SAME(lwp_ns); SAME(cold_ns); SAME(energy_uj);
    SAME(threads); SAME(threads_max); SAME(trace_hash);
#undef SAME
    for (uint32_t i = 0; i < a->nr_programs; i++)
        if (memcmp(&a->program[i], &b->program[i], sizeof a->program[i])) return "a program";
    return 0;
}

static bool is_near(double ratio) { return ratio > 1 / MOST_APART && ratio < MOST_APART; }

/* Small differences may decide on much: seed 138, one by one, takes 15 % longer with a progress guarantee that is half a per cent shorter.  So a
 * makespan that is not near is compared with what one by one takes with such a change. */
static bool is_near_after_a_change(struct sim_config c, uint64_t steps_ns)
{
    bool near = false;
    char why[200];
    c.every_yield = true;
    for (int sign = -1; sign <= 1; sign += 2) {
        struct sim_stats st;
        c.progress_ns = SHM_DEFAULT_PROGRESS_NS + (int)SHM_DEFAULT_PROGRESS_NS / 200 * sign;
        if (!sim_run(&c, &st, why, sizeof why)) near |= is_near((double)steps_ns / (double)st.makespan_ns);
        sim_stats_free(&st);
    }
    return near;
}

/* Under usf: the same but for who has a core while all wait, and how far each is in its round when one of them goes on: all programs end, the
 * work is the same, and how long they take differs little, each and in the mean. */
static double sum_one, sum_steps;
static bool rest(const struct sim_machine *m, const struct sim_workload *w, const char *policy, uint64_t seed)
{
    struct sim_config c = {.machine = m, .workload = w, .seed = seed, .policy = policy, .limit_ns = 100000000000ull, .limit_events = 4000000,
                           .floats = seed % 3 != 0, .every_yield = true, .check = true};
    struct sim_stats st[2];
    char why[200];
    int r[2];
    for (int i = 0; i < 2; i++, c.every_yield = false) r[i] = sim_run(&c, &st[i], why, sizeof why);
    double ratio = (double)st[1].makespan_ns / (double)st[0].makespan_ns;
    bool good = r[0] ? r[0] == -ETIME && (!r[1] || r[1] == -ETIME) : !r[1] && (is_near(ratio) || is_near_after_a_change(c, st[1].makespan_ns));
    for (uint32_t i = 0; !r[0] && !r[1] && i < st[0].nr_programs; i++) good &= st[0].program[i].work_ns == st[1].program[i].work_ns;
    if (!good) printf("FAILED: seed %" PRIu64 ", %s: %lu ns in steps, %lu one by one%s%s\n", seed, policy, st[1].makespan_ns, st[0].makespan_ns, r[1] ? ": " : "", r[1] ? why : "");
    if (!r[0] && !r[1]) {
        sum_one += 1;
        sum_steps += ratio;
    }
    for (int i = 0; i < 2; i++) sim_stats_free(&st[i]);
    return good;
}

static bool pair(const struct sim_machine *m, const struct sim_workload *w, const struct sim_kernel_ops *k, uint64_t seed)
{
    struct sim_config c = {.machine = m, .workload = w, .seed = seed, .kernel = k, .limit_ns = 3000000000ull, .limit_events = 200000,
                           .spins_yield = seed % 2, .every_yield = true};
    struct sim_stats a, b;
    char wa[200], wb[200];
    int ra = sim_run(&c, &a, wa, sizeof wa), rb = 0;
    c.every_yield = false;
    if (!ra) rb = sim_run(&c, &b, wb, sizeof wb);
    const char *what = ra ? 0 : rb ? wb : differ(&a, &b);
    if (!ra && !rb) one_by_one += a.events, in_steps += b.events;
    if (!ra) sim_stats_free(&b);
    sim_stats_free(&a);
    if (what) printf("FAILED: seed %" PRIu64 ", %s: %s differs\n", seed, k->name, what), fflush(stdout);
    return !what;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], 0, 10) : 1, count = argc > 2 ? strtoull(argv[2], 0, 10) : 40;
    printf("seeds %" PRIu64 " to %" PRIu64 "\n", first, first + count - 1);
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct sim_machine m;
        struct sim_workload w[2];
        random_machine(seed, seed % 2, &m);
        random_workload(seed, &m, false, &w[0]);
        yielding_workload(seed, &m, &w[1]);
        for (int i = seed % 4 == 0 ? 0 : 1; i < 2; i++)
            for (const struct sim_kernel_ops *const *k = sim_kernels; *k; k++)
                if (!pair(&m, &w[i], *k, seed)) return 1;
        static const char *const policies[] = {"coop", "fair", "fl", "equi", "gang", "speedup", "batch", "fifo"};
        for (unsigned i = 0; i < 2; i++)
            if (!rest(&m, &w[1], policies[(2 * seed + i) % (sizeof policies / sizeof *policies)], seed)) return 1;
        for (int i = 0; i < 2; i++) sim_workload_free(&w[i]);
        sim_machine_free(&m);
    }
    printf("%" PRIu64 " events one by one, %" PRIu64 " in steps\n", one_by_one, in_steps);
    printf("under usf: %.4f of the time\n", sum_steps / sum_one);
    if (sum_one < 1) {
        printf("FAILED: nothing was compared\n");
        return 1;
    }
    if (sum_steps > MEAN_APART * sum_one || sum_one > MEAN_APART * sum_steps) {
        printf("FAILED: that is too far from 1\n");
        return 1;
    }
    if (in_steps * 4 > one_by_one * 3) {
        printf("FAILED: hardly anything was taken in one step\n");
        return 1;
    }
    return 0;
}
