/* tests/float/lease.c - threads that yield to each other all the time or busy-wait, and what else happens meanwhile.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: lease CASE.  None asserts a time: what has to happen happens, or the test hangs. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "../check.h"

enum { YIELDERS = 6, TURNS = 20000 };

static _Atomic bool over;
static _Atomic long turns[YIELDERS];

static void *yielder(void *arg)
{
    long me = (long)arg;
    while (!over) {
        turns[me]++;
        sched_yield();
    }
    return 0;
}

static pthread_t yielders[YIELDERS];
static void begin(void)
{
    for (long i = 0; i < YIELDERS; i++) CHECK(!pthread_create(&yielders[i], 0, yielder, (void *)i));
}
static void end(void)
{
    over = true;
    for (int i = 0; i < YIELDERS; i++) CHECK(!pthread_join(yielders[i], 0));
}
static long all_turns(void)
{
    long n = 0;
    for (int i = 0; i < YIELDERS; i++) n += turns[i];
    return n;
}
/* Until they have had so many more. */
static void wait_for_turns(long more)
{
    for (long was = all_turns(); all_turns() < was + more;) sched_yield();
}

/* Each of them gets on, also those that are on a core with more of them. */
static void share(void)
{
    begin();
    for (int i = 0; i < YIELDERS; i++)
        while (turns[i] < TURNS) sched_yield();
    end();
}

/* ---- a thread that is woken ----------------------------------------------------------------------- */
static sem_t go, gone;
static void *woken(void *arg)
{
    for (int i = 0; i < 300; i++) {
        CHECK(!sem_wait(&go));
        CHECK(!sem_post(&gone));
    }
    return arg;
}
static void wakes(void)
{
    pthread_t t;
    sem_init(&go, 0, 0);
    sem_init(&gone, 0, 0);
    begin();
    CHECK(!pthread_create(&t, 0, woken, 0));
    for (int i = 0; i < 300; i++) {
        CHECK(!sem_post(&go));
        CHECK(!sem_wait(&gone));
        if (i % 30 == 0) wait_for_turns(1000);
    }
    CHECK(!pthread_join(t, 0));
    end();
}

/* ---- one that computes while the others wait for their turns -------------------------------------- */
static void *computes(void *arg)
{
    volatile double x = 1;
    for (int round = 0; round < 5; round++) {
        wait_for_turns(500);
        long was = all_turns();
        while (all_turns() < was + 50) x = sqrt(x + 1);       /* without a call: the others go on nevertheless */
    }
    return arg;
}
static void preempts(void)
{
    pthread_t t;
    begin();
    CHECK(!pthread_create(&t, 0, computes, 0));
    CHECK(!pthread_join(t, 0));
    end();
}

/* ---- threads and processes that begin and end ------------------------------------------------------ */
static void *yields_some(void *arg)
{
    for (int i = 0; i < 40; i++) sched_yield();
    return arg;
}
static void ends(void)
{
    pthread_t t[3];
    begin();
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 3; k++) CHECK(!pthread_create(&t[k], 0, yields_some, 0));
        for (int k = 0; k < 3; k++) CHECK(!pthread_join(t[k], 0));
    }
    end();
}

static void forks(void)
{
    begin();
    for (int i = 0; i < 40; i++) {
        int status;
        wait_for_turns(200);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            for (int k = 0; k < 10; k++) sched_yield();
            _exit(7);
        }
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    end();
}

/* ---- a process that is stopped, or killed, in the middle of that ----------------------------------- */
static void stops(void)
{
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            begin();
            pause();
        }
        nanosleep(&(struct timespec){.tv_nsec = 3000000 + i * 100000}, 0);
        if (i % 2) {
            CHECK(!kill(pid, SIGSTOP));
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0);
            CHECK(!kill(pid, SIGCONT));
        }
        CHECK(!kill(pid, SIGKILL));
        CHECK(waitpid(pid, &status, 0) == pid);
    }
}

/* ---- a thread that has to go home, where another busy-waits for it --------------------------------- */
enum { VISITORS = 4, VISITS = 3000 };
static pthread_barrier_t together;
static _Atomic unsigned ticket, served;
static bool only_spin;

static void *visitor(void *arg)
{
    char name[16];
    snprintf(name, sizeof name, "visitor %ld", (long)arg);
    for (int i = 0; i < VISITS; i++) {
        pthread_barrier_wait(&together);
        unsigned mine = ticket++;
        while (served != mine)
            if (!only_spin && (long)arg % 2) sched_yield();
        if (i % 3 == (long)arg % 3) CHECK(!prctl(PR_SET_NAME, name));    /* on its own kernel thread */
        served++;
    }
    return arg;
}
static void home(void)
{
    pthread_t t[VISITORS];
    CHECK(!pthread_barrier_init(&together, 0, VISITORS));
    for (long i = 0; i < VISITORS; i++) CHECK(!pthread_create(&t[i], 0, visitor, (void *)i));
    for (int i = 0; i < VISITORS; i++) CHECK(!pthread_join(t[i], 0));
}

/* Without a call: usf has to find the loop first. */
static void home_spins(void)
{
    only_spin = true;
    home();
}

/* ---- threads that busy-wait, some of them with yields -------------------------------------------- */
enum { SPINNERS = 9, MEETINGS = 400 };
static _Atomic unsigned arrived, meeting;
static void *meets(void *arg)
{
    bool yields = (long)arg % 3 == 0;
    for (int i = 0; i < MEETINGS; i++) {
        unsigned now = meeting;
        if (++arrived == SPINNERS) {
            arrived = 0;
            meeting++;
            continue;
        }
        while (meeting == now)
            if (yields) sched_yield();
    }
    return arg;
}
/* Rounds of a barrier and of a ticket lock: in one, all waits end at once, in the other one. */
static void *takes_turns(void *arg)
{
    for (int i = 0; i < MEETINGS; i++) {
        unsigned mine = ticket++;
        while (served != mine) {}
        served++;
    }
    return arg;
}
static void spins(void)
{
    pthread_t t[SPINNERS];
    void *(*const what[])(void *) = {meets, takes_turns, meets};
    for (int k = 0; k < 3; k++) {
        for (long i = 0; i < SPINNERS; i++) CHECK(!pthread_create(&t[i], 0, what[k], (void *)i));
        for (int i = 0; i < SPINNERS; i++) CHECK(!pthread_join(t[i], 0));
    }
    CHECK(meeting == 2 * MEETINGS && served == SPINNERS * MEETINGS);
}

/* ---- how they compute ------------------------------------------------------------------------------ */
static void *long_double(void *arg)
{
    unsigned short control = 0x37f, round_down = 0x77f, is;
    long me = (long)arg;
    volatile long double sum = (long double)me;
    if (me % 2) __asm__ volatile("fldcw %0" : : "m"(round_down));
    for (int i = 0; i < 2000; i++) {
        long double kept = 1.0L / (3 + me);         /* in a register of the x87 unit, across the call: */
        __asm__ volatile("fnstcw %0" : "=m"(is));
        CHECK(is == (me % 2 ? round_down : control));
        long nr = 24;                               /* sched_yield */
        __asm__ volatile("syscall" : "+a"(nr), "+t"(kept) : : "rcx", "r11", "memory");
        CHECK(kept == 1.0L / (3 + me));
        sum += kept;
        if (i % 100 == 0) CHECK(!raise(SIGUSR1));
    }
    (void)sum;
    return arg;
}
static void on_usr1(int sig) { (void)sig; }
static void x87(void)
{
    pthread_t t[4];
    signal(SIGUSR1, on_usr1);
    begin();
    for (long i = 0; i < 4; i++) CHECK(!pthread_create(&t[i], 0, long_double, (void *)i));
    for (int i = 0; i < 4; i++) CHECK(!pthread_join(t[i], 0));
    end();
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        {"share", share}, {"wakes", wakes}, {"preempts", preempts}, {"ends", ends}, {"forks", forks}, {"stops", stops}, {"home", home}, {"home_spins", home_spins}, {"spins", spins}, {"x87", x87}};
    for (unsigned i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(argv[1], cases[i].name)) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "usage: lease CASE\n");
    return 2;
}
