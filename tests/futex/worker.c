/* tests/futex/worker.c - the workers and the log.  SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared *sh;
static int nr_workers;

int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct timespec in_ns(clockid_t clock, int64_t ns)
{
    int64_t t = now_ns(clock) + ns;
    return (struct timespec){ t / 1000000000LL, t % 1000000000LL };
}

void nap_us(long us)
{
    struct timespec t = { us / 1000000, us % 1000000 * 1000 };
    nanosleep(&t, NULL);
}

long sys(long nr, long a, long b, long c, long d, long e, long f)
{
    long r = syscall(nr, a, b, c, d, e, f);
    return r == -1 ? -errno : r;
}

void say(const char *fmt, ...)
{
    static int line;
    va_list ap;
    va_start(ap, fmt);
    printf("%04d ", ++line);
    vprintf(fmt, ap);
    putchar('\n');
    fflush(stdout); /* a hang must leave the last step behind */
    va_end(ap);
}

const char *show(long r)
{
    static char buf[8][32];
    static int turn;
    char *b = buf[turn++ % 8];
    const char *name = r < 0 && r > -4096 ? strerrorname_np((int)-r) : NULL;
    if (name) snprintf(b, sizeof buf[0], "-%s", name);
    else snprintf(b, sizeof buf[0], "%ld", r);
    return b;
}

void give_up(const char *why)
{
    say("GAVE UP: %s", why);
    for (int i = 0; i < nr_workers; i++)
        if (sh->w[i].process && sh->w[i].pid) kill(sh->w[i].pid, SIGKILL);
    _exit(1);
}

static void work(struct worker *w)
{
    char c;
    w->tid = gettid();
    while (read(w->pipe[0], &c, 1) == 1) {
        const struct order *o = &w->order;
        int64_t t0 = now_ns(CLOCK_MONOTONIC);
        w->result = o->fn ? o->fn(o->arg) : sys(o->nr, o->a[0], o->a[1], o->a[2], o->a[3], o->a[4], o->a[5]);
        for (clockid_t clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) w->ended[clock] = now_ns(clock);
        w->took = w->ended[CLOCK_MONOTONIC] - t0;
        w->done = 1;
    }
}

static void *work_thread(void *arg)
{
    work(arg);
    return NULL;
}

static void start_process(struct worker *w)
{
    pid_t parent = getpid();
    pid_t pid = fork(); /* not straight into w->pid: the child would store its 0 there */
    if (pid < 0) give_up("fork");
    if (pid) {
        w->pid = pid;
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (int i = 0; i <= w->id; i++) close(sh->w[i].pipe[1]);
    work(w);
    _exit(0);
}

void workers_start(int n, bool processes)
{
    sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sh == MAP_FAILED) give_up("mmap");
    nr_workers = n;
    for (int i = 0; i < n; i++) {
        struct worker *w = &sh->w[i];
        w->id = i;
        w->process = processes;
        if (pipe2(w->pipe, O_CLOEXEC)) give_up("pipe");
        if (processes) start_process(w);
        else if (pthread_create(&w->thread, NULL, work_thread, w)) give_up("pthread_create");
    }
    for (int i = 0; i < n; i++)
        while (!*(volatile pid_t *)&sh->w[i].tid) nap_us(200);
}

void workers_stop(void)
{
    for (int i = 0; i < nr_workers; i++) {
        struct worker *w = &sh->w[i];
        close(w->pipe[1]);
        if (w->process) waitpid(w->pid, NULL, 0);
        else pthread_join(w->thread, NULL);
        close(w->pipe[0]);
    }
    nr_workers = 0;
    munmap(sh, sizeof *sh);
}

void tell(int i, const struct order *o)
{
    struct worker *w = &sh->w[i];
    w->order = *o;
    w->done = 0;
    w->busy = true;
    if (write(w->pipe[1], "x", 1) != 1) give_up("a worker is gone");
}

void tell_call(int w, long nr, long a, long b, long c, long d, long e, long f)
{
    tell(w, &(struct order){ .nr = nr, .a = { a, b, c, d, e, f } });
}

void tell_fn(int w, long (*fn)(void *), void *arg) { tell(w, &(struct order){ .fn = fn, .arg = arg }); }

long await_done(int i)
{
    struct worker *w = &sh->w[i];
    int64_t end = now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    while (!w->done) {
        if (now_ns(CLOCK_MONOTONIC) > end) {
            say("worker %d does not come back", i);
            give_up("a wake-up is lost");
        }
        nap_us(100);
    }
    w->busy = false;
    return w->result;
}

long waiters(uint32_t *word, int flags)
{
    return SYS(SYS_futex, word, FUTEX_REQUEUE | flags, 0, INT32_MAX, word, 0);
}

bool await_queued(int i, uint32_t *word, int flags, long n)
{
    struct worker *w = &sh->w[i];
    int64_t end = now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    for (;;) {
        if (w->done) return false;
        if (waiters(word, flags) >= n) return true;
        if (now_ns(CLOCK_MONOTONIC) > end) {
            say("worker %d neither waits nor returns (%ld waiters, %ld expected)", i, waiters(word, flags), n);
            give_up("a waiter is not counted");
        }
        nap_us(100);
    }
}

static char thread_state(const struct worker *w)
{
    char path[64], buf[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", w->process ? w->pid : getpid(), w->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, buf, sizeof buf - 1);
    close(fd);
    if (n <= 0) return 0;
    buf[n] = 0;
    char *p = strrchr(buf, ')');
    return p ? p[2] : 0;
}

void await_asleep(int i)
{
    int64_t end = now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    int seen = 0;
    nap_us(10000);
    while (seen < 5) {
        if (now_ns(CLOCK_MONOTONIC) > end) give_up("a worker does not fall asleep");
        seen = thread_state(&sh->w[i]) == 'S' ? seen + 1 : 0;
        nap_us(4000);
    }
}
