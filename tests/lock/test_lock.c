/* tests/lock/test_lock.c - threads on the scheduler lock.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: test_lock plain|dtlock|delegate [SEED]     built with ThreadSanitizer
 * Mutual exclusion, no lost section, every request served exactly once with its own answer. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "os/os.h"
#include "sched/lock.h"

enum { THREADS = 12, ROUNDS = 4000 };
static struct usf_lock lock;
/* Protected by the lock; plain variables, so that ThreadSanitizer sees a section that is not exclusive. */
static uint64_t sections, sum, last;
static bool delegate;
static uint64_t seed;
static _Atomic int failed;

static uint64_t answer(uint64_t request) { return request * 0x9e3779b97f4a7c15ull ^ request >> 7; }

static uint64_t section(uint64_t request)
{
    sections++;
    sum += request;
    last = request;
    return answer(request);
}

static void run_section(uint32_t name, uint64_t request)
{
    uint64_t reply, next;
    if (delegate) {
        if (!lock_acquire_or_delegate(&lock, name, request, &reply)) {
            if (reply != answer(request)) failed = 1;
            return;
        }
    } else {
        lock_acquire(&lock, name);
    }
    if ((lock.word & ~LOCK_SLEEPERS) != name) failed = 1;
    section(request);
    if (request % 97 == 0) sched_yield();       /* an owner that is descheduled */
    for (int i = 0; i < 8 && lock_next_request(&lock, &next); i++) lock_reply(&lock, section(next));
    if (last != request && !delegate) failed = 1;
    lock_release(&lock, name);
}

static void *work(void *arg)
{
    uint32_t name = (uint32_t)(uintptr_t)arg;
    uint64_t x = seed + name;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        run_section(name, x >> 8);
        for (uint64_t n = x % 64; n; n--) os_pause();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    if (argc < 2) return fprintf(stderr, "usage: test_lock plain|dtlock|delegate [SEED]\n"), 2;
    alarm(120);
    seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    if (!seed) seed = 1;
    printf("%s, seed %lu\n", argv[1], seed);
    USF_POINT("lock.test");     /* the plan of perturbations is read before there are threads */
    delegate = !strcmp(argv[1], "delegate");
    lock_init(&lock, strcmp(argv[1], "plain") ? LOCK_DT : LOCK_PLAIN);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, work, (void *)(i + 1))) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    if (sections != (uint64_t)THREADS * ROUNDS) failed = 1;
    if (lock.word) failed = 1;
    printf("%s: %lu sections\n", failed ? "FAILED" : "ok", sections);
    return failed;
}
