/* tests/pthread/c11.c - C11 threads, mutexes, conditions, storage and atomics.  SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

#include <stdatomic.h>
#include <threads.h>

static mtx_t plain, timed, recursive;
static cnd_t turn_changed;
static once_flag once = ONCE_FLAG_INIT;
static tss_t storage;
static long plain_count, timed_count, turn;
static atomic_long once_count, freed, spun;
static atomic_flag spin = ATOMIC_FLAG_INIT;
static thread_local long mine = 3;

static void count_once(void) { once_count++; }
static void free_storage(void *p)
{
    free(p);
    freed++;
}

static void locked(long i)
{
    struct timespec until;
    CHECK_EQ(mtx_lock(&plain), thrd_success);
    plain_count++;
    CHECK_EQ(mtx_unlock(&plain), thrd_success);

    timespec_get(&until, TIME_UTC);
    until.tv_sec += i % 2;
    int r = mtx_timedlock(&timed, &until);
    CHECK(r == thrd_success || r == thrd_timedout);
    if (r != thrd_success)
        CHECK_EQ(mtx_lock(&timed), thrd_success);
    timed_count++;
    CHECK_EQ(mtx_unlock(&timed), thrd_success);

    CHECK_EQ(mtx_lock(&recursive), thrd_success);
    CHECK_EQ(mtx_trylock(&recursive), thrd_success);
    CHECK_EQ(mtx_unlock(&recursive), thrd_success);
    CHECK_EQ(mtx_unlock(&recursive), thrd_success);

    while (atomic_flag_test_and_set(&spin))
        thrd_yield();
    atomic_store_explicit(&spun, atomic_load_explicit(&spun, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_flag_clear(&spin);
}

static int body(void *arg)
{
    struct worker *w = arg;
    CHECK_EQ(mine, 3);
    mine = w->index;
    call_once(&once, count_once);
    CHECK(tss_get(storage) == NULL);
    CHECK_EQ(tss_set(storage, malloc(10)), thrd_success);
    for (long i = 0; i < share(); i++) {
        locked(i);
        if (i % 16 == 0) {                           /* in turn */
            CHECK_EQ(mtx_lock(&plain), thrd_success);
            while (turn % threads != w->index)
                CHECK_EQ(cnd_wait(&turn_changed, &plain), thrd_success);
            turn++;
            CHECK_EQ(cnd_broadcast(&turn_changed), thrd_success);
            CHECK_EQ(mtx_unlock(&plain), thrd_success);
        }
    }
    thrd_sleep(&(struct timespec){ 0, 100000 }, NULL);
    CHECK_EQ(mine, w->index);
    if (w->index % 3 == 0)
        thrd_exit(w->index - 5);
    return w->index - 5;
}

int main(int argc, char **argv)
{
    thrd_t th[MAX_THREADS];
    stress_start(argc, argv, 4000);
    CHECK_EQ(mtx_init(&plain, mtx_plain), thrd_success);
    CHECK_EQ(mtx_init(&timed, mtx_timed), thrd_success);
    CHECK_EQ(mtx_init(&recursive, mtx_plain | mtx_recursive), thrd_success);
    CHECK_EQ(cnd_init(&turn_changed), thrd_success);
    CHECK_EQ(tss_create(&storage, free_storage), thrd_success);
    for (int i = 0; i < threads; i++) {
        workers[i].index = i;
        CHECK_EQ(thrd_create(&th[i], body, &workers[i]), thrd_success);
    }
    for (int i = 0; i < threads; i++) {
        int result;
        CHECK_EQ(thrd_join(th[i], &result), thrd_success);
        CHECK_EQ(result, i - 5);
    }
    CHECK_EQ(plain_count, threads * share());
    CHECK_EQ(timed_count, threads * share());
    CHECK_EQ(spun, threads * share());
    CHECK_EQ(once_count, 1);
    CHECK_EQ(freed, threads);
    tss_delete(storage);
    return 0;
}
