/* tests/blocking/tries.c - programs that try again until it works.  SPDX-License-Identifier: Apache-2.0
 *
 * One core, two threads: one asks for something again and again, the other is ready and brings it
 * as soon as it runs.  The test counts the failed tries of each round: a handful if tries let the
 * other thread run, thousands if only the end of a time slice does.  The median of the rounds
 * counts: strangers may have the CPU in some. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../check.h"

enum { ROUNDS = 31, FEW = 100 };

static sem_t go, done;
static void (*bring)(void);
static char folder[] = "/tmp/usf-tries-XXXXXX", path[64];
static int in, out, spare, set;
static struct msgbuf_1 { long type; char text[8]; } message = {1, "x"};

static void *bringer(void *arg)
{
    for (;;) {
        sem_wait(&go);
        if (!bring) return arg;
        bring();
        sem_post(&done);
    }
}

/* ---- kinds ---------------------------------------------------------------------------------------- */
static char byte[8];
static void bring_byte(void) { CHECK_EQ(write(out, "x", 1), 1); }
static void use_pipe(void)
{
    int p[2];
    CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
    in = p[0], out = p[1];
    set = epoll_create1(0);
    CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, in, &(struct epoll_event){.events = EPOLLIN}), 0);
}
static bool by_read(void) { return read(in, byte, 1) == 1; }
static bool by_poll(void)
{
    struct pollfd p = {.fd = in, .events = POLLIN};
    return poll(&p, 1, 0) == 1 && by_read();
}
static bool by_epoll(void)
{
    struct epoll_event e;
    return epoll_wait(set, &e, 1, 0) == 1 && by_read();
}
static bool by_select(void)
{
    fd_set s;
    FD_ZERO(&s);
    FD_SET(in, &s);
    return select(in + 1, &s, NULL, NULL, &(struct timeval){0, 0}) == 1 && by_read();
}
/* Several at once, as servers and message passing do. */
static bool by_poll_and_read(void) { return read(spare, byte, 1) == 1 || by_poll(); }
static void use_two_pipes(void)
{
    use_pipe();
    spare = in;
    use_pipe();
}

static void use_sockets(void)
{
    int s[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
    in = s[0], out = s[1];
}
static bool by_recv(void) { return recv(in, byte, 1, MSG_DONTWAIT) == 1; }

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static void use_listener(void)
{
    in = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    CHECK_EQ(bind(in, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    CHECK_EQ(listen(in, 5), 0);
    socklen_t n = sizeof address;
    CHECK_EQ(getsockname(in, (struct sockaddr *)&address, &n), 0);
    spare = (int)n;
}
static void bring_connection(void)
{
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(connect(s, (struct sockaddr *)&address, (socklen_t)spare), 0);
    close(s);
}
static bool by_accept(void)
{
    int s = accept4(in, NULL, NULL, 0);
    if (s >= 0) close(s);
    return s >= 0;
}

static void use_file(void)
{
    in = open(path, O_RDWR | O_CREAT, 0600);
    out = open(path, O_RDWR);
    CHECK(in >= 0 && out >= 0);
    CHECK_EQ(flock(out, LOCK_EX), 0);
}
static void unlock(void) { flock(out, LOCK_UN); }
static bool by_flock(void)
{
    if (flock(in, LOCK_EX | LOCK_NB)) return false;
    flock(in, LOCK_UN);
    return flock(out, LOCK_EX) == 0;
}
static void no_file(void) { unlink(path); }
static void bring_no_file(void) { unlink(path); }
static bool by_exclusive_open(void)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);     /* ... and have it locked */
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void use_semaphore(void) { in = semget(IPC_PRIVATE, 1, 0600); }
static void bring_unit(void) { semop(in, &(struct sembuf){0, 1, 0}, 1); }
static bool by_semop(void) { return semop(in, &(struct sembuf){0, -1, IPC_NOWAIT}, 1) == 0; }
static void end_semaphore(void) { semctl(in, 0, IPC_RMID); }

static void use_queue(void) { in = msgget(IPC_PRIVATE, 0600); }
static void bring_message(void) { msgsnd(in, &message, 1, 0); }
static bool by_msgrcv(void) { return msgrcv(in, &message, 8, 0, IPC_NOWAIT) == 1; }
static void end_queue(void) { msgctl(in, IPC_RMID, NULL); }

static const struct kind {
    const char *name;
    void (*use)(void);
    void (*bring)(void);
    bool (*try)(void);
    void (*end)(void);
} kinds[] = {
    {"read", use_pipe, bring_byte, by_read, NULL},
    {"poll", use_pipe, bring_byte, by_poll, NULL},
    {"epoll", use_pipe, bring_byte, by_epoll, NULL},
    {"select", use_pipe, bring_byte, by_select, NULL},
    {"poll and read", use_two_pipes, bring_byte, by_poll_and_read, NULL},
    {"recv", use_sockets, bring_byte, by_recv, NULL},
    {"accept", use_listener, bring_connection, by_accept, NULL},
    {"flock", use_file, unlock, by_flock, NULL},
    {"open", no_file, bring_no_file, by_exclusive_open, NULL},
    {"semop", use_semaphore, bring_unit, by_semop, end_semaphore},
    {"msgrcv", use_queue, bring_message, by_msgrcv, end_queue},
};

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static bool is_good(const struct kind *k)
{
    int failed[ROUNDS];
    k->use();
    if (k->try()) CHECK(k->try == by_exclusive_open);
    bring = k->bring;
    for (int i = 0; i < ROUNDS; i++) {
        sem_post(&go);                  /* it is ready, and has no core */
        for (failed[i] = 0; !k->try(); failed[i]++)
            ;
        sem_wait(&done);
    }
    if (k->end) k->end();
    qsort(failed, ROUNDS, sizeof *failed, compare);
    printf("%s: %d failed tries\n", k->name, failed[ROUNDS / 2]);
    return failed[ROUNDS / 2] < FEW;
}

/* ---- threads, for which there is no room until others have ended ---------------------------------- */
static void *nothing(void *arg) { return arg; }

static bool creation_is_good(void)
{
    struct rlimit before, limit = {400ul << 20, 400ul << 20};
    pthread_attr_t attr;
    pthread_t t;
    int failed = 0, made = 0;
    getrlimit(RLIMIT_AS, &before);
    limit.rlim_max = before.rlim_max;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 16 << 20);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    while (made < 500)
        if (pthread_create(&t, &attr, nothing, NULL)) failed++;
        else made++;
    setrlimit(RLIMIT_AS, &before);
    printf("pthread_create: %d failures for %d threads\n", failed, made);
    return failed < made;
}

int main(void)
{
    pthread_t t;
    bool good = true;
    alarm(60);
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    CHECK_EQ(pthread_create(&t, NULL, bringer, NULL), 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) good &= is_good(&kinds[i]);
    bring = NULL;
    sem_post(&go);
    pthread_join(t, NULL);
    good &= creation_is_good();
    unlink(path);
    rmdir(folder);
    return !good;
}
