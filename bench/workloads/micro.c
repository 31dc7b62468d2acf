/* bench/workloads/micro.c - the price of single operations.  SPDX-License-Identifier: Apache-2.0
 *
 * --op getppid   one cheap system call
 *      read, write, getrandom, recv, pread, fstat, pipe   calls that may block and do not: of /dev/zero, /dev/null, nothing to
 *                receive, the program's own file, a pipe (a write and a read); ns per call in the fastest of 50 batches
 *      calls     --threads threads that call pread, fstat, and write and read of a pipe of their own in turns; ns per round
 *      pingpong  two threads that wake each other and wait (futex); ns per hand-over
 *      polled    two threads that send each other a byte, and wait by non-blocking reads;
 *                ns per hand-over
 *      yield     --threads threads that call sched_yield in turns; ns per call
 *      idlewake  a thread waits on a futex on an idle core; ns from before the wake to its first
 *                instruction, the median; --gap microseconds between two wakes
 * Where the threads run is the caller's choice (taskset); --pin 1 puts thread i on the i-th allowed CPU. */
#include "team.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

static long rounds;
static int threads, pin;
static double gap;
static _Alignas(64) atomic_uint turn;
static _Alignas(64) atomic_uint acked;
static _Alignas(64) double woken_at;
static atomic_long yields, failed;
static double *latency;

static void place(long me)
{
    cpu_set_t all, one;
    if (!pin || sched_getaffinity(0, sizeof all, &all)) return;
    long seen = 0;
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &all) && seen++ == me) {
            CPU_ZERO(&one);
            CPU_SET(c, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        }
}

static void *pingpong(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    place((long)me);
    for (long i = 0; i < rounds; i++) {
        for (unsigned v; ((v = atomic_load(&turn)) & 1) != me;) futex_wait(&turn, v);
        atomic_fetch_add(&turn, 1);
        futex_wake(&turn, 1);
    }
    return NULL;
}

static int inbox[2][2];         /* a pipe for each thread */

static void *polled(void *arg)
{
    long me = (long)(uintptr_t)arg;
    char byte = 0;
    place(me);
    for (long i = 0; i < rounds; i++) {
        if (me == 0 && write(inbox[1][1], &byte, 1) != 1) die("a write failed");
        while (read(inbox[me][0], &byte, 1) != 1)
            if (errno != EAGAIN) die("a read failed");
        if (me == 1 && write(inbox[0][1], &byte, 1) != 1) die("a write failed");
    }
    return NULL;
}

static void *yielder(void *arg)
{
    place((long)(uintptr_t)arg);
    for (long i = 0; i < rounds; i++) sched_yield();
    atomic_fetch_add(&yields, rounds);
    return NULL;
}

/* Thread 1 sleeps, thread 0 wakes it.  Thread 0 waits for the answer by watching memory with pauses. */
static void *idlewake(void *arg)
{
    long me = (long)(uintptr_t)arg;
    place(me);
    for (unsigned i = 1; i <= (unsigned)rounds; i++) {
        if (me == 1) {
            while (atomic_load(&turn) != i) futex_wait(&turn, i - 1);
            woken_at = now_s();
            atomic_store(&acked, i);
            continue;
        }
        for (double t0 = now_s(); now_s() - t0 < gap * 1e-6;) __builtin_ia32_pause();
        double t0 = now_s();
        atomic_store(&turn, i);
        futex_wake(&turn, 1);
        while (atomic_load(&acked) != i) __builtin_ia32_pause();
        latency[i - 1] = (woken_at - t0) * 1e9;
    }
    return NULL;
}

enum call { READ, WRITE, RANDOM, RECV, PREAD, FSTAT, PIPE, NR_CALLS };
static const char *const call_names[NR_CALLS] = {"read", "write", "getrandom", "recv", "pread", "fstat", "pipe"};

/* The call's descriptors: what is read or looked at, what is written. */
struct files { int in, out; };

static struct files open_files(enum call call)
{
    int pair[2] = {-1, -1};
    switch (call) {
    case READ: pair[0] = open("/dev/zero", O_RDONLY); break;
    case WRITE: pair[1] = open("/dev/null", O_WRONLY); break;
    case RECV: if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) die("no socket pair"); break;
    case PREAD: case FSTAT: pair[0] = open("/proc/self/exe", O_RDONLY); break;
    case PIPE: if (pipe(pair)) die("no pipe"); break;
    default: break;
    }
    return (struct files){pair[0], pair[1]};
}

static bool make_call(enum call call, struct files f)
{
    char byte = 0;
    struct stat st;
    switch (call) {
    case READ: return read(f.in, &byte, 1) == 1;
    case WRITE: return write(f.out, &byte, 1) == 1;
    case RANDOM: return getrandom(&byte, 1, 0) == 1;
    case RECV: return recv(f.in, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    case PREAD: return pread(f.in, &byte, 1, 0) == 1;
    case FSTAT: return !fstat(f.in, &st);
    default: return write(f.out, &byte, 1) == 1 && read(f.in, &byte, 1) == 1;
    }
}

#define BATCHES 50
static double call_that_may_block(enum call call, int *ok)
{
    struct files f = open_files(call);
    double best = 0;
    long each = rounds / BATCHES + 1;
    for (int b = 0; b < BATCHES; b++) {
        double t0 = now_s();
        for (long i = 0; i < each; i++) *ok &= make_call(call, f);
        double ns = (now_s() - t0) * 1e9 / (double)each;
        if (b == 0 || ns < best) best = ns;
    }
    return best;
}

static void *caller(void *arg)
{
    place((long)(uintptr_t)arg);
    struct files file = open_files(PREAD), ends = open_files(PIPE);
    for (long i = 0; i < rounds; i++)
        if (!make_call(PREAD, file) || !make_call(FSTAT, file) || !make_call(PIPE, ends)) atomic_fetch_add(&failed, 1);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--op --rounds --threads --pin --gap");
    const char *op = opt_str(argc, argv, "--op", "getppid");
    rounds = opt_long(argc, argv, "--rounds", 100000);
    threads = (int)opt_long(argc, argv, "--threads", 2);
    pin = (int)opt_long(argc, argv, "--pin", 0);
    gap = opt_num(argc, argv, "--gap", 10);
    if (rounds < 1 || threads < 1) die("--rounds and --threads must be positive");
    int ok = 1, call = 0;
    double ns;
    while (call < NR_CALLS && strcmp(op, call_names[call])) call++;
    begin_line("micro", (double)rounds, "op");
    if (!strcmp(op, "getppid")) {
        long parent = syscall(SYS_getppid);
        double t0 = now_s();
        for (long i = 0; i < rounds; i++) ok &= syscall(SYS_getppid) == parent;
        ns = (now_s() - t0) * 1e9 / (double)rounds;
    } else if (call < NR_CALLS) {
        ns = call_that_may_block((enum call)call, &ok);
    } else if (!strcmp(op, "calls")) {
        ns = team_run(threads, caller) * 1e9 / ((double)rounds * threads);
        ok = !atomic_load(&failed);
    } else if (!strcmp(op, "pingpong")) {
        ns = team_run(2, pingpong) * 1e9 / (2 * (double)rounds);
        ok = atomic_load(&turn) == (unsigned)(2 * rounds);
    } else if (!strcmp(op, "polled")) {
        for (int i = 0; i < 2; i++)
            if (pipe(inbox[i]) || fcntl(inbox[i][0], F_SETFL, O_NONBLOCK)) die("no pipe");
        ns = team_run(2, polled) * 1e9 / (2 * (double)rounds);
    } else if (!strcmp(op, "yield")) {
        ns = team_run(threads, yielder) * 1e9 / ((double)rounds * threads);
        ok = atomic_load(&yields) == rounds * threads;
    } else if (!strcmp(op, "idlewake")) {
        latency = calloc((size_t)rounds, sizeof *latency);
        if (!latency) die("out of memory");
        team_run(2, idlewake);
        qsort(latency, (size_t)rounds, sizeof *latency, by_value);
        ns = latency[rounds / 2];
    } else {
        die("--op: getppid read write getrandom recv pread fstat pipe calls pingpong polled yield idlewake");
        return 2;
    }
    char more[100];
    snprintf(more, sizeof more, "op=%s ns=%.1f threads=%d gap=%g", op, ns, threads, gap);
    return result_line("micro", 1, ns * 1e-9, "op", ok, more);
}
