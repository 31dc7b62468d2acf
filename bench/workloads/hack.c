/* bench/workloads/hack.c - groups of senders and receivers that hand each other small messages.  SPDX-License-Identifier: Apache-2.0
 *
 * The load of the FLSCHED paper's Figures (hackbench's idea, written anew): in each of --groups groups every one of --pairs senders writes
 * --messages messages of --size bytes to every one of the group's --pairs receivers, each of which reads from a --kind socket or pipe of its own.
 * All are --as threads or processes.  Beside messages per second it says how often they were switched (voluntary and not, by the kernel's
 * count of the program's threads, its own preparations included), and how often the whole machine switched meanwhile. */
#include "team.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { SIZE_MAX_BYTES = 4096 };     /* PIPE_BUF: a message is written as one */

static long groups, pairs, messages, size;
static int (*ends)[2];              /* of receiver r of group g: [g * pairs + r], 0 reads and 1 writes */
struct shared { pthread_barrier_t begin; double t0; _Atomic uint64_t received, sum; _Atomic int wrong; };
static struct shared *shared;

static void put(int fd, const char *p, long n)
{
    while (n > 0) {
        ssize_t r = write(fd, p, (size_t)n);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) die("write failed");
        p += r, n -= r;
    }
}

static void get(int fd, char *p, long n)
{
    while (n > 0) {
        ssize_t r = read(fd, p, (size_t)n);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) die("read failed");
        p += r, n -= r;
    }
}

static void begin(void)
{
    if (pthread_barrier_wait(&shared->begin) == PTHREAD_BARRIER_SERIAL_THREAD) shared->t0 = now_s();
}

static void sender(long group)
{
    char m[SIZE_MAX_BYTES] = {0};
    begin();
    for (long i = 0; i < messages; i++)
        for (long r = 0; r < pairs; r++) {
            uint32_t number = (uint32_t)i + 1;
            memcpy(m, &number, sizeof number);
            put(ends[group * pairs + r][1], m, size);
        }
}

static void receiver(long which)
{
    char m[SIZE_MAX_BYTES];
    uint64_t sum = 0;
    begin();
    for (long i = 0; i < messages * pairs; i++) {
        uint32_t number;
        get(ends[which][0], m, size);
        memcpy(&number, m, sizeof number);
        sum += number;
    }
    shared->received += (uint64_t)(messages * pairs);
    shared->sum += sum;
}

/* Even ones send, odd ones receive. */
static void *act(void *arg)
{
    long i = (long)arg;
    if (i % 2) receiver(i / 2);
    else sender(i / 2 / pairs);
    return NULL;
}

static void run_threads(long n)
{
    pthread_t *t = calloc((size_t)n, sizeof *t);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 * 1024);
    if (!t) die("out of memory");
    for (long i = 0; i < n; i++)
        if (pthread_create(&t[i], &attr, act, (void *)i)) die("pthread_create failed");
    for (long i = 0; i < n; i++) pthread_join(t[i], NULL);
    free(t);
}

static void run_processes(long n)
{
    int status;
    for (long i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0) die("fork failed");
        if (pid) continue;
        act((void *)i);
        _exit(0);
    }
    for (long i = 0; i < n; i++)
        if (wait(&status) < 0 || status) shared->wrong = 1;
}

static void open_ends(int sockets)
{
    struct rlimit most;
    long n = groups * pairs;
    ends = calloc((size_t)n, sizeof *ends);
    if (!ends) die("out of memory");
    if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
        most.rlim_cur = most.rlim_max;
        setrlimit(RLIMIT_NOFILE, &most);
    }
    for (long i = 0; i < n; i++)
        if (sockets ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) : pipe(ends[i])) die("no more files: less --groups or --pairs");
}

/* Switches of the whole machine since it was started; 0: not known. */
static uint64_t machine_switches(void)
{
    char line[256];
    unsigned long long n = 0;
    FILE *f = fopen("/proc/stat", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "ctxt %llu", &n) == 1) break;
    if (f) fclose(f);
    return n;
}

static uint64_t own_switches(int who)
{
    struct rusage r;
    if (getrusage(who, &r)) die("getrusage failed");
    return (uint64_t)(r.ru_nvcsw + r.ru_nivcsw);
}

int main(int argc, char **argv)
{
    opt_check(argc, argv, "--groups --pairs --messages --size --kind --as");
    groups = opt_long(argc, argv, "--groups", 2);
    pairs = opt_long(argc, argv, "--pairs", 20);
    messages = opt_long(argc, argv, "--messages", 100);
    size = opt_long(argc, argv, "--size", 100);
    const char *kind = opt_str(argc, argv, "--kind", "socket"), *as = opt_str(argc, argv, "--as", "threads");
    int sockets = !strcmp(kind, "socket"), threads = !strcmp(as, "threads");
    if (groups < 1 || pairs < 1 || messages < 1 || size < 4 || size > SIZE_MAX_BYTES)
        die("--groups, --pairs and --messages must be positive, --size 4 to 4096");
    if (!sockets && strcmp(kind, "pipe")) die("--kind is socket or pipe");
    if (!threads && strcmp(as, "processes")) die("--as is threads or processes");

    long n = 2 * groups * pairs;
    double work = (double)groups * (double)pairs * (double)pairs * (double)messages;
    pthread_barrierattr_t attr;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pthread_barrier_init(&shared->begin, &attr, (unsigned)n)) die("no shared barrier");
    open_ends(sockets);
    begin_line("hack", work, "message");

    uint64_t whole = machine_switches();
    if (threads) run_threads(n);
    else run_processes(n);
    double t = now_s() - shared->t0;
    whole = machine_switches() - whole;
    uint64_t own = own_switches(RUSAGE_SELF) + own_switches(RUSAGE_CHILDREN);

    double sum = work / (double)messages * ((double)messages * ((double)messages + 1) / 2);
    int ok = !shared->wrong && (double)shared->received == work && (double)shared->sum == sum;
    char more[200];
    snprintf(more, sizeof more, "switches=%llu machine=%llu kind=%s as=%s groups=%ld pairs=%ld", (unsigned long long)own,
             (unsigned long long)whole, kind, as, groups, pairs);
    return result_line("hack", work, t, "message", ok, more);
}
