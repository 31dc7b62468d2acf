/* src/runtime/complete.c - calls that a signal which the program does not see has cut short.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of a bare program they would have done all that they were asked for: the rest is done here, by
 * calls of the same kind.  What ends short in any case (a pipe's read, a full disk's write) is left
 * as it is, and so is what cannot be gone on with as if it had not been interrupted: the program is
 * given the short count, as it is bare when a handler has run. */
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "runtime/runtime.h"

/* In <linux/io_uring.h> and <linux/tcp.h>, which not all have, or not all of it. */
#define ENTER_GETEVENTS 1u
#define OPTION_ULP      31
#define OPTION_PASSPIDFD 76
/* Left in a socket, for the next call on it, when a signal has ended recvmmsg after some
 * messages. */
#define RESTART 512
/* No call transfers more. */
#define MOST 0x7ffff000ul

static bool more_to_do(long r, struct rt_signals before) { return r > 0 && rt_only_unseen(&rt_self, before); }

/* By one more call.  True: such a signal has cut this one short, too. */
static bool go_on(struct gate_frame *call, uint64_t *done)
{
    struct rt_signals before = rt_signals_of(&rt_self);
    long r = rt_make_call(call);
    if (r > 0) *done += (uint64_t)r;
    return more_to_do(r, before);
}

/* ---- what is behind a descriptor ------------------------------------------------------------- */

static unsigned major_of(uint64_t device) { return device >> 8 & 0xfff; }
static unsigned minor_of(uint64_t device) { return device & 0xff; }

enum { MEMORY_MAJOR = 1, OLD_MASTERS = 2, OTHER_TERMINALS = 5, PTMX = 2 };

/* /dev/zero, full, random and urandom give as much as they are asked for. */
static bool is_source(const struct gate_frame *f)
{
    uint64_t device;
    if (rt_fd_type((int)f->arg[0], &device) != S_IFCHR || major_of(device) != MEMORY_MAJOR) return false;
    unsigned minor = minor_of(device);
    return minor == 5 || (minor >= 7 && minor <= 9);
}

static bool is_terminal(int fd, struct termios *t) { return usf_syscall(__NR_ioctl, fd, TCGETS, t) == 0; }

/* A terminal that is to give so many bytes at least: how many of them are missing?  A
 * pseudo-terminal's master has none of this, though it tells its slave's settings. */
static uint64_t missing(const struct gate_frame *f, long done)
{
    struct termios t;
    uint64_t device;
    int fd = (int)f->arg[0];
    if (rt_fd_type(fd, &device) != S_IFCHR || major_of(device) == OLD_MASTERS) return 0;
    if (major_of(device) == OTHER_TERMINALS && minor_of(device) == PTMX) return 0;
    if (!is_terminal(fd, &t) || t.c_lflag & ICANON || t.c_cc[VTIME] || rt_fd_has_flag(fd, O_NONBLOCK)) return 0;
    uint64_t want = t.c_cc[VMIN] < f->arg[2] ? t.c_cc[VMIN] : f->arg[2];
    return want > (uint64_t)done ? want - (uint64_t)done : 0;
}

/* What takes bytes as they come.  No signal cuts a file's write short but one that kills, a limit
 * may, and sends a signal of its own to a thread that goes on; other devices may mean something by
 * each call, and so do pipes of packets. */
static bool takes_bytes(int fd, uint32_t type, uint64_t device)
{
    struct termios t;
    if (type == S_IFIFO) return !rt_fd_has_flag(fd, O_DIRECT);
    return type == S_IFCHR && (major_of(device) == MEMORY_MAJOR || is_terminal(fd, &t));
}

/* ---- sockets --------------------------------------------------------------------------------- */

enum socket_kind { OTHER_SOCKET, TCP_STREAM, UNIX_STREAM, MESSAGES };

/* TLS and the like in the kernel have records. */
static bool is_layered(int fd)
{
    char name[16];
    int len = sizeof name;
    return usf_syscall(__NR_getsockopt, fd, IPPROTO_TCP, OPTION_ULP, name, &len) == 0 && len > 0;
}

static enum socket_kind kind_of(int fd)
{
    int type = rt_fd_option(fd, SOL_SOCKET, SO_TYPE), domain = rt_fd_option(fd, SOL_SOCKET, SO_DOMAIN);
    if (type == SOCK_DGRAM) return MESSAGES;
    if (domain == AF_UNIX) return type == SOCK_STREAM ? UNIX_STREAM : type == SOCK_SEQPACKET ? MESSAGES : OTHER_SOCKET;
    if (type != SOCK_STREAM || (domain != AF_INET && domain != AF_INET6)) return OTHER_SOCKET;
    return rt_fd_option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP && !is_layered(fd) ? TCP_STREAM : OTHER_SOCKET;
}

static bool waits_for_ever(int fd, int timeout) { return !rt_fd_has_flag(fd, O_NONBLOCK) && !rt_fd_has_timeout(fd, timeout); }

/* An error or the end is left for the program's next call, which gets it bare. */
static bool is_broken(int fd)
{
    struct pollfd p = {.fd = fd};
    struct rt_signals before = rt_signals_of(&rt_self);
    long r;
    do r = usf_syscall(__NR_poll, &p, 1, 0);
    while (r == -EINTR && rt_only_unseen(&rt_self, before));
    return r != 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

struct rest {
    struct gate_frame call;
    uint32_t handlers;          /* of the program, that have run when the rest began */
    bool over;
};
static bool is_over(const struct rest *s) { return s->over || rt_self.handlers != s->handlers; }

/* Do the rest in one buffer: what was done, or an error if the program must be told now. */
typedef long part_fn(struct rest *s, uint64_t at, uint64_t len);

/* By the call, whose second and third arguments are buffer and length. */
static long by_call(struct rest *s, uint64_t at, uint64_t len)
{
    uint64_t done = 0;
    do {
        s->call.arg[1] = at + done;
        s->call.arg[2] = len - done;
    } while (go_on(&s->call, &done) && done < len);
    s->over = done < len;
    return (long)done;
}

/* Until there is something, if only an error.  No place to be cancelled: something was done. */
static bool await(const struct rest *s, short events)
{
    struct pollfd p = {.fd = (int)s->call.arg[0], .events = events};
    struct gate_frame wait = s->call;
    struct rt_thread *t = rt_enter();
    wait.nr = __NR_poll;
    wait.arg[0] = (uint64_t)&p;
    wait.arg[1] = 1;
    wait.arg[2] = (uint64_t)-1;
    wait.cancel = 0;
    return (t ? rt_call_releasing(t, &wait, true) : rt_pass(&wait)) == 1;
}

/* The connection's: it has come between the look and the call, which took it from the socket, so
 * the next one would see an end without a reason. */
static bool is_of_connection(long r)
{ return r < 0 && r != -EAGAIN && r != -EINTR && r != -EPIPE && r != -EFAULT && r != -ENOMEM && r != -ENOBUFS; }

/* A call that waits and has sent nothing takes an error from the socket, and one that has sent
 * something leaves it there: so wait outside.  Nor does SIGPIPE come to a thread that has sent
 * something. */
static long send_tcp(struct rest *s, uint64_t at, uint64_t len)
{
    uint64_t done = 0;
    while (done < len && !is_over(s) && !is_broken((int)s->call.arg[0])) {
        long r = usf_syscall(__NR_sendto, s->call.arg[0], at + done, len - done, s->call.arg[3] | MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
        if (is_of_connection(r)) return r;
        if (r > 0) done += (uint64_t)r;
        else if (r != -EAGAIN || !await(s, POLLOUT)) break;
    }
    s->over = done < len;
    return (long)done;
}

/* A UNIX socket's error is taken by the thread that waits. */
static long send_unix(struct rest *s, uint64_t at, uint64_t len)
{
    s->over = is_broken((int)s->call.arg[0]);
    return s->over ? 0 : by_call(s, at, len);
}

/* What can be taken without coming upon an error or the end.  Negative: at the mark of urgent data,
 * where a call ends. */
static long bytes_there(int fd)
{
    int mark = 0, n = 0;
    if (usf_syscall(__NR_ioctl, fd, SIOCATMARK, &mark) == 0 && mark) return -1;
    return usf_syscall(__NR_ioctl, fd, FIONREAD, &n) == 0 ? n : -1;
}

/* A call ends also with descriptors that were sent along, and are lost where there is no room for
 * them: recvmsg says so.  (Whether a recv's first part ended so cannot be told: it is gone on
 * with.) */
static long take(struct rest *s, uint64_t at, uint64_t len)
{
    struct iovec v = {.iov_base = (void *)at, .iov_len = len};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    long r = usf_syscall(__NR_recvmsg, s->call.arg[0], &m, MSG_DONTWAIT);
    s->over = r != (long)len || m.msg_flags & MSG_CTRUNC;
    if ((uint32_t)s->call.nr == __NR_recvmsg) ((struct msghdr *)s->call.arg[1])->msg_flags |= m.msg_flags & MSG_CTRUNC;
    return r > 0 ? r : 0;
}

static long receive(struct rest *s, uint64_t at, uint64_t len)
{
    uint64_t done = 0;
    while (done < len && !is_over(s)) {
        long n = bytes_there((int)s->call.arg[0]);
        if (n == 0 && await(s, POLLIN | POLLPRI)) n = bytes_there((int)s->call.arg[0]);
        if (n <= 0) s->over = true;
        else done += (uint64_t)take(s, at + done, (uint64_t)n < len - done ? (uint64_t)n : len - done);
    }
    return (long)done;
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Of the buffer that was done in part, and then the other buffers one by one. */
static long buffers_rest(part_fn *part, const struct gate_frame *f, const struct iovec *v, uint64_t n, long r)
{
    struct rest s = {.call = *f, .handlers = rt_self.handlers};
    const struct iovec *end = v + n;
    uint64_t skip = (uint64_t)r, done = skip;
    for (; v < end && skip >= v->iov_len; v++) skip -= v->iov_len;
    for (; v < end && done < MOST && !is_over(&s); v++, skip = 0) {
        uint64_t len = v->iov_len - skip < MOST - done ? v->iov_len - skip : MOST - done;
        r = len ? part(&s, (uint64_t)v->iov_base + skip, len) : 0;
        if (r < 0) return r;
        done += (uint64_t)r;
    }
    return (long)done;
}

static struct iovec buffer_of(const struct gate_frame *f) { return (struct iovec){(void *)f->arg[1], f->arg[2]}; }

static long transfer_rest(const struct gate_frame *f, uint32_t nr, const struct iovec *v, uint64_t n, long r)
{
    struct gate_frame part = *f;
    part.nr = nr;
    return buffers_rest(by_call, &part, v, n, r);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* More would be said by other flags than bytes: what is urgent, a record's end, a message about
 * each call (zero copy). */
#define PLAIN_SEND ((uint64_t)(MSG_NOSIGNAL | MSG_MORE))

static long send_rest(const struct gate_frame *f, uint64_t flags, const struct iovec *v, uint64_t n, long r)
{
    struct gate_frame part = *f;
    int fd = (int)f->arg[0];
    if ((uint32_t)flags & ~PLAIN_SEND || !waits_for_ever(fd, SO_SNDTIMEO)) return r;
    part.nr = __NR_sendto;
    part.arg[3] = flags | MSG_NOSIGNAL;
    part.arg[4] = part.arg[5] = 0;
    switch (kind_of(fd)) {
    case TCP_STREAM: return buffers_rest(send_tcp, &part, v, n, r);
    case UNIX_STREAM: return buffers_rest(send_unix, &part, v, n, r);
    default: return r;
    }
}

/* What is sent along may be meant for each part of the message, or for its last byte. */
static long sendmsg_rest(const struct gate_frame *f, long r)
{
    const struct msghdr *m = (const struct msghdr *)f->arg[1];
    return m->msg_controllen ? r : send_rest(f, f->arg[2], m->msg_iov, m->msg_iovlen, r);
}

static long write_rest(const struct gate_frame *f, const struct iovec *v, uint64_t n, long r)
{
    uint64_t device = 0;
    uint32_t type = rt_fd_type((int)f->arg[0], &device);
    if (type == S_IFSOCK) return send_rest(f, 0, v, n, r);
    return takes_bytes((int)f->arg[0], type, device) ? transfer_rest(f, __NR_write, v, n, r) : r;
}

static bool can_be_sent_on(const struct gate_frame *f)
{
    uint64_t device = 0;
    int fd = (int)f->arg[0];
    uint32_t type = rt_fd_type(fd, &device);
    if (type != S_IFSOCK) return takes_bytes(fd, type, device);
    enum socket_kind kind = kind_of(fd);
    return (kind == TCP_STREAM || kind == UNIX_STREAM) && waits_for_ever(fd, SO_SNDTIMEO) && !is_broken(fd);
}

/* The kernel has moved the offset on.  It sends page by page: here an error after the first is
 * taken from the socket bare, too. */
static long sendfile_rest(const struct gate_frame *f, long r)
{
    struct gate_frame rest = *f;
    uint64_t done = (uint64_t)r, want = f->arg[3] < MOST ? f->arg[3] : MOST;
    do {
        if (done >= want || !can_be_sent_on(f)) break;
        rest.arg[3] = want - done;
    } while (go_on(&rest, &done));
    return (long)done;
}

/* ---- receiving ------------------------------------------------------------------------------- */

#define PLAIN_RECEIVE ((uint64_t)(MSG_WAITALL | MSG_PEEK | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC))

/* Bytes of different writers are not put together where the reader is told who they are. */
static bool tells_writers(int fd)
{
    return rt_fd_option(fd, SOL_SOCKET, SO_PASSCRED) > 0 || rt_fd_option(fd, SOL_SOCKET, SO_PASSSEC) > 0
           || rt_fd_option(fd, SOL_SOCKET, OPTION_PASSPIDFD) > 0;
}

/* ... and whose bytes poll tells of one by one. */
static bool is_plain_stream(int fd)
{
    enum socket_kind kind = kind_of(fd);
    return (kind == TCP_STREAM || (kind == UNIX_STREAM && !tells_writers(fd))) && rt_fd_option(fd, SOL_SOCKET, SO_RCVLOWAT) <= 1;
}

/* What was looked at is there still. */
static long look_again(const struct gate_frame *f, const struct iovec *v, uint64_t n, long r)
{
    struct msghdr m;
    struct gate_frame look = *f;
    struct rt_signals before;
    look.nr = __NR_recvmsg;
    look.arg[1] = (uint64_t)&m;
    look.arg[2] = MSG_WAITALL | MSG_PEEK;
    do {
        m = (struct msghdr){.msg_iov = (struct iovec *)v, .msg_iovlen = n};
        before = rt_signals_of(&rt_self);
        long again = rt_make_call(&look);
        if (again < r) break;
        r = again;
    } while (!(m.msg_flags & MSG_CTRUNC) && more_to_do(r, before));
    return r;
}

static long receive_rest(const struct gate_frame *f, uint64_t flags, const struct iovec *v, uint64_t n, long r)
{
    int fd = (int)f->arg[0];
    if (!(flags & MSG_WAITALL) || (uint32_t)flags & ~PLAIN_RECEIVE) return r;
    if (!is_plain_stream(fd) || !waits_for_ever(fd, SO_RCVTIMEO)) return r;
    if (!(flags & MSG_PEEK)) return buffers_rest(receive, f, v, n, r);
    return rt_fd_option(fd, SOL_SOCKET, SO_PEEK_OFF) < 0 ? look_again(f, v, n, r) : r;
}

/* It ends with what was sent along, and what has come already is not to be written over. */
static long recvmsg_rest(const struct gate_frame *f, long r)
{
    const struct msghdr *m = (const struct msghdr *)f->arg[1];
    if (m->msg_control || m->msg_controllen || m->msg_flags & (MSG_CTRUNC | MSG_OOB)) return r;
    return receive_rest(f, f->arg[2], m->msg_iov, m->msg_iovlen, r);
}

static long read_rest(const struct gate_frame *f, long r)
{
    struct iovec v = buffer_of(f);
    if (is_source(f)) return transfer_rest(f, __NR_read, &v, 1, r);
    uint64_t more = missing(f, r);
    if (!more) return r;
    v.iov_len = (uint64_t)r + more;
    return transfer_rest(f, __NR_read, &v, 1, r);
}

/* Positions mean nothing there, so they need not be moved on. */
static long source_rest(const struct gate_frame *f, uint32_t nr, const struct iovec *v, uint64_t n, long r)
{ return is_source(f) ? transfer_rest(f, nr, v, n, r) : r; }

/* Buffer and length come first. */
static long random_rest(const struct gate_frame *f, long r)
{
    struct gate_frame rest = *f;
    uint64_t done = (uint64_t)r, want = f->arg[1] < MOST ? f->arg[1] : MOST;
    do {
        if (done >= want) break;
        rest.arg[0] = f->arg[0] + done;
        rest.arg[1] = want - done;
    } while (go_on(&rest, &done));
    return (long)done;
}

/* ---- several messages ------------------------------------------------------------------------ */

static long messages_rest(const struct gate_frame *f, long r, bool (*may_go_on)(const struct gate_frame *f, long done))
{
    struct gate_frame rest = *f;
    uint64_t done = (uint64_t)r;
    do {
        if (!may_go_on(f, (long)done)) break;
        rest.arg[1] = f->arg[1] + done * sizeof(struct mmsghdr);
        rest.arg[2] = f->arg[2] - done;
    } while (go_on(&rest, &done));
    return (long)done;
}

/* Of a stream the last message may have been sent in part, and nothing may come before its rest. */
static bool may_send_on(const struct gate_frame *f, long done)
{
    int fd = (int)f->arg[0];
    if (f->arg[3] & MSG_DONTWAIT) return false;
    return (uint32_t)done < (uint32_t)f->arg[2] && kind_of(fd) == MESSAGES && waits_for_ever(fd, SO_SNDTIMEO);
}

/* The signal has left its mark as the socket's error, which the next call would be told: an errno
 * that there is not.  An error of the socket's own ends the call (and is lost to the next, since
 * there is no other way to tell them apart, but that of a connection which has ended). */
static bool was_interrupted(int fd)
{
    struct pollfd p = {.fd = fd};
    usf_syscall(__NR_poll, &p, 1, 0);
    int error = p.revents & POLLHUP ? EPIPE : rt_fd_option(fd, SOL_SOCKET, SO_ERROR);
    return error == 0 || error == RESTART || error == EINTR;
}

/* The kernel has looked at the time after each message, and written what was left: none, and that
 * was why it ended. */
static bool is_time_up(const struct gate_frame *f)
{
    const int64_t *time = (const int64_t *)f->arg[4];
    return time && !time[0] && !time[1];
}

#define DOES_NOT_WAIT ((uint64_t)(MSG_WAITFORONE | MSG_DONTWAIT | MSG_ERRQUEUE))

/* How much of a time has passed since is not known. */
static bool may_receive_on(const struct gate_frame *f, long done)
{
    const struct mmsghdr *last = (const struct mmsghdr *)f->arg[1] + done - 1;
    int fd = (int)f->arg[0];
    if ((uint32_t)done >= (uint32_t)f->arg[2] || f->arg[3] & DOES_NOT_WAIT || rt_fd_has_flag(fd, O_NONBLOCK)) return false;
    if (last->msg_hdr.msg_flags & MSG_OOB || is_time_up(f) || !was_interrupted(fd)) return false;
    return kind_of(fd) == MESSAGES && !f->arg[4] && !rt_fd_has_timeout(fd, SO_RCVTIMEO);
}

/* All were submitted, and some are to be complete: only the wait is missing, which ends without an
 * error once one is. */
static long wait_for_completions(const struct gate_frame *f, long r)
{
    struct gate_frame wait = *f;
    struct rt_signals before;
    if ((uint64_t)r != (uint32_t)f->arg[1] || !(uint32_t)f->arg[2] || !(f->arg[3] & ENTER_GETEVENTS)) return r;
    wait.arg[1] = 0;
    do before = rt_signals_of(&rt_self);
    while (rt_make_call(&wait) == 0 && rt_only_unseen(&rt_self, before));
    return r;
}

/* A position of -1 is the file's own. */
static bool is_as_without_position(const struct gate_frame *f) { return (int64_t)f->arg[3] == -1 && !f->arg[5]; }

long rt_complete_slow(const struct gate_frame *f, long r)
{
    struct iovec one = buffer_of(f);
    const struct iovec *v = (const struct iovec *)f->arg[1];
    if ((uint32_t)f->nr == __NR_io_uring_enter) return wait_for_completions(f, r);
    if (r == 0) return r;
    switch ((uint32_t)f->nr) {
    case __NR_read: return read_rest(f, r);
    case __NR_readv: return source_rest(f, __NR_read, v, f->arg[2], r);
    case __NR_pread64: return source_rest(f, __NR_pread64, &one, 1, r);
    case __NR_preadv: return source_rest(f, __NR_pread64, v, f->arg[2], r);
    case __NR_preadv2: return f->arg[5] ? r : source_rest(f, is_as_without_position(f) ? __NR_read : __NR_pread64, v, f->arg[2], r);
    case __NR_getrandom: return random_rest(f, r);
    case __NR_recvfrom: return receive_rest(f, f->arg[3], &one, 1, r);
    case __NR_recvmsg: return recvmsg_rest(f, r);
    case __NR_recvmmsg: return messages_rest(f, r, may_receive_on);
    case __NR_sendmmsg: return messages_rest(f, r, may_send_on);
    case __NR_write: return write_rest(f, &one, 1, r);
    case __NR_writev: return write_rest(f, v, f->arg[2], r);
    case __NR_pwritev2: return is_as_without_position(f) ? write_rest(f, v, f->arg[2], r) : r;
    case __NR_sendto: return send_rest(f, f->arg[3], &one, 1, r);
    case __NR_sendmsg: return sendmsg_rest(f, r);
    case __NR_sendfile: return sendfile_rest(f, r);
    default: return r;
    }
}
