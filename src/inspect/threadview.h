/* src/inspect/threadview.h - what the kernel tells of a thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef USF_INSPECT_THREADVIEW_H
#define USF_INSPECT_THREADVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread_view {
    char state;                 /* 'R', 'S', 'D', 'T', 't', 'Z', ... */
    int cpu;                    /* that it ran on last */
    char wchan[64];             /* function of the kernel that it sleeps in; "" unknown */
    bool call_known;            /* it sleeps in a system call, and we may know which */
    long call;
    uint64_t arg[6], sp, pc;    /* 0 unless call_known */
};
/* False: there is no such thread. */
bool thread_look(int32_t pid, int32_t tid, struct thread_view *v);
/* "Name:" of /proc/PID/task/TID/status (tid 0: of the process): its text; "" if it is not there. */
void status_field(int32_t pid, int32_t tid, const char *field, char *buf, size_t cap);
/* What a descriptor of the process stands for, in words ("pipe:[12]", "/tmp/x", "TCP 127.0.0.1:80
 * -> ..."); "" unknown. */
void fd_target(int32_t pid, int fd, char *buf, size_t cap);
/* The descriptors that an epoll descriptor watches: how many, of which up to max are stored. */
unsigned epoll_members(int32_t pid, int fd, int *out, unsigned max);

#endif
