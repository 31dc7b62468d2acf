/* tests/futex/pi.c - priority-inheriting and robust futexes, dying owners.
 * SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define P FUTEX_PRIVATE_FLAG

static uint32_t word;

static const char *owner_of(uint32_t v)
{
    static char text[2][48];
    static int turn;
    char *t = text[turn++ & 1];
    uint32_t tid = v & FUTEX_TID_MASK;
    int who = -1;
    for (int i = 0; i < MAX_WORKERS; i++)
        if (tid && (uint32_t)sh->w[i].tid == tid) who = i;
    snprintf(t, sizeof text[0], "%s%s%s%d", v & FUTEX_WAITERS ? "waiters " : "", v & FUTEX_OWNER_DIED ? "died " : "",
             !tid ? "nobody " : (uint32_t)gettid() == tid ? "main " : "w", tid && who >= 0 ? who : 0);
    return t;
}

/* The result must be had before the word is looked at, which an argument list does not promise. */
static void say_owner(const char *what, long r) { say("%s: %s, %s", what, show(r), owner_of(word)); }

static void pi_at_once(int flag)
{
    say("unlock of a free word: %s", show(SYS(SYS_futex, &word, FUTEX_UNLOCK_PI | flag)));
    say_owner("lock", SYS(SYS_futex, &word, FUTEX_LOCK_PI | flag, 0, 0));
    say("lock again: %s", show(SYS(SYS_futex, &word, FUTEX_LOCK_PI | flag, 0, 0)));
    say("trylock again: %s", show(SYS(SYS_futex, &word, FUTEX_TRYLOCK_PI | flag, 0, 0)));
    say_owner("unlock", SYS(SYS_futex, &word, FUTEX_UNLOCK_PI | flag));
    say_owner("trylock", SYS(SYS_futex, &word, FUTEX_TRYLOCK_PI | flag, 0, 0));
    say("unlock: %s", show(SYS(SYS_futex, &word, FUTEX_UNLOCK_PI | flag)));
    word = 0x3fffffff;
    say("owner does not exist: %s", show(SYS(SYS_futex, &word, FUTEX_LOCK_PI | flag, 0, 0)));
    say("wake of a pi word: %s", show(SYS(SYS_futex, &word, FUTEX_WAKE | flag, 1)));
    say("misaligned: %s", show(SYS(SYS_futex, (char *)&word + 1, FUTEX_LOCK_PI | flag, 0, 0)));
    word = 0;
}

static void pi_hand_over(int flag)
{
    struct timespec rel = in_ns(CLOCK_REALTIME, 30000000);
    tell_call(0, SYS_futex, (long)&word, FUTEX_LOCK_PI | flag, 0, 0, 0, 0);
    say_owner("w0 locks", await_done(0));
    for (int i = 1; i < 4; i++) {
        tell_call(i, SYS_futex, (long)&word, FUTEX_LOCK_PI | flag, 0, 0, 0, 0);
        await_asleep(i);
        say("w%d waits, %s", i, owner_of(word));
    }
    say("main tries: %s", show(SYS(SYS_futex, &word, FUTEX_TRYLOCK_PI | flag)));
    say("main with a timeout: %s", show(SYS(SYS_futex, &word, FUTEX_LOCK_PI | flag, 0, &rel)));
    say("main unlocks what it does not own: %s", show(SYS(SYS_futex, &word, FUTEX_UNLOCK_PI | flag)));
    for (int i = 0; i < 4; i++) {
        tell_call(i, SYS_futex, (long)&word, FUTEX_UNLOCK_PI | flag, 0, 0, 0, 0);
        say("w%d unlocks: %s", i, show(await_done(i)));
        if (i == 3) break;
        for (int n = 0; n < 200000 && !sh->w[i + 1].done; n++) nap_us(100);
        say_owner("  next", await_done(i + 1));
    }
    say("left: %s", owner_of(word));
}

static uint32_t cond;
static long wait_requeue_pi(void *arg) { return SYS(SYS_futex, &cond, FUTEX_WAIT_REQUEUE_PI | P, cond, arg, &word); }
static void pi_requeue(void)
{
    struct timespec soon = in_ns(CLOCK_MONOTONIC, 20000000);
    tell_fn(0, wait_requeue_pi, &soon);
    say("wait_requeue_pi times out: %s", show(await_done(0)));
    for (int i = 0; i < 3; i++) {
        tell_fn(i, wait_requeue_pi, NULL);
        await_asleep(i);
    }
    say("plain wake of requeue_pi waiters: %s", show(SYS(SYS_futex, &cond, FUTEX_WAKE | P, 1)));
    say("cmp_requeue_pi, other value: %s", show(SYS(SYS_futex, &cond, FUTEX_CMP_REQUEUE_PI | P, 1, 9, &word, cond + 1)));
    say("cmp_requeue_pi: %s", show(SYS(SYS_futex, &cond, FUTEX_CMP_REQUEUE_PI | P, 1, 9, &word, cond)));
    for (int i = 0; i < 3; i++) {
        say("w%d: %s", i, show(await_done(i)));
        tell_call(i, SYS_futex, (long)&word, FUTEX_UNLOCK_PI | P, 0, 0, 0, 0);
        say("  unlocks: %s", show(await_done(i)));
    }
}

static pthread_mutex_t pi_mutex;
static int inside, total;
static long hammer(void *arg)
{
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&pi_mutex);
        if (__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) != 1) return -1;
        total++;
        __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&pi_mutex);
    }
    return 0;
}
static void pi_mutexes(void)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&pi_mutex, &a);
    for (int i = 0; i < 4; i++) tell_fn(i, hammer, NULL);
    long bad = 0;
    for (int i = 0; i < 4; i++) bad |= await_done(i);
    say("pthread PI mutex: %s, total %d", show(bad), total);
}

void scenario_pi(uint64_t seed)
{
    (void)seed;
    workers_start(4, false);
    pi_at_once(P);
    pi_at_once(0);
    pi_hand_over(P);
    pi_hand_over(0);
    pi_requeue();
    pi_mutexes();
    workers_stop();
}

/* ---- owners that die ------------------------------------------------------------------------- */

struct robust { pthread_mutex_t m; pthread_cond_t c; _Atomic int locked, may_die; };

static void robust_init(struct robust *r, int protocol, int pshared)
{
    pthread_mutexattr_t a;
    memset(r, 0, sizeof *r);
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutexattr_setpshared(&a, pshared);
    pthread_mutex_init(&r->m, &a);
}

static void *lock_and_die(void *arg)
{
    struct robust *r = arg;
    pthread_mutex_lock(&r->m);
    r->locked = 1;
    while (!r->may_die) nap_us(200);
    return NULL;
}
static long lock_robust(void *arg) { return -pthread_mutex_lock(&((struct robust *)arg)->m); }
static long unlock_robust(void *arg) { return -pthread_mutex_unlock(&((struct robust *)arg)->m); }
static long consistent(void *arg) { return -pthread_mutex_consistent(&((struct robust *)arg)->m); }
static long on_worker(int w, long (*fn)(void *), void *arg)
{
    tell_fn(w, fn, arg);
    return await_done(w);
}

static void dying_thread(struct robust *r, bool wait_first)
{
    pthread_t t;
    pthread_create(&t, NULL, lock_and_die, r);
    while (!r->locked) nap_us(200);
    if (wait_first) {
        tell_fn(0, lock_robust, r);
        await_asleep(0);
    }
    r->may_die = 1;
    pthread_join(t, NULL);
    say("  next owner: %s", show(wait_first ? await_done(0) : on_worker(0, lock_robust, r)));
    say("  made consistent: %s", show(on_worker(0, consistent, r)));
    tell_fn(1, lock_robust, r);
    await_asleep(1);
    say("  unlock: %s", show(on_worker(0, unlock_robust, r)));
    say("  waiter: %s", show(await_done(1)));
    say("  unlock: %s", show(on_worker(1, unlock_robust, r)));
}

static void dying_process(struct robust *r, bool killed)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&r->m);
        r->locked = 1;
        while (killed || !r->may_die) nap_us(200);
        _exit(0);
    }
    while (!r->locked) nap_us(200);
    tell_fn(0, lock_robust, r);
    await_asleep(0);
    if (killed) kill(child, SIGKILL);
    else r->may_die = 1;
    say("  next owner: %s", show(await_done(0)));
    waitpid(child, NULL, 0);
    say("  unlocked without making it consistent: %s", show(on_worker(0, unlock_robust, r)));
    say("  lock: %s", show(on_worker(0, lock_robust, r)));
}

void scenario_robust(uint64_t seed)
{
    (void)seed;
    struct robust *r = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    workers_start(2, false);
    for (int shared = 0; shared < 2; shared++)
        for (int pi = 0; pi < 2; pi++)
            for (int wait_first = 0; wait_first < 2; wait_first++) {
                robust_init(r, pi ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, shared);
                say("thread dies%s%s%s", shared ? ", shared" : "", pi ? ", PI" : "", wait_first ? ", waited for" : "");
                dying_thread(r, wait_first);
            }
    for (int pi = 0; pi < 2; pi++)
        for (int killed = 0; killed < 2; killed++) {
            robust_init(r, pi ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
            say("process %s%s", killed ? "is killed" : "exits", pi ? ", PI" : "");
            dying_process(r, killed);
        }
    workers_stop();
}
