/* tests/blocking/pipes.c - pipes, FIFOs, terminals, counters.  SPDX-License-Identifier: Apache-2.0 */
#include "blocking.h"
#include <pty.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>
#include <poll.h>

static char byte[8];
static struct iovec one = {.iov_base = byte, .iov_len = 1};

void make_pipe(void) { MUST(pipe(w.fd)); }

static void set_nonblock(int fd, bool on)
{
    int f = fcntl(fd, F_GETFL);
    MUST(fcntl(fd, F_SETFL, on ? f | O_NONBLOCK : f & ~O_NONBLOCK));
}

void fill(int fd)
{
    static const char zeros[4096];
    set_nonblock(fd, true);
    while (write(fd, zeros, sizeof zeros) > 0) {}
    while (write(fd, zeros, 1) > 0) {}
    set_nonblock(fd, false);
}

void drain(int fd)
{
    static char sink[1 << 16];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, 20) > 0 && read(fd, sink, sizeof sink) > 0) {}
}

void drain_until_done(int fd)
{
    while (!finished) drain(fd);
}

void put(int fd) { MUST(write(fd, "x", 1)); }

static void make_full_pipe(void)
{
    make_pipe();
    fill(w.fd[1]);
}
static void put_it(void) { put(w.fd[1]); }
static void drain_it(void) { drain(w.fd[0]); }
static void close_writer(void) { close(w.fd[1]); w.fd[1] = -1; }
static void close_reader(void) { close(w.fd[0]); w.fd[0] = -1; }

static long do_read(void)
{
    long r = read(w.fd[0], byte, 1);
    w.seen = r > 0 ? byte[0] : 0;
    return r;
}
static long do_readv(void) { return readv(w.fd[0], &one, 1); }
static long do_preadv2(void) { return preadv2(w.fd[0], &one, 1, -1, 0); }
static long do_write(void) { return write(w.fd[1], "x", 1); }
static long do_writev(void) { return writev(w.fd[1], &one, 1); }
static long do_pwritev2(void) { return pwritev2(w.fd[1], &one, 1, -1, 0); }
static long do_vmsplice(void) { return vmsplice(w.fd[1], &one, 1, 0); }

/* More than the pipe takes: it blocks in the middle. */
static long do_write_much(void)
{
    static const char much[200000];
    return write(w.fd[1], much, sizeof much);
}
static long do_writev_much(void)
{
    static char much[100000];
    struct iovec v[] = {{much, 1}, {much, sizeof much}, {much, 0}, {much, sizeof much}};
    return writev(w.fd[1], v, 4);
}
static void drain_much(void) { drain_until_done(w.fd[0]); }

static void make_two_pipes(void)
{
    make_pipe();
    MUST(pipe(w.fd + 2));
}
static long do_splice(void) { return splice(w.fd[0], NULL, w.fd[3], NULL, 1, 0); }
static long do_tee(void) { return tee(w.fd[0], w.fd[3], 1, 0); }

static void make_file_and_full_pipe(void)
{
    make_full_pipe();
    MUST(w.fd[2] = memfd_create("blocking", 0));
    MUST(write(w.fd[2], "abc", 3));
    MUST(lseek(w.fd[2], 0, SEEK_SET));
}
static long do_sendfile(void) { return sendfile(w.fd[1], w.fd[2], NULL, 3); }

/* ---- FIFOs --------------------------------------------------------------------------------------- */
static void make_fifo(void)
{
    char name[] = "/tmp/usf-blocking-XXXXXX";
    MUST(mkstemp(name));
    unlink(name);
    MUST(mkfifo(name, 0600));
    w.path = strdup(name);
}
static long do_open_read(void) { return w.fd[0] = open(w.path, O_RDONLY), w.fd[0] < 0 ? -1 : 0; }
static long do_open_write(void) { return w.fd[0] = open(w.path, O_WRONLY), w.fd[0] < 0 ? -1 : 0; }
static long do_openat2(void)
{
    uint64_t how[3] = {O_RDONLY, 0, 0};
    return w.fd[0] = (int)syscall(437, AT_FDCWD, w.path, how, sizeof how), w.fd[0] < 0 ? -1 : 0;
}
static long do_creat(void) { return w.fd[0] = (int)syscall(SYS_creat, w.path, 0600), w.fd[0] < 0 ? -1 : 0; }
static void open_other_end(void) { MUST(w.fd[1] = open(w.path, O_RDWR)); }

/* ---- counters, watches --------------------------------------------------------------------------- */
static long do_read8(void)
{
    uint64_t v = 0;
    long r = read(w.fd[0], &v, 8);
    w.seen = (long)v;
    return r;
}
static void make_eventfd(void) { MUST(w.fd[0] = eventfd(0, 0)); }
static void make_full_eventfd(void) { MUST(w.fd[0] = eventfd(0, 0)); uint64_t v = -2ull; MUST(write(w.fd[0], &v, 8)); }
static void add_to_eventfd(void) { uint64_t v = 3; MUST(write(w.fd[0], &v, 8)); }
static void empty_eventfd(void) { uint64_t v; MUST(read(w.fd[0], &v, 8)); }
static long do_write8(void) { uint64_t v = 1; return write(w.fd[0], &v, 8); }

static void make_timerfd(void) { MUST(w.fd[0] = timerfd_create(CLOCK_MONOTONIC, 0)); }
static void set_timerfd(void)
{
    struct itimerspec t = {.it_value.tv_nsec = 1000000};
    MUST(timerfd_settime(w.fd[0], 0, &t, NULL));
}

static void make_inotify(void)
{
    char name[] = "/tmp/usf-blocking-XXXXXX";
    MUST(w.fd[1] = mkstemp(name));
    w.path = strdup(name);
    MUST(w.fd[0] = inotify_init());
    MUST(inotify_add_watch(w.fd[0], name, IN_MODIFY));
}
static long do_read_inotify(void)
{
    char buf[512] __attribute__((aligned(8)));
    long r = read(w.fd[0], buf, sizeof buf);
    w.seen = r > 0 ? (long)((struct inotify_event *)(void *)buf)->mask : 0;
    return r;
}

static void make_signalfd(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    MUST(w.fd[0] = signalfd(-1, &set, 0));
}
static long do_read_signalfd(void)
{
    struct signalfd_siginfo i = {0};
    long r = read(w.fd[0], &i, sizeof i);
    w.seen = i.ssi_signo;
    return r;
}
static void send_sigchld(void) { MUST(kill(getpid(), SIGCHLD)); }

/* ---- terminals ----------------------------------------------------------------------------------- */
static void make_pty(void) { MUST(openpty(&w.fd[1], &w.fd[0], NULL, NULL, NULL)); }
static void type_line(void) { MUST(write(w.fd[1], "y\n", 2)); }
static void make_raw_pty(void)
{
    struct termios t;
    MUST(openpty(&w.fd[0], &w.fd[1], NULL, NULL, NULL));
    MUST(tcgetattr(w.fd[1], &t));
    cfmakeraw(&t);
    MUST(tcsetattr(w.fd[1], TCSANOW, &t));
}
static long do_tcdrain(void) { return tcdrain(w.fd[1]); }

const struct blocking pipe_cases[] = {
    {"pipe-read", SYS_read, 0, make_pipe, do_read, put_it, POINT},
    {"pipe-read-end", SYS_read, 0, make_pipe, do_read, close_writer, POINT},
    {"pipe-readv", SYS_readv, 0, make_pipe, do_readv, put_it, POINT},
    {"pipe-preadv2", SYS_preadv2, SYS_readv, make_pipe, do_preadv2, put_it, POINT},
    {"pipe-write", SYS_write, 0, make_full_pipe, do_write, drain_it, POINT},
    {"pipe-write-broken", SYS_write, 0, make_full_pipe, do_write, close_reader, POINT},
    {"pipe-write-much", SYS_write, 0, make_pipe, do_write_much, drain_much, POINT | IN_PART},
    {"pipe-writev-much", SYS_writev, SYS_write, make_pipe, do_writev_much, drain_much, POINT | IN_PART},
    {"pipe-writev", SYS_writev, 0, make_full_pipe, do_writev, drain_it, POINT},
    {"pipe-pwritev2", SYS_pwritev2, SYS_writev, make_full_pipe, do_pwritev2, drain_it, POINT},
    {"splice", SYS_splice, 0, make_two_pipes, do_splice, put_it, POINT},
    {"tee", SYS_tee, 0, make_two_pipes, do_tee, put_it, POINT},
    {"vmsplice", SYS_vmsplice, 0, make_full_pipe, do_vmsplice, drain_it, POINT},
    {"sendfile", SYS_sendfile, 0, make_file_and_full_pipe, do_sendfile, drain_it, 0},
    {"fifo-open-read", SYS_openat, 0, make_fifo, do_open_read, open_other_end, POINT},
    {"fifo-open-write", SYS_openat, 0, make_fifo, do_open_write, open_other_end, POINT},
    {"fifo-openat2", 437, 0, make_fifo, do_openat2, open_other_end, 0},
    {"fifo-creat", SYS_creat, 0, make_fifo, do_creat, open_other_end, 0},
    {"eventfd-read", SYS_read, 0, make_eventfd, do_read8, add_to_eventfd, POINT},
    {"eventfd-write", SYS_write, 0, make_full_eventfd, do_write8, empty_eventfd, POINT},
    {"timerfd-read", SYS_read, 0, make_timerfd, do_read8, set_timerfd, POINT},
    {"inotify-read", SYS_read, 0, make_inotify, do_read_inotify, put_it, POINT},
    {"signalfd-read", SYS_read, 0, make_signalfd, do_read_signalfd, send_sigchld, POINT},
    {"pty-read", SYS_read, 0, make_pty, do_read, type_line, POINT},
    {"pty-write", SYS_write, 0, make_raw_pty, do_write_much, drain_much, POINT | IN_PART},
    {"pty-drain", SYS_ioctl, 0, make_raw_pty, do_tcdrain, 0, POINT | BY_ITSELF},
    {0},
};
