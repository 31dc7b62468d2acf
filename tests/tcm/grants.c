/* tests/tcm/grants.c - states, grants and callbacks in one process of eight CPUs.  SPDX-License-Identifier: Apache-2.0 */
#include "../asleep.h"
#include "tcm_test.h"

/* What the callback was called with. */
static struct { tcm_permit_handle_t handle; void *arg; tcm_callback_flags_t why; int calls; } heard;

static tcm_result_t hear(tcm_permit_handle_t handle, void *arg, tcm_callback_flags_t why)
{
    heard.handle = handle;
    heard.arg = arg;
    heard.why = why;
    heard.calls++;
    see(handle);                /* a callback may ask for data */
    return TCM_RESULT_SUCCESS;
}
static int calls(void)
{
    int n = heard.calls;
    heard.calls = 0;
    return n;
}

static void states(void)
{
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t p = permit(c, of(0, 8), NULL);
    HAS(p, 8, ACTIVE);
    OK(tcmIdlePermit(p));
    HAS(p, 8, IDLE);
    OK(tcmActivatePermit(p));
    HAS(p, 8, ACTIVE);
    OK(tcmActivatePermit(p));
    HAS(p, 8, ACTIVE);
    OK(tcmDeactivatePermit(p));
    OK(tcmDeactivatePermit(p));
    HAS(p, 0, INACTIVE);
    OK(tcmIdlePermit(p));
    HAS(p, 0, INACTIVE);
    OK(tcmActivatePermit(p));
    HAS(p, 8, ACTIVE);
    OK(tcmRequestPermit(c, of(1, 3), NULL, &p, NULL));
    HAS(p, 3, ACTIVE);
    OK(tcmReleasePermit(p));
    CHECK_EQ(calls(), 0);       /* it has changed its permit itself */
    OK(tcmDisconnect(c));
}

static void evenly(void)
{
    int a_arg, b_arg;
    tcm_client_id_t c = client(hear), d = client(hear);
    tcm_permit_handle_t a = permit(c, of(1, 8), &a_arg);
    HAS(a, 8, ACTIVE);
    tcm_permit_handle_t b = permit(d, of(1, 8), &b_arg);
    CHECK_EQ(calls(), 1);
    CHECK(heard.handle == a && heard.arg == &a_arg && heard.why.new_concurrency && !heard.why.new_state);
    HAS(a, 4, ACTIVE);
    HAS(b, 4, ACTIVE);
    tcm_permit_handle_t e = permit(d, of(1, 2), NULL);
    HAS(a, 3, ACTIVE);
    HAS(b, 3, ACTIVE);
    HAS(e, 2, ACTIVE);
    CHECK_EQ(calls(), 2);
    OK(tcmRequestPermit(c, of(6, 8), &a_arg, &a, NULL));        /* more than its share is its minimum */
    HAS(a, 6, ACTIVE);
    HAS(b, 1, ACTIVE);
    HAS(e, 1, ACTIVE);
    OK(tcmDisconnect(c));
    HAS(b, 6, ACTIVE);
    HAS(e, 2, ACTIVE);
    INVALID(tcmReleasePermit(a));                               /* went with its client */
    OK(tcmDisconnect(d));
    calls();
}

/* A client that can do with no thread works by a thread of its own. */
static void own_threads(void)
{
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t a = permit(c, of(0, 7), NULL);
    HAS(a, 7, ACTIVE);
    tcm_permit_handle_t b = permit(c, of(0, 7), NULL);
    HAS(a, 3, ACTIVE);
    HAS(b, 3, ACTIVE);
    OK(tcmDisconnect(c));
    calls();
}

static void pending(void)
{
    int arg;
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t a = permit(c, of(5, 8), NULL);
    tcm_permit_handle_t b = permit(c, of(4, 4), &arg), e = permit(c, of(2, 8), NULL);
    HAS(a, 5, ACTIVE);
    HAS(b, 0, PENDING);
    HAS(e, 3, ACTIVE);          /* fits beside a, though b came before */
    calls();
    OK(tcmReleasePermit(a));
    CHECK_EQ(calls(), 2);
    HAS(b, 4, ACTIVE);
    HAS(e, 4, ACTIVE);
    tcm_permit_handle_t low = permit(c, of(8, 8), NULL);
    tcm_permit_request_t urgent = of(8, 8);
    urgent.priority = TCM_REQUEST_PRIORITY_HIGH;
    tcm_permit_handle_t high = permit(c, urgent, NULL);
    OK(tcmDeactivatePermit(e));
    HAS(high, 0, PENDING);
    OK(tcmDeactivatePermit(b));
    HAS(high, 8, ACTIVE);
    HAS(low, 0, PENDING);
    OK(tcmIdlePermit(low));     /* waits no longer */
    HAS(low, 0, INACTIVE);
    OK(tcmDisconnect(c));
    calls();
}

static void idle(void)
{
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t a = permit(c, of(1, 4), NULL), b = permit(c, of(1, 4), NULL);
    OK(tcmIdlePermit(a));
    tcm_permit_handle_t e = permit(c, of(0, 0), NULL);
    HAS(a, 4, IDLE);
    OK(tcmRequestPermit(c, of(1, 1), NULL, &e, NULL));          /* takes from the idle one */
    HAS(a, 0, INACTIVE);
    CHECK_EQ(calls(), 1);
    CHECK(heard.handle == a && heard.why.new_concurrency && heard.why.new_state);
    HAS(b, 4, ACTIVE);
    HAS(e, 1, ACTIVE);
    OK(tcmActivatePermit(a));
    HAS(a, 3, ACTIVE);
    OK(tcmDisconnect(c));
    calls();
}

static void rigid(void)
{
    tcm_permit_request_t fixed = of(1, 8);
    fixed.flags.rigid_concurrency = 1;
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t a = permit(c, fixed, NULL);
    HAS(a, 8, ACTIVE);
    CHECK(see(a).flags.rigid_concurrency);
    tcm_permit_handle_t b = permit(c, of(1, 8), NULL);
    HAS(a, 8, ACTIVE);
    HAS(b, 0, PENDING);
    OK(tcmIdlePermit(a));       /* IDLE, it is no longer rigid */
    HAS(a, 0, INACTIVE);
    HAS(b, 8, ACTIVE);
    CHECK_EQ(calls(), 1);       /* for b alone */
    OK(tcmActivatePermit(a));
    HAS(a, 4, ACTIVE);
    HAS(b, 4, ACTIVE);
    OK(tcmReleasePermit(b));
    HAS(a, 4, ACTIVE);
    OK(tcmDisconnect(c));
    calls();
}

/* As Intel OpenMP does where it has one thread only. */
static void forgotten(void)
{
    tcm_permit_request_t all = of(1, 8), most = of(7, 7);
    all.flags.rigid_concurrency = most.flags.rigid_concurrency = 1;
    tcm_client_id_t c = client(hear), d = client(hear);
    tcm_permit_handle_t other = permit(d, most, NULL), last = NULL;
    for (int i = 0; i < 100000; i++) {
        tcm_permit_handle_t p = permit(c, all, NULL);
        HAS(p, 1, ACTIVE);
        if (last) INVALID(tcmReleasePermit(last));
        last = p;
    }
    CHECK_EQ(tcm.chunks, 1);
    OK(tcmRegisterThread(last));
    OK(tcmUnregisterThread());
    HAS(permit(c, all, NULL), 0, PENDING);      /* the last one was used, so it was not forgotten */
    HAS(last, 1, ACTIVE);
    HAS(other, 7, ACTIVE);
    OK(tcmDisconnect(c));
    OK(tcmDisconnect(d));
    calls();
}

/* A thread of a permit asks for another one: it is one of both, and does not wait. */
static void nested(void)
{
    tcm_permit_request_t all = of(8, 8);
    all.flags.rigid_concurrency = 1;
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t outer = permit(c, all, NULL);
    OK(tcmRegisterThread(outer));
    tcm_permit_handle_t inner = permit(c, of(1, 8), NULL);
    HAS(inner, 1, ACTIVE);
    tcm_permit_handle_t more = permit(c, of(3, 8), NULL);
    HAS(more, 3, ACTIVE);
    OK(tcmRegisterThread(inner));
    OK(tcmUnregisterThread());
    OK(tcmUnregisterThread());
    UNKNOWN(tcmUnregisterThread());
    HAS(permit(c, of(1, 8), NULL), 0, PENDING);
    OK(tcmDisconnect(c));
    UNKNOWN(tcmRegisterThread(outer));
    calls();
}

static void inactive(void)
{
    tcm_permit_request_t later = of(2, 4);
    later.flags.request_as_inactive = 1;
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t p = permit(c, later, NULL);
    HAS(p, 0, INACTIVE);
    CHECK(see(p).flags.request_as_inactive);
    later.max_sw_threads = 6;
    OK(tcmRequestPermit(c, later, NULL, &p, NULL));
    OK(tcmActivatePermit(p));
    HAS(p, 6, ACTIVE);
    CHECK(!see(p).flags.request_as_inactive);
    INVALID(tcmRequestPermit(c, later, NULL, &p, NULL));        /* it is active */
    HAS(p, 6, ACTIVE);
    OK(tcmDisconnect(c));
}

static void constraints(void)
{
    tcm_cpu_constraints_t two[2];
    for (int i = 0; i < 2; i++) two[i] = (tcm_cpu_constraints_t){TCM_AUTOMATIC, TCM_AUTOMATIC, NULL, TCM_ANY, TCM_AUTOMATIC, TCM_AUTOMATIC};
    two[0].min_concurrency = 1;
    two[0].max_concurrency = 2;
    tcm_permit_request_t r = of(TCM_AUTOMATIC, TCM_AUTOMATIC);
    r.cpu_constraints = two;
    r.constraints_size = 2;
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t p = NULL;
    uint32_t threads[2];
    tcm_permit_t data = {.concurrencies = threads, .size = 2};
    OK(tcmRequestPermit(c, r, NULL, &p, &data));
    CHECK_EQ(threads[0], 2);
    CHECK_EQ(threads[1], 6);
    r.constraints_size = 1;
    INVALID(tcmRequestPermit(c, r, NULL, &p, NULL));            /* their number does not change */
    r.min_sw_threads = 3;
    p = NULL;
    INVALID(tcmRequestPermit(c, r, NULL, &p, NULL));            /* the constraint allows two */
    r = of(TCM_AUTOMATIC, TCM_AUTOMATIC);
    r.cpu_constraints = two;
    INVALID(tcmRequestPermit(c, r, NULL, &p, NULL));
    r.constraints_size = 1;
    two[0] = (tcm_cpu_constraints_t){TCM_AUTOMATIC, TCM_AUTOMATIC, NULL, TCM_AUTOMATIC, TCM_AUTOMATIC, TCM_AUTOMATIC};
    INVALID(tcmRequestPermit(c, r, NULL, &p, NULL));            /* says nothing */
    two[0].min_concurrency = -3;
    INVALID(tcmRequestPermit(c, r, NULL, &p, NULL));
    two[0].min_concurrency = two[0].max_concurrency = INT32_MAX;
    INVALID(tcmRequestPermit(c, r, NULL, &p, NULL));
    OK(tcmDisconnect(c));
}

/* Grants are divided on the stack. */
static void too_many_constraints(void)
{
    const uint32_t n = 1u << 22;
    tcm_cpu_constraints_t *many = calloc(n, sizeof(*many));
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t p = NULL;
    tcm_permit_request_t r = of(TCM_AUTOMATIC, TCM_AUTOMATIC);
    if (!many) abort();
    for (uint32_t i = 0; i < n; i++) many[i] = (tcm_cpu_constraints_t){0, 0, NULL, TCM_ANY, TCM_AUTOMATIC, TCM_AUTOMATIC};
    r.cpu_constraints = many;
    r.constraints_size = n;
    INVALID(tcmRequestPermit(c, r, NULL, &p, NULL));
    free(many);
    OK(tcmDisconnect(c));
}

static void errors(void)
{
    tcm_client_id_t id = 0, c = client(NULL);
    tcm_permit_handle_t p = NULL, strange = (tcm_permit_handle_t)(uintptr_t)0x1234567812345678;
    setenv("TCM_ENABLE", "0", 1);
    UNKNOWN(tcmConnect(NULL, &id));
    unsetenv("TCM_ENABLE");
    UNKNOWN(tcmConnect(NULL, &id));
    setenv("TCM_ENABLE", "1", 1);
    INVALID(tcmConnect(NULL, NULL));
    INVALID(tcmDisconnect(0));
    INVALID(tcmDisconnect(c + 1));
    INVALID(tcmRequestPermit(c, of(1, 1), NULL, NULL, NULL));
    INVALID(tcmRequestPermit(c + 1, of(1, 1), NULL, &p, NULL));
    const int32_t bad[][2] = {{-10, -5}, {-10, 10}, {3, 2}, {9, 9}, {9, TCM_AUTOMATIC}, {1, -2}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) INVALID(tcmRequestPermit(c, of(bad[i][0], bad[i][1]), NULL, &p, NULL));
    CHECK(!p);
    tcm_permit_handle_t many = permit(c, of(0, 100), NULL);     /* more than there are is not wrong */
    HAS(many, 8, ACTIVE);
    INVALID(tcmRequestPermit(client(NULL), of(1, 1), NULL, &many, NULL));       /* another client's */
    OK(tcmReleasePermit(many));
    tcm_permit_handle_t none[] = {NULL, strange, many};
    for (int i = 0; i < 3; i++) {
        tcm_permit_t data = {0};
        INVALID(tcmReleasePermit(none[i]));
        INVALID(tcmIdlePermit(none[i]));
        INVALID(tcmActivatePermit(none[i]));
        INVALID(tcmDeactivatePermit(none[i]));
        INVALID(tcmGetPermitData(none[i], &data));
        UNKNOWN(tcmRegisterThread(none[i]));
    }
    OK(tcmDisconnect(c));
}

/* A callback may release its permit, and ask for another. */
static tcm_client_id_t replacer;
static tcm_permit_handle_t replaced;
static tcm_result_t replace(tcm_permit_handle_t handle, void *arg, tcm_callback_flags_t why)
{
    (void)arg;
    (void)why;
    OK(tcmReleasePermit(handle));
    replaced = permit(replacer, of(1, 2), NULL);
    return TCM_RESULT_SUCCESS;
}
static void within_callbacks(void)
{
    replacer = client(replace);
    permit(replacer, of(1, 8), NULL);
    tcm_client_id_t c = client(hear);
    tcm_permit_handle_t p = permit(c, of(1, 8), NULL);
    HAS(replaced, 2, ACTIVE);
    HAS(p, 6, ACTIVE);
    OK(tcmDisconnect(replacer));
    OK(tcmDisconnect(c));
    calls();
}

/* A permit is released only when no other thread is in its callback. */
static atomic_int in_callback, may_end, released;
static tcm_result_t slow(tcm_permit_handle_t handle, void *arg, tcm_callback_flags_t why)
{
    (void)handle, (void)arg, (void)why;
    atomic_store(&in_callback, 1);
    UNTIL(atomic_load(&may_end));
    CHECK(!atomic_load(&released));
    return TCM_RESULT_SUCCESS;
}
static atomic_int releaser_tid;
static void *release(void *handle)
{
    atomic_store(&releaser_tid, (int)syscall(SYS_gettid));
    OK(tcmReleasePermit(handle));
    atomic_store(&released, 1);
    return NULL;
}
static void *disturb(void *c) { return permit(*(tcm_client_id_t *)c, of(1, 8), NULL); }
static void release_waits(void)
{
    pthread_t disturber, releaser;
    tcm_client_id_t c = client(slow), d = client(NULL);
    tcm_permit_handle_t p = permit(c, of(1, 8), NULL);
    pthread_create(&disturber, NULL, disturb, &d);
    UNTIL(atomic_load(&in_callback));
    pthread_create(&releaser, NULL, release, p);
    UNTIL(atomic_load(&released) || (atomic_load(&releaser_tid) && sleeps_for_ever(atomic_load(&releaser_tid))));
    CHECK(!atomic_load(&released));
    atomic_store(&may_end, 1);
    pthread_join(disturber, NULL);
    pthread_join(releaser, NULL);
    OK(tcmDisconnect(c));
    OK(tcmDisconnect(d));
}

static void versions(void)
{
    char text[100], few[5] = "zzzz";
    OK(tcmGetVersionInfo(text, sizeof(text)));
    CHECK(strstr(text, tcmRuntimeVersion()));
    OK(tcmGetVersionInfo(few, 3));
    CHECK(few[2] == 0 && few[3] == 'z');
    INVALID(tcmGetVersionInfo(NULL, 3));
    CHECK_EQ(tcmGetVersion(), 10500);
    CHECK_EQ(tcmRuntimeInterfaceVersion(), 1050);
}

int main(void)
{
    begin();
    pretend(8, true);
    void (*const all[])(void) = {states, evenly, own_threads, pending, idle, rigid, forgotten, nested, inactive, constraints, too_many_constraints, errors, within_callbacks,
                                 release_waits, versions};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) all[i]();
    CHECK(!tcm.permits && !tcm.waiting_news);
    return 0;
}
