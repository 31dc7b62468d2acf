/* tests/lock/test_lock.c - threads on the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_lock [SEED]     built with ThreadSanitizer
 * Mutual exclusion, and no lost section. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "os/os.h"
#include "sched/lock.h"

enum { THREADS = 12, ROUNDS = 4000 };
static struct usf_lock lock;
/* Protected by the lock; plain variables, so that ThreadSanitizer sees a section that is not exclusive. */
static uint64_t sections, last;
static uint64_t seed;
static _Atomic int failed;

static void section(uint32_t name, uint64_t value)
{
    lock_acquire(&lock, name);
    if ((lock.word & ~LOCK_SLEEPERS) != name) failed = 1;
    sections++;
    last = value;
    if (value % 97 == 0) sched_yield();         /* an owner that is descheduled */
    if (last != value) failed = 1;
    lock_release(&lock, name);
}

static void *work(void *arg)
{
    uint32_t name = (uint32_t)(uintptr_t)arg;
    uint64_t x = seed + name;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        section(name, x >> 8);
        for (uint64_t n = x % 64; n; n--) os_pause();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    alarm(120);
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    if (!seed) seed = 1;
    printf("seed %lu\n", seed);
    USF_POINT("lock.test");     /* the plan of perturbations is read before there are threads */
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, work, (void *)(i + 1))) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    if (sections != (uint64_t)THREADS * ROUNDS) failed = 1;
    if (lock.word) failed = 1;
    printf("%s: %lu sections\n", failed ? "FAILED" : "ok", sections);
    return failed;
}
