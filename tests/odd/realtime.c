/* tests/odd/realtime.c - threads become real-time ones, and ordinary ones again.  SPDX-License-Identifier: Apache-2.0
 *
 *   odd-realtime WAY [usf]       usf: they are to be unbound while they are so, and bound before and after
 *
 * "done": all that was asked for was had, and locks, conditions and joins between both kinds work.  77: not allowed here. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 40     /* each of the ordinary thread's takes a turn of all the hogs */

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); exit(1); } } while (0)

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

static void is_ordinary(void) { sched_yield(); CHECK(sched_getscheduler(0) == SCHED_OTHER && (!scheduled || cpus() == 1)); }
static void is_real_time(int policy)
{ sched_yield(); CHECK((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == policy && cpus() == sysconf(_SC_NPROCESSORS_ONLN)); }

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

static const struct { const char *name; void (*run)(void); } ways[] = {
    {"itself", itself}, {"deadline", with_a_deadline}, {"another", by_another}, {"birth", from_birth}, {"forks", forks},
};

int main(int argc, char **argv)
{
    enum { HOGS = 8 };
    pthread_t o, hogs[HOGS];
    void (*way)(void) = NULL;
    alarm(120);
    for (unsigned i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name)) way = ways[i].run;
    if (!way) return 125;
    scheduled = argc > 2;
    for (int i = 0; i < HOGS; i++) CHECK(!pthread_create(&hogs[i], NULL, hog, NULL));
    CHECK(!pthread_create(&o, NULL, ordinary, NULL));
    way();
    CHECK(!pthread_join(o, NULL));
    atomic_store(&stop, 1);
    for (int i = 0; i < HOGS; i++) CHECK(!pthread_join(hogs[i], NULL));
    puts("done");
    return 0;
}
