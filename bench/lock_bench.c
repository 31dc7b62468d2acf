/* bench/lock_bench.c - the two kinds of scheduler lock side by side.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: lock_bench [THREADS...]     (default 1 2 4 8)
 * For each number of threads and each kind: ns per critical section (about 100 ns of work on shared
 * lines inside, as much private work outside), the share of sections that another thread's owner served
 * (delegation), and the ratio between the luckiest and the unluckiest thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "sched/lock.h"

enum { MAX_THREADS = 64, MS = 200 };
static struct usf_lock lock;
static _Alignas(64) uint64_t shared[8 * 4];
static _Atomic int go, stop;

struct worker {
    _Alignas(64) uint64_t rounds, served;
    uint32_t name;
    int delegate;
};

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t section(void)
{
    for (int i = 0; i < 4; i++) shared[8 * i]++;
    return shared[0];
}

static void outside(void)
{
    for (int i = 0; i < 100; i++) __asm__ volatile("" ::: "memory");
}

static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t reply, request;
    while (!go) __builtin_ia32_pause();
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        if (!w->delegate) {
            lock_acquire(&lock, w->name);
            section();
            lock_release(&lock, w->name);
        } else if (lock_acquire_or_delegate(&lock, w->name, w->name, &reply)) {
            section();
            for (int n = 0; n < 16 && lock_next_request(&lock, &request); n++) lock_reply(&lock, section());
            lock_release(&lock, w->name);
        } else {
            w->served++;
        }
        w->rounds++;
        outside();
    }
    return NULL;
}

static void measure(const char *label, enum lock_kind kind, int delegate, int threads)
{
    static struct worker w[MAX_THREADS];
    pthread_t id[MAX_THREADS];
    lock = (struct usf_lock){0};
    lock_init(&lock, kind);
    go = stop = 0;
    for (int i = 0; i < threads; i++) {
        w[i] = (struct worker){.name = (uint32_t)i + 1, .delegate = delegate};
        if (pthread_create(&id[i], NULL, work, &w[i])) exit(1);
    }
    uint64_t begin = now_ns();
    go = 1;
    nanosleep(&(struct timespec){.tv_nsec = MS * 1000000}, NULL);
    stop = 1;
    for (int i = 0; i < threads; i++) pthread_join(id[i], NULL);
    uint64_t spent = now_ns() - begin, rounds = 0, served = 0, least = UINT64_MAX, most = 0;
    for (int i = 0; i < threads; i++) {
        rounds += w[i].rounds;
        served += w[i].served;
        if (w[i].rounds < least) least = w[i].rounds;
        if (w[i].rounds > most) most = w[i].rounds;
    }
    printf("%-18s %3d threads  %7.1f ns per section  %5.1f %% served  luckiest/unluckiest %.1f\n", label, threads,
           (double)spent / (double)rounds, 100.0 * (double)served / (double)rounds,
           (double)most / (double)(least ? least : 1));
}

static void measure_uncontended(enum lock_kind kind)
{
    enum { ROUNDS = 2000000 };
    lock = (struct usf_lock){0};
    lock_init(&lock, kind);
    uint64_t best = UINT64_MAX;
    for (int rep = 0; rep < 7; rep++) {
        uint64_t begin = now_ns();
        for (int i = 0; i < ROUNDS; i++) lock_acquire(&lock, 7), lock_release(&lock, 7);
        uint64_t t = now_ns() - begin;
        if (t < best) best = t;
    }
    printf("%-18s uncontended acquire+release %.1f ns\n", kind == LOCK_DT ? "dtlock" : "plain", (double)best / ROUNDS);
}

int main(int argc, char **argv)
{
    static const int usual[] = {1, 2, 4, 8};
    int n = argc > 1 ? argc - 1 : 4;
    measure_uncontended(LOCK_PLAIN);
    measure_uncontended(LOCK_DT);
    for (int i = 0; i < n; i++) {
        int threads = argc > 1 ? atoi(argv[i + 1]) : usual[i];
        if (threads < 1 || threads > MAX_THREADS) {
            fprintf(stderr, "lock_bench: threads must be 1 to %d, not %s\n", MAX_THREADS, argv[i + 1]);
            return 2;
        }
        measure("plain", LOCK_PLAIN, 0, threads);
        measure("dtlock", LOCK_DT, 0, threads);
        measure("dtlock, delegating", LOCK_DT, 1, threads);
    }
    return 0;
}
