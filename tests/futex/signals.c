/* tests/futex/signals.c - signals that meet a waiter.  SPDX-License-Identifier: Apache-2.0
 *
 * The kernel restarts a wait without timeout after a handler with SA_RESTART, and returns EINTR from
 * one with a timeout whatever the flags.  A restarted wait looks at the word again and queues behind
 * the others.  Ignored and blocked signals and stops leave a waiter where it is.
 */
#include "../asleep.h"
#include "worker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define P FUTEX_PRIVATE_FLAG

static uint32_t word, other;
static __thread struct worker *self;
static __thread sigjmp_buf jump;

static void count(void)
{
    if (self) self->handled++;
}
static void on_plain(int s) { count(); }
static void on_wake(int s)
{
    int e = errno;
    syscall(SYS_futex, &word, FUTEX_WAKE | P, 1, 0, 0, 0);
    count();
    errno = e;
}
static void on_change(int s)
{
    word++;
    count();
}
static void on_jump(int s)
{
    count();
    siglongjmp(jump, 1);
}
/* Waits on another word inside the handler. */
static void on_nested(int s)
{
    int e = errno;
    count();
    syscall(SYS_futex, &other, FUTEX_WAIT | P, 0, 0, 0, 0);
    errno = e;
}

static void handler(int sig, void (*fn)(int), int flags)
{
    struct sigaction sa = { .sa_handler = fn, .sa_flags = flags };
    sigemptyset(&sa.sa_mask);
    if (sigaction(sig, &sa, NULL)) give_up("sigaction");
}

struct wait_args { int w, op; uint32_t val, mask; struct timespec *timeout; bool may_jump; };
static struct wait_args args[MAX_WORKERS];

static long do_wait(void *arg)
{
    struct wait_args *a = arg;
    self = &sh->w[a->w];
    if (a->may_jump && sigsetjmp(jump, 1)) return 1000;
    return SYS(SYS_futex, &word, a->op, a->val, a->timeout, 0, a->mask);
}

static struct timespec far_rel = { LONG_TIMEOUT, 0 };
static struct timespec far_abs;

static void start_wait(int w, int op, struct timespec *timeout, bool may_jump)
{
    long before = waiters(&word, P);
    args[w] = (struct wait_args){ w, op, word, 0xffffffff, timeout, may_jump };
    sh->w[w].handled = 0;
    tell_fn(w, do_wait, &args[w]);
    if (!await_queued(w, &word, P, before + 1)) say("w%d returned at once: %s", w, show(sh->w[w].result));
}

static void hit(int w, int sig)
{
    int before = sh->w[w].handled;
    SYS(SYS_tgkill, getpid(), sh->w[w].tid, sig);
    for (int i = 0; sh->w[w].handled == before; i++) {
        if (i > 200000) give_up("a signal is not handled");
        nap_us(100);
    }
}

/* Hit a waiting worker and say whether it still waits. */
static void hit_and_tell(const char *what, int op, struct timespec *timeout, int flags, void (*fn)(int))
{
    handler(SIGUSR1, fn, flags);
    start_wait(0, op, timeout, fn == on_jump);
    hit(0, SIGUSR1);
    if (await_queued(0, &word, P, 1)) {
        say("%s: waits on", what);
        say("  wake: %s", show(SYS(SYS_futex, &word, FUTEX_WAKE | P, 1)));
    }
    say("%s: %s", what, show(await_done(0)));
    say("  waiters left: %ld", waiters(&word, P));
}

static void restarts(void)
{
    static const struct { const char *name; void (*fn)(int); } fns[] = {
        { "plain handler", on_plain }, { "waking handler", on_wake }, { "changing handler", on_change },
        { "jumping handler", on_jump },
    };
    char what[96];
    for (unsigned f = 0; f < 4; f++)
        for (int restart = 0; restart < 2; restart++)
            for (int kind = 0; kind < 4; kind++) {
                static const char *const kinds[] = { "wait", "wait with timeout", "wait_bitset",
                                                     "wait_bitset with timeout" };
                snprintf(what, sizeof what, "%s, %s, %s", kinds[kind], fns[f].name, restart ? "SA_RESTART" : "no flags");
                hit_and_tell(what, (kind < 2 ? FUTEX_WAIT : FUTEX_WAIT_BITSET) | P,
                             kind == 1 ? &far_rel : kind == 3 ? &far_abs : NULL, restart ? SA_RESTART : 0, fns[f].fn);
            }
}

/* A restarted waiter queues at the end: the order of wake-ups tells. */
static void order_after_restart(void)
{
    handler(SIGUSR1, on_plain, SA_RESTART);
    for (int i = 0; i < 3; i++) start_wait(i, FUTEX_WAIT | P, NULL, false);
    hit(0, SIGUSR1);
    if (!await_queued(0, &word, P, 3)) say("w0 returned: %s", show(sh->w[0].result));
    for (int i = 0; i < 3; i++) {
        say("wake one of three: %s", show(SYS(SYS_futex, &word, FUTEX_WAKE | P, 1)));
        int who = -1;
        for (int n = 0; who < 0 && n < 200000; n++, nap_us(100))
            for (int w = 0; w < 3; w++)
                if (sh->w[w].busy && sh->w[w].done) who = w;
        if (who < 0) give_up("nobody woke");
        sh->w[who].busy = false;
        say("  w%d: %s", who, show(sh->w[who].result));
    }
}

/* A signal after a requeue: the restarted wait goes back to its first word. */
static void restart_after_requeue(void)
{
    handler(SIGUSR1, on_plain, SA_RESTART);
    start_wait(0, FUTEX_WAIT | P, NULL, false);
    say("requeue: %s", show(SYS(SYS_futex, &word, FUTEX_REQUEUE | P, 0, 1, &other, 0)));
    say("  first %ld second %ld", waiters(&word, P), waiters(&other, P));
    hit(0, SIGUSR1);
    bool first = await_queued(0, &word, P, 1);
    say("  after the signal: first %ld second %ld", waiters(&word, P), waiters(&other, P));
    if (first) SYS(SYS_futex, &word, FUTEX_WAKE | P, 1);
    say("  result %s", show(await_done(0)));
}

/* Signals that come when a wait is just beginning, while others want the core: it ends, or has not begun and waits. */
#define SIGNALS 20000
static _Atomic uint32_t rounds;
static _Atomic bool over;

static long wait_often(void *arg)
{
    self = arg;
    for (long r = -EINTR; r == -EINTR; rounds++) r = SYS(SYS_futex, &word, FUTEX_WAIT | P, word, NULL);
    return 0;
}

static long keep_busy(void *arg)
{
    while (!over) sched_yield();
    return 0;
}

static void just_begun(uint64_t seed)
{
    handler(SIGUSR1, on_plain, 0);
    rounds = 0;
    over = 0;
    for (int w = 1; w < 3; w++) tell_fn(w, keep_busy, NULL);
    tell_fn(0, wait_often, &sh->w[0]);
    for (int i = 0; i < SIGNALS; i++) {
        uint32_t before = rounds;
        int handled = sh->w[0].handled;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        for (volatile uint32_t spin = (uint32_t)(seed >> 54); spin; spin--) { }
        SYS(SYS_tgkill, getpid(), sh->w[0].tid, SIGUSR1);
        int64_t end = now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
        while (sh->w[0].handled == handled || (rounds == before && waiters(&word, P) == 0))
            if (now_ns(CLOCK_MONOTONIC) > end) give_up("a wait that a signal has met neither ends nor waits");
    }
    over = 1;
    await_queued(0, &word, P, 1);
    say("interrupted again and again; wake: %s", show(SYS(SYS_futex, &word, FUTEX_WAKE | P, 1)));
    await_done(0);
    for (int w = 1; w < 3; w++) await_done(w);
}

static void nested_wait(void)
{
    handler(SIGUSR1, on_nested, SA_RESTART);
    start_wait(0, FUTEX_WAIT | P, NULL, false);
    hit(0, SIGUSR1);
    await_queued(0, &other, P, 1);
    say("waiter in handler: first %ld second %ld", waiters(&word, P), waiters(&other, P));
    say("wake first: %s", show(SYS(SYS_futex, &word, FUTEX_WAKE | P, 1)));
    say("wake second: %s", show(SYS(SYS_futex, &other, FUTEX_WAKE | P, 1)));
    if (await_queued(0, &word, P, 1)) SYS(SYS_futex, &word, FUTEX_WAKE | P, 1);
    say("nested: %s", show(await_done(0)));
}

static void unnoticed(void)
{
    handler(SIGUSR2, SIG_IGN, 0);
    start_wait(0, FUTEX_WAIT | P, &far_rel, false);
    SYS(SYS_tgkill, getpid(), sh->w[0].tid, SIGUSR2);
    SYS(SYS_tgkill, getpid(), sh->w[0].tid, SIGCONT);
    SYS(SYS_tgkill, getpid(), sh->w[0].tid, SIGCHLD);
    await_asleep(0);
    say("ignored signals: %s", sh->w[0].done ? show(sh->w[0].result) : "waits on");
    say("wake: %s", show(SYS(SYS_futex, &word, FUTEX_WAKE | P, 1)));
    say("result: %s", show(await_done(0)));
}

/* The whole process is stopped and continued by a child; with a timeout the wait goes on too. */
static void stopped(struct timespec *timeout, int op, const char *what)
{
    start_wait(0, op, timeout, false);
    pid_t me = getpid(), child = fork();
    if (child == 0) {
        kill(me, SIGSTOP);
        while (state_of(me) != 'T' || state_of(sh->w[0].tid) != 'T') nap_us(1000);
        kill(me, SIGCONT);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    await_asleep(0);
    say("%s, stopped and continued: %s", what, sh->w[0].done ? show(sh->w[0].result) : "waits on");
    if (!sh->w[0].done) {
        await_queued(0, &word, P, 1);
        say("wake: %s", show(SYS(SYS_futex, &word, FUTEX_WAKE | P, 1)));
    }
    say("result: %s", show(await_done(0)));
}

void scenario_signals(uint64_t seed)
{
    far_abs = in_ns(CLOCK_MONOTONIC, LONG_TIMEOUT * 1000000000LL);
    workers_start(3, false);
    restarts();
    order_after_restart();
    restart_after_requeue();
    nested_wait();
    just_begun(seed);
    unnoticed();
    stopped(NULL, FUTEX_WAIT | P, "wait");
    stopped(&far_rel, FUTEX_WAIT | P, "wait with timeout");
    stopped(&far_abs, FUTEX_WAIT_BITSET | P, "wait_bitset with timeout");
    workers_stop();
}
