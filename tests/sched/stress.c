/* tests/sched/stress.c - threads that block, wake, yield and leave for system calls, checked against the
 * instance's invariants.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "../check.h"
#include "base/base.h"
#include "sched/watch.h"
#include "shm/shm.h"

#define THREADS 24
#define ROUNDS  3000

static struct sched S;
static struct sched_watcher W;
static _Atomic int on_core[USF_MAX_CORES];  /* threads that believe to be on the core */
static uint32_t ids[THREADS];
static _Atomic uint32_t credit[THREADS];    /* wakes owed to each thread */
static _Atomic int ready_threads, done_threads;
static unsigned seed;

static void enter_core(struct sched_self *me)
{
    uint32_t c = S.tasks[me->task].core;
    if (sched_is_by_kernel(&S, me)) return;
    CHECK(S.tasks[me->task].state == USF_TASK_RUNNING);
    CHECK(c < S.h->nr_cores);
    CHECK(atomic_fetch_add(&on_core[c], 1) == 0);
}
static void exit_core(struct sched_self *me)
{ if (!sched_is_by_kernel(&S, me)) atomic_fetch_sub(&on_core[S.tasks[me->task].core], 1); }

static void wait_credit(struct sched_self *me, int i, unsigned *rs)
{
    while (atomic_load(&credit[i]) == 0) {
        uint64_t deadline = rand_r(rs) % 4 == 0 ? os_now() + 200000 : 0;
        int r = sched_block(&S, me, deadline);
        CHECK(r == 0 || (r == -ETIMEDOUT && deadline));
        if (r == -ETIMEDOUT) return;
    }
    atomic_fetch_sub(&credit[i], 1);
}

static void *run(void *arg)
{
    int i = (int)(long)arg;
    struct sched_self me = {.task = USF_NONE};
    unsigned rs = seed * 1000 + (unsigned)i;
    CHECK(sched_attach(&S, &me, (int)syscall(SYS_gettid), "t") == 0);
    ids[i] = me.task;
    ready_threads++;
    enter_core(&me);
    while (ready_threads < THREADS) {
        exit_core(&me);
        sched_leave_core(&S, &me, true);
        usleep(100);
        sched_return_core(&S, &me);
        enter_core(&me);
    }
    for (int n = 0; n < ROUNDS; n++) {
        int other = rand_r(&rs) % THREADS;
        switch (rand_r(&rs) % 6) {
        case 0: case 1:
            atomic_fetch_add(&credit[other], 1);
            sched_wake(&S, &me, &ids[other], 1);
            break;
        case 2: case 3:
            exit_core(&me);
            wait_credit(&me, i, &rs);
            enter_core(&me);
            break;
        case 4:
            exit_core(&me);
            sched_yield_core(&S, &me, false);
            enter_core(&me);
            break;
        default:
            exit_core(&me);
            sched_leave_core(&S, &me, rand_r(&rs) & 1);
            if (rand_r(&rs) % 8 == 0) usleep(rand_r(&rs) % 200);
            sched_return_core(&S, &me);
            enter_core(&me);
        }
        /* nobody may stay blocked for ever: hand out credits round robin */
        if (n % 4 == 0) {
            int o = (i + n / 4) % THREADS;
            atomic_fetch_add(&credit[o], 1);
            sched_wake(&S, &me, &ids[o], 1);
        }
    }
    exit_core(&me);
    done_threads++;
    while (done_threads < THREADS) {        /* keep waking those that still wait */
        for (int o = 0; o < THREADS; o++) {
            atomic_fetch_add(&credit[o], 1);
            sched_wake(&S, &me, &ids[o], 1);
        }
        sched_leave_core(&S, &me, true);
        usleep(500);
        sched_return_core(&S, &me);
    }
    sched_detach(&S, &me, true);
    return 0;
}

static void no_preempt(void *arg, uint32_t task) { (void)arg; (void)task; }
static char running(void *arg, uint32_t task) { (void)arg; (void)task; return 'R'; }

static _Atomic int stop;
static void *monitor(void *arg)
{
    (void)arg;
    struct sched m = S;
    m.watch = &W;
    m.proc = USF_NONE;
    while (!stop) {
        uint64_t ns = sched_watch(&m, no_preempt, running, 0);
        usleep(ns > 1000000 ? 1000 : (unsigned)(ns / 1000));
    }
    return 0;
}

int main(int argc, char **argv)
{
    char name[USF_NAME_MAX], why[128];
    struct shm m;
    alarm(50);
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)time(0) ^ (unsigned)getpid();
    check_seed = seed;
    printf("seed %u\n", seed);
    snprintf(name, sizeof name, "test-sched-%d", getpid());
    struct shm_config c = {.name = name, .policy = "coop"};
    if (shm_open_instance(&c, true, &m)) {
        fprintf(stderr, "%s\n", m.why);
        return 77;
    }
    sched_bind(&S, m.h);
    S.h->progress_ns = UINT64_MAX / 16;     /* no thread counts as unresponsive for want of a CPU */
    CHECK(sched_use_policy(&S, 0, why, sizeof why) == 0);
    struct os_cpuset cpus;
    CHECK(os_getaffinity(0, &cpus) == 0);
    CHECK(sched_proc_join(&S, getpid(), os_start_time(getpid()), "test", &cpus, 0) >= 0);
    S.remote_pin = true;
    pthread_t t[THREADS], mon;
    pthread_create(&mon, 0, monitor, 0);
    for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
    stop = 1;
    pthread_join(mon, 0);
    CHECK(sched_is_valid(&S, why, sizeof why), "%s", why);
    CHECK(S.h->nr_ready == 0);
    for (uint32_t k = 0; k < S.h->nr_cores; k++) CHECK(core_state(S.cores[k].word) == USF_CORE_IDLE);
    sched_proc_remove(&S, S.proc, true);
    CHECK(shm_retire_if_empty(&m, 0));
    return 0;
}
