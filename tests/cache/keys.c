/* tests/cache/keys.c - destructors of thread-specific data.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <limits.h>
#include <stdatomic.h>
#include <threads.h>

static pthread_key_t plain, none, again, maker, made, late;
static tss_t c11;
static _Atomic int plain_runs, again_runs, maker_runs, made_runs, c11_runs, other_runs;
static _Atomic int order[64], orders;

static void plain_gone(void *value)
{
    CHECK_EQ(value, 11);
    CHECK(pthread_getspecific(plain) == NULL);
    order[orders++] = (int)plain;
    plain_runs++;
}

static void again_gone(void *value)
{
    again_runs++;
    pthread_setspecific(again, value);               /* for ever: libc gives up after some rounds */
}

static void made_gone(void *value) { made_runs++; }

/* A destructor that makes a key and uses it: its destructor runs in a later round. */
static void maker_gone(void *value)
{
    maker_runs++;
    CHECK_EQ(pthread_key_create(&made, made_gone), 0);
    CHECK_EQ(pthread_setspecific(made, value), 0);
}

static void c11_gone(void *value)
{
    order[orders++] = (int)c11;
    c11_runs++;
}

static void other_gone(void *value)
{
    other_runs++;
    if ((long)value > 1)
        pthread_setspecific(late, (void *)((long)value - 1));
}

static void *body(void *arg)
{
    CHECK(pthread_getspecific(plain) == NULL);
    CHECK(pthread_getspecific(none) == NULL);
    CHECK(pthread_getspecific(again) == NULL);
    CHECK(pthread_getspecific(maker) == NULL);
    CHECK(pthread_getspecific(late) == NULL);
    CHECK(tss_get(c11) == NULL);
    CHECK_EQ(pthread_setspecific(plain, (void *)11), 0);
    CHECK_EQ(pthread_setspecific(none, (void *)12), 0);
    CHECK_EQ(pthread_setspecific(again, (void *)13), 0);
    CHECK_EQ(pthread_setspecific(maker, (void *)14), 0);
    CHECK_EQ(pthread_setspecific(late, (void *)3), 0);
    CHECK_EQ(tss_set(c11, (void *)15), thrd_success);
    return NULL;
}

static void *exit_body(void *arg)
{
    body(arg);
    pthread_exit((void *)99);
}

static void check_counts(int runs)
{
    CHECK_EQ(plain_runs, runs);
    CHECK_EQ(again_runs, runs * PTHREAD_DESTRUCTOR_ITERATIONS);
    CHECK_EQ(maker_runs, runs);
    CHECK_EQ(made_runs, runs);
    CHECK_EQ(c11_runs, runs);
    CHECK_EQ(other_runs, 3 * runs);
    for (int i = 0; i + 1 < orders; i += 2)
        CHECK(order[i] < order[i + 1]);
    CHECK_EQ(pthread_key_delete(made), 0);
}

/* Deleting a key forgets values without calling anything. */
static pthread_key_t doomed;
static void *doomed_body(void *arg)
{
    CHECK_EQ(pthread_setspecific(doomed, (void *)1), 0);
    CHECK_EQ(pthread_key_delete(doomed), 0);
    return NULL;
}

static void *unset_body(void *arg)
{
    CHECK(pthread_getspecific(doomed) == NULL);
    return NULL;
}

/* Many keys, beyond libc's first block. */
static _Atomic int many_runs;
static void many_gone(void *value) { many_runs++; }

static pthread_key_t keys[200];
static void *many_body(void *arg)
{
    for (long i = 0; i < 200; i++) {
        CHECK(pthread_getspecific(keys[i]) == NULL);
        CHECK_EQ(pthread_setspecific(keys[i], (void *)(i + 1)), 0);
    }
    return NULL;
}

int main(void)
{
    test_start(30);
    CHECK_EQ(pthread_key_create(&plain, plain_gone), 0);
    CHECK_EQ(pthread_key_create(&none, NULL), 0);
    CHECK_EQ(pthread_key_create(&again, again_gone), 0);
    CHECK_EQ(pthread_key_create(&maker, maker_gone), 0);
    CHECK_EQ(pthread_key_create(&late, other_gone), 0);
    CHECK_EQ(tss_create(&c11, c11_gone), thrd_success);
    for (int i = 1; i <= 10; i++) {
        if (i % 5 == 0)
            CHECK_EQ(run_thread(exit_body, NULL), 99);
        else
            run_thread(body, NULL);
        check_counts(i);
    }
    tss_delete(c11);

    CHECK_EQ(pthread_key_create(&doomed, plain_gone), 0);
    run_thread(doomed_body, NULL);
    CHECK_EQ(plain_runs, 10);
    CHECK_EQ(pthread_key_create(&doomed, plain_gone), 0);
    run_thread(unset_body, NULL);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 200; i++)
            CHECK_EQ(pthread_key_create(&keys[i], many_gone), 0);
        run_thread(many_body, NULL);
        CHECK_EQ(many_runs, 200 * round);
        for (int i = 0; i < 200; i++)
            CHECK_EQ(pthread_key_delete(keys[i]), 0);
    }
    if (cached())
        CHECK(reused() >= 8);
    return 0;
}
