/* tests/cli/groups.c NAME - takes part in an instance of its own with two groups, until it is told to end.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"
#include "sched/sched.h"
#include "shm/shm.h"

static struct sched s;
static _Atomic uint32_t waits = USF_NONE;

static void *wait_for_wake(void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    prctl(PR_SET_NAME, "in-second");
    if (sched_attach(&s, &me, (int32_t)syscall(SYS_gettid), "in-second")) return arg;
    atomic_store(&waits, me.task);
    sched_block(&s, &me, 0);
    sched_detach(&s, &me, false);
    return arg;
}

int main(int argc, char **argv)
{
    struct shm_config c = {.name = argv[argc - 1]};
    struct shm shm;
    struct sched_self me = {.task = USF_NONE};
    struct os_cpuset cpus;
    char why[160];
    pthread_t t;
    if (shm_open_instance(&c, true, &shm)) return fprintf(stderr, "%s\n", shm.why), 1;
    sched_bind(&s, shm.h);
    if (sched_use_policy(&s, NULL, why, sizeof why) || os_getaffinity(0, &cpus)) return 1;
    if (sched_proc_join(&s, getpid(), os_start_time(getpid()), "two-groups", &cpus, 0) < 0) return 1;
    prctl(PR_SET_NAME, "in-first");
    const uint64_t first_core[USF_CORE_WORDS] = {1};
    int group = sched_group_make(&s, &me, "tasks\033[31m", 250, 2, first_core, 0);
    if (group < 0 || sched_attach(&s, &me, (int32_t)syscall(SYS_gettid), "in-first")) return 1;
    if (pthread_create(&t, NULL, wait_for_wake, NULL)) return 1;
    while (atomic_load(&waits) == USF_NONE || atomic_load(&s.tasks[waits].state) != USF_TASK_BLOCKED) sched_yield_core(&s, &me, false), usleep(1000);
    if (sched_change_group(&s, &me, waits, (uint32_t)group)) return 1;
    puts("up");
    fflush(stdout);
    getchar();
    sched_wake(&s, &me, &(uint32_t){waits}, 1);
    while (atomic_load(&s.tasks[waits].state) != USF_TASK_FREE) sched_yield_core(&s, &me, false), usleep(1000);
    pthread_join(t, NULL);
    uint32_t proc;
    return sched_leave(&s, &me, &proc) && shm_retire_if_empty(&shm, NULL) ? 0 : 1;
}
