/* tests/odd/hog.c - threads that keep their cores in every way that there is.  SPDX-License-Identifier: Apache-2.0
 *
 *   odd-hog WAY          WAY-alone: twice as many, for ever, with nobody else in the program
 *
 * As many threads as there are CPUs keep them by WAY; two more hand each other something STEPS times.  "done": they did.
 * stderr has how long that took, and of that what the kernel and not usf decides: for how long the two ran and waited for
 * a CPU in the kernel's queues, and for how long the hogs waited there. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_HOGS 64
#define STEPS    20

static _Atomic int started, stop, turn;
static pid_t tids[MAX_HOGS];
static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What /proc/TID/schedstat has of a thread, in seconds; 0: it has ended. */
struct times { double ran, waited; };
static struct times times_of(pid_t tid)
{
    char path[64];
    unsigned long long ran = 0, waited = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", tid);
    FILE *f = fopen(path, "r");
    if (!f) return (struct times){0};
    if (fscanf(f, "%llu %llu", &ran, &waited) != 2) ran = waited = 0;
    fclose(f);
    return (struct times){(double)ran / 1e9, (double)waited / 1e9};
}

static double hogs_waited(long n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += times_of(tids[i]).waited;
    return sum;
}

/* Nothing that a reader of machine code could take for waiting. */
static __attribute__((noinline)) uint64_t obscure(uint64_t v)
{
    v ^= v << 13;
    v ^= v >> 7;
    return sink = v ^ v << 17;
}

static void spin_obscurely(void)
{
    uint64_t v = 88172645463325252ull;
    while (!atomic_load(&stop)) v = obscure(v);
}

static void mask_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    spin_obscurely();
}

/* The C library keeps two signals to itself; the kernel does not. */
static void mask_signals_raw(void)
{
    uint64_t all = ~0ull;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
    spin_obscurely();
}

typedef double vector __attribute__((vector_size(32)));
static __attribute__((target("avx"))) void long_vector_loop(void)
{
    vector a = {1, 2, 3, 4}, b = {0.999, 1.001, 0.998, 1.002};
    while (!atomic_load(&stop)) {
        for (int i = 0; i < 4000000; i++) {
            a = a * b + b;
            __asm__ volatile("" : "+x"(a));
        }
        sink = (uint64_t)a[0];
    }
}

static void copy_strings(void)
{
    size_t n = 16 << 20;
    char *from = malloc(n), *to = malloc(n);
    memset(from, 1, n);
    while (!atomic_load(&stop))
        for (int i = 0; i < 16; i++) __asm__ volatile("rep movsb" : : "S"(from), "D"(to), "c"(n) : "memory");
    free(from);
    free(to);
}

/* Holds what the other needs, with breaks in which it does not run long enough to be queued for. */
static void hold_a_lock(void)
{
    while (!atomic_load(&stop)) {
        pthread_mutex_lock(&wanted);
        for (int i = 0; i < 2000000; i++) obscure(sink);
        pthread_mutex_unlock(&wanted);
        usleep(100);
    }
}

static void in_real_time(void)
{
    struct sched_param p = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &p)) {
        perror("SCHED_FIFO");
        exit(77);
    }
    spin_obscurely();
}

static volatile sig_atomic_t in_handler;
static void handler(int sig)
{
    in_handler = sig;
    spin_obscurely();
}

static void in_a_handler(void)
{
    signal(SIGUSR1, handler);
    pthread_kill(pthread_self(), SIGUSR1);
}

/* Its parent stands still meanwhile, in a call that cannot be interrupted. */
static void vfork_long(void)
{
    while (!atomic_load(&stop)) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/bin/sleep", "sleep", "0.2", (char *)NULL);
            _exit(1);
        }
        waitpid(child, NULL, 0);
    }
}

static void *vfork_spin(void *arg)
{
    /* The child computes in the parent's memory before it execs. */
    pid_t child = vfork();
    if (child == 0) {
        while (!atomic_load(&stop)) {}
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return arg;
}
static void vfork_that_spins(void) { vfork_spin(NULL); }

/* The hog stands still in the hands of a debugger, which lets it go in the end. */
static void stopped_by_a_tracer(void)
{
    static _Atomic int taken;
    pid_t me = (pid_t)syscall(SYS_gettid);
    if (atomic_exchange(&taken, 1)) return;         /* one is enough */
    pid_t tracer = fork();
    if (tracer == 0) {
        if (ptrace(PTRACE_SEIZE, me, NULL, NULL) || ptrace(PTRACE_INTERRUPT, me, NULL, NULL)) _exit(77);
        sleep(1);
        _exit(0);       /* detaches */
    }
    int status = 0;
    while (waitpid(tracer, &status, WNOHANG) == 0) obscure(sink);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) exit(77);
}

static void compute_and_yield(void)
{
    while (!atomic_load(&stop)) {
        for (int i = 0; i < 20000; i++) obscure(sink);
        sched_yield();
    }
}

/* Calls that may block and do not, one after the other: so the thread is hardly ever outside of them. */
static void call_on_files(void)
{
    struct stat st;
    char first;
    int fd = open("/proc/self/exe", O_RDONLY);
    while (!atomic_load(&stop))
        if (fstat(fd, &st) || stat("/", &st) || pread(fd, &first, 1, 0) != 1) abort();
    close(fd);
}

static void call_on_a_pipe(void)
{
    static char bytes[20000];       /* more than PIPE_BUF */
    char got[sizeof bytes];
    int end[2];
    if (pipe(end)) abort();
    if (fcntl(end[1], F_SETPIPE_SZ, 2 * sizeof bytes) < 0) exit(77);        /* users may have only so much of it */
    while (!atomic_load(&stop))
        if (write(end[1], bytes, sizeof bytes) != sizeof bytes || read(end[0], got, sizeof got) != sizeof got) abort();
    close(end[0]);
    close(end[1]);
}

static const struct { const char *name; void (*run)(void); } ways[] = {
    {"spin", spin_obscurely}, {"mask", mask_signals}, {"mask-raw", mask_signals_raw}, {"vector", long_vector_loop},
    {"string", copy_strings}, {"lock", hold_a_lock}, {"fifo", in_real_time}, {"handler", in_a_handler}, {"vfork", vfork_long},
    {"vfork-spin", vfork_that_spins}, {"traced", stopped_by_a_tracer}, {"mask-raw-alone", mask_signals_raw},
    {"yield-alone", compute_and_yield}, {"spin-alone", spin_obscurely}, {"files", call_on_files}, {"pipe", call_on_a_pipe},
};

static void *hog(void *arg)
{
    tids[atomic_fetch_add(&started, 1)] = gettid();
    ((void (*)(void))arg)();
    return NULL;
}

static struct times others;     /* the times of `other` */

/* Gets its work from the main thread, which gets its own from it. */
static void *other(void *arg)
{
    for (int i = 0; i < STEPS; i++) {
        while (atomic_load(&turn) != 2 * i + 1) usleep(100);
        pthread_mutex_lock(&wanted);
        atomic_fetch_add(&turn, 1);
        pthread_mutex_unlock(&wanted);
    }
    others = times_of(gettid());
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t hogs[MAX_HOGS], o;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    void (*way)(void) = NULL;
    alarm(400);
    for (unsigned i = 0; argc == 2 && i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name)) way = ways[i].run;
    if (!way) {
        fprintf(stderr, "odd-hog WAY\n");
        return 125;
    }
    if (access("/proc/self/schedstat", R_OK)) {
        puts("the kernel does not tell how long threads wait for a CPU");
        return 77;
    }
    bool alone = strstr(argv[1], "-alone");
    if (alone) n *= 2;
    if (n > MAX_HOGS) n = MAX_HOGS;
    for (int i = 0; i < n; i++) pthread_create(&hogs[i], NULL, hog, (void *)way);
    while (atomic_load(&started) < n) usleep(1000);
    if (alone) {
        puts("started");
        fflush(stdout);
        pause();
    }
    struct times before = times_of(gettid());
    double hogs_before = hogs_waited(n), start = now();
    pthread_create(&o, NULL, other, NULL);
    for (int i = 0; i < STEPS; i++) {
        atomic_fetch_add(&turn, 1);
        while (atomic_load(&turn) != 2 * i + 2) usleep(100);
    }
    double took = now() - start;
    struct times mine = times_of(gettid());
    double held_up = hogs_waited(n) - hogs_before;
    atomic_store(&stop, 1);
    pthread_join(o, NULL);
    for (int i = 0; i < n; i++) pthread_join(hogs[i], NULL);
    printf("done\n");
    fprintf(stderr, "%d steps: %.3f s, ran %.3f s, waited %.3f s, hogs %.3f s\n", STEPS, took, mine.ran - before.ran + others.ran,
            mine.waited - before.waited + others.waited, held_up);
    return 0;
}
