/* tests/share/tasks.c - a program that tells usf about its threads (usf/usf.h).
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: tasks errors CPU     what the functions answer, one word each; `no`: not scheduled
 *        tasks order          wakes threads of several ranks while it has the only core; in which
 *                             order they run
 *        tasks places N CPU.. goes from CPU to CPU, strictly, N times, beside threads that compute
 *        tasks show CPU       threads with this and that, which wait until standard input ends */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <usf/usf.h>

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *word(int r)
{
    switch (r) {
    case 0: return "ok";
    case ENOSYS: return "no";
    case EINVAL: return "range";
    case ENODEV: return "device";
    }
    return "odd";
}

static int errors(unsigned cpu)
{
    errno = 77;
    const int r[] = {
        usf_task_is_scheduled(),
        usf_task_set_priority(USF_PRIORITY_MAX), usf_task_set_priority(-USF_PRIORITY_MAX), usf_task_set_priority(USF_PRIORITY_MAX + 1),
        usf_task_set_priority(-USF_PRIORITY_MAX - 1), usf_task_set_deadline(UINT64_MAX), usf_task_set_deadline(0),
        usf_task_set_affinity(USF_PLACE_ANY, 100000, 0), usf_task_set_affinity(USF_PLACE_ANY, 0, USF_STRICT),
        usf_task_set_affinity(USF_PLACE_CORE, cpu, 0), usf_task_set_affinity(USF_PLACE_CACHE, cpu, USF_STRICT),
        usf_task_set_affinity(USF_PLACE_NODE, cpu, USF_STRICT), usf_task_set_affinity(USF_PLACE_CORE, 100000, 0),
        usf_task_set_affinity((enum usf_place)4, cpu, 0), usf_task_set_affinity(USF_PLACE_CORE, cpu, 2), usf_prctl_(17, 0, 0, 0),
    };
    for (unsigned i = 0; i < sizeof r / sizeof *r; i++) printf("%s%s", word(r[i]), i + 1 < sizeof r / sizeof *r ? " " : "\n");
    return errno != 77;
}

/* ---- order ----------------------------------------------------------------------------------- */

struct ranked { const char *name; int priority; uint64_t deadline; sem_t go, ready; };
static struct ranked ranked[] = {
    {.name = "plain"}, {.name = "low", .priority = -1}, {.name = "late", .deadline = 1ull << 62}, {.name = "high", .priority = 2},
    {.name = "soon", .deadline = 1}, {.name = "high-soon", .priority = 2, .deadline = 5}, {.name = "mid", .priority = 1},
};
#define RANKED (sizeof ranked / sizeof *ranked)
static const char *order[RANKED];
static _Atomic unsigned nr_run;

static void *run_ranked(void *arg)
{
    struct ranked *r = arg;
    if (r->priority && usf_task_set_priority(r->priority)) exit(3);
    if (r->deadline && usf_task_set_deadline(r->deadline)) exit(3);
    sem_post(&r->ready);
    sem_wait(&r->go);
    order[atomic_fetch_add(&nr_run, 1)] = r->name;
    return 0;
}

/* Waiters are counted when they are queued anew where they are.  A semaphore's futex is its first word. */
static long waiters(sem_t *s) { return syscall(SYS_futex, s, FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, 0, INT_MAX, s, 0); }

static int in_order(void)
{
    pthread_t t[RANKED];
    for (unsigned i = 0; i < RANKED; i++) {
        sem_init(&ranked[i].go, 0, 0);
        sem_init(&ranked[i].ready, 0, 0);
        pthread_create(&t[i], 0, run_ranked, &ranked[i]);
        sem_wait(&ranked[i].ready);
    }
    for (unsigned i = 0; i < RANKED; i++)
        while (waiters(&ranked[i].go) != 1) usleep(100);
    for (unsigned i = 0; i < RANKED; i++) sem_post(&ranked[i].go);
    for (unsigned i = 0; i < RANKED; i++) pthread_join(t[i], 0);
    for (unsigned i = 0; i < RANKED; i++) printf("%s%s", order[i], i + 1 < RANKED ? " " : "\n");
    return 0;
}

/* ---- places ---------------------------------------------------------------------------------- */

static _Atomic bool end;
static void *compute(void *arg)
{
    while (!atomic_load(&end)) sched_yield();
    return arg;
}

static _Atomic unsigned in_handler;
static void handler(int sig) { (void)sig; if (usf_task_set_priority(3) == 0) atomic_fetch_add(&in_handler, 1); }

static int places(int times, int n, char **cpus)
{
    pthread_t t[4];
    int late = 0, left = 0;
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, compute, 0);
    signal(SIGUSR1, handler);
    for (int i = 0; i < times; i++) {
        int cpu = atoi(cpus[i % n]);
        int r = usf_task_set_affinity(USF_PLACE_CORE, (unsigned)cpu, USF_STRICT);
        /* Who has woken it before and is late may bind it to where it was then
         * (docs/design-monitor.md): rare, and put right by the next call. */
        if (r == 0 && sched_getcpu() != cpu) {
            late++;
            r = usf_task_set_affinity(USF_PLACE_CORE, (unsigned)cpu, USF_STRICT);
        }
        if (late > 1 + times / 50 || r || sched_getcpu() != cpu) return printf("%s: on CPU %d, not %d\n", word(r), sched_getcpu(), cpu), 1;
        if (i % 8 == 0) sched_yield();
        if (i % 16 == 0) raise(SIGUSR1);
        if (i % 32 == 0) usleep(100);
        if (sched_getcpu() != cpu && ++left > 1 + times / 50) return printf("left CPU %d\n", cpu), 1;
    }
    atomic_store(&end, true);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    printf("ok %d\n", atomic_load(&in_handler) == (unsigned)(times + 15) / 16);
    return 0;
}

/* ---- show ------------------------------------------------------------------------------------ */

static unsigned the_cpu;
static pthread_barrier_t ready;
static int ends[2];

static void *wait_for_end(const char *name)
{
    char c;
    pthread_setname_np(pthread_self(), name);
    pthread_barrier_wait(&ready);
    return read(ends[0], &c, 1) < 0 ? 0 : &ready;
}

static void *fresh(void *arg) { (void)arg; return wait_for_end("fresh"); }

static void *told(void *arg)
{
    pthread_t t;
    (void)arg;
    if (usf_task_set_priority(7) || usf_task_set_deadline(99) || usf_task_set_affinity(USF_PLACE_CORE, the_cpu, USF_STRICT)) exit(3);
    pthread_create(&t, 0, fresh, 0);        /* has none of it */
    wait_for_end("told");
    pthread_join(t, 0);
    return 0;
}

/* A thread that has ended, and whose kernel thread may be used again. */
static void *passing(void *arg)
{
    if (usf_task_set_priority(500)) exit(3);
    return arg;
}

/* The same by a system call of its own, of which only the runtime gets to know: the next thread is
 * this one of the kernel's. */
static long raw_prctl(long what, long a, long b, long c)
{
    register long r10 __asm__("r10") = b, r8 __asm__("r8") = c;
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(157L /* prctl */), "D"((long)USF_PRCTL), "S"(what), "d"(a), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    return r;
}

static pthread_t passed;
static void *passing_by_itself(void *arg)
{
    if (raw_prctl(USF_PRCTL_PRIORITY, 500, 0, 0) || raw_prctl(USF_PRCTL_DEADLINE, 5, 0, 0)) exit(3);
    if (raw_prctl(USF_PRCTL_AFFINITY, USF_PLACE_CORE, the_cpu, USF_STRICT)) exit(3);
    passed = pthread_self();
    return arg;
}

static void *kept(void *arg)
{
    (void)arg;
    return wait_for_end(pthread_equal(passed, pthread_self()) ? "kept" : "not-kept");
}

/* setpriority and sched_setaffinity, when they come later, count. */
static void *retold(void *arg)
{
    cpu_set_t set;
    (void)arg;
    CPU_ZERO(&set);
    CPU_SET(the_cpu, &set);
    if (usf_task_set_priority(7) || usf_task_set_affinity(USF_PLACE_NODE, the_cpu, USF_STRICT)) exit(3);
    if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 4) || sched_setaffinity(0, sizeof set, &set)) exit(3);
    return wait_for_end("retold");
}

static void *setattr(void *arg)
{
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; } a = {.size = 48};
    a.nice = getpriority(PRIO_PROCESS, 0) + 6;
    if (syscall(314 /* sched_setattr */, 0, &a, 0)) exit(3);
    (void)arg;
    return wait_for_end("setattr");
}

static int show(void)
{
    pthread_t t[4], p;
    char c;
    if (pipe(ends)) return 1;
    pthread_barrier_init(&ready, 0, 6);
    pthread_create(&p, 0, passing, 0);
    pthread_join(p, 0);
    pthread_create(&p, 0, passing_by_itself, 0);
    pthread_join(p, 0);
    pthread_create(&t[3], 0, kept, 0);
    pthread_create(&t[0], 0, told, 0);
    pthread_create(&t[1], 0, retold, 0);
    pthread_create(&t[2], 0, setattr, 0);
    pthread_barrier_wait(&ready);
    if (usf_task_set_priority(11)) return 3;
    pid_t child = fork();
    if (!child) {
        if (write(1, "", 0)) return 1;
        while (read(0, &c, 1) > 0) {}       /* it ends with its parent's input at the latest */
        return 0;
    }
    printf("ready %d\n", (int)child);
    fflush(stdout);
    while (read(0, &c, 1) > 0) {}
    kill(child, SIGKILL);
    waitpid(child, 0, 0);
    close(ends[1]);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2) the_cpu = (unsigned)atoi(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "errors")) return errors(the_cpu);
    if (argc > 1 && !strcmp(argv[1], "order")) return in_order();
    if (argc > 3 && !strcmp(argv[1], "places")) return places(atoi(argv[2]), argc - 3, argv + 3);
    if (argc > 2 && !strcmp(argv[1], "show")) return show();
    return 2;
}
