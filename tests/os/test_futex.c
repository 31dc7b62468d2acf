/* tests/os/test_futex.c - a wake-up that comes when its waker has ended.  SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "check.h"
#include "os/os.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ASLEEP 2u
#define GO     1u

static struct shared {
    _Atomic uint32_t word, ending;
} *shared;      /* as the words that it is made for: several processes map it */

static _Atomic int32_t waiter_tid;

static void await_sleep(int32_t tid)
{
    while (!sleeps_in(tid, SYS_futex)) usleep(1000);
}

static void *waiter(void *unused)
{
    (void)unused;
    atomic_store(&waiter_tid, os_gettid());
    os_futex_wait(&shared->word, ASLEEP, 0);
    EXPECT(atomic_load(&shared->ending), "woken while its waker lives");
    return 0;
}

static void *waker(void *word)
{
    EXPECT(!os_futex_wake_at_end(word, GO), "the word has another value");
    atomic_store(&shared->word, GO);
    EXPECT(os_futex_wake_at_end(word, GO));
    EXPECT_EQ(atomic_load(&shared->word), OS_FUTEX_AT_END | (uint32_t)os_gettid());
    EXPECT(!os_futex_wake_at_end(word, atomic_load(&shared->word)), "one at a time");
    EXPECT(sleeps_in(atomic_load(&waiter_tid), SYS_futex));
    atomic_store(&shared->ending, 1);
    return 0;
}

static void by_a_thread(void)
{
    pthread_t w, k;
    atomic_store(&shared->word, ASLEEP);
    atomic_store(&shared->ending, 0);
    atomic_store(&waiter_tid, 0);
    pthread_create(&w, 0, waiter, 0);
    while (!atomic_load(&waiter_tid)) usleep(1000);
    await_sleep(atomic_load(&waiter_tid));
    pthread_create(&k, 0, waker, &shared->word);
    pthread_join(k, 0);
    pthread_join(w, 0);
    EXPECT(atomic_load(&shared->word) & OS_FUTEX_AT_END);
}

/* Killed, it wakes as well, and another process's thread. */
static void by_a_process(void)
{
    pthread_t w;
    int status;
    atomic_store(&shared->word, ASLEEP);
    atomic_store(&shared->ending, 0);
    atomic_store(&waiter_tid, 0);
    pthread_create(&w, 0, waiter, 0);
    while (!atomic_load(&waiter_tid)) usleep(1000);
    await_sleep(atomic_load(&waiter_tid));
    pid_t pid = fork();
    if (pid == 0) {
        atomic_store(&shared->word, GO);
        if (!os_futex_wake_at_end(&shared->word, GO)) _exit(1);
        atomic_store(&shared->ending, 1);
        kill(os_getpid(), SIGKILL);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
    pthread_join(w, 0);
}

int main(void)
{
    check_begin(30);
    shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return SKIP;
    by_a_thread();
    by_a_process();
    return check_end();
}
