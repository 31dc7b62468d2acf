/* tests/spin/under.c - a loop is not replaced under a thread that spins in it without a core.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thread blocks all signals and spins.  It does not answer when it is to give way, so its core is taken, and it goes on in the loop.
 * Others spin in the same loop, and have it looked at.  Prints whether the loop was as before when the first one left it, and whether it
 * is replaced after that. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

enum { SPINNERS = 4, CODE = 64 };
static uint32_t word;
static _Atomic int inside, rounds;

/* A jump needs five bytes: it takes the place of several of these instructions. */
void spin_until(const uint32_t *at, uint32_t value);
__asm__(".pushsection .text\n.p2align 5\n.type spin_until, @function\nspin_until:\n.cfi_startproc\n"
        "1: mov (%rdi), %eax\n   cmp %esi, %eax\n   jne 1b\n   ret\n.cfi_endproc\n.size spin_until, . - spin_until\n.p2align 6\n.popsection");

static void *unresponsive(void *arg)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    inside = 1;
    spin_until(&word, 1);
    inside = 2;
    while (inside == 2) usleep(1000);
    return arg;
}

static void *spinner(void *arg)
{
    while (!inside) usleep(1000);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != 2) {
        spin_until(arg, 7);
        rounds++;
    }
    return 0;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static _Atomic uint32_t ball;

/* The others' loop ends every 20 ms. */
static void keep_spinning(uint64_t ms)
{
    for (uint64_t end = now_ms() + ms; now_ms() < end;) {
        ball = 0;
        usleep(20000);
        ball = 7;
        usleep(1000);
    }
}

int main(void)
{
    static uint8_t before[CODE];
    pthread_t d, t[SPINNERS];
    alarm(60);
    memcpy(before, (const void *)(uintptr_t)spin_until, CODE);
    CHECK(!pthread_create(&d, 0, unresponsive, 0));
    for (int i = 0; i < SPINNERS; i++) CHECK(!pthread_create(&t[i], 0, spinner, (void *)(uintptr_t)&ball));
    while (!inside) usleep(1000);
    keep_spinning(1500);
    bool kept = !memcmp(before, (const void *)(uintptr_t)spin_until, CODE);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    while (inside != 2) usleep(1000);
    bool replaced = false;
    for (int i = 0; i < 100 && !replaced; i++) {
        keep_spinning(100);
        replaced = memcmp(before, (const void *)(uintptr_t)spin_until, CODE);
    }
    inside = 3;
    ball = 7;
    __atomic_store_n(&word, 2, __ATOMIC_SEQ_CST);
    CHECK(!pthread_join(d, 0));
    for (int i = 0; i < SPINNERS; i++) CHECK(!pthread_join(t[i], 0));
    printf("%s, %s\n", kept ? "as before" : "replaced under a thread", replaced ? "then replaced" : "never replaced");
    return 0;
}
