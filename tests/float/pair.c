/* tests/float/pair.c - what test_waker.py runs.  SPDX-License-Identifier: Apache-2.0
 *
 * usage: pair FILE   two threads wake each other and count their exchanges in FILE
 *        pair        one thread that yields, for ever */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
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

int main(int argc, char **argv)
{
    pthread_t t;
    if (argc < 2)
        for (;;) sched_yield();
    int fd = open(argv[1], O_RDWR);
    CHECK(fd >= 0);
    count = mmap(0, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(count != MAP_FAILED);
    CHECK(!pthread_create(&t, 0, run, (void *)1));
    run(0);
    return 0;
}
