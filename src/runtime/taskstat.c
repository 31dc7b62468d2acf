/* src/runtime/taskstat.c - /proc/self/task/TID/stat of a thread that floats.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a thread does just now is in the file of the kernel thread that executes it, all else in
 * that of its own, but for its CPU time.  So a program that opens the file gets one in memory, with
 * what was true when it opened it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>

#include "runtime/runtime.h"

#define LINE_MAX  1024u
#define TICK_NS   10000000u     /* of the kernel's interface: USER_HZ */
enum { STATE = 3, USER_TIME = 14, SYSTEM_TIME, CHILDREN_USER_TIME };    /* fields */

/* All is its own kernel thread's but what it does just now, and the times. */
static int make_line(char *line, int32_t tid, int32_t at)
{
    char its[LINE_MAX] = "", path[64];
    uint64_t cpu_ns;
    usf_format(path, sizeof path, "/proc/self/task/%d/stat", tid);
    long n = os_read_file(path, its, sizeof its);
    const char *state = os_stat_field(its, n, STATE), *times = os_stat_field(its, n, USER_TIME), *rest = os_stat_field(its, n, CHILDREN_USER_TIME);
    char does = os_thread_state(rt.pid, at);
    if (!rest || !does || !rt_cpu_time_of(tid, &cpu_ns)) return -1;
    uint64_t user = os_stat_number(its, n, USER_TIME), system = os_stat_number(its, n, SYSTEM_TIME), ticks = cpu_ns / TICK_NS;
    uint64_t in_kernel = user + system ? ticks * system / (user + system) : 0;      /* divided as its own kernel thread's is */
    its[state - its] = does;
    its[times - its - 1] = 0;
    return usf_format(line, LINE_MAX, "%s %lu %lu %s", its, ticks - in_kernel, in_kernel, rest);
}

long rt_open_stat(int32_t tid, int32_t at, int flags)
{
    char line[LINE_MAX];
    int n = make_line(line, tid, at);
    if (n <= 0 || n >= (int)LINE_MAX) return -ENOENT;
    long fd = usf_syscall(__NR_memfd_create, "stat", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    if (fd < 0) return fd;
    if (usf_syscall(__NR_pwrite64, fd, line, n, 0) == n) return fd;
    usf_syscall(__NR_close, fd);
    return -ENOENT;
}
