/* src/runtime/descriptor.c - what is behind a descriptor.  SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "runtime/runtime.h"

uint32_t rt_fd_type(int fd, uint64_t *device)
{
    struct stat st;
    if (usf_syscall(__NR_fstat, fd, &st) < 0) return 0;
    *device = st.st_rdev;
    return st.st_mode & S_IFMT;
}

bool rt_fd_has_flag(int fd, long flag)
{
    long flags = usf_syscall(__NR_fcntl, fd, F_GETFL);
    return flags < 0 || flags & flag;
}

int rt_fd_option(int fd, int level, int name)
{
    int value = 0, len = sizeof value;
    return usf_syscall(__NR_getsockopt, fd, level, name, &value, &len) == 0 ? value : -1;
}

/* How much of a timeout was used up is not known. */
bool rt_fd_has_timeout(int fd, int name)
{
    int64_t time[2] = {0, 0};
    int len = sizeof time;
    return usf_syscall(__NR_getsockopt, fd, SOL_SOCKET, name, time, &len) != 0 || time[0] || time[1];
}

bool rt_fd_is_ready(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    return usf_syscall(__NR_poll, &p, 1, 0) != 0;
}
