/* tests/pthread/cancel.c - cancellation in every wait.  SPDX-License-Identifier: Apache-2.0
 *
 * A victim waits in one of the calls that are cancellation points; it is cancelled before, at or after the moment it
 * begins to wait.  Its cleanup handlers must run once and leave everything usable. */
#include "stress.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>

struct scene {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    sem_t sem;
    int pipe[2], epoll;
    pthread_t sleeper;
    int started, cleaned, unlocked;                  /* atomic */
    unsigned kind;
};

static void set(int *flag) { __atomic_fetch_add(flag, 1, __ATOMIC_SEQ_CST); }
static int get(int *flag) { return __atomic_load_n(flag, __ATOMIC_SEQ_CST); }

static void clean(void *arg) { set(&((struct scene *)arg)->cleaned); }

static void unlock(void *arg)
{
    struct scene *s = arg;
    CHECK_EQ(pthread_mutex_unlock(&s->lock), 0);     /* a cancelled wait holds the mutex again */
    set(&s->unlocked);
}

static void wait_cond(struct scene *s, bool timed)
{
    CHECK_EQ(pthread_mutex_lock(&s->lock), 0);
    pthread_cleanup_push(unlock, s);
    for (;;) {
        struct timespec t = after_us(CLOCK_REALTIME, 50000000);
        if (timed)
            pthread_cond_timedwait(&s->cond, &s->lock, &t);
        else
            pthread_cond_wait(&s->cond, &s->lock);
    }
    pthread_cleanup_pop(0);
}

static void wait_sem(struct scene *s, unsigned how)
{
    for (;;) {
        struct timespec r = after_us(CLOCK_REALTIME, 50000000), m = after_us(CLOCK_MONOTONIC, 50000000);
        if (how == 0)
            sem_wait(&s->sem);
        else if (how == 1)
            sem_timedwait(&s->sem, &r);
        else
            sem_clockwait(&s->sem, CLOCK_MONOTONIC, &m);
    }
}

static void wait_fd(struct scene *s, unsigned how)
{
    char byte;
    struct pollfd p = { .fd = s->pipe[0], .events = POLLIN };
    struct epoll_event e;
    fd_set set;
    for (;;)
        switch (how) {
        case 0:
            CHECK(read(s->pipe[0], &byte, 1) < 0);
            break;
        case 1:
            poll(&p, 1, -1);
            break;
        case 2:
            epoll_wait(s->epoll, &e, 1, -1);
            break;
        default:
            FD_ZERO(&set);
            FD_SET(s->pipe[0], &set);
            select(s->pipe[0] + 1, &set, NULL, NULL, NULL);
        }
}

#define KINDS 13
static void *victim(void *arg)
{
    struct scene *s = arg;
    pthread_cleanup_push(clean, s);
    set(&s->started);
    switch (s->kind) {
    case 0: case 1:
        wait_cond(s, s->kind == 1);
        break;
    case 2: case 3: case 4:
        wait_sem(s, s->kind - 2);
        break;
    case 5: case 6: case 7: case 8:
        wait_fd(s, s->kind - 5);
        break;
    case 9:
        pthread_join(s->sleeper, NULL);
        break;
    case 10:
        for (;;)
            sleep_us(50000000);
    case 11:                                         /* no wait at all */
        for (;;)
            pthread_testcancel();
    case 12: {
        int old;
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
        for (volatile long i = 0;; i++)
            ;
    }
    }
    pthread_cleanup_pop(0);
    return NULL;
}

static void *nap(void *sem)
{
    while (sem_wait(sem) != 0)
        ;
    return NULL;
}

static void play(unsigned kind, unsigned delay)
{
    struct scene s = { .kind = kind };
    pthread_t th;
    void *result;
    CHECK_EQ(pthread_mutex_init(&s.lock, NULL), 0);
    CHECK_EQ(pthread_cond_init(&s.cond, NULL), 0);
    CHECK_EQ(sem_init(&s.sem, 0, 0), 0);
    CHECK_EQ(pipe(s.pipe), 0);
    CHECK((s.epoll = epoll_create1(0)) >= 0);
    struct epoll_event e = { .events = EPOLLIN };
    CHECK_EQ(epoll_ctl(s.epoll, EPOLL_CTL_ADD, s.pipe[0], &e), 0);
    if (kind == 9)
        CHECK_EQ(pthread_create(&s.sleeper, NULL, nap, &s.sem), 0);
    CHECK_EQ(pthread_create(&th, NULL, victim, &s), 0);
    if (delay % 3)
        while (!get(&s.started))
            sched_yield();
    if (delay % 3 == 2)
        sleep_us(delay % 400);
    bool started = get(&s.started);
    CHECK_EQ(pthread_cancel(th), 0);
    CHECK_EQ(pthread_join(th, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(get(&s.cleaned) == 1 || (!started && get(&s.cleaned) == 0));
    CHECK_EQ(pthread_mutex_trylock(&s.lock), 0);
    CHECK_EQ(pthread_mutex_unlock(&s.lock), 0);
    CHECK_EQ(pthread_cond_signal(&s.cond), 0);
    CHECK_EQ(sem_post(&s.sem), 0);
    if (kind == 9)
        CHECK_EQ(pthread_join(s.sleeper, NULL), 0);
    else
        CHECK_EQ(sem_trywait(&s.sem), 0);
    CHECK_EQ(pthread_cond_destroy(&s.cond), 0);
    CHECK_EQ(pthread_mutex_destroy(&s.lock), 0);
    sem_destroy(&s.sem);
    close(s.pipe[0]);
    close(s.pipe[1]);
    close(s.epoll);
}

static void *director(void *arg)
{
    struct worker *w = arg;
    for (long i = 0; i < share(); i++)
        play((unsigned)(i + w->index) % KINDS, next_random(&w->random));
    return NULL;
}

/* A cancelled waiter must not swallow the wake-up meant for another. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int tokens, waiting;

static void release(void *m) { pthread_mutex_unlock(m); }

static void *take_token(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(release, &lock);
    waiting++;
    while (tokens == 0)
        pthread_cond_wait(&cond, &lock);
    tokens--;
    pthread_cleanup_pop(1);
    return arg;
}

static void no_lost_signal(void)
{
    for (long i = 0; i < rounds / 10 + 1; i++) {
        pthread_t a, b;
        void *ra, *rb;
        tokens = waiting = 0;
        CHECK_EQ(pthread_create(&a, NULL, take_token, (void *)1), 0);
        CHECK_EQ(pthread_create(&b, NULL, take_token, (void *)1), 0);
        for (int n = 0; n < 2;) {
            pthread_mutex_lock(&lock);
            n = waiting;
            pthread_mutex_unlock(&lock);
            sched_yield();
        }
        pthread_mutex_lock(&lock);
        tokens = 1;
        pthread_cond_signal(&cond);
        pthread_cancel(a);
        pthread_mutex_unlock(&lock);
        CHECK_EQ(pthread_join(a, &ra), 0);
        if (ra != PTHREAD_CANCELED) {                /* it took the token; the other needs one */
            pthread_mutex_lock(&lock);
            tokens = 1;
            pthread_cond_signal(&cond);
            pthread_mutex_unlock(&lock);
        }
        CHECK_EQ(pthread_join(b, &rb), 0);
        CHECK_EQ(rb, 1);
    }
}

int main(int argc, char **argv)
{
    stress_start(argc, argv, 500);
    run(director, NULL);
    no_lost_signal();
    return 0;
}
