/* tests/tcm/tcm_test.h - what the tests of permits share.  SPDX-License-Identifier: Apache-2.0
 *
 * The tests are linked with the library's sources, so that they can pretend a number of CPUs, and have an instance of
 * their own, so that no other program of the user asks for CPUs of it. */
#ifndef TCM_TEST_H
#define TCM_TEST_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "tcm/tcm.h"

#define OK(call) CHECK_EQ(call, TCM_RESULT_SUCCESS)
#define INVALID(call) CHECK_EQ(call, TCM_RESULT_ERROR_INVALID_ARGUMENT)
#define UNKNOWN(call) CHECK_EQ(call, TCM_RESULT_ERROR_UNKNOWN)
#define UNTIL(condition) while (!(condition)) usleep(200)

static inline void begin(void)
{
    char name[64];
    snprintf(name, sizeof(name), "test-tcm-%d-0", (int)getpid());
    setenv("USF_INSTANCE", name, 1);
    setenv("TCM_ENABLE", "1", 1);
    alarm(60);
}

/* Of the table of this test's instance. */
static inline const char *table_path(void)
{
    static char path[128];
    snprintf(path, sizeof(path), "/dev/shm/.usf-%u-%s.tcm", (unsigned)geteuid(), getenv("USF_INSTANCE"));
    return path;
}

static inline void end(void) { unlink(table_path()); }

/* Before the first client connects. */
static inline void pretend(uint32_t cpus, bool alone)
{
    memset(&tcm.cpus, 0, sizeof(tcm.cpus));
    for (uint32_t c = 0; c < cpus; c++) os_cpu_set(&tcm.cpus, c);
    tcm.ncpus = cpus;
    if (alone) tcm.listening = TCM_NO_TABLE;
}

static inline tcm_permit_request_t of(int32_t min, int32_t max)
{
    return (tcm_permit_request_t){.min_sw_threads = min, .max_sw_threads = max, .priority = TCM_REQUEST_PRIORITY_NORMAL};
}

struct seen { uint32_t threads; tcm_permit_state_t state; tcm_permit_flags_t flags; };
static inline struct seen see(tcm_permit_handle_t handle)
{
    uint32_t threads = ~0u;
    tcm_permit_t permit = {.concurrencies = &threads, .size = 1};
    OK(tcmGetPermitData(handle, &permit));
    return (struct seen){threads, permit.state, permit.flags};
}
#define HAS(handle, n, is) \
    do { \
        struct seen s_ = see(handle); \
        CHECK_EQ(s_.state, TCM_PERMIT_STATE_##is); \
        CHECK_EQ(s_.threads, n); \
    } while (0)

static inline tcm_client_id_t client(tcm_callback_t callback)
{
    tcm_client_id_t id = 0;
    OK(tcmConnect(callback, &id));
    return id;
}

static inline tcm_permit_handle_t permit(tcm_client_id_t id, tcm_permit_request_t request, void *arg)
{
    tcm_permit_handle_t handle = NULL;
    OK(tcmRequestPermit(id, request, arg, &handle, NULL));
    CHECK(handle);
    return handle;
}

#endif
