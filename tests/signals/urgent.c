/* tests/signals/urgent.c - a program that has uses of its own for SIGURG.  SPDX-License-Identifier: Apache-2.0
 *
 * SIGURG that is ignored interrupts nothing; one that is blocked is pending only if somebody has sent it; a handler
 * for one signal gets exactly one. */
#include "../pthread/stress.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static int sig = SIGURG;
static _Atomic bool quit;
static pid_t target;

static void *sender(void *arg)
{
    (void)arg;
    while (!quit) {
        syscall(SYS_tgkill, getpid(), target, sig);
        sleep_us(2000);
    }
    return NULL;
}

/* ---- ignored: waits last as long as they should, and no longer ---------------------------------- */

#define WAIT_MS 60
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long wait_poll(void)
{
    struct pollfd p = { .fd = -1 };
    return poll(&p, 1, WAIT_MS);
}
static long wait_ppoll(void)
{
    struct timespec t = { 0, WAIT_MS * 1000000 };
    return ppoll(NULL, 0, &t, NULL);
}
static long wait_select(void)
{
    struct timeval t = { 0, WAIT_MS * 1000 };
    return select(0, NULL, NULL, NULL, &t);
}
static long wait_pselect(void)
{
    struct timespec t = { 0, WAIT_MS * 1000000 };
    return pselect(0, NULL, NULL, NULL, &t, NULL);
}
static long wait_epoll(void)
{
    struct epoll_event e;
    int fd = epoll_create1(0);
    long r = epoll_wait(fd, &e, 1, WAIT_MS);
    int err = errno;
    close(fd);
    errno = err;
    return r;
}
static long wait_nanosleep(void)
{
    struct timespec t = { 0, WAIT_MS * 1000000 };
    return nanosleep(&t, &t);
}
static long wait_raw_nanosleep(void)
{
    struct timespec t = { 0, WAIT_MS * 1000000 };
    return syscall(SYS_nanosleep, &t, NULL);
}
static long wait_signal(void)
{
    struct timespec t = { 0, WAIT_MS * 1000000 };
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &t) == -1 && errno == EAGAIN ? 0 : -1;
}
static long wait_semop(void)
{
    struct timespec t = { 0, WAIT_MS * 1000000 };
    struct sembuf op = { 0, -1, 0 };
    int id = semget(IPC_PRIVATE, 1, 0600);
    if (id < 0)
        return sleep_us(WAIT_MS * 1000), 0;         /* no System V semaphores here */
    long r = semtimedop(id, &op, 1, &t) == -1 && errno == EAGAIN ? 0 : -1;
    int err = errno;
    semctl(id, 0, IPC_RMID);
    errno = err;
    return r;
}
static const struct { const char *name; long (*wait)(void); } waits[] = {
    { "poll", wait_poll }, { "ppoll", wait_ppoll }, { "select", wait_select }, { "pselect", wait_pselect },
    { "epoll_wait", wait_epoll }, { "nanosleep", wait_nanosleep }, { "SYS_nanosleep", wait_raw_nanosleep },
    { "sigtimedwait", wait_signal }, { "semtimedop", wait_semop },
};

static void ignored(void (*action)(int))
{
    pthread_t th;
    signal(sig, action);
    target = (pid_t)syscall(SYS_gettid);
    quit = false;
    CHECK_EQ(pthread_create(&th, NULL, sender, NULL), 0);
    for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++) {
        double start = now_ms();
        errno = 0;
        long r = waits[i].wait();
        double took = now_ms() - start;
        if (r != 0 || took < WAIT_MS - 1) {
            printf("%s: signal %d that is ignored ended it: result %ld, errno %d, after %.1f ms\n", waits[i].name, sig, r, errno, took);
            exit(1);
        }
    }
    quit = true;
    pthread_join(th, NULL);
}

/* ---- ignored: transfers are whole ---------------------------------------------------------------- */

#define WHOLE (1 << 20)
static char data[WHOLE];
static int to, from, source;

static struct iovec *parts(void)
{
    static struct iovec v[3] = { { data, 1 }, { data + 1, WHOLE / 2 }, { data + 1 + WHOLE / 2, WHOLE - 1 - WHOLE / 2 } };
    return v;
}
static long whole_write(void) { return write(to, data, WHOLE); }
static long whole_writev(void) { return writev(to, parts(), 3); }
static long whole_sendto(void) { return sendto(to, data, WHOLE, 0, NULL, 0); }
static long whole_sendmsg(void)
{
    struct msghdr m = { .msg_iov = parts(), .msg_iovlen = 3 };
    return sendmsg(to, &m, 0);
}
static long whole_sendfile(void)
{
    off_t at = 0;
    return sendfile(to, source, &at, WHOLE);
}
static const struct { const char *name; long (*send)(void); } transfers[] = {
    { "write", whole_write }, { "writev", whole_writev }, { "sendto", whole_sendto }, { "sendmsg", whole_sendmsg },
    { "sendfile", whole_sendfile },
};

/* It takes long to take them, so that the signals meet the senders in the middle. */
static void *reader(void *arg)
{
    static char got[WHOLE];
    for (unsigned i = 0; i < sizeof transfers / sizeof *transfers; i++) {
        for (long n = 0, r; n < WHOLE; n += r) {
            sleep_us(500);
            CHECK((r = recv(from, got + n, WHOLE - (size_t)n < 32768 ? WHOLE - (size_t)n : 32768, 0)) > 0);
        }
        CHECK(memcmp(got, data, WHOLE) == 0);
    }
    return arg;
}

static void whole(void)
{
    pthread_t th, taker;
    int s[2];
    FILE *f = tmpfile();
    for (int i = 0; i < WHOLE; i++)
        data[i] = (char)(i * 31 >> 5);
    CHECK(f && fwrite(data, 1, WHOLE, f) == WHOLE && fflush(f) == 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
    to = s[0], from = s[1], source = fileno(f);
    signal(SIGURG, SIG_IGN);
    sig = SIGURG;
    target = (pid_t)syscall(SYS_gettid);
    quit = false;
    CHECK_EQ(pthread_create(&taker, NULL, reader, NULL), 0);
    CHECK_EQ(pthread_create(&th, NULL, sender, NULL), 0);
    for (unsigned i = 0; i < sizeof transfers / sizeof *transfers; i++) {
        long r = transfers[i].send();
        if (r != WHOLE) {
            printf("%s: a signal that is ignored cut it short: %ld of %d\n", transfers[i].name, r, WHOLE);
            exit(1);
        }
    }
    quit = true;
    pthread_join(th, NULL);
    pthread_join(taker, NULL);
    fclose(f);
    close(to);
    close(from);
    signal(SIGURG, SIG_DFL);
}

/* ---- more threads than cores, all of them busy: the runtime has reason to use its signal -------- */

static _Atomic int busy;
static pthread_barrier_t gate;

static void *compute(void *arg)
{
    pthread_barrier_wait(&gate);
    double end = now_ms() + 150;
    volatile double x = 1;
    while (now_ms() < end)
        for (int i = 0; i < 1000; i++)
            x = x * 1.000001 + (double)i;
    busy--;
    return arg;
}

static void be_busy(void)
{
    pthread_t th[5];
    busy = 6;
    pthread_barrier_init(&gate, NULL, 6);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(pthread_create(&th[i], NULL, compute, NULL), 0);
    compute(NULL);
    for (int i = 0; i < 5; i++)
        pthread_join(th[i], NULL);
    pthread_barrier_destroy(&gate);
}

static void blocked(void)
{
    sigset_t set, pending;
    struct signalfd_siginfo info;
    struct timespec none = { 0, 0 };
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    CHECK(fd >= 0);
    be_busy();
    CHECK_EQ(sigpending(&pending), 0);
    CHECK(!sigismember(&pending, SIGURG));
    CHECK(sigtimedwait(&set, NULL, &none) == -1 && errno == EAGAIN);
    CHECK(read(fd, &info, sizeof info) == -1 && errno == EAGAIN);
    raise(SIGURG);
    CHECK_EQ(read(fd, &info, sizeof info), (long)sizeof info);
    CHECK(info.ssi_signo == SIGURG && info.ssi_code == SI_TKILL);
    raise(SIGURG);
    CHECK_EQ(sigwaitinfo(&set, NULL), SIGURG);
    CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    close(fd);
}

static _Atomic int handled;
static void on_urgent(int s)
{
    (void)s;
    handled++;
}

static void once(void)
{
    struct sigaction sa = { .sa_handler = on_urgent, .sa_flags = (int)SA_RESETHAND }, now;
    handled = 0;
    CHECK_EQ(sigaction(SIGURG, &sa, NULL), 0);
    be_busy();
    CHECK_EQ(handled, 0);
    CHECK_EQ(sigaction(SIGURG, NULL, &now), 0);
    CHECK(now.sa_handler == on_urgent);
    raise(SIGURG);
    CHECK_EQ(handled, 1);
    CHECK_EQ(sigaction(SIGURG, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    raise(SIGURG);
    CHECK_EQ(handled, 1);
}

/* A one-shot handler of SIGSEGV: a system call that meets a bad address does not use it up. */
static sigjmp_buf out;
static void on_fault(int s)
{
    (void)s;
    handled++;
    siglongjmp(out, 1);
}
static void fault_once(void)
{
    struct sigaction sa = { .sa_handler = on_fault, .sa_flags = (int)SA_RESETHAND };
    volatile int *bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handled = 0;
    CHECK_EQ(sigaction(SIGSEGV, &sa, NULL), 0);
    CHECK(syscall(SYS_futex, bad, 128, 0, NULL) == -1 && errno == EFAULT);
    if (!sigsetjmp(out, 1))
        *bad = 1;
    CHECK_EQ(handled, 1);
    CHECK(syscall(SYS_futex, bad, 128, 0, NULL) == -1 && errno == EFAULT);
}

/* Out-of-band data. */
static void out_of_band(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(l, (void *)&a, sizeof a), 0);
    CHECK_EQ(listen(l, 1), 0);
    CHECK_EQ(getsockname(l, (void *)&a, &len), 0);
    CHECK_EQ(connect(c, (void *)&a, sizeof a), 0);
    int s = accept(l, NULL, NULL);
    CHECK(s >= 0);
    handled = 0;
    signal(SIGURG, on_urgent);
    CHECK_EQ(fcntl(s, F_SETOWN, getpid()), 0);
    for (int i = 1; i <= 20; i++) {
        char byte;
        CHECK_EQ(send(c, "!", 1, MSG_OOB), 1);
        while (handled < i)
            sleep_us(1000);
        CHECK_EQ(recv(s, &byte, 1, MSG_OOB), 1);
        CHECK_EQ(handled, i);
    }
    close(s);
    close(c);
    close(l);
}

int main(int argc, char **argv)
{
    stress_start(argc, argv, 1);
    ignored(SIG_DFL);
    ignored(SIG_IGN);
    for (sig = SIGBUS;; sig = SIGSEGV) {
        ignored(SIG_IGN);
        if (sig == SIGSEGV)
            break;
    }
    whole();
    blocked();
    once();
    fault_once();
    out_of_band();
    return 0;
}
