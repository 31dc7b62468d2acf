/* tests/survey/programs/count.c - two threads count, with a lock if LOCK is defined.  SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n;

void *count(void *rounds) {
    for (long i = 0; i < (long)rounds; i++) {
#ifdef LOCK
        pthread_mutex_lock(&lock);
#endif
        n++;
#ifdef LOCK
        pthread_mutex_unlock(&lock);
#endif
    }
    return rounds;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? 20000 : 1;
    pthread_t t[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&t[i], 0, count, (void *)rounds);
    for (int i = 0; i < 6; i++)
        pthread_join(t[i], 0);
    (void)lock;
    printf("%d\n", n);
    return 0;
}
