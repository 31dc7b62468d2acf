/* src/runtime/look.c - would a read or write wait?  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "runtime/runtime.h"

/* A call that sleeps in the kernel with its core released provisionally keeps other threads from
 * the core for a while.  So a read or write looks first whether it would sleep, and then releases
 * the core before the call. */
#define WHOLE       4096u           /* bytes: a pipe (PIPE_BUF) and a UNIX socket take so many as one, or none */
#define NOWAIT      8               /* RWF_NOWAIT */

/* ---- what a descriptor is ------------------------------------------------------------------------ */
/* Asked once, and again once any descriptor has been closed, replaced or given another option
 * (rt_descriptors_change). */

enum kind { OTHER, FILE_ALWAYS_READY, PIPE, UNIX_SOCKET };

static _Atomic uint32_t generation = 1;
static _Atomic uint32_t known[1024];            /* generation * 4 + enum kind */
static _Atomic bool no_nowait;                  /* the kernel has it not, for pipes */

void rt_descriptors_change(void) { atomic_fetch_add(&generation, 1); }

/* It is a UNIX socket.  A stream whose buffer is smaller takes WHOLE bytes in parts, of which the
 * first may find room alone: a part is half of the buffer, less 64 bytes. */
static bool takes_whole(int fd)
{
    return rt_fd_option(fd, SOL_SOCKET, SO_DOMAIN) == AF_UNIX && rt_fd_option(fd, SOL_SOCKET, SO_RCVLOWAT) == 1
           && rt_fd_option(fd, SOL_SOCKET, SO_SNDBUF) >= 2 * ((int)WHOLE + 64);
}

static enum kind ask_kind(int fd)
{
    uint64_t device;
    switch (rt_fd_type(fd, &device)) {
    case S_IFREG: case S_IFBLK: return FILE_ALWAYS_READY;
    case S_IFIFO: return PIPE;
    case S_IFSOCK: return takes_whole(fd) ? UNIX_SOCKET : OTHER;
    default: return OTHER;
    }
}

static enum kind kind_of(int fd)
{
    if (fd < 0 || (unsigned)fd >= sizeof known / sizeof *known) return OTHER;
    uint32_t gen = atomic_load(&generation) & UINT32_MAX / 4, is = atomic_load_explicit(&known[fd], memory_order_relaxed);
    if (USF_LIKELY(is / 4 == gen)) return (enum kind)(is % 4);
    enum kind kind = ask_kind(fd);
    atomic_store_explicit(&known[fd], gen * 4 + kind, memory_order_relaxed);
    return kind;
}

/* ---- looking ------------------------------------------------------------------------------------- */

/* It would return at once: nothing is gained by giving the core up. */
static bool never_blocks(const struct gate_frame *f)
{
    uint64_t at_once = MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE;
    if (rt_fd_has_flag((int)f->arg[0], O_NONBLOCK)) return true;
    switch ((uint32_t)f->nr) {
    case __NR_recvfrom: case __NR_sendto: case __NR_recvmmsg: case __NR_sendmmsg: return f->arg[3] & at_once;
    case __NR_recvmsg: case __NR_sendmsg: return f->arg[2] & at_once;
    }
    return false;
}

enum look { READY, WOULD_SLEEP, MAY_SLEEP, DONE };

/* A thread that polls learns exactly whether it is readable, and whether a pipe is writable; a socket
 * is said not to be long before it is full. */
static enum look ask(const struct gate_frame *f, short events)
{
    if (rt_fd_is_ready((int)f->arg[0], events)) return READY;
    return events == POLLIN || rt_fd_option((int)f->arg[0], SOL_SOCKET, SO_DOMAIN) < 0 ? WOULD_SLEEP : MAY_SLEEP;
}

/* The call itself, without sleeping, in half of the time: where it comes to the same, as it takes
 * all or nothing. */
static enum look try_pipe(const struct gate_frame *f, short events, long *r)
{
    struct iovec v = {(void *)f->arg[1], f->arg[2]};
    bool reads = (uint32_t)f->nr == __NR_read;
    if ((!reads && ((uint32_t)f->nr != __NR_write || f->arg[2] > WHOLE)) || no_nowait) return ask(f, events);
    *r = usf_syscall(reads ? __NR_preadv2 : __NR_pwritev2, f->arg[0], &v, 1, -1, -1, NOWAIT);
    if (*r == -EAGAIN) return WOULD_SLEEP;
    if (*r != -EOPNOTSUPP && *r != -ENOSYS && *r != -EPERM && *r != -EINVAL) return DONE;
    no_nowait = *r != -EINVAL;
    return ask(f, events);
}

/* A write that fails with EPIPE has sent nothing, and fails again: with SIGPIPE. */
static enum look try_socket(const struct gate_frame *f, short events, long *r)
{
    uint32_t nr = (uint32_t)f->nr;
    bool plain = nr == __NR_read || nr == __NR_write, reads = events == POLLIN;
    if (!plain && nr != __NR_recvfrom && nr != __NR_sendto) return ask(f, events);
    uint64_t flags = plain ? 0 : f->arg[3];
    if (reads ? flags != 0 : f->arg[2] > WHOLE) return ask(f, events);
    *r = usf_syscall(reads ? __NR_recvfrom : __NR_sendto, f->arg[0], f->arg[1], f->arg[2], flags | MSG_DONTWAIT | (reads ? 0 : MSG_NOSIGNAL), plain ? 0 : f->arg[4],
                     plain ? 0 : f->arg[5]);
    if (*r == -EAGAIN) return WOULD_SLEEP;
    return !reads && *r == -EPIPE && !(flags & MSG_NOSIGNAL) ? READY : DONE;
}

static enum look look(const struct gate_frame *f, short events, long *r)
{
    switch (kind_of((int)f->arg[0])) {
    case FILE_ALWAYS_READY: return READY;
    case PIPE: return try_pipe(f, events, r);
    case UNIX_SOCKET: return try_socket(f, events, r);
    default: return ask(f, events);
    }
}

long rt_call_while_wanted(struct rt_thread *t, struct gate_frame *f, short events)
{
    long r = 0;
    rt_act_upon_cancel(f);
    enum look seen = look(f, events, &r);
    return seen == DONE ? r : rt_call_releasing(t, f, seen == WOULD_SLEEP && !never_blocks(f));
}
