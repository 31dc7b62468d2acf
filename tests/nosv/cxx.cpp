/* tests/nosv/cxx.cpp - the headers in C++: objects as metadata, lambdas as callbacks, initialisers.  SPDX-License-Identifier: Apache-2.0 */
#include <nosv.h>
#include <nosv/affinity.h>
#include <nosv/alpi-defs.h>
#include <nosv/alpi.h>
#include <nosv/compat.h>
#include <nosv/error.h>
#include <nosv/hwinfo.h>
#include <nosv/memory.h>

#include "nosv_test.h"

#include <atomic>
#include <functional>
#include <new>
#include <string>
#include <type_traits>

static_assert(std::is_same<nosv_flags_t, uint64_t>::value, "the type of flags");
static_assert(std::is_same<std::underlying_type<nosv_err_t>::type, int>::value, "errors are signed");
static_assert(sizeof(nosv_affinity_t) == 4 && sizeof(nosv_mutex_t) == 64 && sizeof(nosv_mutexattr_t) == 32, "sizes");
static_assert(alignof(nosv_mutex_t) == 8 && alignof(nosv_affinity_t) == 4, "alignments");
static_assert(std::is_same<decltype(NOSV_SUBMIT_INLINE), decltype(UINT64_C(1))>::value, "flags have their type");

namespace {

nosv_mutex_t mutex = NOSV_MUTEX_INITIALIZER;
nosv_cond_t cond = NOSV_COND_INITIALIZER;
nosv_rwlock_t rwlock = NOSV_RWLOCK_INITIALIZER;

std::atomic<int> completions(0), destructions(0);

struct Work {
    std::function<void()> body;
    std::string name;
    virtual ~Work() { destructions++; }
};

nosv_task_t make(nosv_task_type_t type, std::function<void()> body)
{
    nosv_task_t task;
    OK(nosv_create(&task, type, sizeof(Work), NOSV_CREATE_NONE));
    Work *work = new (nosv_get_task_metadata(task)) Work;
    work->body = body;
    work->name = "a name that does not fit into the string itself";
    return task;
}

void run(nosv_task_t task) { static_cast<Work *>(nosv_get_task_metadata(task))->body(); }

/* Exceptions stay within a body. */
void throws()
{
    int caught = 0;
    try {
        OK(nosv_yield(NOSV_YIELD_NONE));
        throw std::string("thrown");
    } catch (const std::string &text) {
        caught = text == "thrown";
        OK(nosv_waitfor(1000, NULL));
    }
    CHECK_EQ(caught, 1);
}

}

int main()
{
    begin();
    OK(nosv_init());
    nosv_task_type_t type;
    OK(nosv_type_init(&type, run, nullptr, [](nosv_task_t task) {
        static_cast<Work *>(nosv_get_task_metadata(task))->~Work();
        OK(nosv_destroy(task, NOSV_DESTROY_NONE));
        completions++;
    }, "C++", nullptr, nullptr, NOSV_TYPE_INIT_NONE));
    int sum = 0;
    for (int i = 1; i <= 100; i++)
        OK(nosv_submit(make(type, [i, &sum] {
            CHECK_EQ(nosv_mutex_lock(&mutex), 0);
            sum += i;
            CHECK_EQ(nosv_mutex_unlock(&mutex), 0);
            throws();
        }), NOSV_SUBMIT_NONE));
    UNTIL(completions == 100);
    CHECK_EQ(sum, 5050);
    CHECK_EQ(destructions, 100);
    CHECK_EQ(nosv_cond_signal(&cond), 0);
    CHECK_EQ(nosv_rwlock_destroy(&rwlock), 0);
#if __cplusplus >= 202002L
    nosv_affinity_t affinity = {.level = NOSV_AFFINITY_LEVEL_CPU, .type = NOSV_AFFINITY_TYPE_STRICT, .index = static_cast<uint32_t>(first_cpu())};
#else
    nosv_affinity_t affinity = {NOSV_AFFINITY_LEVEL_CPU, NOSV_AFFINITY_TYPE_STRICT, static_cast<uint32_t>(first_cpu())};
#endif
    nosv_task_t self;
    OK(nosv_attach(&self, &affinity, "main", NOSV_ATTACH_NONE));
    CHECK_EQ(nosv_get_current_system_cpu(), first_cpu());
    OK(nosv_detach(NOSV_DETACH_NONE));
    OK(nosv_type_destroy(type, NOSV_TYPE_DESTROY_NONE));
    OK(nosv_shutdown());
    return 0;
}
