/* bench/workloads/lock.c - kinds of lock that programs build for themselves.  SPDX-License-Identifier: Apache-2.0
 *
 * Each operation holds the lock for --held microseconds and works for --free outside.  Stops after
 * --seconds, but not before --ops operations. */
#include "team.h"

#include <sched.h>
#include <stdatomic.h>

static atomic_int tas;
static _Alignas(64) atomic_uint ticket_next;
static _Alignas(64) atomic_uint ticket_now;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int tas_try(void)
{ return !atomic_load_explicit(&tas, memory_order_relaxed) && !atomic_exchange(&tas, 1); }

static void mutex_lock(void) { pthread_mutex_lock(&mutex); }
static void mutex_unlock(void) { pthread_mutex_unlock(&mutex); }
static void tas_pause_lock(void)
{
    while (!tas_try()) __builtin_ia32_pause();
}
static void tas_yield_lock(void)
{
    while (!tas_try()) sched_yield();
}
static void tas_unlock(void) { atomic_store_explicit(&tas, 0, memory_order_release); }
static void ticket_pause_lock(void)
{
    unsigned me = atomic_fetch_add(&ticket_next, 1);
    while (atomic_load_explicit(&ticket_now, memory_order_acquire) != me) __builtin_ia32_pause();
}
static void ticket_yield_lock(void)
{
    unsigned me = atomic_fetch_add(&ticket_next, 1);
    while (atomic_load_explicit(&ticket_now, memory_order_acquire) != me) sched_yield();
}
static void ticket_yield100_lock(void)
{
    unsigned me = atomic_fetch_add(&ticket_next, 1);
    for (long i = 1; atomic_load_explicit(&ticket_now, memory_order_acquire) != me; i++)
        if (i % 100 == 0) sched_yield();
        else __builtin_ia32_pause();
}
static void ticket_unlock(void) { atomic_fetch_add_explicit(&ticket_now, 1, memory_order_release); }

static const struct kind {
    const char *name;
    void (*lock)(void), (*unlock)(void);
} kinds[] = {
    {"mutex", mutex_lock, mutex_unlock},
    {"tas-pause", tas_pause_lock, tas_unlock},
    {"tas-yield", tas_yield_lock, tas_unlock},
    {"ticket-pause", ticket_pause_lock, ticket_unlock},
    {"ticket-yield", ticket_yield_lock, ticket_unlock},
    {"ticket-yield-100", ticket_yield100_lock, ticket_unlock},
    {NULL, NULL, NULL},
};

static const struct kind *kind = kinds;
static int threads;
static long min_ops;
static atomic_long all_ops; /* summed up at the end */
static uint64_t held_loops, free_loops;
static double limit, started;
static long counter; /* protected by the lock under test, as is stop */
static int stop;

static void *run(void *arg)
{
    uint64_t x = (uint64_t)(uintptr_t)arg;
    for (long mine = 0;; mine++) {
        kind->lock();
        int end = stop;
        if (!end) {
            x = work_chain(x, held_loops);
            counter++;
            if (counter >= min_ops && (counter - min_ops) % 1000 == 0 && now_s() - started > limit) stop = 1;
        }
        kind->unlock();
        if (end) {
            atomic_fetch_add(&all_ops, mine);
            return (void *)(uintptr_t)(x & 1);
        }
        x = work_chain(x, free_loops);
    }
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--kind --threads --held --free --ops --seconds --loops-per-us");
    const char *name = opt_str(argc, argv, "--kind", "mutex");
    while (kind->name && strcmp(kind->name, name)) kind++;
    if (!kind->name) die("--kind: mutex tas-pause tas-yield ticket-pause ticket-yield ticket-yield-100");
    threads = (int)opt_long(argc, argv, "--threads", 2);
    min_ops = opt_long(argc, argv, "--ops", 2000);
    limit = opt_num(argc, argv, "--seconds", 0.5);
    double speed = work_speed(argc, argv);
    held_loops = (uint64_t)(opt_num(argc, argv, "--held", 0.5) * speed);
    free_loops = (uint64_t)(opt_num(argc, argv, "--free", 2) * speed);
    if (threads < 1) die("--threads must be positive");
    begin_line("lock", (double)min_ops, "op");
    started = now_s();
    double t = team_run(threads, run);
    char more[100];
    snprintf(more, sizeof more, "kind=%s threads=%d", name, threads);
    return result_line("lock", (double)counter, t, "op", counter == atomic_load(&all_ops), more);
}
