/* tests/spawn/coroutine.c - a handler is left by swapcontext, in the middle of a call, and returns much later (test_late.py).
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int ends[2];
static ucontext_t first, second;
static char stack[256 << 10];

static void on_alarm(int sig)
{
    int e = errno;
    (void)sig;
    swapcontext(&second, &first);
    errno = e;
}

static void wait_for_data(void)
{
    char c;
    ssize_t n = read(ends[0], &c, 1);
    printf("read %zd %s\n", n, n < 0 ? strerror(errno) : "");
}

int main(void)
{
    struct sigaction a = {.sa_handler = on_alarm};
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    if (pipe(ends)) return 1;
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    getcontext(&second);
    second.uc_stack.ss_sp = stack;
    second.uc_stack.ss_size = sizeof stack;
    second.uc_link = &first;
    makecontext(&second, wait_for_data, 0);
    swapcontext(&first, &second);
    for (clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;) { }
    swapcontext(&first, &second);
    puts("over");
    return 0;
}
