/* tests/blocking/wanted.c - reads and writes while other threads want the cores.  SPDX-License-Identifier: Apache-2.0
 *
 * Threads that do nothing but yield want the cores all the time, so each call here looks first, and gives its core up if it would wait.  What
 * the calls return is what they return bare; the program is to be run both ways. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../asleep.h"
#include "../check.h"

enum { WANTERS = 8, BYTES = 1 << 20 };

static atomic_int done, handled, cleaned;

static void *wants(void *arg)
{
    while (!done) sched_yield();
    return arg;
}

static void handler(int sig) { (void)sig; handled++; }

static void handle_with(int flags)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGALRM, &a, NULL);
}

/* Again and again: the first may come before the call. */
static void alarm_each(long us)
{
    struct itimerval in = {.it_value = {.tv_usec = us}, .it_interval = {.tv_usec = us}};
    handled = 0;
    setitimer(ITIMER_REAL, &in, NULL);
}

static void await_read(int fd) { while (!any_sleeps_in(SYS_read, fd)) usleep(1000); }

/* Writes when a signal has come in the read, which has gone on. */
struct later { int to, from; const char *bytes; size_t n; };
static void *write_later(void *arg)
{
    struct later *l = arg;
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    await_read(l->from);
    for (int before = handled; handled == before;) usleep(1000);
    await_read(l->from);
    if (write(l->to, l->bytes, l->n) != (ssize_t)l->n) abort();
    return NULL;
}

static void reads_and_signals(void)
{
    int p[2];
    char c[8];
    pthread_t t;
    if (pipe(p)) abort();
    EXPECT(read(p[0], c, 0) == 0);
    handle_with(0);
    alarm_each(20000);
    EXPECT(read(p[0], c, 1) == -1 && errno == EINTR && handled);
    handle_with(SA_RESTART);
    alarm_each(20000);
    struct later l = {p[1], p[0], "ab", 2};
    pthread_create(&t, NULL, write_later, &l);
    EXPECT(read(p[0], c, sizeof c) == 2 && handled && !memcmp(c, "ab", 2));
    pthread_join(t, NULL);
    alarm_each(0);
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    EXPECT(read(p[0], c, 1) == -1 && errno == EAGAIN);
    close(p[1]);
    EXPECT(read(p[0], c, 1) == 0);
    close(p[0]);
}

static void *read_all(void *arg)
{
    static char bytes[BYTES];
    int fd = *(int *)arg;
    size_t n = 0;
    for (ssize_t r; (r = read(fd, bytes + n, sizeof bytes - n)) > 0;) n += (size_t)r;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != (char)(i * 7)) return NULL;
    return n == BYTES ? arg : NULL;
}

/* Each byte arrives, once and in order, in pieces of all sizes; each blocking write writes all. */
static void writes_arrive(bool by_pipe)
{
    static char bytes[BYTES];
    int s[2];
    pthread_t t;
    void *all;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7);
    if (by_pipe ? pipe(s) : socketpair(AF_UNIX, SOCK_STREAM, 0, s)) abort();
    pthread_create(&t, NULL, read_all, &s[0]);
    for (size_t n = 0, i = 0; n < sizeof bytes; i++) {
        size_t piece = i % 5 == 4 ? 60000 : 100 + i % 4000;
        if (piece > sizeof bytes - n) piece = sizeof bytes - n;
        EXPECT(write(s[1], bytes + n, piece) == (ssize_t)piece);
        n += piece;
    }
    close(s[1]);
    pthread_join(t, &all);
    EXPECT(all == &s[0]);
    close(s[0]);
}

/* A socket whose buffer is small takes 4096 bytes in two parts, and the second has to wait behind 100 others. */
static void *read_late(void *arg)
{
    static char bytes[2 * 4096];
    const int *s = arg;
    while (!any_sleeps_in(SYS_write, s[1]) && !done) usleep(1000);
    while (read(s[0], bytes, sizeof bytes) > 0) {}
    return NULL;
}
static void small_buffer(void)
{
    static char bytes[4096];
    int s[2];
    pthread_t t;
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < i % 8; k++) sched_yield();      /* where it is kernel-scheduled it has no core that another could want */
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, s)) abort();
        EXPECT(write(s[1], bytes, 100) == 100);
        setsockopt(s[1], SOL_SOCKET, SO_SNDBUF, &(int){1}, sizeof(int));
        pthread_create(&t, NULL, read_late, s);
        done = write(s[1], bytes, sizeof bytes) != sizeof bytes;
        EXPECT(!done);
        close(s[1]);
        pthread_join(t, NULL);
        close(s[0]);
        if (done) break;
    }
}

static void broken(void)
{
    int s[2];
    char c[100] = {0};
    signal(SIGPIPE, handler);
    for (int kind = 0; kind < 2; kind++) {
        if (kind ? pipe(s) : socketpair(AF_UNIX, SOCK_STREAM, 0, s)) abort();
        close(s[0]);
        handled = 0;
        EXPECT(write(s[1], c, sizeof c) == -1 && errno == EPIPE && handled == 1);
        close(s[1]);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s)) abort();
    handled = 0;
    while (send(s[1], c, sizeof c, MSG_DONTWAIT) > 0) {}        /* full: it is tried from now on */
    EXPECT(errno == EAGAIN);
    close(s[0]);
    EXPECT(send(s[1], c, sizeof c, MSG_NOSIGNAL) == -1 && errno == EPIPE && handled == 0);
    EXPECT(write(s[1], c, sizeof c) == -1 && errno == EPIPE && handled == 1);
    close(s[1]);
}

static void clean(void *arg) { (void)arg; cleaned++; }
static void *reads_for_ever(void *arg)
{
    char c;
    pthread_cleanup_push(clean, NULL);
    if (read(*(int *)arg, &c, 1)) abort();
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled(void)
{
    int p[2];
    pthread_t t;
    void *r;
    if (pipe(p)) abort();
    for (int i = 0; i < 20; i++) {
        pthread_create(&t, NULL, reads_for_ever, &p[0]);
        usleep((unsigned)i * 200);
        pthread_cancel(t);
        pthread_join(t, &r);
        EXPECT(r == PTHREAD_CANCELED && cleaned == i + 1);
    }
    close(p[0]), close(p[1]);
}

static void timeouts(void)
{
    int s[2];
    char c;
    struct timeval tv = {.tv_usec = 30000};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s)) abort();
    setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    EXPECT(recv(s[0], &c, 1, 0) == -1 && errno == EAGAIN);
    close(s[0]), close(s[1]);
}

int main(void)
{
    pthread_t t[WANTERS];
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);          /* the first thread's alone */
    for (int i = 0; i < WANTERS; i++) pthread_create(&t[i], NULL, wants, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    reads_and_signals();
    writes_arrive(false);
    writes_arrive(true);
    small_buffer();
    broken();
    cancelled();
    timeouts();
    done = 1;
    for (int i = 0; i < WANTERS; i++) pthread_join(t[i], NULL);
    puts(check_failed() ? "failed" : "ok");
    return check_failed();
}
