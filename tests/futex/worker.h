/* tests/futex/worker.h - threads and processes that make one call when told.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The differential futex test prints a log of what every futex call returned.  The log must depend on
 * the futex semantics alone, never on timing, so that a bare run and a run under usf can be compared
 * line by line.  For that the coordinator (the main thread) tells workers to make a call and then
 * waits until the worker is either done or provably queued: FUTEX_REQUEUE of a word onto itself with
 * nothing to wake returns the number of waiters and changes nothing.
 *
 * Everything a worker shares with the coordinator lies in a MAP_SHARED area, since workers of some
 * scenarios are processes.
 */
#ifndef TEST_FUTEX_WORKER_H
#define TEST_FUTEX_WORKER_H

#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#define MAX_WORKERS 8
#define LONG_TIMEOUT 3600 /* s: never reached */

/* What a worker is told to do: a system call, or a function of the scenario's own. */
struct order {
    long nr, a[6];
    long (*fn)(void *);
    void *arg;
    struct timespec ts; /* storage for timeouts; a[3] may point here */
};

struct worker {
    int id;
    bool process;
    pthread_t thread;
    pid_t pid, tid;
    int pipe[2]; /* orders' doorbell: one byte each, EOF ends the worker */
    struct order order;
    _Atomic int done;     /* set by the worker after its call, cleared by the coordinator */
    _Atomic int handled;  /* signals handled */
    long result;          /* -errno on failure */
    int64_t took;         /* ns */
    int64_t ended[2];     /* when the call had returned, ns: CLOCK_REALTIME, CLOCK_MONOTONIC */
    bool busy;            /* coordinator's own note */
};

/* Shared by the coordinator and all workers; zeroed by workers_start. */
struct shared {
    struct worker w[MAX_WORKERS];
    _Alignas(64) uint32_t word[16];
};
extern struct shared *sh;

/* -errno instead of errno, through libc's syscall(): a site that the gate patches. */
long sys(long nr, long a, long b, long c, long d, long e, long f);
#define SYS(...) SYS_X(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define SYS_X(nr, a, b, c, d, e, f, ...) \
    sys(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

void workers_start(int n, bool processes);
void workers_stop(void);
/* Have worker w carry out an order.  Returns at once. */
void tell(int w, const struct order *o);
void tell_call(int w, long nr, long a, long b, long c, long d, long e, long f);
void tell_fn(int w, long (*fn)(void *), void *arg);
#define PATIENCE_NS 20000000000LL       /* what takes longer hangs */
int64_t now_ns(clockid_t clock);
/* Wait until worker w is done; logs and ends the test when it takes longer than that. */
long await_done(int w);
/* Number of waiters on a word, by the probe above; flags: 0 or FUTEX_PRIVATE_FLAG. */
long waiters(uint32_t *word, int flags);
/* Wait until w is done (false) or the word has `n` waiters (true). */
bool await_queued(int w, uint32_t *word, int flags, long n);
/* Wait until the kernel says that worker w sleeps, twice in a row, and give it time to get there:
 * for waits that the probe cannot see (PI, waitv). */
void await_asleep(int w);
void nap_us(long us);
struct timespec in_ns(clockid_t clock, int64_t ns); /* now + ns */

/* Log lines: numbered, on stdout; the harness compares them. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *show(long result); /* "-EAGAIN" or "3"; static buffers, used in turn */
_Noreturn void give_up(const char *why);

/* Scenarios (one file each). */
void scenario_errors(uint64_t seed);
void scenario_random(uint64_t seed);
void scenario_random_shared(uint64_t seed);
void scenario_signals(uint64_t seed);
void scenario_timeouts(uint64_t seed);
void scenario_shared(uint64_t seed);
void scenario_pi(uint64_t seed);
void scenario_robust(uint64_t seed);
void scenario_waitv(uint64_t seed);
void scenario_futex2(uint64_t seed);
void scenario_futex2_apart(uint64_t seed);

#endif
