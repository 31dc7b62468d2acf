/* tests/sched/handler.c - a handler that blocks, on top of a wait that has just ended.  SPDX-License-Identifier: Apache-2.0
 *
 * The waker has taken the wait entry, and has left a pending wake-up, since the thread still runs.  A handler that blocks takes that
 * wake-up.  The wait below is to end all the same. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "sched/sched.h"
#include "shm/shm.h"
#include "sync/sync.h"

static struct sched s;
static struct sync y = {.sched = &s};
static _Thread_local struct sched_self me = {.task = USF_NONE};
static _Thread_local struct sync_self sync_me;
static uint32_t word;
static _Atomic bool waits, woken;
static _Thread_local bool waiter;

static long futex(int op, uint32_t val) { return sync_futex(&y, &sync_me, &word, op | FUTEX_PRIVATE_FLAG, val, 0, 0, 0); }

static void attach(const char *name)
{
    sync_me.sched = &me;
    CHECK(sched_attach(&s, &me, (int32_t)syscall(SYS_gettid), name) == 0);
}

static void *wake(void *arg)
{
    (void)arg;
    attach("waker");
    while (!atomic_load(&waits)) sched_yield_core(&s, &me, false);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    CHECK(futex(FUTEX_WAKE, 1) == 1);
    atomic_store(&woken, true);
    sched_detach(&s, &me, false);
    return 0;
}

static void handler(void)
{
    struct sync_waiter *w = sync_me.waiter;
    uint32_t where = me.where;
    sync_cancel(&y, &sync_me);
    sync_me.waiter = 0;
    CHECK(sched_block(&s, &me, os_now() + 50000000) == 0);       /* at once: the wake-up is taken */
    sync_me.waiter = w;
    me.where = where;
}

/* In place of src/os/point.c. */
void usf_point(const char *name)
{
    if (!waiter || strcmp(name, "sync.waiting")) return;
    waiter = false;
    atomic_store(&waits, true);
    while (!atomic_load(&woken)) sched_yield_core(&s, &me, false);
    handler();
}

int main(void)
{
    char dir[] = "/tmp/usf-handler-XXXXXX", why[160];
    struct shm m;
    struct os_cpuset cpus;
    pthread_t t;
    alarm(30);
    if (!mkdtemp(dir)) return 77;
    struct shm_config c = {.name = "handler", .dir = dir, .policy = "coop"};
    CHECK(shm_open_instance(&c, true, &m) == 0, "%s", m.why);
    m.h->progress_ns = UINT64_MAX / 16;
    sched_bind(&s, m.h);
    CHECK(sched_use_policy(&s, 0, why, sizeof why) == 0, "%s", why);
    s.shm_dir = dir;
    CHECK(os_getaffinity(0, &cpus) == 0);
    int proc = sched_proc_join(&s, getpid(), os_start_time(getpid()), "handler", &cpus, 0);
    CHECK(proc >= 0);
    attach("waiter");
    CHECK(pthread_create(&t, 0, wake, 0) == 0);
    waiter = true;
    CHECK(futex(FUTEX_WAIT, 0) == 0 && !waiter);
    pthread_join(t, 0);
    sched_detach(&s, &me, false);
    sched_proc_remove(&s, (uint32_t)proc, false);
    CHECK(shm_retire_if_empty(&m, dir));
    shm_close(&m);
    CHECK(rmdir(dir) == 0);
    return 0;
}
