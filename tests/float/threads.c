/* tests/float/threads.c CASE - what a thread has of its own stays its own while threads of a program share kernel threads.
 * SPDX-License-Identifier: Apache-2.0
 * The same cases pass bare.  Around what a case looks at, other threads yield, hand a token round and wait for a time, so that the thread
 * is most often executed by another's kernel thread.  Exit status 0 or 1. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

#define MIXERS 4
#define ROUNDS 300

static pid_t own_tid(void) { return (pid_t)syscall(SYS_gettid); }
static void send(pid_t tid, int sig) { CHECK(!syscall(SYS_tgkill, getpid(), tid, sig)); }

/* ---- threads that mix ----------------------------------------------------------------------------- */
static _Atomic bool over;
static pthread_mutex_t token_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t token_moved = PTHREAD_COND_INITIALIZER;
static unsigned token;

static void mix(void)
{
    for (int i = 0; i < 5; i++) sched_yield();
    pthread_mutex_lock(&token_lock);
    token++;
    pthread_cond_broadcast(&token_moved);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 20000;
    if (t.tv_nsec >= 1000000000) t.tv_nsec -= 1000000000, t.tv_sec++;
    if (token % 3) pthread_cond_timedwait(&token_moved, &token_lock, &t);
    pthread_mutex_unlock(&token_lock);
    sched_yield();
}

static void *mixer(void *arg)
{
    while (!over) mix();
    return arg;
}

static pthread_t mixers[MIXERS];
static void begin(void) { for (int i = 0; i < MIXERS; i++) CHECK(!pthread_create(&mixers[i], 0, mixer, 0)); }
static void end(void)
{
    over = true;
    for (int i = 0; i < MIXERS; i++) CHECK(!pthread_join(mixers[i], 0));
}

#define SUBJECTS 3
static void with_subjects(void *(*subject)(void *))
{
    pthread_t t[SUBJECTS];
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, subject, (void *)i));
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

/* ---- ids and names -------------------------------------------------------------------------------- */
static void *id_subject(void *arg)
{
    pid_t tid = own_tid();
    char name[16], want[16], path[64];
    snprintf(want, sizeof want, "subject %ld", (long)arg);
    CHECK(!prctl(PR_SET_NAME, want));
    snprintf(path, sizeof path, "/proc/self/task/%d", tid);
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK(own_tid() == tid && gettid() == tid);
        if (i % 10) continue;
        CHECK(!access(path, F_OK));
        CHECK(!prctl(PR_GET_NAME, name) && !strcmp(name, want));
        CHECK(!pthread_getname_np(pthread_self(), name, sizeof name) && !strcmp(name, want));
    }
    return 0;
}
static void ids(void) { with_subjects(id_subject); }

/* ---- signals -------------------------------------------------------------------------------------- */
static __thread volatile sig_atomic_t got;
static _Atomic int total, sent;
static void on_signal(int sig) { (void)sig; got++; atomic_fetch_add(&total, 1); }

static _Atomic pid_t target[SUBJECTS];
static _Atomic int acknowledged[SUBJECTS];

static void *signal_subject(void *arg)
{
    long me = (long)arg;
    sem_t never;
    int fd[2];
    char c;
    sem_init(&never, 0, 0);
    CHECK(!pipe(fd));
    target[me] = own_tid();
    for (int seen = 0; seen < ROUNDS / 3; ) {
        struct timespec t;
        if (seen % 3 == 0) {
            mix();
        } else if (seen % 3 == 1) {
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_sec += 20;
            CHECK(sem_timedwait(&never, &t) && errno == EINTR);      /* or nobody has sent any for long */
        } else {
            CHECK(read(fd[0], &c, 1) == -1 && errno == EINTR);
        }
        if (got == seen) continue;
        acknowledged[me] = seen = got;
    }
    return 0;
}

static void *signal_sender(void *arg)
{
    long to = (long)arg;
    while (!target[to]) sched_yield();
    while (acknowledged[to] < ROUNDS / 3) {
        int was = acknowledged[to];
        atomic_fetch_add(&sent, 1);
        send(target[to], SIGUSR1);
        for (int i = 0; i < 100 && acknowledged[to] == was; i++) mix();        /* it may have come before the wait began: send another */
        CHECK(!got);
    }
    return 0;
}

static void signals(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    pthread_t s[SUBJECTS];
    sigaction(SIGUSR1, &a, 0);
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&s[i], 0, signal_sender, (void *)i));
    with_subjects(signal_subject);
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(s[i], 0));
    CHECK(total >= SUBJECTS * (ROUNDS / 3) && total <= sent);
}

/* raise() has run the handler when it returns. */
static void *raise_subject(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK(got == i);
        CHECK(!raise(SIGUSR1));
        CHECK(got == i + 1);
    }
    return arg;
}
static void raises(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &a, 0);
    with_subjects(raise_subject);
}

/* Each blocks another signal: a thread gets none that it blocks, and what is sent to it waits for it. */
static const int blocked_by[SUBJECTS] = {SIGUSR1, SIGUSR2, SIGPIPE};
static __thread int blocks;
static __thread volatile sig_atomic_t last;
static void on_blocked(int sig) { last = sig; atomic_fetch_add(&total, 1); if (sig == blocks) atomic_fetch_add(&total, 1000000); }
static void *mask_subject(void *arg)
{
    int sig = blocked_by[(long)arg];
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, sig);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(!pthread_sigmask(SIG_BLOCK, &set, 0));
        blocks = sig;
        mix();
        CHECK(!pthread_sigmask(SIG_BLOCK, 0, &now));
        for (int k = 0; k < SUBJECTS; k++) CHECK(sigismember(&now, blocked_by[k]) == (blocked_by[k] == sig));
        CHECK(!kill(getpid(), blocked_by[(i + (long)arg + 1) % SUBJECTS]));
        last = 0;
        CHECK(!pthread_kill(pthread_self(), sig));
        mix();
        CHECK(!last || last != sig);
        blocks = last = 0;
        CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, 0));
        CHECK(last);
        mix();
    }
    return 0;
}
static void masks(void)
{
    struct sigaction a = {.sa_handler = on_blocked, .sa_flags = SA_RESTART};
    for (int i = 0; i < SUBJECTS; i++) sigaction(blocked_by[i], &a, 0);
    with_subjects(mask_subject);
    CHECK(total < 1000000);
}

/* A process's signal reaches it while all of its threads wait. */
static sem_t rung;
static void on_alarm(int sig) { (void)sig; sem_post(&rung); }
static void alarms(void)
{
    struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct timespec t = {.tv_nsec = 2000000};
    end();
    sem_init(&rung, 0, 0);
    sigaction(SIGALRM, &a, 0);
    timer_t timer;
    CHECK(!timer_create(CLOCK_MONOTONIC, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM}, &timer));
    CHECK(!timer_settime(timer, 0, &(struct itimerspec){.it_interval = t, .it_value = t}, 0));
    for (int i = 0; i < 50; i++)
        while (sem_wait(&rung)) CHECK(errno == EINTR);
    timer_delete(timer);
}

/* A handler with SA_ONSTACK runs on its thread's own alternate stack. */
static __thread char *stack_from, *stack_to;
static void on_stack(int sig)
{
    char here;
    (void)sig;
    CHECK(&here > stack_from && &here < stack_to);
    got++;
}
static void *stack_subject(void *arg)
{
    size_t size = 65536;
    stack_t s = {.ss_sp = malloc(size), .ss_size = size}, now;
    CHECK(!sigaltstack(&s, 0));
    stack_from = s.ss_sp;
    stack_to = stack_from + size;
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        CHECK(!pthread_kill(pthread_self(), SIGUSR1) && got == i + 1);
        CHECK(!sigaltstack(0, &now) && now.ss_sp == s.ss_sp && now.ss_size == size && !now.ss_flags);
    }
    return arg;
}
static void stacks(void)
{
    struct sigaction a = {.sa_handler = on_stack, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &a, 0);
    with_subjects(stack_subject);
}

static sigset_t waited;
static void *sigwait_subject(void *arg)
{
    long me = (long)arg;
    int sig;
    target[me] = own_tid();
    for (int i = 0; i < ROUNDS / 3; i++) {
        CHECK(!sigwait(&waited, &sig) && sig == SIGUSR2);
        acknowledged[me] = i + 1;
        mix();
    }
    return 0;
}
static void *sigwait_sender(void *arg)
{
    long to = (long)arg;
    while (!target[to]) sched_yield();
    for (int i = 0; i < ROUNDS / 3; i++) {
        send(target[to], SIGUSR2);
        while (acknowledged[to] == i) mix();
    }
    return 0;
}
static void sigwaits(void)
{
    pthread_t s[SUBJECTS];
    sigemptyset(&waited);
    sigaddset(&waited, SIGUSR2);
    CHECK(!pthread_sigmask(SIG_BLOCK, &waited, 0));
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&s[i], 0, sigwait_sender, (void *)i));
    with_subjects(sigwait_subject);
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(s[i], 0));
}

/* ---- registers ------------------------------------------------------------------------------------ */
static void *rounding_subject(void *arg)
{
    static const int modes[SUBJECTS] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    volatile long double x = 1.0L / 3;
    CHECK(!fesetround(modes[(long)arg]));
    for (int i = 0; i < ROUNDS; i++) {
        long double live = x * (long)(i + 1);
        mix();
        CHECK(fegetround() == modes[(long)arg] && live == x * (long)(i + 1));
        errno = (int)(1000 + (long)arg);
        sched_yield();
        CHECK(errno == 1000 + (long)arg);
    }
    return 0;
}
static void rounding(void) { with_subjects(rounding_subject); }

/* ---- locks that the kernel knows ------------------------------------------------------------------ */
static pthread_mutex_t special;
static long guarded;
static void *lock_subject(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        mix();
        int r = pthread_mutex_lock(&special);
        if (r == EOWNERDEAD) pthread_mutex_consistent(&special);
        else CHECK(!r);
        long was = guarded;
        if (i % 4 == 0) sched_yield();
        CHECK(guarded == was);
        guarded = was + 1;
        CHECK(!pthread_mutex_unlock(&special));
    }
    return arg;
}
static void *dies_with_it(void *arg)
{
    mix();
    int r = pthread_mutex_lock(&special);
    CHECK(!r || r == EOWNERDEAD);
    if (r) pthread_mutex_consistent(&special);
    mix();
    return arg;
}
static void locks(int protocol, int robust)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutexattr_setrobust(&a, robust);
    CHECK(!pthread_mutex_init(&special, &a));
    with_subjects(lock_subject);
    CHECK(guarded == SUBJECTS * ROUNDS);
}
static void robust(void)
{
    pthread_t t;
    locks(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
    for (int i = 0; i < 50; i++) {
        CHECK(!pthread_create(&t, 0, dies_with_it, 0));
        CHECK(!pthread_join(t, 0));
        CHECK(pthread_mutex_lock(&special) == EOWNERDEAD && !pthread_mutex_consistent(&special));
        CHECK(!pthread_mutex_unlock(&special));
    }
}
static void inherit(void) { locks(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED); }

/* ---- ends, forks, users --------------------------------------------------------------------------- */
static pthread_key_t key;
static _Atomic int destroyed;
static void destroy(void *value) { if (value) atomic_fetch_add(&destroyed, 1); }
static void *short_one(void *arg)
{
    pthread_setspecific(key, &key);
    mix();
    if ((long)arg % 2) pthread_exit(arg);
    return arg;
}
static void *ends_subject(void *arg)
{
    for (long i = 0; i < 40; i++) {
        pthread_t t;
        void *r;
        CHECK(!pthread_create(&t, 0, short_one, (void *)i));
        mix();
        CHECK(!pthread_join(t, &r) && r == (void *)i);
    }
    return arg;
}
static void ends(void)
{
    CHECK(!pthread_key_create(&key, destroy));
    with_subjects(ends_subject);
    CHECK(destroyed == SUBJECTS * 40);
}

/* The child's time is its own: its parent's threads wait for less long, or longer. */
static void *naps(void *arg) { return sleep(60), arg; }
static int child(bool execs)
{
    pthread_t t;
    sem_t never;
    struct timespec until;
    if (own_tid() != getpid()) return 3;
    for (int k = 0; k < 3; k++) sched_yield();
    sem_init(&never, 0, 0);
    if (pthread_create(&t, 0, naps, 0)) return 4;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
    if (!sem_timedwait(&never, &until) || errno != ETIMEDOUT) return 5;
    if (execs) execl("/bin/true", "true", (char *)0);
    return 0;
}
static void *fork_subject(void *arg)
{
    for (int i = 0; i < 20; i++) {
        mix();
        int status;
        pid_t pid = fork();
        if (pid == 0) _exit(child(i % 2));
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    }
    return arg;
}
static void forks(void) { with_subjects(fork_subject); }

/* Each thread of the process has the user that one of them sets. */
static void *user_subject(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) mix();
    return arg;
}
static void users(void)
{
    pthread_t t[SUBJECTS];
    char path[300], line[256];
    if (geteuid()) {
        printf("skipped: not root\n");
        exit(77);
    }
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, user_subject, (void *)i));
    for (int i = 0; i < 20; i++) mix();
    CHECK(!setresgid(12345, 12345, 12345));
    DIR *d = opendir("/proc/self/task");
    CHECK(d);
    for (struct dirent *e; (e = readdir(d)); ) {
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *f = e->d_name[0] == '.' ? 0 : fopen(path, "r");
        while (f && fgets(line, sizeof line, f))
            if (!strncmp(line, "Gid:", 4)) CHECK(strstr(line, "12345\t12345\t12345\t12345"));
        if (f) fclose(f);
    }
    closedir(d);
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

/* ---- cancellation --------------------------------------------------------------------------------- */
static _Atomic int cleaned;
static void clean(void *arg) { (void)arg; atomic_fetch_add(&cleaned, 1); }
static void *victim(void *arg)
{
    int old;
    long kind = (long)arg;
    sem_t never;
    sem_init(&never, 0, 0);
    pthread_cleanup_push(clean, 0);
    if (kind == 0) {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
        for (;;) { }
    }
    if (kind == 1)
        for (;;) sched_yield(), pthread_testcancel();
    if (kind == 2) sem_wait(&never);
    if (kind == 3) pause();
    pthread_cleanup_pop(0);
    return 0;
}
static void *cancel_subject(void *arg)
{
    for (long i = 0; i < 24; i++) {
        pthread_t t;
        void *r;
        CHECK(!pthread_create(&t, 0, victim, (void *)(i % 4)));
        mix();
        CHECK(!pthread_cancel(t));
        CHECK(!pthread_join(t, &r) && r == PTHREAD_CANCELED);
    }
    return arg;
}
static void cancels(void)
{
    with_subjects(cancel_subject);
    CHECK(cleaned == SUBJECTS * 24);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        {"ids", ids}, {"signals", signals}, {"raise", raises}, {"masks", masks}, {"alarms", alarms}, {"stacks", stacks}, {"sigwait", sigwaits},
        {"rounding", rounding}, {"robust", robust}, {"inherit", inherit}, {"ends", ends}, {"forks", forks}, {"users", users}, {"cancel", cancels},
    };
    alarm(100);
    for (unsigned i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[1])) continue;
        if (cases[i].run == alarms) alarm(0);
        begin();
        cases[i].run();
        if (!over) end();
        return 0;
    }
    fprintf(stderr, "usage: threads CASE\n");
    return 2;
}
