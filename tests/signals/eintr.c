/* tests/signals/eintr.c - which calls a handler interrupts, and which go on.  SPDX-License-Identifier: Apache-2.0
 *
 * Each blocking call gets a signal whose handler has SA_RESTART or not, and 20 ms later what it waits for.  What it returned is
 * compared with what Linux does. */
#include "../pthread/stress.h"

#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int fd[2], sock[2], ep, msg_id, sem_id, lock_fd, other_fd, listener;
static mqd_t mq;
static sem_t sem;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int word;
static struct sockaddr_in address;
static _Atomic int handled, stage;
static pid_t child;
static char byte, buffer[1 << 20];
static struct { long type; char text[8]; } message = { 1, "x" };

static void on_signal(int s)
{
    (void)s;
    handled++;
}

static struct timespec *soon(void)
{
    static struct timespec t;
    t = (struct timespec){ 5, 0 };
    return &t;
}
static struct timespec *soon_abs(void)
{
    static struct timespec t;
    t = after_us(CLOCK_REALTIME, 5000000);
    return &t;
}

/* ---- the calls, and what lets them end ----------------------------------------------------------- */
static long c_read(void) { return read(fd[0], &byte, 1); }
static void e_write(void) { CHECK_EQ(write(fd[1], "x", 1), 1); }
static long c_poll(void) { return poll(&(struct pollfd){ .fd = fd[0], .events = POLLIN }, 1, 5000); }
static long c_ppoll(void) { return ppoll(&(struct pollfd){ .fd = fd[0], .events = POLLIN }, 1, soon(), NULL); }
static long c_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd[0], &set);
    return select(fd[0] + 1, &set, NULL, NULL, &(struct timeval){ 5, 0 });
}
static long c_epoll(void) { return epoll_wait(ep, &(struct epoll_event){ 0 }, 1, 5000); }
static void e_drain(void) { e_write(); }
static long c_recv(void) { return recv(sock[0], &byte, 1, 0); }
static long c_recvmsg(void)
{
    struct iovec v = { &byte, 1 };
    return recvmsg(sock[0], &(struct msghdr){ .msg_iov = &v, .msg_iovlen = 1 }, 0);
}
static long c_recv_timeout(void)
{
    struct timeval t = { 5, 0 }, no = { 0, 0 };
    CHECK_EQ(setsockopt(sock[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t), 0);
    long r = recv(sock[0], &byte, 1, 0);
    int e = errno;
    CHECK_EQ(setsockopt(sock[0], SOL_SOCKET, SO_RCVTIMEO, &no, sizeof no), 0);
    errno = e;
    return r;
}
static void e_send(void) { CHECK_EQ(send(sock[1], "x", 1, 0), 1); }
static long c_accept(void)
{
    int s = accept(listener, NULL, NULL);
    int e = errno;
    if (s >= 0)
        close(s);
    errno = e;
    return s >= 0 ? 0 : -1;
}
static void e_connect(void)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(connect(s, (void *)&address, sizeof address), 0);
    close(s);
}
static long c_nanosleep(void) { return nanosleep(&(struct timespec){ 5, 0 }, NULL); }
static long c_abs_sleep(void)
{
    struct timespec t = after_us(CLOCK_MONOTONIC, 5000000);
    int e = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    errno = e;
    return e ? -1 : 0;
}
static void e_none(void) { }
static long c_sem_wait(void) { return sem_wait(&sem); }
static long c_sem_timedwait(void) { return sem_timedwait(&sem, soon_abs()); }
static void e_post(void) { CHECK_EQ(sem_post(&sem), 0); }
static long c_cond(void)
{
    pthread_mutex_lock(&lock);
    while (stage != 2)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
static long c_cond_timed(void)
{
    int e = 0;
    pthread_mutex_lock(&lock);
    while (stage != 2 && !e)
        e = pthread_cond_timedwait(&cond, &lock, soon_abs());
    pthread_mutex_unlock(&lock);
    return e;
}
static void e_cond(void)
{
    pthread_mutex_lock(&lock);
    stage = 2;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&lock);
}
static long c_futex(void) { return syscall(SYS_futex, &word, 128, 0, NULL); }
static long c_futex_timed(void) { return syscall(SYS_futex, &word, 128, 0, soon()); }
static long c_futex_shared(void) { return syscall(SYS_futex, &word, 0, 0, NULL); }
static void e_wake(void) { syscall(SYS_futex, &word, 1, 1); syscall(SYS_futex, &word, 129, 1); }
static long c_wait(void)
{
    long r = waitpid(child, NULL, 0);
    return r > 0 ? 0 : r;
}
static long c_waitid(void) { return waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED); }
static void e_child(void) { kill(child, SIGKILL); }
static long c_msgrcv(void) { return msgrcv(msg_id, &message, 8, 0, 0); }
static void e_msgsnd(void) { CHECK_EQ(msgsnd(msg_id, &message, 8, 0), 0); }
static long c_semop(void) { return semop(sem_id, &(struct sembuf){ 0, -1, 0 }, 1); }
static long c_semtimedop(void) { return semtimedop(sem_id, &(struct sembuf){ 0, -1, 0 }, 1, soon()); }
static void e_semop(void) { CHECK_EQ(semop(sem_id, &(struct sembuf){ 0, 1, 0 }, 1), 0); }
static long c_mq(void) { return mq_receive(mq, buffer, sizeof buffer, NULL); }
static void e_mq(void) { CHECK_EQ(mq_send(mq, "x", 1, 0), 0); }
static long c_flock(void)
{
    long r = flock(lock_fd, LOCK_EX);
    int e = errno;
    flock(lock_fd, LOCK_UN);
    errno = e;
    return r;
}
static void e_unlock(void) { CHECK_EQ(flock(other_fd, LOCK_UN), 0); }
static long c_pause(void) { return pause(); }
static long c_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    return sigsuspend(&none);
}
static long c_sigtimedwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, soon());
}
static void e_usr2(void) { kill(getpid(), SIGUSR2); }

static const struct call {
    const char *name;
    long (*call)(void);
    void (*end)(void);
    bool eintr_restart, eintr_plain;        /* as signal(7) says */
} calls[] = {
    { "read", c_read, e_write, false, true }, { "poll", c_poll, e_drain, true, true },
    { "ppoll", c_ppoll, e_drain, true, true }, { "select", c_select, e_drain, true, true },
    { "epoll_wait", c_epoll, e_drain, true, true }, { "recv", c_recv, e_send, false, true },
    { "recvmsg", c_recvmsg, e_send, false, true }, { "recv with a timeout", c_recv_timeout, e_send, true, true },
    { "accept", c_accept, e_connect, false, true }, { "nanosleep", c_nanosleep, e_none, true, true },
    { "clock_nanosleep", c_abs_sleep, e_none, true, true }, { "sem_wait", c_sem_wait, e_post, false, true },
    { "sem_timedwait", c_sem_timedwait, e_post, true, true }, { "cond_wait", c_cond, e_cond, false, false },
    { "cond_timedwait", c_cond_timed, e_cond, false, false }, { "futex", c_futex, e_wake, false, true },
    { "futex with a timeout", c_futex_timed, e_wake, true, true }, { "shared futex", c_futex_shared, e_wake, false, true },
    { "wait4", c_wait, e_child, false, true }, { "waitid", c_waitid, e_child, false, true },
    { "msgrcv", c_msgrcv, e_msgsnd, true, true }, { "semop", c_semop, e_semop, true, true },
    { "semtimedop", c_semtimedop, e_semop, true, true }, { "mq_receive", c_mq, e_mq, false, true },
    { "flock", c_flock, e_unlock, false, true }, { "pause", c_pause, e_none, true, true },
    { "sigsuspend", c_sigsuspend, e_none, true, true }, { "sigtimedwait", c_sigtimedwait, e_usr2, true, true },
};

static const struct call *current;
static long result;
static int error;
static _Atomic pid_t caller;

static void *call(void *arg)
{
    caller = (pid_t)syscall(SYS_gettid);
    errno = 0;
    result = current->call();
    error = errno;
    stage = 3;
    return arg;
}

static char state_of(pid_t tid)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    char *behind = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return behind ? behind[2] : 0;
}

static bool sleeps_or_ended(void)
{
    for (int in_a_row = 0; in_a_row < 3;) {
        if (stage == 3)
            return false;
        in_a_row = state_of(caller) == 'S' ? in_a_row + 1 : 0;
        sleep_us(2000);
    }
    return true;
}

static bool try(const struct call *c, int flags)
{
    struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };
    pthread_t th;
    char got[64], want[64];
    bool eintr = flags & SA_RESTART ? c->eintr_restart : c->eintr_plain;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
    current = c;
    caller = 0;
    handled = stage = 0;
    if (c->end == e_child && (child = fork()) == 0)
        for (;;)
            pause();
    if (c->end == e_unlock)
        CHECK_EQ(flock(other_fd, LOCK_EX), 0);
    CHECK_EQ(pthread_create(&th, NULL, call, NULL), 0);
    while (!caller)
        sleep_us(500);
    CHECK(sleeps_or_ended());
    CHECK_EQ(pthread_kill(th, SIGUSR1), 0);
    while (!handled)
        sleep_us(500);
    if (sleeps_or_ended())
        c->end();
    pthread_join(th, NULL);
    if (eintr) {                            /* what was to end it is still to be had, or not needed */
        if (c->end == e_child)
            kill(child, SIGKILL), waitpid(child, NULL, 0);
        if (c->end == e_unlock)
            flock(other_fd, LOCK_UN);
    }
    if (c->end == e_drain && result == 1)
        CHECK_EQ(read(fd[0], &byte, 1), 1);
    snprintf(got, sizeof got, result < 0 ? "error %d" : "success", error);
    snprintf(want, sizeof want, eintr ? "error %d" : "success", EINTR);
    if (strcmp(got, want) == 0)
        return true;
    printf("%s, %s: %s instead of %s\n", c->name, flags ? "SA_RESTART" : "no flags", got, want);
    return false;
}

static void open_all(void)
{
    char path[] = "/tmp/usf-test-eintr-XXXXXX", name[64];
    socklen_t len = sizeof address;
    CHECK_EQ(pipe(fd), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
    CHECK((ep = epoll_create1(0)) >= 0);
    CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &(struct epoll_event){ .events = EPOLLIN }), 0);
    CHECK((lock_fd = mkstemp(path)) >= 0 && (other_fd = open(path, O_RDWR)) >= 0);
    unlink(path);
    msg_id = msgget(IPC_PRIVATE, 0600);
    sem_id = semget(IPC_PRIVATE, 1, 0600);
    snprintf(name, sizeof name, "/usf-test-eintr-%d", getpid());
    mq = mq_open(name, O_RDWR | O_CREAT, 0600, NULL);
    if (mq != (mqd_t)-1)
        mq_unlink(name);
    CHECK_EQ(sem_init(&sem, 0, 0), 0);
    address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ(bind(listener, (void *)&address, sizeof address), 0);
    CHECK_EQ(listen(listener, 4), 0);
    CHECK_EQ(getsockname(listener, (void *)&address, &len), 0);
}

static bool is_here(const struct call *c)
{
    if (c->end == e_msgsnd)
        return msg_id >= 0;
    if (c->end == e_semop)
        return sem_id >= 0;
    return c->end != e_mq || mq != (mqd_t)-1;
}

int main(int argc, char **argv)
{
    bool good = true;
    stress_start(argc, argv, 1);
    open_all();
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!is_here(&calls[i]))
            continue;
        good &= try(&calls[i], SA_RESTART);
        good &= try(&calls[i], 0);
    }
    msgctl(msg_id, IPC_RMID, NULL);
    semctl(sem_id, 0, IPC_RMID);
    return !good;
}
