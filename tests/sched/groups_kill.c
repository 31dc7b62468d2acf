/* tests/sched/groups_kill.c [SEED] - processes are killed while they make, change, adjust and end groups, others while they clear that away.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One process goes on all the time: its threads block, wake each other, yield and change between three groups.  Beside it one process after
 * the other is killed at each perturbation point of a group's life, mostly with the scheduler's lock.  This process is the monitor:
 * it recovers the lock and takes the dead off.  At points where a monitor may die, another process is the monitor before it.  Afterwards
 * all records agree, the dead have left no group, and every thread of the first process goes on. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "policy/policy.h"
#include "sched/core.h"
#include "sched/lock.h"
#include "sched/watch.h"
#include "shm/shm.h"

enum { THREADS = 4, GROUPS = 3, VISITS = 3, STUCK_S = 20 };

/* Where a process dies that changes its own groups, and where who takes it off does, or confines it. */
static const char *const own_points[] = {
    "sched.group_found", "sched.group_written", "sched.group_made", "sched.group_left", "sched.group_changed", "sched.group_ends",
    "sched.group_adjusted", "sched.confined", "sched.locked", "sched.unlock",
};
static const char *const monitor_points[] = {"sched.removing", "sched.group_ends", "sched.removed", "sched.confined", "sched.mend"};

static struct {
    _Atomic uint64_t done[THREADS];
    int failures;                               /* see check.h */
    _Atomic uint32_t killed, spared, ready;
} *shared;

static uint64_t rng;
static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x >> 11;
}

static struct shm shm;
static char dir[] = "/tmp/usf-groups-XXXXXX", name[USF_NAME_MAX];
static struct sched s;              /* this process's view */
static _Atomic uint32_t ids[THREADS], groups[GROUPS];

static bool wait_on(uint32_t owner) { return (void)owner, false; }

static void bind_view(void)
{
    char why[128];
    usf_lock_on_stuck = wait_on;
    sched_bind(&s, shm.h);
    s.shm_dir = dir;
    s.remote_pin = true;
    EXPECT(sched_use_policy(&s, 0, why, sizeof why) == 0, "%s", why);
}

static void join(void)
{
    struct os_cpuset cpus;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bind_view();
    EXPECT(os_getaffinity(0, &cpus) == 0);
    EXPECT(sched_proc_join(&s, getpid(), os_start_time(getpid()), "groups", &cpus, 0) >= 0);
}

static void plan_death(const char *point, unsigned visit)
{
    char plan[96];
    snprintf(plan, sizeof plan, "seed=%u,delay=20,yield=20,kill=%s:%u", (unsigned)next(&rng) & 0xffffff, point, visit);
    setenv("USF_POINTS", plan, 1);
    usf_points_again();
}

/* ---- the process that goes on --------------------------------------------------------------------- */

static void something(struct sched_self *me, uint64_t *r, unsigned i)
{
    uint32_t id = atomic_load(&ids[next(r) % THREADS]);
    switch (next(r) % 5) {
    case 0: if (id != USF_NONE) sched_wake(&s, me, &id, 1); break;
    case 1: sched_block(&s, me, os_now() + 200000); break;
    case 2: if (id != USF_NONE) sched_change_group(&s, me, id, atomic_load(&groups[next(r) % GROUPS])); break;
    default: sched_yield_core(&s, me, false);
    }
    while (atomic_load(&s.tasks[me->task].state) == USF_TASK_IN_KERNEL) sched_yield_core(&s, me, false);    /* its core was taken unseen */
    atomic_fetch_add(&shared->done[i], 1);
}

static void *run(void *arg)
{
    unsigned i = (unsigned)(uintptr_t)arg;
    uint64_t r = (uint64_t)getpid() * (i + 1) | 1;
    struct sched_self me = {.task = USF_NONE};
    EXPECT(sched_attach(&s, &me, (int)syscall(SYS_gettid), "t") == 0);
    atomic_store(&ids[i], me.task);
    for (;;) something(&me, &r, i);
    return 0;
}

static void go_on(void)
{
    struct sched_self me = {.task = USF_NONE};
    join();
    for (unsigned i = 0; i < THREADS; i++) ids[i] = USF_NONE;
    groups[0] = (uint32_t)(sched_first_group(&s) - s.groups);
    for (unsigned i = 1; i < GROUPS; i++) {
        const uint64_t own[USF_CORE_WORDS] = {i};
        groups[i] = (uint32_t)sched_group_make(&s, &me, "goes on", 100 * i, 0, own, i == 1 ? USF_GROUP_BORROWING : USF_GROUP_EXCLUSIVE);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_t p;
        pthread_create(&p, 0, run, (void *)(uintptr_t)i);
    }
    for (;;) pause();
}

/* ---- one that dies -------------------------------------------------------------------------------- */

static void *wait_in_group(void *arg)
{
    struct sched_self me = {.task = USF_NONE};
    EXPECT(sched_attach(&s, &me, (int)syscall(SYS_gettid), "waits") == 0);
    atomic_store((_Atomic uint32_t *)arg, me.task);
    for (;;) sched_block(&s, &me, 0);
    return 0;
}

/* Its own thread runs in the groups that it makes and ends, a second one is blocked or ready there. */
static void live(const char *point, unsigned visit)
{
    struct sched_self me = {.task = USF_NONE};
    static _Atomic uint32_t second = USF_NONE;
    pthread_t p;
    join();
    EXPECT(sched_attach(&s, &me, (int)syscall(SYS_gettid), "dies") == 0);
    pthread_create(&p, 0, wait_in_group, &second);
    while (atomic_load(&second) == USF_NONE) sched_yield_core(&s, &me, false);
    atomic_store(&shared->ready, 1);
    if (point) plan_death(point, visit);
    for (unsigned n = 0; n < 200 || !point; n++) {
        uint32_t id = atomic_load(&second);
        const uint64_t one[USF_CORE_WORDS] = {1}, two[USF_CORE_WORDS] = {2};
        int a = sched_group_make(&s, &me, "dies", 200, 0, one, USF_GROUP_BORROWING);
        int b = sched_group_make(&s, &me, "dies too", 300, 0, two, USF_GROUP_EXCLUSIVE);
        EXPECT(a >= 0 && b >= 0);
        EXPECT(sched_change_group(&s, &me, id, (uint32_t)a) == 0 && sched_change_group(&s, &me, me.task, (uint32_t)b) == 0);
        if (n % 2) sched_wake(&s, &me, &id, 1);
        EXPECT(sched_change_group(&s, &me, id, (uint32_t)b) == 0);
        sched_yield_core(&s, &me, false);
        EXPECT(sched_group_adjust(&s, &me, (uint32_t)a, 100 + n, 0, two, n % 3) == 0);
        EXPECT(sched_group_end(&s, &me, (uint32_t)b) == 0 && sched_group_end(&s, &me, (uint32_t)a) == 0);
        while (atomic_load(&s.tasks[me.task].state) == USF_TASK_IN_KERNEL) sched_yield_core(&s, &me, false);
    }
    _exit(0);
}

/* ---- the monitor ---------------------------------------------------------------------------------- */

static pid_t dying, stays;

static void no_preempt(void *arg, uint32_t task) { (void)arg, (void)task; }
static char state(void *arg, uint32_t task)
{
    (void)arg;
    uint32_t proc = s.tasks[task].proc;
    return proc < s.h->max_procs && s.procs[proc].pid == stays ? os_thread_state(stays, sched_thread_of(&s, task)->tid) : 'S';
}

/* The lock is that of the process that goes on, or of somebody who is dead. */
static bool is_dead(void *arg, uint32_t who)
{
    (void)arg;
    uint32_t proc = who < LOCK_NAME_PROC ? s.tasks[who - 1].proc : who < LOCK_NAME_MONITOR ? who - LOCK_NAME_PROC : USF_NONE;
    return proc >= s.h->max_procs || s.procs[proc].pid != stays;
}

static uint32_t record_of(pid_t pid)
{
    for (uint32_t i = 0; i < atomic_load(&s.h->proc_hwm); i++)
        if (atomic_load(&s.procs[i].state) != USF_PROC_FREE && s.procs[i].pid == pid) return i;
    return USF_NONE;
}

static bool all_go_on(void)
{
    uint64_t before[THREADS], until = os_now() + STUCK_S * 1000000000ull;
    for (int i = 0; i < THREADS; i++) before[i] = atomic_load(&shared->done[i]);
    for (int i = 0; i < THREADS; i++)
        while (atomic_load(&shared->done[i]) == before[i]) {
            if (os_now() > until) return fprintf(stderr, "thread %d is stuck\n", i), false;
            sched_watch(&s, no_preempt, state, 0);
            os_sleep(200000);
        }
    return true;
}

static void clear_away(pid_t pid)
{
    char why[160];
    uint32_t proc = record_of(pid);
    sched_recover(&s, is_dead, 0);
    if (proc != USF_NONE) sched_proc_remove(&s, proc, false);
    for (uint32_t i = 0; i < atomic_load(&s.h->group_hwm); i++)
        if (atomic_load(&s.groups[i].state) == USF_GROUP_ACTIVE) EXPECT(s.procs[s.groups[i].proc].pid == stays);
    EXPECT(sched_check(&s, why, sizeof why));
    EXPECT(all_go_on());
}

/* As a monitor that dies at the point. */
static void be_monitor(pid_t pid, const char *point, unsigned visit)
{
    static struct sched_watcher memory;
    uint32_t proc = record_of(pid), of_other = record_of(stays);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    s.watch = &memory;
    plan_death(point, visit);
    sched_recover(&s, is_dead, 0);
    for (uint32_t n = 0; n < VISITS; n++) {
        sched_set_quota(&s, of_other, stays, 1, 1);
        sched_set_quota(&s, of_other, stays, USF_NONE, 1);
    }
    if (proc != USF_NONE) sched_proc_remove(&s, proc, false);
    _exit(0);
}

static bool ended_by_kill(pid_t pid)
{
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid);
    bool by_kill = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    EXPECT(by_kill || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    if (by_kill) shared->killed++;
    else shared->spared++;
    return by_kill;
}

static pid_t start(const char *point, unsigned visit)
{
    next(&rng);
    fflush(stdout);
    shared->ready = 0;
    pid_t pid = fork();
    if (!pid) live(point, visit);
    return pid;
}

static void kill_owners(void)
{
    for (unsigned p = 0; p < sizeof own_points / sizeof *own_points; p++)
        for (unsigned visit = 1; visit <= VISITS && !check_failed(); visit++) {
            dying = start(own_points[p], visit);
            EXPECT(ended_by_kill(dying));
            clear_away(dying);
        }
}

static void kill_monitors(void)
{
    for (unsigned p = 0; p < sizeof monitor_points / sizeof *monitor_points; p++)
        for (unsigned visit = 1; visit <= VISITS && !check_failed(); visit++) {
            dying = start(p % 2 ? NULL : "sched.group_left", 2);
            while (!shared->ready) os_sleep(200000);
            os_sleep(2000000);
            kill(dying, SIGKILL);
            EXPECT(ended_by_kill(dying));
            pid_t monitor = fork();
            if (!monitor) be_monitor(dying, monitor_points[p], visit);
            (void)ended_by_kill(monitor);       /* it may come to a point less often */
            clear_away(dying);
        }
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], 0, 0) : (uint64_t)time(0) ^ (uint64_t)getpid() << 20;
    alarm(100);
    printf("seed %lu\n", (unsigned long)seed);
    check_seed = seed;
    rng = seed * 0x9e3779b97f4a7c15ull | 1;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(name, sizeof name, "groups-%d", getpid());
    const char *const policies[] = {"coop", "fair", "equi", "gang", "batch"};
    struct shm_config c = {.name = name, .dir = dir, .policy = policies[next(&rng) % 5]};
    printf("policy %s\n", c.policy);
    if (shared == MAP_FAILED || !mkdtemp(dir)) return 77;
    check_failures = &shared->failures;
    if (shm_open_instance(&c, true, &shm)) return fprintf(stderr, "%s\n", shm.why), 77;
    fflush(stdout);
    stays = fork();
    if (!stays) go_on();
    static struct sched_watcher memory;
    bind_view();
    s.watch = &memory;
    sched_watch_begin(&s);
    EXPECT(all_go_on());
    kill_owners();
    kill_monitors();
    printf("%u killed, %u not\n", shared->killed, shared->spared);
    kill(stays, SIGKILL);
    waitpid(stays, 0, 0);
    char path[SHM_PATH_MAX];
    if (shm_path(dir, name, os_geteuid(), path, sizeof path) > 0) unlink(path);
    rmdir(dir);
    return check_failed();
}
