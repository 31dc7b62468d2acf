/* Two signals sent again and again to one thread that waits, each sender waiting for its handler: a
 * signal that gets lost stops its sender for ever.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 8000 };

static const int sigs[2] = { SIGUSR1, SIGUSR2 };
static sem_t handled[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile int senders = 2;

static void on_signal(int s) { sem_post(&handled[s == SIGUSR2]); }

static void *sender(void *arg)
{
    int me = *(int *)arg, rounds = 0;
    for (; rounds < ROUNDS; rounds++) {
        while (sem_wait(&handled[me])) {}
        kill(getpid(), sigs[me]);
    }
    while (sem_wait(&handled[me])) {}
    printf("%d signals\n", rounds);
    fflush(stdout);
    __atomic_sub_fetch(&senders, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *receiver(void *arg)
{
    pthread_sigmask(SIG_UNBLOCK, arg, NULL);
    pthread_mutex_lock(&mutex);
    while (senders) pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void)
{
    static int ids[2] = { 0, 1 };
    struct sigaction sa = { .sa_handler = on_signal };
    sigset_t set;
    pthread_t t[3];
    alarm(50);
    sigemptyset(&set);
    for (int i = 0; i < 2; i++) {
        sigaction(sigs[i], &sa, NULL);
        sigaddset(&set, sigs[i]);
        sem_init(&handled[i], 0, 1);
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&t[2], NULL, receiver, &set);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, sender, &ids[i]);
    while (senders) {
        usleep(50);
        pthread_mutex_lock(&mutex);
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
    }
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    puts("all handled");
    return 0;
}
