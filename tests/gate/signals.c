/* tests/gate/signals.c - signals that land anywhere in the gate.  SPDX-License-Identifier: Apache-2.0
 *
 * 10 kHz SIGALRM over gated calls: handlers that make calls themselves, that leave by siglongjmp, that run on
 * a small alternate stack; results and errno of the interrupted calls must be right. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static volatile long ticks, jumps;
static volatile int jumping;
static sigjmp_buf out;
static int pipe_fd[2];
static pid_t parent;

static void tick(int sig)
{
    int e = errno;
    ticks++;
    if (getppid() != parent) abort();
    char c = 'x';
    if (write(pipe_fd[1], &c, 1) == 1 && read(pipe_fd[0], &c, 1) != 1) abort();
    errno = e;
    if (jumping) {
        jumps++;
        siglongjmp(out, 1);
    }
}

static void every_100us(int flags)
{
    struct sigaction sa = {.sa_handler = tick, .sa_flags = flags};
    struct itimerval it = {{0, 100}, {0, 100}};
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &it, NULL);
}

static void calls_for(double seconds)
{
    struct timespec t0, t;
    struct pollfd p = {.fd = -1};
    clock_gettime(CLOCK_MONOTONIC, &t0);
    do {
        for (int i = 0; i < 200; i++) {
            CHECK(getppid() == parent);
            CHECK(syscall(SYS_getppid) == parent);
            CHECK(read(-1, &p, 1) == -1 && errno == EBADF);
            CHECK(sched_yield() == 0);
        }
        int r = poll(&p, 1, 1);
        CHECK(r == 0 || (r == -1 && errno == EINTR));
        clock_gettime(CLOCK_MONOTONIC, &t);
    } while ((double)(t.tv_sec - t0.tv_sec) + (double)(t.tv_nsec - t0.tv_nsec) * 1e-9 < seconds);
}

/* A blocking read goes on after each signal (SA_RESTART), or says EINTR. */
static void restart(int flags)
{
    int p[2];
    CHECK(pipe(p) == 0);
    long t0 = ticks;
    pid_t child = fork();
    if (child == 0) {
        struct timespec t = {0, 50000000};
        setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
        nanosleep(&t, NULL);
        _exit(write(p[1], "y", 1) != 1);
    }
    char c = 0;
    int interrupted = 0;
    while (read(p[0], &c, 1) != 1) {
        CHECK(errno == EINTR);
        interrupted++;
    }
    CHECK(c == 'y' && ticks > t0);
    CHECK(flags & SA_RESTART ? !interrupted : interrupted);
    close(p[0]);
    close(p[1]);
}

static void small_stack(void)
{
    stack_t ss = {.ss_size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 1024};
    char *m = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ss.ss_size = (ss.ss_size + 4095) & ~4095ul;
    mprotect(m + 16384, ss.ss_size, PROT_READ | PROT_WRITE);
    ss.ss_sp = m + 16384;
    CHECK(sigaltstack(&ss, NULL) == 0);
}

/* One signal at a time: siglongjmp unblocks it while still on the small stack. */
static void jump_out(void)
{
    struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_ONSTACK};
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    sigaction(SIGALRM, &sa, NULL);
    jumping = 1;
    for (volatile int i = 0; i < 2000; i++)
        if (sigsetjmp(out, 1) == 0) {
            struct itimerval once = {{0, 0}, {0, 20 + rand() % 200}};
            setitimer(ITIMER_REAL, &once, NULL);
            for (;;) {
                getppid();
                sched_yield();
                poll(NULL, 0, 1);
            }
        }
    jumping = 0;
    CHECK(jumps == 2000);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    printf("gate %s\n", gated() ? "on" : "off");
    kill_after(100);
    parent = getppid();
    CHECK(pipe2(pipe_fd, O_NONBLOCK) == 0);
    every_100us(SA_RESTART);
    calls_for(seconds);
    restart(SA_RESTART);
    every_100us(0);
    calls_for(seconds);
    restart(0);
    every_100us(SA_NODEFER);
    calls_for(seconds);
    small_stack();
    every_100us(SA_ONSTACK | SA_RESTART);
    calls_for(seconds);
    jump_out();
    printf("ticks %ld\n", ticks);
    return 0;
}
