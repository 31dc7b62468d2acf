/* tests/sched/stall.c INSTANCE signal|again|hold|trace - hold an instance's scheduler lock while not running.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   signal   stop by SIGSTOP with the lock; released after the next SIGCONT; then wait to be killed
 *   again    the same, but released after the third SIGCONT
 *   hold     wait for a line with the lock, release it, end
 *   trace    a child stops with the lock under ptrace and is never continued; both end at the end of input */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "sched/lock.h"
#include "sched/sched.h"
#include "shm/shm.h"

static void stop_by_signal(void) { raise(SIGSTOP); }
static void stop_again(void) { for (int i = 0; i < 3; i++) raise(SIGSTOP); }
static void wait_for_line(void) { getchar(); }

static void take_lock_and_stop(const char *instance, void (*stop)(void))
{
    struct shm_config c = {.name = instance};
    struct shm shm;
    struct sched s = {0};
    struct os_cpuset cpus;
    char why[128];
    if (shm_open_instance(&c, false, &shm)) {
        fprintf(stderr, "%s\n", shm.why);
        exit(1);
    }
    sched_bind(&s, shm.h);
    s.namespace = shm.namespace;
    os_getaffinity(0, &cpus);
    if (sched_use_policy(&s, NULL, why, sizeof why)
        || sched_proc_join(&s, getpid(), os_start_time(getpid()), "stall", &cpus, 0) < 0) {
        fprintf(stderr, "cannot join\n");
        exit(1);
    }
    uint32_t name = lock_name(USF_NONE, s.proc, s.namespace);
    lock_acquire(&shm.h->lock, name);
    puts("holds");
    fflush(stdout);
    stop();
    lock_release(&shm.h->lock, name);
    puts("released");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    alarm(120);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!strcmp(argv[2], "signal") || !strcmp(argv[2], "again")) {
        take_lock_and_stop(argv[1], argv[2][0] == 's' ? stop_by_signal : stop_again);
        for (;;) pause();
    }
    if (!strcmp(argv[2], "hold")) {
        take_lock_and_stop(argv[1], wait_for_line);
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        take_lock_and_stop(argv[1], stop_by_signal);
        _exit(0);
    }
    while (getchar() != EOF) {}
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
