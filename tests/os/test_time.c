/* tests/os/test_time.c - the clock and waiting.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "os/os.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

static uint64_t reference(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void clock_agrees(void)
{
    for (int i = 0; i < 10000; i++) {
        uint64_t a = reference(), b = os_now(), c = reference();
        EXPECT(a <= b && b <= c, "%lu %lu %lu", a, b, c);
    }
    uint64_t t = reference();
    for (int i = 0; i < 100000; i++) os_now();
    printf("os_now: %.1f ns\n", (double)(reference() - t) / 1e5);
}

/* The gate does not save vector registers: the vDSO's code must leave them alone. */
static void clock_keeps_vectors(void)
{
    static unsigned char before[16][16], after[16][16];
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 16; i++)
            for (int k = 0; k < 16; k++) before[i][k] = (unsigned char)check_random();
        __asm__ volatile(
            "movdqu 0(%0), %%xmm0\n movdqu 16(%0), %%xmm1\n movdqu 32(%0), %%xmm2\n movdqu 48(%0), %%xmm3\n"
            "movdqu 64(%0), %%xmm4\n movdqu 80(%0), %%xmm5\n movdqu 96(%0), %%xmm6\n movdqu 112(%0), %%xmm7\n"
            "movdqu 128(%0), %%xmm8\n movdqu 144(%0), %%xmm9\n movdqu 160(%0), %%xmm10\n movdqu 176(%0), %%xmm11\n"
            "movdqu 192(%0), %%xmm12\n movdqu 208(%0), %%xmm13\n movdqu 224(%0), %%xmm14\n movdqu 240(%0), %%xmm15\n"
            "push %%rbp\n mov %%rsp, %%rbp\n sub $128, %%rsp\n and $-16, %%rsp\n"
            "call os_now\n"
            "mov %%rbp, %%rsp\n pop %%rbp\n"
            "movdqu %%xmm0, 0(%1)\n movdqu %%xmm1, 16(%1)\n movdqu %%xmm2, 32(%1)\n movdqu %%xmm3, 48(%1)\n"
            "movdqu %%xmm4, 64(%1)\n movdqu %%xmm5, 80(%1)\n movdqu %%xmm6, 96(%1)\n movdqu %%xmm7, 112(%1)\n"
            "movdqu %%xmm8, 128(%1)\n movdqu %%xmm9, 144(%1)\n movdqu %%xmm10, 160(%1)\n movdqu %%xmm11, 176(%1)\n"
            "movdqu %%xmm12, 192(%1)\n movdqu %%xmm13, 208(%1)\n movdqu %%xmm14, 224(%1)\n movdqu %%xmm15, 240(%1)\n"
            : : "b"(before), "r"((void *)after)
            : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
              "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
              "xmm15");
        EXPECT(!memcmp(before, after, sizeof before), "a vector register changed");
    }
}

static uint32_t *word;

static void *wake_later(void *arg)
{
    os_sleep(20000000);
    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    os_futex_wake(word, 1);
    return arg;
}

static void nothing(int sig) {}

static void waiting(void)
{
    pthread_t t;
    word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(os_futex_wait(word, 7, 0), -EAGAIN);
    uint64_t start = os_now();
    EXPECT_EQ(os_futex_wait(word, 0, start + 10000000), -ETIMEDOUT);
    EXPECT(os_now() >= start + 10000000);
    EXPECT_EQ(os_futex_wait(word, 0, 1), -ETIMEDOUT);       /* long past */
    pthread_create(&t, NULL, wake_later, NULL);
    while (!__atomic_load_n(word, __ATOMIC_SEQ_CST)) os_futex_wait(word, 0, 0);
    pthread_join(t, NULL);

    *word = 0;
    pid_t child = fork();       /* another process, through its own mapping */
    if (child == 0) {
        wake_later(NULL);
        _exit(0);
    }
    while (!__atomic_load_n(word, __ATOMIC_SEQ_CST)) os_futex_wait(word, 0, 0);
    waitpid(child, NULL, 0);

    struct sigaction a = {.sa_handler = nothing};
    sigaction(SIGUSR1, &a, NULL);
    *word = 0;
    pid_t me = getpid();
    child = fork();
    if (child == 0) {
        os_sleep(30000000);
        kill(me, SIGUSR1);
        _exit(0);
    }
    EXPECT_EQ(os_futex_wait(word, 0, 0), -EINTR);
    waitpid(child, NULL, 0);
}

int main(void)
{
    check_begin(50);
    clock_agrees();
    clock_keeps_vectors();
    waiting();
    os_sched_yield();
    return check_end();
}
