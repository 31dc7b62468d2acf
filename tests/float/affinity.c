/* tests/float/affinity.c - another thread sets a floating thread's CPUs.  SPDX-License-Identifier: Apache-2.0
 *
 * The kernel thread that the call names may execute a third thread, which goes on with all CPUs.  The same passes bare. */
#include <semaphore.h>
#include <stdlib.h>

#include "raw.h"
#include "subjects.h"

enum { WORKERS = 4, TIMES = 15, LOOKS = 50 };

static struct worker {
    pthread_t thread;
    pid_t own, by;              /* its id, and that of the kernel thread that executed it when it looked last */
    cpu_set_t mask;             /* ... and the mask of that one */
    sem_t go;
} workers[WORKERS];
static cpu_set_t all;
static sem_t done;
static bool (*task)(struct worker *), answer;   /* null: end */

static void *work(void *arg)
{
    struct worker *w = arg;
    w->own = own_tid();
    for (;;) {
        CHECK(!sem_wait(&w->go));
        if (!task) return arg;
        answer = task(w);
        CHECK(!sem_post(&done));
    }
}

/* Nothing else happens meanwhile: no thread waits for a CPU, and each stays where it is. */
static bool ask(struct worker *w, bool (*what)(struct worker *))
{
    task = what;
    CHECK(!sem_post(&w->go) && !sem_wait(&done));
    return answer;
}

static _Atomic unsigned were_away;
static bool mix_until_all_were_away(struct worker *w)
{
    for (bool was = false; atomic_load(&were_away) < WORKERS;) {
        mix();
        if (!was && (is_away() || !floats())) was = true, atomic_fetch_add(&were_away, 1);
    }
    return w;
}

static bool has_all(struct worker *w)
{
    CPU_ZERO(&w->mask);
    CHECK(raw(SYS_sched_getaffinity, 0, sizeof w->mask, (long)&w->mask) > 0);
    w->by = carrier_tid();
    return CPU_EQUAL(&w->mask, &all);
}

static bool is_told_one(struct worker *w)
{
    cpu_set_t told;
    return !sched_getaffinity(0, sizeof told, &told) && CPU_COUNT(&told) == 1 && w->own == own_tid();
}

/* The scheduler may have bound it to one CPU, until no thread has waited for one for a while. */
static bool gets_all(struct worker *w)
{
    for (int i = 0; i < LOOKS; i++, usleep(20000))
        if (ask(w, has_all)) return true;
    return false;
}

static void have_them_float(void)
{
    atomic_store(&were_away, 0);
    task = mix_until_all_were_away;
    for (int i = 0; i < WORKERS; i++) CHECK(!sem_post(&workers[i].go));
    for (int i = 0; i < WORKERS; i++) CHECK(!sem_wait(&done));
    for (int i = 0; i < WORKERS; i++) CHECK(gets_all(&workers[i]));
}

/* One whose kernel thread executes another. */
static struct worker *find_away(void)
{
    if (!floats()) return workers;
    for (int i = 0; i < WORKERS; i++)
        for (int k = 0; k < WORKERS; k++)
            if (i != k && workers[i].own == workers[k].by) return &workers[i];
    return NULL;
}

int main(void)
{
    cpu_set_t one;
    alarm(100);
    CHECK(!sched_getaffinity(0, sizeof all, &all));
    if (CPU_COUNT(&all) < 2 || getenv("ONLY_CPU")) return 77;
    CHECK(!sem_init(&done, 0, 0));
    for (int i = 0; i < WORKERS; i++)
        CHECK(!sem_init(&workers[i].go, 0, 0) && !pthread_create(&workers[i].thread, 0, work, &workers[i]));
    for (int n = 0; n < TIMES; n++) {
        struct worker *w;
        do have_them_float(); while (!(w = find_away()));
        CPU_ZERO(&one);
        for (int cpu = 0; !CPU_COUNT(&one); cpu++)
            if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
        CHECK(!pthread_setaffinity_np(w->thread, sizeof one, &one));
        CHECK(ask(w, is_told_one));
        for (int i = 0; i < WORKERS; i++) {
            if (&workers[i] == w) continue;
            CHECK(gets_all(&workers[i]), "time %d, thread %d: %d CPUs, by %s", n, i, CPU_COUNT(&workers[i].mask),
                  workers[i].by == w->own ? "the one" : "another");
        }
        CHECK(!pthread_setaffinity_np(w->thread, sizeof all, &all));
    }
    task = NULL;
    for (int i = 0; i < WORKERS; i++) CHECK(!sem_post(&workers[i].go));
    for (int i = 0; i < WORKERS; i++) CHECK(!pthread_join(workers[i].thread, 0));
    return 0;
}
