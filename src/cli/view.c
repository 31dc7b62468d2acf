/* src/cli/view.c - names for what lies in a segment.  SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"
#include "cli/cli.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

const char *view_task_state(uint32_t state)
{
    static const char *const names[] = {"free", "new", "ready", "running", "blocked", "in-kernel", "gone"};
    return state < sizeof names / sizeof *names ? names[state] : "?";
}

const char *view_core_state(unsigned state)
{
    static const char *const names[] = {"idle", "running", "lent", "away", "off"};
    return state < sizeof names / sizeof *names ? names[state] : "?";
}

/* Calls that threads wait in.  Others are told by number. */
static const struct { uint16_t nr; const char *name; } calls[] = {
#define CALL(x) {SYS_##x, #x},
    CALL(read) CALL(write) CALL(readv) CALL(writev) CALL(pread64) CALL(pwrite64) CALL(preadv) CALL(pwritev)
    CALL(open) CALL(openat) CALL(close) CALL(poll) CALL(ppoll) CALL(select) CALL(pselect6) CALL(epoll_wait)
    CALL(epoll_pwait) CALL(epoll_pwait2) CALL(futex) CALL(futex_waitv) CALL(nanosleep) CALL(clock_nanosleep)
    CALL(pause) CALL(wait4) CALL(waitid) CALL(accept) CALL(accept4) CALL(connect) CALL(recvfrom) CALL(recvmsg)
    CALL(recvmmsg) CALL(sendto) CALL(sendmsg) CALL(sendmmsg) CALL(flock) CALL(fcntl) CALL(fsync) CALL(fdatasync)
    CALL(sync) CALL(ioctl) CALL(msgrcv) CALL(msgsnd) CALL(semop) CALL(semtimedop) CALL(mq_timedreceive)
    CALL(mq_timedsend) CALL(io_uring_enter) CALL(io_getevents) CALL(rt_sigsuspend) CALL(rt_sigtimedwait)
    CALL(sendfile) CALL(splice) CALL(copy_file_range) CALL(getrandom) CALL(sched_yield) CALL(mmap) CALL(munmap)
    CALL(madvise) CALL(msync) CALL(rename) CALL(unlink) CALL(fork) CALL(vfork) CALL(clone) CALL(clone3)
    CALL(execve) CALL(restart_syscall)
};

void view_wait(const struct usf_task *t, char *buf, size_t cap)
{
    uint32_t kind = atomic_load(&t->wait_kind);
    uint64_t addr = atomic_load(&t->wait_addr);
    buf[0] = 0;
    if (kind == USF_WAIT_FUTEX) snprintf(buf, cap, "futex 0x%lx", addr);
    else if (kind == USF_WAIT_CORE) snprintf(buf, cap, "core");
    if (kind != USF_WAIT_SYSCALL) return;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].nr == addr) {
            snprintf(buf, cap, "%s", calls[i].name);
            return;
        }
    snprintf(buf, cap, "system call %lu", addr);
}

/* ---- instances -------------------------------------------------------------------------------- */
struct names { char **v; int n; };

static void add(const char *name, void *arg)
{
    struct names *l = arg;
    char **more = realloc(l->v, ((size_t)l->n + 1) * sizeof *more);
    if (!more) return;
    l->v = more;
    l->v[l->n++] = xasprintf("%s", name);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int view_instances(char ***names)
{
    struct names l = {0};
    int r = shm_list(NULL, add, &l);
    *names = l.v;
    if (r < 0) {
        view_free(l.v, l.n);
        *names = NULL;
        return r;
    }
    if (l.n) qsort(l.v, (size_t)l.n, sizeof *l.v, by_name);
    return l.n;
}

void view_free(char **names, int n)
{
    for (int i = 0; i < n; i++) free(names[i]);
    free(names);
}

bool view_same_pidns(const struct usf_header *h) { return !h->pidns || h->pidns == os_pidns(); }
