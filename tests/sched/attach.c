/* tests/sched/attach.c - processes die while threads take records.  SPDX-License-Identifier: Apache-2.0
 *
 * A record that a thread has just taken, and that no process has used before, is left alone when process number 0 dies.  A thread that is
 * killed at any point leaves no record behind. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "sched/sched.h"
#include "shm/shm.h"

static struct shm shm;
static struct sched first, second, monitor;
static char dir[] = "/tmp/usf-attach-XXXXXX";
static const char *at;                  /* at this point ... */
static void (*happens)(void);           /* ... this does */
static jmp_buf killed;

/* In place of src/os/point.c. */
void usf_point(const char *name)
{
    if (!at || strcmp(name, at)) return;
    at = NULL;
    happens();
}

static void die(void) { longjmp(killed, 1); }

static void first_dies(void) { sched_proc_remove(&monitor, first.proc, false); }

static void bind_to(struct sched *s)
{
    char why[160];
    sched_bind(s, shm.h);
    CHECK(sched_use_policy(s, 0, why, sizeof why) == 0, "%s", why);
    s->shm_dir = dir;
}

static void join(struct sched *s)
{
    struct os_cpuset cpus;
    CHECK(os_getaffinity(0, &cpus) == 0);
    CHECK(sched_proc_join(s, getpid(), os_start_time(getpid()), "attach", &cpus, 0) >= 0);
}

static void take_and_free(const char *point, void (*what)(void))
{
    struct sched_self me = {.task = USF_NONE};
    at = point;
    happens = what;
    CHECK(sched_attach(&second, &me, (int32_t)syscall(SYS_gettid), "thread") == 0);
    CHECK(atomic_load(&second.tasks[me.task].state) == USF_TASK_RUNNING && atomic_load(&second.tasks[me.task].proc) == second.proc);
    sched_detach(&second, &me, false);
}

static void check_records(void)
{
    for (uint32_t i = 0; i < atomic_load(&shm.h->task_hwm); i++) {
        CHECK(atomic_load(&second.tasks[i].state) == USF_TASK_FREE, "task %u", i);
        CHECK(atomic_load(&second.tasks[i].claim) == 0 && atomic_load(&second.threads[i].claim) == 0, "record %u", i);
    }
}

static void kill_at(const char *point)
{
    if (!setjmp(killed)) take_and_free(point, die);
    CHECK(!at, "not reached");
    sched_proc_remove(&monitor, second.proc, false);
    check_records();
    second.proc = USF_NONE;
    join(&second);
}

int main(void)
{
    static const char *const points[] = {"sched.claimed_task", "sched.new", "sched.freed_task"};
    alarm(30);
    if (!mkdtemp(dir)) return 77;
    struct shm_config c = {.name = "attach", .dir = dir};
    CHECK(shm_open_instance(&c, true, &shm) == 0, "%s", shm.why);
    bind_to(&monitor);
    bind_to(&first);
    bind_to(&second);
    join(&first);
    join(&second);
    CHECK(first.proc == 0 && second.proc == 1);
    take_and_free("sched.new", first_dies);
    CHECK(!at);
    check_records();
    for (unsigned i = 0; i < sizeof points / sizeof *points; i++) kill_at(points[i]);
    sched_proc_remove(&monitor, second.proc, false);
    CHECK(shm_retire_if_empty(&shm, dir));
    shm_close(&shm);
    CHECK(rmdir(dir) == 0);
    return 0;
}
