/* tests/nosv/memory.c - what the runtime says of its memory.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv/memory.h>

#include "nosv_test.h"

static void run(nosv_task_t task) { (void)task; }

static void ask(void)
{
    size_t used = 0, size = 0;
    float pressure = -1;
    CHECK_EQ(nosv_memory_get_used(NULL), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_memory_get_size(NULL), NOSV_ERR_INVALID_PARAMETER);
    CHECK_EQ(nosv_memory_get_pressure(NULL), NOSV_ERR_INVALID_PARAMETER);
    OK(nosv_memory_get_used(&used));
    OK(nosv_memory_get_size(&size));
    OK(nosv_memory_get_pressure(&pressure));
    CHECK(used > 0 && used < size);
    CHECK(pressure > 0 && pressure < 1);
}

static void grows(void)
{
    enum { MANY = 20000 };
    static nosv_task_t tasks[MANY];
    nosv_task_type_t type = type_of(run, NULL, NULL);
    size_t before, during, size;
    OK(nosv_memory_get_used(&before));
    for (int i = 0; i < MANY; i++) OK(nosv_create(&tasks[i], type, 1024, NOSV_CREATE_NONE));
    OK(nosv_memory_get_used(&during));
    OK(nosv_memory_get_size(&size));
    CHECK(during >= before + MANY * 512u && during < size);
    ask();
    for (int i = 0; i < MANY; i++) OK(nosv_destroy(tasks[i], NOSV_DESTROY_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    ask();
}

int main(void)
{
    begin();
    size_t word = 4711;
    float pressure = 4711;
    CHECK_EQ(nosv_memory_get_used(&word), NOSV_ERR_NOT_INITIALIZED);
    CHECK_EQ(nosv_memory_get_size(&word), NOSV_ERR_NOT_INITIALIZED);
    CHECK_EQ(nosv_memory_get_pressure(&pressure), NOSV_ERR_NOT_INITIALIZED);
    CHECK(word == 4711 && pressure > 4710);
    OK(nosv_init());
    ask();
    grows();
    in_task(ask, NOSV_CREATE_NONE);
    OK(nosv_shutdown());
    CHECK_EQ(nosv_memory_get_used(&word), NOSV_ERR_NOT_INITIALIZED);
    return 0;
}
