/* tests/float/stat.c - /proc/self/task/TID/stat says what a thread does, is called and has used.  SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mix.h"

#define PATIENCE_S 30

static _Atomic pid_t waiter_tid, worker_tid;
static _Atomic bool let_go, worked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

struct line { int id; char name[32], state; double cpu_s; };

static struct line read_line(const char *path)
{
    struct line l = {0};
    char text[1024];
    unsigned long user, system;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    CHECK(n > 0 && text[n - 1] == '\n' && read(fd, text, 1) == 0 && !close(fd));
    text[n] = 0;
    fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && fcntl(fd, F_GETFD) == 0 && pread(fd, text, sizeof text - 1, 0) > 0 && !close(fd));
    char *after = strrchr(text, ')');
    CHECK(after && sscanf(text, "%d (%31[^)]", &l.id, l.name) == 2);
    CHECK(sscanf(after + 2, "%c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &l.state, &user, &system) == 3);
    l.cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return l;
}

static struct line line_of(pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    return read_line(path);
}

static void *waiter(void *arg)
{
    CHECK(!prctl(PR_SET_NAME, "the waiter"));
    for (int i = 0; i < 100; i++) mix();
    waiter_tid = (pid_t)syscall(SYS_gettid);
    pthread_mutex_lock(&lock);
    while (!let_go) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static double cpu_s(void)
{
    struct timespec t;
    CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *worker(void *arg)
{
    CHECK(!prctl(PR_SET_NAME, "the worker"));
    worker_tid = (pid_t)syscall(SYS_gettid);
    while (cpu_s() < 0.5) mix();
    struct line l = read_line("/proc/thread-self/stat");
    CHECK(l.id == worker_tid && !strcmp(l.name, "the worker") && l.state == 'R');
    CHECK(l.cpu_s >= 0.45 && l.cpu_s <= cpu_s() + 0.05);
    worked = true;
    while (!let_go) mix();
    return arg;
}

int main(void)
{
    pthread_t t[2];
    alarm(100);
    begin();
    CHECK(!pthread_create(&t[0], 0, waiter, 0) && !pthread_create(&t[1], 0, worker, 0));
    while (!waiter_tid || !worked) mix();
    /* The others go on meanwhile, so that the waiter's own kernel thread executes one of them, most of the time. */
    struct timespec now, until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    for (int asleep = 0; asleep < 100;) {
        struct line l = line_of(waiter_tid);
        CHECK(l.id == waiter_tid && !strcmp(l.name, "the waiter"));
        CHECK(l.cpu_s < 0.4);       /* it has yielded and handed round some hundred times; the worker has used more */
        if (l.state == 'S') asleep++;
        else asleep = 0;
        mix();
        clock_gettime(CLOCK_MONOTONIC, &now);
        CHECK(now.tv_sec < until.tv_sec);
    }
    CHECK(line_of(worker_tid).cpu_s >= 0.45);
    pthread_mutex_lock(&lock);
    let_go = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(t[i], 0));
    end();
    return 0;
}
