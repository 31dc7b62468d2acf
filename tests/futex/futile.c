/* tests/futex/futile.c - threads with a lock as Python's, which each releases for every short call.
 * Prints how often they have had it, and how often the kernel has taken a CPU from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int is_taken, fd;
static long ops, counter;

static void take(void)
{
    pthread_mutex_lock(&mutex);
    while (is_taken) pthread_cond_wait(&released, &mutex);
    is_taken = 1;
    pthread_mutex_unlock(&mutex);
}

static void release(void)
{
    pthread_mutex_lock(&mutex);
    is_taken = 0;
    pthread_cond_signal(&released);
    pthread_mutex_unlock(&mutex);
}

static void *worker(void *arg)
{
    char some[4096];
    for (long i = 0; i < ops; i++) {
        take();
        counter++;
        for (volatile int k = 0; k < 1000; k++) {}
        release();
        if (pread(fd, some, sizeof some, 0) < 1) return arg;
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t[64];
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    alarm(60);
    fd = open("/proc/self/exe", O_RDONLY);
    ops = argc > 2 ? atol(argv[2]) : 1;
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%ld %ld\n", counter, u.ru_nivcsw);
    return 0;
}
