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
__attribute__((noinline)) static void calls_for_ever()
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    started++;
    for (;;) getppid();
}

static void *busy(void *)
{
    Guard g;
    calls_for_ever();
    return nullptr;
}

static void async_round(int us)
{
    pthread_t t;
    void *r;
    started = destroyed = 0;
    CHECK(pthread_create(&t, nullptr, busy, nullptr) == 0);
    while (!started) usleep(20);
    usleep(us);
    pthread_cancel(t);
    CHECK(pthread_join(t, &r) == 0);
    CHECK(r == PTHREAD_CANCELED);
    CHECK(destroyed == 1);
}

static void thrower(int) { throw std::runtime_error("from the handler"); }

/* Sends the signal once the main thread sleeps in its read. */
static void *sender(void *arg)
{
    char path[64], buf[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    for (char state = 'R'; state != 'S';) {
        usleep(100);
        FILE *f = fopen(path, "r");
        CHECK(f && fgets(buf, sizeof buf, f));
        fclose(f);
        state = strrchr(buf, ')')[2];
    }
    pthread_kill(*(pthread_t *)arg, SIGUSR1);
    return nullptr;
}

static void throw_round()
{
    bool caught = false;
    pthread_t t, self = pthread_self();
    destroyed = 0;
    CHECK(pthread_create(&t, nullptr, sender, &self) == 0);
    try {
        Guard g;
        char c;
        CHECK(read(fds[0], &c, 1) == -1);
    } catch (const std::runtime_error &e) {
        caught = true;
    }
    CHECK(caught);
    CHECK(destroyed == 1);
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &s, nullptr);
    pthread_join(t, nullptr);
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
    for (int i = 0; i < rounds * 10; i++) async_round(rand() % 300);
    for (int i = 0; i < rounds; i++) throw_round();
    if (gated()) CHECK(gate_test_calls[0] > 0);
    if (gated()) printf("%lu times in a springboard\n", (unsigned long)gate_test_moved);
    return 0;
}
