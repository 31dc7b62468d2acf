/* tests/pthread/join.c - threads come and go.  SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

static void *child(void *arg)
{
    unsigned r = (unsigned)(uintptr_t)arg;
    if (r % 8 == 0)
        work(r % 2000);
    if (r % 32 == 0)
        sleep_us(r % 500);
    if (r % 5 == 0)
        pthread_exit(arg);
    return arg;
}

static void *detached(void *count)
{
    __atomic_fetch_add((long *)count, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void join(pthread_t th, unsigned r)
{
    void *result = NULL;
    struct timespec t;
    int err;
    switch (r % 4) {
    case 0:
        while ((err = pthread_tryjoin_np(th, &result)) == EBUSY)
            sched_yield();
        break;
    case 1:
        do {
            t = after_us(CLOCK_REALTIME, r % 200);
            err = pthread_timedjoin_np(th, &result, &t);
        } while (err == ETIMEDOUT);
        break;
    case 2:
        do {
            t = after_us(CLOCK_MONOTONIC, r % 200);
            err = pthread_clockjoin_np(th, &result, CLOCK_MONOTONIC, &t);
        } while (err == ETIMEDOUT);
        break;
    default:
        err = pthread_join(th, &result);
    }
    CHECK_EQ(err, 0);
    CHECK_EQ(result, r);
}

static long ended, expected;

static void *parent(void *arg)
{
    struct worker *w = arg;
    for (long i = 0; i < share(); i++) {
        unsigned r = next_random(&w->random);
        pthread_t th, th2;
        if (r % 3 == 0) {
            pthread_attr_t attr;
            pthread_attr_init(&attr);
            pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
            pthread_attr_setstacksize(&attr, 256 * 1024);
            __atomic_fetch_add(&expected, 1, __ATOMIC_SEQ_CST);
            CHECK_EQ(pthread_create(&th2, r % 2 ? &attr : NULL, detached, &ended), 0);
            if (r % 2 == 0)
                CHECK_EQ(pthread_detach(th2), 0);
            pthread_attr_destroy(&attr);
        }
        CHECK_EQ(pthread_create(&th, NULL, child, (void *)(uintptr_t)r), 0);
        join(th, r);
    }
    return NULL;
}

/* A tree: every thread makes two more and joins them. */
static void *tree(void *arg)
{
    long depth = (long)arg, sum = 1;
    if (depth > 0) {
        pthread_t th[2];
        for (int i = 0; i < 2; i++)
            CHECK_EQ(pthread_create(&th[i], NULL, tree, (void *)(depth - 1)), 0);
        for (int i = 0; i < 2; i++) {
            void *result;
            CHECK_EQ(pthread_join(th[i], &result), 0);
            sum += (long)result;
        }
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    stress_start(argc, argv, 3000);
    run(parent, NULL);
    CHECK_EQ(tree((void *)6), 127);
    while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < expected)
        sleep_us(1000);
    CHECK_EQ(ended, expected);
    return 0;
}
