/* tests/float/life.c CASE - what a thread has from before its process took part, and what it hands on.  SPDX-License-Identifier: Apache-2.0
 *
 * The first thread has something of its own kernel thread before there is a second one; children of fork and exec get what the thread has
 * that makes them, whichever kernel thread executes it.  The same cases pass bare.  Exit status 0, 1, or 77. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mix.h"

#define SUBJECTS 3

static void mix_often(int n) { while (n--) mix(); }

/* Those at odd places have no signal mask; the others have the caller's. */
static void begin_with_masks(void)
{
    pthread_attr_t a;
    sigset_t none;
    sigemptyset(&none);
    pthread_attr_init(&a);
    CHECK(!pthread_attr_setsigmask_np(&a, &none));
    for (int i = 0; i < MIXERS; i++) CHECK(!pthread_create(&mixers[i], i % 2 ? &a : 0, mixer, 0));
}

static void begin_in_child(void)
{
    token_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    token_moved = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    begin();
}

static void with_subjects(void *(*subject)(void *))
{
    pthread_t t[SUBJECTS];
    for (long i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, subject, (void *)i));
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

static void check_end_of(pid_t pid)
{
    int status = -1;
    CHECK(pid > 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    CHECK(status == 0, "the child's status is %#x", status);
}

static void block(int sig)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    CHECK(!pthread_sigmask(SIG_BLOCK, &set, 0));
}

/* SIGUSR2, whose handler may fork, does not come on top of another: that could be on the alternate stack. */
static void handle(int sig, void (*handler)(int), int flags)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    sigaddset(&a.sa_mask, SIGUSR2);
    CHECK(!sigaction(sig, &a, 0));
}

/* ---- alternate stacks --------------------------------------------------------------------------------------- */
#define STACK_SIZE (32 << 10)
static __thread char *stack;
static __thread volatile sig_atomic_t ran;

static void on_stack(int sig)
{
    char here;
    stack_t s;
    (void)sig;
    CHECK(&here >= stack && &here < stack + STACK_SIZE);
    CHECK(!sigaltstack(0, &s) && s.ss_sp == stack && s.ss_flags == SS_ONSTACK);
    ran++;
}

static void set_stack(char *at)
{
    stack = at;
    CHECK(!sigaltstack(&(stack_t){.ss_sp = at, .ss_size = STACK_SIZE}, 0));
}

static void check_stack(void)
{
    stack_t s;
    sig_atomic_t was = ran;
    CHECK(!sigaltstack(0, &s) && s.ss_sp == stack && s.ss_flags == 0 && s.ss_size == STACK_SIZE);
    CHECK(!raise(SIGUSR1) && ran == was + 1);
}

static void *stack_subject(void *arg)
{
    stack_t s;
    CHECK(!sigaltstack(0, &s) && s.ss_flags == SS_DISABLE);
    mix_often(10);
    CHECK(!sigaltstack(0, &s) && s.ss_flags == SS_DISABLE);
    set_stack(malloc(STACK_SIZE));
    for (int i = 0; i < 10; i++) mix(), check_stack();
    return arg;
}

/* In a child, and its child, and so on. */
static _Noreturn void stack_in_child(int more)
{
    pid_t pid;
    do {
        check_stack();
        begin_in_child();
        for (int i = 0; i < 10; i++) mix(), check_stack();
        with_subjects(stack_subject);
        check_stack();
        pid = more ? fork() : -1;
    } while (pid == 0 && more--);
    if (pid > 0) check_end_of(pid);
    _exit(0);
}

/* libc's fork, malloc and the beginning and end of a thread take locks of libc.  A child that is made without
 * libc meanwhile would wait for them for ever. */
static pthread_mutex_t one_fork = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_fork;

static void *stack_forks(void *arg)
{
    set_stack(malloc(STACK_SIZE));
    pthread_barrier_wait(&all_fork);
    for (int i = 0; i < 6; i++) {
        mix_often(3);
        check_stack();
        pthread_mutex_lock(&one_fork);
        pid_t pid = i % 2 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (!pid) stack_in_child(1);
        pthread_mutex_unlock(&one_fork);
        check_end_of(pid);
        check_stack();
    }
    pthread_barrier_wait(&all_fork);
    return arg;
}

static void stacks(void)
{
    handle(SIGUSR1, on_stack, SA_ONSTACK);
    set_stack(malloc(STACK_SIZE));
    begin();
    for (int i = 0; i < 50; i++) mix(), check_stack();
    CHECK(!pthread_barrier_init(&all_fork, 0, SUBJECTS));
    with_subjects(stack_forks);
    CHECK(!pthread_barrier_init(&all_fork, 0, 1));
    stack_forks(0);
}

/* A handler forks, wherever its thread is executed.  The child goes on in the handler. */
static _Atomic int handler_forks;
static void on_fork(int sig)
{
    (void)sig;
    pid_t pid = fork();
    if (!pid) stack_in_child(0);
    check_end_of(pid);
    handler_forks++;
}

static _Atomic pid_t target[SUBJECTS];
static void *handler_subject(void *arg)
{
    set_stack(malloc(STACK_SIZE));
    target[(long)arg] = gettid();
    while (handler_forks < 12) mix(), check_stack();
    return 0;
}

static void *handler_sender(void *arg)
{
    for (int i = 0; handler_forks < 12; i = (i + 1) % SUBJECTS) {
        if (target[i]) syscall(SYS_tgkill, getpid(), target[i], SIGUSR2);
        mix_often(5);
    }
    return arg;
}

static void handlers(void)
{
    pthread_t t;
    handle(SIGUSR1, on_stack, SA_ONSTACK);
    handle(SIGUSR2, on_fork, SA_RESTART);
    begin();
    CHECK(!pthread_create(&t, 0, handler_sender, 0));
    with_subjects(handler_subject);
    CHECK(!pthread_join(t, 0));
}

/* The runtime has no memory for another 64 threads' stacks of its own. */
enum { RICH = 55, POOR = 16 };
static pthread_barrier_t poor_ones, all;
static char poor_room[POOR][64 << 10] __attribute__((aligned(4096))), poor_stack[POOR][STACK_SIZE];

static void *poor_subject(void *arg)
{
    set_stack(poor_stack[(long)arg]);
    pthread_barrier_wait(&poor_ones);
    for (int i = 0; i < 30; i++) mix(), check_stack();
    pthread_barrier_wait(&poor_ones);
    return 0;
}
static void *rich_subject(void *arg) { pthread_barrier_wait(&all); return arg; }

static void limit_memory(size_t more)
{
    char line[64] = "";
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    CHECK(f && fgets(line, sizeof line, f) && sscanf(line, "%zu", &pages) == 1);
    fclose(f);
    CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){.rlim_cur = (pages << 12) + more, .rlim_max = RLIM_INFINITY}));
}

static void poor(void)
{
    pthread_t r[RICH], p[POOR];
    pthread_attr_t a;
    handle(SIGUSR1, on_stack, SA_ONSTACK);
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 64 << 10);
    pthread_barrier_init(&all, 0, RICH + 1);
    pthread_barrier_init(&poor_ones, 0, POOR);
    begin();
    for (int i = 0; i < RICH; i++) CHECK(!pthread_create(&r[i], &a, rich_subject, 0));
    mix_often(10);
    limit_memory(3 << 20);
    for (long i = 0; i < POOR; i++) {
        CHECK(!pthread_attr_setstack(&a, poor_room[i], sizeof poor_room[i]));
        CHECK(!pthread_create(&p[i], &a, poor_subject, (void *)i));
    }
    for (int i = 0; i < POOR; i++) CHECK(!pthread_join(p[i], 0));
    pthread_barrier_wait(&all);
    for (int i = 0; i < RICH; i++) CHECK(!pthread_join(r[i], 0));
}

/* ---- signals ------------------------------------------------------------------------------------------------- */
static void never(int sig) { CHECK(false, "signal %d came", sig); }

static bool is_pending(int sig)
{
    sigset_t pending;
    CHECK(!sigpending(&pending));
    return sigismember(&pending, sig);
}

static int take(int sig)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    return sigtimedwait(&set, 0, &(struct timespec){0});
}

/* ... that the thread has sent to itself stay its own, also of one number several. */
static void pending(void)
{
    int several = SIGRTMIN + 3;
    handle(SIGUSR2, never, 0);
    handle(several, never, 0);
    block(SIGUSR2);
    block(several);
    CHECK(!raise(SIGUSR2) && !raise(several) && !raise(several));
    begin_with_masks();
    for (int i = 0; i < 200; i++) {
        mix();
        CHECK(is_pending(SIGUSR2) && is_pending(several));
    }
    CHECK(take(SIGUSR2) == SIGUSR2);
    for (int i = 0; i < 2; i++) mix_often(3), CHECK(take(several) == several);
    CHECK(take(SIGUSR2) < 0 && take(several) < 0);
}

/* The next program has them. */
static const char *self;
static void exec_with_pending(void)
{
    block(SIGUSR2);
    mix_often(10);
    CHECK(!raise(SIGUSR2));
    mix_often(10);
    CHECK(execl("/nowhere/none", "none", (char *)0) < 0 && is_pending(SIGUSR2));
    mix_often(10);
    CHECK(is_pending(SIGUSR2));
    execl(self, self, "received", (char *)0);
    CHECK(false, "no exec");
}

static void received(void)
{
    CHECK(is_pending(SIGUSR2));
    handle(SIGUSR2, never, 0);
    begin_with_masks();
    for (int i = 0; i < 200; i++) mix(), CHECK(is_pending(SIGUSR2));
}

static void *exec_subject(void *arg) { exec_with_pending(); return arg; }

static void execs(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (!pid) {
            pthread_t t;
            if (i > 0) begin();
            if (i > 1) pthread_create(&t, 0, exec_subject, 0), pthread_join(t, 0);
            exec_with_pending();
        }
        check_end_of(pid);
    }
}

/* Threads that wait for a short time take each signal that is sent to the process. */
static sigset_t waited;
static _Atomic int taken;
static void *waits_shortly(void *arg)
{
    for (long i = 0; !over; i++) {
        struct timespec t = {.tv_nsec = 1000 * (1 + i % 50)};
        if (sigtimedwait(&waited, 0, &t) == SIGUSR2) taken++;
        if (i % 7 == 0) mix();
    }
    return arg;
}

static void timed(void)
{
    pthread_t t[SUBJECTS];
    sigemptyset(&waited);
    sigaddset(&waited, SIGUSR2);
    block(SIGUSR2);
    begin();
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, waits_shortly, 0));
    for (int i = 0; i < 1000; i++) {
        int was = taken;
        CHECK(!kill(getpid(), SIGUSR2));
        while (taken == was) i % 3 ? mix() : (void)sched_yield();
    }
    end();
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

/* ---- what the kernel keeps for the thread --------------------------------------------------------------------- */
static void use_signalfd(int fd)
{
    struct signalfd_siginfo info;
    for (int i = 0; i < 50; i++) {
        mix();
        CHECK(read(fd, &info, sizeof info) < 0 && errno == EAGAIN);
        CHECK(!raise(SIGUSR2));
        mix();
        CHECK(is_pending(SIGUSR2) && read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR2);
    }
}

static void descriptors(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    block(SIGUSR2);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    begin();
    use_signalfd(fd);
    pid_t pid = fork();
    if (!pid) {
        begin_in_child();
        use_signalfd(fd);
        _exit(0);
    }
    check_end_of(pid);
}

/* Restartable sequences of the program's own, where libc has none. */
static __thread struct { uint32_t start; volatile int32_t cpu; uint64_t sequence; uint32_t flags, unused[3]; } area __attribute__((aligned(32)));

static void use_rseq(void)
{
    for (int i = 0; i < 100; i++) {
        mix();
        area.cpu = -7;      /* the kernel writes it when it has let this thread sleep */
        /* A sleep whose time is over before the thread has left its CPU is none, and the kernel does not write. */
        struct timespec t = {.tv_nsec = 50000};
        for (int tries = 0; area.cpu < 0 && tries < 1000; tries++) nanosleep(&t, 0);
        CHECK(area.cpu >= 0);
    }
}

static void sequences(void)
{
    if (syscall(SYS_rseq, &area, 32, 0, 0x53053053)) {
        printf("libc has registered its own, or there are none\n");
        exit(77);
    }
    begin();
    use_rseq();
    pid_t pid = fork();
    if (!pid) {
        begin_in_child();
        use_rseq();
        _exit(0);
    }
    check_end_of(pid);
}

static pthread_t first;
static _Atomic int ticks;
static void on_tick(int sig)
{
    (void)sig;
    CHECK(pthread_equal(pthread_self(), first));
    ticks++;
}

static void timers(void)
{
    union { struct sigevent event; int32_t word[sizeof(struct sigevent) / 4]; } e = {.event = {.sigev_notify = 4 /* SIGEV_THREAD_ID */, .sigev_signo = SIGUSR2}};
    timer_t t;
    first = pthread_self();
    e.word[4] = gettid();
    handle(SIGUSR2, on_tick, SA_RESTART);
    CHECK(!timer_create(CLOCK_MONOTONIC, &e.event, &t));
    CHECK(!timer_settime(t, 0, &(struct itimerspec){{0, 2000000}, {0, 2000000}}, 0));
    begin();
    while (ticks < 50) mix();
    CHECK(!timer_delete(t));
}

/* A thread can wait for those children alone that it has made itself. */
static void *own_children(void *arg)
{
    for (int i = 0; i < 20; i++) {
        int status;
        mix_often(2);
        pid_t pid = fork();
        if (!pid) _exit(7);
        mix_often(3);
        CHECK(waitpid(pid, &status, __WNOTHREAD) == pid && WEXITSTATUS(status) == 7);
    }
    return arg;
}
static void children(void) { begin(), with_subjects(own_children); }

/* The process leaves its instance while its threads float: it traces another.  A child of a thread is the thread of its own number. */
static pthread_barrier_t before_leaving, after_leaving;
static void on_own(int sig) { (void)sig, ran++; }

static void *departed_subject(void *arg)
{
    mix_often(20);
    pthread_barrier_wait(&before_leaving);
    pthread_barrier_wait(&after_leaving);
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (!pid) {
            struct timespec used;
            pid_t me = (pid_t)syscall(SYS_getpid);
            CHECK(syscall(SYS_gettid) == me && gettid() == me);
            CHECK(!syscall(SYS_tgkill, me, me, SIGUSR2) && ran == 1);
            CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) && used.tv_sec < 5);
            begin_in_child();
            mix_often(20);
            CHECK(syscall(SYS_gettid) == me && !syscall(SYS_tgkill, me, me, SIGUSR2) && ran == 2);
            _exit(0);
        }
        check_end_of(pid);
        mix_often(2);
    }
    return arg;
}

static void departed(void)
{
    pthread_t t[SUBJECTS];
    handle(SIGUSR2, on_own, 0);
    CHECK(!pthread_barrier_init(&before_leaving, 0, SUBJECTS + 1) && !pthread_barrier_init(&after_leaving, 0, SUBJECTS + 1));
    begin();
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t[i], 0, departed_subject, 0));
    pthread_barrier_wait(&before_leaving);
    CHECK(ptrace(PTRACE_CONT, getpid(), 0, 0) < 0);
    pthread_barrier_wait(&after_leaving);
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_join(t[i], 0));
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        {"stacks", stacks}, {"handlers", handlers}, {"poor", poor}, {"pending", pending}, {"execs", execs}, {"received", received},
        {"timed", timed}, {"descriptors", descriptors}, {"sequences", sequences}, {"timers", timers}, {"children", children},
        {"departed", departed},
    };
    static char path[4096];
    alarm(100);
    self = readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : argv[0];
    for (unsigned i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[1])) continue;
        cases[i].run();
        return 0;
    }
    fprintf(stderr, "usage: life CASE\n");
    return 2;
}
