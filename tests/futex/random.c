/* tests/futex/random.c - random operation sequences with waiters.  SPDX-License-Identifier: Apache-2.0
 *
 * The coordinator makes one step at a time and brings everything to rest before the next, so each
 * step's outcome follows from the seed and from futex semantics (waiters of one word are served in
 * order of arrival).  After each step the log has the result, which workers came back and with what,
 * and the number of waiters of every word.
 *
 * A word's value is changed only when no waiter would be left behind: usf may let a parked waiter
 * return when its word no longer has the expected value (spurious returns are allowed by futex).
 */
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NR_WORDS   4
#define NR_WORKERS 6
#define NR_STEPS   300

static uint64_t rng;
static uint32_t *words;
static bool processes;
static uint32_t private_words[NR_WORDS];

static uint32_t rnd(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng >> 32) % n;
}
static bool chance(unsigned percent) { return rnd(100) < percent; }
static int pick_flag(void) { return processes || chance(15) ? 0 : FUTEX_PRIVATE_FLAG; }
static int pick_count(void)
{
    static const int counts[] = { 1, 1, 1, 2, 3, 0, INT32_MAX, -1 };
    return counts[rnd(8)];
}
static uint32_t pick_mask(void)
{
    static const uint32_t masks[] = { 1, 2, 4, 3, 6, 0x80000000, 0xffffffff, 0 };
    return masks[rnd(8)];
}

/* All queues of a word: [0] shared, [1] private. */
static long queued(int word, int priv) { return waiters(&words[word], priv ? FUTEX_PRIVATE_FLAG : 0); }
static bool has_waiters(int word) { return queued(word, 0) > 0 || (!processes && queued(word, 1) > 0); }

static int idle_worker(void)
{
    int first = (int)rnd(NR_WORKERS);
    for (int i = 0; i < NR_WORKERS; i++)
        if (!sh->w[(first + i) % NR_WORKERS].busy) return (first + i) % NR_WORKERS;
    return -1;
}

/* `n` workers must come back now; name all that have, in order of their numbers. */
static void collect(long n)
{
    char line[256] = "";
    size_t len = 0;
    for (int patience = 0; patience < 200000; patience++) {
        long back = 0;
        for (int i = 0; i < NR_WORKERS; i++) back += sh->w[i].busy && sh->w[i].done;
        if (back >= n) break;
        nap_us(100);
    }
    long back = 0;
    for (int i = 0; i < NR_WORKERS; i++) {
        if (!sh->w[i].busy || !sh->w[i].done) continue;
        sh->w[i].busy = false;
        len += (size_t)snprintf(line + len, sizeof line - len, " w%d:%s", i, show(sh->w[i].result));
        back++;
    }
    if (back) say("  back:%s", line);
    if (back < n) {
        say("  %ld of %ld did not come back", n - back, n);
        give_up("a wake-up is lost");
    }
}

static void step_wait(void)
{
    int i = idle_worker();
    if (i < 0) return;
    int word = (int)rnd(NR_WORDS), flag = pick_flag();
    bool bitset = chance(50), realtime = bitset ? chance(40) : chance(4), wrong = chance(12);
    uint32_t mask = pick_mask(), value = words[word] + wrong;
    struct order o = { .nr = SYS_futex };
    int64_t t;
    switch (rnd(10)) {
    case 0: t = 3000000; break;                /* 3 ms */
    case 1: t = bitset ? -1000000 : 0; break;  /* expired */
    case 2: t = 1; break;
    case 3: case 4: case 5: t = LONG_TIMEOUT * 1000000000LL; break;
    case 6: t = INT64_MAX; break;              /* the largest */
    default: t = INT64_MIN; break;             /* none */
    }
    if (bitset) o.ts = in_ns(realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, t == INT64_MAX || t == INT64_MIN ? 0 : t);
    else o.ts = (struct timespec){ t / 1000000000LL, t % 1000000000LL };
    if (t == INT64_MAX) o.ts = (struct timespec){ INT64_MAX, 999999999 };
    if (chance(4)) o.ts.tv_nsec = chance(50) ? 1000000000 : -1;
    o.a[0] = (long)&words[word];
    o.a[1] = (bitset ? FUTEX_WAIT_BITSET : FUTEX_WAIT) | flag | (realtime ? FUTEX_CLOCK_REALTIME : 0);
    o.a[2] = (long)value;
    o.a[3] = t == INT64_MIN ? 0 : (long)&sh->w[i].order.ts;
    o.a[5] = mask;
    long before = queued(word, flag != 0);
    bool sure_to_end = t >= -1000000 && t <= 3000000;
    say("w%d %s word %d%s%s value %s mask %#x timeout %s", i, bitset ? "wait_bitset" : "wait", word,
        flag ? "" : " shared", realtime ? " realtime" : "", wrong ? "other" : "same", mask,
        t == INT64_MIN ? "none" : t == INT64_MAX ? "largest" : sure_to_end ? "short" : "long");
    tell(i, &o);
    if (sure_to_end) await_done(i), sh->w[i].busy = true;
    else await_queued(i, &words[word], flag, before + 1);
    collect(0);
}

static void step_wake(void)
{
    int word = (int)rnd(NR_WORDS), n = pick_count(), flag = pick_flag();
    bool bitset = chance(50);
    uint32_t mask = pick_mask();
    long r = SYS(SYS_futex, &words[word], (bitset ? FUTEX_WAKE_BITSET : FUTEX_WAKE) | flag, n, 0, 0, mask);
    say("%s word %d%s n %d mask %#x: %s", bitset ? "wake_bitset" : "wake", word, flag ? "" : " shared", n, mask,
        show(r));
    collect(r > 0 ? r : 0);
}

static void step_requeue(void)
{
    int from = (int)rnd(NR_WORDS), to = (int)rnd(NR_WORDS), flag = pick_flag();
    bool cmp = chance(60), wrong = chance(15);
    int nr_wake = chance(50) ? 0 : pick_count(), nr_move = pick_count();
    /* Onto a word that has waiters only from itself: where both words' queues share one of the kernel's hash
     * buckets, which a run cannot know, the moved keep their place among the others instead of following them. */
    if (has_waiters(to)) to = from;
    long r = SYS(SYS_futex, &words[from], (cmp ? FUTEX_CMP_REQUEUE : FUTEX_REQUEUE) | flag, nr_wake, nr_move,
                 &words[to], (long)(words[from] + wrong));
    say("%s %d -> %d%s wake %d move %d value %s: %s", cmp ? "cmp_requeue" : "requeue", from, to,
        flag ? "" : " shared", nr_wake, nr_move, wrong ? "other" : "same", show(r));
    collect(r <= 0 ? 0 : r < nr_wake ? r : nr_wake);
}

static void step_wake_op(void)
{
    int a = (int)rnd(NR_WORDS), b = (int)rnd(NR_WORDS), flag = pick_flag();
    int op = (int)rnd(5), arg = (int)rnd(8), cmp = (int)rnd(6), cmparg = (int)rnd(8);
    if (chance(25)) op |= FUTEX_OP_OPARG_SHIFT;
    if (has_waiters(b)) op = chance(50) ? FUTEX_OP_ADD : FUTEX_OP_OR, arg = 0;
    long r = SYS(SYS_futex, &words[a], FUTEX_WAKE_OP | flag, pick_count(), pick_count(), &words[b],
                 (uint32_t)op << 28 | (uint32_t)cmp << 24 | (uint32_t)arg << 12 | (uint32_t)cmparg);
    say("wake_op %d, %d%s op %d arg %d cmp %d %d: %s, word %#x", a, b, flag ? "" : " shared", op, arg, cmp, cmparg,
        show(r), words[b]);
    collect(r > 0 ? r : 0);
}

static void step_value(void)
{
    int word = (int)rnd(NR_WORDS);
    uint32_t value = rnd(8);
    if (has_waiters(word)) return;
    words[word] = value;
    say("word %d = %u", word, value);
}

static void rest(void)
{
    char line[256];
    size_t len = 0;
    for (int i = 0; i < NR_WORDS; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, " %ld+%ld", queued(i, 0), processes ? 0 : queued(i, 1));
    say("  waiters:%s", line);
    collect(0);
}

static void finish(void)
{
    for (int i = 0; i < NR_WORDS; i++)
        for (int flag = 0; flag < (processes ? 1 : 2); flag++) {
            long r = SYS(SYS_futex, &words[i], FUTEX_WAKE | (flag ? FUTEX_PRIVATE_FLAG : 0), INT32_MAX, 0, 0, 0);
            say("wake all of word %d%s: %s", i, flag ? "" : " shared", show(r));
            collect(r > 0 ? r : 0);
        }
    for (int i = 0; i < NR_WORKERS; i++)
        if (sh->w[i].busy) say("w%d is left behind", i);
}

static void run(uint64_t seed, bool with_processes)
{
    rng = seed * 0x9e3779b97f4a7c15u + 1;
    processes = with_processes;
    workers_start(NR_WORKERS, processes);
    words = processes ? sh->word : private_words;
    memset(words, 0, NR_WORDS * sizeof *words);
    for (int i = 0; i < NR_STEPS; i++) {
        uint32_t what = rnd(100);
        if (what < 45) step_wait();
        else if (what < 65) step_wake();
        else if (what < 80) step_requeue();
        else if (what < 92) step_wake_op();
        else step_value();
        rest();
    }
    finish();
    workers_stop();
}

void scenario_random(uint64_t seed) { run(seed, false); }
void scenario_random_shared(uint64_t seed) { run(seed, true); }
