/* tests/nosv/attach-many.c - attaches and detaches as often as the first argument says: memory stays flat.  SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <nosv/memory.h>

#include "nosv_test.h"

#define THREADS 2

/* With and without a label, nested, with a window, and with an event that happens after the detach. */
static void *attaches(void *times)
{
    for (long i = 0; i < (long)(intptr_t)times; i++) {
        nosv_task_t task, inner;
        OK(nosv_attach(&task, NULL, i % 2 ? "a label that is somewhat long" : NULL, NOSV_ATTACH_NONE));
        if (i % 64 == 0) {
            OK(nosv_attach(&inner, NULL, NULL, NOSV_ATTACH_NONE));
            OK(nosv_detach(NOSV_DETACH_NONE));
            OK(nosv_set_submit_window_size(8));
            OK(nosv_increase_event_counter(1));
        }
        OK(nosv_detach(NOSV_DETACH_NONE));
        if (i % 64 == 0) OK(nosv_decrease_event_counter(task, 1));
    }
    return NULL;
}

static void churn(long times)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, attaches, (void *)(intptr_t)(times / THREADS)), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(int argc, char **argv)
{
    size_t used, used_before;
    begin();
    if (argc > 2) alarm((unsigned)atoi(argv[2]));
    OK(nosv_init());
    churn(20000);
    long before = resident();
    size_t heap_before = mallinfo2().uordblks;
    OK(nosv_memory_get_used(&used_before));
    churn(argc > 1 ? atol(argv[1]) : 200000);
    OK(nosv_memory_get_used(&used));
    CHECK(resident() - before < 1024);
    CHECK(mallinfo2().uordblks < heap_before + 16384);
    CHECK(used < used_before + 65536);
    OK(nosv_shutdown());
    return 0;
}
