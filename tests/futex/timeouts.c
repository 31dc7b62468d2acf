/* tests/futex/timeouts.c - waits that end by time.  SPDX-License-Identifier: Apache-2.0
 *
 * Never early, on the right clock, in the right order, and the same after a requeue.
 */
#include "worker.h"

#include <stdio.h>
#include <string.h>

#define P  FUTEX_PRIVATE_FLAG
#define MS 1000000LL

static uint32_t words[4];

static void say_when(const char *what, long r, int64_t later)
{
    say("%s: %s, %s, %s", what, show(r), later >= 0 ? "not early" : "EARLY", later < 5000 * MS ? "not late" : "LATE");
}

static void say_took(const char *what, int w, int64_t at_least)
{
    long r = await_done(w);
    say_when(what, r, sh->w[w].took - at_least);
}

/* The same for a wait until a point of time on that clock. */
static void say_until(const char *what, int w, clockid_t clock)
{
    long r = await_done(w);
    const struct timespec *until = &sh->w[w].order.ts;
    say_when(what, r, sh->w[w].ended[clock] - (until->tv_sec * 1000 * MS + until->tv_nsec));
}

static void wait_for(int w, uint32_t *word, int op, int64_t ns, clockid_t clock)
{
    struct order o = { .nr = SYS_futex, .a = { (long)word, op, *word, (long)&sh->w[w].order.ts, 0, -1 } };
    bool absolute = (op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    o.ts = absolute ? in_ns(clock, ns) : (struct timespec){ ns / 1000000000LL, ns % 1000000000LL };
    tell(w, &o);
}

static void single(void)
{
    static const int64_t times[] = { 1, 1000, 100000, 3 * MS, 30 * MS };
    char what[80];
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++)
        for (int shared = 0; shared < 2; shared++) {
            int flag = shared ? 0 : P;
            snprintf(what, sizeof what, "%lld ns%s", (long long)times[i], shared ? " shared" : "");
            wait_for(0, words, FUTEX_WAIT | flag, times[i], CLOCK_MONOTONIC);
            say_took(what, 0, times[i]);
            wait_for(0, words, FUTEX_WAIT_BITSET | flag, times[i] + 10 * MS, CLOCK_MONOTONIC);
            say_until("  until, monotonic", 0, CLOCK_MONOTONIC);
            wait_for(0, words, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME | flag, times[i] + 10 * MS, CLOCK_REALTIME);
            say_until("  until, realtime", 0, CLOCK_REALTIME);
        }
    /* A point of one clock read on the other: realtime is decades ahead of monotonic. */
    wait_for(0, words, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME | P, 3600000 * MS, CLOCK_MONOTONIC);
    say_took("monotonic point on the realtime clock", 0, 0);
    wait_for(0, words, FUTEX_WAIT_BITSET | P, 0, CLOCK_REALTIME);
    if (await_queued(0, words, P, 1))
        say("realtime point on the monotonic clock: waits; wake %s", show(SYS(SYS_futex, words, FUTEX_WAKE | P, 1)));
    await_done(0);
}

static void together(void)
{
    int64_t ns[5] = { 250 * MS, 50 * MS, 200 * MS, 100 * MS, 150 * MS };
    int64_t last = 0;
    for (int i = 0; i < 5; i++) wait_for(i, words, FUTEX_WAIT | P, ns[i], 0);
    for (int i = 0; i < 5; i++) say_took("one of five", i, ns[i]);
    for (int i = 0; i < 5; i++) last = ns[i] > last ? ns[i] : last;
    say("left waiting: %ld", waiters(words, P));
}

/* The time goes on counting on the other word, and the waiter leaves that word's queue. */
static void after_requeue(void)
{
    wait_for(0, words, FUTEX_WAIT | P, 150 * MS, 0);
    wait_for(1, words + 1, FUTEX_WAIT | P, LONG_TIMEOUT * 1000 * MS, 0);
    await_queued(0, words, P, 1);
    await_queued(1, words + 1, P, 1);
    say("requeue: %s", show(SYS(SYS_futex, words, FUTEX_REQUEUE | P, 0, 1, words + 1, 0)));
    say_took("requeued waiter", 0, 150 * MS);
    say("left: %ld and %ld", waiters(words, P), waiters(words + 1, P));
    say("wake: %s", show(SYS(SYS_futex, words + 1, FUTEX_WAKE | P, 5)));
    say("other waiter: %s", show(await_done(1)));
}

/* Wake-ups that race with the end of the wait: each waiter ends exactly one way, and the wakes
 * counted are as many as the waits that were woken. */
static void race(void)
{
    long woken = 0, zero = 0, timed_out = 0, strange = 0;
    for (int round = 0; round < 200; round++) {
        for (int w = 0; w < 2; w++) wait_for(w, words, FUTEX_WAIT | P, 300000 + round * 500, 0);
        nap_us(200 + round % 50);
        long r = SYS(SYS_futex, words, FUTEX_WAKE | P, 1);
        woken += r;
        for (int w = 0; w < 2; w++) {
            r = await_done(w);
            zero += r == 0;
            timed_out += r == -110;
            strange += r != 0 && r != -110;
        }
    }
    say("race: %s, total %s, strange %ld", woken == zero ? "wakes match" : "WAKES DO NOT MATCH",
        zero + timed_out == 400 ? "right" : "WRONG", strange);
}

void scenario_timeouts(uint64_t seed)
{
    (void)seed;
    workers_start(5, false);
    single();
    together();
    after_requeue();
    race();
    workers_stop();
}
