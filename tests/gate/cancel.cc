/* tests/gate/cancel.cc - unwinding through the gate: cancellation and exceptions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread blocked in a gated call is cancelled: its destructors and cleanup handlers must run.  A signal
 * handler throws over a gated call: the caller must catch. */
#include "test.h"

#include <pthread.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>

static std::atomic<int> destroyed, cleaned, started;
static int fds[2];

struct Guard { ~Guard() { destroyed++; } };
static void cleanup(void *) { cleaned++; }

static void in_read() { char c; CHECK(read(fds[0], &c, 1) == -1); }
static void in_recv() { char c; CHECK(recv(fds[0], &c, 1, 0) == -1); }
static void in_pause() { pause(); }
static void in_sleep() { sleep(100); }
static void in_poll() { struct pollfd p = {fds[0], POLLIN, 0}; poll(&p, 1, 100000); }
static void in_sem() { static sem_t s; sem_wait(&s); }
static void in_cond()
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&m);
    pthread_cleanup_push([](void *p) { pthread_mutex_unlock((pthread_mutex_t *)p); }, &m);
    for (;;) pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(1);
}
static void in_testcancel() { for (;;) { pthread_testcancel(); usleep(10); } }
static void in_join()
{
    pthread_t t;
    pthread_create(&t, nullptr, [](void *) -> void * { usleep(200000); return nullptr; }, nullptr);
    pthread_detach(t);
    pause();
}

static void (*const blocks[])() = {in_read, in_recv, in_pause, in_sleep, in_poll, in_sem, in_cond, in_testcancel, in_join};
static const int nr_blocks = sizeof blocks / sizeof *blocks;

static void *victim(void *arg)
{
    Guard g;
    pthread_cleanup_push(cleanup, nullptr);
    started++;
    blocks[(intptr_t)arg]();
    pthread_cleanup_pop(0);
    return nullptr;
}

static void cancel_round(int delay_us)
{
    pthread_t t[nr_blocks];
    destroyed = cleaned = started = 0;
    for (int i = 0; i < nr_blocks; i++) CHECK(pthread_create(&t[i], nullptr, victim, (void *)(intptr_t)i) == 0);
    while (started < nr_blocks) usleep(50);
    usleep(delay_us);
    for (int i = 0; i < nr_blocks; i++) pthread_cancel(t[i]);
    for (int i = 0; i < nr_blocks; i++) {
        void *r;
        CHECK(pthread_join(t[i], &r) == 0);
        CHECK(r == PTHREAD_CANCELED);
    }
    CHECK(destroyed == nr_blocks);
    CHECK(cleaned == nr_blocks);
}

/* Asynchronous cancellation lands anywhere, also between patched site and entry. */
static void *busy(void *)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    started++;
    for (;;) getppid();
    return nullptr;
}

static void async_round(int us)
{
    pthread_t t;
    void *r;
    started = 0;
    CHECK(pthread_create(&t, nullptr, busy, nullptr) == 0);
    while (!started) usleep(20);
    usleep(us);
    pthread_cancel(t);
    CHECK(pthread_join(t, &r) == 0);
    CHECK(r == PTHREAD_CANCELED);
}

static void thrower(int) { throw std::runtime_error("from the handler"); }

static void throw_round()
{
    bool caught = false;
    destroyed = 0;
    timer_t id;
    struct sigevent ev = {};
    ev.sigev_notify = SIGEV_SIGNAL;
    ev.sigev_signo = SIGUSR1;
    CHECK(timer_create(CLOCK_MONOTONIC, &ev, &id) == 0);
    struct itimerspec it = {{0, 0}, {0, 2000000}};
    timer_settime(id, 0, &it, nullptr);
    try {
        Guard g;
        char c;
        CHECK(read(fds[0], &c, 1) == -1);
    } catch (const std::runtime_error &e) {
        caught = true;
    }
    CHECK(caught);
    CHECK(destroyed == 1);
    timer_delete(id);
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &s, nullptr);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : (unsigned)time(nullptr);
    printf("seed %u, gate %s\n", seed, gated() ? "on" : "off");
    srand(seed);
    kill_after(100);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    signal(SIGUSR1, thrower);
    for (int i = 0; i < rounds; i++) cancel_round(rand() % 3000);
    for (int i = 0; i < rounds * 5; i++) async_round(rand() % 300);
    for (int i = 0; i < rounds; i++) throw_round();
    if (gated()) CHECK(gate_test_calls[0] > 0);
    return 0;
}
