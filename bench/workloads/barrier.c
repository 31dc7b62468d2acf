/* bench/workloads/barrier.c - kinds of barrier that programs build for themselves.  SPDX-License-Identifier: Apache-2.0
 *
 * Between two barriers there are --us microseconds of work per core (of --cores), spread evenly over
 * the threads.  Stops after --seconds, at a round that all threads agree on. */
#include "team.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum kind { PTHREAD, SPIN_PAUSE, SPIN_YIELD, SPIN_YIELD_1000, SPIN_1000_FUTEX, SPIN_300000_FUTEX };
static const char *const kind_names[] = {"pthread", "spin-pause", "spin-yield", "spin-yield-1000",
                                         "spin-1000-futex", "spin-300000-futex"};
#define NR_KINDS (int)(sizeof kind_names / sizeof *kind_names)

static enum kind kind;
static int threads;
static uint64_t loops;
static double limit, started;

static pthread_barrier_t pthread_bar;
/* Each on a line of its own. */
static _Alignas(64) atomic_int arrived;
static _Alignas(64) atomic_uint generation;
static _Alignas(64) atomic_int stop;
static _Alignas(64) long rounds; /* written by thread 0 */
static atomic_long all_rounds;   /* summed up at the end: threads x rounds */

static void wait_spinning(unsigned old)
{
    switch (kind) {
    case SPIN_PAUSE:
        while (atomic_load_explicit(&generation, memory_order_acquire) == old) __builtin_ia32_pause();
        return;
    case SPIN_YIELD:
        while (atomic_load_explicit(&generation, memory_order_acquire) == old) sched_yield();
        return;
    case SPIN_YIELD_1000:
        for (long i = 1; atomic_load_explicit(&generation, memory_order_acquire) == old; i++)
            if (i % 1000 == 0) sched_yield();
            else __builtin_ia32_pause();
        return;
    default: {
        long spins = kind == SPIN_1000_FUTEX ? 1000 : 300000;
        for (long i = 0; i < spins; i++) {
            if (atomic_load_explicit(&generation, memory_order_acquire) != old) return;
            __builtin_ia32_pause();
        }
        while (atomic_load_explicit(&generation, memory_order_acquire) == old) futex_wait(&generation, old);
    }
    }
}

static void barrier(void)
{
    if (kind == PTHREAD) {
        pthread_barrier_wait(&pthread_bar);
        return;
    }
    unsigned old = atomic_load_explicit(&generation, memory_order_relaxed);
    if (atomic_fetch_add(&arrived, 1) == threads - 1) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        atomic_fetch_add(&generation, 1);
        if (kind == SPIN_1000_FUTEX || kind == SPIN_300000_FUTEX) futex_wake(&generation, threads);
    } else {
        wait_spinning(old);
    }
}

static void *run(void *arg)
{
    long me = (long)arg, mine = 0;
    uint64_t x = (uint64_t)me;
    for (;;) {
        x = work_chain(x, loops);
        mine++;
        /* Thread 0 decides before it arrives, so that all read the decision of the same round; nobody
         * can write it again before everybody has read it: there are two barriers in a round. */
        if (me == 0) {
            rounds++;
            if (now_s() - started > limit) atomic_store(&stop, 1);
        }
        barrier();
        bool end = atomic_load(&stop);
        x = work_chain(x, loops);
        if (me == 0) rounds++;
        mine++;
        barrier();
        if (end) break;
    }
    atomic_fetch_add(&all_rounds, mine);
    return (void *)(uintptr_t)(x & 1);
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--kind --threads --cores --us --seconds --loops-per-us");
    const char *name = opt_str(argc, argv, "--kind", "pthread");
    threads = (int)opt_long(argc, argv, "--threads", 2);
    double us = opt_num(argc, argv, "--us", 100), cores = opt_num(argc, argv, "--cores", 2);
    limit = opt_num(argc, argv, "--seconds", 0.5);
    while (kind < NR_KINDS && strcmp(kind_names[kind], name)) kind++;
    if ((int)kind == NR_KINDS) die("--kind: pthread spin-pause spin-yield spin-yield-1000 spin-1000-futex spin-300000-futex");
    if (threads < 1) die("--threads must be positive");
    double speed = work_speed(argc, argv);
    loops = (uint64_t)(us * speed * cores / threads);
    pthread_barrier_init(&pthread_bar, NULL, (unsigned)threads);
    begin_line("barrier", 2, "barrier");
    started = now_s();
    double t = team_run(threads, run);
    char more[120];
    snprintf(more, sizeof more, "kind=%s threads=%d us=%g loops_per_us=%g", name, threads, us, speed);
    return result_line("barrier", (double)rounds, t, "barrier", atomic_load(&all_rounds) == rounds * threads, more);
}
