/* bench/workloads/hotlock.c - one lock that all threads want all the time.  SPDX-License-Identifier: Apache-2.0
 *
 * Each operation holds the lock for --held nanoseconds (0: an empty section), or, with --op hash, changes a hash table under
 * the lock and calls rand() and malloc() or free() outside.  Kind `rand` has no lock of its own: rand() takes glibc's.
 * What the threads do between two signals counts, the first of which comes when all of them have long begun.  With --ops each thread makes so many
 * operations and ends, and all of the time counts. */
#include "team.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/time.h>

#define LINE     _Alignas(64)
#define MAX_TEAM 256
#define BUCKETS  1024
#define WARM_UP  0.05
#define pause()  __builtin_ia32_pause()

struct qnode { LINE struct qnode *_Atomic next; atomic_int locked; };
struct own {                        /* a thread's own */
    LINE struct qnode *node, *pred;
    LINE atomic_long ops;
};

static LINE atomic_int tas;
static LINE atomic_uint ticket_next;
static LINE atomic_uint ticket_now;
static LINE struct qnode *_Atomic tail;
static LINE pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LINE pthread_spinlock_t spin;
static LINE struct own own[MAX_TEAM];
static struct qnode nodes[MAX_TEAM + 1];
static LINE volatile long counter;  /* protected by the lock under test */

static void tas_lock(struct own *me)
{
    (void)me;
    while (atomic_exchange(&tas, 1)) pause();
}
static void ttas_lock(struct own *me)
{
    (void)me;
    while (atomic_exchange(&tas, 1))
        while (atomic_load_explicit(&tas, memory_order_relaxed)) pause();
}
static void tas_unlock(struct own *me)
{
    (void)me;
    atomic_store_explicit(&tas, 0, memory_order_release);
}
static void ticket_lock(struct own *me)
{
    (void)me;
    unsigned mine = atomic_fetch_add(&ticket_next, 1);
    while (atomic_load_explicit(&ticket_now, memory_order_acquire) != mine) pause();
}
static void ticket_unlock(struct own *me)
{
    (void)me;
    atomic_store_explicit(&ticket_now, atomic_load_explicit(&ticket_now, memory_order_relaxed) + 1, memory_order_release);
}
static void mcs_lock(struct own *me)
{
    struct qnode *n = me->node;
    atomic_store_explicit(&n->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&n->locked, 1, memory_order_relaxed);
    struct qnode *pred = atomic_exchange(&tail, n);
    if (!pred) return;
    atomic_store_explicit(&pred->next, n, memory_order_release);
    while (atomic_load_explicit(&n->locked, memory_order_acquire)) pause();
}
static void mcs_unlock(struct own *me)
{
    struct qnode *n = me->node, *last = n, *next = atomic_load_explicit(&n->next, memory_order_acquire);
    if (!next) {
        if (atomic_compare_exchange_strong(&tail, &last, NULL)) return;
        while (!(next = atomic_load_explicit(&n->next, memory_order_acquire))) pause();
    }
    atomic_store_explicit(&next->locked, 0, memory_order_release);
}
static void clh_lock(struct own *me)
{
    atomic_store_explicit(&me->node->locked, 1, memory_order_relaxed);
    me->pred = atomic_exchange(&tail, me->node);
    while (atomic_load_explicit(&me->pred->locked, memory_order_acquire)) pause();
}
static void clh_unlock(struct own *me)
{
    struct qnode *pred = me->pred;
    atomic_store_explicit(&me->node->locked, 0, memory_order_release);
    me->node = pred;
}
static void spin_lock(struct own *me) { (void)me, pthread_spin_lock(&spin); }
static void spin_unlock(struct own *me) { (void)me, pthread_spin_unlock(&spin); }
static void mutex_lock(struct own *me) { (void)me, pthread_mutex_lock(&mutex); }
static void mutex_unlock(struct own *me) { (void)me, pthread_mutex_unlock(&mutex); }
static void no_lock(struct own *me) { (void)me; }

static const struct kind {
    const char *name;
    void (*lock)(struct own *), (*unlock)(struct own *);
} kinds[] = {
    {"tas", tas_lock, tas_unlock},    {"ttas", ttas_lock, tas_unlock},   {"ticket", ticket_lock, ticket_unlock},
    {"mcs", mcs_lock, mcs_unlock},    {"clh", clh_lock, clh_unlock},     {"spin", spin_lock, spin_unlock},
    {"mutex", mutex_lock, mutex_unlock}, {"rand", no_lock, no_lock},      {NULL, NULL, NULL},
};

static const struct kind *kind = kinds;
static bool hashes, rands;
static uint64_t held_loops;
static int threads;
static atomic_int stop, team_id;
static double started, seconds, limit;
static long done, ops;

/* ---- the hash table ---- */
struct entry { struct entry *next; unsigned key; };
static struct entry *bucket[BUCKETS];

static void hash_op(struct own *me)
{
    unsigned key = (unsigned)rand(), b = key % BUCKETS;
    struct entry *new = NULL, *old = NULL;
    if (key & 1024) {
        new = malloc(sizeof *new);
        new->key = key;
    }
    kind->lock(me);
    counter++;
    if (new) {
        new->next = bucket[b];
        bucket[b] = new;
    } else if ((old = bucket[b])) {
        bucket[b] = old->next;
    }
    kind->unlock(me);
    free(old);
}

static void *run(void *arg)
{
    struct own *me = &own[atomic_fetch_add(&team_id, 1)];
    uint64_t x = (uint64_t)(uintptr_t)arg;
    for (long left = ops; ops ? left-- > 0 : !atomic_load_explicit(&stop, memory_order_relaxed);) {
        if (hashes) {
            hash_op(me);
        } else if (rands) {
            x += (unsigned)rand();
        } else {
            kind->lock(me);
            counter++;
            x = work_chain(x, held_loops);
            kind->unlock(me);
        }
        atomic_store_explicit(&me->ops, atomic_load_explicit(&me->ops, memory_order_relaxed) + 1, memory_order_relaxed);
    }
    return (void *)(uintptr_t)(x & 1);
}

static long sum(void)
{
    long all = 0;
    for (int i = 0; i < threads; i++) all += atomic_load_explicit(&own[i].ops, memory_order_relaxed);
    return all;
}
static void set_alarm(double s)
{
    struct itimerval in = {.it_value = {(time_t)s, (suseconds_t)((s - (double)(time_t)s) * 1e6)}};
    setitimer(ITIMER_REAL, &in, NULL);
}
static void on_alarm(int sig)
{
    (void)sig;
    double now = now_s();
    long all = sum();
    if (started > 0) {
        seconds = now - started;
        done = all - done;
        atomic_store(&stop, 1);
        return;
    }
    started = now;
    done = all;
    set_alarm(limit);
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--kind --threads --held --op --ops --seconds --loops-per-us");
    const char *name = opt_str(argc, argv, "--kind", "mcs"), *op = opt_str(argc, argv, "--op", "section");
    while (kind->name && strcmp(kind->name, name)) kind++;
    if (!kind->name) die("--kind: tas ttas ticket mcs clh spin mutex rand");
    threads = (int)opt_long(argc, argv, "--threads", 2);
    limit = opt_num(argc, argv, "--seconds", 0.3);
    held_loops = (uint64_t)(opt_num(argc, argv, "--held", 0) * 1e-3 * work_speed(argc, argv));
    hashes = !strcmp(op, "hash");
    rands = !strcmp(name, "rand");
    if (threads < 1 || threads > MAX_TEAM) die("--threads: 1 to 256");
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < threads; i++) own[i].node = &nodes[i];
    if (!strcmp(name, "clh")) atomic_store(&tail, &nodes[threads]);
    begin_line("hotlock", 1, "op");
    signal(SIGALRM, on_alarm);
    ops = opt_long(argc, argv, "--ops", 0);
    if (!ops) set_alarm(WARM_UP);
    double took = team_run(threads, run);
    if (ops) {
        done = sum();
        seconds = took;
    }
    char more[100];
    snprintf(more, sizeof more, "kind=%s threads=%d op=%s", name, threads, op);
    return result_line("hotlock", (double)done, seconds, "op", rands || counter == sum(), more);
}
