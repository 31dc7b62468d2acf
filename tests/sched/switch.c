/* tests/sched/switch.c - the policy is replaced under load, and who does that is killed.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: switch [kill] [SEED]
 * Threads of two processes block, wake each other, yield and leave for system calls, while policies are asked for one after the other: 100
 * times between all built-in ones that schedule.  Never two threads on a core; every thread goes on; the policy in force is the one
 * that was asked for last.
 *
 * kill: the tool that asks and the monitor that does it are killed at perturbation points meanwhile.  A request is then done as a whole,
 * or not at all, and the next one is. */
#include <errno.h>
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

enum { THREADS = 5, WORKERS = 2, SWITCHES = 100, KILLS = 24, STUCK_S = 20 };
static const char *const asker_points[] = {"ask.locked", "ask.written", "ask.asked"};
static const char *const monitor_points[] = {
    "policy.written", "policy.under_way", "policy.published", "policy.in_force", "policy.wiped", "policy.telling", "ask.answer",
    "sched.unlock",
};

static struct {
    _Atomic uint64_t owner[USF_MAX_CORES];      /* who believes to have it: pid << 32 | tid */
    _Atomic uint64_t done[WORKERS][THREADS];
    int failures;                               /* see check.h */
    _Atomic uint32_t killed;
} *shared;

static uint64_t rng;
static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x >> 11;
}

/* ---- a process that takes part -------------------------------------------------------------------- */

struct thread {
    struct sched_self self;
    uint64_t rng;
    uint32_t core;
    _Atomic uint32_t id, credit;
    _Atomic uint64_t *done;
};
static struct sched s;
static struct thread threads[THREADS];

static uint64_t own_name(void) { return (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid); }

static void enter_core(struct thread *t)
{
    while (atomic_load(&s.tasks[t->self.task].state) == USF_TASK_IN_KERNEL) sched_yield_core(&s, &t->self, false);
    t->core = USF_NONE;
    if (sched_is_by_kernel(&s, &t->self)) return;
    sched_crit_enter(&t->self);
    t->core = atomic_load(&s.tasks[t->self.task].core);
    EXPECT(t->core < s.h->nr_cores && atomic_exchange(&shared->owner[t->core], own_name()) == 0);
    sched_crit_leave(&s, &t->self);
}
static void exit_core(struct thread *t) { EXPECT(t->core == USF_NONE || atomic_exchange(&shared->owner[t->core], 0) == own_name()); }

static void something(struct thread *t)
{
    struct thread *other = &threads[next(&t->rng) % THREADS];
    uint32_t id = atomic_load(&other->id);
    switch (next(&t->rng) % 6) {
    case 0: case 1:
        atomic_store(&other->credit, 1);
        exit_core(t);       /* one that sleeps for long on the lock, which the dead has, loses its core unseen */
        if (id != USF_NONE) sched_wake(&s, &t->self, &id, 1);
        enter_core(t);
        break;
    case 2:
        exit_core(t);
        for (int n = 0; n < 5 && !atomic_exchange(&t->credit, 0); n++) sched_block(&s, &t->self, os_now() + 300000);
        enter_core(t);
        break;
    case 3:
        exit_core(t);
        sched_leave_core(&s, &t->self, next(&t->rng) & 1);
        if (next(&t->rng) % 4 == 0) usleep(next(&t->rng) % 100);
        sched_return_core(&s, &t->self);
        enter_core(t);
        break;
    default:
        exit_core(t);
        sched_yield_core(&s, &t->self, false);
        enter_core(t);
    }
}

static void *run(void *arg)
{
    struct thread *t = arg;
    t->self = (struct sched_self){.task = USF_NONE};
    EXPECT(sched_attach(&s, &t->self, (int)syscall(SYS_gettid), "t") == 0);
    enter_core(t);
    atomic_store(&t->id, t->self.task);
    for (;;) {
        something(t);
        atomic_fetch_add(t->done, 1);
    }
    return 0;
}

static void bind_to(struct sched *to, struct usf_header *h, const char *dir)
{
    char why[128];
    sched_bind(to, h);
    to->shm_dir = dir;
    to->remote_pin = true;
    EXPECT(sched_use_policy(to, 0, why, sizeof why) == 0, "%s", why);
}

static bool wait_on(uint32_t owner) { return (void)owner, false; }

static void work(struct usf_header *h, const char *dir, int which)
{
    struct os_cpuset cpus;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    usf_lock_on_stuck = wait_on;
    bind_to(&s, h, dir);
    EXPECT(os_getaffinity(0, &cpus) == 0);
    EXPECT(sched_proc_join(&s, getpid(), os_start_time(getpid()), "switch", &cpus, 0) >= 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_t p;
        threads[i].rng = next(&rng) | 1;
        threads[i].id = USF_NONE;
        threads[i].done = &shared->done[which][i];
        pthread_create(&p, 0, run, &threads[i]);
    }
    for (;;) pause();
}

/* ---- the monitor ---------------------------------------------------------------------------------- */

static struct sched m;

static void no_preempt(void *arg, uint32_t task) { (void)arg, (void)task; }
static char state(void *arg, uint32_t task)
{
    (void)arg;
    uint32_t proc = m.tasks[task].proc;
    return proc < m.h->max_procs ? os_thread_state(m.procs[proc].pid, sched_thread_of(&m, task)->tid) : 0;
}
/* The workers live; our predecessor does not. */
static bool is_dead(void *arg, uint32_t name) { return (void)arg, name >= LOCK_NAME_MONITOR; }

static void watch(struct usf_header *h, const char *dir)
{
    static struct sched_watcher memory;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bind_to(&m, h, dir);
    m.watch = &memory;
    sched_recover(&m, is_dead, 0);
    sched_watch_begin(&m);
    for (;;) {
        uint32_t event = atomic_load(&h->monitor_event);
        sched_answer(&m);
        uint64_t ns = sched_watch(&m, no_preempt, state, 0);
        os_futex_wait(&h->monitor_event, event, os_now() + (ns < 1000000 ? ns : 1000000));
    }
}

/* ---- the test ------------------------------------------------------------------------------------- */

static struct shm shm;
static char dir[] = "/tmp/usf-switch-XXXXXX", name[USF_NAME_MAX];
static pid_t workers[WORKERS], monitor;
static bool kills;

static void plan_death(const char *const *points, unsigned n, unsigned visits)
{
    char plan[96];
    snprintf(plan, sizeof plan, "seed=%u,delay=20,yield=20,kill=%s:%u", (unsigned)next(&rng) & 0xffffff, points[next(&rng) % n],
             (unsigned)(next(&rng) % visits) + 1);
    setenv("USF_POINTS", plan, 1);
    usf_points_again();
}

static void start_monitor(void)
{
    next(&rng);
    fflush(stdout);
    monitor = fork();
    if (monitor) return;
    if (kills) plan_death(monitor_points, sizeof monitor_points / sizeof *monitor_points, 3);
    watch(shm.h, dir);
}

static void keep_monitor(void)
{
    int status;
    if (waitpid(monitor, &status, WNOHANG) != monitor) return;
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    shared->killed++;
    start_monitor();
}

/* By a process of its own.  0 done, 1 refused or no answer, 2 killed. */
static int ask_for(const char *policy, bool may_die)
{
    next(&rng);
    fflush(stdout);
    pid_t pid = fork();
    int status;
    if (!pid) {
        struct shm mine;
        struct shm_config c = {.name = name, .dir = dir, .keep = true};
        char why[200] = "";
        if (may_die) plan_death(asker_points, sizeof asker_points / sizeof *asker_points, 1);
        if (shm_open_instance(&c, false, &mine)) _exit(3);
        int r = sched_ask(&mine, &(struct sched_request){.kind = USF_ASK_POLICY, .policy = policy}, 10000000000ull, why, sizeof why);
        if (r) fprintf(stderr, "%s: %s\n", policy, why);
        _exit(r ? 1 : 0);
    }
    while (waitpid(pid, &status, WNOHANG) != pid) {
        keep_monitor();
        usleep(500);
    }
    if (WIFSIGNALED(status)) {
        EXPECT(may_die && WTERMSIG(status) == SIGKILL);
        shared->killed++;
        return 2;
    }
    EXPECT(WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status);
}

static bool all_go_on(void)
{
    uint64_t before[WORKERS][THREADS], until = os_now() + STUCK_S * 1000000000ull;
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < THREADS; i++) before[w][i] = atomic_load(&shared->done[w][i]);
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < THREADS; i++)
            while (atomic_load(&shared->done[w][i]) == before[w][i]) {
                if (os_now() > until) return fprintf(stderr, "thread %d of worker %d is stuck\n", i, w), false;
                keep_monitor();
                usleep(200);
            }
    return true;
}

static const char *other_policy(void)
{
    for (;;) {
        unsigned n = 0, k = 0;
        while (usf_builtin_policies[n]) n++;
        k = (unsigned)(next(&rng) % n);
        if (usf_builtin_policies[k]->flags & USF_POLICY_KERNEL) continue;
        if (n > 2 && !strcmp(usf_builtin_policies[k]->name, shm.h->policy)) continue;
        return usf_builtin_policies[k]->name;
    }
}

static void switch_policies(void)
{
    for (unsigned n = 0; n < (kills ? KILLS : SWITCHES) && !check_failed(); n++) {
        const char *policy = other_policy();
        int r = ask_for(policy, kills && n % 2);
        EXPECT(r == 2 || r == 0);
        if (r == 0) EXPECT(!strcmp(shm.h->policy, policy));
        if (n % 10 == 0) EXPECT(all_go_on());
        usleep(3000);
        keep_monitor();
    }
    EXPECT(ask_for("linux", false) == 1);
    EXPECT(ask_for("nosuch", false) == 1);
    EXPECT(ask_for("fifo", false) == 0 && !strcmp(shm.h->policy, "fifo"));
    EXPECT(shm.h->policy_by == USF_POLICY_BY_REQUEST && !shm.h->policy_why[0]);
    EXPECT(all_go_on());
}

static int run_test(void)
{
    snprintf(name, sizeof name, "switch-%d", getpid());
    struct shm_config c = {.name = name, .dir = dir, .policy = "coop"};
    if (!mkdtemp(dir)) return 77;
    if (shm_open_instance(&c, true, &shm)) return fprintf(stderr, "%s\n", shm.why), 77;
    start_monitor();
    for (int i = 0; i < WORKERS; i++) {
        next(&rng);
        workers[i] = fork();
        if (!workers[i]) work(shm.h, dir, i);
    }
    EXPECT(all_go_on());
    switch_policies();
    printf("%u changes, %u killed\n", atomic_load(&shm.h->policy_gen), shared->killed);
    if (!kills) EXPECT(atomic_load(&shm.h->policy_gen) >= SWITCHES);
    for (int i = 0; i < WORKERS; i++) kill(workers[i], SIGKILL);
    for (int i = 0; i < WORKERS; i++) waitpid(workers[i], 0, 0);
    kill(monitor, SIGKILL);
    waitpid(monitor, 0, 0);
    char path[SHM_PATH_MAX];
    if (shm_path(dir, name, os_geteuid(), path, sizeof path) > 0) unlink(path);
    rmdir(dir);
    return check_failed();
}

int main(int argc, char **argv)
{
    alarm(100);
    kills = argc > 1 && !strcmp(argv[1], "kill");
    uint64_t seed = argc > 1 + kills ? strtoull(argv[1 + kills], 0, 0) : (uint64_t)time(0) ^ (uint64_t)getpid() << 20;
    printf("seed %lu\n", (unsigned long)seed);
    check_seed = seed;
    rng = seed * 0x9e3779b97f4a7c15ull | 1;
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 77;
    check_failures = &shared->failures;
    return run_test();
}
