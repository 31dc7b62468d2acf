/* tests/cache/c11.c - C11 threads.  SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <threads.h>

static thread_local int local = 5;

static int body(void *arg)
{
    CHECK_EQ(local, 5);
    local = 6;
    if ((long)arg % 3 == 0)
        thrd_exit((int)(long)arg);
    return (int)(long)arg;
}

static mtx_t lock;
static cnd_t changed;
static int count;

static int counter(void *arg)
{
    mtx_lock(&lock);
    count++;
    cnd_signal(&changed);
    mtx_unlock(&lock);
    return 0;
}

static int join_self(void *arg) { return thrd_join(thrd_current(), NULL); }

int main(void)
{
    test_start(30);
    for (long i = -50; i < 300; i++) {
        thrd_t th;
        int result;
        CHECK_EQ(thrd_create(&th, body, (void *)i), thrd_success);
        CHECK_EQ(thrd_join(th, &result), thrd_success);
        CHECK_EQ(result, i);
    }
    thrd_t th;
    int result;
    CHECK_EQ(thrd_create(&th, join_self, NULL), thrd_success);
    CHECK_EQ(thrd_join(th, &result), thrd_success);
    CHECK_EQ(result, thrd_error);
    CHECK_EQ(mtx_init(&lock, mtx_plain), thrd_success);
    CHECK_EQ(cnd_init(&changed), thrd_success);
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(thrd_create(&th, counter, NULL), thrd_success);
        CHECK_EQ(thrd_detach(th), thrd_success);
    }
    mtx_lock(&lock);
    while (count < 200)
        cnd_wait(&changed, &lock);
    mtx_unlock(&lock);
    if (cached())
        CHECK(reused() >= 200);
    return 0;
}
