/* bench/tasks_bench.c - what the operations of the tasking API cost.  SPDX-License-Identifier: Apache-2.0
 *
 *   build/bench/tasks-bench [--cpus N] [--rounds N] [NAME...]      a JSON line per measurement; without NAME all
 *
 * Each is repeated; the line has the median and the extremes, wall and CPU time per operation (CPU time of all threads: on one CPU it
 * is what the operation costs, whatever else runs beside), and the native primitive with the same job where there is one. */
#include <nosv.h>
#include <nosv/affinity.h>
#include <nosv/hwinfo.h>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OK(call) do { int r_ = (call); if (r_) { fprintf(stderr, "%s: %s\n", #call, nosv_get_error_string(r_)); exit(1); } } while (0)

static int rounds = 5, cpus;

static double clock_s(clockid_t c)
{
    struct timespec t;
    clock_gettime(c, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- repetition --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, const char *unit, double *v, const double *cpu)
{
    qsort(v, (size_t)rounds, sizeof *v, by_value);
    printf("{\"name\": \"%s\", \"cpus\": %d, \"unit\": \"%s\", \"median\": %.4g, \"min\": %.4g, \"max\": %.4g", name, cpus, unit, v[rounds / 2], v[0],
           v[rounds - 1]);
    if (cpu) printf(", \"cpu_ns\": %.4g", cpu[0]);
    printf("}\n");
    fflush(stdout);
}

/* `run` does n operations. */
static void repeat(const char *name, void (*run)(long), long n)
{
    double wall[64], cpu[64];
    for (int i = 0; i < rounds; i++) {
        double w = clock_s(CLOCK_MONOTONIC), c = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        run(n);
        wall[i] = 1e9 * (clock_s(CLOCK_MONOTONIC) - w) / (double)n;
        cpu[i] = 1e9 * (clock_s(CLOCK_PROCESS_CPUTIME_ID) - c) / (double)n;
    }
    qsort(cpu, (size_t)rounds, sizeof *cpu, by_value);
    cpu[0] = cpu[rounds / 2];
    report(name, "ns", wall, cpu);
}

static void on_thread(void *(*body)(void *), void *arg)
{
    pthread_t t;
    if (pthread_create(&t, 0, body, arg)) exit(1);
    pthread_join(t, 0);
}

/* ---- create, submit, run, destroy --------------------------------------------------------------- */

/* Of many, the one that ends last wakes who waits: no counter that all would write. */
static nosv_task_type_t empty, last_type;
static void nothing(nosv_task_t t) { (void)t; }
static void destroy(nosv_task_t t) { nosv_destroy(t, NOSV_DESTROY_NONE); }

static _Atomic long ended;
static void count(nosv_task_t t)
{
    nosv_destroy(t, NOSV_DESTROY_NONE);
    atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
}

static void make(long n, nosv_task_type_t of_last)
{
    for (long i = 0; i < n; i++) {
        nosv_task_t t;
        OK(nosv_create(&t, i < n - 1 ? empty : of_last, 0, NOSV_CREATE_NONE));
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
    }
}

/* A task creates them and then waits. */
static nosv_task_t creator;
static void resume_creator(nosv_task_t t)
{
    nosv_destroy(t, NOSV_DESTROY_NONE);
    OK(nosv_submit(creator, NOSV_SUBMIT_NONE));
}

static void create_attached(long n, long batch)
{
    creator = nosv_self();
    for (long i = 0; i < n; i += batch) {
        make(batch, last_type);
        nosv_pause(NOSV_PAUSE_NONE);
    }
}
static void create_1000(long n) { create_attached(n, 1000); }
static void create_all(long n) { create_attached(n, n); }

/* Others may not have ended when the last has: wait for all, by their number. */
static nosv_task_type_t counted;
static void create_unattached(long n)
{
    atomic_store(&ended, 0);
    for (long i = 0; i < n; i++) {
        nosv_task_t t;
        OK(nosv_create(&t, counted, 0, NOSV_CREATE_NONE));
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
    }
    while (atomic_load(&ended) < n) sched_yield();
}

static void create_them_all(nosv_task_t t) { make(*(long *)nosv_get_task_metadata(t), empty); }

/* The last of each 1,000 wakes the task that has created them. */
static nosv_task_type_t wakes_creator;
static void resume_mine(nosv_task_t t)
{
    nosv_task_t mine = *(nosv_task_t *)nosv_get_task_metadata(t);
    nosv_destroy(t, NOSV_DESTROY_NONE);
    OK(nosv_submit(mine, NOSV_SUBMIT_NONE));
}

static void create_by_1000(nosv_task_t t)
{
    for (long n = *(long *)nosv_get_task_metadata(t); n > 0; n -= 1000) {
        nosv_task_t last;
        make(999, empty);
        OK(nosv_create(&last, wakes_creator, sizeof t, NOSV_CREATE_NONE));
        *(nosv_task_t *)nosv_get_task_metadata(last) = t;
        OK(nosv_submit(last, NOSV_SUBMIT_NONE));
        OK(nosv_pause(NOSV_PAUSE_NONE));
    }
}

/* One creator per CPU. */
static _Atomic int creators;
static void creator_ended(nosv_task_t t) { if (atomic_fetch_sub(&creators, 1) == 1) OK(nosv_submit(creator, NOSV_SUBMIT_NONE)); nosv_destroy(t, NOSV_DESTROY_NONE); }
static void create_everywhere(long n, void (*body)(nosv_task_t))
{
    nosv_task_type_t type;
    creator = nosv_self();
    OK(nosv_type_init(&type, body, 0, creator_ended, "creator", 0, 0, NOSV_TYPE_INIT_NONE));
    atomic_store(&creators, cpus);
    for (int i = 0; i < cpus; i++) {
        nosv_task_t t;
        OK(nosv_create(&t, type, sizeof(long), NOSV_CREATE_NONE));
        *(long *)nosv_get_task_metadata(t) = n / cpus;
        OK(nosv_submit(t, NOSV_SUBMIT_NONE));
    }
    nosv_pause(NOSV_PAUSE_NONE);
    nosv_yield(NOSV_YIELD_NONE);        /* what is left */
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}
static void create_each_1000(long n) { create_everywhere(n, create_by_1000); }
static void create_each_all(long n) { create_everywhere(n, create_them_all); }

/* ---- switches ----------------------------------------------------------------------------------- */

static nosv_task_t partner[2];
static long turns;
static void play(nosv_task_t t)
{
    nosv_task_t other = partner[t == partner[0]];
    for (long i = 0; i < turns; i++) {
        nosv_submit(other, NOSV_SUBMIT_NONE);
        nosv_pause(NOSV_PAUSE_NONE);
    }
    if (t == partner[0]) nosv_submit(other, NOSV_SUBMIT_NONE);     /* it is in its last pause */
}
static void ended_one(nosv_task_t t)
{
    (void)t;
    if (atomic_fetch_sub(&creators, 1) == 1) OK(nosv_submit(creator, NOSV_SUBMIT_NONE));
}

static void ping_pong(long n, int strict)
{
    nosv_task_type_t type;
    int *cpu = nosv_get_available_cpus();
    creator = nosv_self();
    turns = n / 2;
    atomic_store(&creators, 2);
    OK(nosv_type_init(&type, play, 0, ended_one, "play", 0, 0, NOSV_TYPE_INIT_NONE));
    for (int i = 0; i < 2; i++) {
        OK(nosv_create(&partner[i], type, 0, NOSV_CREATE_NONE));
        nosv_affinity_t a = nosv_affinity_get((uint32_t)cpu[strict && cpus > 1 ? i : 0], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
        if (strict) nosv_set_task_affinity(partner[i], &a);
    }
    OK(nosv_submit(partner[0], NOSV_SUBMIT_NONE));
    nosv_pause(NOSV_PAUSE_NONE);
    for (int i = 0; i < 2; i++) OK(nosv_destroy(partner[i], NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    free(cpu);
}
static void pause_submit(long n) { ping_pong(n, 0); }
static void strict_pause_submit(long n) { ping_pong(n, 1); }

static void yields(nosv_task_t t)
{
    (void)t;
    for (long i = 0; i < turns; i++) nosv_yield(NOSV_YIELD_NONE);
}

static void yield_among(long n, int tasks)
{
    nosv_task_type_t type;
    creator = nosv_self();
    turns = n / tasks;
    atomic_store(&creators, tasks);
    OK(nosv_type_init(&type, yields, 0, ended_one, "yields", 0, 0, NOSV_TYPE_INIT_NONE));
    nosv_task_t t[8];
    int *cpu = nosv_get_available_cpus();
    nosv_affinity_t here = nosv_affinity_get((uint32_t)cpu[0], NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT);
    for (int i = 0; i < tasks; i++) {
        OK(nosv_create(&t[i], type, 0, NOSV_CREATE_NONE));
        nosv_set_task_affinity(t[i], &here);
        OK(nosv_submit(t[i], NOSV_SUBMIT_NONE));
    }
    nosv_pause(NOSV_PAUSE_NONE);
    for (int i = 0; i < tasks; i++) OK(nosv_destroy(t[i], NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    free(cpu);
}
static void yield_2(long n) { yield_among(n, 2); }
static void yield_8(long n) { yield_among(n, 8); }

/* ---- the native primitives ---------------------------------------------------------------------- */

static _Atomic uint32_t ball;
static void *futex_player(void *arg)
{
    uint32_t mine = arg != 0;
    for (long i = 0; i < turns; i++) {
        while (atomic_load(&ball) != mine) syscall(SYS_futex, &ball, FUTEX_WAIT_PRIVATE, 1 - mine, 0, 0, 0);
        atomic_store(&ball, 1 - mine);
        syscall(SYS_futex, &ball, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    }
    return 0;
}

static void pin(pthread_t t, int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(t, sizeof one, &one);
}

static void futex_players(long n, int spread)
{
    pthread_t t[2];
    atomic_store(&ball, 0);
    turns = n / 2;
    int *cpu = nosv_get_available_cpus();
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], 0, futex_player, i ? &ball : 0);
        pin(t[i], cpu[spread && cpus > 1 ? i : 0]);
    }
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    free(cpu);
}
static void futex_one_cpu(long n) { futex_players(n, 0); }
static void futex_two_cpus(long n) { futex_players(n, 1); }

static void *sched_yielder(void *arg)
{
    for (long i = 0; i < turns; i++) sched_yield();
    return arg;
}
static void sched_yields(long n, int threads)
{
    pthread_t t[8];
    turns = n / threads;
    int *cpu = nosv_get_available_cpus();
    for (int i = 0; i < threads; i++) {
        pthread_create(&t[i], 0, sched_yielder, 0);
        pin(t[i], cpu[0]);
    }
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    free(cpu);
}
static void sched_yield_2(long n) { sched_yields(n, 2); }
static void sched_yield_8(long n) { sched_yields(n, 8); }

/* ---- attach, waitfor, init ---------------------------------------------------------------------- */

static void attach_detach(long n)
{
    for (long i = 0; i < n; i++) {
        nosv_task_t t;
        OK(nosv_attach(&t, 0, 0, NOSV_ATTACH_NONE));
        OK(nosv_detach(NOSV_DETACH_NONE));
    }
}

static _Atomic int stop;
static void busy(nosv_task_t t)
{
    (void)t;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (volatile int i = 0; i < 2000; i++) {}
        nosv_schedpoint(NOSV_SCHEDPOINT_NONE);
    }
}

/* How late nosv_waitfor(1 ms) returns, in us, with a busy task per CPU or without. */
static void lateness(const char *name, int busy_tasks)
{
    double v[64], one[51];
    nosv_task_type_t type;
    nosv_task_t t[256];
    creator = nosv_self();
    atomic_store(&stop, 0);
    atomic_store(&creators, busy_tasks);
    OK(nosv_type_init(&type, busy, 0, ended_one, "busy", 0, 0, NOSV_TYPE_INIT_NONE));
    for (int i = 0; i < busy_tasks; i++) {
        OK(nosv_create(&t[i], type, 0, NOSV_CREATE_NONE));
        OK(nosv_submit(t[i], NOSV_SUBMIT_NONE));
    }
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 51; k++) {
            uint64_t took;
            OK(nosv_waitfor(1000000, &took));
            one[k] = 1e-3 * ((double)took - 1e6);
        }
        qsort(one, 51, sizeof *one, by_value);
        v[i] = one[25];
    }
    atomic_store(&stop, 1);
    if (busy_tasks) nosv_pause(NOSV_PAUSE_NONE);
    for (int i = 0; i < busy_tasks; i++) OK(nosv_destroy(t[i], NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    report(name, "us", v, 0);
}

static void nanosleep_lateness(void)
{
    double v[64], one[51];
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 51; k++) {
            double w = clock_s(CLOCK_MONOTONIC);
            nanosleep(&(struct timespec){0, 1000000}, 0);
            one[k] = 1e6 * (clock_s(CLOCK_MONOTONIC) - w) - 1000;
        }
        qsort(one, 51, sizeof *one, by_value);
        v[i] = one[25];
    }
    report("native nanosleep(1 ms) lateness, idle", "us", v, 0);
}

/* The first in a process each time: in a child. */
static void init_times(void)
{
    double first[64], further[64];
    for (int i = 0; i < rounds; i++) {
        int p[2];
        double both[2];
        if (pipe(p)) exit(1);
        fflush(stdout);
        if (fork() == 0) {
            double a = clock_s(CLOCK_MONOTONIC);
            OK(nosv_init());
            both[0] = 1e3 * (clock_s(CLOCK_MONOTONIC) - a);
            a = clock_s(CLOCK_MONOTONIC);
            OK(nosv_init());
            both[1] = 1e3 * (clock_s(CLOCK_MONOTONIC) - a);
            _exit(write(p[1], both, sizeof both) != sizeof both);
        }
        if (read(p[0], both, sizeof both) != sizeof both) exit(1);
        close(p[0]);
        close(p[1]);
        first[i] = both[0];
        further[i] = both[1];
    }
    report("init, first", "ms", first, 0);
    report("init, further", "ms", further, 0);
}

/* ---- memory ------------------------------------------------------------------------------------- */

static long resident_kib(void)
{
    long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void many_tasks(void)
{
    enum { N = 1000000 };
    nosv_task_t *t = malloc(N * sizeof *t);
    long before = resident_kib();
    for (int i = 0; i < N; i++) OK(nosv_create(&t[i], empty, 0, NOSV_CREATE_NONE));
    long after = resident_kib() - (long)(N * sizeof *t / 1024);
    printf("{\"name\": \"memory per created task\", \"cpus\": %d, \"unit\": \"bytes\", \"median\": %.1f}\n", cpus, 1024.0 * (double)(after - before) / N);
    for (int i = 0; i < N; i++) OK(nosv_destroy(t[i], NOSV_DESTROY_NONE));
    free(t);
}

static void pauses(nosv_task_t t)
{
    (void)t;
    nosv_pause(NOSV_PAUSE_NONE);
}

static void many_paused(void)
{
    enum { N = 10000 };
    static nosv_task_t t[N];
    nosv_task_type_t type;
    creator = nosv_self();
    OK(nosv_type_init(&type, pauses, 0, ended_one, "pauses", 0, 0, NOSV_TYPE_INIT_NONE));
    atomic_store(&creators, N);
    double a = clock_s(CLOCK_MONOTONIC);
    for (int i = 0; i < N; i++) {
        OK(nosv_create(&t[i], type, 0, NOSV_CREATE_NONE));
        OK(nosv_submit(t[i], NOSV_SUBMIT_NONE));
    }
    nosv_yield(NOSV_YIELD_NONE);
    for (int i = 0; i < N; i++) OK(nosv_submit(t[i], NOSV_SUBMIT_NONE));
    nosv_pause(NOSV_PAUSE_NONE);
    printf("{\"name\": \"10,000 tasks that pause at once\", \"cpus\": %d, \"unit\": \"s\", \"median\": %.2f}\n", cpus, clock_s(CLOCK_MONOTONIC) - a);
    for (int i = 0; i < N; i++) OK(nosv_destroy(t[i], NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
}

/* ---- which -------------------------------------------------------------------------------------- */

static struct { const char *name; void (*run)(long); long n; } const repeated[] = {
    {"create+submit+run+destroy, 1000 at a time", create_1000, 2000000},
    {"create+submit+run+destroy, all at once", create_all, 1000000},
    {"create+submit+run+destroy, a creator per CPU, 1000 at a time", create_each_1000, 1000000},
    {"create+submit+run+destroy, a creator per CPU, all at once", create_each_all, 1000000},
    {"pause+submit", pause_submit, 200000},
    {"native futex, one CPU", futex_one_cpu, 200000},
    {"pause+submit, strict places", strict_pause_submit, 50000},
    {"native futex, a thread per CPU", futex_two_cpus, 50000},
    {"yield, 2 tasks on a CPU", yield_2, 200000},
    {"native sched_yield, 2 threads on a CPU", sched_yield_2, 200000},
    {"yield, 8 tasks on a CPU", yield_8, 200000},
    {"native sched_yield, 8 threads on a CPU", sched_yield_8, 200000},
};

static bool wanted(const char *name, char **names, int n)
{
    for (int i = 0; i < n; i++)
        if (strstr(name, names[i])) return true;
    return !n;
}

static void *unattached(void *arg)
{
    repeat("create+submit+run+destroy, unattached creator", create_unattached, 300000);
    return arg;
}

int main(int argc, char **argv)
{
    int i = 1;
    for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
        if (!strcmp(argv[i], "--rounds")) rounds = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--cpus")) {
            cpu_set_t all, some;
            sched_getaffinity(0, sizeof all, &all);
            CPU_ZERO(&some);
            for (int c = 0, n = 0; c < CPU_SETSIZE && n < atoi(argv[i + 1]); c++)
                if (CPU_ISSET(c, &all)) n++, CPU_SET(c, &some);
            sched_setaffinity(0, sizeof some, &some);
        } else return fprintf(stderr, "usage: %s [--cpus N] [--rounds N] [NAME...]\n", argv[0]), 2;
    }
    if (rounds < 1 || rounds > 64) rounds = 5;
    char **names = argv + i;
    int n = argc - i;
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
    cpus = CPU_COUNT(&mine);
    if (wanted("init", names, n)) init_times();
    long idle = resident_kib();
    OK(nosv_init());
    if (wanted("memory", names, n))
        printf("{\"name\": \"memory of an idle runtime\", \"cpus\": %d, \"unit\": \"KiB\", \"median\": %ld}\n", cpus, resident_kib() - idle);
    OK(nosv_type_init(&empty, nothing, 0, destroy, "empty", 0, 0, NOSV_TYPE_INIT_NONE));
    OK(nosv_type_init(&last_type, nothing, 0, resume_creator, "last", 0, 0, NOSV_TYPE_INIT_NONE));
    OK(nosv_type_init(&wakes_creator, nothing, 0, resume_mine, "last of 1000", 0, 0, NOSV_TYPE_INIT_NONE));
    OK(nosv_type_init(&counted, nothing, 0, count, "counted", 0, 0, NOSV_TYPE_INIT_NONE));
    nosv_task_t me;
    OK(nosv_attach(&me, 0, "bench", NOSV_ATTACH_NONE));
    for (size_t k = 0; k < sizeof repeated / sizeof *repeated; k++)
        if (wanted(repeated[k].name, names, n)) repeat(repeated[k].name, repeated[k].run, repeated[k].n);
    if (wanted("lateness", names, n)) {
        lateness("waitfor(1 ms) lateness, idle", 0);
        lateness("waitfor(1 ms) lateness, a busy task per CPU", cpus);
    }
    if (wanted("memory", names, n)) many_tasks();
    if (wanted("paused", names, n)) many_paused();
    OK(nosv_detach(NOSV_DETACH_NONE));
    if (wanted("attach+detach", names, n)) repeat("attach+detach", attach_detach, 100000);
    if (wanted("create+submit+run+destroy, unattached creator", names, n)) on_thread(unattached, 0);
    if (wanted("lateness", names, n)) nanosleep_lateness();
    OK(nosv_shutdown());
    return 0;
}
