/* tests/odd/realtime.c - threads become real-time ones, and ordinary ones again.  SPDX-License-Identifier: Apache-2.0
 *
 *   odd-realtime WAY [usf]       usf: they are to be unbound while they are so, and bound before and after
 *
 * "done": all that was asked for was had, and locks, conditions and joins between both kinds work.  77: not allowed here. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <usf/usf.h>

#include "../asleep.h"
#include "../check.h"

#define ROUNDS 40     /* each of the ordinary thread's takes a turn of all the hogs */

static bool scheduled;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static _Atomic int stop, go;

struct attr { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t runtime, deadline, period; };

/* To how many CPUs the kernel binds the thread, whatever the program has asked for. */
static int cpus(void)
{
    char path[64], line[256];
    int n = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/status", syscall(SYS_gettid));
    FILE *f = fopen(path, "r");
    CHECK(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, "Cpus_allowed:", 13))
            for (char *c = line + 13; *c; c++) n += *c > ' ' && *c != ',' ? __builtin_popcount((unsigned)strtoul((char[]){*c, 0}, NULL, 16)) : 0;
    fclose(f);
    return n;
}

static int nr_cpus;                     /* that the program may use */
static void is_ordinary(void) { sched_yield(); CHECK(sched_getscheduler(0) == SCHED_OTHER && (!scheduled || !usf_task_is_scheduled())); }
static void is_real_time(int policy)
{ sched_yield(); CHECK((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == policy && cpus() >= nr_cpus); }

static void may(int r)
{
    if (r == 0) return;
    perror("not allowed");
    exit(77);
}

static void become(int policy)
{
    struct sched_param p = {.sched_priority = policy == SCHED_OTHER ? 0 : 1};
    may(sched_setscheduler(0, policy, &p));
}

/* Whoever has the odd or the even turns. */
static void take_turns(int mine)
{
    for (int i = mine; i < ROUNDS; i += 2) {
        pthread_mutex_lock(&m);
        while (turn != i) pthread_cond_wait(&changed, &m);
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&m);
    }
}

static void *ordinary(void *arg) { take_turns(1); is_ordinary(); return arg; }

/* More threads than there are CPUs want them. */
static void *hog(void *arg) { while (!atomic_load(&stop)) for (int i = 0; i < 100000; i++) __asm__ volatile(""); return arg; }

static void itself(void)
{
    is_ordinary();
    become(SCHED_FIFO);
    is_real_time(SCHED_FIFO);
    take_turns(0);
    become(SCHED_OTHER);
    is_ordinary();
    struct sched_param bad = {.sched_priority = 1000};
    CHECK(sched_setscheduler(0, SCHED_RR, &bad) == -1);
    is_ordinary();
    become(SCHED_RR);
    is_real_time(SCHED_RR);
    usleep(1000);
    become(SCHED_OTHER);
    is_ordinary();
}

static void with_a_deadline(void)
{
    struct attr a = {.size = sizeof a, .policy = 6, .runtime = 2000000, .deadline = 10000000, .period = 10000000}, none = {.size = sizeof none};
    may((int)syscall(SYS_sched_setattr, 0, &a, 0));
    is_real_time(6);
    take_turns(0);
    may((int)syscall(SYS_sched_setattr, 0, &none, 0));
    is_ordinary();
}

static void *told(void *arg)
{
    is_ordinary();
    atomic_store(&go, 1);
    while (atomic_load(&go) == 1) usleep(100);
    is_real_time(SCHED_FIFO);
    take_turns(0);
    atomic_store(&go, 3);
    while (atomic_load(&go) == 3) usleep(100);
    is_ordinary();
    return arg;
}

static void by_another(void)
{
    pthread_t t;
    struct sched_param p = {.sched_priority = 1};
    CHECK(!pthread_create(&t, NULL, told, NULL));
    while (!atomic_load(&go)) usleep(100);
    may(pthread_setschedparam(t, SCHED_FIFO, &p));
    atomic_store(&go, 2);
    while (atomic_load(&go) == 2) usleep(100);
    p.sched_priority = 0;
    CHECK(!pthread_setschedparam(t, SCHED_OTHER, &p));
    atomic_store(&go, 4);
    CHECK(!pthread_join(t, NULL));
}

static void *born(void *arg) { is_real_time(SCHED_FIFO); take_turns(0); return arg; }
static void from_birth(void)
{
    pthread_t t;
    pthread_attr_t a;
    struct sched_param p = {.sched_priority = 1};
    pthread_attr_init(&a);
    pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&a, SCHED_FIFO);
    pthread_attr_setschedparam(&a, &p);
    may(pthread_create(&t, &a, born, NULL));
    CHECK(!pthread_join(t, NULL));
    is_ordinary();
}

static int child(void)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) return -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void forks(void)
{
    become(SCHED_FIFO);
    int r = child();
    if (r < 0) {
        is_real_time(SCHED_FIFO);
        _exit(0);
    }
    CHECK(r == 0);
    become(SCHED_FIFO | SCHED_RESET_ON_FORK);
    r = child();
    if (r < 0) {
        is_ordinary();
        _exit(0);
    }
    CHECK(r == 0);
    is_real_time(SCHED_FIFO);
    CHECK(system("exit 3") == 3 << 8);
    CHECK(execl("/nowhere/none", "none", NULL) == -1);
    is_real_time(SCHED_FIFO);
    take_turns(0);
}

/* ---- signals that come while a real-time thread wakes others ---- */

enum { NOBODY = 1, WAITERS = 2, SIGNALS = 3000 };       /* bits to wait with; whoever wakes nobody looks at all that wait */
static uint32_t word;
static _Atomic int waiting;
static sigjmp_buf out;
static volatile sig_atomic_t handled;

static void wake(uint32_t who) { syscall(SYS_futex, &word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, who); }

static void *wait_for_word(void *arg)
{
    atomic_fetch_add(&waiting, 1);
    while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST)) syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, WAITERS);
    return arg;
}

static void on_timer(int sig)
{
    (void)sig;
    wake(NOBODY);
    if (++handled % 16 == 0) siglongjmp(out, 1);
}

static void wake_under_fire(void)
{
    struct sigaction a = {.sa_handler = on_timer};
    struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 50000}, {0, 50000}}, never = {{0, 0}, {0, 0}};
    static timer_t timer;
    e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    CHECK(!sigaction(SIGUSR1, &a, NULL) && !timer_create(CLOCK_MONOTONIC, &e, &timer) && !timer_settime(timer, 0, &often, NULL));
    sigsetjmp(out, 1);
    while (handled < SIGNALS) wake(NOBODY);
    sigsetjmp(out, 1);
    CHECK(!timer_settime(timer, 0, &never, NULL));
}

static void signals(void)
{
    enum { THREADS = 4 };
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&t[i], NULL, wait_for_word, NULL));
    while (waiting < THREADS) usleep(100);
    become(SCHED_FIFO);
    wake_under_fire();
    take_turns(0);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < THREADS; i++) wake(WAITERS);
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(t[i], NULL));
}

/* ---- those that are bound ---- */

static cpu_set_t one(int which)
{
    cpu_set_t all, set;
    CHECK(!sched_getaffinity(0, sizeof all, &all));
    CPU_ZERO(&set);
    for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&set); c++)
        if (CPU_ISSET(c, &all) && (which-- == 0 || CPU_COUNT(&all) == 1)) CPU_SET(c, &set);
    return set;
}

static void is_bound_to(const cpu_set_t *want)
{
    cpu_set_t set;
    sched_yield();
    CHECK(cpus() == CPU_COUNT(want) && !sched_getaffinity(0, sizeof set, &set) && CPU_EQUAL(&set, want));
}
static void *born_bound(void *want) { is_bound_to(want); return NULL; }

static void makes_bound(const pthread_attr_t *a, cpu_set_t *want)
{
    pthread_t t;
    CHECK(!pthread_create(&t, a, born_bound, want) && !pthread_join(t, NULL));
}

/* Was this program started bound to one CPU? */
static void started_bound(void) { cpu_set_t set = one(0); is_bound_to(&set); }
static void starts_bound(void)
{
    char *const command[] = {"odd-realtime", "started-bound", NULL};
    extern char **environ;
    pid_t pid;
    int status;
    CHECK(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, command, environ) && waitpid(pid, &status, 0) == pid && status == 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) _exit(execv("/proc/self/exe", command));
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void bound(void)
{
    cpu_set_t first = one(0), second = one(1), all;
    pthread_attr_t a;
    CHECK(!sched_getaffinity(0, sizeof all, &all));
    become(SCHED_FIFO);
    CHECK(!pthread_attr_init(&a) && !pthread_attr_setaffinity_np(&a, sizeof second, &second));
    makes_bound(&a, &second);
    CHECK(!sched_setaffinity(0, sizeof first, &first));
    is_bound_to(&first);
    makes_bound(NULL, &first);
    makes_bound(&a, &second);
    starts_bound();
    is_bound_to(&first);
    become(SCHED_OTHER);
    is_bound_to(&first);        /* or so it is told */
    CHECK(!sched_setaffinity(0, sizeof all, &all));
    is_ordinary();
    take_turns(0);
}

/* ---- those that end before they have noticed what has been made of them ---- */

static int end_now[2];
static _Atomic pid_t real_time_tid;
static void *ends(void *arg)
{
    char c;
    become(SCHED_FIFO);
    real_time_tid = (pid_t)syscall(SYS_gettid);
    if (!arg) for (pthread_mutex_lock(&m);;) pthread_cond_wait(&changed, &m);
    if (read(end_now[0], &c, 1) == 1) syscall(SYS_exit, 0);
    exit(1);
}
static void unlock(void *unused) { (void)unused; pthread_mutex_unlock(&m); }
static void *is_cancelled(void *arg)
{
    pthread_cleanup_push(unlock, NULL);
    ends(arg);
    pthread_cleanup_pop(0);
    return NULL;
}

static void ended(void)
{
    struct sched_param none = {0};
    pthread_t t;
    CHECK(!pipe(end_now));
    for (int i = 0; i < 8; i++) {
        real_time_tid = 0;
        CHECK(!pthread_create(&t, NULL, ends, &go));
        while (!real_time_tid || !sleeps_in(real_time_tid, SYS_read)) usleep(100);
        CHECK(!pthread_setschedparam(t, SCHED_OTHER, &none) && write(end_now[1], "x", 1) == 1 && !pthread_join(t, NULL));
        real_time_tid = 0;
        CHECK(!pthread_create(&t, NULL, is_cancelled, NULL));
        while (!real_time_tid || !sleeps_in(real_time_tid, SYS_futex)) usleep(100);
        CHECK(!pthread_cancel(t) && !pthread_join(t, NULL));
    }
    take_turns(0);
    is_ordinary();
}

static const struct { const char *name; void (*run)(void); } ways[] = {
    {"itself", itself}, {"deadline", with_a_deadline}, {"another", by_another}, {"birth", from_birth}, {"forks", forks}, {"signals", signals}, {"bound", bound}, {"ends", ended},
};

int main(int argc, char **argv)
{
    enum { HOGS = 8 };
    pthread_t o, hogs[HOGS];
    void (*way)(void) = NULL;
    alarm(120);
    if (argc > 1 && !strcmp(argv[1], "started-bound")) return started_bound(), 0;
    for (unsigned i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name)) way = ways[i].run;
    if (!way) return 125;
    scheduled = argc > 2;
    cpu_set_t all;
    CHECK(!sched_getaffinity(0, sizeof all, &all));
    nr_cpus = CPU_COUNT(&all);
    for (int i = 0; i < HOGS; i++) CHECK(!pthread_create(&hogs[i], NULL, hog, NULL));
    CHECK(!pthread_create(&o, NULL, ordinary, NULL));
    way();
    CHECK(!pthread_join(o, NULL));
    atomic_store(&stop, 1);
    for (int i = 0; i < HOGS; i++) CHECK(!pthread_join(hogs[i], NULL));
    puts("done");
    return 0;
}
