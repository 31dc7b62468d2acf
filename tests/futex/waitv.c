/* tests/futex/waitv.c - futex_waitv and the newer futex calls.  SPDX-License-Identifier: Apache-2.0
 *
 * They share the kernel's queues with the old call: a word waited for by one can be woken by another.
 */
#include "worker.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define NR_FUTEX_WAKE    454
#define NR_FUTEX_WAIT    455
#define NR_FUTEX_REQUEUE 456
#define U32_SIZE         2 /* FUTEX2_SIZE_U32 */
#define PRIV             128

/* struct futex_waitv of <linux/futex.h>, which older headers lack. */
struct waitv { uint64_t val, uaddr; uint32_t flags, reserved; };

static uint32_t word[4];

static struct waitv one(int i, uint32_t val, int priv)
{
    return (struct waitv){ val, (uintptr_t)&word[i], U32_SIZE | (priv ? PRIV : 0), 0 };
}

static void need(long nr)
{
    if (SYS(nr, 0, 0, 0xffffffff, 0, 0, 0) != -ENOSYS) return;
    fprintf(stderr, "this kernel does not have the call\n");
    exit(77);
}

static void waitv_at_once(void)
{
    struct waitv v[3] = { one(0, 0, 1), one(1, 0, 1), one(2, 1, 1) };
    struct timespec past = { 1, 0 }, bad = { 0, 2000000000 };
    say("third value differs: %s", show(SYS(SYS_futex_waitv, v, 3, 0, 0, CLOCK_MONOTONIC)));
    v[2].val = 0;
    say("past: %s", show(SYS(SYS_futex_waitv, v, 3, 0, &past, CLOCK_MONOTONIC)));
    say("past, realtime: %s", show(SYS(SYS_futex_waitv, v, 3, 0, &past, CLOCK_REALTIME)));
    say("bad time: %s", show(SYS(SYS_futex_waitv, v, 3, 0, &bad, CLOCK_MONOTONIC)));
    say("bad clock: %s", show(SYS(SYS_futex_waitv, v, 3, 0, &past, CLOCK_PROCESS_CPUTIME_ID)));
    say("flags: %s", show(SYS(SYS_futex_waitv, v, 3, 1, &past, CLOCK_MONOTONIC)));
    say("none: %s", show(SYS(SYS_futex_waitv, v, 0, 0, &past, CLOCK_MONOTONIC)));
    say("too many: %s", show(SYS(SYS_futex_waitv, v, 129, 0, &past, CLOCK_MONOTONIC)));
    say("null: %s", show(SYS(SYS_futex_waitv, 0, 3, 0, &past, CLOCK_MONOTONIC)));
    v[1].reserved = 1;
    say("reserved field: %s", show(SYS(SYS_futex_waitv, v, 3, 0, &past, CLOCK_MONOTONIC)));
    v[1] = one(1, 0, 1);
    v[1].uaddr++;
    say("misaligned: %s", show(SYS(SYS_futex_waitv, v, 3, 0, &past, CLOCK_MONOTONIC)));
    v[1].uaddr = 0;
    say("null word: %s", show(SYS(SYS_futex_waitv, v, 3, 0, &past, CLOCK_MONOTONIC)));
}

static struct waitv vec[MAX_WORKERS][3];
static void start_waitv(int w, int priv)
{
    for (int i = 0; i < 3; i++) vec[w][i] = one(i, word[i], priv);
    tell_call(w, SYS_futex_waitv, (long)vec[w], 3, 0, 0, CLOCK_MONOTONIC, 0);
    await_asleep(w);
}

static int nr_done(void) { return sh->w[0].done + sh->w[1].done + sh->w[2].done; }

static void waitv_woken(int priv)
{
    int flag = priv ? FUTEX_PRIVATE_FLAG : 0;
    for (int i = 2; i >= 0; i--) {
        start_waitv(0, priv);
        say("wake word %d: %s", i, show(SYS(SYS_futex, &word[i], FUTEX_WAKE | flag, 5)));
        say("  index %s", show(await_done(0)));
    }
    start_waitv(0, priv);
    start_waitv(1, priv);
    /* A plain waiter behind two vectors. */
    tell_call(2, SYS_futex, (long)&word[1], FUTEX_WAIT | flag, word[1], 0, 0, 0);
    await_asleep(2);
    say("wake one of three kinds: %s", show(SYS(SYS_futex, &word[1], FUTEX_WAKE | flag, 1)));
    for (int i = 0; i < 100000 && !nr_done(); i++) nap_us(100);     /* it may have to wait for a CPU */
    /* which of them is woken is nobody's promise (futex(2)): a kernel's waiter and one of user space queue apart */
    say("  done: %d", nr_done());       /* that no other is, is seen from the number of those that still wait */
    say("wake the rest: %s", show(SYS(SYS_futex, &word[1], FUTEX_WAKE | flag, 9)));
    for (int i = 0; i < 3; i++) say("  w%d: %s", i, show(await_done(i)));
    start_waitv(0, priv);
    say("wake by wake_op: %s", show(SYS(SYS_futex, &word[0], FUTEX_WAKE_OP | flag, 1, 1, &word[3], 0)));
    say("  index %s", show(await_done(0)));
    start_waitv(0, priv);
    say("requeue of a vector's word: %s", show(SYS(SYS_futex, &word[2], FUTEX_REQUEUE | flag, 0, 9, &word[3], 0)));
    long woken = SYS(SYS_futex, &word[3], FUTEX_WAKE | flag, 9);
    say("wake there: %s", show(woken));
    if (woken <= 0) say("wake: %s", show(SYS(SYS_futex, &word[0], FUTEX_WAKE | flag, 9)));
    say("  index %s", show(await_done(0)));
    start_waitv(0, priv);
    say("wake one, requeue all others: %s", show(woken = SYS(SYS_futex, &word[1], FUTEX_REQUEUE | flag, 1, INT_MAX, &word[3], 0)));
    if (woken <= 0) say("wake: %s", show(SYS(SYS_futex, &word[1], FUTEX_WAKE | flag, 9)));
    say("  index %s", show(await_done(0)));
}

void scenario_waitv(uint64_t seed)
{
    (void)seed;
    need(SYS_futex_waitv);
    workers_start(3, false);
    waitv_at_once();
    waitv_woken(0);
    waitv_woken(1);
    workers_stop();
}

/* By a thread that usf leaves to the kernel, of threads that it does not. */
void scenario_futex2_apart(uint64_t seed)
{
    const int two = U32_SIZE | PRIV;
    struct waitv from_to[2] = { one(0, 0, 1), one(1, 0, 1) };
    struct sched_param high = { .sched_priority = 1 }, normal = { .sched_priority = 0 };
    (void)seed;
    need(NR_FUTEX_WAIT);
    workers_start(2, false);
    if (SYS(SYS_sched_setscheduler, 0, SCHED_RR, &high)) {
        fprintf(stderr, "no right to real-time threads\n");
        exit(77);
    }
    for (int n = -1; n < 2; n++) {
        tell_call(0, NR_FUTEX_WAIT, (long)word, 0, ~0u, two, 0, CLOCK_MONOTONIC);
        await_asleep(0);
        say("new wake of %d: %s", n, show(SYS(NR_FUTEX_WAKE, word, ~0u, n, two | 1ul << 32)));
        if (n == 0) SYS(SYS_futex, word, FUTEX_WAKE | PRIV, 1);
        say("  %s", show(await_done(0)));
    }
    tell_call(0, NR_FUTEX_WAIT, (long)word, 0, ~0u, two, 0, CLOCK_MONOTONIC);
    tell_call(1, SYS_futex, (long)word, FUTEX_WAIT | PRIV, 0, 0, 0, 0);
    await_asleep(0);
    await_asleep(1);
    say("new requeue: %s", show(SYS(NR_FUTEX_REQUEUE, from_to, 0, 0, 9)));
    say("new wake on the second word: %s", show(SYS(NR_FUTEX_WAKE, word + 1, ~0u, 9, two)));
    say("  %s %s", show(await_done(0)), show(await_done(1)));
    say("ordinary: %s", show(SYS(SYS_sched_setscheduler, 0, SCHED_OTHER, &normal)));
    workers_stop();
}

static _Atomic int handled;
static void on_signal(int s) { (void)s; handled++; }

/* Its time is absolute: it goes on after a handler with SA_RESTART also where the old call does not. */
static void futex2_restarts(int two)
{
    struct timespec far = in_ns(CLOCK_MONOTONIC, LONG_TIMEOUT * 1000000000ll);
    for (int restart = 0; restart < 2; restart++)
        for (int timed = 0; timed < 2; timed++) {
            struct sigaction sa = { .sa_handler = on_signal, .sa_flags = restart ? SA_RESTART : 0 };
            sigaction(SIGUSR1, &sa, NULL);
            handled = 0;
            tell_call(0, NR_FUTEX_WAIT, (long)word, 0, ~0u, two, timed ? (long)&far : 0, CLOCK_MONOTONIC);
            await_asleep(0);
            SYS(SYS_tgkill, getpid(), sh->w[0].tid, SIGUSR1);
            while (!handled) nap_us(100);
            bool goes_on = await_queued(0, word, two & PRIV ? FUTEX_PRIVATE_FLAG : 0, 1);
            say("%s, %s: %s", restart ? "SA_RESTART" : "no flags", timed ? "with timeout" : "without", goes_on ? "goes on" : "ended");
            SYS(NR_FUTEX_WAKE, word, ~0u, 1, two);
            say("  %s", show(await_done(0)));
        }
}

void scenario_futex2(uint64_t seed)
{
    (void)seed;
    need(NR_FUTEX_WAIT);
    workers_start(3, false);
    for (int priv = 0; priv < 2; priv++) {
        int flag = priv ? FUTEX_PRIVATE_FLAG : 0, two = U32_SIZE | (priv ? PRIV : 0);
        say("%s", priv ? "private" : "shared");
        say("other value: %s", show(SYS(NR_FUTEX_WAIT, word, 1, ~0u, two, 0, CLOCK_MONOTONIC)));
        tell_call(0, NR_FUTEX_WAIT, (long)word, 0, 3, two, 0, CLOCK_MONOTONIC);
        await_asleep(0);
        say("wrong mask: %s", show(SYS(NR_FUTEX_WAKE, word, 4, 1, two)));
        say("old wake of a new wait: %s", show(SYS(SYS_futex, word, FUTEX_WAKE | flag, 1)));
        say("  %s", show(await_done(0)));
        tell_call(0, SYS_futex, (long)word, FUTEX_WAIT_BITSET | flag, 0, 0, 0, 3);
        await_asleep(0);
        say("wrong mask: %s", show(SYS(NR_FUTEX_WAKE, word, 4, 1, two)));
        long woken = SYS(NR_FUTEX_WAKE, word, 2, 1, two);
        say("new wake of an old wait: %s", show(woken));
        if (woken <= 0) say("  still asleep; old wake: %s", show(SYS(SYS_futex, word, FUTEX_WAKE | flag, 1)));
        say("  %s", show(await_done(0)));
        tell_call(0, SYS_futex, (long)word, FUTEX_WAIT | flag, 0, 0, 0, 0);
        tell_call(1, NR_FUTEX_WAIT, (long)word, 0, ~0u, two, 0, CLOCK_MONOTONIC);
        await_asleep(0);
        await_asleep(1);
        struct waitv from_to[2] = { one(0, 0, priv), one(1, 0, priv) };
        say("new requeue: %s", show(SYS(NR_FUTEX_REQUEUE, from_to, 0, 0, 9)));
        say("old wake on the second word: %s", show(SYS(SYS_futex, word + 1, FUTEX_WAKE | flag, 9)));
        SYS(SYS_futex, word, FUTEX_WAKE | flag, 9);
        SYS(NR_FUTEX_WAKE, word, ~0u, 9, two);
        say("  %s %s", show(await_done(0)), show(await_done(1)));
        futex2_restarts(two);
    }
    workers_stop();
}
