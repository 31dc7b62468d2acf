/* tests/cli/waits.c - threads that wait in all the ways that `usf ps --why` tells apart.  SPDX-License-Identifier: Apache-2.0
 *
 * Prints "up" once all have started, and ends when a line comes.  With an argument N the line has it start N threads that
 * keep a core busy without blocking, so that others wait for it; it ends at the next one. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t cond_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t the_cond[3] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static volatile int over;
static int pipes[2], listener, epoll_fd;
static pthread_t sleeper;

static void name(const char *n) { prctl(PR_SET_NAME, n); }

static void *on_mutex(void *arg)
{
    name("on-mutex");
    pthread_mutex_lock(&the_lock);
    pthread_mutex_unlock(&the_lock);
    return arg;
}

static void *on_cond(void *arg)
{
    name("on-cond");
    pthread_mutex_lock(&cond_lock);
    while (!over) pthread_cond_wait(&the_cond[2], &cond_lock);
    pthread_mutex_unlock(&cond_lock);
    return arg;
}

static void *on_heap(void *arg)
{
    name("on-heap");
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return NULL;
}

static void *on_read(void *arg)
{
    char c;
    name("on-read");
    if (read(pipes[0], &c, 1) < 0) perror("read");
    return arg;
}

static void *on_accept(void *arg)
{
    name("on-accept");
    close(accept(listener, NULL, NULL));
    return arg;
}

static void *on_poll(void *arg)
{
    struct pollfd p = {.fd = pipes[0], .events = POLLIN};
    name("on-poll");
    while (!over) poll(&p, 1, 60000);
    return arg;
}

static void *on_epoll(void *arg)
{
    struct epoll_event e;
    name("on-epoll");
    while (!over) epoll_wait(epoll_fd, &e, 1, 60000);
    return arg;
}

static void *on_select(void *arg)
{
    fd_set set;
    name("on-select");
    while (!over) {
        FD_ZERO(&set);
        FD_SET(pipes[0], &set);
        select(pipes[0] + 1, &set, NULL, NULL, NULL);
    }
    return arg;
}

static void *on_sleep(void *arg)
{
    name("on-sleep");
    while (!over) usleep(2000000);
    return arg;
}

static void *on_join(void *arg)
{
    name("on-join");
    pthread_join(sleeper, NULL);
    return arg;
}

static void *busy(void *arg)
{
    volatile unsigned long n = 0;
    name("busy");
    while (!over) n++;
    return arg;
}

static void start(void *(*fn)(void *), void *arg)
{
    static pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&t, &attr, fn, arg)) exit(2);
}

int main(int argc, char **argv)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    pthread_mutex_t *heap = calloc(1, sizeof *heap);
    alarm(120);
    setbuf(stdout, NULL);
    if (!heap || pipe(pipes) || (listener = socket(AF_INET, SOCK_STREAM, 0)) < 0 || bind(listener, (void *)&addr, sizeof addr)
        || listen(listener, 1) || (epoll_fd = epoll_create1(0)) < 0)
        return 2;
    struct epoll_event e = {.events = EPOLLIN, .data.fd = pipes[0]};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipes[0], &e);
    pthread_mutex_init(heap, NULL);
    pthread_mutex_lock(heap);
    pthread_mutex_lock(&the_lock);
    pthread_create(&sleeper, NULL, on_sleep, NULL);
    void *(*const all[])(void *) = {on_mutex, on_cond, on_read, on_accept, on_poll, on_select, on_epoll, on_join};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) start(all[i], NULL);
    start(on_heap, heap);
    puts("up");
    if (getchar() == EOF || argc == 1) return 0;
    for (int i = 0; i < atoi(argv[1]); i++) start(busy, NULL);
    getchar();
    return 0;
}
