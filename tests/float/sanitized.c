/* tests/float/sanitized.c CASE - right and wrong programs, for sanitizers.  SPDX-License-Identifier: Apache-2.0
 *
 * test_sanitizers.py builds its expectations on what each does bare.  The threads of a fault have floated before it, and the order of what
 * they do is fixed: by relaxed accesses where a sanitizer must not see any order. */
#include <stdlib.h>

#include "raw.h"
#include "subjects.h"

static void until_away(void) { while (floats() && !is_away()) mix(); }

static _Atomic int stage;
static bool is_stage(int n) { return atomic_load_explicit(&stage, memory_order_relaxed) == n; }
static void set_stage(int n) { atomic_store_explicit(&stage, n, memory_order_relaxed); }
/* Neither this nor a yield is an order of the program's. */
static void wait_for_stage(int n) { while (!is_stage(n)) sched_yield(); }

static void with_two(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t t[2];
    CHECK(!pthread_create(&t[0], 0, first, 0) && !pthread_create(&t[1], 0, second, 0));
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(t[i], 0));
}

/* ---- nothing wrong -------------------------------------------------------------------------------------- */
static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static __thread long own_sum;

__attribute__((noinline)) static long sum_in_frames(int depth)
{
    volatile char room[200];
    memset((char *)room, depth, sizeof room);
    if (depth % 4 == 0) mix();
    long r = depth ? sum_in_frames(depth - 1) : 0;
    return r + room[depth];
}

static void *adds(void *arg)
{
    for (int i = 0; i < ROUNDS / 10; i++) {
        long *box = malloc(sizeof *box);
        until_away();
        *box = sum_in_frames(12);
        own_sum += *box;
        pthread_mutex_lock(&sum_lock);
        sum += *box;
        sched_yield();
        pthread_mutex_unlock(&sum_lock);
        free(box);
    }
    CHECK_EQ(own_sum, ROUNDS / 10 * 78);
    return arg;
}
static void right(void)
{
    with_subjects(adds);
    printf("%ld\n", sum);
}

/* ---- a race, and locks in two orders ------------------------------------------------------------------- */
static long raced;
static void *writes_first(void *arg)
{
    until_away();
    raced = 1;
    set_stage(1);
    return arg;
}
static void *writes_then(void *arg)
{
    until_away();
    wait_for_stage(1);
    raced = 2;
    return arg;
}
static void race(void)
{
    with_two(writes_first, writes_then);
    printf("%ld\n", raced);
}

static pthread_mutex_t a_lock = PTHREAD_MUTEX_INITIALIZER, b_lock = PTHREAD_MUTEX_INITIALIZER;
static void lock_both(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
    until_away();
    pthread_mutex_lock(outer);
    mix();
    pthread_mutex_lock(inner);
    mix();
    pthread_mutex_unlock(inner);
    pthread_mutex_unlock(outer);
}
static void *locks_ab(void *arg)
{
    lock_both(&a_lock, &b_lock);
    set_stage(1);
    return arg;
}
static void *locks_ba(void *arg)
{
    wait_for_stage(1);
    lock_both(&b_lock, &a_lock);
    return arg;
}
static void order(void) { with_two(locks_ab, locks_ba); }

/* ---- memory ---------------------------------------------------------------------------------------------- */
static char *_Atomic handed;
static void *frees(void *arg)
{
    char *p = malloc(100);
    until_away();
    atomic_store_explicit(&handed, p, memory_order_relaxed);
    free(p);
    mix();
    set_stage(1);
    return arg;
}
static void *uses(void *arg)
{
    until_away();
    wait_for_stage(1);
    atomic_load_explicit(&handed, memory_order_relaxed)[10] = 1;
    return arg;
}
static void freed(void) { with_two(frees, uses); }

__attribute__((noinline)) static void write_at(char *p, long i) { p[i] = 1; }
static volatile long beyond = 40;
static void *overflows(void *arg)
{
    char room[40];
    memset(room, 0, sizeof room);
    until_away();
    write_at(room, beyond);
    return arg;
}
static void *waits_for_first(void *arg) { return mix(), arg; }
static void stack(void) { with_two(overflows, waits_for_first); }

/* ---- leaks: looked for at the end, while threads wait ------------------------------------------------------ */
static pthread_mutex_t keep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;
static _Atomic int nr_keeping;

/* The stack of a thread that waits has the only pointer. */
static void *keeps(void *arg)
{
    char *volatile p = malloc(1000);
    p[0] = 1;
    until_away();
    pthread_mutex_lock(&keep_lock);
    nr_keeping++;
    for (;;) pthread_cond_wait(&never_signalled, &keep_lock);
    return p[0] ? arg : 0;
}
static void have_them_keep(void)
{
    pthread_t t;
    for (int i = 0; i < SUBJECTS; i++) CHECK(!pthread_create(&t, 0, keeps, 0));
    /* With the lock: each of them has begun to wait. */
    for (int n = 0; n < SUBJECTS; mix()) {
        pthread_mutex_lock(&keep_lock);
        n = nr_keeping;
        pthread_mutex_unlock(&keep_lock);
    }
}
static void kept(void) { have_them_keep(); }

__attribute__((noinline)) static void lose(void)
{
    char *volatile p = malloc(1234);
    p[0] = 1;
    p = 0;
}
static void *loses(void *arg)
{
    until_away();
    lose();
    for (int i = 0; i < 10; i++) mix();
    return arg;
}
static void lost(void)
{
    have_them_keep();
    with_two(loses, waits_for_first);
}

int main(int argc, char **argv)
{
    static const struct subject_case cases[] = {{"right", right, false}, {"race", race, false}, {"order", order, false}, {"freed", freed, false},
                                                {"stack", stack, false}, {"kept", kept, false}, {"lost", lost, false}};
    return run_case(cases, sizeof cases / sizeof *cases, argc, argv);
}
