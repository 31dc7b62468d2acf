/* tests/policy/busy.c - threads that block and wake each other until a file is there.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 6 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *file;

static void *work(void *arg)
{
    while (access(file, F_OK)) {
        for (int i = 0; i < 50; i++) {
            pthread_mutex_lock(&lock);
            usleep(100);
            pthread_mutex_unlock(&lock);
        }
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    if (argc < 2) return 2;
    file = argv[1];
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    puts("done");
    return 0;
}
