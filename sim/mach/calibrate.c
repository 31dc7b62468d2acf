/* sim/mach/calibrate.c - measure this machine.  SPDX-License-Identifier: Apache-2.0
 *
 * Each cost is the median of many short samples, and one sample of each is taken after the other:
 * what the machine does meanwhile meets all of them alike, and few samples of each.  What is paid
 * in CPU time is measured in CPU time, which others that run do not add to; latencies are wall
 * time, and need CPUs that idle.  What cannot be measured here, since the machine has no second
 * cache or node, stays as it is by default. */
#include "arch/context.h"
#include "sim/mach/calibrate.h"

#include "arch/arch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define ROUNDS 31u
#define FEWEST 5u                   /* ... but so many only on a machine that others keep so busy that they take longer than this: */
#define PATIENCE 2000000000ull      /* ns */
#define WORKING_SET (256u << 10)    /* bytes: what cold caches are measured with */
#define SHORT_IDLE  20000u          /* ns: who sleeps at all when it idles does so by then */
#define LONG_IDLE   1000000u        /* ns: ... and as deeply as it does */
#define NOT_IDLE    500000u         /* ns: no CPU that idles takes so long to wake */
#define FLUSH       (8u << 20)      /* more than a core's own caches hold */

static uint64_t median(uint64_t *v, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k && v[k] < v[k - 1]; k--) {
            uint64_t t = v[k];
            v[k] = v[k - 1], v[k - 1] = t;
        }
    return v[n / 2];
}

static int32_t neighbour(const struct sim_machine *m, int kind)
{
    for (uint32_t c = 1; c < m->nr_cpus; c++) {
        const struct sim_cpu *a = &m->cpu[0], *b = &m->cpu[c];
        bool core = a->phys != b->phys && a->llc == b->llc, llc = a->llc != b->llc && a->node == b->node, node = a->node != b->node;
        if (kind == 0 ? core : kind == 1 ? llc : node) return (int32_t)c;
    }
    return -1;
}

/* Another core below the same cache if there is one. */
static uint32_t beside_first(const struct sim_machine *m) { return neighbour(m, 0) > 0 ? (uint32_t)neighbour(m, 0) : 1; }

static uint64_t at_least(uint64_t v, uint64_t min) { return v < min ? min : v; }

/* ---- alone ----------------------------------------------------------------------------------------- */
static void on_signal(int s) { (void)s; }
static void *nothing(void *arg) { return arg; }
static atomic_uint spun;

static void each_yield(unsigned n) { for (unsigned i = 0; i < n; i++) sched_yield(); }
static void each_pin(unsigned n)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cal_cpu(0), &set);
    for (unsigned i = 0; i < n; i++) sched_setaffinity(0, sizeof set, &set);
}
static void each_signal(unsigned n) { for (unsigned i = 0; i < n; i++) pthread_kill(pthread_self(), SIGURG); }
static void each_spin(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (atomic_load(&spun) == 1) return;
        arch_pause();
    }
}
static void each_sync(unsigned n)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    for (unsigned i = 0; i < n; i++) pthread_mutex_lock(&m), pthread_mutex_unlock(&m);
}

static uint64_t per_call(void (*fn)(unsigned), unsigned n)
{
    uint64_t from = cal_cpu_now(false);
    fn(n);
    return (cal_cpu_now(false) - from) / n;
}

static bool goes_on(unsigned round, unsigned rounds, uint64_t from, uint64_t patience)
{ return round < rounds && (round < FEWEST || cal_now() - from < patience); }

static uint64_t creation(void)
{
    enum { AT_ONCE = 8 };
    pthread_t t[AT_ONCE];
    pthread_attr_t small;       /* stacks that libc keeps for the next ones: to map new ones is another matter */
    unsigned n = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256u << 10);
    uint64_t from = cal_cpu_now(false);
    while (n < AT_ONCE && !pthread_create(&t[n], &small, nothing, NULL)) n++;
    uint64_t ns = cal_cpu_now(false) - from;
    for (unsigned i = 0; i < n; i++) pthread_join(t[i], NULL);
    pthread_attr_destroy(&small);
    return n ? ns / n : 0;
}

/* ---- two threads of one process, without the kernel --------------------------------------------------- */
#define FLOAT_STACK (64u << 10)

/* Two user contexts that this kernel thread executes in turn, and what src/sched/carrier.c writes
 * at each switch. */
static struct floating {
    struct arch_context context[2];
    atomic_uint park[2], owner[2];
    uint64_t began, cycles;
} floating;

enum { F_NONE, F_IDLE, F_CLAIMED };

/* `me` claims the kernel thread that is kept for the other, switches, and publishes its own. */
static void float_from(unsigned me)
{
    struct floating *f = &floating;
    unsigned other = !me, idle = F_IDLE;
    atomic_compare_exchange_strong(&f->park[other], &idle, F_CLAIMED);
    atomic_store(&f->owner[me], other);
    atomic_store(&f->owner[other], me);
    arch_context_switch(&f->context[me], &f->context[other]);
    uint64_t now = arch_cycles();
    f->cycles += now - f->began;
    f->began = now;
    atomic_exchange(&f->park[other], F_IDLE);
}

static void other_floats(void *arg)
{
    (void)arg;
    for (;;) float_from(1);
}

/* Null: threads can float here. */
static const char *float_begin(void **stack)
{
    const char *trouble = arch_context_trouble(getauxval(AT_HWCAP2));
    if (trouble) return trouble;
    if (!(*stack = malloc(FLOAT_STACK))) return "there is no memory";
    arch_context_make(&floating.context[1], (char *)*stack + FLOAT_STACK, arch_tls(), other_floats, NULL);
    floating.context[1].plain = 0;      /* as a program's: with its vector registers */
    return NULL;
}

static void each_float(unsigned n) { for (unsigned i = 0; i < n; i += 2) float_from(0); }

/* ---- two threads ------------------------------------------------------------------------------------ */
struct pair {
    atomic_uint turn, stop;     /* whose turn; futex word */
    atomic_ullong woken_at;
    unsigned cpu;
    bool yields;
};

static void pass(struct pair *p, unsigned to)
{
    atomic_store(&p->turn, to);
    if (!p->yields) cal_wake(&p->turn);
}

static void await(struct pair *p, unsigned me)
{
    for (unsigned t; (t = atomic_load(&p->turn)) != me && !atomic_load(&p->stop);) {
        if (p->yields) sched_yield();
        else cal_wait(&p->turn, t);
    }
}

static void *partner(void *arg)
{
    struct pair *p = arg;
    cal_bind(p->cpu);
    while (!atomic_load(&p->stop)) {
        await(p, 1);
        atomic_store(&p->woken_at, cal_now());
        pass(p, 0);
    }
    return NULL;
}

/* CPU time from one thread to the other, one way, both on one CPU. */
static uint64_t hand_over(bool yields, unsigned rounds)
{
    struct pair p = {.cpu = cal_cpu(0), .yields = yields};
    pthread_t t;
    if (pthread_create(&t, NULL, partner, &p)) return 0;
    pass(&p, 1);
    await(&p, 0);
    uint64_t from = cal_cpu_now(true);
    for (unsigned i = 0; i < rounds; i++) {
        pass(&p, 1);
        await(&p, 0);
    }
    uint64_t ns = (cal_cpu_now(true) - from) / (2ull * rounds);
    atomic_store(&p.stop, 1);
    pass(&p, 1);
    pthread_join(t, NULL);
    return ns;
}

/* Wakes a sleeper on another CPU, which has had nothing to do for `gap` ns: what the waker pays,
 * and how long until the other runs.  The waker does not sleep meanwhile: its own caches are
 * warm. */
static void wake_after(struct pair *p, uint64_t gap, unsigned n, uint64_t *waker, uint64_t *latency)
{
    uint64_t pay[ROUNDS], late[ROUNDS], begun = cal_now(), from;
    unsigned r = 0;
    for (; goes_on(r, n, begun, PATIENCE); r++) {
        while (atomic_load(&p->turn)) arch_pause();
        from = cal_now();
        while (cal_now() - from < gap) arch_pause();
        from = cal_now();
        pass(p, 1);
        pay[r] = cal_now() - from;
        while (atomic_load(&p->turn)) arch_pause();
        uint64_t at = atomic_load(&p->woken_at);
        late[r] = at > from ? at - from : 0;
    }
    *waker = median(pay, r);
    *latency = median(late, r);
}

struct waking { uint64_t waker, latency, after_long; };

static void wake_idle(unsigned other, struct waking *w)
{
    struct pair p = {.cpu = other};
    uint64_t waker;
    pthread_t t;
    *w = (struct waking){0};
    if (pthread_create(&t, NULL, partner, &p)) return;
    wake_after(&p, SHORT_IDLE, 5, &w->waker, &w->latency);
    wake_after(&p, LONG_IDLE, 3, &waker, &w->after_long);
    atomic_store(&p.stop, 1);
    pass(&p, 1);
    pthread_join(t, NULL);
}

/* How soon a CPU sleeps when it has nothing to do: wakes a thread that fell asleep so long ago, for
 * longer and longer times, until that takes more than half of what it takes after some time.  ns
 * since the CPU had nothing to do; 0: no such time was found (the CPU does not idle). */
static uint64_t idles_after(unsigned other, uint64_t half, uint64_t to_sleep)
{
    struct pair p = {.cpu = other};
    pthread_t t;
    uint64_t gap = 500, waker, latency = 0;
    if (pthread_create(&t, NULL, partner, &p)) return 0;
    for (; gap <= SHORT_IDLE; gap = gap * 3 / 2) {
        wake_after(&p, gap + to_sleep, ROUNDS, &waker, &latency);
        if (latency >= half) break;
    }
    atomic_store(&p.stop, 1);
    pass(&p, 1);
    pthread_join(t, NULL);
    return gap <= SHORT_IDLE ? gap : 0;
}

/* ---- caches ------------------------------------------------------------------------------------------- */
static volatile unsigned char *set, *flush;
static uint64_t sum;

static uint64_t touch(volatile unsigned char *p, size_t n)
{
    uint64_t from = cal_cpu_now(false), s = 0;
    /* not in order, so that the prefetchers do not hide what is missing */
    for (size_t i = 0, at = 0; i < n / 64; i++, at = (at + 64 * 167) % n) s += p[at]++;
    sum += s;
    return cal_cpu_now(false) - from;
}

static uint64_t refill(unsigned home, unsigned from, bool evict)
{
    uint64_t v[ROUNDS], begun = cal_now();
    unsigned r = 0;
    for (; goes_on(r, ROUNDS, begun, PATIENCE); r++) {
        cal_bind(home);
        for (int i = 0; i < 3; i++) touch(set, WORKING_SET);
        uint64_t warm = touch(set, WORKING_SET);
        if (evict) touch(flush, FLUSH);
        cal_bind(from);
        uint64_t cold = touch(set, WORKING_SET);
        v[r] = cold > warm ? cold - warm : 0;
    }
    cal_bind(home);
    return median(v, r);
}

/* What a thread pays itself for moving: that the other CPU idled, and has to be woken, is another
 * cost. */
static uint64_t moved(void)
{
    uint64_t from = cal_cpu_now(false);
    for (int i = 0; i < 10; i++) cal_bind(cal_cpu(i & 1 ? 0 : 1));
    uint64_t ns = (cal_cpu_now(false) - from) / 10;
    cal_bind(cal_cpu(0));
    return ns;
}

/* ---- memory bandwidth and hardware threads ------------------------------------------------------------- */
struct reader { unsigned cpu; size_t bytes; atomic_uint *go, *stop; uint64_t done, ns; bool compute; };

/* Several chains at once, as most programs have: a single one would leave room for another hardware
 * thread that they do not. */
static __attribute__((noinline)) uint64_t wide(uint64_t seed, unsigned n)
{
    uint64_t x[4] = {seed, seed + 1, seed + 2, seed + 3};
    while (n--)
        for (int i = 0; i < 4; i++) {
            x[i] = (x[i] ^ x[i] >> 13) + 0x9e3779b9;
            __asm__ volatile("" : "+r"(x[i]));
        }
    return x[0] + x[1] + x[2] + x[3];
}

static void *reading(void *arg)
{
    struct reader *r = arg;
    cal_bind(r->cpu);
    uint64_t *p = r->compute ? NULL : calloc(1, r->bytes), s = 1;
    if (p) memset(p, 1, r->bytes);
    while (!atomic_load(r->go)) usleep(100);
    uint64_t from = cal_now(), cpu_from = cal_cpu_now(false);
    while (!atomic_load(r->stop)) {
        if (r->compute) s += wide(s, 2000);
        else for (size_t i = 0; p && i < r->bytes / 8; i += 8) s += p[i];
        r->done += r->compute ? 2000 : p ? r->bytes : 0;
    }
    r->ns = r->compute ? cal_cpu_now(false) - cpu_from : cal_now() - from;
    sum += s;
    free(p);
    return NULL;
}

/* Work of all per second, on these CPUs at once. */
static double together(const unsigned *cpu, unsigned nr, bool compute)
{
    struct reader *r = calloc(nr, sizeof *r);
    pthread_t *t = calloc(nr, sizeof *t);
    atomic_uint go = 0, stop = 0;
    double rate = 0;
    unsigned made = 0;
    if (!r || !t) nr = 0;
    for (; made < nr; made++) {
        r[made] = (struct reader){cpu[made], 64u << 20, &go, &stop, 0, 0, compute};
        if (pthread_create(&t[made], NULL, reading, &r[made])) break;
    }
    if (made) {
        atomic_store(&go, made == nr ? 1u : 2u);    /* all are there, or it is not worth it */
        if (made == nr) usleep(compute ? 60000 : 200000);
        atomic_store(&stop, 1);
        for (unsigned i = 0; i < made; i++) {
            pthread_join(t[i], NULL);
            if (made == nr && r[i].ns) rate += (double)r[i].done / (double)r[i].ns;
        }
    }
    free(r);
    free(t);
    return rate;
}

static void bandwidths(struct sim_machine *m)
{
    m->bandwidth = calloc(m->nr_nodes, sizeof *m->bandwidth);
    unsigned *cpu = calloc(m->nr_cpus, sizeof *cpu);
    for (uint32_t n = 0; n < m->nr_nodes && m->bandwidth && cpu; n++) {
        unsigned nr = 0;
        for (uint32_t c = 0; c < m->nr_cpus && nr < 16; c++)
            if (m->cpu[c].node == n) cpu[nr++] = cal_cpu(c);
        m->bandwidth[n] = (uint64_t)(together(cpu, nr, false) * 1000);     /* bytes per ns to MB/s */
    }
    free(cpu);
}

/* Speed of each of them beside each other, of one alone; the best of three, as who else uses the
 * machine makes none faster. */
static double beside(const unsigned *cpu, unsigned k)
{
    double best = 0;
    for (int i = 0; i < 3; i++) {
        double one = together(cpu, 1, true), each = one > 0 ? together(cpu, k, true) / k / one : 0;
        if (each > best) best = each;
    }
    return best;
}

static void hardware_threads(struct sim_machine *m, void (*say)(const char *what))
{
    unsigned cpu[SIM_SMT_MAX], nr = 0;
    char text[160];
    for (uint32_t c = 0; c < m->nr_cpus && nr < SIM_SMT_MAX; c++)
        if (m->cpu[c].phys == m->cpu[0].phys) cpu[nr++] = cal_cpu(c);
    for (unsigned k = 2; k <= nr; k++) {
        double each = beside(cpu, k);
        if (each > 0) m->smt_speed[k] = each >= 1 ? 1000 : each > .05 ? (uint32_t)(each * 1000) : 50;
    }
    /* A virtual machine may have hardware threads of one core for CPUs, and not know it. */
    for (uint32_t c = 1; nr == 1 && c < m->nr_cpus && c < 16; c++) {
        double each = beside((unsigned[]){cal_cpu(0), cal_cpu(c)}, 2);
        if (each >= .85 || each <= 0) continue;
        snprintf(text, sizeof text, "CPUs %u and %u slow each other down to %.0f %%, as hardware threads of one core do, which the kernel says they are not: "
                 "the simulator goes by the kernel", cal_cpu(0), cal_cpu(c), 100 * each);
        say(text);
    }
}

/* ---- samples ------------------------------------------------------------------------------------------- */
enum sampled { S_YIELD, S_FLOAT, S_PIN, S_SIGNAL, S_SPIN, S_SYNC, S_CREATE, S_MOVE, S_BY_YIELD, S_BY_FUTEX, S_WAKER, S_LATENCY, S_AFTER_LONG, S_NR };

static void sample(uint64_t v[S_NR], const struct sim_machine *m, bool floats)
{
    v[S_FLOAT] = floats ? per_call(each_float, 10000) : 0;
    v[S_YIELD] = per_call(each_yield, 1000);
    v[S_BY_YIELD] = hand_over(true, 400);
    v[S_BY_FUTEX] = hand_over(false, 200);
    v[S_PIN] = per_call(each_pin, 300);
    v[S_SIGNAL] = per_call(each_signal, 200);
    v[S_SPIN] = per_call(each_spin, 10000);
    v[S_SYNC] = per_call(each_sync, 10000);
    v[S_CREATE] = creation();
    if (m->nr_cpus < 2) return;
    v[S_MOVE] = moved();
    struct waking w;
    wake_idle(cal_cpu(beside_first(m)), &w);
    v[S_WAKER] = w.waker, v[S_LATENCY] = w.latency, v[S_AFTER_LONG] = w.after_long;
}

static uint64_t beyond(uint64_t v, uint64_t part, uint64_t min) { return at_least(v > part ? v - part : 0, min); }

static void switches(struct sim_machine *m, void (*warn)(const char *what))
{
    static uint64_t all[ROUNDS][S_NR];
    struct sim_costs *c = &m->cost;
    uint64_t v[S_NR], column[ROUNDS], begun = cal_now();
    unsigned nr = 0;
    void *stack = NULL;
    const char *trouble = float_begin(&stack);
    for (; goes_on(nr, ROUNDS, begun, 5 * PATIENCE); nr++) sample(all[nr], m, !trouble);
    free(stack);
    if (trouble) {
        char text[160];
        snprintf(text, sizeof text, "threads do not float here: %s: what a switch between them costs keeps its default", trouble);
        warn(text);
    }
    if (nr < ROUNDS) warn("other programs use the CPUs: fewer samples than usual; calibrate again when they do not");
    for (unsigned k = 0; k < S_NR; k++) {
        for (unsigned r = 0; r < nr; r++) column[r] = all[r][k];
        v[k] = median(column, nr);
    }
    c->yield_ns = at_least(v[S_YIELD], 1);
    if (!trouble) c->float_ns = at_least(v[S_FLOAT], 1);
    c->switch_ns = beyond(v[S_BY_YIELD], c->yield_ns, 50);
    /* One way through futexes on one CPU is a wake-up, falling asleep and a switch.  The first two
     * enter the kernel once each and cannot be told apart from outside: half of the rest each. */
    c->wake_ns = c->block_ns = at_least(beyond(v[S_BY_FUTEX], c->switch_ns, 0) / 2, 100);
    c->pin_ns = at_least(v[S_PIN], 1);
    c->signal_ns = at_least(v[S_SIGNAL], 1);
    c->spin_ns = at_least(v[S_SPIN], 1);
    c->sync_ns = at_least(v[S_SYNC], 1);
    c->create_ns = at_least(v[S_CREATE], 1000);
    if (m->nr_cpus < 2) return;
    /* wake_latency is a default: a CPU that waits for work without idling is none to wake.  Wake-up
     * and switch are within the latency, and the simulator adds them. */
    if (v[S_AFTER_LONG] > NOT_IDLE) {
        warn("the other CPU did not idle: what it costs to wake an idle one keeps its defaults");
        c->migrate_ns = beyond(v[S_MOVE], c->pin_ns, 100);
        return;
    }
    c->idle_kick_ns = beyond(v[S_WAKER], c->wake_ns, 0);
    c->migrate_ns = beyond(v[S_MOVE], c->pin_ns + c->idle_kick_ns, 100);    /* to a CPU that idles */
    c->idle_wake_ns = beyond(v[S_LATENCY], c->wake_ns + c->wake_latency_ns + c->switch_ns, 0);
    c->idle_deep_ns = beyond(v[S_AFTER_LONG], v[S_LATENCY], 0);
    uint64_t after = idles_after(cal_cpu(beside_first(m)), v[S_LATENCY] / 2, c->block_ns + c->switch_ns);
    if (after) c->idle_after_ns = after;
}

static void caches(struct sim_machine *m)
{
    struct sim_costs *c = &m->cost;
    set = malloc(WORKING_SET);
    flush = malloc(FLUSH);
    if (set && flush) {
        memset((void *)(uintptr_t)set, 1, WORKING_SET);
        memset((void *)(uintptr_t)flush, 1, FLUSH);
        c->cold_same_ns = refill(cal_cpu(0), cal_cpu(0), true);
        uint64_t *const field[] = {&c->cold_core_ns, &c->cold_llc_ns, &c->cold_node_ns};
        for (int k = 0; k < 3; k++)
            if (neighbour(m, k) > 0) *field[k] = at_least(refill(cal_cpu(0), cal_cpu((uint32_t)neighbour(m, k)), false), k ? *field[k - 1] : c->cold_same_ns);
        for (int k = 0; k < 3; k++)     /* what is not there is not nearer than what is */
            *field[k] = at_least(*field[k], k ? *field[k - 1] : c->cold_same_ns);
    }
    free((void *)(uintptr_t)set);
    free((void *)(uintptr_t)flush);
}

int mach_calibrate(struct sim_machine *m, void (*say)(const char *what), void (*warn)(const char *what), struct mach_error *err)
{
    memset(err, 0, sizeof *err);
    if (cal_topology(m, err)) return -1;
    struct sigaction sa = {.sa_handler = on_signal}, old;
    sigaction(SIGURG, &sa, &old);
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    cal_bind(cal_cpu(0));
    say("switches and wake-ups");
    switches(m, warn);
    say("caches");
    caches(m);
    say("memory bandwidth");
    bandwidths(m);
    hardware_threads(m, warn);
    sched_setaffinity(0, sizeof before, &before);
    sigaction(SIGURG, &old, NULL);
    return 0;
}
