/* tests/futex/vforked.c CASE - private futexes of a child of vfork and of its parent's threads: they lie in the same memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same cases pass bare.  Exit status 0 or 1.  A child has an alarm clock of its own: where it waits for ever its parent does, too. */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../asleep.h"
#include "../check.h"

enum { WAITERS = 3, TURNS = 100, KILLS = 100, PATIENCE = 20 };

static volatile pid_t child;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static long futex(_Atomic int *word, int op, long val, long val2, _Atomic int *word2, long val3)
{ return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, val, val2, word2, val3); }

/* Returns in the parent, when the child has ended or was killed. */
static __attribute__((noinline)) int run_child(void (*what)(void))
{
    int status;
    pid_t pid = vfork();
    CHECK(pid >= 0);
    if (pid == 0) {
        child = getpid();
        alarm(PATIENCE);
        what();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

/* ---- the child waits -------------------------------------------------------------------------------- */
static sem_t has_it;
static void *holder(void *arg)
{
    CHECK(!pthread_mutex_lock(&mutex) && !sem_post(&has_it));
    while (!child || !sleeps_in(child, SYS_futex)) sched_yield();
    CHECK(!pthread_mutex_unlock(&mutex));
    return arg;
}
static void lock(void)
{
    if (pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex)) _exit(1);
}
static void waits(void)
{
    pthread_t t;
    CHECK(!sem_init(&has_it, 0, 0) && !pthread_create(&t, NULL, holder, NULL) && !sem_wait(&has_it));
    CHECK_EQ(run_child(lock), 0);
    CHECK(!pthread_join(t, NULL));
}

/* ---- the child and a thread wait for each other ----------------------------------------------------- */
static sem_t to, from;
static void *answers(void *arg)
{
    for (int i = 0; i < TURNS; i++) CHECK(!sem_wait(&to) && !sem_post(&from));
    return arg;
}
static void ask(void)
{
    for (int i = 0; i < TURNS; i++)
        if (sem_post(&to) || sem_wait(&from)) _exit(1);
}
static void turns(void)
{
    pthread_t t;
    CHECK(!sem_init(&to, 0, 0) && !sem_init(&from, 0, 0) && !pthread_create(&t, NULL, answers, NULL));
    CHECK_EQ(run_child(ask), 0);
    CHECK(!pthread_join(t, NULL));
}

/* ---- what each operation returns -------------------------------------------------------------------- */
static _Atomic int a, b, c;
static void *wait_at(void *word)
{
    CHECK_EQ(futex(word, FUTEX_WAIT, 0, 0, NULL, 0), 0);
    return NULL;
}
/* Until they wait: each is counted once, when it is moved. */
static void operate(void)
{
    int moved = 0;
    for (long r; moved < WAITERS; moved += (int)r)
        if ((r = futex(&a, FUTEX_CMP_REQUEUE, 0, INT_MAX, &b, 0)) < 0) _exit(1);
    if (futex(&a, FUTEX_WAKE, INT_MAX, 0, NULL, 0) != 0) _exit(2);
    if (futex(&b, FUTEX_WAKE, 1, 0, NULL, 0) != 1) _exit(3);
    if (futex(&c, FUTEX_WAKE_OP, 1, 1, &b, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0)) != 1 || b != 1) _exit(4);
    if (futex(&b, FUTEX_WAKE_BITSET, INT_MAX, 0, NULL, 1) != 1) _exit(5);
    if (futex(&b, FUTEX_WAKE, INT_MAX, 0, NULL, 0) != 0) _exit(6);
}
static void operations(void)
{
    pthread_t t[WAITERS];
    for (int i = 0; i < WAITERS; i++) CHECK(!pthread_create(&t[i], NULL, wait_at, &a));
    CHECK_EQ(run_child(operate), 0);
    for (int i = 0; i < WAITERS; i++) CHECK(!pthread_join(t[i], NULL));
}

/* ---- the child is killed at any time ---------------------------------------------------------------- */
static _Atomic bool over;
static _Atomic long woken;
static void *is_woken(void *arg)
{
    while (!over) {
        woken += !futex(&a, FUTEX_WAIT, 0, 0, NULL, 0);
        CHECK(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
    }
    return arg;
}
static void *kills(void *arg)
{
    for (int i = 0; i < KILLS; i++) {
        while (!child) sched_yield();
        for (long before = woken; woken < before + 1 + i % 7;) sched_yield();
        pid_t pid = child;
        child = 0;
        CHECK(!kill(pid, SIGKILL));
    }
    return arg;
}
static void wake_for_ever(void)
{
    for (;;) futex(&a, FUTEX_WAKE, 1, 0, NULL, 0);
}
static void killed(void)
{
    pthread_t t[WAITERS + 1];
    for (int i = 0; i < WAITERS; i++) CHECK(!pthread_create(&t[i], NULL, is_woken, NULL));
    CHECK(!pthread_create(&t[WAITERS], NULL, kills, NULL));
    for (int i = 0; i < KILLS; i++) CHECK_EQ(run_child(wake_for_ever), SIGKILL);
    over = true;
    a = 1;
    CHECK(futex(&a, FUTEX_WAKE, INT_MAX, 0, NULL, 0) >= 0);
    for (int i = 0; i < WAITERS + 1; i++) CHECK(!pthread_join(t[i], NULL));
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] =
        {{"waits", waits}, {"turns", turns}, {"operations", operations}, {"killed", killed}};
    alarm(100);
    for (unsigned i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[1])) continue;
        cases[i].run();
        return 0;
    }
    fprintf(stderr, "usage: vforked CASE\n");
    return 2;
}
