/* src/monitor/spawn.c - start the monitor from the tool.  SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "monitor/monitor.h"
#include "os/os.h"
#include "sharing/sharing.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_from_to(unsigned from, unsigned to)
{
    if (from > to || close_range(from, to, 0) == 0) return;
    unsigned open_max = (unsigned)sysconf(_SC_OPEN_MAX);    /* before Linux 5.9 */
    for (unsigned fd = from; fd <= to && fd < open_max; fd++) close((int)fd);
}

/* Keep `keep` only; 0-2 go nowhere. */
static void leave_files(unsigned keep)
{
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(null, i);
    close_from_to(3, keep - 1);
    close_from_to(keep + 1, ~0u);
}

/* A test's plan for the monitor; the one that follows a killed one has none. */
static char *points(void)
{
#ifdef USF_POINTS
    static char plan[320];
    const char *for_monitor = getenv("USF_TEST_MONITOR_POINTS");
    if (for_monitor && snprintf(plan, sizeof plan, "USF_POINTS=%s", for_monitor) < (int)sizeof plan) return plan;
#endif
    return NULL;
}

/* In the grandchild: become `exe monitor instance`, or tell the error. */
static _Noreturn void become(const char *exe, const char *instance, int report)
{
    char fd[16], *argv[] = {"usf", "monitor", (char *)instance, fd, NULL}, *envp[] = {points(), NULL};
    sigset_t none;
    int to = fcntl(report, F_DUPFD, 3);     /* out of the way of 0-2; the monitor tells by it how it came up */
    snprintf(fd, sizeof fd, "%d", to);
    leave_files((unsigned)to);
    for (int sig = 1; sig < NSIG; sig++) signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir("/")) usf_say("the monitor keeps its directory busy: error %d", errno);
    execve(exe, argv, envp);
    int error = errno;
    ssize_t told = write(to, &error, sizeof error);
    _exit(told == sizeof error ? 125 : 124);
}

#define START_MS 2000       /* it may have to wait for a lock first */

/* 0: it watches, or is about to; else the error, also if it just ended. */
static int read_report(int fd)
{
    int error = ECANCELED;
    char more;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n;
    do n = poll(&p, 1, START_MS);
    while (n < 0 && errno == EINTR);
    if (n == 0) return 0;
    do n = read(fd, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    if (n == sizeof error && !error)
        while (read(fd, &more, 1) < 0 && errno == EINTR) {}     /* until it has closed it */
    return error;
}

int monitor_spawn(const char *usf_exe, const char *instance)
{
    int report[2], error = 0;
    if (pipe2(report, O_CLOEXEC)) return -errno;
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);      /* no session: revive.c says why */
        pid_t daemon = fork();
        if (daemon == 0) become(usf_exe, instance, report[1]);
        _exit(daemon < 0 ? 1 : 0);
    }
    if (child < 0) error = errno;
    close(report[1]);
    int status = 0;
    if (child > 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (child > 0 && status) error = EAGAIN;
    if (!error) error = read_report(report[0]);
    close(report[0]);
    return -error;
}

int monitor_ensure(struct usf_header *h, uint32_t namespace, const char *name, uint64_t linger_ns)
{
    char exe[sizeof h->usf_exe];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n < 0) return -errno;
    exe[n] = 0;
    if ((size_t)n == sizeof exe - 1) return -ENAMETOOLONG;
    h->monitor_linger_ns = linger_ns;
    if (!shm_is_shared(name) && h->pidns == os_pidns()) memcpy(h->usf_exe, exe, (size_t)n + 1);     /* no process runs another user's file */
    bool alive = monitor_is_alive(&h->namespace[namespace]);
    if (alive && !sharing_helper_is_wanted(&h->namespace[namespace], name)) return 0;
    int r = monitor_spawn(exe, name);
    return alive ? 0 : r;
}
