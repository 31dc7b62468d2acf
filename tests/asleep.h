/* tests/asleep.h - what a thread does, and what it waits for in the kernel.  SPDX-License-Identifier: Apache-2.0
 *
 * A thread that a call has made ready is no longer asleep when that call returns.  So a test that sees it
 * asleep afterwards knows that it was not woken, and need not give it time. */
#ifndef TESTS_ASLEEP_H
#define TESTS_ASLEEP_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct asleep { long call; unsigned long arg[4]; };

/* False: it runs, or has ended. */
static inline bool is_asleep(pid_t tid, struct asleep *in)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)tid);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    bool is = fscanf(f, "%ld %lx %lx %lx %lx", &in->call, &in->arg[0], &in->arg[1], &in->arg[2], &in->arg[3]) == 5;
    fclose(f);
    return is;
}

static inline bool sleeps_in(pid_t tid, long call)
{
    struct asleep in;
    return is_asleep(tid, &in) && in.call == call;
}

/* Does a thread of this process, with that as the call's first argument; -1: with any?  Where threads float, any kernel thread may make
 * a thread's call. */
static inline bool any_sleeps_in(long call, long first)
{
    struct asleep in;
    bool found = false;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = is_asleep(atoi(e->d_name), &in) && in.call == call && (first == -1 || in.arg[0] == (unsigned long)first);
    if (d) closedir(d);
    return found;
}

/* Its state as /proc tells it: 'R', 'S', 'T', 'Z', ...; 0: there is no such thread. */
static inline char state_of(pid_t tid)
{
    char path[64], line[256], *end = NULL;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fgets(line, sizeof line, f)) end = strrchr(line, ')');
    fclose(f);
    return end ? end[2] : (char)0;
}

/* In a futex or an epoll, without a time limit. */
static inline bool sleeps_for_ever(pid_t tid)
{
    struct asleep in;
    if (!is_asleep(tid, &in)) return false;
    return (in.call == SYS_futex && !in.arg[3]) || ((in.call == SYS_epoll_wait || in.call == SYS_epoll_pwait) && (int)in.arg[3] == -1);
}

#endif
