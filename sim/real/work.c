/* sim/real/work.c - computing for a known time, and memory traffic of a known rate.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A round of the loop is a chain of multiplications, and one line of the thread's working set
 * beside it, which costs nothing while it is in the cache: a thread that comes to a cold one loses
 * what the simulator's `cold` costs stand for.  The loop is calibrated once, in CPU time, and does
 * so many rounds whatever else happens: who loses the CPU works as long as before.
 *
 * Work with a demand for bandwidth reads lines of a large array in order, with a chain of
 * multiplications between blocks that is as long as the demand says: when memory can give more than
 * that the chain decides how long it takes, else memory does.  That is the simulator's model:
 * max(1, demand / bandwidth). */
#include "sim/real/replay.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SET     (256u << 10)    /* bytes of the working set of 100 %, as calibrate's */
#define STRIDE  (64u * 167)     /* not in order, so that the prefetchers do not hide what is missing */
#define ARRAY   (64u << 20)     /* bytes that are read for bandwidth: more than the caches hold */
#define BLOCK   1024u           /* ... of them between two parts of the chain */
#define TRIALS  40u

uint64_t rp_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- memory ---------------------------------------------------------------------------------------------- */
static const uint64_t *array;
static pthread_once_t array_once = PTHREAD_ONCE_INIT;

static void make_array(void)
{
    void *p = mmap(NULL, ARRAY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    madvise(p, ARRAY, MADV_HUGEPAGE);
    memset(p, 1, ARRAY);        /* pages of zeros would all be one, in the cache */
    array = p;
}

/* ---- working sets --------------------------------------------------------------------------------------- */
static unsigned char *pool;             /* made and touched before time counts: page faults are not in the simulator's model */
static size_t set_size;
static unsigned pool_nr;
static atomic_uint pool_next;

static size_t size_of(uint32_t percent)
{
    size_t lines = (size_t)SET / 64 * percent / 100;
    if (lines % 167 == 0 && lines) lines++;     /* the stride is to reach all of them */
    return lines * 64;
}

bool rp_work_prepare(uint32_t percent, unsigned threads, bool memory)
{
    if (memory) pthread_once(&array_once, make_array);
    if (memory && !array) return false;
    set_size = size_of(percent);
    if (!set_size || !threads) return true;
    void *p = mmap(NULL, set_size * threads, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return false;
    madvise(p, set_size * threads, MADV_HUGEPAGE);
    memset(p, 1, set_size * threads);
    pool = p;
    pool_nr = threads;
    return true;
}

bool rp_work_begin(struct rp_thread *t)
{
    unsigned i = atomic_load(&pool_next);
    t->set_size = set_size;
    if (!set_size) return true;
    while (i < pool_nr && !atomic_compare_exchange_weak(&pool_next, &i, i + 1)) {}
    t->set = i < pool_nr ? pool + i * set_size
                         : mmap(NULL, set_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return t->set != MAP_FAILED;
}

void rp_work_end(struct rp_thread *t)
{
    bool pooled = pool && t->set >= pool && t->set < pool + pool_nr * set_size;
    if (t->set && !pooled) munmap(t->set, t->set_size);
    t->set = NULL;
}

/* ---- loops ------------------------------------------------------------------------------------------------ */
static inline uint64_t step(uint64_t x)
{
    x = x * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(x));
    return x;
}

static __attribute__((noinline)) uint64_t chain(uint64_t x, uint64_t steps)
{
    while (steps--) x = step(x);
    return x;
}

static __attribute__((noinline)) void rounds(struct rp_thread *t, uint64_t n)
{
    uint64_t x = t->sum;
    volatile unsigned char *set = t->set;
    size_t at = t->at, size = t->set_size;
    if (!size) {
        t->sum = chain(x, 4 * n);
        return;
    }
    while (n--) {
        x = step(step(step(step(x))));
        set[at]++;
        at += STRIDE;
        while (at >= size) at -= size;
    }
    t->sum = x;
    t->at = at;
}

/* `bytes` of the array from *at on, `per_block` steps of the chain for each block. */
static __attribute__((noinline)) uint64_t stream(uint64_t *at, uint64_t bytes, double per_block, uint64_t x)
{
    double due = 0;
    for (uint64_t end = *at + bytes; *at < end; *at += BLOCK) {
        const uint64_t *p = array + *at % ARRAY / 8;
        uint64_t s = 0;
        for (unsigned i = 0; i < BLOCK / 8; i += 8) s += p[i];
        due += per_block;
        for (; due >= 1; due -= 1) x = step(x);
        x += s & 1;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static void stream_for(struct rp_thread *t, double ns, double bytes)
{
    uint64_t at = t->random % (ARRAY / BLOCK) * BLOCK, n = (uint64_t)(bytes / BLOCK + 0.5) * BLOCK;
    if (!n) {
        t->sum = chain(t->sum, (uint64_t)(ns * rp.speed.chain));
        return;
    }
    t->sum = stream(&at, n, ns * rp.speed.chain / (double)(n / BLOCK), t->sum);
}

/* ---- calibration ----------------------------------------------------------------------------------------- */
/* The best of many short trials: whatever else the machine does makes some slower, and none
 * faster. */
static double best(struct rp_thread *t, int what, uint64_t n)
{
    double best = 0;
    for (unsigned i = 0; i < TRIALS; i++) {
        uint64_t from = cpu_now(), at = (uint64_t)i * n % ARRAY;
        if (what == 0) rounds(t, n);
        else if (what == 1) t->sum = chain(t->sum, n);
        else t->sum = stream(&at, n, 0, t->sum);
        uint64_t ns = cpu_now() - from;
        if (ns && (double)n / (double)ns > best) best = (double)n / (double)ns;
    }
    return best;
}

void rp_measure(struct rp_speed *s)
{
    struct rp_thread t = {0};
    if (!rp_work_prepare(100, 1, true) || !rp_work_begin(&t)) rp_die("no memory to measure with");
    rounds(&t, 100000);
    s->rounds = best(&t, 0, 400000);
    s->chain = best(&t, 1, 1000000);
    s->mbps = best(&t, 2, 16u << 20) * 1000;
}

/* ---- operations -------------------------------------------------------------------------------------------- */
/* In pieces, so that memory and computing alternate as often as in a program of many small
 * loops. */
static void with_memory(struct rp_thread *t, double ns, double part, double mbps)
{
    const double piece = 50000;
    for (double left = ns; left > 0; left -= piece) {
        double now = left < piece ? left : piece;
        stream_for(t, now * part, now * mbps / 1000);
        rounds(t, (uint64_t)(now * (1 - part) * rp.speed.rounds));
    }
}

uint64_t rp_divided(const struct sim_program *p, uint64_t ns, uint32_t width)
{
    uint64_t up = p->nr_speedup ? p->speedup[width <= p->nr_speedup ? width - 1 : p->nr_speedup - 1] : 1000ull * width;
    return ns * 1000 / (up ? up : 1);
}

void rp_compute(struct rp_thread *t, const struct sim_op *op, uint64_t ns)
{
    ns = sim_drawn(&t->random, op, ns);
    if (!ns) return;
    if (op->mbps && op->memory) with_memory(t, (double)ns, op->memory / 1000.0, op->mbps);
    else rounds(t, (uint64_t)((double)ns * rp.speed.rounds + 0.5));
}
