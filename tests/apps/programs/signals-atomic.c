/* Calls that unblock a signal and wait in one step: none may be lost, whenever it comes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 300 };

static pthread_t target;
static sem_t go;
static volatile sig_atomic_t handled;
static sigset_t none;
static int epfd;

static void on_signal(int s) { handled++; }

static void *sender(void *arg)
{
    unsigned seed = 1;
    for (;;) {
        sem_wait(&go);
        struct timespec t = { 0, rand_r(&seed) % 300000 };
        if (rand_r(&seed) % 3) nanosleep(&t, NULL);
        pthread_kill(target, SIGUSR1);
    }
    return NULL;
}

static int do_sigsuspend(const struct timespec *t) { return sigsuspend(&none); }
static int do_ppoll(const struct timespec *t) { return ppoll(NULL, 0, t, &none); }
static int do_pselect(const struct timespec *t) { return pselect(0, NULL, NULL, NULL, t, &none); }
static int do_epoll(const struct timespec *t)
{
    struct epoll_event e;
    return epoll_pwait(epfd, &e, 1, t ? 20000 : -1, &none);
}
static int do_epoll2(const struct timespec *t)
{
    struct epoll_event e;
    return epoll_pwait2(epfd, &e, 1, t, &none);
}

int main(void)
{
    static const struct { const char *name; int (*fn)(const struct timespec *); } calls[] = {
        { "sigsuspend", do_sigsuspend }, { "ppoll", do_ppoll }, { "pselect", do_pselect },
        { "epoll_pwait", do_epoll }, { "epoll_pwait2", do_epoll2 },
    };
    struct sigaction sa = { .sa_handler = on_signal };
    sigset_t set;
    pthread_t t;
    alarm(50);
    sigaction(SIGUSR1, &sa, NULL);
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sem_init(&go, 0, 0);
    epfd = epoll_create1(0);
    target = pthread_self();
    pthread_create(&t, NULL, sender, NULL);
    for (unsigned c = 0; c < sizeof calls / sizeof *calls; c++)
        for (int timed = 0; timed < 2; timed++) {
            int interrupted = 0, once = 0;
            for (int i = 0; i < ROUNDS; i++) {
                struct timespec limit = { 20, 0 };
                handled = 0;
                sem_post(&go);
                errno = 0;
                interrupted += calls[c].fn(timed ? &limit : NULL) == -1 && errno == EINTR;
                once += handled == 1;
            }
            printf("%s%s: interrupted %d, handled once %d\n", calls[c].name, timed ? ", timed" : "", interrupted, once);
        }
    return 0;
}
