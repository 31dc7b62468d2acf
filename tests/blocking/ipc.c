/* tests/blocking/ipc.c - message queues and semaphores of both kinds.  SPDX-License-Identifier: Apache-2.0 */
#include "blocking.h"
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <time.h>

static struct { long type; char text[512]; } msg = {.type = 7};
static mqd_t queue;

/* They outlive their makers.  It may have been removed already. */
static void remove_msg(void) { msgctl(w.id, IPC_RMID, NULL); }
static void make_msg(void)
{
    MUST(w.id = msgget(IPC_PRIVATE, 0600));
    w.remove = remove_msg;
}
static void make_full_msg(void)
{
    make_msg();
    while (msgsnd(w.id, &msg, sizeof msg.text, IPC_NOWAIT) == 0) {}
}
static long do_msgrcv(void)
{
    long r = msgrcv(w.id, &msg, sizeof msg.text, 0, 0);
    w.seen = msg.type;
    return r;
}
static long do_msgsnd(void) { return msgsnd(w.id, &msg, sizeof msg.text, 0); }
static void send_msg(void) { MUST(msgsnd(w.id, &msg, 3, IPC_NOWAIT)); }
static void receive_msg(void)
{
    char sink[600];
    MUST(msgrcv(w.id, sink, 512, 0, IPC_NOWAIT));
}

static void remove_sem(void) { semctl(w.id, 0, IPC_RMID); }
static void make_sem(void)
{
    MUST(w.id = semget(IPC_PRIVATE, 1, 0600));
    w.remove = remove_sem;
}
static struct sembuf down = {0, -1, 0}, up = {0, 1, 0};
static long do_semop(void) { return semop(w.id, &down, 1); }
static long do_semtimedop(void) { return semtimedop(w.id, &down, 1, &(struct timespec){.tv_sec = 10}); }
static long do_semtimedop_short(void) { return semtimedop(w.id, &down, 1, &(struct timespec){.tv_nsec = 5000000}); }
static void do_up(void) { MUST(semop(w.id, &up, 1)); }

static void make_queue(void)
{
    char name[64];
    struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/usf-blocking-%d", getpid());
    queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
    if (queue < 0) {
        skip("no message queues here");
        return;
    }
    mq_unlink(name);
    w.fd[0] = queue;
}
static void make_full_queue(void)
{
    make_queue();
    if (!w.skip) MUST(mq_send(queue, "abc", 3, 1));
}
static struct timespec soon(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}
static long do_mq_receive(void)
{
    char buf[8];
    unsigned prio = 0;
    long r = mq_receive(queue, buf, sizeof buf, &prio);
    w.seen = (long)prio;
    return r;
}
static long do_mq_receive_short(void)
{
    char buf[8];
    struct timespec t = soon(5);
    return mq_timedreceive(queue, buf, sizeof buf, NULL, &t);
}
static long do_mq_send(void) { return mq_send(queue, "abc", 3, 0); }
static long do_mq_send_short(void)
{
    struct timespec t = soon(5);
    return mq_timedsend(queue, "abc", 3, 0, &t);
}
static void mq_put(void) { MUST(mq_send(queue, "xy", 2, 5)); }
static void mq_take(void)
{
    char buf[8];
    MUST(mq_receive(queue, buf, sizeof buf, NULL));
}

const struct blocking ipc_cases[] = {
    {"msgrcv", SYS_msgrcv, 0, make_msg, do_msgrcv, send_msg, POINT},
    {"msgrcv-removed", SYS_msgrcv, 0, make_msg, do_msgrcv, remove_msg, POINT},
    {"msgsnd", SYS_msgsnd, 0, make_full_msg, do_msgsnd, receive_msg, POINT},
    {"semop", SYS_semop, SYS_semtimedop, make_sem, do_semop, do_up, 0},
    {"semop-removed", SYS_semop, SYS_semtimedop, make_sem, do_semop, remove_sem, 0},
    {"semtimedop", SYS_semtimedop, 0, make_sem, do_semtimedop, do_up, 0},
    {"semtimedop-timeout", SYS_semtimedop, 0, make_sem, do_semtimedop_short, 0, BY_ITSELF},
    {"mq-receive", SYS_mq_timedreceive, 0, make_queue, do_mq_receive, mq_put, POINT},
    {"mq-receive-timeout", SYS_mq_timedreceive, 0, make_queue, do_mq_receive_short, 0, BY_ITSELF},
    {"mq-send", SYS_mq_timedsend, 0, make_full_queue, do_mq_send, mq_take, POINT},
    {"mq-send-timeout", SYS_mq_timedsend, 0, make_full_queue, do_mq_send_short, 0, BY_ITSELF},
    {0},
};
