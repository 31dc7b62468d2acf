/* tests/odd/inside.c - how many threads of several programs run at once?  SPDX-License-Identifier: Apache-2.0
 *
 *   odd-inside FILE WHICH ROUNDS
 *
 * FILE is shared by two of these, WHICH is 0 or 1.  Threads count themselves in, compute for a moment, count themselves out
 * and yield, until both programs have done so many rounds: neither is done alone.  "done"; the most at once is in FILE. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 3
#define BURST   50000

struct shared {
    _Atomic int inside, most;
    _Atomic long rounds[2];
};

static struct shared *s;
static int which;
static long wanted;

static void burst(void)
{
    int now = atomic_fetch_add(&s->inside, 1) + 1, most = atomic_load(&s->most);
    while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now)) {}
    for (int i = 0; i < BURST; i++) __asm__ volatile("");
    atomic_fetch_sub(&s->inside, 1);
    atomic_fetch_add(&s->rounds[which], 1);
}

static void *work(void *arg)
{
    while (atomic_load(&s->rounds[0]) < wanted || atomic_load(&s->rounds[1]) < wanted) {
        burst();
        sched_yield();
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    if (argc != 4) return 2;
    alarm(60);
    int fd = open(argv[1], O_RDWR);
    s = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED) return perror(argv[1]), 1;
    which = atoi(argv[2]) != 0;
    wanted = atol(argv[3]);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, work, NULL)) return 1;
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    puts("done");
    return 0;
}
