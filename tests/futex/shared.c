/* tests/futex/shared.c - words shared by processes or mapped twice.  SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define P FUTEX_PRIVATE_FLAG

static void wait_on(int w, uint32_t *word, int flag, long expected)
{
    tell_call(w, SYS_futex, (long)word, FUTEX_WAIT | flag, *word, 0, 0, 0);
    await_queued(w, word, flag, expected);
}
static long wake(uint32_t *word, int flag, int n) { return SYS(SYS_futex, word, FUTEX_WAKE | flag, n); }

static void between_processes(void)
{
    uint32_t *word = sh->word;
    workers_stop();
    workers_start(3, true);
    word = sh->word;
    for (int i = 0; i < 3; i++) wait_on(i, word, 0, i + 1);
    say("private wake across processes: %s", show(wake(word, P, 3)));
    say("shared wake of one: %s", show(wake(word, 0, 1)));
    say("first: %s", show(await_done(0)));
    say("requeue across processes: %s", show(SYS(SYS_futex, word, FUTEX_REQUEUE, 0, 5, word + 1, 0)));
    say("left on first: %s", show(wake(word, 0, 5)));
    say("shared wake of all on second: %s", show(wake(word + 1, 0, 5)));
    say("others: %s %s", show(await_done(1)), show(await_done(2)));

    for (int i = 0; i < 3; i++) wait_on(i, word, 0, i + 1);
    kill(sh->w[0].pid, SIGKILL);
    waitpid(sh->w[0].pid, NULL, 0);
    say("waiters after one was killed: %ld", waiters(word, 0));
    say("wake: %s", show(wake(word, 0, 5)));
    say("others: %s %s", show(await_done(1)), show(await_done(2)));
    close(sh->w[0].pipe[1]);
    sh->w[0].pipe[1] = -1;
}

/* One page mapped at two addresses: shared futexes meet, private ones do not. */
static void mapped_twice(void)
{
    int fd = memfd_create("futex", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 4096)) give_up("memfd");
    uint32_t *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint32_t *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (a == MAP_FAILED || b == MAP_FAILED) give_up("mmap");
    wait_on(0, a, 0, 1);
    say("shared, woken through the other address: %s", show(wake(b, 0, 1)));
    say("  %s", show(await_done(0)));
    wait_on(0, a, P, 1);
    say("private, other address: %s", show(wake(b, P, 1)));
    say("private, shared wake: %s", show(wake(a, 0, 1)));
    say("private, same address: %s", show(wake(a, P, 1)));
    say("  %s", show(await_done(0)));
    close(fd);
    munmap(a, 4096);
    munmap(b, 4096);
}

/* Anonymous private memory: the two kinds never meet there either. */
static void kinds_apart(void)
{
    static uint32_t word;
    wait_on(0, &word, 0, 1);
    wait_on(1, &word, P, 1);
    say("private wakes: %s", show(wake(&word, P, 5)));
    say("  private waiter: %s", show(await_done(1)));
    say("shared wakes: %s", show(wake(&word, 0, 5)));
    say("  shared waiter: %s", show(await_done(0)));
}

/* The kernel ends a join: it clears the thread's id and wakes it as a shared futex. */
static void *quick(void *arg)
{
    nap_us(20000);
    return arg;
}
static _Atomic bool may_end;
static void *slow(void *arg)
{
    while (!may_end) nap_us(1000);
    return arg;
}
static void joins(void)
{
    pthread_t t[8];
    long sum = 0;
    for (long i = 0; i < 8; i++) pthread_create(&t[i], NULL, quick, (void *)i);
    for (int i = 0; i < 8; i++) {
        void *r;
        pthread_join(t[i], &r);
        sum += (long)r;
    }
    say("joined, sum %ld", sum);
    struct timespec soon = in_ns(CLOCK_REALTIME, 2000000);
    pthread_create(&t[0], NULL, slow, NULL);
    say("timed join too soon: %d", pthread_timedjoin_np(t[0], NULL, &soon));
    may_end = true;
    say("join: %d", pthread_join(t[0], NULL));
}

void scenario_shared(uint64_t seed)
{
    (void)seed;
    workers_start(2, false);
    kinds_apart();
    mapped_twice();
    joins();
    between_processes();
    workers_stop();
}
