/* tests/futex/hot.c - two threads that want one mutex all the time, with nothing to do while they have it.
 * Prints how often they have had it, and how often the kernel has taken a CPU from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long ops, counter;

static void *worker(void *arg)
{
    for (long i = 0; i < ops; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t;
    alarm(60);
    ops = argc > 1 ? atol(argv[1]) : 1;
    pthread_create(&t, NULL, worker, NULL);
    worker(NULL);
    pthread_join(t, NULL);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%ld %ld\n", counter, u.ru_nivcsw);
    return 0;
}
