/* tests/blocking/sockets.c - sockets.  SPDX-License-Identifier: Apache-2.0 */
#include "blocking.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

static char byte[8];
static struct iovec one = {.iov_base = byte, .iov_len = 1};
static struct sockaddr_storage addr;
static socklen_t addr_len;

static void make_stream(void) { MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, w.fd)); }
static void make_dgram(void) { MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, w.fd)); }
static void make_full(void)
{
    make_stream();
    fill(w.fd[1]);
}
static void put_it(void) { put(w.fd[1]); }
static void put_three(void) { for (int i = 0; i < 3; i++) put(w.fd[1]); }
static void make_quarter(void)
{
    make_stream();
    put_it();
}
static void drain_it(void) { drain(w.fd[0]); }
static void shut_down(void) { MUST(shutdown(w.fd[1], SHUT_RDWR)); }

static long do_recv(void) { return recv(w.fd[0], byte, 1, 0); }
static long do_recv_all(void) { return recv(w.fd[0], byte, 4, MSG_WAITALL); }
static long do_recvmsg(void) { return recvmsg(w.fd[0], &(struct msghdr){.msg_iov = &one, .msg_iovlen = 1}, 0); }
static long do_recvmmsg(void)
{
    struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = &one, .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = &one, .msg_iovlen = 1}}};
    return recvmmsg(w.fd[0], m, 2, MSG_WAITFORONE, NULL);
}
static long do_send(void) { return send(w.fd[1], "x", 1, MSG_NOSIGNAL); }
static long do_send_much(void)
{
    static char much[1000000];
    return send(w.fd[1], much, sizeof much, MSG_NOSIGNAL);
}
static void drain_much(void) { drain_until_done(w.fd[0]); }
static long do_sendmsg(void) { return sendmsg(w.fd[1], &(struct msghdr){.msg_iov = &one, .msg_iovlen = 1}, MSG_NOSIGNAL); }
static long do_sendmmsg(void)
{
    struct mmsghdr m = {.msg_hdr = {.msg_iov = &one, .msg_iovlen = 1}};
    return sendmmsg(w.fd[1], &m, 1, MSG_NOSIGNAL);
}

/* ---- with a time limit: a signal ends them even with SA_RESTART --------------------------------- */
static void limit(int fd, int option, long us)
{
    struct timeval t = {.tv_sec = us / 1000000, .tv_usec = us % 1000000};
    MUST(setsockopt(fd, SOL_SOCKET, option, &t, sizeof t));
}
static void make_limited(void) { make_stream(); limit(w.fd[0], SO_RCVTIMEO, 10000000); }
static void make_short(void) { make_stream(); limit(w.fd[0], SO_RCVTIMEO, 5000); }
static void make_full_short(void) { make_full(); limit(w.fd[1], SO_SNDTIMEO, 5000); }

/* ---- connections --------------------------------------------------------------------------------- */
static void listen_on(int family, int backlog)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    MUST(w.fd[0] = socket(family, SOCK_STREAM, 0));
    if (family == AF_UNIX) MUST(bind(w.fd[0], (void *)&un, sizeof un.sun_family));
    else MUST(bind(w.fd[0], (void *)&in, sizeof in));
    MUST(listen(w.fd[0], backlog));
    addr_len = sizeof addr;
    MUST(getsockname(w.fd[0], (void *)&addr, &addr_len));
}
static void listen_unix(void) { listen_on(AF_UNIX, 1); }
static void listen_tcp(void) { listen_on(AF_INET, 1); }
static void listen_short(void) { listen_unix(); limit(w.fd[0], SO_RCVTIMEO, 5000); }

static long do_accept(void) { return w.fd[1] = accept(w.fd[0], NULL, NULL), w.fd[1] < 0 ? -1 : 0; }
static long do_accept4(void) { return w.fd[1] = accept4(w.fd[0], NULL, NULL, SOCK_CLOEXEC), w.fd[1] < 0 ? -1 : 0; }
static void connect_to_it(void)
{
    MUST(w.fd[2] = socket(addr.ss_family, SOCK_STREAM, 0));
    MUST(connect(w.fd[2], (void *)&addr, addr_len));
}

/* One waits to be accepted, so the next has to wait. */
static void fill_backlog(void)
{
    listen_on(AF_UNIX, 0);
    connect_to_it();
    MUST(w.fd[1] = socket(AF_UNIX, SOCK_STREAM, 0));
}
static void fill_backlog_short(void) { fill_backlog(); limit(w.fd[1], SO_SNDTIMEO, 5000); }
static long do_connect(void) { return connect(w.fd[1], (void *)&addr, addr_len); }
static void accept_it(void) { MUST(w.fd[3] = accept(w.fd[0], NULL, NULL)); }

/* The SYN of the second is lost, and sent again after a second. */
static void fill_backlog_tcp(void)
{
    listen_on(AF_INET, 0);
    connect_to_it();
    MUST(w.fd[1] = socket(AF_INET, SOCK_STREAM, 0));
}

/* close waits until what was written has been read, or the time is over. */
static void make_lingering(void)
{
    struct linger l = {.l_onoff = 1, .l_linger = 1};
    int small = 4096;
    listen_tcp();
    MUST(setsockopt(w.fd[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof small));
    connect_to_it();
    MUST(w.fd[1] = accept(w.fd[0], NULL, NULL));
    MUST(setsockopt(w.fd[2], SOL_SOCKET, SO_LINGER, &l, sizeof l));
    fill(w.fd[2]);
}
static long do_close(void)
{
    int fd = w.fd[2];
    w.fd[2] = -1;
    return close(fd);
}
static void read_all(void) { drain_until_done(w.fd[1]); }

const struct blocking socket_cases[] = {
    {"recv", SYS_recvfrom, 0, make_stream, do_recv, put_it, POINT},
    {"recv-end", SYS_recvfrom, 0, make_stream, do_recv, shut_down, POINT},
    {"recv-all", SYS_recvfrom, SYS_poll, make_quarter, do_recv_all, put_three, POINT | IN_PART},
    {"recv-limit", SYS_recvfrom, 0, make_limited, do_recv, put_it, POINT},
    {"recv-timeout", SYS_recvfrom, 0, make_short, do_recv, 0, BY_ITSELF},
    {"recvmsg", SYS_recvmsg, 0, make_stream, do_recvmsg, put_it, POINT},
    {"recvmmsg", SYS_recvmmsg, 0, make_dgram, do_recvmmsg, put_it, POINT},
    {"send", SYS_sendto, 0, make_full, do_send, drain_it, POINT},
    {"send-broken", SYS_sendto, 0, make_full, do_send, shut_down, POINT},
    {"send-much", SYS_sendto, SYS_poll, make_stream, do_send_much, drain_much, POINT | IN_PART},
    {"send-timeout", SYS_sendto, 0, make_full_short, do_send, 0, BY_ITSELF},
    {"sendmsg", SYS_sendmsg, 0, make_full, do_sendmsg, drain_it, POINT},
    {"sendmmsg", SYS_sendmmsg, 0, make_full, do_sendmmsg, drain_it, POINT},
    {"accept", SYS_accept, 0, listen_unix, do_accept, connect_to_it, POINT},
    {"accept4", SYS_accept4, 0, listen_tcp, do_accept4, connect_to_it, POINT},
    {"accept-timeout", SYS_accept, 0, listen_short, do_accept, 0, BY_ITSELF},
    {"connect", SYS_connect, 0, fill_backlog, do_connect, accept_it, POINT},
    {"connect-timeout", SYS_connect, 0, fill_backlog_short, do_connect, 0, BY_ITSELF},
    {"connect-tcp", SYS_connect, 0, fill_backlog_tcp, do_connect, accept_it, POINT | UNINTERRUPTED},
    {"close-linger", SYS_close, 0, make_lingering, do_close, read_all, POINT | UNINTERRUPTED},
    {0},
};
