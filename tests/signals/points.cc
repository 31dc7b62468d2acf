/* tests/signals/points.cc - cancellation points: those of POSIX, and more of glibc's.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: points pending|blocked|storm     Standard output, for comparison: what became of a thread that was cancelled before the call,
 * or while it waited in it, without and with signals at 10 kHz.  Destructors and cleanup handlers must have run. */
#include "storm.h"

#include <atomic>
#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>

static int fd[2], sock[2], epoll_fd, msgs, lock_fd;
static mqd_t queue;
static sem_t none;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_t sleeper;
static char byte, fifo[64];
static std::atomic<int> never;
static iovec one = { &byte, 1 };
static msghdr header;
static mmsghdr headers;
static struct { long type; char text[8]; } message = { 1, "x" };
static const timespec instant = { 0, 1000 }, long_time = { 100, 0 };
static sigset_t usr1;

static timespec later(clockid_t c) { return after_us(c, 100000000); }
static void unlock(void *) { CHECK_EQ(pthread_mutex_unlock(&mutex), 0); }

/* A wait for the condition: the mutex is held again when the cleanup handlers run. */
template <typename F> static void with_mutex(F wait)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    pthread_cleanup_push(unlock, nullptr);
    for (;;)
        wait();
    pthread_cleanup_pop(1);
}

struct point { const char *name; void (*fn)(); };

/* What they are given makes them return at once, if they are no cancellation points. */
static const point pending[] = {
    { "accept", [] { accept(-1, nullptr, nullptr); } },
    { "accept4", [] { accept4(-1, nullptr, nullptr, 0); } },
    { "aio_suspend", [] { const aiocb *none_of[1] = { nullptr }; aio_suspend(none_of, 1, &instant); } },
    { "clock_nanosleep", [] { clock_nanosleep(CLOCK_MONOTONIC, 0, &instant, nullptr); } },
    { "close", [] { close(-1); } },
    { "connect", [] { connect(-1, nullptr, 0); } },
    { "creat", [] { creat("/nonexistent/file", 0600); } },
    { "epoll_wait", [] { epoll_event e; epoll_wait(epoll_fd, &e, 1, 0); } },
    { "epoll_pwait", [] { epoll_event e; epoll_pwait(epoll_fd, &e, 1, 0, nullptr); } },
    { "fcntl", [] { struct flock l = {}; l.l_type = F_WRLCK; fcntl(-1, F_SETLKW, &l); } },
    { "fdatasync", [] { fdatasync(-1); } },
    { "fsync", [] { fsync(-1); } },
    { "getrandom", [] { getrandom(&byte, 1, 0); } },
    { "lockf", [] { lockf(-1, F_LOCK, 0); } },
    { "mq_receive", [] { mq_receive(-1, &byte, 1, nullptr); } },
    { "mq_send", [] { mq_send(-1, &byte, 1, 0); } },
    { "mq_timedreceive", [] { mq_timedreceive(-1, &byte, 1, nullptr, &instant); } },
    { "mq_timedsend", [] { mq_timedsend(-1, &byte, 1, 0, &instant); } },
    { "msgrcv", [] { msgrcv(-1, &message, 1, 0, 0); } },
    { "msgsnd", [] { msgsnd(-1, &message, 1, 0); } },
    { "msync", [] { msync(nullptr, 4096, MS_SYNC); } },
    { "nanosleep", [] { nanosleep(&instant, nullptr); } },
    { "open", [] { open("/nonexistent", O_RDONLY); } },
    { "openat", [] { openat(-1, "nonexistent", O_RDONLY); } },
    { "poll", [] { poll(nullptr, 0, 0); } },
    { "ppoll", [] { ppoll(nullptr, 0, &instant, nullptr); } },
    { "pread", [] { pread(-1, &byte, 1, 0); } },
    { "preadv", [] { preadv(-1, &one, 1, 0); } },
    { "pselect", [] { pselect(0, nullptr, nullptr, nullptr, &instant, nullptr); } },
    { "pthread_testcancel", [] { pthread_testcancel(); } },
    { "pwrite", [] { pwrite(-1, &byte, 1, 0); } },
    { "pwritev", [] { pwritev(-1, &one, 1, 0); } },
    { "read", [] { read(-1, &byte, 1); } },
    { "readv", [] { readv(-1, &one, 1); } },
    { "recv", [] { recv(-1, &byte, 1, 0); } },
    { "recvfrom", [] { recvfrom(-1, &byte, 1, 0, nullptr, nullptr); } },
    { "recvmmsg", [] { recvmmsg(-1, &headers, 1, 0, nullptr); } },
    { "recvmsg", [] { recvmsg(-1, &header, 0); } },
    { "select", [] { timeval t = { 0, 1 }; select(0, nullptr, nullptr, nullptr, &t); } },
    { "sem_timedwait", [] { sem_timedwait(&none, &instant); } },
    { "sem_clockwait", [] { sem_clockwait(&none, CLOCK_MONOTONIC, &instant); } },
    { "send", [] { send(-1, &byte, 1, 0); } },
    { "sendmmsg", [] { sendmmsg(-1, &headers, 1, 0); } },
    { "sendmsg", [] { sendmsg(-1, &header, 0); } },
    { "sendto", [] { sendto(-1, &byte, 1, 0, nullptr, 0); } },
    { "sigtimedwait", [] { sigtimedwait(&usr1, nullptr, &instant); } },
    { "sleep", [] { sleep(0); } },
    { "splice", [] { splice(-1, nullptr, -1, nullptr, 1, 0); } },
    { "sync_file_range", [] { sync_file_range(-1, 0, 1, 0); } },
    { "system", [] { system("exit 0"); } },
    { "tcdrain", [] { tcdrain(-1); } },
    { "tee", [] { tee(-1, -1, 1, 0); } },
    { "usleep", [] { usleep(1); } },
    { "vmsplice", [] { vmsplice(-1, &one, 1, 0); } },
    { "wait", [] { wait(nullptr); } },
    { "waitid", [] { waitid(P_ALL, 0, nullptr, WEXITED); } },
    { "waitpid", [] { waitpid(-1, nullptr, 0); } },
    { "write", [] { write(-1, &byte, 1); } },
    { "writev", [] { writev(-1, &one, 1); } },
    /* not one of them */
    { "pthread_mutex_lock", [] { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); } },
    { "pthread_kill", [] { pthread_kill(pthread_self(), 0); } },
    { "sched_yield", [] { sched_yield(); } },
    { "sem_post", [] { sem_t s; sem_init(&s, 0, 0); sem_post(&s); } },
    { "flock", [] { flock(-1, LOCK_EX); } },
    { "futex", [] { syscall(SYS_futex, &never, 128, 1, nullptr); } },
    { "SYS_read", [] { syscall(SYS_read, -1, &byte, 1); } },
};

static const point blocked[] = {
    { "accept", [] { accept(sock[0], nullptr, nullptr); pause(); } },
    { "clock_nanosleep", [] { clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, nullptr); } },
    { "epoll_wait", [] { epoll_event e; epoll_wait(epoll_fd, &e, 1, -1); } },
    { "fcntl", [] { struct flock l = {}; l.l_type = F_WRLCK; fcntl(lock_fd, F_OFD_SETLKW, &l); } },
    { "mq_receive", [] { char b[64]; mq_receive(queue, b, sizeof b, nullptr); } },
    { "mq_timedreceive", [] { char b[64]; timespec t = later(CLOCK_REALTIME); mq_timedreceive(queue, b, sizeof b, nullptr, &t); } },
    { "msgrcv", [] { msgrcv(msgs, &message, 1, 0, 0); } },
    { "nanosleep", [] { nanosleep(&long_time, nullptr); } },
    { "open", [] { open(fifo, O_RDONLY); } },
    { "pause", [] { pause(); } },
    { "poll", [] { pollfd p = { fd[0], POLLIN, 0 }; poll(&p, 1, -1); } },
    { "pselect", [] { pselect(0, nullptr, nullptr, nullptr, nullptr, nullptr); } },
    { "cond_wait", [] { with_mutex([] { pthread_cond_wait(&cond, &mutex); }); } },
    { "cond_timedwait", [] { with_mutex([] { timespec t = later(CLOCK_REALTIME); pthread_cond_timedwait(&cond, &mutex, &t); }); } },
    { "cond_clockwait", [] { with_mutex([] { timespec t = later(CLOCK_MONOTONIC); pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &t); }); } },
    { "join", [] { pthread_join(sleeper, nullptr); } },
    { "timedjoin", [] { timespec t = later(CLOCK_REALTIME); pthread_timedjoin_np(sleeper, nullptr, &t); } },
    { "read", [] { read(fd[0], &byte, 1); } },
    { "recv", [] { recv(sock[0], &byte, 1, 0); } },
    { "recvmsg", [] { recvmsg(sock[0], &header, 0); } },
    { "select", [] { select(0, nullptr, nullptr, nullptr, nullptr); } },
    { "sem_wait", [] { sem_wait(&none); } },
    { "sem_timedwait", [] { timespec t = later(CLOCK_REALTIME); sem_timedwait(&none, &t); } },
    { "sem_clockwait", [] { timespec t = later(CLOCK_MONOTONIC); sem_clockwait(&none, CLOCK_MONOTONIC, &t); } },
    { "sigsuspend", [] { sigset_t s; sigemptyset(&s); sigsuspend(&s); } },
    { "sigtimedwait", [] { sigtimedwait(&usr1, nullptr, &long_time); } },
    { "sigwait", [] { int s; sigwait(&usr1, &s); } },
    { "sleep", [] { sleep(100); } },
    { "wait", [] { waitid(P_ALL, 0, nullptr, WEXITED); } },
    { "write", [] { write(fd[1], "", 1); } },
    { "writev", [] { writev(fd[1], &one, 1); } },
    /* not these: asynchronously */
    { "async compute", [] { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr); for (volatile long i = 0;; i = i + 1) ; } },
    { "async spin", [] { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr); while (!never.load(std::memory_order_relaxed)) ; } },
    { "async mutex", [] { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr); pthread_mutex_lock(&mutex); } },
    { "async futex", [] { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr); syscall(SYS_futex, &never, 128, 0, nullptr); } },
    { "async yield", [] { pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr); for (;;) sched_yield(); } },
    /* deferred, and the wait is none */
    { "spin, testcancel", [] { while (!never.load(std::memory_order_relaxed)) for (int i = 0; i < 1000; i++) { __builtin_ia32_pause(); if (i == 999) pthread_testcancel(); } } },
};

/* ---- the thread ---------------------------------------------------------------------------------- */

static std::atomic<int> destroyed, cleaned, started, handled;
struct Object { ~Object() { destroyed++; } };
static void on_tick(int, siginfo_t *, void *) { handled++; }
static void clean(void *)                       /* it may wait, too */
{
    syscall(SYS_futex, &never, 128, 0, &instant);
    cleaned++;
}
static bool storms;

static void *act_at_once(void *arg)
{
    Object o;
    pthread_cleanup_push(clean, nullptr);
    CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr), 0);
    CHECK_EQ(pthread_cancel(pthread_self()), 0);
    CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr), 0);
    ((const point *)arg)->fn();
    CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr), 0);
    pthread_cleanup_pop(1);
    return nullptr;
}

static void *wait_for_it(void *arg)
{
    Object o;
    started = 1;
    pthread_cleanup_push(clean, nullptr);
    if (storms)
        storm_start(TIMER_THREAD);
    for (;;)
        ((const point *)arg)->fn();
    pthread_cleanup_pop(1);
    return nullptr;
}

static void *sleep_long(void *)
{
    pause();
    return nullptr;
}

static void cancel(const point *p, void *(*body)(void *), unsigned delay)
{
    pthread_t th;
    void *result;
    destroyed = cleaned = started = 0;
    CHECK_EQ(pthread_create(&th, nullptr, body, (void *)p), 0);
    if (body == wait_for_it) {
        while (delay % 4 && !started)
            sched_yield();
        if (delay % 4 > 1)
            sleep_us(delay % 1500);
        CHECK_EQ(pthread_cancel(th), 0);
    }
    CHECK_EQ(pthread_join(th, &result), 0);
    CHECK_EQ(destroyed, cleaned);
    CHECK_EQ(cleaned, 1);
    if (delay < 2)
        printf("%s: %s\n", p->name, result == PTHREAD_CANCELED ? "cancelled" : "returned");
    else
        CHECK(result == PTHREAD_CANCELED);
}

static void prepare()
{
    char name[64];
    mq_attr a = {};
    snprintf(fifo, sizeof fifo, "/tmp/usf-test-points-%d", (int)getpid());
    CHECK_EQ(mkfifo(fifo, 0600), 0);
    lock_fd = open(fifo, O_RDWR);
    unlink(fifo);
    snprintf(fifo, sizeof fifo, "/proc/self/fd/%d", lock_fd);
    a.mq_maxmsg = 1, a.mq_msgsize = 64;
    snprintf(name, sizeof name, "/usf-points-%d", (int)getpid());
    CHECK((queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a)) >= 0);
    mq_unlink(name);
    CHECK((msgs = msgget(IPC_PRIVATE, 0600)) >= 0);
    CHECK((epoll_fd = epoll_create1(0)) >= 0);
    CHECK_EQ(pipe(fd) | socketpair(AF_UNIX, SOCK_STREAM, 0, sock) | sem_init(&none, 0, 0), 0);
    CHECK_EQ(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
    char page[4096] = {};
    while (write(fd[1], page, sizeof page) > 0)
        ;
    CHECK_EQ(fcntl(fd[1], F_SETFL, 0), 0);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &usr1, nullptr), 0);
    CHECK_EQ(pthread_create(&sleeper, nullptr, sleep_long, nullptr), 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    seed = getenv("SEED") ? (unsigned)strtoul(getenv("SEED"), nullptr, 0) : (unsigned)getpid();
    fprintf(stderr, "seed %u\n", seed);
    unsigned random = seed;
    alarm(100);
    prepare();
    if (strcmp(argv[1], "pending") == 0) {
        for (const point &p : pending)
            cancel(&p, act_at_once, 1);
    } else {
        storms = strcmp(argv[1], "storm") == 0;
        storm_handler(SIGUSR2, on_tick, 0);
        for (const point &p : blocked)
            for (int i = 0; i < 8; i++) {
                if (getenv("VERBOSE"))
                    fprintf(stderr, "%s %d\n", p.name, i);
                cancel(&p, wait_for_it, i < 2 ? (unsigned)i : next_random(&random));
            }
    }
    CHECK_EQ(pthread_cancel(sleeper) | pthread_join(sleeper, nullptr), 0);
    msgctl(msgs, IPC_RMID, nullptr);
    return 0;
}
