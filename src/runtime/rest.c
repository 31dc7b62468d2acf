/* src/runtime/rest.c - calls that a signal which the program does not see has cut short.  SPDX-License-Identifier: Apache-2.0
 *
 * Of a bare program they would have done all that they were asked for: the rest is done here, by calls of the same kind.  What ends short
 * in any case (a pipe's read, a full disk's write) is left as it is. */
#include <asm/termbits.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "runtime/runtime.h"

/* In <linux/io_uring.h>, which not all have. */
#define ENTER_GETEVENTS 1u
/* Kept by the kernel for the next call on a socket whose recvmmsg a signal has ended after some messages. */
#define RESTART (-512L)

static bool more_to_do(long r, struct rt_signals before) { return r > 0 && rt_only_unseen(&rt_self, before); }

/* ---- what is behind a descriptor -------------------------------------------------------------- */

static uint32_t type_of(int fd, uint64_t *device)
{
    struct stat st;
    if (usf_syscall(__NR_fstat, fd, &st) < 0) return 0;
    *device = st.st_rdev;
    return st.st_mode & S_IFMT;
}

/* No signal ends these but by killing; a limit may, and sends one of its own to who goes on. */
static bool is_file(const struct gate_frame *f)
{
    uint64_t device;
    return type_of((int)f->rdi, &device) == S_IFREG;
}

/* Messages are not to be put together. */
static bool is_stream(const struct gate_frame *f)
{
    int type = 0, len = sizeof type;
    return usf_syscall(__NR_getsockopt, f->rdi, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* /dev/zero, full, random and urandom give as much as they are asked for. */
static bool is_source(const struct gate_frame *f)
{
    uint64_t device;
    if (type_of((int)f->rdi, &device) != S_IFCHR || device >> 8 != 1) return false;
    unsigned minor = device & 0xff;
    return minor == 5 || (minor >= 7 && minor <= 9);
}

/* A terminal that is to give so many bytes at least: how many of them are missing? */
static uint64_t missing(const struct gate_frame *f, long done)
{
    struct termios t;
    if (usf_syscall(__NR_ioctl, f->rdi, TCGETS, &t) < 0 || t.c_lflag & ICANON || t.c_cc[VTIME]) return 0;
    uint64_t want = t.c_cc[VMIN] < f->rdx ? t.c_cc[VMIN] : f->rdx;
    return want > (uint64_t)done ? want - (uint64_t)done : 0;
}

/* ---- the rest ----------------------------------------------------------------------------------- */

/* Up to `want` bytes.  Buffer and length are the second and third argument of all. */
static long transfer_up_to(const struct gate_frame *f, long done, uint64_t want)
{
    struct gate_frame rest = *f;
    struct rt_signals before;
    long r;
    do {
        if ((uint64_t)done >= want) break;
        rest.rsi = f->rsi + (uint64_t)done;
        rest.rdx = want - (uint64_t)done;
        before = rt_signals_of(&rt_self);
        r = rt_make_call(&rest);
        if (r > 0) done += r;
    } while (more_to_do(r, before));
    return done;
}
static long transfer_rest(const struct gate_frame *f, long done) { return transfer_up_to(f, done, f->rdx); }

/* The rest of the buffer that was done in part, and then the other buffers one by one. */
static long buffers_rest(struct gate_frame part, const struct iovec *v, uint64_t n, long done)
{
    const struct iovec *end = v + n;
    uint64_t skip = (uint64_t)done;
    for (; v < end && skip >= v->iov_len; v++) skip -= v->iov_len;
    for (; v < end; v++, skip = 0) {
        part.rsi = (uint64_t)v->iov_base + skip;
        part.rdx = v->iov_len - skip;
        struct rt_signals before = rt_signals_of(&rt_self);
        long r = part.rdx ? rt_make_call(&part) : 0;
        if (more_to_do(r, before)) r = transfer_rest(&part, r);
        if (r > 0) done += r;
        if (r != (long)part.rdx) break;
    }
    return done;
}

static long vector_rest(const struct gate_frame *f, uint32_t nr, long done)
{
    struct gate_frame part = *f;
    part.rax = nr;
    return buffers_rest(part, (const struct iovec *)f->rsi, f->rdx, done);
}

/* A position of -1 is the file's own. */
static bool is_as_writev(const struct gate_frame *f) { return (int64_t)f->r10 == -1 && !f->r9; }

/* What is sent along (descriptors, an address) went with the first part. */
static long message_rest(const struct gate_frame *f, uint32_t nr, long done)
{
    const struct msghdr *m = (const struct msghdr *)f->rsi;
    struct gate_frame part = *f;
    part.rax = nr;
    part.r10 = f->rdx;
    part.r8 = part.r9 = 0;
    return buffers_rest(part, m->msg_iov, m->msg_iovlen, done);
}

static long receive_rest(const struct gate_frame *f, long done)
{
    struct gate_frame rest = *f;
    rest.r8 = rest.r9 = 0;
    return transfer_rest(&rest, done);
}

/* What was looked at is there still. */
static long look_again(const struct gate_frame *f, long r)
{
    struct gate_frame look = *f;
    struct rt_signals before;
    do {
        before = rt_signals_of(&rt_self);
        long again = rt_make_call(&look);
        if (again < r) break;
        r = again;
    } while (more_to_do(r, before));
    return r;
}

static long receive(const struct gate_frame *f, uint64_t flags, long r)
{
    if (!(flags & MSG_WAITALL) || !is_stream(f)) return r;
    if (flags & MSG_PEEK) return look_again(f, r);
    return (uint32_t)f->rax == __NR_recvmsg ? message_rest(f, __NR_recvfrom, r) : receive_rest(f, r);
}

static long read_rest(const struct gate_frame *f, long r)
{
    if (is_source(f)) return transfer_rest(f, r);
    uint64_t more = missing(f, r);
    return more ? transfer_up_to(f, r, (uint64_t)r + more) : r;
}

/* Buffer and length come first. */
static long random_rest(const struct gate_frame *f, long done)
{
    struct gate_frame rest = *f;
    struct rt_signals before;
    long r;
    do {
        if ((uint64_t)done >= f->rsi) break;
        rest.rdi = f->rdi + (uint64_t)done;
        rest.rsi = f->rsi - (uint64_t)done;
        before = rt_signals_of(&rt_self);
        r = rt_make_call(&rest);
        if (r > 0) done += r;
    } while (more_to_do(r, before));
    return done;
}

/* The kernel has moved the offset on. */
static long sendfile_rest(const struct gate_frame *f, long done)
{
    struct gate_frame rest = *f;
    struct rt_signals before;
    long r;
    do {
        rest.r10 = f->r10 - (uint64_t)done;
        before = rt_signals_of(&rt_self);
        r = rest.r10 ? rt_make_call(&rest) : 0;
        if (r > 0) done += r;
    } while (more_to_do(r, before));
    return done;
}

/* Those messages that are missing. */
static long messages_rest(const struct gate_frame *f, long done)
{
    struct gate_frame rest = *f;
    struct rt_signals before;
    long r;
    do {
        if ((uint32_t)done >= (uint32_t)f->rdx) break;
        rest.rsi = f->rsi + (uint64_t)done * sizeof(struct mmsghdr);
        rest.rdx = f->rdx - (uint64_t)done;
        before = rt_signals_of(&rt_self);
        r = rt_make_call(&rest);
        if (r > 0) done += r;
    } while (r == RESTART || more_to_do(r, before));
    return done;
}

/* All were submitted, and some are to be complete: only the wait is missing, which ends without an error once one is. */
static long wait_for_completions(const struct gate_frame *f, long r)
{
    struct gate_frame wait = *f;
    struct rt_signals before;
    if ((uint64_t)r != (uint32_t)f->rsi || !(uint32_t)f->rdx || !(f->r10 & ENTER_GETEVENTS)) return r;
    wait.rsi = 0;
    do before = rt_signals_of(&rt_self);
    while (rt_make_call(&wait) == 0 && rt_only_unseen(&rt_self, before));
    return r;
}

long rt_complete_slow(const struct gate_frame *f, long r)
{
    if ((uint32_t)f->rax == __NR_io_uring_enter) return wait_for_completions(f, r);
    if (r == 0) return r;
    switch ((uint32_t)f->rax) {
    case __NR_read: return read_rest(f, r);
    case __NR_readv: return is_source(f) ? vector_rest(f, __NR_read, r) : r;
    case __NR_getrandom: return random_rest(f, r);
    case __NR_recvfrom: return receive(f, f->r10, r);
    case __NR_recvmsg: return receive(f, f->rdx, r);
    case __NR_recvmmsg: return f->r10 & MSG_WAITFORONE ? r : messages_rest(f, r);
    case __NR_sendmmsg: return messages_rest(f, r);
    case __NR_write: return is_file(f) ? r : transfer_rest(f, r);
    case __NR_writev: return is_file(f) ? r : vector_rest(f, __NR_write, r);
    case __NR_pwritev2: return is_as_writev(f) && !is_file(f) ? vector_rest(f, __NR_write, r) : r;
    case __NR_sendto: return transfer_rest(f, r);
    case __NR_sendmsg: return message_rest(f, __NR_sendto, r);
    case __NR_sendfile: return is_file(f) ? r : sendfile_rest(f, r);
    default: return r;
    }
}
