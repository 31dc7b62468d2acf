/* tests/blocking/waits.c - for events, signals, children, time.  SPDX-License-Identifier: Apache-2.0 */
#include "blocking.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>

static void nothing(void) {}
static void put_it(void) { put(w.fd[1]); }

/* ---- poll and friends ---------------------------------------------------------------------------- */
#define LONG 10000
#define SHORT 5
static long poll_for(int ms)
{
    struct pollfd p = {.fd = w.fd[0], .events = POLLIN};
    long r = poll(&p, 1, ms);
    w.seen = p.revents;
    return r;
}
static long do_poll(void) { return poll_for(LONG); }
static long do_poll_short(void) { return poll_for(SHORT); }
static long ppoll_for(int ms)
{
    struct pollfd p = {.fd = w.fd[0], .events = POLLIN};
    sigset_t none;
    sigemptyset(&none);
    long r = ppoll(&p, 1, &(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, &none);
    w.seen = p.revents;
    return r;
}
static long do_ppoll(void) { return ppoll_for(LONG); }
static long do_ppoll_short(void) { return ppoll_for(SHORT); }

static long select_for(long us)
{
    fd_set set;
    struct timeval t = {.tv_sec = us / 1000000, .tv_usec = us % 1000000};
    FD_ZERO(&set);
    FD_SET(w.fd[0], &set);
    long r = select(w.fd[0] + 1, &set, NULL, NULL, us < 0 ? NULL : &t);
    w.seen = FD_ISSET(w.fd[0], &set) + (r == 0 ? 100 * t.tv_usec : 0);
    return r;
}
static long do_select(void) { return select_for(-1); }
static long do_select_short(void) { return select_for(SHORT * 1000); }
static long do_pselect(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(w.fd[0], &set);
    long r = pselect(w.fd[0] + 1, &set, NULL, NULL, NULL, NULL);
    w.seen = FD_ISSET(w.fd[0], &set);
    return r;
}

static void make_epoll(void)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = 42};
    make_pipe();
    MUST(w.fd[2] = epoll_create1(0));
    MUST(epoll_ctl(w.fd[2], EPOLL_CTL_ADD, w.fd[0], &e));
}
static long do_epoll_wait(void)
{
    struct epoll_event e = {0};
    long r = epoll_wait(w.fd[2], &e, 1, LONG);
    w.seen = (long)e.data.u64;
    return r;
}
static long do_epoll_short(void)
{
    struct epoll_event e;
    return epoll_wait(w.fd[2], &e, 1, SHORT);
}
static long do_epoll_pwait(void)
{
    struct epoll_event e;
    sigset_t none;
    sigemptyset(&none);
    return epoll_pwait(w.fd[2], &e, 1, -1, &none);
}
static long do_epoll_pwait2(void)
{
    struct epoll_event e;
    return syscall(441, w.fd[2], &e, 1, NULL, NULL, 8);
}

/* ---- looks, which do not wait -------------------------------------------------------------------- */
/* A program that usf does not schedule sends us usf's own signal all the time, as its monitor does now and then. */
static pid_t start_sender(void)
{
    char pid[16], tid[16], *argv[] = {"blocking", "send", pid, tid, NULL}, *env[] = {NULL};
    pid_t child = 0;
    if (!getenv("USF_INSTANCE")) return 0;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    snprintf(tid, sizeof tid, "%d", (int)w.tid);
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, env)) fatal("posix_spawn");
    return child;
}

static long look(long (*one)(void))
{
    struct timespec t, until;
    long r;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (until.tv_nsec += 200000000) / 1000000000;
    until.tv_nsec %= 1000000000;
    pid_t sender = start_sender();
    do {
        r = one();
        clock_gettime(CLOCK_MONOTONIC, &t);
    } while (r == 0 && (t.tv_sec < until.tv_sec || (t.tv_sec == until.tv_sec && t.tv_nsec < until.tv_nsec)));
    int error = errno;
    if (sender) kill(sender, SIGKILL), waitpid(sender, NULL, 0);
    errno = error;
    return r;
}
static long poll_now(void) { return poll_for(0); }
static long ppoll_now(void) { return ppoll_for(0); }
static long select_now(void) { return select_for(0); }
static long do_poll_looks(void) { return look(poll_now); }
static long do_ppoll_looks(void) { return look(ppoll_now); }
static long do_select_looks(void) { return look(select_now); }

/* ---- signals, with SIGCHLD blocked and waited for ------------------------------------------------- */
static sigset_t chld;
static void block_chld(void)
{
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &chld, NULL);
}
/* usf's own signal among them, which is not for the program. */
static sigset_t most;
static void block_most(void)
{
    block_chld();
    most = chld;
    sigaddset(&most, SIGURG);
    pthread_sigmask(SIG_BLOCK, &most, NULL);
}
static long do_sigwait_most(void)
{
    int sig = 0;
    long r = sigwait(&most, &sig);
    w.seen = sig;
    return r;
}
static long do_sigwaitinfo_most(void)
{
    siginfo_t i = {0};
    long r = sigwaitinfo(&most, &i);
    w.seen = i.si_signo;
    return r;
}
static void send_chld(void) { MUST(kill(getpid(), SIGCHLD)); }
static long do_sigwait(void)
{
    int sig = 0;
    long r = sigwait(&chld, &sig);
    w.seen = sig;
    return r;
}
static long do_sigwaitinfo(void) { return sigwaitinfo(&chld, NULL); }
static long do_sigtimedwait(void) { return sigtimedwait(&chld, NULL, &(struct timespec){.tv_nsec = 5000000}); }
static long do_pause(void) { return pause(); }
static long do_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    return sigsuspend(&none);
}

/* ---- children ------------------------------------------------------------------------------------ */
static void make_child(void)
{
    char c;
    make_pipe();
    MUST(w.child = fork());
    if (w.child) return;
    close(w.fd[1]);
    (void)!read(w.fd[0], &c, 1);
    _exit(7);
}
static long do_wait4(void)
{
    int status = 0;
    long r = waitpid(w.child, &status, 0);
    w.seen = WEXITSTATUS(status);
    return r == w.child ? 1 : r;
}
static long do_waitid(void)
{
    siginfo_t i = {0};
    long r = waitid(P_PID, (id_t)w.child, &i, WEXITED);
    w.seen = i.si_status;
    return r;
}
static long do_wait_any(void)
{
    int status = 0;
    long r = wait(&status);
    w.seen = WEXITSTATUS(status);
    return r == w.child ? 1 : r;
}
/* If the wait was ended by other means there is still a child. */
static void reap(void) { while (waitpid(w.child, NULL, WNOHANG) == 0) kill(w.child, SIGKILL); }
static void make_watched_child(void) { make_child(); w.remove = reap; }

static long do_vfork(void)
{
    char c;
    pid_t p = vfork();
    if (p == 0) {
        (void)!syscall(SYS_read, w.fd[0], &c, 1);
        _exit(0);
    }
    int status = -1;
    waitpid(p, &status, 0);
    w.seen = status;
    return p > 0;
}

/* ---- time ---------------------------------------------------------------------------------------- */
static const struct timespec short_time = {.tv_nsec = 5000000};
static long do_nanosleep(void) { return nanosleep(&short_time, NULL); }
static long do_clock_nanosleep(void) { return clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL); }
static long do_sleep_until(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += (t.tv_nsec += 5000000) / 1000000000;
    t.tv_nsec %= 1000000000;
    return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL);
}
/* What is left of the time is told; interrupted at once, it is nearly all. */
static long do_sleep_long(void)
{
    struct timespec left = {0}, ten = {.tv_sec = 10};
    long r = nanosleep(&ten, &left);
    w.seen = left.tv_sec >= 5;
    return r;
}

/* ---- asynchronous input and output --------------------------------------------------------------- */
static aio_context_t aio;
static void end_aio(void) { syscall(SYS_io_destroy, aio); }
static void make_aio(void)
{
    struct iocb cb = {0}, *list = &cb;
    make_pipe();
    aio = 0;
    if (syscall(SYS_io_setup, 1, &aio)) {
        skip("no aio here");
        return;
    }
    w.remove = end_aio;
    cb.aio_lio_opcode = IOCB_CMD_POLL;
    cb.aio_fildes = (uint32_t)w.fd[0];
    cb.aio_buf = POLLIN;
    MUST(syscall(SYS_io_submit, aio, 1, &list));
}
static long do_getevents(void)
{
    struct io_event e = {0};
    long r = syscall(SYS_io_getevents, aio, 1, 1, &e, NULL);
    w.seen = (long)e.res;
    return r;
}
static long do_pgetevents(void)
{
    struct io_event e = {0};
    long r = syscall(333, aio, 1, 1, &e, NULL, NULL);
    w.seen = (long)e.res;
    return r;
}
static long do_getevents_short(void)
{
    struct io_event e;
    return syscall(SYS_io_getevents, aio, 1, 1, &e, &short_time);
}

static char uring_byte;
static void make_uring(void)
{
    struct io_uring_params p = {0};
    make_pipe();
    w.fd[2] = (int)syscall(SYS_io_uring_setup, 2, &p);
    if (w.fd[2] < 0) {
        skip("no io_uring here");
        return;
    }
    char *ring = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd[2], IORING_OFF_SQ_RING);
    struct io_uring_sqe *sqe = mmap(NULL, p.sq_entries * sizeof *sqe, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd[2], IORING_OFF_SQES);
    if (ring == MAP_FAILED || sqe == MAP_FAILED) fatal("mmap of a ring");
    *sqe = (struct io_uring_sqe){.opcode = IORING_OP_READ, .fd = w.fd[0], .addr = (uintptr_t)&uring_byte, .len = 1};
    ((unsigned *)(void *)(ring + p.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(void *)(ring + p.sq_off.tail), 1, __ATOMIC_RELEASE);
}
static long do_uring(void)
{
    long r = syscall(SYS_io_uring_enter, w.fd[2], 1, 1, IORING_ENTER_GETEVENTS, NULL, 8);
    w.seen = uring_byte;
    return r;
}

const struct blocking wait_cases[] = {
    {"poll", SYS_poll, 0, make_pipe, do_poll, put_it, POINT},
    {"poll-timeout", SYS_poll, 0, make_pipe, do_poll_short, 0, BY_ITSELF},
    {"ppoll", SYS_ppoll, 0, make_pipe, do_ppoll, put_it, POINT},
    {"ppoll-timeout", SYS_ppoll, 0, make_pipe, do_ppoll_short, 0, BY_ITSELF},
    {"select", SYS_select, SYS_pselect6, make_pipe, do_select, put_it, POINT},
    {"select-timeout", SYS_select, SYS_pselect6, make_pipe, do_select_short, 0, BY_ITSELF},
    {"pselect", SYS_pselect6, 0, make_pipe, do_pselect, put_it, POINT},
    {"epoll-wait", SYS_epoll_wait, 0, make_epoll, do_epoll_wait, put_it, POINT},
    {"epoll-timeout", SYS_epoll_wait, 0, make_epoll, do_epoll_short, 0, BY_ITSELF},
    {"epoll-pwait", SYS_epoll_pwait, 0, make_epoll, do_epoll_pwait, put_it, POINT},
    {"epoll-pwait2", 441, 0, make_epoll, do_epoll_pwait2, put_it, 0},
    {"poll-looks", SYS_poll, 0, make_pipe, do_poll_looks, 0, BY_ITSELF | NOT_OURS},
    {"ppoll-looks", SYS_ppoll, 0, make_pipe, do_ppoll_looks, 0, BY_ITSELF | NOT_OURS},
    {"select-looks", SYS_select, 0, make_pipe, do_select_looks, 0, BY_ITSELF | NOT_OURS},
    {"sigwait", SYS_rt_sigtimedwait, 0, block_chld, do_sigwait, send_chld, POINT},
    {"sigwaitinfo", SYS_rt_sigtimedwait, 0, block_chld, do_sigwaitinfo, send_chld, POINT},
    {"sigwait-most", SYS_rt_sigtimedwait, 0, block_most, do_sigwait_most, send_chld, POINT},
    {"sigwaitinfo-most", SYS_rt_sigtimedwait, 0, block_most, do_sigwaitinfo_most, send_chld, POINT},
    {"sigtimedwait", SYS_rt_sigtimedwait, 0, block_chld, do_sigtimedwait, 0, BY_ITSELF},
    {"pause", SYS_pause, 0, nothing, do_pause, interrupt_it, POINT},
    {"sigsuspend", SYS_rt_sigsuspend, 0, nothing, do_sigsuspend, interrupt_it, POINT},
    {"wait4", SYS_wait4, 0, make_watched_child, do_wait4, put_it, POINT},
    {"wait-any", SYS_wait4, 0, make_watched_child, do_wait_any, put_it, POINT},
    {"waitid", SYS_waitid, 0, make_watched_child, do_waitid, put_it, POINT},
    {"vfork", SYS_vfork, SYS_clone, make_pipe, do_vfork, put_it, UNINTERRUPTED},
    {"nanosleep", SYS_nanosleep, SYS_clock_nanosleep, nothing, do_nanosleep, 0, BY_ITSELF},
    {"nanosleep-long", SYS_nanosleep, SYS_clock_nanosleep, nothing, do_sleep_long, interrupt_it, POINT},
    {"clock-nanosleep", SYS_clock_nanosleep, 0, nothing, do_clock_nanosleep, 0, BY_ITSELF},
    {"clock-nanosleep-until", SYS_clock_nanosleep, 0, nothing, do_sleep_until, 0, BY_ITSELF},
    {"io-getevents", SYS_io_getevents, 0, make_aio, do_getevents, put_it, 0},
    {"io-getevents-timeout", SYS_io_getevents, 0, make_aio, do_getevents_short, 0, BY_ITSELF},
    {"io-pgetevents", 333, 0, make_aio, do_pgetevents, put_it, 0},
    {"io-uring-enter", SYS_io_uring_enter, 0, make_uring, do_uring, put_it, IN_PART | NOT_OURS},
    {0},
};
