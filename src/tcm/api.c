/* src/tcm/api.c - the functions that runtimes call.  SPDX-License-Identifier: Apache-2.0
 *
 * Each one that may change grants takes the lock, changes its permit, has all grants computed, and
 * calls the clients of other permits before it returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcm/tcm.h"

/* What the answers of the version functions stand for: the interface is that of this version. */
#define MAJOR 1
#define MINOR 5
#define PATCH 0

struct tcm tcm = {.lock = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER};

static void lock(void) { pthread_mutex_lock(&tcm.lock); }
static void unlock(void) { pthread_mutex_unlock(&tcm.lock); }

/* ---- fork: the child has its parent's clients and permits, and none of its threads ------------------------------- */

static void in_child(void)
{
    pthread_cond_init(&tcm.called, NULL);
    tcm_row_forget();
    tcm.row = NULL;
    tcm.listening = TCM_ALONE;
    tcm.published = (struct tcm_demand){0, 0, 0};
    tcm.lower_at = 0;
    tcm.short_of = tcm.watching = false;
    tcm.waiting_news = 0;
    for (struct tcm_permit *p = tcm.permits; p; p = p->next) {
        p->state = p->told_state = TCM_PERMIT_STATE_INACTIVE;
        p->grant = p->told_grant = 0;
        p->fixed = p->calling = false;
        p->news = 0;
    }
    unlock();
}

__attribute__((constructor)) static void start(void) { pthread_atfork(lock, unlock, in_child); }

/* ---- clients --------------------------------------------------------------------------------------------------- */

static bool is_client(tcm_client_id_t id) { return id >= 1 && id <= TCM_CLIENTS && tcm.client[id - 1].connected; }

tcm_result_t tcmConnect(tcm_callback_t callback, tcm_client_id_t *client)
{
    const char *enable = getenv("TCM_ENABLE");
    tcm_result_t result = TCM_RESULT_ERROR_UNKNOWN;
    if (!client) return TCM_RESULT_ERROR_INVALID_ARGUMENT;
    if (!enable || strcmp(enable, "1") != 0) return result;
    lock();
    if (!tcm.ncpus) tcm_look_at_cpus();
    for (uint32_t i = 0; i < TCM_CLIENTS; i++) {
        if (tcm.client[i].connected) continue;
        tcm.client[i] = (struct tcm_client){true, callback};
        *client = i + 1;
        result = TCM_RESULT_SUCCESS;
        break;
    }
    unlock();
    return result;
}

static struct tcm_permit *some_permit_of(uint32_t client)
{
    for (struct tcm_permit *p = tcm.permits; p; p = p->next)
        if (p->client == client) return p;
    return NULL;
}

tcm_result_t tcmDisconnect(tcm_client_id_t client)
{
    lock();
    if (!is_client(client)) {
        unlock();
        return TCM_RESULT_ERROR_INVALID_ARGUMENT;
    }
    for (struct tcm_permit *p; (p = some_permit_of((uint32_t)client - 1));) {
        uint64_t handle = p->handle;
        tcm_wait_for_calls(p);
        if (p->handle == handle) tcm_permit_free(p);
    }
    tcm.client[client - 1] = (struct tcm_client){false, NULL};
    tcm_arbitrate(NULL);
    tcm_tell();
    unlock();
    return TCM_RESULT_SUCCESS;
}

/* ---- permits --------------------------------------------------------------------------------------------------- */

/* What a request comes to: in the record only when all of it is valid. */
struct wanted { uint32_t min, max; bool counts_caller; };

static bool want(const tcm_permit_request_t *request, const struct tcm_constraint *constraint, struct wanted *out)
{
    int64_t min = request->min_sw_threads, max = request->max_sw_threads, least = 0, most = constraint ? 0 : (int64_t)tcm.ncpus;
    if (min < TCM_AUTOMATIC || max < TCM_AUTOMATIC || (max >= 0 && min > max)) return false;
    for (uint32_t i = 0; constraint && i < request->constraints_size; i++) {
        least += constraint[i].min;
        most += constraint[i].max;
    }
    if (most > (int64_t)tcm.ncpus) most = (int64_t)tcm.ncpus;
    if (max == TCM_AUTOMATIC || max > most) max = most;
    out->counts_caller = min != 0 || max == 0;
    if (min < least) min = least;
    if (min > most) return false;
    *out = (struct wanted){(uint32_t)min, (uint32_t)(max < min ? min : max), out->counts_caller};
    return true;
}

static bool has_or_waits(const struct tcm_permit *p) { return p->state != TCM_PERMIT_STATE_INACTIVE; }

/* R6. */
static void release_forgotten(uint32_t client)
{
    for (struct tcm_permit *p = tcm.permits, *next; p; p = next) {
        next = p->next;
        bool forgotten = p->client == client && p->rigid && p->state == TCM_PERMIT_STATE_ACTIVE && p->grant == 1 && p->counts_caller;
        if (forgotten && !p->used && !p->calling && pthread_equal(p->asker, pthread_self())) tcm_permit_free(p);
    }
}

/* The permit asks for its threads (again).  Its client reads the grant afterwards, so a rigid one
 * may change: Intel OpenMP activates an ACTIVE permit of one thread to hear whether it may have
 * more. */
static void activate(struct tcm_permit *p)
{
    if (!has_or_waits(p)) {
        p->nested = tcm_in_another(p);
        tcm_permit_last(p);
    }
    p->fixed = false;
    p->as_inactive = false;
    p->state = TCM_PERMIT_STATE_PENDING;
}

static tcm_result_t request_permit(uint32_t client, const tcm_permit_request_t *request, void *arg, tcm_permit_handle_t *handle,
                                   struct tcm_constraint **constraint, tcm_permit_t *permit)
{
    struct tcm_permit *p = *handle ? tcm_permit_of(*handle) : NULL;
    struct wanted wanted;
    if (*handle && (!p || p->client != client || p->constraints != request->constraints_size)) return TCM_RESULT_ERROR_INVALID_ARGUMENT;
    if (p && request->flags.request_as_inactive && has_or_waits(p)) return TCM_RESULT_ERROR_INVALID_ARGUMENT;
    if (!want(request, *constraint, &wanted)) return TCM_RESULT_ERROR_INVALID_ARGUMENT;
    if (!p) release_forgotten(client);
    if (!p && !(p = tcm_permit_new())) return TCM_RESULT_ERROR_UNKNOWN;
    struct tcm_constraint *old = p->constraint;
    p->constraint = *constraint;
    *constraint = old;
    p->constraints = request->constraints_size;
    p->client = client;
    p->arg = arg;
    p->min = wanted.min;
    p->max = wanted.max;
    p->counts_caller = wanted.counts_caller;
    p->rigid = request->flags.rigid_concurrency;
    p->priority = request->priority;
    p->as_inactive = request->flags.request_as_inactive;
    *handle = (tcm_permit_handle_t)(uintptr_t)p->handle;
    if (!p->as_inactive) {
        activate(p);
        tcm_arbitrate(p);
    }
    if (permit) tcm_permit_show(p, permit);
    return TCM_RESULT_SUCCESS;
}

tcm_result_t tcmRequestPermit(tcm_client_id_t client, tcm_permit_request_t request, void *callback_arg, tcm_permit_handle_t *handle,
                              tcm_permit_t *permit)
{
    struct tcm_constraint *constraint = NULL;
    tcm_result_t result = TCM_RESULT_ERROR_INVALID_ARGUMENT;
    if (!handle) return result;
    lock();
    if (is_client(client)) {
        if (!request.flags.request_as_inactive) tcm_listen();
        result = tcm_constrain(&request, &constraint);
        if (result == TCM_RESULT_SUCCESS) result = request_permit((uint32_t)client - 1, &request, callback_arg, handle, &constraint, permit);
        tcm_tell();
    }
    unlock();
    free(constraint);
    return result;
}

tcm_result_t tcmGetPermitData(tcm_permit_handle_t handle, tcm_permit_t *permit)
{
    lock();
    struct tcm_permit *p = permit ? tcm_permit_of(handle) : NULL;
    if (p) tcm_permit_show(p, permit);
    unlock();
    return p ? TCM_RESULT_SUCCESS : TCM_RESULT_ERROR_INVALID_ARGUMENT;
}

tcm_result_t tcmReleasePermit(tcm_permit_handle_t handle)
{
    lock();
    struct tcm_permit *p = tcm_permit_of(handle);
    if (p) tcm_wait_for_calls(p);
    p = tcm_permit_of(handle);
    if (p) {
        tcm_permit_free(p);
        tcm_arbitrate(NULL);
        tcm_tell();
    }
    unlock();
    return p ? TCM_RESULT_SUCCESS : TCM_RESULT_ERROR_INVALID_ARGUMENT;
}

/* The client changes the state of its permit. */
static tcm_result_t change(tcm_permit_handle_t handle, void (*to)(struct tcm_permit *))
{
    lock();
    struct tcm_permit *p = tcm_permit_of(handle);
    if (p && to == activate) tcm_listen();
    p = tcm_permit_of(handle);
    if (p) {
        to(p);
        tcm_arbitrate(p);
        tcm_tell();
    }
    unlock();
    return p ? TCM_RESULT_SUCCESS : TCM_RESULT_ERROR_INVALID_ARGUMENT;
}

static void deactivate(struct tcm_permit *p) { p->state = TCM_PERMIT_STATE_INACTIVE; }

/* One that waits has no work that it waits for any more.  One that is INACTIVE has lost its threads
 * just now. */
static void idle(struct tcm_permit *p)
{
    if (p->state == TCM_PERMIT_STATE_ACTIVE) p->state = TCM_PERMIT_STATE_IDLE;
    else if (p->state == TCM_PERMIT_STATE_PENDING) deactivate(p);
}

tcm_result_t tcmIdlePermit(tcm_permit_handle_t handle) { return change(handle, idle); }
tcm_result_t tcmDeactivatePermit(tcm_permit_handle_t handle) { return change(handle, deactivate); }
tcm_result_t tcmActivatePermit(tcm_permit_handle_t handle) { return change(handle, activate); }

/* ---- threads and versions -------------------------------------------------------------------------------------- */

tcm_result_t tcmRegisterThread(tcm_permit_handle_t handle) { return tcm_thread_in(handle); }
tcm_result_t tcmUnregisterThread(void) { return tcm_thread_out(); }

#define TEXT(n) #n
#define NUMBER(n) TEXT(n)
static const char version[] = NUMBER(MAJOR) "." NUMBER(MINOR) "." NUMBER(PATCH);

tcm_result_t tcmGetVersionInfo(char *buffer, uint32_t size)
{
    if (!buffer || !size) return TCM_RESULT_ERROR_INVALID_ARGUMENT;
    snprintf(buffer, size, "TCM: VERSION\t\t%s\nTCM: IMPLEMENTATION\tusf %s\n", version, USF_VERSION);
    return TCM_RESULT_SUCCESS;
}

unsigned tcmGetVersion(void) { return MAJOR * 10000 + MINOR * 100 + PATCH; }
const char *tcmRuntimeVersion(void) { return version; }
unsigned tcmRuntimeInterfaceVersion(void) { return MAJOR * 1000 + MINOR * 10; }
