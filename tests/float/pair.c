/* tests/float/pair.c - what test_waker.py runs.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: pair FILE           two threads wake each other and count their exchanges in FILE
 *        pair FILE sleeps    a thread that sleeps for 1 ms counts that in FILE
 *        pair                one thread that yields, for ever
 *        pair --yield        four of them */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;
static _Atomic uint64_t *count;

static void *run(void *me)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        while (turn != (int)(intptr_t)me) pthread_cond_wait(&turned, &lock);
        turn = !turn;
        (*count)++;
        pthread_cond_signal(&turned);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

static void *yield(void *arg)
{
    for (;;) sched_yield();
    return arg;
}

static void *sleep_and_count(void *arg)
{
    for (;; (*count)++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t;
    if (argc == 2 && !strcmp(argv[1], "--yield"))
        for (int i = 0; i < 3; i++) CHECK(!pthread_create(&t, 0, yield, 0));
    if (argc < 2 || !strcmp(argv[1], "--yield")) yield(0);
    int fd = open(argv[1], O_RDWR);
    CHECK(fd >= 0);
    count = mmap(0, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(count != MAP_FAILED);
    bool sleeps = argc > 2 && !strcmp(argv[2], "sleeps");
    CHECK(!pthread_create(&t, 0, sleeps ? sleep_and_count : run, (void *)1));
    if (sleeps) pthread_join(t, 0);
    else run(0);
    return 0;
}
