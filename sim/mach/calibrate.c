/* sim/mach/calibrate.c - measure this machine.  SPDX-License-Identifier: Apache-2.0
 *
 * Each cost is the median of several short measurements: others that run on the machine meanwhile disturb few of them.  What cannot be
 * measured here, since the machine has no second cache or node, stays as it is by default.
 */
#include "sim/mach/calibrate.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 15u
#define WORKING_SET (256u << 10)    /* bytes: what cold caches are measured with */
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
        __builtin_ia32_pause();
    }
}
static void each_sync(unsigned n)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    for (unsigned i = 0; i < n; i++) pthread_mutex_lock(&m), pthread_mutex_unlock(&m);
}

static uint64_t per_call(void (*fn)(unsigned), unsigned n)
{
    uint64_t v[ROUNDS];
    for (unsigned r = 0; r < ROUNDS; r++) {
        uint64_t from = cal_now();
        fn(n);
        v[r] = (cal_now() - from) / n;
    }
    return at_least(median(v, ROUNDS), 1);
}

static uint64_t creation(void)
{
    uint64_t v[ROUNDS];
    for (unsigned r = 0; r < ROUNDS; r++) {
        pthread_t t;
        uint64_t from = cal_now();
        if (pthread_create(&t, NULL, nothing, NULL)) return 0;
        v[r] = cal_now() - from;
        pthread_join(t, NULL);
    }
    return median(v, ROUNDS);
}

/* ---- two threads ------------------------------------------------------------------------------------ */
struct pair {
    atomic_uint turn, stop;     /* whose turn; futex word */
    atomic_ullong woken_at;
    unsigned cpu, rounds;
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

/* ns from one thread to the other, one way, both on CPUs of their own or on one. */
static uint64_t hand_over(unsigned other, bool yields, unsigned rounds)
{
    struct pair p = {.cpu = other, .rounds = rounds, .yields = yields};
    pthread_t t;
    uint64_t v[ROUNDS];
    if (pthread_create(&t, NULL, partner, &p)) return 0;
    for (unsigned r = 0; r < ROUNDS; r++) {
        uint64_t from = cal_now();
        for (unsigned i = 0; i < rounds; i++) {
            pass(&p, 1);
            await(&p, 0);
        }
        v[r] = (cal_now() - from) / (2ull * rounds);
    }
    atomic_store(&p.stop, 1);
    pass(&p, 1);
    pthread_join(t, NULL);
    return median(v, ROUNDS);
}

/* A sleeper on another CPU, which idles meanwhile: what the waker pays, and how long until it runs. */
static void wake_idle(unsigned other, uint64_t *waker, uint64_t *latency)
{
    struct pair p = {.cpu = other, .rounds = 1};
    pthread_t t;
    uint64_t pay[ROUNDS], late[ROUNDS];
    *waker = *latency = 0;
    if (pthread_create(&t, NULL, partner, &p)) return;
    for (unsigned r = 0; r < ROUNDS; r++) {
        usleep(3000);
        uint64_t from = cal_now();
        pass(&p, 1);
        pay[r] = cal_now() - from;
        await(&p, 0);
        uint64_t at = atomic_load(&p.woken_at);
        late[r] = at > from ? at - from : 0;
    }
    atomic_store(&p.stop, 1);
    pass(&p, 1);
    pthread_join(t, NULL);
    *waker = median(pay, ROUNDS);
    *latency = median(late, ROUNDS);
}

/* ---- caches ------------------------------------------------------------------------------------------- */
static volatile unsigned char *set, *flush;
static uint64_t sum;

static uint64_t touch(volatile unsigned char *p, size_t n)
{
    uint64_t from = cal_now(), s = 0;
    /* not in order, so that the prefetchers do not hide what is missing */
    for (size_t i = 0, at = 0; i < n / 64; i++, at = (at + 64 * 167) % n) s += p[at]++;
    sum += s;
    return cal_now() - from;
}

static uint64_t refill(unsigned home, unsigned from, bool evict)
{
    uint64_t v[ROUNDS];
    for (unsigned r = 0; r < ROUNDS; r++) {
        cal_bind(home);
        for (int i = 0; i < 3; i++) touch(set, WORKING_SET);
        uint64_t warm = touch(set, WORKING_SET);
        if (evict) touch(flush, FLUSH);
        cal_bind(from);
        uint64_t cold = touch(set, WORKING_SET);
        v[r] = cold > warm ? cold - warm : 0;
    }
    cal_bind(home);
    return median(v, ROUNDS);
}

static uint64_t moved(unsigned a, unsigned b)
{
    uint64_t v[ROUNDS];
    for (unsigned r = 0; r < ROUNDS; r++) {
        uint64_t from = cal_now();
        for (int i = 0; i < 10; i++) cal_bind(i & 1 ? a : b);
        v[r] = (cal_now() - from) / 10;
    }
    cal_bind(a);
    return median(v, ROUNDS);
}

/* ---- memory bandwidth and hardware threads ------------------------------------------------------------- */
struct reader { unsigned cpu; size_t bytes; atomic_uint *go, *stop; uint64_t done, ns; bool compute; };

static void *reading(void *arg)
{
    struct reader *r = arg;
    cal_bind(r->cpu);
    uint64_t *p = r->compute ? NULL : calloc(1, r->bytes), s = 1;
    if (p) memset(p, 1, r->bytes);
    while (!atomic_load(r->go)) usleep(100);
    uint64_t from = cal_now();
    while (!atomic_load(r->stop)) {
        if (r->compute) for (int i = 0; i < 10000; i++) s = s * 6364136223846793005u + 1;
        else for (size_t i = 0; p && i < r->bytes / 8; i += 8) s += p[i];
        r->done += r->compute ? 10000 : p ? r->bytes : 0;
    }
    r->ns = cal_now() - from;
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
        if (made == nr) usleep(200000);
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

static void hardware_threads(struct sim_machine *m)
{
    unsigned cpu[SIM_SMT_MAX], nr = 0;
    for (uint32_t c = 0; c < m->nr_cpus && nr < SIM_SMT_MAX; c++)
        if (m->cpu[c].phys == m->cpu[0].phys) cpu[nr++] = cal_cpu(c);
    double one = nr > 1 ? together(cpu, 1, true) : 0;
    for (unsigned k = 2; k <= nr && one > 0; k++) {
        double each = together(cpu, k, true) / k / one;
        m->smt_speed[k] = each >= 1 ? 1000 : each > .05 ? (uint32_t)(each * 1000) : 50;
    }
}

/* ---- all ------------------------------------------------------------------------------------------------ */
static int32_t neighbour(const struct sim_machine *m, int kind)
{
    for (uint32_t c = 1; c < m->nr_cpus; c++) {
        const struct sim_cpu *a = &m->cpu[0], *b = &m->cpu[c];
        bool core = a->phys != b->phys && a->llc == b->llc, llc = a->llc != b->llc && a->node == b->node, node = a->node != b->node;
        if (kind == 0 ? core : kind == 1 ? llc : node) return (int32_t)c;
    }
    return -1;
}

static void switches(struct sim_machine *m)
{
    struct sim_costs *c = &m->cost;
    c->yield_ns = per_call(each_yield, 5000);
    uint64_t by_yield = hand_over(cal_cpu(0), true, 2000), by_futex = hand_over(cal_cpu(0), false, 500);
    c->switch_ns = at_least(by_yield > c->yield_ns ? by_yield - c->yield_ns : 0, 50);
    /* One way through futexes on one CPU is a wake-up, falling asleep and a switch.  The first two enter the kernel once each and cannot be
     * told apart from outside: half of the rest each. */
    uint64_t rest = by_futex > c->switch_ns ? by_futex - c->switch_ns : 0, waker, latency;
    c->wake_ns = c->block_ns = at_least(rest / 2, 100);
    if (m->nr_cpus < 2) return;
    wake_idle(cal_cpu((uint32_t)(neighbour(m, 0) > 0 ? neighbour(m, 0) : 1)), &waker, &latency);
    uint64_t awake = c->wake_ns + c->wake_latency_ns;       /* the second is a default: a CPU that waits for work without idling is none to wake */
    c->idle_wake_ns = latency > awake ? latency - awake : 0;
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

int mach_calibrate(struct sim_machine *m, void (*say)(const char *what), struct mach_error *err)
{
    memset(err, 0, sizeof *err);
    if (cal_topology(m, err)) return -1;
    struct sigaction sa = {.sa_handler = on_signal}, old;
    sigaction(SIGURG, &sa, &old);
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    cal_bind(cal_cpu(0));
    say("switches and wake-ups");
    switches(m);
    m->cost.pin_ns = per_call(each_pin, 2000);
    m->cost.signal_ns = per_call(each_signal, 2000);
    m->cost.spin_ns = per_call(each_spin, 20000);
    m->cost.sync_ns = per_call(each_sync, 20000);
    m->cost.create_ns = at_least(creation(), 1000);
    if (m->nr_cpus > 1) {
        uint64_t move = moved(cal_cpu(0), cal_cpu(1));
        m->cost.migrate_ns = at_least(move > m->cost.pin_ns ? move - m->cost.pin_ns : 0, 100);
    }
    say("caches");
    caches(m);
    say("memory bandwidth");
    bandwidths(m);
    hardware_threads(m);
    sched_setaffinity(0, sizeof before, &before);
    sigaction(SIGURG, &old, NULL);
    return 0;
}
