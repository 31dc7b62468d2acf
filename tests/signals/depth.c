/* tests/signals/depth.c - how much of the caller's stack a system call takes.  SPDX-License-Identifier: Apache-2.0
 *
 * Usage: depth [THREADS [ROUNDS]].  Bare, a system call takes nothing.  Under usf one that waits, with others in need of the core, takes less than
 * 4 KiB with the red zone, and a signal that comes meanwhile and is none of the program's takes none. */
#include "../pthread/stress.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>

#define SIZE  (64u << 10)
#define MOST  4096u
#define PAINT 0xa5a5a5a5a5a5a5a5ul

static int fd[2];

/* libc's syscall(), with rsp at `top`. */
static long call_on(unsigned long *top, long nr, const void *a, long b, long c, const void *d)
{
    long result = 0;
    register const void *r8 __asm__("r8") = d;
    register void *fn __asm__("r13") = (void *)(uintptr_t)syscall;
    register unsigned long *to __asm__("rbx") = top;
    __asm__ volatile("mov %%rsp, %%r12\n mov %%rbx, %%rsp\n call *%%r13\n mov %%r12, %%rsp"
                     : "+a"(result), "+D"(nr), "+S"(a), "+d"(b), "+c"(c), "+r"(r8)
                     : "r"(fn), "r"(to) : "r9", "r10", "r11", "r12", "memory", "cc");
    return result;
}

static void look(const char *name, long nr, const void *a, long b, long c, const void *d)
{
    static __thread unsigned long *stack;
    size_t words = SIZE / sizeof *stack, left = 0;
    if (!stack)
        CHECK((stack = (unsigned long *)aligned_alloc(64, SIZE)) != NULL);
    for (size_t i = 0; i < words; i++)
        stack[i] = PAINT;
    call_on(stack + words - 8, nr, a, b, c, d);
    while (left < words && stack[left] == PAINT)
        left++;
    size_t used = (words - 8 - left) * sizeof *stack;
    if (used >= MOST)
        fprintf(stderr, "%s: %zu bytes\n", name, used);
    CHECK(used < MOST);
}

static void *body(void *arg)
{
    struct timespec soon = { 0, 100000 };
    struct pollfd p = { fd[0], POLLIN, 0 };
    int word = 0;
    char c = 0;
    for (long r = 0; r < rounds; r++) {
        look("getppid", SYS_getppid, NULL, 0, 0, NULL);
        look("sched_yield", SYS_sched_yield, NULL, 0, 0, NULL);
        look("nanosleep", SYS_nanosleep, &soon, 0, 0, NULL);
        look("futex", SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &soon);
        look("futex", SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL);
        look("poll", SYS_poll, &p, 1, 1, NULL);
        look("write", SYS_write, (const void *)(long)fd[1], (long)&c, 1, NULL);
        look("read", SYS_read, (const void *)(long)fd[0], (long)&c, 1, NULL);
        for (volatile int i = 0; i < 100000; i++)
            ;
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t th[MAX_THREADS];
    stress_start(argc, argv, 200);
    CHECK_EQ(pipe(fd), 0);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_create(&th[i], NULL, body, NULL), 0);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(pthread_join(th[i], NULL), 0);
    return 0;
}
