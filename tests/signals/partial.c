/* tests/signals/partial.c - calls that do a part of what they were asked for when a signal comes, under one that is ignored.
 * SPDX-License-Identifier: Apache-2.0
 *
 * SIGURG comes every 2 ms and is ignored, so nothing may come of it.  Each call is met in its middle. */
#include "../pthread/stress.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>

#define SIZE (1 << 20)
static char sent[SIZE], got[SIZE];
static int in, out;
static _Atomic bool quit;
static pid_t target;

static void *sender(void *arg)
{
    while (!quit) {
        syscall(SYS_tgkill, getpid(), target, SIGURG);
        sleep_us(2000);
    }
    return arg;
}

/* ---- streams ------------------------------------------------------------------------------------- */

static void tcp(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    int l = socket(AF_INET, SOCK_STREAM, 0);
    out = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(l, (void *)&a, sizeof a) | listen(l, 1) | getsockname(l, (void *)&a, &len) | connect(out, (void *)&a, sizeof a), 0);
    in = accept(l, NULL, NULL);
    CHECK(in >= 0);
    close(l);
}
static void pair(int type)
{
    int s[2];
    CHECK_EQ(socketpair(AF_UNIX, type, 0, s), 0);
    in = s[0], out = s[1];
}
static void unix_stream(void) { pair(SOCK_STREAM); }
static void datagrams(void)
{
    int room = 1;                       /* as little as there may be */
    pair(SOCK_DGRAM);
    CHECK_EQ(setsockopt(out, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
}
static void a_pipe(void)
{
    int s[2];
    CHECK_EQ(pipe(s), 0);
    in = s[0], out = s[1];
}
static void terminal(void)
{
    struct termios t;
    int unlock = 0, number;
    char name[32];
    out = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    CHECK(out >= 0 && ioctl(out, TIOCSPTLCK, &unlock) == 0 && ioctl(out, TIOCGPTN, &number) == 0);
    snprintf(name, sizeof name, "/dev/pts/%d", number);
    in = open(name, O_RDWR | O_NOCTTY);
    CHECK(in >= 0 && tcgetattr(in, &t) == 0);
    cfmakeraw(&t);
    t.c_cc[VMIN] = 40;
    t.c_cc[VTIME] = 0;
    CHECK_EQ(tcsetattr(in, TCSANOW, &t), 0);
}
/* Its settings are what the other end's are, and it gives what there is. */
static void master(void)
{
    int slave;
    terminal();
    slave = in, in = out, out = slave;
}
static void one_byte_for_a_time(void)
{
    struct timeval t = { .tv_usec = 30000 };
    tcp();
    CHECK(setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0 && write(out, sent, 1) == 1);
}
static void nothing(void) { in = out = -1; }
static void zeros(void)
{
    in = open("/dev/zero", O_RDONLY);
    CHECK(in >= 0);
    out = -1;
}
static void random_source(void)
{
    in = open("/dev/urandom", O_RDONLY);
    CHECK(in >= 0);
    out = -1;
}

/* What the other side does meanwhile. */
static void *give_slowly(void *arg)
{
    for (long n = 0, r; n < 40000; n += r) {
        sleep_us(700);
        CHECK((r = write(out, sent + n, 1000)) == 1000);
    }
    return arg;
}
static void *give_bytes(void *arg)
{
    for (int i = 0; i < 40; i++) {
        sleep_us(500);
        CHECK_EQ(write(out, sent + i, 1), 1);
    }
    return arg;
}
static void *give_two(void *arg)
{
    for (int i = 0; i < 2; i++) {
        sleep_us(12000);
        CHECK_EQ(write(out, sent + i, 1), 1);
    }
    return arg;
}
static void *give_messages(void *arg)
{
    for (int i = 0; i < 12; i++) {
        sleep_us(3000);
        CHECK_EQ(send(out, sent + i * 100, 100, 0), 100);
    }
    return arg;
}
static void *take_messages(void *arg)
{
    for (int i = 0; i < 64; i++) {
        sleep_us(500);
        CHECK_EQ(recv(in, got + i * 100, SIZE - (size_t)i * 100, 0), 100);
    }
    return arg;
}
static void *take_slowly(void *arg)
{
    for (long n = 0, r; n < SIZE; n += r) {
        sleep_us(500);
        CHECK((r = read(in, got + n, SIZE - (size_t)n < 32768 ? SIZE - (size_t)n : 32768)) > 0);
    }
    return arg;
}
static void send_message(char *at, int fd)
{
    union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } u;
    struct iovec v = { at, 100 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
    if (fd >= 0) {
        u.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&u.h), &fd, sizeof fd);
        m.msg_control = &u;
        m.msg_controllen = sizeof u.room;
    }
    CHECK_EQ(sendmsg(out, &m, 0), 100);
}
static void *give_descriptors(void *arg)
{
    for (int i = 0; i < 12; i++) {
        sleep_us(3000);
        send_message(sent + i * 100, i % 3 == 1 ? 0 : -1);
    }
    return arg;
}
static void *give_urgent(void *arg)
{
    sleep_us(5000);
    CHECK_EQ(write(out, sent, 100), 100);
    sleep_us(10000);
    CHECK_EQ(send(out, "!", 1, MSG_OOB), 1);
    sleep_us(5000);
    CHECK_EQ(write(out, sent + 100, 100), 100);
    return arg;
}
static void *give_one(void *arg)
{
    sleep_us(12000);
    CHECK_EQ(write(out, sent, 1), 1);
    return arg;
}
static void reset(int *fd)
{
    struct linger l = { .l_onoff = 1 };
    CHECK(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &l, sizeof l) == 0 && close(*fd) == 0);
    *fd = -1;
}
static void *give_and_reset(void *arg)
{
    for (int i = 0; i < 10; i++) {
        sleep_us(1500);
        CHECK_EQ(write(out, sent + i * 1000, 1000), 1000);
    }
    sleep_us(7000);
    reset(&out);
    return arg;
}
static void *take_and_reset(void *arg)
{
    for (long n = 0, r; n < SIZE; n += r) {
        sleep_us(500);
        CHECK((r = read(in, got + n, SIZE - (size_t)n < 32768 ? SIZE - (size_t)n : 32768)) > 0);
    }
    sleep_us(20000);
    reset(&in);
    return arg;
}
static void *look_on(void *arg) { return arg; }

static struct iovec *parts(char *at, size_t size)
{
    static struct iovec v[3];
    v[0] = (struct iovec){ at, 1 };
    v[1] = (struct iovec){ at + 1, size / 2 };
    v[2] = (struct iovec){ at + 1 + size / 2, size - 1 - size / 2 };
    return v;
}
static long recv_all(void) { return recv(in, got, 40000, MSG_WAITALL); }
static long recv_from(void)
{
    struct sockaddr_in a;
    socklen_t len = sizeof a;
    return recvfrom(in, got, 40000, MSG_WAITALL, (void *)&a, &len);
}
static long recv_message(void)
{
    struct msghdr m = { .msg_iov = parts(got, 40000), .msg_iovlen = 3 };
    return recvmsg(in, &m, MSG_WAITALL);
}
static long peek(void)
{
    long r = recv(in, got, 40000, MSG_WAITALL | MSG_PEEK);
    CHECK(r < 0 || memcmp(got, sent, (size_t)r) == 0);
    CHECK_EQ(recv(in, got, 40000, MSG_WAITALL), 40000);
    return r;
}
static long recv_one(void)
{
    long r = recv(in, got, 1000, MSG_WAITALL);
    for (int i = 1; i < 12; i++)
        CHECK_EQ(recv(in, got + i * 100, 1000, MSG_WAITALL), 100);
    return r;
}
static struct mmsghdr *messages(char *at, int n)
{
    static struct mmsghdr m[64];
    static struct iovec v[64];
    for (int i = 0; i < n; i++) {
        v[i] = (struct iovec){ at + i * 100, 100 };
        m[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &v[i], .msg_iovlen = 1 } };
    }
    return m;
}
/* However short the calls are, no descriptor may be lost, and none may come with later bytes. */
static long recv_descriptors(void)
{
    union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } u;
    int fd, descriptors = 0;
    long n = 0, r;
    for (; n < 1200; n += r) {
        struct iovec v = { got + n, 1200 - (size_t)n };
        struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u.room };
        CHECK((r = recvmsg(in, &m, MSG_WAITALL)) > 0);
        if (m.msg_controllen == 0)
            continue;
        CHECK(u.h.cmsg_type == SCM_RIGHTS && (n + r) % 300 == 200);
        memcpy(&fd, CMSG_DATA(&u.h), sizeof fd);
        CHECK_EQ(close(fd), 0);
        descriptors++;
    }
    CHECK_EQ(descriptors, 4);
    return n;
}
/* There is nowhere to put them: they are lost, but end the call. */
static long recv_no_descriptors(void)
{
    for (long n = 0, r, end = 200; n < 1200; n += r, end = n < 200 ? 200 : (n + 100) / 300 * 300 + 200) {
        struct iovec v = { got + n, 1200 - (size_t)n };
        struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
        CHECK((r = recvmsg(in, &m, MSG_WAITALL)) > 0 && n + r <= end);
        CHECK_EQ((m.msg_flags & MSG_CTRUNC) != 0, n + r == end);
    }
    return 1200;
}
static long up_to_mark(void)
{
    long r = recv(in, got, 1000, MSG_WAITALL);
    CHECK_EQ(recv(in, got + 100, 100, MSG_WAITALL), 100);
    return r;
}
static long up_to_reset(void)
{
    long r = recv(in, got, 40000, MSG_WAITALL);
    char c;
    CHECK(recv(in, &c, 1, 0) == -1 && errno == ECONNRESET);
    return r;
}
/* More than was taken and has room on the way.  SIGPIPE would end the program. */
static long send_up_to_reset(void)
{
    static char much[SIZE * 16];
    memcpy(much, sent, SIZE);
    long r = send(out, much, sizeof much, 0);
    CHECK((r >= SIZE && r < (long)sizeof much) || (r == -1 && errno == ECONNRESET));
    CHECK(r < 0 || (send(out, much, 1, 0) == -1 && errno == ECONNRESET));
    return SIZE;
}
static long recv_for_a_time(void) { return recv(in, got, 1000, MSG_WAITALL); }
static long read_byte(void) { return read(in, got, 100); }
static long recv_some(void) { return recvmmsg(in, messages(got, 12), 12, 0, NULL); }
/* The time is up with the first: it is all that comes. */
static long recv_first(void)
{
    struct timespec t = { .tv_nsec = 1000000 };
    return recvmmsg(in, messages(got, 12), 12, 0, &t);
}
static long recv_in_time(void)
{
    for (int n = 0, r; n < 12; n += r) {
        struct timespec t = { .tv_sec = 50 };
        CHECK((r = recvmmsg(in, messages(got + n * 100, 12 - n), (unsigned)(12 - n), 0, &t)) > 0);
    }
    return 1200;
}
/* Two messages of half the size: a part of one comes before the next, or not at all. */
static long send_halves(void)
{
    for (size_t n = 0; n < SIZE;) {
        size_t first = n < SIZE / 2 ? SIZE / 2 - n : SIZE - n;
        struct iovec v[2] = { { sent + n, first }, { sent + n + first, SIZE - n - first } };
        struct mmsghdr m[2] = { { .msg_hdr = { .msg_iov = v, .msg_iovlen = 1 } }, { .msg_hdr = { .msg_iov = v + 1, .msg_iovlen = 1 } } };
        int r = sendmmsg(out, m, v[1].iov_len ? 2 : 1, 0);
        CHECK(r == 1 || (r == 2 && m[0].msg_len == first));
        n += m[0].msg_len + (r == 2 ? m[1].msg_len : 0);
    }
    return SIZE;
}
static long send_some(void) { return sendmmsg(out, messages(sent, 64), 64, 0); }
static long write_at_end(void) { return pwritev2(out, parts(sent, SIZE), 3, -1, 0); }
static long read_terminal(void) { return read(in, got, 100); }
static long read_all(void)
{
    for (int i = 0; i < 500; i++)
        CHECK_EQ(read(in, got, SIZE), SIZE);
    return SIZE;
}
static long pread_all(void)
{
    for (int i = 0; i < 500; i++)
        CHECK_EQ(pread(in, got, SIZE, 4096), SIZE);
    return SIZE;
}
static long preadv_all(void) { return preadv(in, parts(got, SIZE), 3, 0); }
static long readv_all(void) { return readv(in, parts(got, SIZE), 3); }
static long get_random(void) { return getrandom(got, SIZE, 0); }

/* ---- io_uring: two reads, and a wait for both ---------------------------------------------------- */

static long two_reads(void)
{
    struct io_uring_params p = { 0 };
    int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (fd < 0)
        return read(in, got, 1) + read(in, got + 1, 1);         /* not allowed here */
    size_t size = p.sq_off.array + p.sq_entries * sizeof(unsigned), csize = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    char *sq = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, csize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_CQ_RING);
    struct io_uring_sqe *e = mmap(NULL, p.sq_entries * sizeof *e, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
    CHECK(sq != MAP_FAILED && cq != MAP_FAILED && e != MAP_FAILED);
    for (unsigned i = 0; i < 2; i++) {
        e[i] = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = in, .addr = (uintptr_t)(got + i), .len = 1 };
        ((unsigned *)(sq + p.sq_off.array))[i] = i;
    }
    atomic_store((_Atomic unsigned *)(sq + p.sq_off.tail), 2);
    long r = syscall(SYS_io_uring_enter, fd, 2, 2, IORING_ENTER_GETEVENTS, NULL, 0);
    CHECK_EQ(r, 2);
    r = atomic_load((_Atomic unsigned *)(cq + p.cq_off.tail));
    munmap(sq, size);
    munmap(cq, csize);
    munmap(e, p.sq_entries * sizeof *e);
    close(fd);
    return r;
}

/* ---- a file that may not grow --------------------------------------------------------------------- */

/* What fits is written.  Whoever goes on after that is sent SIGXFSZ. */
static long up_to_limit(void)
{
    struct rlimit all, limit;
    char name[] = "/tmp/usf-partial-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0 && unlink(name) == 0 && getrlimit(RLIMIT_FSIZE, &all) == 0);
    limit = (struct rlimit){ .rlim_cur = SIZE - 1000, .rlim_max = all.rlim_max };
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    long r = 0;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(ftruncate(fd, 0), 0);
        CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
        r = write(fd, sent, SIZE);
        CHECK_EQ(r, SIZE - 1000);
    }
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &all), 0);
    close(fd);
    return r;
}

static const struct { const char *name; void (*make)(void); void *(*other)(void *); long (*call)(void); long whole; int times; } calls[] = {
    { "recv, MSG_WAITALL", unix_stream, give_slowly, recv_all, 40000, 1 },
    { "recvfrom, MSG_WAITALL", tcp, give_slowly, recv_from, 40000, 1 },
    { "recvmsg, MSG_WAITALL", unix_stream, give_slowly, recv_message, 40000, 1 },
    { "recv, MSG_WAITALL and MSG_PEEK", tcp, give_slowly, peek, 40000, 1 },
    { "recv of messages, MSG_WAITALL", datagrams, give_messages, recv_one, 100, 1 },
    { "recvmsg with descriptors", unix_stream, give_descriptors, recv_descriptors, 1200, 2 },
    { "recvmsg without descriptors", unix_stream, give_descriptors, recv_no_descriptors, 1200, 2 },
    { "recv, MSG_WAITALL, up to urgent data", tcp, give_urgent, up_to_mark, 100, 1 },
    { "recv, MSG_WAITALL, up to a reset", tcp, give_and_reset, up_to_reset, 10000, 1 },
    { "send up to a reset", tcp, take_and_reset, send_up_to_reset, SIZE, 1 },
    { "recv with SO_RCVTIMEO", one_byte_for_a_time, look_on, recv_for_a_time, 1, 1 },
    { "recvmmsg for a time that is up", datagrams, give_one, recv_first, 1, 3 },
    { "recvmmsg for a time", datagrams, give_messages, recv_in_time, 1200, 2 },
    { "sendmmsg of a stream", unix_stream, take_slowly, send_halves, SIZE, 2 },
    { "recvmmsg", datagrams, give_messages, recv_some, 12, 1 },
    { "sendmmsg", datagrams, take_messages, send_some, 64, 1 },
    { "pwritev2", a_pipe, take_slowly, write_at_end, SIZE, 1 },
    { "read of a terminal", terminal, give_bytes, read_terminal, 40, 5 },
    { "read of a terminal's master", master, give_one, read_byte, 1, 5 },
    { "pread of /dev/zero", zeros, look_on, pread_all, SIZE, 1 },
    { "preadv of /dev/urandom", random_source, look_on, preadv_all, SIZE, 20 },
    { "read of /dev/zero", zeros, look_on, read_all, SIZE, 1 },
    { "readv of /dev/urandom", random_source, look_on, readv_all, SIZE, 20 },
    { "getrandom", nothing, look_on, get_random, SIZE, 20 },
    { "io_uring_enter", a_pipe, give_two, two_reads, 2, 3 },
    { "write up to a limit", nothing, look_on, up_to_limit, SIZE - 1000, 1 },
};

int main(int argc, char **argv)
{
    pthread_t th, other;
    stress_start(argc, argv, 1);
    for (int i = 0; i < SIZE; i++)
        sent[i] = (char)(i * 31 >> 5);
    signal(SIGURG, SIG_IGN);
    target = (pid_t)syscall(SYS_gettid);
    CHECK_EQ(pthread_create(&th, NULL, sender, NULL), 0);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        calls[i].make();
        for (int n = 0; n < calls[i].times; n++) {
            memset(got, 0, SIZE);
            CHECK_EQ(pthread_create(&other, NULL, calls[i].other, NULL), 0);
            long r = calls[i].call();
if (r != calls[i].whole) {
                printf("%s: a signal that is ignored cut it short: %ld of %ld\n", calls[i].name, r, calls[i].whole);
                return 1;
            }
            CHECK_EQ(pthread_join(other, NULL), 0);
            CHECK(calls[i].other == look_on || memcmp(got, sent, (size_t)r) == 0);
        }
        close(in);
        close(out);
    }
    quit = true;
    CHECK_EQ(pthread_join(th, NULL), 0);
    return 0;
}
